package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
)

// underNcuAlone tells that regions are made of what ncu counted: there is no
// timeline, and every count and time is one under ncu.
func underNcuAlone(r *analysis.Result) bool {
	return slices.ContainsFunc(r.Regions, func(g analysis.Region) bool { return g.Times == "ncu" })
}

// ncuRegions writes regions that ncu alone tells of. Wall times, idle times and
// shares are not known, and have no column.
func (d *doc) ncuRegions(r *analysis.Result) {
	d.say("regions-summary-ncu")
	writeView(d, NcuRegionView, pointers(regionLines(r)))
}

// ncuRegionFacts are the counts and times of a region under ncu.
func (d *doc) ncuRegionFacts(g *analysis.Region) {
	t := newGrid("under-ncu", ">inclusive", ">region-exclusive")
	if g.Instances > 0 {
		t.add(message.Phrase("ranges-measured-as-whole"), thousands(g.Instances), "")
		t.add(message.Phrase("their-time"), elapsed(float64(g.ProjectedNS)), "")
	}
	if g.Kernels > 0 {
		t.add(message.Phrase("counted-launches"), thousands(g.Kernels), thousands(g.SelfKernels))
		t.add(message.Phrase("their-time"), elapsed(float64(g.KernelNS)), elapsed(float64(g.SelfNS)))
	}
	d.table(t)
	d.say("region-limiter", prose(cmp.Or(regionLimiter(g), absent)))
}

// rangeRoofline places a region that was measured as a whole on the roofline.
func (d *doc) rangeRoofline(g *analysis.Region) {
	if g.Counters == nil || g.Counters.Limiter == nil {
		return
	}
	if why := g.Counters.Limiter.Why; len(why) > 0 {
		d.line("%s", prose(upperFirst(sentence(message.Join(why)))))
	}
	if len(g.Counters.Point) == 0 {
		return
	}
	t := newGrid("point-type", "environment-memory", ">flop-per-byte", ">point-rate-title", ">of-roof")
	for _, p := range g.Counters.Point {
		t.add(prose(p.DType), prose(p.Memory), fmt.Sprintf("%.3g", p.Intensity), measured(p.FLOPS, "flop/s"), percent(p.Attained))
	}
	d.table(t)
}
