package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
)

// widestSplit is how many stages stand side by side; more go into further
// tables.
const widestSplit = 4

// whereTimeGoes says which stages wait for launches, before anything else, and
// divides the wall time of each.
func (d *doc) whereTimeGoes(r *analysis.Result) {
	var known []namedSplit
	whole := r.Totals.Split != nil && r.Totals.Split.WallNS > 0
	var bound []string
	for i := range r.Stages {
		s := &r.Stages[i]
		if s.Split.WallNS <= 0 {
			continue
		}
		known = append(known, namedSplit{code(shorten(oneLine(s.Name), 40)), &s.Split})
		whole = whole && s.Region != ""
		if s.Split.LaunchBound {
			bound = append(bound, launchBound(s.Name, &s.Split, gain(s)))
		}
	}
	if s := r.Scope; s != nil && s.Split != nil && s.Split.WallNS > 0 && len(known) > 1 {
		known = append(known, namedSplit{message.Phrase("scope"), s.Split})
	}
	if whole {
		known = append(known, namedSplit{message.Phrase("row-whole-timeline"), r.Totals.Split})
	}
	if len(known) == 0 {
		d.lacks("busy-and-idle-time", missing(r, message.Phrase("no-timeline-for-busy"), withoutTimeline...))
		return
	}
	d.list(bound)
	d.say("time-split-lead")
	if slices.ContainsFunc(r.Stages, func(s analysis.Stage) bool { return s.RangeMS != nil }) {
		d.say("time-split-ranges")
	}
	for ; len(known) > 0; known = known[min(len(known), widestSplit):] {
		d.splitTable(known[:min(len(known), widestSplit)], r.Python())
	}
}

// launchBound says that a stage or region waits for the CPU, and what that costs
// at most.
func launchBound(name string, s *analysis.Split, gain string) string {
	host := positive(float64(analysis.PartOf(s.Idle, "host").NS), elapsed)
	if s.LaunchNS <= 0 {
		host, gain = "", ""
	}
	return message.Phrase("stage-is-launch-bound", code(name), orAbsent(s.HostShare), orAbsent(s.BusyShare), host, gain)
}

// gain is what a launch-bound stage could save at most.
func gain(s *analysis.Stage) string {
	b := s.LaunchGain
	if b == nil || b.OfNS <= 0 {
		return ""
	}
	return message.Phrase("gain", elapsed(float64(b.NS)), elapsed(float64(b.OfNS)), message.Label("times", b.Times), orAbsent(b.Share))
}

// gainOfRegion is the same of a region that is a stage; the bound is made of
// stages alone.
func gainOfRegion(r *analysis.Result, g *analysis.Region) string {
	for i := range r.Stages {
		if s := &r.Stages[i]; s.Name == g.Path && s.Split.WallNS == g.Split.WallNS {
			return gain(s)
		}
	}
	return ""
}

// A namedSplit is a split with its name in Markdown.
type namedSplit struct {
	name  string
	split *analysis.Split
}

// A splitRow is one part of several splits.
type splitRow struct {
	label string
	// sum marks the rows that the others add up to.
	sum   bool
	parts []splitPart // one a split
}

// A splitPart is a time with its share of the wall time of its split.
type splitPart struct {
	// ns is of all passes; share is of the wall time of its split, never nil.
	ns    int64
	share *float64
}

// splitTable writes the parts of a few stages side by side.
func (d *doc) splitTable(stages []namedSplit, python bool) {
	splits := make([]*analysis.Split, len(stages))
	g := newGrid("part")
	for i, s := range stages {
		splits[i] = s.split
	}
	rows := splitRows(splits, python)
	cells := make([][]string, len(stages))
	for i, s := range stages {
		ns := make([]float64, len(rows))
		for r, row := range rows {
			ns[r] = float64(row.parts[i].ns)
		}
		var unit string
		unit, cells[i] = times(ns)
		g.column(fmt.Sprintf("%s (%s)", s.name, unit), true)
		g.column("%", true)
	}
	for r, row := range rows {
		line := []string{row.label}
		for i := range stages {
			value, p := cells[i][r], strings.TrimSuffix(orAbsent(row.parts[i].share), " %") // rounded by itself: a reader may divide again
			if row.sum {
				value, p = "**"+value+"**", "**"+p+"**"
			}
			line = append(line, value, p)
		}
		g.add(line...)
	}
	d.table(g)
}

// splitRows brings the parts of several splits into one order: busy parts by
// their largest time, their sum, idle parts, their sum, the wall time.
// Each row has as many parts as there are splits, in their order.
func splitRows(splits []*analysis.Split, python bool) []splitRow {
	busy := partRows(splits, func(p analysis.TimePart) string { return message.Part(p.ID, p.Label) }, func(s *analysis.Split) []analysis.TimePart { return s.Busy })
	idle := partRows(splits, func(p analysis.TimePart) string { return message.Idle(p.ID, python) }, func(s *analysis.Split) []analysis.TimePart { return s.Idle })
	sum := func(label string, get func(*analysis.Split) splitPart) splitRow {
		row := splitRow{label: "**" + label + "**", sum: true}
		for _, s := range splits {
			row.parts = append(row.parts, get(s))
		}
		return row
	}
	rows := append(busy, sum(upperFirst(message.Phrase("kernel-runs")), func(s *analysis.Split) splitPart { return splitPart{s.BusyNS, s.BusyShare} }))
	for _, row := range idle {
		row.label = message.Phrase("split-idle", row.label)
		rows = append(rows, row)
	}
	none := message.Phrase("no-kernel-runs")
	if slices.ContainsFunc(splits, func(s *analysis.Split) bool { return analysis.PartOf(s.Idle, "others").NS > 0 }) {
		none = message.Phrase("no-kernel-runs-own")
	}
	rows = append(rows, sum(none, func(s *analysis.Split) splitPart { return splitPart{s.IdleNS, s.IdleShare} }))
	return append(rows, sum(message.Phrase("wall-time-row"), func(s *analysis.Split) splitPart { return splitPart{s.WallNS, new(1.0)} }))
}

// partRows has a row for each part of any split; a split without it has 0.
func partRows(splits []*analysis.Split, label func(analysis.TimePart) string, parts func(*analysis.Split) []analysis.TimePart) (rows []splitRow) {
	for _, id := range analysis.PartIDs(splits, parts) {
		var row splitRow
		for _, s := range splits {
			p := analysis.PartOf(parts(s), id)
			if p.ID != "" {
				row.label = prose(upperFirst(label(p)))
			}
			row.parts = append(row.parts, splitPart{p.NS, cmp.Or(p.Share, new(0.0))})
		}
		rows = append(rows, row)
	}
	return rows
}
