package analysis

import (
	"cmp"
	"maps"
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/gpu"
)

// The kinds of limiter.
const (
	limitDRAM      = "dram"
	limitL2        = "l2"
	limitL1        = "l1"
	limitCompute   = "compute"
	limitLatency   = "latency"
	limitOccupancy = "occupancy"
	limitSmall     = "small"
	limitLaunch    = "launch"
	limitMixed     = "mixed"
)

// Units that are neither a memory level nor a data type.
const (
	unitTensor  = "tensor"
	unitIssue   = "issue"
	unitSM      = "sm"      // a unit of the SM that is no math pipe
	unitCompute = "compute" // a pipe that is not known
)

// A judgment says what limits kernels and regions, and places them on the roofline.
type judgment struct {
	*counters
	made *Result // with roofs; it adds limiters and points
	// notes take what cannot be told, and points above their roof.
	notes *notes
	tl    *timed // nil without a timeline
}

// judge decides what limits each kernel and places it on the roofline. It returns
// the counters without the word of launches that are in doubt.
func (j *judgment) judge() *counters {
	speaks, sure := j.launchOf, *j.counters
	sure.launchOf = maps.Clone(speaks)
	maps.DeleteFunc(sure.launchOf, func(_ int, l *launch) bool { return l.doubt != nil })
	j.counters = &sure
	for i := range j.made.Kernels {
		k := &j.made.Kernels[i]
		l := speaks[i]
		if l == nil {
			k.Limiter = j.abstain(k)
			continue
		}
		if l.doubt != nil {
			k.Limiter = Limiter{Why: because(codeLaunchDoubt, fact.Because("doubt", *l.doubt)), Need: fact.New(codeNeedLaunch)}
			continue
		}
		l.medianNS = k.MedianNS
		k.Limiter = decide(l)
		k.Limiter.Cause = causeOf(l, k.Limiter.Kind)
		j.place(k, l)
	}
	j.judgeDurations()
	j.judgeRegions()
	j.gatherPoints()
	j.noteUnknownCauses()
	return j.counters
}

// noteUnknownCauses says of how many kernels with a limiter the counters do not tell the
// cause, and what would.
func (j *judgment) noteUnknownCauses() {
	var n, of int
	var sections []string
	for i := range j.made.Kernels {
		v := &j.made.Kernels[i].Limiter
		if v.Kind == "" || v.Cause == nil {
			continue
		}
		of++
		if v.Cause.Code != "" || len(v.Cause.Need) == 0 {
			continue
		}
		n++
		for _, s := range v.Cause.Need {
			if !slices.Contains(sections, s) {
				sections = append(sections, s)
			}
		}
	}
	if n > 0 {
		slices.Sort(sections)
		j.notes.lack(causesUntold, fact.Count("n", n), fact.Count("of", of), fact.Names("sections", fact.KindName, sections))
	}
}

// because is a list of one fact.
func because(code fact.Code, params ...fact.Param) []fact.Fact {
	return []fact.Fact{fact.New(code, params...)}
}

// needSections names sections of ncu that would tell, and a set that has them.
func needSections(set string, sections ...string) fact.Fact {
	params := []fact.Param{fact.Names("sections", fact.KindName, sections)}
	if set != "" {
		params = append(params, fact.Name("set", set))
	}
	return fact.New(codeNeedSections, params...)
}

// abstain says why nothing can be said of a kernel that was not counted.
func (j *judgment) abstain(k *Kernel) Limiter {
	code := codeNotCounted
	switch {
	case j.chosen[k.ID]:
		code = codeCountersLost
	case len(j.counted) > 0:
	case len(j.ranges) > 0:
		code = codeOnlyRanges
	default:
		code = codeNothingCounted
	}
	var why []fact.Param
	if k.Reason != nil && code != codeCountersLost {
		why = append(why, fact.Because("why", *k.Reason))
	}
	out := Limiter{Why: because(code, why...), Need: needSections("", "SpeedOfLight", "LaunchStats", "Occupancy", "WarpStateStats")}
	blocks := k.Grid[0] * k.Grid[1] * k.Grid[2]
	if len(j.made.Environment.GPUs) == 0 || blocks <= 0 {
		return out
	}
	if sms := j.made.Environment.GPUs[0].SMs; sms > 0 && blocks < int64(sms) {
		out.Why = append(out.Why, fact.New(codeFewBlocks, fact.Count("blocks", blocks), fact.Count("sms", sms)))
		out.Evidence = []Evidence{{Of: fact.New(codeGridBlocks), Value: float64(blocks), Threshold: fact.New(codeBelow, fact.Count("value", sms))}}
	}
	return out
}

// A reading is a limit with how much of it is in use.
type reading struct {
	kind, unit, counter string
	level               float64 // 0 to 1
}

// evidence gives the level in percent, as the counter has it.
func (r reading) evidence(threshold fact.Fact) Evidence {
	return Evidence{Metric: r.counter, Value: r.level * 100, Unit: "%", Threshold: threshold}
}

// atLeast and below are thresholds in shares of a peak.
func atLeast(share float64) fact.Fact { return fact.New(codeAtLeast, fact.Share("value", share)) }
func below(share float64) fact.Fact   { return fact.New(codeBelow, fact.Share("value", share)) }

// unitParam names a unit by its ID in Limiter.Units.
func unitParam(key, id string) fact.Param { return fact.ID(key, "unit", id) }

// decide is the decision of docs/limiter.md.
func decide(l *launch) Limiter {
	all, missing := l.readings()
	if missing != "" {
		return Limiter{Why: because(codeCountersLack, fact.Metric("counter", missing)), Need: needSections("basic", "SpeedOfLight")}
	}
	if full := above(all, reachedShare); len(full) > 0 {
		return saturated(full, all, atLeast(reachedShare))
	}
	v, ok := l.busySlice()
	if !ok {
		v, ok = l.tooSmall()
	}
	if !ok {
		v, ok = l.tooShort()
	}
	if near := slices.DeleteFunc(above(all, nearShare), reading.unnamed); !ok && len(near) > 0 {
		return nearest(near)
	}
	if !ok {
		v, ok = l.lowOccupancy()
	}
	if !ok {
		v = l.latency()
	}
	for _, r := range all {
		if r.kind != limitCompute || r == busiestPipe(all) {
			v.Evidence = append(v.Evidence, r.evidence(below(reachedShare)))
		}
	}
	return v
}

// readings are the limits with their use, the busiest first. Missing names what
// the report lacks.
func (l *launch) readings() (all []reading, missing string) {
	for _, m := range []struct {
		kind     string
		counters []string
	}{
		{limitDRAM, counterDRAM}, {limitL2, counterL2}, {limitL1, counterL1},
	} {
		name, v, ok := l.first(m.counters...)
		if !ok && m.kind == limitL1 {
			if name, v, ok = l.busyL1(all); !ok {
				continue
			}
		}
		if !ok {
			return nil, m.counters[0]
		}
		all = append(all, reading{m.kind, m.kind, name, share(v)})
	}
	if _, active := l.value(counterL1Active); !active && !slices.ContainsFunc(all, func(r reading) bool { return r.kind == limitL1 }) {
		return nil, counterL1[0]
	}
	any, busiest := false, 0.0
	for _, p := range pipes {
		name, v, ok := l.first(p.counters...)
		if !ok {
			continue
		}
		any, busiest = true, max(busiest, share(v))
		unit := p.id
		if unit == unitTensor {
			unit = cmp.Or(string(l.tensorType()), unit)
		}
		all = append(all, reading{limitCompute, unit, name, share(v)})
	}
	sm, v, ok := l.first(counterSM...)
	switch {
	case !any && !ok:
		return nil, counterSM[0]
	case !any: // without the breakdown only the busiest of an SM's units is known
		all = append(all, reading{limitCompute, unitCompute, sm, share(v)})
	case ok && share(v) > busiest+busierMargin:
		all = append(all, l.otherUnit(sm, share(v)))
	}
	slices.SortStableFunc(all, func(x, y reading) int { return cmp.Compare(y.level, x.level) })
	return all, ""
}

// unnamed tells a unit of the SM that is no pipe: it is named where it is reached,
// and being near to it says less than what warps wait for.
func (r reading) unnamed() bool { return r.unit == unitIssue || r.unit == unitSM }

// tensor tells the tensor pipe, whatever type it works in.
func (r reading) tensor() bool { return r.unit == unitTensor || gpu.DType(r.unit).Tensor() }

// share is a percentage of a peak as a share. Counters of several passes can come
// out slightly above the peak.
func share(percent float64) float64 { return max(0, min(1, percent/100)) }

// busyL1 tells how busy L1 is where only its active cycles were counted: as much
// as the busiest part of the memory system, if that is neither DRAM nor L2.
func (l *launch) busyL1(others []reading) (counter string, percent float64, ok bool) {
	active, okActive := l.value(counterL1Active)
	memory, okMemory := l.value(counterMemory)
	percent = min(active, memory)
	if !okActive || !okMemory || slices.ContainsFunc(others, func(r reading) bool { return percent <= r.level*100+1 }) {
		return "", 0, false
	}
	return counterMemory, percent, true
}

// otherUnit is a unit of the SM that is busier than the pipes which were counted
// one by one: issue, where that is as busy, else one that is not known.
func (l *launch) otherUnit(counter string, level float64) reading {
	if _, issue, ok := l.issue(); ok && issue/100 >= level-sameUnit {
		return reading{limitCompute, unitIssue, counter, level}
	}
	return reading{limitCompute, unitSM, counter, level}
}

// tensorType is the type that the tensor pipe worked in; "" where that was not counted.
func (l *launch) tensorType() gpu.DType {
	tensor := maps.Clone(l.counts().flops)
	maps.DeleteFunc(tensor, func(dtype gpu.DType, _ float64) bool { return !dtype.Tensor() })
	return most(tensor)
}

// above keeps the order, the busiest first.
func above(all []reading, level float64) []reading {
	var out []reading
	for _, r := range all {
		if r.level >= level {
			out = append(out, r)
		}
	}
	return out
}

// busiestPipe is zero where no unit of the SM was counted.
func busiestPipe(all []reading) reading {
	for _, r := range all {
		if r.kind == limitCompute {
			return r
		}
	}
	return reading{}
}

// feedMargin is how much busier than the tensor pipe L1 may be and still only feed it.
const feedMargin = 0.1

// saturated names the limit that is reached. All traffic of DRAM passes L2, so
// that a busy L2 under a busy DRAM says nothing of its own; nor does L1 beside a
// tensor pipe that is as busy, because its operands are read from shared memory.
func saturated(full, all []reading, threshold fact.Fact) Limiter {
	dram := slices.IndexFunc(full, func(r reading) bool { return r.kind == limitDRAM })
	pipe := slices.IndexFunc(full, func(r reading) bool { return r.kind == limitCompute })
	if dram >= 0 && pipe >= 0 {
		return mixed([]reading{full[dram], full[pipe]}, threshold, codeUnitsReached)
	}
	top := full[0]
	switch {
	case dram >= 0:
		top = full[dram]
	case top.kind == limitL1 && pipe >= 0 && full[pipe].tensor() && full[pipe].level >= top.level-feedMargin:
		top = full[pipe]
	}
	v := top.limiter(threshold, codeUnitUsed)
	for _, r := range all {
		if r.kind != top.kind && (r.kind != limitCompute || r == busiestPipe(all)) {
			v.Evidence = append(v.Evidence, r.evidence(fact.Fact{}))
		}
	}
	return v
}

// limiter is the verdict that names one unit.
func (r reading) limiter(threshold fact.Fact, why fact.Code) Limiter {
	return Limiter{Kind: r.kind, Units: []string{r.unit}, Level: &r.level, Evidence: []Evidence{r.evidence(threshold)},
		Why: because(why, unitParam("unit", r.unit), fact.Share("level", r.level))}
}

// mixed is the verdict on the first two of a list.
func mixed(list []reading, threshold fact.Fact, why fact.Code) Limiter {
	x, y := list[0], list[1]
	return Limiter{Kind: limitMixed, Units: []string{x.unit, y.unit}, Level: &x.level, Evidence: []Evidence{x.evidence(threshold), y.evidence(threshold)},
		Why: because(why, unitParam("unit", x.unit), fact.Share("level", x.level), unitParam("other", y.unit), fact.Share("other_level", y.level))}
}

// nearest names the limits that are near where none is reached.
func nearest(near []reading) Limiter {
	threshold := atLeast(nearShare)
	var kinds []reading
	for _, r := range near {
		if !slices.ContainsFunc(kinds, func(k reading) bool { return k.kind == r.kind }) {
			kinds = append(kinds, r)
		}
	}
	hasDRAM := slices.ContainsFunc(kinds, func(r reading) bool { return r.kind == limitDRAM })
	if hasDRAM {
		kinds = slices.DeleteFunc(kinds, func(r reading) bool { return r.kind == limitL2 })
	}
	if len(kinds) > 1 {
		return mixed(kinds[:2], threshold, codeUnitsNear)
	}
	return kinds[0].limiter(threshold, codeUnitNearest)
}

// tooSmall: less than a wave of blocks, and SMs that have none.
func (l *launch) tooSmall() (Limiter, bool) {
	waves, ok := l.value(counterWaves[0])
	if !ok || waves >= smallWaves || !l.idles() {
		return Limiter{}, false
	}
	v := Limiter{Kind: limitSmall, Why: because(codeTinyGrid),
		Evidence: []Evidence{{Metric: counterWaves[0], Value: waves, Threshold: fact.New(codeBelow, fact.Num("value", fact.KindNumber, smallWaves))}}}
	if level := waves; level > 0 { // 0 is what CSV rounds less than 0.005 to
		v.Level, v.Why = &level, because(codeSmallGrid, fact.Share("waves", waves))
	}
	return v, true
}

// tooShort: it takes no longer than a launch.
func (l *launch) tooShort() (Limiter, bool) {
	name, ns, ok := l.first("gpu__time_duration.sum", "gpu__time_duration.avg")
	if l.medianNS > 0 { // ncu stretches short kernels
		name, ns, ok = "", l.medianNS, true
	}
	if !ok || ns >= shortKernelNS {
		return Limiter{}, false
	}
	e := Evidence{Metric: name, Value: ns, Unit: "ns", Threshold: fact.New(codeBelow, fact.NS("value", shortKernelNS))}
	if name == "" {
		e.Of = fact.New(codeMedianNS)
	}
	return Limiter{Kind: limitLaunch, Evidence: []Evidence{e}, Why: because(codeShortKernel)}, true
}

// issue is how much the schedulers issue, of all cycles where that was counted,
// else of active ones.
func (l *launch) issue() (counter string, percent float64, ok bool) {
	return l.first(append(slices.Clone(counterIssue), counterIssueActive)...)
}

// lowOccupancy: few warps fit, and the SM does not issue enough.
func (l *launch) lowOccupancy() (Limiter, bool) {
	theoretical, ok := l.value(counterTheoretical[0])
	issueName, issue, okIssue := l.issue()
	resource, counter, blocks, okLimit := l.fewestBlocks(occupancyLimits)
	if !ok || !okLimit || theoretical/100 >= occupiedShare || okIssue && issue/100 >= issuedShare {
		return Limiter{}, false
	}
	level := theoretical / 100
	v := Limiter{Kind: limitOccupancy, Detail: resource, Level: &level,
		Evidence: []Evidence{
			{Metric: counterTheoretical[0], Value: theoretical, Unit: "%", Threshold: below(occupiedShare)},
			{Metric: counter, Value: blocks, Unit: "block", Threshold: fact.New(codeScarcest)},
		},
		Why: because(codeFewWarps, fact.ID("resource", "resource", resource), fact.Share("share", level))}
	if okIssue {
		v.Evidence = append(v.Evidence, Evidence{Metric: issueName, Value: issue, Unit: "%", Threshold: below(issuedShare)})
	}
	if achieved, ok := l.value(counterOccupancy[0]); ok {
		v.Evidence = append(v.Evidence, Evidence{Metric: counterOccupancy[0], Value: achieved, Unit: "%"})
	}
	return v, true
}

// latency is what is left: no unit is busy. Where the SMs issue most of the
// time, issuing itself is the limit.
func (l *launch) latency() Limiter {
	if name, issue, ok := l.first(counterIssue...); ok && issue/100 >= issuedShare {
		return reading{limitCompute, unitIssue, name, share(issue)}.limiter(atLeast(issuedShare), codeIssueBusy)
	}
	name, issue, ok := l.issue()
	v := Limiter{Kind: limitLatency, Why: because(codeNoUnitBusy)}
	if ok {
		v.Level = new(share(issue))
		v.Evidence = append(v.Evidence, Evidence{Metric: name, Value: issue, Unit: "%"})
	}
	reason, counter, share, found := l.stall()
	if !found {
		if !ok {
			return Limiter{Why: because(codeNothingTold), Need: needSections("", "LaunchStats", "Occupancy", "WarpStateStats")}
		}
		v.Need = needSections("", "WarpStateStats")
		return v
	}
	v.Detail = reason
	v.Why = because(codeStalled, fact.ID("stall", "stall", reason), fact.Share("share", share))
	v.Evidence = append(v.Evidence, Evidence{Metric: counter, Value: l.values[counter], Unit: "cycles-per-issue", Threshold: fact.New(codeLargest)})
	return v
}
