package analysis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/gpu"
	"github.com/deepprof/deepprof/internal/timeline"
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
	a.occupancySavings()
	least := worthOfRun
	if a.scope != nil {
		least = worthOfScope
	}
	a.res.Opportunities = worthwhile(a.res.Opportunities, least*float64(a.wallNS())/1e9)
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

// save adds an opportunity of so many nanoseconds.
func (a *analyzer) save(o Opportunity, ns float64, stage *Stage) {
	wall := float64(a.wallNS())
	if ns <= 0 || wall <= 0 {
		return
	}
	ns = min(ns, wall)
	o.Seconds = ns / 1e9
	if rest := wall - ns; rest > 0 {
		o.Speedup = wall / rest
	} else {
		o.Speedup = 0 // the whole run would vanish; no finite factor
	}
	if stage != nil && stage.Split.WallNS > 0 {
		o.Stage = stage.Name
		g := min(1, ns/float64(stage.Split.WallNS))
		o.StageGain = &g
	}
	o.Assumption += alone
	if o.Evidence == nil {
		o.Evidence = []Evidence{}
	}
	a.res.Opportunities = append(a.res.Opportunities, o)
}

// idleSavings are the idle parts of a stage.
func (a *analyzer) idleSavings(s *Stage) {
	once := a.idleOnce(s)
	part := func(ids ...string) (ns int64, evidence []Evidence) {
		for _, p := range s.Split.Idle {
			if slices.Contains(ids, p.ID) {
				ns += once[p.ID]
				evidence = append(evidence, Evidence{Metric: "idle: " + strings.ToLower(p.Label), Value: float64(p.NS) / 1e6, Unit: "ms"})
			}
		}
		evidence = append(evidence, Evidence{Metric: "wall time of " + s.Name, Value: float64(s.Split.WallNS) / 1e6, Unit: "ms"})
		return ns, evidence
	}
	for _, c := range []struct {
		kind, title, assumption, how string
		ids                          []string
	}{
		{"gaps", "Close the gaps between launches in %s", "All time in which the GPU waited for the next launch goes, as if every launch had been queued in time.",
			"Capture the steady part in a CUDA graph, or let torch.compile (mode reduce-overhead) do so; fuse small kernels.",
			[]string{"launch", "python"}},
		{"host", "Take the host's work out of %s", "Every long stretch of host code without a CUDA call, while the GPU waits, goes.",
			"Find what runs there (a sampling profiler, or pipeline.torch_profiler.with_stack=true): planning and compiling for each new shape, data handling, logging. Do it before the loop, cache it, or keep shapes fixed (a static KV cache).",
			[]string{"host"}},
		{"sync", "Wait less in %s", "Every wait of the host in which the GPU had nothing to run goes.",
			"Remove .item(), .cpu(), print and explicit synchronisation from the loop; keep sampling on the GPU; launch ahead.", []string{"sync"}},
		{"copies", "Avoid or overlap the copies in %s", "Every copy during which no kernel ran is avoided or runs beside kernels.",
			"Keep data on the GPU, use pinned memory and non_blocking copies on a stream of their own, and prefetch.", []string{"copy"}},
		{"alloc", "Allocate before %s", "No allocation or release happens while the GPU is idle.",
			"Allocate once before, use the caching allocator or static buffers; watch for empty_cache.", []string{"alloc"}},
		{"calls", "Prepare before %s what its CUDA calls do", "Loading of code and other CUDA calls beside launches happen before.",
			"Warm up with the same shapes; set CUDA_MODULE_LOADING=EAGER to load kernels at start.", []string{"call"}},
	} {
		ns, evidence := part(c.ids...)
		if float64(ns) < worth*float64(s.Split.WallNS) {
			continue
		}
		if c.ids[0] == "launch" {
			evidence = append(evidence, Evidence{Metric: "GPU busy in " + s.Name, Value: float64(s.Split.BusyNS) / 1e6, Unit: "ms"})
		}
		a.save(Opportunity{ID: c.kind + "-" + c.ids[0] + "-" + s.Name, Kind: c.kind, Title: fmt.Sprintf(c.title, s.Name), Evidence: evidence, Assumption: c.assumption, How: c.how},
			float64(ns), s)
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
		how := "Look at its limiter: " + k.Limiter.Label + "."
		if hint := roofHints[k.Limiter.Kind]; hint != "" {
			how += " " + hint
		}
		a.save(Opportunity{
			ID: "roofline-" + k.ID, Kind: "roofline", Title: "Bring " + a.apart(c.kernel) + " to the peak of its busiest limit", Kernels: []string{k.ID},
			Evidence: []Evidence{
				{Metric: "share of its busiest limit in use (" + limitName(k.AttainedOf) + ")", Value: *k.Attained * 100, Unit: "%"},
				{Metric: "total time in " + a.whole(), Value: float64(k.TotalNS) / 1e6, Unit: "ms"},
				{Metric: "calls", Value: float64(k.Calls)},
			},
			Assumption: "The kernel does the same work and moves the same bytes at the peak of its busiest limit; all its launches are like the one counted.",
			How:        how,
		}, c.ns, a.mainStage(k))
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

// mainStage is the stage in which a kernel spends most.
func (a *analyzer) mainStage(k *Kernel) *Stage {
	best := int64(0)
	var stage *Stage
	for _, t := range k.Stages {
		for i := range a.res.Stages {
			if a.res.Stages[i].Name == t.Stage && t.NS > best && 2*t.NS >= k.TotalNS {
				best, stage = t.NS, &a.res.Stages[i]
			}
		}
	}
	return stage
}

// fusible are the categories whose neighbours can be one kernel.
var fusible = []string{"elementwise", "copy_cast"}

// fusionSavings finds runs of elementwise kernels that follow each other in a
// stream within one instance of a range, with no other work between: fused, they
// are taken to last as long as the longest of them.
func (a *analyzer) fusionSavings() {
	tl := a.tl
	fits := make([]bool, len(a.res.Kernels))
	for i := range a.res.Kernels {
		fits[i] = slices.Contains(fusible, a.res.Kernels[i].Category)
	}
	type chain struct {
		inside       uint32 // range around it
		n            int64
		sum, longest int64
	}
	open := make([]chain, len(tl.t.Queues))
	var saved float64
	var chains, kernels int64
	times := map[uint32]int64{}
	closeChain := func(c *chain) {
		if c.n > 1 {
			saved += float64(c.sum - c.longest)
			chains++
			kernels += c.n
		}
		*c = chain{}
	}
	var order []timeline.Op
	tl.t.EachOp(func(op timeline.Op) { order = append(order, op) })
	slices.SortStableFunc(order, func(x, y timeline.Op) int { return cmp.Compare(x.Start, y.Start) })
	for _, op := range order {
		c := &open[op.Queue]
		if op.Kind != timeline.OpKernel || !a.inScope(op.Index) || !fits[tl.kernel[op.Index]] {
			closeChain(c)
			continue
		}
		inside := tl.innermost(op)
		if c.n > 0 && c.inside != inside {
			closeChain(c)
		}
		ns := max(0, timeline.Since(op.Start, op.End))
		c.inside, c.n, c.sum, c.longest = inside, c.n+1, c.sum+ns, max(c.longest, ns)
		times[tl.kernel[op.Index]] += ns
	}
	for i := range open {
		closeChain(&open[i])
	}
	if saved < worth*float64(a.kernelNS()) {
		return
	}
	a.save(Opportunity{
		ID: "fusion-elementwise", Kind: "fusion", Title: "Fuse chains of elementwise kernels", Kernels: a.longest(times, 5),
		Evidence: []Evidence{
			{Metric: "chains of elementwise, copy and cast kernels", Value: float64(chains)},
			{Metric: "kernels in them", Value: float64(kernels)},
			{Metric: "mean length", Value: float64(kernels) / float64(max(1, chains)), Unit: "kernels"},
		},
		Assumption: "Kernels that follow each other in a stream within one instance of a range and with no other work between become one that takes as long as the longest of them. What only feeds or unpacks the others, as casts do, may save more than that; launches saved come on top and are counted with the gaps.",
		How:        "Use torch.compile, or fused kernels of a library (RMSNorm, rotary embedding, SwiGLU).",
	}, saved, nil)
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
		a.save(Opportunity{
			ID: "occupancy-" + k.ID, Kind: "occupancy", Title: "Lift the occupancy limit of " + a.apart(i), Kernels: []string{k.ID},
			Evidence:   k.Limiter.Evidence,
			Assumption: "Speed grows with the warps that fit, up to a full SM and no further than the roofline.",
			How:        "Its occupancy is limited by " + k.Limiter.Detail + ": use less of it per block, or another block size.",
		}, ns, a.mainStage(k))
	}
}
