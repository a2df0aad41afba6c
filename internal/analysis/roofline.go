package analysis

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/gpu"
)

// minorShare is the part of a kernel's FLOPs below which a type gets no point
// of its own.
const minorShare = 0.1

// place puts a kernel on the roofline: a point for each type that it computes
// in and each memory level that was counted.
func (j *judgment) place(k *Kernel, l *launch) {
	d := l.counts()
	flops, bytes := l.limits()
	if share, by, counter := l.attained(d, flops, bytes); share > 0 {
		k.Attained, k.AttainedOf, k.AttainedMetric = &share, by, counter
	}
	k.Limiter.usedOtherwise(d, bytes)
	l.rulesOtherwise(&k.Limiter)
	var total float64
	for _, n := range d.flops {
		total += n
	}
	if total == 0 && d.computed() {
		k.NoPoint = fact.New(codeNoFLOPs)
	}
	k.Point = d.points(flops, bytes)
	for i := range k.Point {
		k.Point[i].Kernel, k.Point[i].NS = k.ID, k.TotalNS
	}
}

// attained is the share of its time that a launch would take if its busiest limit
// worked at the peak, with the ID of that limit and the counter that the share
// is, "" for bytes or FLOPs over their peak. A unit can be busy with more
// than the bytes or FLOPs of the roofline, so that the share of the unit in use
// counts where it is higher.
func (l *launch) attained(d *done, flops map[gpu.DType]limit, bytes map[string]limit) (most float64, by, counter string) {
	if d.seconds > 0 {
		var least float64
		least, by = d.bound(flops, bytes)
		most = least / d.seconds
	}
	all, missing := l.readings()
	if missing != "" && !d.computed() {
		return 0, "", "" // a limit that was not counted may be the busiest
	}
	for _, r := range all {
		if r.level <= most {
			continue
		}
		most, by, counter = r.level, r.kind, r.counter
		if r.kind == limitCompute {
			by = r.unit
		}
	}
	// The SM as a whole is read beside its pipes where it is clearly busier.
	if name, v, ok := l.first(counterSM...); ok && share(v) > most+sameUnit {
		other := l.otherUnit(name, share(v))
		most, by, counter = other.level, other.unit, other.counter
	}
	return most, by, counter
}

// sameUnit is how far two counters of one unit may differ.
const sameUnit = 0.01

// busierMargin is the difference between the use of a unit and the bytes that it moved
// which is worth an explanation, in shares of the peak.
const busierMargin = 0.1

// movedLess says of a level what its bytes leave out.
var movedLess = map[string]fact.Code{limitL2: codeUnitBusierL2, limitL1: codeUnitBusierL1}

// usedOtherwise explains a unit that is busier than the bytes of its roofline.
func (v *Limiter) usedOtherwise(d *done, bytes map[string]limit) {
	code, peak := movedLess[v.Kind], bytes[v.Kind]
	if code == "" || v.Level == nil || peak.rate <= 0 || d.seconds <= 0 || d.bytes[v.Kind] <= 0 {
		return
	}
	moved := d.bytes[v.Kind] / d.seconds / peak.rate
	if *v.Level-moved >= busierMargin {
		v.Why = append(v.Why, fact.New(code, fact.Share("share", moved)))
	}
}

// rulesOtherwise explains an L2 that is busier than the sum on which NVIDIA's
// rules rest.
func (l *launch) rulesOtherwise(v *Limiter) {
	memory, ok := l.value(counterMemory)
	if v.Kind != limitL2 || v.Level == nil || !ok || *v.Level-memory/100 < busierMargin {
		return
	}
	v.Evidence = append(v.Evidence, Evidence{Metric: counterMemory, Value: memory, Unit: "%"})
	v.Why = append(v.Why, fact.New(codeRulesDiffer, fact.Share("share", memory/100)))
}

// gatherPoints lists the points of all kernels, or says why there are none. A point
// that lies clearly above its roof is an error of measurement, and is told.
func (j *judgment) gatherPoints() {
	r := &j.made.Roofline
	for i := range j.made.Kernels {
		r.Points = append(r.Points, j.made.Kernels[i].Point...)
	}
	slices.SortStableFunc(r.Points, func(x, y Point) int { return cmp.Compare(y.NS, x.NS) })
	switch {
	case len(r.Points) > 0:
	case len(j.counted) == 0 && len(j.ranges) > 0:
		r.Why = fact.New(codeNoRoofRanges)
	case len(j.counted) == 0:
		r.Why = fact.New(codeNoRoofCounters)
	case len(r.Roofs) == 0:
		r.Why = fact.New(codeNoRoofPeaks)
	default:
		r.Why = fact.New(codeNoRoofFLOPs)
	}
	for _, p := range r.Points {
		if p.Attained > 1.05 {
			j.notes.warn(aboveRoof, fact.Name("kernel", p.Kernel), fact.Share("share", p.Attained-1), fact.ID("dtype", "peak", p.DType), fact.ID("memory", "peak", p.Memory))
		}
	}
}

// extent writes a grid.
func extent(d [3]int64) string {
	return strconv.FormatInt(d[0], 10) + "x" + strconv.FormatInt(d[1], 10) + "x" + strconv.FormatInt(d[2], 10)
}
