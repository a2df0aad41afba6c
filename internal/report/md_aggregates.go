package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
)

// aggregateLabels are the names of the measures that the workloads write.
var aggregateLabels = map[string]string{
	"prefill_ms": "Prefill", "decode_ms": "Decode", "ttft_ms": "Time to first token",
	"token_ms": "Time per token", "tokens_per_s": "Throughput", "images_per_s": "Throughput", "forward_ms": "Forward pass",
}

func aggregateLabel(a *analysis.Aggregate) string {
	if l, ok := aggregateLabels[a.Name]; ok {
		return l
	}
	name := a.Name
	for _, unit := range []string{"_ms", "_bytes", "_per_s"} {
		name = strings.TrimSuffix(name, unit)
	}
	return upperFirst(strings.ReplaceAll(name, "_", " "))
}

// aggregateOf is what the values of a measure are taken of.
func aggregateOf(a *analysis.Aggregate) string {
	if a.Name == "token_ms" {
		return "token"
	}
	return "repeat"
}

// aggregateValues writes values in the unit to show: bytes have a prefix, the same
// for all.
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
		d.line("Unprofiled run: %s%s", absent, d.note(missing(r, "There was no run without a profiler, so times of the workload alone are not known.", withoutUnprofiled...)))
		return
	}
	writeView(d, AggregateView, pointers(r.Totals.Aggregates))
}

// totals writes the sums over the timeline.
func (d *doc) totals(r *analysis.Result) {
	t := &r.Totals
	if !r.HasTimeline() {
		d.line("Timeline: %s%s", absent, d.note(noTimeline(r, "There is no timeline, so wall time, idle time and calls are not known.")))
		return
	}
	d.scopeTotals(r)
	g := newGrid("Timeline", ">Value", ">Of wall time")
	timed := func(name string, ns int64) {
		if ns == 0 && t.WallNS == 0 {
			g.add(name, absent+d.note(missing(r, "There is no timeline.", withoutTimeline...)), absent)
			return
		}
		g.add(name, elapsed(float64(ns)), orAbsent(t.OfWall(ns)))
	}
	timed("Wall time", t.WallNS)
	timed("First to last GPU work", t.GPUSpanNS)
	perGPU := func(name string, ns int64) { timed(name+meanOf(r), ns/gpus(r)) }
	perGPU("GPU busy with kernels or copies", t.BusyNS)
	if s := t.Split; s != nil && s.WallNS > 0 {
		timed("A kernel runs, on any GPU", s.BusyNS)
	}
	perGPU("GPU time (kernels, added up)", t.KernelNS)
	perGPU("Copy time, added up", t.CopyNS)
	if t.Sets > 0 {
		perGPU("Time of memory sets, added up", t.SetNS)
	}
	if n := gpus(r); n > 1 {
		g.add(fmt.Sprintf("GPU time of all %d GPUs, added up", n), elapsed(float64(t.KernelNS)), "")
	}
	g.add("Kernel launches", thousands(t.Launches), "")
	g.add("Distinct kernels", thousands(int64(t.KernelNames)), "")
	if t.WallNS > 0 {
		g.add("Copies", fmt.Sprintf("%s (%s)", thousands(t.Copies), byteSize(t.CopyBytes)), "")
		if t.Sets > 0 {
			g.add("Memory sets", fmt.Sprintf("%s (%s)", thousands(t.Sets), byteSize(t.SetBytes)), "")
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
	g := newGrid("Scope: "+prose(p.name), ">Value", ">Of its wall time")
	timed := func(name string, ns int64) { g.add(name, elapsed(float64(ns)), orAbsent(r.Scope.OfWall(ns))) }
	timed("Wall time", p.wall)
	if p.wall > 0 {
		timed("GPU busy with kernels or copies"+meanOf(r), p.busyNS/gpus(r))
	}
	if p.split != nil && p.split.WallNS > 0 {
		timed("A kernel runs, on any GPU", p.split.BusyNS)
	}
	timed("GPU time (kernels, added up)"+meanOf(r), p.kernel/gpus(r))
	if n := gpus(r); n > 1 {
		g.add(fmt.Sprintf("GPU time of all %d GPUs, added up", n), elapsed(float64(p.kernel)), "")
	}
	g.add("Kernel launches", thousands(p.launches), "")
	g.add("Distinct kernels", thousands(p.kernelNames), "")
	g.add("Outside the scope: GPU time", elapsed(float64(p.outsideNS)), "")
	g.add("Outside the scope: launches", thousands(p.outsideCalls), "")
	d.table(g)
}

// gpus is how many GPUs the times of a result are added up over, at least 1.
func gpus(r *analysis.Result) int64 { return int64(max(1, len(r.Totals.Devices))) }

// meanOf ends the name of a time that is the mean of several GPUs.
func meanOf(r *analysis.Result) string {
	if n := gpus(r); n > 1 {
		return fmt.Sprintf(", mean of %d GPUs", n)
	}
	return ""
}
