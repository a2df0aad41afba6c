package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
)

// aggregateLabel is the name of a measure that a workload wrote; one that deepprof
// does not know is its own name.
func aggregateLabel(a *analysis.Aggregate) string {
	if l := message.Label("aggregate", a.Name); l != a.Name {
		return l
	}
	name := a.Name
	for _, unit := range []string{"_ms", "_bytes", "_per_s"} {
		name = strings.TrimSuffix(name, unit)
	}
	return upperFirst(strings.ReplaceAll(name, "_", " "))
}

// aggregateCount says of how many things the values of a measure are.
func aggregateCount(a *analysis.Aggregate) string {
	if a.Name == "token_ms" {
		return message.Phrase("n-tokens", a.N)
	}
	return message.Phrase("n-passes", a.N)
}

// aggregateValues writes values in the unit to show: bytes have a prefix, the same
// for all.
// The prefix is chosen by the mean, so that mean, spread and percentiles compare.
func aggregateValues(a *analysis.Aggregate, values ...float64) (unit string, scaled []float64) {
	if a.Unit != "byte" {
		return a.Unit, values
	}
	factor, prefix := 1.0, ""
	for _, next := range []string{"k", "M", "G", "T"} {
		if math.Abs(a.Mean)/factor < 999.5 {
			break
		}
		factor, prefix = factor*1000, next
	}
	for _, v := range values {
		scaled = append(scaled, v/factor)
	}
	return prefix + "B", scaled
}

// aggregates writes the measures of the clean run, where there is one.
func (d *doc) aggregates(r *analysis.Result) {
	if len(r.Totals.Aggregates) == 0 {
		d.lacks("unprofiled-run", missing(r, message.Phrase("no-unprofiled-run"), withoutUnprofiled...))
		return
	}
	writeView(d, aggregateView, pointers(r.Totals.Aggregates))
}

// totals writes the sums over the timeline.
func (d *doc) totals(r *analysis.Result) {
	t := &r.Totals
	if !r.HasTimeline() {
		d.lacks("timeline", noTimeline(r, message.Phrase("no-timeline-for-wall-time")))
		return
	}
	d.scopeTotals(r)
	g := newGrid("timeline", ">value", ">of-wall-time")
	timed := func(name string, ns int64) {
		if ns == 0 && t.WallNS == 0 {
			g.add(name, absent+d.note(missing(r, message.Phrase("no-timeline"), withoutTimeline...)), absent)
			return
		}
		g.add(name, elapsed(float64(ns)), orAbsent(t.OfWall(ns)))
	}
	timed(message.Phrase("wall-time-row"), t.WallNS)
	timed(message.Phrase("aggregate-gpu-span"), t.GPUSpanNS)
	perGPU := func(name string, ns int64) { timed(meanOf(r, name), r.PerGPU(ns)) }
	perGPU(message.Phrase("aggregate-gpu-busy"), t.BusyNS)
	if s := t.Split; s != nil && s.WallNS > 0 {
		timed(message.Phrase("aggregate-kernel-runs"), s.BusyNS)
	}
	perGPU(message.Phrase("aggregate-gpu-time"), t.KernelNS)
	perGPU(message.Phrase("aggregate-copy-time"), t.CopyNS)
	if t.Sets > 0 {
		perGPU(message.Phrase("aggregate-set-time"), t.SetNS)
	}
	if n := r.GPUs(); n > 1 {
		g.add(message.Phrase("aggregate-gpu-time-all-gpus", n), elapsed(float64(t.KernelNS)), "")
	}
	g.add(message.Phrase("kernel-launches"), thousands(t.Launches), "")
	g.add(message.Phrase("distinct-kernels"), thousands(int64(t.KernelNames)), "")
	if t.WallNS > 0 {
		g.add(message.Phrase("copies"), fmt.Sprintf("%s (%s)", thousands(t.Copies), byteSize(t.CopyBytes)), "")
		if t.Sets > 0 {
			g.add(message.Phrase("memory-sets"), fmt.Sprintf("%s (%s)", thousands(t.Sets), byteSize(t.SetBytes)), "")
		}
	}
	d.table(g)
}

// scopeTotals writes the sums over the scope, and one line of what lies outside.
func (d *doc) scopeTotals(r *analysis.Result) {
	if r.Scope == nil {
		return
	}
	p := partOf(r)
	g := &grid{}
	g.column(message.Phrase("scope-row", prose(p.name)), false)
	g.column(message.Phrase("value"), true)
	g.column(message.Phrase("of-its-wall-time"), true)
	timed := func(name string, ns int64) { g.add(name, elapsed(float64(ns)), orAbsent(r.Scope.OfWall(ns))) }
	timed(message.Phrase("wall-time-row"), p.wall)
	if p.wall > 0 {
		timed(meanOf(r, message.Phrase("aggregate-gpu-busy")), r.PerGPU(p.busyNS))
	}
	if p.split != nil && p.split.WallNS > 0 {
		timed(message.Phrase("aggregate-kernel-runs"), p.split.BusyNS)
	}
	timed(meanOf(r, message.Phrase("aggregate-gpu-time")), r.PerGPU(p.kernel))
	if n := r.GPUs(); n > 1 {
		g.add(message.Phrase("aggregate-gpu-time-all-gpus", n), elapsed(float64(p.kernel)), "")
	}
	g.add(message.Phrase("kernel-launches"), thousands(p.launches), "")
	g.add(message.Phrase("distinct-kernels"), thousands(p.kernelNames), "")
	g.add(message.Phrase("outside-scope-gpu-time"), elapsed(float64(p.outsideNS)), "")
	g.add(message.Phrase("outside-scope-launches"), thousands(p.outsideCalls), "")
	d.table(g)
}

// meanOf is the name of a time that is the mean of several GPUs, where there are several.
func meanOf(r *analysis.Result, name string) string {
	return message.Phrase("mean-of-gpus", name, when(r.GPUs() > 1, r.GPUs()))
}
