package analysis

import (
	"math"

	"github.com/deepprof/deepprof/internal/fact"
)

// findUtilization tells how much of the GPU each stage uses: arithmetic and
// memory together.
func (cn *conclusion) findUtilization() {
	for _, s := range cn.stages.stagesInScope() {
		var values []fact.Fact
		for _, m := range s.told() {
			if x := firstValue(m.list); x != nil {
				values = append(values, cn.usedShare(m.name, x))
			}
		}
		if len(values) == 0 {
			continue
		}
		params := []fact.Param{s.param(), fact.Because("values", values...)}
		var more []fact.Fact
		if ns, _ := cn.stages.stageNS(s); s.Split.LaunchBound && 2*s.Split.BusyNS < ns {
			more = append(more, fact.New(codeIdleMostly))
		}
		if f, ok := cn.res.clockReached(s); ok {
			more = append(more, f)
		}
		if len(more) > 0 {
			params = append(params, fact.Because("more", more...))
		}
		cn.find("utilisation-"+s.Name, weightLow, codeUtilization, params...)
	}
}

// told are the measures that a finding names: HFU where nothing gives MFU.
func (s *Stage) told() []measure {
	arithmetic := measure{"MFU", s.MFU}
	if firstValue(s.MFU) == nil {
		arithmetic = measure{"HFU", s.HFU}
	}
	return []measure{arithmetic, {"MBU", s.MBU}}
}

// usedShare is one measure with its peak.
func (cn *conclusion) usedShare(name string, u *Utilization) fact.Fact {
	code := codeUsedShare
	switch {
	case u.Coverage == nil:
	case name == "MBU": // flushed caches add to the bytes
		code = codeUsedAbout
	case *u.Coverage < coveredShare:
		code = codeUsedAtLeast
	}
	f := fact.New(code, fact.ID("measure", "measure", name), fact.Share("value", *u.Value), fact.ID("method", "method", u.Method), fact.ID("peak", "peak", u.Peak.ID), fact.Num("of", map[bool]fact.Kind{true: fact.KindFLOPsPS, false: fact.KindBytesPS}[u.Peak.Unit == "flop/s"], u.Peak.Value))
	if u.OfRoof != nil {
		f.Params["roof_value"] = fact.Value{Kind: fact.KindShare, Number: *u.OfRoof}
		f.Params["clock"] = fact.Value{Kind: fact.KindHertz, Number: u.Roof.ClockHz}
	}
	return f
}

// firstValue is nil where no method tells a value. Methods come in the order of trust.
func firstValue(list []Utilization) *Utilization {
	for i := range list {
		if list[i].Value != nil {
			return &list[i]
		}
	}
	return nil
}

const (
	lowClock  = 0.95 // share of the highest clock below which it is told
	sameSpeed = 0.05 // difference of the counted duration from the timeline's that speaks for one clock
)

// clockReached explains a utilization where the GPU did not reach its highest
// clock. The clock is known while ncu counted; where the kernel took as long in
// the timeline, it ran at it there.
func (r *Result) clockReached(s *Stage) (fact.Fact, bool) {
	arithmetic := s.told()[0]
	u := firstValue(arithmetic.list)
	if u == nil || u.Peak.Unit != "flop/s" {
		return fact.Fact{}, false
	}
	highest := r.highestOf(u.Peak.ID)
	for i := range r.Kernels {
		k := &r.Kernels[i]
		in := stageTime(k, s.Name)
		if in == 0 || 2*in < s.Split.BusyNS {
			continue // not what the stage consists of
		}
		c := k.Counted
		if c == nil || c.ClockHz <= 0 || highest.ClockHz <= 0 || c.ClockHz >= lowClock*highest.ClockHz || k.MedianNS <= 0 || math.Abs(c.DurationNS/k.MedianNS-1) > sameSpeed {
			return fact.Fact{}, false
		}
		at := u.Achieved / (highest.Value * c.ClockHz / highest.ClockHz)
		if at > 1 {
			return fact.Fact{}, false
		}
		return fact.New(codeClockReached, fact.Num("clock", fact.KindHertz, c.ClockHz), fact.Num("highest", fact.KindHertz, highest.ClockHz),
			fact.ID("measure", "measure", arithmetic.name), fact.Share("value", at)), true
	}
	return fact.Fact{}, false
}

// highestOf is a peak at the highest clock of the device.
func (r *Result) highestOf(id string) Peak {
	for i := range r.Environment.GPUs {
		if p, ok := r.Environment.GPUs[i].peak(id); ok {
			return p
		}
	}
	return Peak{}
}

// stageTime is the GPU time of a kernel in a stage, in nanoseconds.
func stageTime(k *Kernel, stage string) int64 {
	for _, t := range k.Stages {
		if t.Stage == stage {
			return t.NS
		}
	}
	return 0
}
