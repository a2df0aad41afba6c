package html

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/cxx"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/report"
)

// countersLeftOut tells that the page lacks the counters of a kernel.
const countersLeftOut fact.Code = "page-counters-left-out"

// pageReduced is the warning that the page has less detail than the result. most,
// kept, of, dropped
const pageReduced fact.Code = "page-reduced"

const (
	// plainLimit is the size up to which the Result stays readable JSON in the
	// page. Beyond it the page needs a browser that can decompress (any since
	// 2023).
	plainLimit = 256 << 10
	// pageRoom is kept for the markup of the page and its static part.
	pageRoom = 256 << 10
)

// packed is a Result as the page holds it.
type packed struct {
	encoding string // json, or gzip+base64
	text     string // safe inside a script element
	result   *analysis.Result
}

// carried is what the page holds: the Result, and for each kernel whose short
// name another shares, that name with the words in which they differ, and the
// columns of its tables.
type carried struct {
	*analysis.Result
	Views  map[string]report.ViewInfo `json:"views"`
	Labels []string                   `json:"kernel_labels,omitempty"`
}

// labels gives the names that tell kernels apart, as in the Markdown reports, or
// nil where the short names do. A kernel whose short name does so has "".
func labels(kernels []analysis.Kernel) []string {
	names := make([]string, len(kernels))
	for i := range kernels {
		names[i] = kernels[i].Name
	}
	out, any := cxx.Distinguish(names), false
	for i, name := range out {
		short := kernels[i].Short
		if short == "" {
			short = kernels[i].Name
		}
		words, found := strings.CutPrefix(name, cxx.Short(names[i]))
		if out[i] = ""; found && words != "" {
			out[i], any = short+words, true
		}
	}
	if !any {
		return nil
	}
	return out
}

// pack encodes r in at most room bytes, with less detail where it must.
func pack(r *analysis.Result, room int) (packed, error) {
	named := labels(r.Kernels)
	p, err := encode(r, named)
	if err != nil {
		return packed{}, err
	}
	for keep := len(r.Kernels); len(p.text) > room && keep > 0; {
		keep = min(keep*2/3, int(int64(keep)*int64(room)/int64(len(p.text))))
		if p, err = encode(reduce(r, keep), named); err != nil {
			return packed{}, err
		}
	}
	if len(p.text) > room {
		return packed{}, fmt.Errorf("write HTML report: the result needs %d bytes and only %d are left for it; open result.json instead", len(p.text), room)
	}
	return p, nil
}

func encode(r *analysis.Result, named []string) (packed, error) {
	// Marshal writes <, >, &, U+2028 and U+2029 as escapes, so that no string
	// can end the script element that holds it.
	plain, err := json.Marshal(carried{r, report.PageViews(), named[:min(len(named), len(r.Kernels))]})
	if err != nil {
		return packed{}, fmt.Errorf("write HTML report: encode result: %w", err)
	}
	if plain, err = withWords(plain); err != nil {
		return packed{}, fmt.Errorf("write HTML report: %w", err)
	}
	if len(plain) <= plainLimit {
		return packed{encoding: "json", text: string(plain), result: r}, nil
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(plain); err != nil {
		return packed{}, fmt.Errorf("write HTML report: compress result: %w", err)
	}
	if err := z.Close(); err != nil {
		return packed{}, fmt.Errorf("write HTML report: compress result: %w", err)
	}
	return packed{encoding: "gzip+base64", text: base64.StdEncoding.EncodeToString(b.Bytes()), result: r}, nil
}

// reduce returns r with counters, rules and histograms for the first keep
// kernels only, a table of at most four times as many kernels, and as many
// boxes in each lane of the timeline. r stays as it is.
func reduce(r *analysis.Result, keep int) *analysis.Result {
	small := *r
	small.Kernels = slices.Clone(r.Kernels)
	for i := keep; i < len(small.Kernels); i++ {
		k := &small.Kernels[i]
		k.Histogram = nil
		if k.Counted != nil {
			c := *k.Counted
			c.Metrics, c.Rules = nil, nil
			c.Note = []fact.Fact{fact.New(countersLeftOut)}
			k.Counted = &c
		}
	}
	rows := max(4*keep, 1000)
	dropped := max(len(r.Kernels)-rows, 0)
	small.Kernels = small.Kernels[:len(small.Kernels)-dropped]
	small.Regions = shorterRegions(r.Regions, rows, len(small.Kernels))
	small.Operators = r.Operators[:min(len(r.Operators), rows)]
	small.Roofline.Points = r.Roofline.Points[:min(len(r.Roofline.Points), rows)]
	small.Overview = coarser(r.Overview, max(4*keep, 250))
	small.Warnings = append(slices.Clone(r.Warnings), analysis.Note{Fact: fact.New(pageReduced,
		fact.Bytes("most", MaxBytes), fact.Count("kept", keep), fact.Count("of", len(r.Kernels)), fact.Count("dropped", dropped))})
	return &small
}

// shorterRegions keeps the first rows (parents come before their children) and
// drops references to kernels that are no longer there.
func shorterRegions(regions []analysis.Region, rows, kernels int) []analysis.Region {
	out := slices.Clone(regions[:min(len(regions), rows)])
	for i := range out {
		out[i].Top = slices.DeleteFunc(slices.Clone(out[i].Top), func(k analysis.RegionKernel) bool {
			return k.Kernel >= kernels
		})
	}
	return out
}

// coarser merges neighbouring boxes until no lane has more than limit.
func coarser(o analysis.Overview, limit int) analysis.Overview {
	o.Lanes = slices.Clone(o.Lanes)
	for i := range o.Lanes {
		lane := &o.Lanes[i]
		if len(lane.Boxes) <= limit {
			continue
		}
		step := (len(lane.Boxes) + limit - 1) / limit
		merged := make([]analysis.Box, 0, limit)
		for group := range slices.Chunk(lane.Boxes, step) {
			box := mergeBoxes(group)
			lane.BinNS = max(lane.BinNS, box.Len)
			merged = append(merged, box)
		}
		lane.Boxes, lane.Exact = merged, false
	}
	return o
}

// mergeBoxes sums neighbours under the name that ran longest.
func mergeBoxes(boxes []analysis.Box) analysis.Box {
	sum := analysis.Box{Start: boxes[0].Start, Name: boxes[0].Name}
	var end, longest int64
	for _, b := range boxes {
		busy := b.Busy
		if b.Count == 0 {
			busy = b.Len
		}
		sum.Count += max(b.Count, 1)
		sum.Busy += busy
		end = max(end, b.Start+b.Len)
		if busy > longest {
			longest, sum.Name = busy, b.Name
		}
	}
	sum.Len = end - sum.Start
	sum.Busy = min(sum.Busy, sum.Len)
	return sum
}
