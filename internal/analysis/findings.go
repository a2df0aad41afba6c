package analysis

import (
	"cmp"
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/timeline"
)

// The weights of findings.
const (
	weightHigh   = "high"
	weightMedium = "medium"
	weightLow    = "low"
)

// A conclusion states what was found. It reads all but found, and writes into
// the result what the stages are to be told with: shares of unprofiled time, the
// most that a launch-bound stage can gain, and what the profiler costs.
type conclusion struct {
	th    Thresholds
	in    *Input
	res   *Result
	notes *notes
	tl    *timed // nil without a timeline
	// stages tells times and bounds; findings of one stage all go by it.
	stages *stageClock
	// found begins with what earlier steps found doubtful.
	found []Finding
}

// conclude returns the findings in the order in which they are to be told within
// their weight, after those that were found before.
func (cn *conclusion) conclude() []Finding {
	cn.setUnprofiledShares()
	cn.tellOverhead()
	cn.findDamage()
	cn.findContradictions()
	cn.findNextToken()
	cn.findMain()
	cn.findLaunchBound()
	cn.findWaitsBefore()
	cn.findWarmUp()
	cn.findIdle()
	cn.findExposed()
	cn.findOutside()
	cn.findLargest()
	cn.findRanges()
	cn.findSaving()
	cn.findUtilization()
	cn.findSampled()
	if cn.tl == nil {
		cn.findCleanTimes()
	}
	if cn.in.Preliminary {
		cn.notes.warn(Preliminary)
	}
	if cn.in.Preliminary || cn.in.Run != "" && len(cn.in.Counters) == 0 {
		cn.tellKeptAdvice()
	}
	return cn.found
}

// byWeight puts findings that matter most first; those of one weight keep their order. It sorts
// the list itself.
func byWeight(found []Finding) []Finding {
	order := []string{weightHigh, weightMedium, weightLow}
	slices.SortStableFunc(found, func(x, y Finding) int {
		return cmp.Compare(slices.Index(order, x.Weight), slices.Index(order, y.Weight))
	})
	return found
}

// tellKeptAdvice says for which stages counters do not matter: those that wait for
// the host, whatever limits their kernels.
func (cn *conclusion) tellKeptAdvice() {
	var waiting []string
	for i := range cn.res.Stages {
		if s := &cn.res.Stages[i]; s.Split.LaunchBound && !s.whole() {
			waiting = append(waiting, s.Name)
		}
	}
	if len(waiting) > 0 {
		cn.notes.warn(CountersKeepAdvice, fact.Names("stages", fact.KindStage, waiting))
	}
}

// find adds a finding. The ID tells apart findings of one code, and stays the same for one
// program.
func (cn *conclusion) find(id, weight string, code fact.Code, params ...fact.Param) {
	cn.found = append(cn.found, Finding{ID: id, Weight: weight, Fact: fact.New(code, params...)})
}

// ratio is a part of a whole, 0 where the whole is nothing.
func ratio(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// param names the stage; the whole program is "".
func (s *Stage) param() fact.Param {
	if s.whole() {
		return fact.Stage("stage", "")
	}
	return fact.Stage("stage", s.Name)
}

// passesParam says how many passes, or steps of an engine, a stage has; none of a
// single one.
func (s *Stage) passesParam() []fact.Param {
	switch {
	case s.Passes < 2:
		return nil
	case s.Steps:
		return []fact.Param{fact.Count("steps", s.Passes)}
	}
	return []fact.Param{fact.Count("passes", s.Passes)}
}

// whole tells the stage that stands for a program without ranges.
func (s *Stage) whole() bool { return s.Region == "" && s.Name == wholeProgram }

// async tells that an instance of the stage may close before its work has ended.
func (s *Stage) async() bool { return s.Synchronous != nil && !*s.Synchronous }

// paths are those of the regions that a stage is measured by.
func (s *Stage) paths() []string {
	if len(s.Regions) > 0 {
		return s.Regions
	}
	return []string{s.Region}
}

// idle is the time of one cause by its ID, 0 where there is none.
func (s *Split) idle(id string) int64 {
	for _, p := range s.Idle {
		if p.ID == id {
			return p.NS
		}
	}
	return 0
}

// idleCodes are the waits for something other than launches that are reported.
var idleCodes = []struct {
	id   string
	code fact.Code
}{{"sync", codeIdleSync}, {"copy", codeIdleCopy}, {"alloc", codeIdleAlloc}, {"call", codeIdleCall}}

// findIdle tells of a stage that waits for something other than launches.
func (cn *conclusion) findIdle() {
	for _, s := range cn.stages.stagesInScope() {
		if s.Split.LaunchBound || s.Split.WallNS == 0 {
			continue
		}
		for _, c := range idleCodes {
			ns := s.Split.idle(c.id)
			if 10*ns < s.Split.WallNS {
				continue
			}
			params := []fact.Param{s.param(), fact.Share("share", ratio(ns, s.Split.WallNS)), fact.NS("ns", ns), fact.NS("of", s.Split.WallNS)}
			if calls := cn.stages.otherCalls(s); c.code == codeIdleCall && len(calls) > 0 {
				params = append(params, fact.Name("call", calls[0].name))
			}
			cn.find(c.id+"-"+s.Name, weightMedium, c.code, params...)
		}
	}
}

// base names what shares of GPU time are of.
func (tl *timed) base() fact.Param {
	if n, _ := tl.wholeGraphs(); n > 0 {
		return fact.ID("base", "base", "gpu_time_outside_graphs")
	}
	return fact.ID("base", "base", "gpu_time")
}

// findLargest tells where GPU time goes and what limits the largest kernel.
func (cn *conclusion) findLargest() {
	if n, ns := cn.tl.wholeGraphs(); n > 0 {
		cn.find("graphs-whole", weightMedium, codeGraphsWhole, fact.Count("n", n), fact.NS("ns", ns))
	}
	switch {
	case cn.tl != nil && cn.tl.tape.Kernels+cn.tl.tape.Graphs == 0:
		cn.find("no-kernels", weightHigh, codeNoKernels)
		return
	case len(cn.res.Categories) == 0 || len(cn.res.Kernels) == 0 || cn.res.kernelNS() <= 0:
		cn.findCounted()
		return
	}
	c := &cn.res.Categories[0]
	code := codeLargestPart
	if c.Share > 0.5 {
		code = codeLargestHalf
	}
	cn.find("largest", weightMedium, code, fact.ID("category", "category", c.Label), fact.Share("share", c.Share), fact.NS("ns", c.NS), fact.NS("of", cn.res.kernelNS()), cn.tl.base(),
		fact.Because("more", cn.largestKernel()))
	cn.findLimits()
}

// limiterParam names a limiter: its units, or its kind where that says all.
func limiterParam(key string, k *Kernel) fact.Param {
	switch {
	case len(k.Limiter.Units) > 0 || k.Limiter.Kind != "":
		return k.Limiter.param(key)
	case k.Counted != nil:
		return fact.ID(key, "limiter", "no_verdict")
	}
	return fact.ID(key, "limiter", "not_counted")
}

// largestKernel names the kernel of the most time, all its grids together, and
// what limits the largest of them.
func (cn *conclusion) largestKernel() fact.Fact {
	type sum struct {
		share float64
		grids int
		first int
	}
	byName := map[string]*sum{}
	best := ""
	for i := range cn.res.Kernels {
		k := &cn.res.Kernels[i]
		if k.Untimed || k.Calls == 0 {
			continue
		}
		n := byName[k.Name]
		if n == nil {
			n = &sum{first: i}
			byName[k.Name] = n
		}
		n.share += k.Share
		n.grids++
	}
	for i := range cn.res.Kernels { // in the order of rows, so that ties are told apart
		name := cn.res.Kernels[i].Name
		if n := byName[name]; n != nil && (best == "" || n.share > byName[best].share) {
			best = name
		}
	}
	n := byName[best]
	k := &cn.res.Kernels[n.first]
	params := []fact.Param{fact.Kernel("kernel", k.Short), fact.Share("share", n.share), cn.tl.base()}
	if n.grids == 1 {
		return fact.New(codeLargestKernel, append(params, limiterParam("limiter", k))...)
	}
	return fact.New(codeLargestKernel, append(params, fact.Count("grids", n.grids), fact.Name("grid", extent(k.Grid)), fact.Share("grid_share", k.Share), limiterParam("grid_limiter", k))...)
}

// wholeGraphs are the CUDA graphs in the scope that were traced as a whole, and their time in
// nanoseconds; none without a timeline.
func (tl *timed) wholeGraphs() (n int, ns int64) {
	if tl == nil || tl.t == nil {
		return 0, 0
	}
	for i := range tl.tape.Kinds {
		if k := &tl.tape.Kinds[i]; k.Kind == timeline.OpGraph && tl.counts(k) {
			n += int(k.Launches)
			ns += k.NS
		}
	}
	return n, ns
}

// findLimits sums what limits the counted kernels.
func (cn *conclusion) findLimits() {
	var byKind = map[string]int64{}
	var covered int64
	for i := range cn.res.Kernels {
		k := &cn.res.Kernels[i]
		if k.Limiter.Kind != "" {
			byKind[k.Limiter.Kind] += k.TotalNS
			covered += k.TotalNS
		}
	}
	best := most(byKind)
	if byKind[best] == 0 {
		return
	}
	code := codeLimitedMostly
	if 2*byKind[best] <= covered {
		code = codeLimitedOften
	}
	cn.find("limiter", weightLow, code, fact.Share("covered", ratio(covered, cn.res.kernelNS())), cn.tl.base(), fact.Share("share", ratio(byKind[best], covered)), fact.ID("kind", "limits", best))
}

// findCounted speaks of reports of counters without a timeline.
func (cn *conclusion) findCounted() {
	for i := range cn.res.Kernels {
		k := &cn.res.Kernels[i]
		if k.Limiter.Kind != "" && k.Counted != nil && len(cn.found) < 3 {
			cn.find(kernelFinding(k), weightMedium, codeKernelLimited, fact.Kernel("kernel", k.Short), limiterParam("limiter", k), fact.ID("kind", "limits", k.Limiter.Kind), fact.Because("why", k.Limiter.Why...))
		}
	}
}

// scopeParam names the part of the timeline that savings are of.
func (r *Result) scopeParam() fact.Param {
	if s := r.Scope; s != nil {
		return fact.Names("scope", fact.KindRegion, s.Names())
	}
	return fact.ID("scope", "base", "timeline")
}

// findSaving names the change that could save most and, where that is what a
// launch-bound stage loses and has been told, the next of another kind.
func (cn *conclusion) findSaving() {
	list := cn.res.Opportunities
	if len(list) == 0 {
		return
	}
	say := func(id, weight string, code fact.Code, o *Opportunity) {
		params := []fact.Param{fact.Because("change", o.Title), fact.Seconds("gain", o.Seconds), fact.Share("share", o.Seconds*1e9/float64(o.OfNS)), fact.NS("of", o.OfNS), cn.res.scopeParam(), timesParam(o.Times), fact.ID("bound", "saving", map[bool]string{true: "estimate", false: "bound"}[o.Estimated])}
		if o.Estimate != nil {
			params = append(params, fact.Seconds("estimate", *o.Estimate))
		}
		cn.find(id, weight, code, params...)
	}
	say("first-saving", weightMedium, codeFirstSaving, &list[0])
	if at := cn.res.nextSaving(); at > 0 {
		say("next-saving", weightLow, codeNextSaving, &list[at])
	}
}

// nextSaving is the first opportunity that is not what a launch-bound stage loses,
// where the largest is; -1 where there is none.
func (r *Result) nextSaving() int {
	told := func(o Opportunity) bool {
		return (o.Kind == "gaps" || o.Kind == "host") && slices.ContainsFunc(r.Stages, func(s Stage) bool { return s.Name == o.Stage && s.Split.LaunchBound })
	}
	if len(r.Opportunities) == 0 || !told(r.Opportunities[0]) {
		return -1
	}
	return slices.IndexFunc(r.Opportunities, func(o Opportunity) bool { return !told(o) })
}

// measures are the utilizations of a stage by their name, in the order to show; lists may be
// empty.
func (s *Stage) measures() []measure {
	return []measure{{"MFU", s.MFU}, {"HFU", s.HFU}, {"MBU", s.MBU}}
}

// A measure is MFU, HFU or MBU with its values by method.
type measure struct {
	name string
	list []Utilization
}

// findContradictions tells of values that cannot be.
func (cn *conclusion) findContradictions() {
	for i := range cn.res.Stages {
		s := &cn.res.Stages[i]
		for _, m := range s.measures() {
			for _, u := range m.list {
				if u.Contradiction {
					cn.find("contradiction-"+s.Name+"-"+m.name+"-"+u.Method, weightHigh, codeContradiction, fact.Name("measure", m.name), s.param(),
						fact.ID("method", "method", u.Method), fact.ID("peak", "peak", u.Peak.ID), fact.Share("raw", *u.Raw))
				}
			}
		}
	}
}
