package analysis

import (
	"cmp"
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/timeline"
)

// The categories of which advice depends.
const (
	categoryElementwise = "elementwise"
	categoryCopy        = "copy_cast"
)

// fusible are the categories whose neighbors in a stream can be one kernel:
// work on each value, and reductions over rows such as those of RMSNorm.
var fusible = map[string]bool{categoryElementwise: true, categoryCopy: true, "reduction": true, "normalisation": true, "softmax": true, "position": true, "quantisation": true}

// A chain is a run of launches in a stream that could be one kernel.
type chain struct {
	stage        int   // index of the stage that it is in; -1 outside
	n            int64 // launches
	sum, longest int64 // their durations
	gaps         int64 // between them
	short        int64 // of these, what is no long stretch of host code
	end          int64 // of the last
	computes     bool  // one of them does more than copy
	times        map[uint32]int64
}

// add takes up a launch from start to end.
func (c *chain) add(kernel uint32, start, end, long int64, computes bool) {
	ns := max(0, timeline.Since(start, end))
	if c.n > 0 {
		gap := max(0, timeline.Since(c.end, start))
		c.gaps += gap
		if gap < long {
			c.short += gap
		}
		c.end = max(c.end, end)
	} else {
		c.end, c.times = end, map[uint32]int64{}
	}
	c.n, c.sum, c.longest, c.computes = c.n+1, c.sum+ns, max(c.longest, ns), c.computes || computes
	c.times[kernel] += ns
}

// fuses tells whether there is anything to fuse.
func (c *chain) fuses() bool { return c.n > 1 && c.computes }

// chainSums are the chains of one stage.
type chainSums struct{ chains, launches, gpuNS, longestNS, gapsNS, shortNS int64 }

func (x *chainSums) add(c *chain) {
	x.chains++
	x.launches += c.n
	x.gpuNS += c.sum
	x.longestNS += c.longest
	x.gapsNS += c.gaps
	x.shortNS += c.short
}

// fusionSavings finds chains of kernels that follow each other in a stream, with
// no other work between them. Fused, a chain is one kernel and its launches and
// gaps but one go. How short that kernel can be is not known, so that the bound is
// all of their time; the estimate lets it last as long as the longest of them and
// leaves long stretches of host code in place.
func (a *analyzer) fusionSavings() {
	sums, times := a.chains()
	var all chainSums
	var saved, likely float64
	for stage, x := range sums {
		all.chains, all.launches, all.gpuNS, all.gapsNS = all.chains+x.chains, all.launches+x.launches, all.gpuNS+x.gpuNS, all.gapsNS+x.gapsNS
		gaps, short := x.gapsNS, x.shortNS
		if stage >= 0 {
			gaps, short = a.bounded(&a.res.Stages[stage], gaps), a.bounded(&a.res.Stages[stage], short)
		}
		saved += float64(x.gpuNS + gaps)
		likely += float64(x.gpuNS - x.longestNS + short)
	}
	if saved < worth*float64(a.kernelNS()) || all.chains == 0 {
		return
	}
	estimate := likely / 1e9
	a.save(Opportunity{
		ID: "fusion-elementwise", Kind: "fusion", Title: fact.New(codeFuseChains), Kernels: a.longest(times, 5), Estimate: &estimate,
		Evidence: []Evidence{
			{Of: fact.New(codeChains), Value: float64(all.chains)},
			{Of: fact.New(codeChainKernels), Value: float64(all.launches)},
			{Of: fact.New(codeChainLength), Value: float64(all.launches) / float64(all.chains)},
			{Of: fact.New(codeChainTime), Value: float64(all.gpuNS) / 1e6, Unit: "ms"},
			{Of: fact.New(codeChainGaps), Value: float64(all.gapsNS) / 1e6, Unit: "ms"},
		},
		Assumes: because(codeAssumeFusion),
		How:     a.advice(codeHowFuse),
	}, saved, nil, 0)
}

// chains sums the chains in the scope by stage, -1 for those outside any, with
// the time of each kernel in them.
func (a *analyzer) chains() (map[int]*chainSums, map[uint32]int64) {
	tl := a.tl
	sums, times := map[int]*chainSums{}, map[uint32]int64{}
	open := make([]chain, len(tl.t.Queues))
	finish := func(queue uint32) {
		c := &open[queue]
		if c.fuses() {
			if sums[c.stage] == nil {
				sums[c.stage] = &chainSums{}
			}
			sums[c.stage].add(c)
			for k, ns := range c.times {
				times[k] += ns
			}
		}
		*c = chain{}
	}
	stageOf := a.stageOfWork()
	tl.t.ByStart(func(op timeline.Op) {
		category := ""
		if op.Kind == timeline.OpKernel && a.inScope(op.Index) {
			category = a.res.Kernels[tl.kernel[op.Index]].Category
		}
		if !fusible[category] {
			finish(op.Queue)
			return
		}
		stage := stageOf(op)
		if c := &open[op.Queue]; c.n > 0 && c.stage != stage {
			finish(op.Queue)
		}
		open[op.Queue].stage = stage
		open[op.Queue].add(tl.kernel[op.Index], op.Start, op.End, a.th.HostGap.Nanoseconds(), category != categoryCopy)
	})
	for i := range open {
		finish(uint32(i))
	}
	return sums, times
}

// stageOfWork tells the stage that launched work, -1 where none did.
func (a *analyzer) stageOfWork() func(timeline.Op) int {
	of := map[uint32]int{}
	for i, regions := range a.stageRegions {
		for _, id := range regions {
			for _, r := range a.tl.instances[id] {
				of[r] = i
			}
		}
	}
	return func(op timeline.Op) int {
		stage := -1
		if call := a.tl.at.Launch(op); call != timeline.None && len(of) > 0 {
			a.tl.at.RangesAround(call, func(r uint32) {
				if i, ok := of[r]; ok {
					stage = i
				}
			})
		}
		return stage
	}
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
		ID: "copies-layout", Kind: "copies", Title: fact.New(codeKeepLayout), Kernels: a.longest(times, 5),
		Evidence: []Evidence{
			{Of: fact.New(codeLayoutTime), Value: float64(ns) / 1e6, Unit: "ms"},
			{Of: fact.New(codeLayoutShare), Value: float64(ns) / float64(max(1, a.kernelNS())) * 100, Unit: "%"},
			{Of: fact.New(codeCalls), Value: float64(calls)},
		},
		Assumes: because(codeAssumeLayout),
		How:     a.advice(codeHowLayout),
	}, float64(ns), stage, float64(part))
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
