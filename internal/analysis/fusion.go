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
	stage        int          // index of the stage that it is in; -1 outside
	n            int64        // launches
	sum, longest int64        // their durations
	first        int64        // when the host began the first launch
	host         int64        // from then until it had made the last
	longestPath  int64        // see saves
	short        int64        // gaps between them that are no long stretch of host code
	end          int64        // of the last kernel
	computes     bool         // one of them does more than copy
	graph        graphLaunch  // the call that launched the graph which they are nodes of; without a call for others
	graphNS      int64        // how long that call took
	times        []kernelTime // each kernel once; there are few
}

// A kernelTime is GPU time by the index of a kernel in the result.
type kernelTime struct {
	kernel uint32
	ns     int64
}

// A link is one launch of a chain. Times are nanoseconds by the clock of the capture.
type link struct {
	kernel     uint32
	start, end int64 // on the GPU
	// launchFrom and launched bound the launching call.
	launchFrom, launched int64 // on the host; start of the kernel where no call is known, and for nodes of a graph
	computes             bool
}

// add takes up a launch. Gaps as long as long are host code that stays.
func (c *chain) add(l link, long int64) {
	ns := max(0, timeline.Since(l.start, l.end))
	if c.n == 0 {
		c.first, c.end = l.launchFrom, l.start
	}
	if gap := max(0, timeline.Since(c.end, l.start)); gap < long {
		c.short += gap
	}
	c.host = max(c.host, timeline.Since(c.first, l.launched))
	c.longestPath = max(c.longestPath+ns, max(0, timeline.Since(c.first, l.launched))+ns)
	c.end = max(c.end, l.end)
	c.n, c.sum, c.longest, c.computes = c.n+1, c.sum+ns, max(c.longest, ns), c.computes || l.computes
	i := slices.IndexFunc(c.times, func(t kernelTime) bool { return t.kernel == l.kernel })
	if i < 0 {
		i = len(c.times)
		c.times = append(c.times, kernelTime{kernel: l.kernel})
	}
	c.times[i].ns += ns
}

// saves is the most that making one kernel of the chain can save. Time is lost on
// a path through the host, which makes the first launches, and then through the
// kernels of the rest: no path through the chain is longer.
func (c *chain) saves() int64 { return max(c.longestPath, c.host) }

// fuses tells whether there is anything to fuse.
func (c *chain) fuses() bool { return c.n > 1 && c.computes }

// chainSums are the chains of one stage; times are nanoseconds, summed over them.
type chainSums struct{ chains, launches, gpuNS, longestNS, pathNS, shortNS int64 }

// add does not know of calls of graphs, which count once for all chains in them.
func (x *chainSums) add(c *chain) {
	x.chains++
	x.launches += c.n
	x.gpuNS += c.sum
	x.longestNS += c.longest
	x.pathNS += c.saves()
	x.shortNS += c.short
}

// fusionSavings finds chains of kernels that follow each other in a stream, with
// no other work between them. Fused, a chain is one kernel with one launch. How
// short that kernel can be is not known, so that the bound lets it take no time;
// the estimate lets it last as long as the longest of them, and leaves long
// stretches of host code in place. Other kernels still run one after another in
// each stream, and no change to chains saves that time.
func (sv *savings) fusionSavings(found foundChains) {
	var all chainSums
	var saved, likely float64
	for stage, x := range found.sums {
		all.chains, all.launches, all.gpuNS, all.pathNS = all.chains+x.chains, all.launches+x.launches, all.gpuNS+x.gpuNS, all.pathNS+x.pathNS
		host, short := x.pathNS-x.gpuNS, x.shortNS
		if stage >= 0 { // no more than the unprofiled run has beside kernels
			host, short = sv.stages.bounded(&sv.res.Stages[stage], host), sv.stages.bounded(&sv.res.Stages[stage], short)
		}
		saved += float64(x.gpuNS + host)
		likely += float64(x.gpuNS - x.longestNS + short)
	}
	if saved < worth*float64(sv.res.kernelNS()) || all.chains == 0 {
		return
	}
	span, _ := sv.span()
	saved = min(saved, float64(max(0, span-found.others)))
	var estimate *float64
	if likely <= saved { // more where several GPUs run chains side by side, whose time is added up
		estimate = new(likely / 1e9)
	}
	sv.save(Opportunity{
		ID: "fusion-elementwise", Kind: "fusion", Title: fact.New(codeFuseChains), Kernels: sv.res.longest(found.times, 5), Estimate: estimate,
		Evidence: []Evidence{
			{Of: fact.New(codeChains), Value: float64(all.chains)},
			{Of: fact.New(codeChainKernels), Value: float64(all.launches)},
			{Of: fact.New(codeChainLength), Value: float64(all.launches) / float64(all.chains)},
			{Of: fact.New(codeChainTime), Value: float64(all.gpuNS) / 1e6, Unit: "ms"},
			{Of: fact.New(codeChainGaps), Value: float64(all.pathNS) / 1e6, Unit: "ms"},
		},
		Assumes: because(codeAssumeFusion),
		How:     sv.res.advice(codeHowFuse),
	}, saved, nil, 0)
}

// foundChains are the chains in the scope.
type foundChains struct {
	sums   map[int]*chainSums // by stage, -1 for those outside any
	times  map[uint32]int64   // of each kernel in them
	others int64              // of the kernels in no chain, in the stream that has the most of it
}

// chains finds the chains. A graph is launched by one call, however many chains are
// in it, so that the call counts once.
func (sv *savings) chains() foundChains {
	tl := sv.tl
	sums, times := map[int]*chainSums{}, map[uint32]int64{}
	kinds := make([]struct{ fuses, computes, waits bool }, len(sv.res.Kernels)) // by group of kernels
	for i := range sv.res.Kernels {
		category := sv.res.Kernels[i].Category
		kinds[i].fuses, kinds[i].computes = fusible[category], category != categoryCopy
		kinds[i].waits = category == communicationCategory // for other ranks, and may wait less
	}
	open := make([]chain, len(tl.t.Queues))
	unfused := make([]int64, len(tl.t.Queues))
	launched := map[graphLaunch]bool{} // calls of graphs that were counted
	finish := func(queue uint32) {
		c := &open[queue]
		if c.n == 0 {
			return
		}
		if c.fuses() {
			sum := entry(sums, c.stage)
			sum.add(c)
			if c.graph.call != timeline.None && !launched[c.graph] {
				launched[c.graph] = true
				sum.pathNS += c.graphNS
			}
			for _, t := range c.times {
				times[t.kernel] += t.ns
			}
		} else {
			unfused[queue] += c.sum
		}
		*c = chain{times: c.times[:0]}
	}
	stageOf, counted := sv.stageOfWork(), tl.counted()
	for w := tl.tape.Work(); w.Next(); {
		kind := w.Kind()
		k := &tl.tape.Kinds[kind]
		if k.Kind != timeline.OpKernel || !counted[kind] {
			finish(k.Queue)
			continue
		}
		kernel := tl.rowOf[kind]
		if !kinds[kernel].fuses {
			finish(k.Queue)
			if !kinds[kernel].waits {
				unfused[k.Queue] += w.NS()
			}
			continue
		}
		start, end := w.Span()
		l, graph, graphNS := link{kernel, start, end, start, start, kinds[kernel].computes}, graphLaunch{call: timeline.None}, int64(0)
		stage, call := stageOf(w), w.Call()
		switch {
		case call == timeline.None:
		case k.Node:
			graph, graphNS = graphLaunch{k.Thread, call}, timeline.Since(w.Launch())
		default:
			l.launchFrom, l.launched = w.Launch()
		}
		c := &open[k.Queue]
		if c.n > 0 && (c.stage != stage || c.graph != graph) {
			finish(k.Queue)
		}
		c.stage, c.graph, c.graphNS = stage, graph, graphNS
		c.add(l, sv.th.HostGap.Nanoseconds())
	}
	for i := range open {
		finish(uint32(i))
	}
	return foundChains{sums, times, slices.Max(append(unfused, 0))}
}

// stageOfWork tells the stage around the launch of work, -1 where there is none.
func (sv *savings) stageOfWork() func(*timeline.WorkReader) int {
	of := make([]int32, len(sv.tl.regions)+1) // of each region: its stage from 1; 0 for none
	for i := range sv.res.Stages {
		for _, id := range sv.res.Stages[i].ids {
			of[id] = int32(i) + 1
		}
	}
	ranges := sv.tl.tape.Ranges()
	around := sv.tl.tape.AroundWork(func(r uint32) bool { return of[ranges.Region(r)] != 0 })
	return func(w *timeline.WorkReader) int {
		if list := around(w); len(list) > 0 {
			return int(of[ranges.Region(list[len(list)-1])]) - 1
		}
		return -1
	}
}

// categoryLayout is that of conversions between NCHW and NHWC.
const categoryLayout = "layout"

// layoutSavings are the conversions of layout that a model in one layout
// throughout would not need.
func (sv *savings) layoutSavings() {
	var ns, calls int64
	times := map[uint32]int64{}
	inStage := map[string]int64{}
	for i := range sv.res.Kernels {
		k := &sv.res.Kernels[i]
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
	if float64(ns) < worth*float64(sv.res.kernelNS()) || ns == 0 {
		return
	}
	var stage *Stage
	var part int64
	for i := range sv.res.Stages {
		if t := inStage[sv.res.Stages[i].Name]; t > part && 2*t >= ns {
			stage, part = &sv.res.Stages[i], t
		}
	}
	sv.save(Opportunity{
		ID: "copies-layout", Kind: "copies", Title: fact.New(codeKeepLayout), Kernels: sv.res.longest(times, 5),
		Evidence: []Evidence{
			{Of: fact.New(codeLayoutTime), Value: float64(ns) / 1e6, Unit: "ms"},
			{Of: fact.New(codeLayoutShare), Value: float64(ns) / float64(max(1, sv.res.kernelNS())) * 100, Unit: "%"},
			{Of: fact.New(codeCalls), Value: float64(calls)},
		},
		Assumes: because(codeAssumeLayout),
		How:     sv.res.advice(codeHowLayout), Estimated: true, // the launches go too
	}, float64(ns), stage, float64(part))
}

// longest are the IDs of the n kernels with the most of these times; of equal ones the first.
func (r *Result) longest(times map[uint32]int64, n int) []string {
	groups := make([]uint32, 0, len(times))
	for g := range times {
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(x, y uint32) int { return cmp.Or(cmp.Compare(times[y], times[x]), cmp.Compare(x, y)) })
	var ids []string
	for _, g := range groups[:min(n, len(groups))] {
		ids = append(ids, r.Kernels[g].ID)
	}
	return ids
}
