package analysis

import (
	"cmp"
	"math"
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
)

// A part is the launches of a kernel that last about as long as a counted one.
type part struct{ calls, ns int64 }

// judgeDurations tells how far a verdict goes whose kernel has launches of several
// durations.
func (j *judgment) judgeDurations() {
	if j.tl == nil {
		return
	}
	counted := make([][]*launch, len(j.made.Kernels))
	for k := range counted {
		counted[k] = j.durations(k)
	}
	parts := j.tl.partsOf(counted)
	for i, list := range counted {
		if len(list) == 0 {
			continue
		}
		k := &j.made.Kernels[i]
		k.notTypical(list[0], parts[list[0]])
		for _, l := range list[1:] {
			j.judgeOther(k, l, parts[l])
		}
		slices.SortStableFunc(k.OtherLimiters, func(x, y OtherLimiter) int { return cmp.Compare(y.Share, x.Share) })
	}
}

// partsOf sums the launches of the scope by the speaker of their kernel that they
// are like.
func (tl *timed) partsOf(counted [][]*launch) map[*launch]part {
	parts := map[*launch]part{}
	inScope := tl.counted()
	for w := tl.tape.Work(); w.Next(); {
		kind := w.Kind()
		k := tl.rowOf[kind]
		if k == noKernel || len(counted[k]) == 0 || !inScope[kind] {
			continue
		}
		ns := w.NS()
		near := slices.MinFunc(counted[k], func(x, y *launch) int {
			return cmp.Compare(math.Abs(x.lastsNS-float64(ns)), math.Abs(y.lastsNS-float64(ns)))
		})
		if alike(float64(ns), near.lastsNS) {
			p := parts[near]
			parts[near] = part{p.calls + 1, p.ns + ns}
		}
	}
	return parts
}

// notTypical tells where the launch that speaks for a kernel lasts longer or
// shorter than the median.
func (k *Kernel) notTypical(l *launch, like part) {
	if k.MedianNS <= 0 || alike(l.lastsNS, k.MedianNS) {
		return
	}
	k.Counted.Note = append(k.Counted.Note, fact.New(countedAlike, fact.Count("calls", like.calls), fact.Count("of", k.Calls), fact.Share("share", float64(like.ns)/float64(max(1, k.TotalNS)))))
	if k.Limiter.Kind != "" && k.Limiter.Kind != limitLaunch { // that one is about the median
		k.Limiter.Why = append(k.Limiter.Why, fact.New(codeVerdictHolds, fact.NS("lasts", l.lastsNS), fact.Count("calls", like.calls), fact.Count("of", k.Calls),
			fact.Share("share", float64(like.ns)/float64(max(1, k.TotalNS)))))
	}
}

// judgeOther decides what limits the launches that are like a counted one which
// does not speak for its kernel.
func (j *judgment) judgeOther(k *Kernel, l *launch, like part) {
	l.medianNS = l.lastsNS
	o := OtherLimiter{Report: l.report, Launch: l.res.ID, TimelineNS: l.lastsNS, Calls: like.calls, Share: float64(like.ns) / float64(max(1, k.TotalNS)), Limiter: decide(l)}
	o.Limiter.Cause = causeOf(l, o.Limiter.Kind)
	if o.Share >= worthTelling && o.Limiter.Kind != "" && !o.Limiter.same(&k.Limiter) {
		k.OtherLimiters = append(k.OtherLimiters, o)
	}
}

// durations are the counted launches that speak for those of each duration of a
// kernel, first the one that speaks for the kernel.
func (j *judgment) durations(k int) []*launch {
	first := j.launchOf[k]
	if first == nil || first.lastsNS <= 0 {
		return nil
	}
	out := []*launch{first}
	left := slices.Clone(j.launches[k])
	for {
		like := out[len(out)-1].lastsNS
		left = slices.DeleteFunc(left, func(l *launch) bool { return l.doubt != nil || l.lastsNS <= 0 || alike(l.lastsNS, like) })
		if len(left) == 0 {
			return out
		}
		slices.SortStableFunc(left, func(x, y *launch) int { return cmp.Compare(x.lastsNS, y.lastsNS) })
		middle := left[(len(left)-1)/2].lastsNS
		out = append(out, typicalLaunch(left, middle))
	}
}

// judgeRegions notes which kernels of a region last longer or shorter there than
// the launches that their limiters are about.
func (j *judgment) judgeRegions() {
	for i := range j.made.Regions {
		top := j.made.Regions[i].Top
		for n := range top {
			row := &top[n]
			k := &j.made.Kernels[row.Kernel]
			if k.Limiter.Kind == "" || k.Counted == nil || row.Calls == 0 {
				continue
			}
			basis := k.Counted.TimelineNS
			if k.Limiter.Kind == limitLaunch {
				basis = k.MedianNS
			}
			if basis > 0 && !alike(float64(row.NS)/float64(row.Calls), basis) {
				row.BasisNS = basis
			}
		}
	}
}
