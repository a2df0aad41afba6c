package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
)

// Rows of regions in report.md and in regions.md; result.json has all of them.
const (
	topRegions    = 12
	listedRegions = 300
)

// WriteRegions writes regions.md: NVTX regions by the GPU time inside them.
func WriteRegions(w io.Writer, r *analysis.Result) error {
	d := newDoc(message.Phrase("regions"), r)
	if len(r.Regions) == 0 {
		d.noRegions(r)
		return d.writeTo(w, r)
	}
	if underNcuAlone(r) {
		d.ncuRegions(r)
		return d.writeTo(w, r)
	}
	d.scope(r)
	of, outside := message.Phrase("all-gpu-time"), ""
	if r.Scope != nil {
		of, outside = message.Phrase("gpu-time-in-scope"), message.Phrase("regions-outside-scope")
	}
	d.line("%s", paragraph(message.Phrase("regions-summary"), message.Phrase("regions-shares", of, elapsed(float64(partOf(r).kernel))), outside, message.Phrase("regions-limiter")))
	d.regionTable(r, listedRegions, together)
	for _, by := range []struct {
		title string
		only  func(*regionLine) bool
	}{
		{message.Phrase("by-process"), func(g *regionLine) bool { return g.Process != nil && g.Device == nil }},
		{message.Phrase("by-device"), func(g *regionLine) bool { return g.Device != nil }},
	} {
		if slices.ContainsFunc(regionLines(r), func(g regionLine) bool { return by.only(&g) }) {
			d.line("## %s", by.title)
			d.regionTable(r, listedRegions, by.only)
		}
	}
	d.heading(2, "regions-tree-title")
	d.say("regions-tree-lead")
	d.fenced(regionTree(r))
	return d.writeTo(w, r)
}

// together are the rows of all processes and devices.
func together(g *regionLine) bool { return g.Process == nil && g.Device == nil }

// noRegions says why there are none: no timeline, or one without NVTX ranges.
func (d *doc) noRegions(r *analysis.Result) {
	why := message.Phrase("timeline-without-ranges")
	if !r.HasTimeline() {
		why = noTimeline(r, message.Phrase("no-timeline"))
	}
	d.lacks("regions", why)
}

// regionTable writes the regions that pass, by GPU time, then wall time.
func (d *doc) regionTable(r *analysis.Result, most int, only func(*regionLine) bool) {
	rows := slices.DeleteFunc(pointers(regionLines(r)), func(g *regionLine) bool { return !only(g) })
	slices.SortStableFunc(rows, func(a, b *regionLine) int { return analysis.ByTime(&a.Region, &b.Region) })
	if len(rows) == 0 {
		d.say("none")
		return
	}
	cut := max(0, len(rows)-most)
	writeView(d, resultRegionView, rows[:len(rows)-cut])
	if cut > 0 {
		d.say("regions-left-out", cut)
	}
}

// regionTree draws the nesting; siblings are ordered by GPU time.
func regionTree(r *analysis.Result) string {
	lines := r.RegionLines()
	order := analysis.RegionTree(lines)
	cut := max(0, len(order)-listedRegions)
	order = order[:len(order)-cut]
	names, width := make([]string, len(order)), 0
	for n, i := range order {
		g := &lines[i]
		name := g.Path
		if g.Parent >= 0 {
			name = g.Name
		}
		names[n] = strings.Repeat("  ", min(g.Depth, 32)) + shorten(oneLine(name), 60)
		width = max(width, utf8.RuneCountInString(names[n]))
	}
	var b strings.Builder
	for n, i := range order {
		g := &lines[i]
		fmt.Fprintln(&b, message.Phrase("region-tree-line", fmt.Sprintf("%-*s", width, names[n]),
			fmt.Sprintf("%9s", elapsed(float64(g.WallNS))), fmt.Sprintf("%9s", elapsed(float64(g.KernelNS))), fmt.Sprintf("%16s", message.Phrase("n-launches", g.Kernels))))
	}
	if cut > 0 {
		fmt.Fprintln(&b, message.Phrase("regions-tree-more", cut))
	}
	return b.String()
}
