package analysis

import (
	"cmp"
	"math"
	"slices"
)

// judgeOthers decides what limits the launches of a kernel that last longer or
// shorter than the one that speaks for it, where some of them were counted.
func (a *analyzer) judgeOthers() {
	if a.tl == nil {
		return
	}
	speakers := map[int][]*launch{}
	for k := range a.res.Kernels {
		if list := a.durations(k); len(list) > 1 {
			speakers[k] = list
		}
	}
	if len(speakers) == 0 {
		return
	}
	type part struct{ calls, ns int64 }
	parts := map[*launch]part{}
	for i, k := range a.tl.kernel {
		if k == noKernel || speakers[int(k)] == nil || !a.inScope(i) {
			continue
		}
		ns := max(0, a.tl.t.Kernels[i].Duration())
		near := slices.MinFunc(speakers[int(k)], func(x, y *launch) int {
			return cmp.Compare(math.Abs(x.lastsNS-float64(ns)), math.Abs(y.lastsNS-float64(ns)))
		})
		if alike(float64(ns), near.lastsNS) {
			p := parts[near]
			parts[near] = part{p.calls + 1, p.ns + ns}
		}
	}
	for i, list := range speakers {
		k := &a.res.Kernels[i]
		for _, l := range list[1:] {
			l.medianNS = l.lastsNS
			o := OtherLimiter{Report: l.report, Launch: l.res.ID, TimelineNS: l.lastsNS, Calls: parts[l].calls,
				Share: float64(parts[l].ns) / float64(max(1, k.TotalNS)), Limiter: decide(l, a.th)}
			if o.Share >= worthTelling && o.Limiter.Kind != "" && (o.Limiter.Kind != k.Limiter.Kind || o.Limiter.Label != k.Limiter.Label) {
				k.OtherLimiters = append(k.OtherLimiters, o)
			}
		}
		slices.SortFunc(k.OtherLimiters, func(x, y OtherLimiter) int {
			return cmp.Or(cmp.Compare(y.Share, x.Share), cmp.Compare(x.TimelineNS, y.TimelineNS))
		})
	}
}

// durations are the counted launches that speak for those of each duration of a
// kernel, first the one that speaks for the kernel.
func (a *analyzer) durations(k int) []*launch {
	first := a.launchOf[k]
	if first == nil || first.lastsNS <= 0 {
		return nil
	}
	out := []*launch{first}
	left := slices.Clone(a.launches[k])
	for {
		like := out[len(out)-1].lastsNS
		left = slices.DeleteFunc(left, func(l *launch) bool { return l.doubt != "" || l.lastsNS <= 0 || alike(l.lastsNS, like) })
		if len(left) == 0 {
			return out
		}
		slices.SortStableFunc(left, func(x, y *launch) int { return cmp.Compare(x.lastsNS, y.lastsNS) })
		middle := left[(len(left)-1)/2].lastsNS
		out = append(out, speaker(left, middle))
	}
}

// judgeRegions notes which kernels of a region last longer or shorter there than
// the launches that their limiters are about.
func (a *analyzer) judgeRegions() {
	for i := range a.res.Regions {
		for j := range a.res.Regions[i].Top {
			row := &a.res.Regions[i].Top[j]
			k := &a.res.Kernels[row.Kernel]
			if k.Limiter.Kind == "" || k.Counted == nil || row.Calls == 0 {
				continue
			}
			basis := k.Counted.TimelineNS
			if k.Limiter.Kind == LimitLaunch {
				basis = k.MedianNS
			}
			if basis > 0 && !alike(float64(row.NS)/float64(row.Calls), basis) {
				row.BasisNS = basis
			}
		}
	}
}
