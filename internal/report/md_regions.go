package report

import (
	"cmp"
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
	d.say("regions-summary",
		of, elapsed(float64(partOf(r).kernel)), outside)
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
	if !r.HasTimeline() {
		d.say("regions-absent", absent, d.note(noTimeline(r, message.Phrase("no-timeline"))))
		return
	}
	d.say("regions-absent", absent, d.note(missing(r, message.Phrase("timeline-without-ranges"))))
}

// regionTable writes the regions that pass, by GPU time, then wall time.
func (d *doc) regionTable(r *analysis.Result, most int, only func(*regionLine) bool) {
	rows := slices.DeleteFunc(pointers(regionLines(r)), func(g *regionLine) bool { return !only(g) })
	slices.SortStableFunc(rows, func(a, b *regionLine) int { return byTime(&a.Region, &b.Region) })
	if len(rows) == 0 {
		d.line("None.")
		return
	}
	cut := max(0, len(rows)-most)
	writeView(d, resultRegionView, rows[:len(rows)-cut])
	if cut > 0 {
		d.say("regions-left-out", thousands(int64(cut)))
	}
}

// byTime orders regions by GPU time, then wall time; paths make the order total.
func byTime(x, y *analysis.Region) int {
	return cmp.Or(cmp.Compare(y.KernelNS, x.KernelNS), cmp.Compare(y.WallNS, x.WallNS), cmp.Compare(x.Path, y.Path))
}

// regionTree draws the nesting; siblings are ordered by GPU time.
func regionTree(r *analysis.Result) string {
	lines := r.RegionLines()
	children := map[int][]int{}
	for i := range lines {
		if g := &lines[i]; g.Process == nil && g.Device == nil {
			children[g.Parent] = append(children[g.Parent], i)
		}
	}
	var order []int
	var walk func(int)
	walk = func(parent int) {
		slices.SortStableFunc(children[parent], func(a, b int) int { return byTime(&lines[a], &lines[b]) })
		for _, i := range children[parent] {
			order = append(order, i)
			walk(i)
		}
	}
	walk(-1)
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
		unit := "launches"
		if g.Kernels == 1 {
			unit = "launch"
		}
		fmt.Fprintln(&b, message.Phrase("region-tree-line", names[n], strings.Repeat(" ", width-utf8.RuneCountInString(names[n])),
			elapsed(float64(g.WallNS)), elapsed(float64(g.KernelNS)), thousands(g.Kernels), unit))
	}
	if cut > 0 {
		fmt.Fprintln(&b, message.Phrase("regions-tree-more", thousands(int64(cut))))
	}
	return b.String()
}
