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

const (
	topRegions    = 12
	listedRegions = 300
)

// WriteRegions writes regions.md: NVTX regions by the GPU time inside them.
func WriteRegions(w io.Writer, r *analysis.Result) error {
	d := newDoc("Regions", r)
	if len(r.Regions) == 0 {
		d.noRegions(r)
		return d.writeTo(w, r)
	}
	if underNcuAlone(r) {
		d.ncuRegions(r)
		return d.writeTo(w, r)
	}
	d.scope(r)
	of, outside := "all kernel time", ""
	if r.Scope != nil {
		of, outside = "the kernel time in the scope", ", which reads outside for regions that are not in it"
		if slices.ContainsFunc(r.Regions, func(g analysis.Region) bool { return inPart(r, &g) }) {
			outside += "; where one lies in it in part, a column has the part that the share is of"
		}
	}
	d.line("NVTX regions, sorted by kernel time. Kernel time includes nested regions, so rows overlap; **own** leaves them out. Share is of %s (%s)%s. Limiter names what holds back most of the region's kernel time, or launch-bound where the GPU waits for the CPU more than it works.",
		of, elapsed(float64(analysed(r).kernel)), outside)
	d.regionTable(r, listedRegions, func(g *analysis.Region) bool { return g.Process == nil && g.Device == nil })
	for _, by := range []struct {
		title string
		only  func(*analysis.Region) bool
	}{
		{"By process", func(g *analysis.Region) bool { return g.Process != nil && g.Device == nil }},
		{"By device", func(g *analysis.Region) bool { return g.Device != nil }},
	} {
		if slices.ContainsFunc(r.Regions, func(g analysis.Region) bool { return by.only(&g) }) {
			d.line("## %s", by.title)
			d.regionTable(r, listedRegions, by.only)
		}
	}
	d.line("## Tree")
	d.line("Wall time, kernel time and GPU launches of each region, nested as the program nests them.")
	d.fenced(regionTree(r))
	return d.writeTo(w, r)
}

func (d *doc) noRegions(r *analysis.Result) {
	if !r.HasTimeline() {
		d.line("Regions: %s%s", absent, d.note(noTimeline(r, "There is no timeline.")))
		return
	}
	d.line("Regions: %s%s", absent, d.note(missing(r, "The timeline holds no NVTX ranges; mark the parts of the program with ranges, for example `torch.cuda.nvtx.range_push(\"prefill\")`.")))
}

// inPart tells whether a part of a region's kernel time lies in the scope.
func inPart(r *analysis.Result, g *analysis.Region) bool {
	ns, in := inScope(r, g)
	return in && ns < g.KernelNS
}

// regionTable writes the regions that pass, by kernel time, then wall time.
func (d *doc) regionTable(r *analysis.Result, most int, only func(*analysis.Region) bool) {
	var rows []*analysis.Region
	for i := range r.Regions {
		if only(&r.Regions[i]) {
			rows = append(rows, &r.Regions[i])
		}
	}
	slices.SortStableFunc(rows, func(a, b *analysis.Region) int {
		return cmp.Or(cmp.Compare(b.KernelNS, a.KernelNS), cmp.Compare(b.WallNS, a.WallNS), cmp.Compare(a.Path, b.Path))
	})
	if len(rows) == 0 {
		d.line("None.")
		return
	}
	cut := max(0, len(rows)-most)
	rows = rows[:len(rows)-cut]
	var wall, kernel, mean []float64
	partly := false // a region lies in the scope in part
	for _, g := range rows {
		ns, _ := inScope(r, g)
		partly = partly || inPart(r, g)
		wall = append(wall, float64(g.WallNS))
		kernel = append(kernel, float64(g.KernelNS), float64(g.SelfNS), float64(ns))
		mean = append(mean, float64(g.WallNS)/float64(max(g.Instances, 1)))
	}
	wallUnit, walls := times(wall)
	unit, cells := times(kernel)
	meanUnit, means := times(mean)
	g := newGrid(">#", "Region", "Process", "Device", ">Calls", ">Wall ("+wallUnit+")", ">Mean wall ("+meanUnit+")", ">Kernel time ("+unit+")", ">Own ("+unit+")", ">In the scope ("+unit+")", ">Share %", ">Launches", "Limiter", ">Counted %")
	whole := analysed(r).kernel
	for i, x := range rows {
		pct, counted, scope := absent, "", ""
		if partly {
			scope = cells[3*i+2]
		}
		if ns, in := inScope(r, x); !in {
			pct = "outside"
		} else if whole > 0 {
			pct = percentage(float64(ns) / float64(whole) * 100)
		}
		switch {
		case x.Counters != nil:
			counted = percentage(x.Counters.Coverage * 100)
		case x.Kernels > 0:
			counted = "none" + d.note(prose(sentence(whyNotCounted(x))))
		}
		g.add(fmt.Sprint(i+1), code(x.Path), optional(x.Process), optional(x.Device), thousands(x.Instances), walls[i], means[i], cells[3*i], cells[3*i+1], scope, pct,
			thousands(x.Kernels), prose(regionLimiter(r, x)), counted)
	}
	for _, h := range []string{"Process", "Device", "In the scope (" + unit + ")", "Counted %"} {
		g.drop(h)
	}
	d.table(g)
	if cut > 0 {
		d.line("%s more regions are in result.json.", thousands(int64(cut)))
	}
}

func optional(p *int) string {
	if p == nil {
		return ""
	}
	return fmt.Sprint(*p)
}

// regionLimiter names what holds a region back: the CPU, or that which limits
// most of its kernel time, without verdicts that rest on launches unlike its own.
func regionLimiter(r *analysis.Result, g *analysis.Region) string {
	if g.Split.LaunchBound {
		return "launch-bound"
	}
	if whole, ok := wholeLimiter(g); ok {
		return whole
	}
	if g.Kernels == 0 && g.Times == "" {
		return "no GPU work"
	}
	byLabel := map[string]int64{}
	var labels []string
	for _, k := range g.Top {
		if k.Kernel < 0 || k.Kernel >= len(r.Kernels) {
			continue
		}
		l := &r.Kernels[k.Kernel].Limiter
		if l.Kind == "" || k.BasisNS > 0 {
			continue
		}
		label := message.Limiter(l.Kind, l.Units)
		if _, ok := byLabel[label]; !ok {
			labels = append(labels, label)
		}
		byLabel[label] += k.NS
	}
	if len(labels) == 0 || g.KernelNS <= 0 {
		return absent
	}
	slices.SortStableFunc(labels, func(a, b string) int { return cmp.Compare(byLabel[b], byLabel[a]) })
	return fmt.Sprintf("%s (%.0f %% of its kernel time)", labels[0], float64(byLabel[labels[0]])/float64(g.KernelNS)*100)
}

// regionTree draws the nesting; siblings are ordered by kernel time.
func regionTree(r *analysis.Result) string {
	children := map[int][]int{}
	for i := range r.Regions {
		g := &r.Regions[i]
		if g.Process != nil || g.Device != nil {
			continue
		}
		parent := g.Parent
		if parent < 0 || parent >= i {
			parent = -1
		}
		children[parent] = append(children[parent], i)
	}
	var order []int
	var walk func(int)
	walk = func(parent int) {
		slices.SortStableFunc(children[parent], func(a, b int) int {
			x, y := &r.Regions[a], &r.Regions[b]
			return cmp.Or(cmp.Compare(y.KernelNS, x.KernelNS), cmp.Compare(y.WallNS, x.WallNS), cmp.Compare(x.Path, y.Path))
		})
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
		g := &r.Regions[i]
		name := g.Path
		if p := g.Parent; p >= 0 && p < i { // with its domain, which the name has not
			name = strings.TrimPrefix(name, r.Regions[p].Path+"/")
		}
		names[n] = strings.Repeat("  ", min(g.Depth, 32)) + shorten(oneLine(name), 60)
		width = max(width, utf8.RuneCountInString(names[n]))
	}
	var b strings.Builder
	for n, i := range order {
		g := &r.Regions[i]
		launches := "launches"
		if g.Kernels == 1 {
			launches = "launch"
		}
		fmt.Fprintf(&b, "%s%s  %9s wall  %9s kernels  %7s %s\n", names[n], strings.Repeat(" ", width-utf8.RuneCountInString(names[n])),
			elapsed(float64(g.WallNS)), elapsed(float64(g.KernelNS)), thousands(g.Kernels), launches)
	}
	if cut > 0 {
		fmt.Fprintf(&b, "and %s more\n", thousands(int64(cut)))
	}
	return b.String()
}
