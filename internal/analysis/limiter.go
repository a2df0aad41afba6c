package analysis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/gpu"
	"github.com/deepprof/deepprof/internal/message"
)

// The kinds of limiter.
const (
	LimitDRAM      = "dram"
	LimitL2        = "l2"
	LimitL1        = "l1"
	LimitCompute   = "compute"
	LimitLatency   = "latency"
	LimitOccupancy = "occupancy"
	LimitSmall     = "small"
	LimitLaunch    = "launch"
	LimitMixed     = "mixed"
)

// judge decides what limits each kernel and places it on the roofline.
func (a *analyzer) judge(context.Context) error {
	for i := range a.res.Kernels {
		k := &a.res.Kernels[i]
		l := a.launchOf[i]
		if l == nil {
			k.Limiter = a.abstain(k)
			continue
		}
		if l.doubt != nil {
			k.Limiter = Limiter{Label: "in doubt", Why: "the launch that was counted is left out: " + message.Text(*l.doubt), Need: "counters of a launch like those in the timeline"}
			delete(a.launchOf, i)
			continue
		}
		l.medianNS = k.MedianNS
		k.Limiter = decide(l, a.th)
		a.place(k, l)
	}
	a.judgeDurations()
	a.judgeRegions()
	a.gatherPoints()
	return nil
}

// abstain says why nothing can be said of a kernel that was not counted.
func (a *analyzer) abstain(k *Kernel) Limiter {
	out := Limiter{Label: "not counted", Why: "no launch of this kernel was counted", Need: "counters of one of its launches (the sections SpeedOfLight, LaunchStats, Occupancy and WarpStateStats of ncu)"}
	switch {
	case len(a.counted) > 0:
	case len(a.ranges) > 0:
		out.Why = "ranges were counted as a whole, not this kernel"
	default:
		out.Why = "no counters were taken of any kernel"
	}
	switch {
	case a.chosen[k.ID]:
		out.Why = "this kernel was chosen to be counted, but no counters of it came back"
	case k.Reason != nil:
		out.Why += " (" + message.Text(*k.Reason) + ")"
	}
	blocks := k.Grid[0] * k.Grid[1] * k.Grid[2]
	if len(a.res.Environment.GPUs) == 0 || blocks <= 0 {
		return out
	}
	if sms := a.res.Environment.GPUs[0].SMs; sms > 0 && blocks < int64(sms) {
		out.Why += fmt.Sprintf("; its grid has fewer blocks (%d) than the GPU has SMs (%d)", blocks, sms)
		out.Evidence = []Evidence{{Metric: "grid blocks", Value: float64(blocks), Threshold: fmt.Sprintf("fewer than %d SMs", sms)}}
	}
	return out
}

// A reading is a limit with how much of it is in use.
type reading struct {
	kind, label, detail, counter string
	level                        float64 // 0 to 1
}

func (r reading) evidence(threshold string) Evidence {
	return Evidence{Metric: r.counter, Value: r.level * 100, Unit: "%", Threshold: threshold}
}

// decide is the decision of docs/limiter.md.
func decide(l *launch, th Thresholds) Limiter {
	all, missing := l.readings()
	if missing != "" {
		return Limiter{Label: "not told", Why: "it was counted, but the report lacks what a decision needs: " + missing, Need: "the section SpeedOfLight of ncu (--section SpeedOfLight, or --set basic)"}
	}
	atLeast := "at least " + percent(th.Saturated)
	if full := above(all, th.Saturated); len(full) > 0 {
		return saturated(full, all, atLeast)
	}
	below := func() []Evidence {
		var list []Evidence
		for _, r := range all {
			if r.kind != LimitCompute || r == busiestPipe(all) {
				list = append(list, r.evidence("below "+percent(th.Saturated)))
			}
		}
		return list
	}
	if v, ok := l.tooSmall(th); ok {
		v.Evidence = append(v.Evidence, below()...)
		return v
	}
	if v, ok := l.tooShort(th); ok {
		v.Evidence = append(v.Evidence, below()...)
		return v
	}
	if near := slices.DeleteFunc(above(all, th.Near), reading.unnamed); len(near) > 0 {
		return nearest(near, th)
	}
	if v, ok := l.lowOccupancy(th); ok {
		v.Evidence = append(v.Evidence, below()...)
		return v
	}
	v := l.latency(th)
	v.Evidence = append(v.Evidence, below()...)
	return v
}

// readings are the limits with their use, the busiest first. Missing names what
// the report lacks.
func (l *launch) readings() (all []reading, missing string) {
	for _, m := range []struct {
		kind, label string
		counters    []string
	}{
		{LimitDRAM, "DRAM bandwidth", counterDRAM}, {LimitL2, "L2 cache", counterL2}, {LimitL1, "L1 cache or shared memory", counterL1},
	} {
		name, v, ok := l.first(m.counters...)
		if !ok && m.kind == LimitL1 {
			if name, v, ok = l.busyL1(all); !ok {
				continue
			}
		}
		if !ok {
			return nil, m.counters[0]
		}
		all = append(all, reading{kind: m.kind, label: m.label, counter: name, level: share(v)})
	}
	if _, active := l.value(counterL1Active); !active && !slices.ContainsFunc(all, func(r reading) bool { return r.kind == LimitL1 }) {
		return nil, counterL1[0]
	}
	any, busiest := false, 0.0
	for _, p := range pipes {
		name, v, ok := l.first(p.counters...)
		if !ok {
			continue
		}
		any, busiest = true, max(busiest, share(v))
		label, detail := p.label, p.id
		if p.id == "tensor" {
			if dtype, ok := l.tensorType(); ok {
				label, detail = "tensor pipe ("+dtype.Short()+")", string(dtype)
			}
		}
		all = append(all, reading{LimitCompute, label, detail, name, share(v)})
	}
	sm, v, ok := l.first(counterSM...)
	switch {
	case !any && !ok:
		return nil, counterSM[0]
	case !any: // without the breakdown only the busiest of an SM's units is known
		all = append(all, reading{kind: LimitCompute, label: "compute (which pipe is not known)", counter: sm, level: share(v)})
	case ok && share(v) > busiest+apart:
		all = append(all, l.otherUnit(sm, share(v)))
	}
	slices.SortStableFunc(all, func(x, y reading) int { return cmp.Compare(y.level, x.level) })
	return all, ""
}

// unnamed tells a unit of the SM that is no pipe: it is named where it is reached,
// and being near to it says less than what warps wait for.
func (r reading) unnamed() bool { return r.detail == "issue" || r.detail == "sm" }

func (r reading) tensor() bool { return strings.HasPrefix(r.detail, "tensor") }

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
	_, issue, ok := l.first(counterIssue...)
	if active, have := l.value(counterIssueActive); !ok && have {
		issue, ok = active, true
	}
	if ok && issue/100 >= level-sameUnit {
		return reading{LimitCompute, "instruction issue", "issue", counter, level}
	}
	return reading{LimitCompute, "a unit of the SM other than its math pipes", "sm", counter, level}
}

// tensorType is the type that the tensor pipe worked in.
func (l *launch) tensorType() (gpu.DType, bool) {
	d := l.counts()
	for dtype := range d.flops {
		if !dtype.Tensor() {
			delete(d.flops, dtype)
		}
	}
	return d.mainType()
}

func above(all []reading, level float64) []reading {
	var out []reading
	for _, r := range all {
		if r.level >= level {
			out = append(out, r)
		}
	}
	return out
}

func busiestPipe(all []reading) reading {
	for _, r := range all {
		if r.kind == LimitCompute {
			return r
		}
	}
	return reading{}
}

// feeds is how much busier than the tensor pipe L1 may be and still only feed it.
const feeds = 0.1

// saturated names the limit that is reached. All traffic of DRAM passes L2, so
// that a busy L2 under a busy DRAM says nothing of its own; nor does L1 beside a
// tensor pipe that is as busy, because its operands are read from shared memory.
func saturated(full, all []reading, threshold string) Limiter {
	dram := slices.IndexFunc(full, func(r reading) bool { return r.kind == LimitDRAM })
	pipe := slices.IndexFunc(full, func(r reading) bool { return r.kind == LimitCompute })
	if dram >= 0 && pipe >= 0 {
		return mixed([]reading{full[dram], full[pipe]}, threshold, "both reached")
	}
	top := full[0]
	switch {
	case dram >= 0:
		top = full[dram]
	case top.kind == LimitL1 && pipe >= 0 && full[pipe].tensor() && full[pipe].level >= top.level-feeds:
		top = full[pipe]
	}
	v := Limiter{Kind: top.kind, Label: top.label, Detail: top.detail, Level: &top.level, Evidence: []Evidence{top.evidence(threshold)},
		Why: fmt.Sprintf("%s is in use at %s of its peak", top.label, percentOf(top.level))}
	for _, r := range all {
		if r.kind != top.kind && (r.kind != LimitCompute || r == busiestPipe(all)) {
			v.Evidence = append(v.Evidence, r.evidence(""))
		}
	}
	return v
}

func percentOf(level float64) string { return fmt.Sprintf("%.0f %%", level*100) }

func mixed(list []reading, threshold, how string) Limiter {
	v := Limiter{Kind: LimitMixed, Label: list[0].label + " and " + list[1].label, Detail: list[0].kind + ", " + list[1].kind, Level: &list[0].level,
		Why: fmt.Sprintf("%s (%s) and %s (%s) are %s", list[0].label, percentOf(list[0].level), list[1].label, percentOf(list[1].level), how)}
	for _, r := range list {
		v.Evidence = append(v.Evidence, r.evidence(threshold))
	}
	return v
}

// nearest names the limits that are near where none is reached.
func nearest(near []reading, th Thresholds) Limiter {
	threshold := "at least " + percent(th.Near)
	var kinds []reading
	for _, r := range near {
		if !slices.ContainsFunc(kinds, func(k reading) bool { return k.kind == r.kind }) {
			kinds = append(kinds, r)
		}
	}
	hasDRAM := slices.ContainsFunc(kinds, func(r reading) bool { return r.kind == LimitDRAM })
	if hasDRAM {
		kinds = slices.DeleteFunc(kinds, func(r reading) bool { return r.kind == LimitL2 })
	}
	if len(kinds) > 1 {
		return mixed(kinds[:2], threshold, "both near their peaks and neither is reached")
	}
	top := kinds[0]
	return Limiter{Kind: top.kind, Label: top.label, Detail: top.detail, Level: &top.level, Evidence: []Evidence{top.evidence(threshold)},
		Why: fmt.Sprintf("%s is the nearest limit, in use at %s of its peak", top.label, percentOf(top.level))}
}

// tooSmall: less than a wave of blocks.
func (l *launch) tooSmall(th Thresholds) (Limiter, bool) {
	waves, ok := l.value(counterWaves[0])
	if !ok || waves >= th.SmallWaves {
		return Limiter{}, false
	}
	part := fmt.Sprintf("%.2g", waves)
	if waves < 0.005 { // CSV has two decimals
		part = "less than 0.01"
	}
	v := Limiter{Kind: LimitSmall, Label: "too little work", Detail: part + " waves",
		Evidence: []Evidence{{Metric: counterWaves[0], Value: waves, Threshold: fmt.Sprintf("below %g", th.SmallWaves)}},
		Why:      fmt.Sprintf("its blocks fill %s of a wave, so that parts of the GPU have nothing to do", part)}
	if level := waves; level > 0 { // 0 is what CSV rounds less than 0.005 to
		v.Level = &level
	}
	return v, true
}

// tooShort: it takes no longer than a launch.
func (l *launch) tooShort(th Thresholds) (Limiter, bool) {
	name, ns, ok := l.first("gpu__time_duration.sum", "gpu__time_duration.avg")
	if l.medianNS > 0 { // ncu stretches short kernels
		name, ns, ok = "median duration in the timeline", l.medianNS, true
	}
	if !ok || ns >= th.ShortNS {
		return Limiter{}, false
	}
	return Limiter{Kind: LimitLaunch, Label: "launch overhead", Detail: fmt.Sprintf("%.0f ns", ns),
		Evidence: []Evidence{{Metric: name, Value: ns, Unit: "ns", Threshold: fmt.Sprintf("below %.0f ns", th.ShortNS)}},
		Why:      "it runs no longer than launching it takes"}, true
}

// issue is how much the schedulers issue, of all cycles where that was counted,
// else of active ones.
func (l *launch) issue() (counter string, percent float64, ok bool) {
	return l.first(append(slices.Clone(counterIssue), counterIssueActive)...)
}

// lowOccupancy: few warps fit, and the SM does not issue enough.
func (l *launch) lowOccupancy(th Thresholds) (Limiter, bool) {
	theoretical, ok := l.value(counterTheoretical[0])
	issueName, issue, okIssue := l.issue()
	words, counter, blocks, okLimit := l.occupancyLimit()
	if !ok || !okLimit || theoretical/100 >= th.Occupancy || okIssue && issue/100 >= th.IssueActive {
		return Limiter{}, false
	}
	level := theoretical / 100
	v := Limiter{Kind: LimitOccupancy, Label: "occupancy", Detail: words, Level: &level,
		Evidence: []Evidence{
			{Metric: counterTheoretical[0], Value: theoretical, Unit: "%", Threshold: "below " + percent(th.Occupancy)},
			{Metric: counter, Value: blocks, Unit: "block", Threshold: "the scarcest"},
		},
		Why: fmt.Sprintf("%s let only %.0f %% of the warps fit that an SM could hold, too few to hide latency", words, theoretical)}
	if okIssue {
		v.Evidence = append(v.Evidence, Evidence{Metric: issueName, Value: issue, Unit: "%", Threshold: "below " + percent(th.IssueActive)})
	}
	if achieved, ok := l.value(counterOccupancy[0]); ok {
		v.Evidence = append(v.Evidence, Evidence{Metric: counterOccupancy[0], Value: achieved, Unit: "%"})
	}
	return v, true
}

// latency is what is left: no unit is busy. Where the SMs issue most of the
// time, issuing itself is the limit.
func (l *launch) latency(th Thresholds) Limiter {
	if name, issue, ok := l.first(counterIssue...); ok && issue/100 >= th.IssueActive {
		level := share(issue)
		return Limiter{Kind: LimitCompute, Label: "instruction issue", Detail: "issue", Level: &level,
			Evidence: []Evidence{{Metric: name, Value: issue, Unit: "%", Threshold: "at least " + percent(th.IssueActive)}},
			Why:      fmt.Sprintf("the schedulers issue in %.0f %% of cycles, more than any single pipe is used", issue)}
	}
	name, issue, ok := l.issue()
	v := Limiter{Kind: LimitLatency, Label: "latency", Why: "no unit is busy: warps wait"}
	if ok {
		level := share(issue)
		v.Level = &level
		v.Evidence = append(v.Evidence, Evidence{Metric: name, Value: issue, Unit: "%"})
	}
	reason, counter, share, found := l.stall()
	if !found {
		if !ok {
			return Limiter{Label: "not told", Why: "it was counted and no unit is busy, but the report has neither waves, occupancy nor stalls", Need: "the sections LaunchStats, Occupancy and WarpStateStats of ncu"}
		}
		v.Need = "the section WarpStateStats of ncu, which has what they wait for"
		return v
	}
	v.Detail = reason
	words := stallWords[reason]
	if words == "" {
		words = reason
	}
	v.Why = fmt.Sprintf("no unit is busy; %.0f %% of the time of a warp goes to one stall: %s", share*100, words)
	v.Evidence = append(v.Evidence, Evidence{Metric: counter, Value: l.values[counter], Unit: "cycles per issue", Threshold: "the largest"})
	return v
}
