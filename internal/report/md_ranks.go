package report

import (
	"strconv"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
)

// maxRankRows bounds the rows of a table of ranks in a document.
const maxRankRows = 64

// ranks writes the parts of a result side by side: each as a whole, and the mean
// pass of each stage. It writes nothing for a result without parts.
func (d *doc) ranks(r *analysis.Result) {
	if len(r.Parts) == 0 {
		return
	}
	d.line("## Ranks, windows and repeats")
	d.line("Each row is of one timeline alone; the other sections are about the row marked *. `deepprof show ranks` has all numbers, and `--by measure` their sums.")
	t := newGrid("Timeline", ">Wall (ms)", ">GPU busy (ms)", ">Communication (ms)", ">Exposed (ms)", ">Launches", ">Over median (%)")
	for i := range r.Parts[:min(len(r.Parts), maxRankRows)] {
		p := &r.Parts[i]
		name := prose(partName(r, i))
		if p.Details {
			name += " *"
		}
		if p.Lost != nil {
			t.add(name+d.note(message.Text(*p.Lost)), absent, absent, "", "", absent, absent)
			continue
		}
		row := rankRow(r, i)
		t.add(name, millis(row.WallNS), millis(row.BusyNS), strings.TrimPrefix(millis(row.CommNS), absent), strings.TrimPrefix(millis(row.Exposed), absent), wholeOr(row.Launches), percentOr(row.Slower))
	}
	t.drop("Communication (ms)")
	t.drop("Exposed (ms)")
	d.table(t)
	if n := len(r.Parts) - maxRankRows; n > 0 {
		d.line("%d more are not listed.", n)
	}
	d.rankStages(r)
}

// rankStages writes the matrix of parts and stages.
func (d *doc) rankStages(r *analysis.Result) {
	if r.Across == nil || len(r.Across.Stages) == 0 {
		return
	}
	heads := []string{"Mean pass (ms)"}
	for _, s := range r.Across.Stages {
		heads = append(heads, ">"+prose(s.Name))
	}
	t := newGrid(heads...)
	for i := range r.Parts[:min(len(r.Parts), maxRankRows)] {
		cells := []string{prose(partName(r, i))}
		for _, s := range r.Across.Stages {
			cell := absent
			for _, own := range r.Parts[i].Stages {
				if own.Stage == s.Name && own.Passes > 0 {
					cell = millis(&own.PassNS)
				}
			}
			cells = append(cells, cell)
		}
		t.add(cells...)
	}
	d.table(t)
}

func millis(ns *int64) string {
	if ns == nil {
		return absent
	}
	return strconv.FormatFloat(float64(*ns)/1e6, 'f', 3, 64)
}

func wholeOr(n *int64) string {
	if n == nil {
		return absent
	}
	return strconv.FormatInt(*n, 10)
}

func percentOr(share *float64) string {
	if share == nil {
		return absent
	}
	return strconv.FormatFloat(100**share, 'f', 1, 64)
}
