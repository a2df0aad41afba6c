package analysis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/gpu"
)

const (
	maxSavings     = 24
	minSavings     = 3 // listed however small
	maxRoofSavings = 10
	// worth is the share of the time that it is held against from which a saving
	// is told.
	worth = 0.005
	// Below worthOfRun of what is analysed a saving is listed only if it is
	// worthOfStage of its stage: a short stage of a long run is what matters.
	worthOfRun, worthOfStage = 0.001, 0.05
	// worthOfScope is the same where the analysis is about a scope, which leaves
	// out what would make all of it small.
	worthOfScope = 0.005
)

// alone is part of every assumption: the bounds overlap.
const alone = " This bound stands on its own: it may overlap with the others, so that they do not add up."

// findSavings lists what could be gained at most, by seconds of the scope.
func (a *analyzer) findSavings(context.Context) error {
	if a.tl == nil {
		return nil
	}
	stages := a.stagesInScope()
	for _, s := range stages {
		a.idleSavings(s)
	}
	if s := a.res.Scope; len(stages) == 0 && s != nil && s.Split != nil {
		a.idleSavings(&Stage{Name: s.Name, Split: *s.Split})
	}
	a.roofSavings()
	a.fusionSavings()
	a.layoutSavings()
	a.occupancySavings()
	least := worthOfRun
	if a.scope != nil {
		least = worthOfScope
	}
	span, _ := a.span()
	a.res.Opportunities = worthwhile(a.res.Opportunities, least*float64(span)/1e9)
	return nil
}

// worthwhile sorts by seconds and cuts what is too little, in seconds as of a stage.
func worthwhile(list []Opportunity, least float64) []Opportunity {
	slices.SortStableFunc(list, func(x, y Opportunity) int { return cmp.Or(cmp.Compare(y.Seconds, x.Seconds), cmp.Compare(x.ID, y.ID)) })
	kept := []Opportunity{}
	for i, o := range list {
		large := o.Seconds >= least || o.StageGain != nil && *o.StageGain >= worthOfStage
		if len(kept) < maxSavings && (large || i < minSavings) {
			kept = append(kept, o)
		}
	}
	return kept
}

// save adds an opportunity of so many nanoseconds, inStage of them in a stage.
func (a *analyzer) save(o Opportunity, ns float64, stage *Stage, inStage float64) {
	span, times := a.span()
	if ns <= 0 || span <= 0 {
		return
	}
	ns = min(ns, float64(span))
	o.Seconds, o.OfNS, o.Times = ns/1e9, span, times
	if rest := float64(span) - ns; rest > 0 {
		o.Speedup = float64(span) / rest
	} else {
		o.Speedup = 0 // the whole run would vanish; no finite factor
	}
	if stage != nil && stage.Split.WallNS > 0 {
		o.Stage = stage.Name
		of, _ := a.stageNS(stage)
		g := min(1, inStage/float64(of))
		o.StageGain = &g
	}
	o.Assumption += alone
	if o.Evidence == nil {
		o.Evidence = []Evidence{}
	}
	a.res.Opportunities = append(a.res.Opportunities, o)
}

// An idleSaving is a change that takes away idle time of some causes.
type idleSaving struct {
	kind, id, title, assumption, how string
	causes                           []string
}

// tracesNodes is what to know of gaps where CUDA graphs were traced node by node.
const tracesNodes = " Part of this time is nsys, which traces every node: pipeline.nsys.cuda_graph_trace=graph is the lighter capture."

// idleChanges are the changes that fit a stage, but for its other CUDA calls.
func (a *analyzer) idleChanges(s *Stage) []idleSaving {
	gaps := idleSaving{"gaps", "launch", "Close the gaps between launches in %s", "All time in which the GPU waited for the next launch goes, as if every launch had been queued in time.",
		a.advice("Capture the steady part in a CUDA graph, or let torch.compile (mode reduce-overhead) do so; fuse small kernels.",
			"Capture the steady part in a CUDA graph, launch ahead of the GPU, or fuse small kernels."),
		[]string{"launch", "python"}}
	if s.fromGraphs() {
		gaps.title = "Close the gaps between the CUDA graphs of %s"
		gaps.assumption = "All time in which the GPU waited for the next graph goes, as if every graph had been launched before the one in front of it ended."
		gaps.how = "Its kernels come from CUDA graphs already: launch the next graph before the present one ends, without waiting for a result between, or capture several steps in one."
		if s.GraphKernels > 0 {
			gaps.how += tracesNodes
		}
	}
	// Nothing comes before the program.
	out, before := "Take the host's work out of %s", "Allocate before %s"
	if s.whole() {
		out, before = "Do less on the host in %s while the GPU waits", "Allocate less often in %s"
	}
	return []idleSaving{
		gaps,
		{"gaps", "graph", "Give the CUDA graphs of %s fewer nodes", "All time between the nodes of a graph goes, as if each graph were one kernel.",
			"Fuse kernels, so that a graph has fewer of them, before it is captured." + tracesNodes,
			[]string{"graph"}},
		{"host", "host", out, "Every long stretch of host code without a CUDA call, while the GPU waits, goes.",
			a.advice("Find what runs there (a sampling profiler, or pipeline.torch_profiler.with_stack=true): planning and compiling for each new shape, data handling, logging. Do it before the loop, cache it, or keep shapes fixed (a static KV cache).",
				"Find what runs there with a sampling profiler: planning, data handling, logging. Do it before the loop, cache it, or do it on a thread of its own."),
			[]string{"host"}},
		{"sync", "sync", "Wait less in %s", "Every wait of the host in which the GPU had nothing to run goes.",
			a.advice("Remove .item(), .cpu(), print and explicit synchronisation from the loop; keep sampling on the GPU; launch ahead.",
				"Remove synchronisation from the loop, keep on the GPU what decides over the next launch, and launch ahead."),
			[]string{"sync"}},
		{"copies", "copy", "Avoid or overlap the copies and sets in %s", "Every copy or set of memory during which no kernel ran is avoided or runs beside kernels.",
			a.advice("Keep data on the GPU, use pinned memory and non_blocking copies on a stream of their own, and prefetch.",
				"Keep data on the GPU, use pinned memory and asynchronous copies on a stream of their own, and prefetch."),
			[]string{"copy"}},
		{"alloc", "alloc", before, "No allocation or release happens while the GPU is idle.",
			a.advice("Allocate once before, use the caching allocator or static buffers; watch for empty_cache.", "Allocate once before, or from a pool (cudaMallocAsync)."),
			[]string{"alloc"}},
	}
}

// idleSavings are the idle parts of a stage, no longer than a clean run has them.
func (a *analyzer) idleSavings(s *Stage) {
	once := a.idleOnce(s)
	whole, clean := a.stageNS(s)
	calls := a.otherCalls(s)
	for _, c := range append(a.idleChanges(s), a.callChange(s, calls)) {
		var ns int64
		var evidence []Evidence
		for _, p := range s.Split.Idle {
			if slices.Contains(c.causes, p.ID) {
				ns += once[p.ID]
				evidence = append(evidence, Evidence{Metric: "idle under nsys: " + strings.ToLower(p.Label[:1]) + p.Label[1:], Value: float64(p.NS) / 1e6, Unit: "ms"})
			}
		}
		ns = a.bounded(s, ns)
		if float64(ns) < worth*float64(whole) {
			continue
		}
		if c.kind == "calls" {
			evidence = append(evidence, callEvidence(calls)...)
		}
		evidence = append(evidence, Evidence{Metric: "wall time of " + s.words() + " under nsys", Value: float64(s.Split.WallNS) / 1e6, Unit: "ms"})
		if clean {
			evidence = append(evidence, Evidence{Metric: "clean time of " + s.words(), Value: float64(whole) / 1e6, Unit: "ms"})
		}
		if clean || c.kind == "gaps" {
			evidence = append(evidence, Evidence{Metric: "a kernel runs in " + s.words() + " under nsys", Value: float64(s.Split.BusyNS) / 1e6, Unit: "ms"})
		}
		a.save(Opportunity{ID: c.kind + "-" + c.id + "-" + s.Name, Kind: c.kind, Title: fmt.Sprintf(c.title, s.words()), Evidence: evidence, Assumption: c.assumption + a.boundText(s), How: c.how},
			float64(ns), s, float64(ns))
	}
}

// roofSavings bring single kernels to the peak of their busiest limit.
func (a *analyzer) roofSavings() {
	type candidate struct {
		kernel int
		ns     float64
	}
	var list []candidate
	for i := range a.res.Kernels {
		k := &a.res.Kernels[i]
		if k.Attained == nil || k.TotalNS == 0 || *k.Attained >= 1 {
			continue
		}
		if ns := float64(k.TotalNS) * (1 - *k.Attained); ns >= worth*float64(a.kernelNS()) {
			list = append(list, candidate{i, ns})
		}
	}
	slices.SortStableFunc(list, func(x, y candidate) int { return cmp.Compare(y.ns, x.ns) })
	for _, c := range list[:min(len(list), maxRoofSavings)] {
		k := &a.res.Kernels[c.kernel]
		stage, share := a.mainStage(k)
		how := "Look at its limiter: " + k.Limiter.Label + "."
		if hint := roofHints[k.Limiter.Kind]; hint != "" {
			how += " " + hint
		}
		a.save(Opportunity{
			ID: "roofline-" + k.ID, Kind: "roofline", Title: "Bring " + a.apart(c.kernel) + " to the peak of its busiest limit", Kernels: []string{k.ID},
			Evidence: []Evidence{
				{Metric: "share of its busiest limit in use (" + limitName(k.AttainedOf) + ", by " + cmp.Or(k.AttainedMetric, workOverPeak(k.AttainedOf)) + ")", Value: *k.Attained * 100, Unit: "%"},
				{Metric: "total time in " + a.whole(), Value: float64(k.TotalNS) / 1e6, Unit: "ms"},
				{Metric: "calls", Value: float64(k.Calls)},
			},
			Assumption: "The kernel does the same work and moves the same bytes at the peak of its busiest limit; all its launches are like the one counted.",
			How:        how,
		}, c.ns, stage, c.ns*share)
	}
}

// apart names a kernel, with its grid where another has the same name.
func (a *analyzer) apart(kernel int) string {
	k := &a.res.Kernels[kernel]
	for i := range a.res.Kernels {
		if i != kernel && a.res.Kernels[i].Short == k.Short {
			return fmt.Sprintf("%s (grid %s)", k.Short, extent(k.Grid))
		}
	}
	return k.Short
}

// limitName is the ID of a limit for people.
func limitName(id string) string {
	switch id {
	case levelL1:
		return "L1 cache or shared memory"
	case levelDRAM, levelL2:
		return levelLabels[id]
	case "issue":
		return "instruction issue"
	case "sm", "":
		return "units of the SM"
	}
	for _, p := range pipes {
		if p.id == id {
			return p.label
		}
	}
	return gpu.DType(id).Label()
}

// workOverPeak says what a share of a limit is where no counter gives it.
func workOverPeak(id string) string {
	if slices.Contains(levels, id) {
		return "bytes moved"
	}
	return "FLOPs done"
}

var roofHints = map[string]string{
	LimitSmall:     "More work per launch (a larger batch, split-K, fused neighbours) fills the GPU.",
	LimitLatency:   "More independent work per warp, or more warps, hide the stall.",
	LimitOccupancy: "Fewer registers or less shared memory per block let more warps fit.",
	LimitL1:        "Better reuse in registers and fewer bank conflicts relieve it.",
	LimitL2:        "Larger tiles and better locality relieve it.",
	LimitDRAM:      "It is near the memory's roof; only moving fewer bytes helps further.",
	LimitCompute:   "It is near the pipe's roof; only less arithmetic or a smaller data type helps further.",
	LimitLaunch:    "Fusing it with its neighbours saves the launch.",
}

// mainStage is the stage in which a kernel spends most, with the share of its
// time that it spends there; nil where no stage has half of it.
func (a *analyzer) mainStage(k *Kernel) (stage *Stage, share float64) {
	var best int64
	for _, t := range k.Stages {
		for i := range a.res.Stages {
			if a.res.Stages[i].Name == t.Stage && t.NS > best && 2*t.NS >= k.TotalNS {
				best, stage = t.NS, &a.res.Stages[i]
			}
		}
	}
	if stage != nil {
		share = float64(best) / float64(k.TotalNS)
	}
	return stage, share
}

// occupancySavings lift the limit of kernels that it holds back.
func (a *analyzer) occupancySavings() {
	for i := range a.res.Kernels {
		k := &a.res.Kernels[i]
		if k.Limiter.Kind != LimitOccupancy || k.Limiter.Level == nil || k.TotalNS == 0 {
			continue
		}
		rest := *k.Limiter.Level
		if k.Attained != nil {
			rest = max(rest, *k.Attained)
		}
		ns := float64(k.TotalNS) * (1 - rest)
		if ns < worth*float64(a.kernelNS()) {
			continue
		}
		stage, share := a.mainStage(k)
		a.save(Opportunity{
			ID: "occupancy-" + k.ID, Kind: "occupancy", Title: "Lift the occupancy limit of " + a.apart(i), Kernels: []string{k.ID},
			Evidence:   k.Limiter.Evidence,
			Assumption: "Speed grows with the warps that fit, up to a full SM and no further than the roofline.",
			How:        "Its occupancy is limited by " + k.Limiter.Detail + ": use less of it per block, or another block size.",
		}, ns, stage, ns*share)
	}
}
