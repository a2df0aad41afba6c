package analysis

import (
	"cmp"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
)

// What of the savings is listed.
const (
	maxSavings     = 24
	minSavings     = 3  // listed however small
	maxRoofSavings = 10 // of single kernels
	// worth is the share of the time that it is held against from which a saving
	// is told.
	worth = 0.005
	// Below worthOfRun of what is analyzed a saving is listed only if it is
	// worthOfStage of its stage: a short stage of a long run is what matters.
	worthOfRun, worthOfStage = 0.001, 0.05
	// worthOfScope is the same where the analysis is about a scope, which leaves
	// out what would make all of it small.
	worthOfScope = 0.005
)

// savings lists what could be gained. It reads all but list.
type savings struct {
	th  Thresholds
	res *Result // with kernels that were judged
	tl  *timed  // never nil
	// launchOf lacks launches in doubt: no saving may rest on them.
	launchOf map[int]*launch // the launch that speaks for a kernel of the result
	stages   *stageClock
	// list is in the order of finding; find sorts it.
	list []Opportunity
}

// find lists what could be gained at most, by seconds of the scope.
func (sv *savings) find() []Opportunity {
	stages := sv.stages.stagesInScope()
	for _, s := range stages {
		sv.idleSavings(s)
	}
	if s := sv.res.Scope; len(stages) == 0 && s != nil && s.Split != nil {
		sv.idleSavings(&Stage{Name: strings.Join(s.Regions, ", "), Split: *s.Split})
	}
	sv.roofSavings()
	sv.fusionSavings(sv.foundChains())
	sv.layoutSavings()
	sv.occupancySavings()
	least := worthOfRun
	if sv.tl.scope != nil {
		least = worthOfScope
	}
	span, _ := sv.span()
	return worthwhile(sv.list, least*float64(span)/1e9)
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

// save adds an opportunity that saves ns nanoseconds, inStage of them in a stage.
// A saving of no time is dropped. Seconds are bounded by the time that it is held
// against.
func (sv *savings) save(o Opportunity, ns float64, stage *Stage, inStage float64) {
	span, times := sv.span()
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
		of, _ := sv.stages.stageNS(stage)
		o.StageGain = new(min(1, inStage/float64(of)))
	}
	o.Assumes = append(o.Assumes, fact.New(codeBoundsOverlap))
	if o.Evidence == nil {
		o.Evidence = []Evidence{}
	}
	sv.list = append(sv.list, o)
}

// An idleSaving is a change that takes away the idle time of a cause.
type idleSaving struct {
	kind, cause   string // of Opportunity, of Split.Idle
	title, assume fact.Code
	how           []fact.Fact
}

// idleChanges are the changes that fit a stage, but for its launch gaps.
func (sv *savings) idleChanges(s *Stage) []idleSaving {
	out, before := codeHostOut, codeAllocBefore
	if s.whole() { // nothing comes before the program
		out, before = codeHostLess, codeAllocLess
	}
	return []idleSaving{
		{"gaps", "graph", codeFewerNodes, codeAssumeNodes, []fact.Fact{fact.New(codeHowFuseNodes), fact.New(codeHowNodesTraced)}},
		{"host", "host", out, codeAssumeHost, sv.res.hostAdvice(s)},
		{"sync", "sync", codeWaitLess, codeAssumeSync, sv.res.advice(codeHowSync)},
		{"copies", "copy", codeFewerCopies, codeAssumeCopies, sv.res.advice(codeHowCopies)},
		{"alloc", "alloc", before, codeAssumeAlloc, sv.res.advice(codeHowAlloc)},
	}
}

// idleSavings are the idle parts of a stage, no longer than its unprofiled run has
// them.
func (sv *savings) idleSavings(s *Stage) {
	sv.gapSaving(s)
	sv.loadSaving(s)
	once := sv.stages.idleOnce(s)
	for _, c := range sv.idleChanges(s) {
		o := Opportunity{ID: c.kind + "-" + c.cause + "-" + s.Name, Kind: c.kind, Title: fact.New(c.title, s.param()), How: c.how, Assumes: because(c.assume), Evidence: s.idleEvidence(c.cause), Estimated: true}
		sv.saveIdle(s, o, sv.stages.bounded(s, once[c.cause]))
	}
}

// gapSaving closes the launch gaps of a stage.
func (sv *savings) gapSaving(s *Stage) {
	title, assume, how := codeCloseGaps, codeAssumeGaps, sv.res.advice(codeHowGraph)
	if s.fromGraphs() {
		title, assume, how = codeCloseGraphGaps, codeAssumeGraphGaps, because(codeHowNextGraph)
		if s.GraphKernels > 0 {
			how = append(how, fact.New(codeHowNodesTraced))
		}
	}
	once := sv.stages.idleOnce(s)
	whole, _ := sv.stages.stageNS(s)
	if closes := once["launch"] + once["python"] + once["call"] - sv.stages.loading(s); float64(closes) < worth*float64(whole) {
		return
	}
	g := sv.stages.launchGain(s)
	o := Opportunity{ID: "gaps-launch-" + s.Name, Kind: "gaps", Title: fact.New(title, s.param()), How: how, Assumes: because(assume), Evidence: s.idleEvidence("launch", "python", "call")}
	if g.Streams > 0 {
		o.Assumes = append(o.Assumes, fact.New(codeAssumeOverlap, fact.NS("ns", g.Streams)))
	}
	sv.saveIdle(s, o, g.NS)
}

// idleEvidence is the idle time of some causes under nsys.
func (s *Stage) idleEvidence(causes ...string) (out []Evidence) {
	for _, p := range s.Split.Idle {
		if slices.Contains(causes, p.ID) {
			out = append(out, Evidence{Of: fact.New(codeIdleFor, fact.ID("cause", "idle", p.ID)), Value: float64(p.NS) / 1e6, Unit: "ms"})
		}
	}
	return out
}

// saveIdle adds a saving of idle time, with the times of the stage that it rests
// on, where it is worth it.
func (sv *savings) saveIdle(s *Stage, o Opportunity, ns int64) {
	whole, clean := sv.stages.stageNS(s)
	if float64(ns) < worth*float64(whole) {
		return
	}
	o.Evidence = append(o.Evidence, Evidence{Of: fact.New(codeWallNsys, s.param()), Value: float64(s.Split.WallNS) / 1e6, Unit: "ms"})
	if clean {
		o.Evidence = append(o.Evidence, Evidence{Of: fact.New(codeWallClean, s.param()), Value: float64(whole) / 1e6, Unit: "ms"})
	}
	o.Evidence = append(o.Evidence, Evidence{Of: fact.New(codeKernelsRun, s.param()), Value: float64(s.Split.BusyNS) / 1e6, Unit: "ms"})
	o.Assumes = append(o.Assumes, sv.stages.boundFact(s))
	if o.Estimated {
		o.Assumes = append(o.Assumes, fact.New(codeOnlyIdle))
	}
	sv.save(o, float64(ns), s, float64(ns))
}

// roofSavings bring single kernels to the peak of the limit that their advice
// leaves in place.
func (sv *savings) roofSavings() {
	type candidate struct {
		kernel int
		ns     float64
		advice roofAdvice
	}
	var list []candidate
	for i := range sv.res.Kernels {
		k := &sv.res.Kernels[i]
		advice, ok := sv.roofAdvice(k, sv.launchOf[i])
		if !ok || k.TotalNS == 0 || advice.rest >= 1 {
			continue
		}
		if ns := float64(k.TotalNS) * (1 - advice.rest); ns >= worth*float64(sv.res.kernelNS()) {
			list = append(list, candidate{i, ns, advice})
		}
	}
	slices.SortStableFunc(list, func(x, y candidate) int { return cmp.Compare(y.ns, x.ns) })
	for _, c := range list[:min(len(list), maxRoofSavings)] {
		k := &sv.res.Kernels[c.kernel]
		stage, share := sv.res.mainStage(k)
		sv.save(Opportunity{
			ID: "roofline-" + k.ID, Kind: "roofline", Title: fact.New(c.advice.title, append(sv.res.kernelParams(c.kernel), fact.ID("unit", "peak", c.advice.unit))...), Kernels: []string{k.ID},
			Evidence: []Evidence{
				{Of: fact.New(codeUnitShare, fact.ID("unit", "peak", c.advice.unit), c.advice.by), Value: c.advice.rest * 100, Unit: "%"},
				{Of: fact.New(codeTotalTime, sv.res.scopeParam()), Value: float64(k.TotalNS) / 1e6, Unit: "ms"},
				{Of: fact.New(codeCalls), Value: float64(k.Calls)},
			},
			Assumes: because(c.advice.assume, fact.ID("unit", "peak", c.advice.unit)),
			How:     []fact.Fact{fact.New(codeHowLimiter, limiterParam("limiter", k)), fact.New(c.advice.how)}, Estimated: c.advice.estimated,
		}, c.ns, stage, c.ns*share)
	}
}

// A roofAdvice is what to do about a kernel, and the share of its time that remains
// even then.
type roofAdvice struct {
	title, assume, how fact.Code
	rest               float64 // 0 to 1, of its duration
	unit               string  // that needs this time at its peak
	// by names the counter, or the work, that rest is known by.
	by        fact.Param
	estimated bool // the change may leave less: rest is no bound
}

// limiterAdvice are the advice by limiter that leaves the work of the kernel as it is: its
// bound is the busiest unit. Launch overhead and occupancy have changes of their
// own.
var limiterAdvice = map[string]fact.Code{limitSmall: codeHowSmall, limitLatency: codeHowLatency, limitDRAM: codeHowDRAM, limitCompute: codeHowCompute, limitMixed: codeHowMixed}

// roofAdvice chooses what to do about a kernel. Better reuse takes bytes away from
// every level of the memory, so that what it leaves is the arithmetic.
func (sv *savings) roofAdvice(k *Kernel, l *launch) (roofAdvice, bool) {
	if k.Attained == nil || l == nil {
		return roofAdvice{}, false
	}
	reach := roofAdvice{title: codeReachPeak, assume: codeAssumePeak, how: limiterAdvice[k.Limiter.Kind], rest: *k.Attained, unit: k.AttainedOf, by: attainedBy(k)}
	switch k.Limiter.Kind {
	case limitLaunch, limitOccupancy, "":
		return roofAdvice{}, false
	case limitDRAM, limitL1, limitL2:
		if c := k.Limiter.Cause; c != nil && slices.Contains(wasteful, c.Code) {
			return reach.fewerBytes(l), true
		}
	}
	switch k.Limiter.Kind {
	case limitL1, limitL2:
		if !l.reuses(k) {
			reach.how = codeHowStream
			return reach, true
		}
		rest, unit := l.arithmetic()
		how := codeHowL1
		if k.Limiter.Kind == limitL2 {
			how = codeHowL2
		}
		return roofAdvice{title: codeReachNextRoof, assume: codeAssumeNextRoof, how: how, rest: rest, unit: unit, by: fact.ID("work", "work", "flops")}, unit != ""
	}
	return reach, reach.how != ""
}

// wasteful are the causes whose remedy takes bytes away from the busiest memory.
var wasteful = []fact.Code{causeUncoalesced, causeSpills, causeLocalMemory, causeL2Misses}

// fewerBytes is the advice for a kernel that moves bytes it does not need: without
// them the arithmetic remains. A kernel that computes nothing has no known bound; the time
// at the peak of its busiest unit is an estimate.
func (r roofAdvice) fewerBytes(l *launch) roofAdvice {
	r.how = codeHowFewerBytes
	rest, unit := l.arithmetic()
	if unit == "" {
		r.estimated = true
		return r
	}
	r.title, r.assume, r.rest, r.unit, r.by = codeFewerBytes, codeAssumeFewerBytes, rest, unit, fact.ID("work", "work", "flops")
	return r
}

// attainedBy is the counter, or the work, that the busiest unit is known by.
func attainedBy(k *Kernel) fact.Param {
	switch {
	case k.AttainedMetric != "":
		return fact.Metric("counter", k.AttainedMetric)
	case slices.Contains(levels, k.AttainedOf):
		return fact.ID("work", "work", "bytes")
	}
	return fact.ID("work", "work", "flops")
}

// streams are the categories whose kernels use each value once.
var streams = []string{categoryElementwise, categoryCopy, categoryLayout, "reduction", "normalisation", "random"}

// reuses tells whether better reuse can take bytes away from a kernel: one that
// computes nothing, or writes a quarter of what it reads or more, passes data
// through once.
func (l *launch) reuses(k *Kernel) bool {
	if slices.Contains(streams, k.Category) {
		return false
	}
	d := l.counts()
	if d.computed() && len(d.flops) == 0 {
		return false
	}
	read, okRead := l.value("lts__t_sectors_op_read.sum")
	written, okWritten := l.value("lts__t_sectors_op_write.sum")
	return !okRead || !okWritten || 4*written < read
}

// arithmetic is the share of its time in which a launch would do its arithmetic at
// the peak of its busiest type; no unit where that is not known.
func (l *launch) arithmetic() (rest float64, unit string) {
	d := l.counts()
	flops, _ := l.limits()
	if !d.computed() {
		return 0, ""
	}
	least, unit := d.bound(flops, nil)
	return least / d.seconds, unit
}

// kernelParams name a kernel, with its grid where another has the same name.
func (r *Result) kernelParams(kernel int) []fact.Param {
	k := &r.Kernels[kernel]
	params := []fact.Param{fact.Kernel("kernel", k.Short)}
	for i := range r.Kernels {
		if i != kernel && r.Kernels[i].Short == k.Short {
			return append(params, fact.Name("grid", extent(k.Grid)))
		}
	}
	return params
}

// mainStage is the stage in which a kernel spends most, with the share of its
// time that it spends there, 0 to 1; nil where no stage has half of it.
func (r *Result) mainStage(k *Kernel) (stage *Stage, share float64) {
	var best int64
	for _, t := range k.Stages {
		for i := range r.Stages {
			if r.Stages[i].Name == t.Stage && t.NS > best && 2*t.NS >= k.TotalNS {
				best, stage = t.NS, &r.Stages[i]
			}
		}
	}
	if stage != nil {
		share = float64(best) / float64(k.TotalNS)
	}
	return stage, share
}

// occupancySavings lift the limit of kernels that it holds back. They are estimates: nobody
// knows how much more warps would hide.
func (sv *savings) occupancySavings() {
	for i := range sv.res.Kernels {
		k := &sv.res.Kernels[i]
		if k.Limiter.Kind != limitOccupancy || k.Limiter.Level == nil || k.TotalNS == 0 {
			continue
		}
		rest := *k.Limiter.Level
		if k.Attained != nil {
			rest = max(rest, *k.Attained)
		}
		ns := float64(k.TotalNS) * (1 - rest)
		if ns < worth*float64(sv.res.kernelNS()) {
			continue
		}
		stage, share := sv.res.mainStage(k)
		sv.save(Opportunity{
			ID: "occupancy-" + k.ID, Kind: "occupancy", Title: fact.New(codeLiftOccupancy, sv.res.kernelParams(i)...), Kernels: []string{k.ID},
			Evidence: slices.Clone(k.Limiter.Evidence),
			Assumes:  because(codeAssumeOccupancy),
			How:      because(codeHowResource, fact.ID("resource", "resource", k.Limiter.Detail)), Estimated: true,
		}, ns, stage, ns*share)
	}
}
