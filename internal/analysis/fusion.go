package analysis

import (
	"cmp"
	"slices"

	"github.com/deepprof/deepprof/internal/timeline"
)

// The categories whose neighbours can be one kernel: a chain of them holds at
// least one that computes.
const (
	categoryElementwise = "elementwise"
	categoryCopy        = "copy_cast"
)

// A chain is a run of kernels that could be one.
type chain struct {
	inside       uint32 // range around it
	last         uint32 // kernel that it ends in
	n            int64
	sum, longest int64
	computes     bool
}

// fuse adds a kernel. One that follows itself is taken for a loop over other
// data, and counts once.
func (c *chain) fuse(kernel uint32, ns int64, computes bool) {
	if c.n > 0 && c.last == kernel {
		return
	}
	c.last, c.n, c.sum, c.longest, c.computes = kernel, c.n+1, c.sum+ns, max(c.longest, ns), c.computes || computes
}

// saves is what the chain takes beyond the longest of its kernels.
func (c *chain) saves() int64 {
	if c.n < 2 || !c.computes {
		return 0
	}
	return c.sum - c.longest
}

// fusionSavings finds runs of elementwise kernels, with copies and casts between
// them, that follow each other in a stream within one instance of a range, with
// no other work between: fused, they are taken to last as long as the longest of
// them.
func (a *analyzer) fusionSavings() {
	tl := a.tl
	open := make([]chain, len(tl.t.Queues))
	var saved, chains, kernels int64
	times := map[uint32]int64{}
	held := make([]map[uint32]int64, len(open)) // times of the kernels of each open chain
	closeChain := func(queue uint32) {
		c := &open[queue]
		if c.n > 1 && c.computes {
			saved += c.saves()
			chains++
			kernels += c.n
			for k, ns := range held[queue] {
				times[k] += ns
			}
		}
		*c = chain{}
		clear(held[queue])
	}
	tl.t.ByStart(func(op timeline.Op) {
		category := ""
		if op.Kind == timeline.OpKernel && a.inScope(op.Index) {
			category = a.res.Kernels[tl.kernel[op.Index]].Category
		}
		if category != categoryElementwise && category != categoryCopy {
			closeChain(op.Queue)
			return
		}
		inside := tl.innermost(op)
		if c := &open[op.Queue]; c.n > 0 && c.inside != inside {
			closeChain(op.Queue)
		}
		ns := max(0, timeline.Since(op.Start, op.End))
		open[op.Queue].inside = inside
		open[op.Queue].fuse(tl.kernel[op.Index], ns, category == categoryElementwise)
		if held[op.Queue] == nil {
			held[op.Queue] = map[uint32]int64{}
		}
		held[op.Queue][tl.kernel[op.Index]] += ns
	})
	for i := range open {
		closeChain(uint32(i))
	}
	if float64(saved) < worth*float64(a.kernelNS()) {
		return
	}
	a.save(Opportunity{
		ID: "fusion-elementwise", Kind: "fusion", Title: "Fuse chains of elementwise, copy and cast kernels", Kernels: a.longest(times, 5),
		Evidence: []Evidence{
			{Metric: "chains of elementwise, copy and cast kernels", Value: float64(chains)},
			{Metric: "kernels in them", Value: float64(kernels)},
			{Metric: "mean length", Value: float64(kernels) / float64(max(1, chains)), Unit: "kernels"},
		},
		Assumption: "Kernels that follow each other in a stream within one instance of a range and with no other work between become one that takes as long as the longest of them; one that follows itself counts once. What only feeds or unpacks the others, as casts do, may save more than that; launches saved come on top and are counted with the gaps.",
		How: a.advice("Use torch.compile, or fused kernels of a library (RMSNorm, rotary embedding, SwiGLU).",
			"Write one kernel that does the work of a chain, so that values stay in registers between its steps."),
	}, float64(saved), nil, 0)
}

// categoryLayout is that of conversions between NCHW and NHWC.
const categoryLayout = "layout"

// layoutSavings are the conversions of layout that a model in one layout
// throughout would not need.
func (a *analyzer) layoutSavings() {
	var ns, calls int64
	times := map[uint32]int64{}
	inStage := map[string]int64{}
	for i := range a.res.Kernels {
		k := &a.res.Kernels[i]
		if k.Category != categoryLayout {
			continue
		}
		ns += k.TotalNS
		calls += k.Calls
		times[uint32(i)] += k.TotalNS
		for _, t := range k.Stages {
			inStage[t.Stage] += t.NS
		}
	}
	if float64(ns) < worth*float64(a.kernelNS()) || ns == 0 {
		return
	}
	var stage *Stage
	var part int64
	for i := range a.res.Stages {
		if t := inStage[a.res.Stages[i].Name]; t > part && 2*t >= ns {
			stage, part = &a.res.Stages[i], t
		}
	}
	a.save(Opportunity{
		ID: "copies-layout", Kind: "copies", Title: "Avoid layout conversions (channels_last)", Kernels: a.longest(times, 5),
		Evidence: []Evidence{
			{Metric: "time of kernels that convert between NCHW and NHWC", Value: float64(ns) / 1e6, Unit: "ms"},
			{Metric: "share of kernel time", Value: float64(ns) / float64(max(1, a.kernelNS())) * 100, Unit: "%"},
			{Metric: "calls", Value: float64(calls)},
		},
		Assumption: "Every conversion between NCHW and NHWC goes, and no other kernel becomes slower.",
		How: a.advice("Run the model and its input in channels_last (model.to(memory_format=torch.channels_last), the same for the input): convolutions on tensor cores work in NHWC and need no conversion then.",
			"Keep tensors in NHWC from the input on: convolutions on tensor cores work in it and need no conversion then."),
	}, float64(ns), stage, float64(part))
}

// innermost is the range around the launch of work that opened last; None without
// one.
func (tl *timed) innermost(op timeline.Op) uint32 {
	var best uint32 = timeline.None
	call := tl.at.Launch(op)
	if call == timeline.None {
		return best
	}
	tl.at.RangesAround(call, func(r uint32) {
		if best == timeline.None || tl.t.Ranges[r].Start > tl.t.Ranges[best].Start ||
			tl.t.Ranges[r].Start == tl.t.Ranges[best].Start && r > best {
			best = r
		}
	})
	return best
}

// longest names the kernels with the most time.
func (a *analyzer) longest(times map[uint32]int64, n int) []string {
	groups := make([]uint32, 0, len(times))
	for g := range times {
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(x, y uint32) int { return cmp.Or(cmp.Compare(times[y], times[x]), cmp.Compare(x, y)) })
	var ids []string
	for _, g := range groups[:min(n, len(groups))] {
		ids = append(ids, a.res.Kernels[g].ID)
	}
	return ids
}
