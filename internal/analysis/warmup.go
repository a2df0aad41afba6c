package analysis

import (
	"cmp"
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
)

const (
	// slowFirst is how many times the median a first pass takes that warms up.
	slowFirst = 1.5
	// warmUpShare is the part of the time of all passes from which what first
	// passes take beyond the median is told.
	warmUpShare = 0.05
)

// findWarmUp tells of first passes that take far longer than the others: they are
// named like the stage, and no number tells that they warm up.
func (cn *conclusion) findWarmUp() {
	if cn.tl == nil || cn.tl.t == nil {
		return
	}
	for _, s := range cn.stages.stagesInScope() {
		passes := cn.stages.passesOf(s)
		n, others := warmUp(passes)
		if n == 0 {
			continue
		}
		var first, all int64
		for i, ns := range passes {
			all += ns
			if i < n {
				first += ns
			}
		}
		excess := float64(first) - float64(n)*others
		if excess < warmUpShare*float64(all) {
			continue
		}
		weight := weightMedium
		if excess >= highShare*float64(all) {
			weight = weightHigh
		}
		cn.find("warm-up-"+s.Name, weight, codeWarmUp, s.param(), fact.Count("n", n), fact.Count("passes", len(passes)), fact.NS("ns", first), fact.NS("of", all), fact.Share("share", ratio(first, all)), fact.NS("median", others))
	}
}

// warmUp counts the first passes that take far longer than the median pass, never all of them,
// and gives the median of the others in nanoseconds.
func warmUp(passes []int64) (n int, others float64) {
	if len(passes) < 2 {
		return 0, 0
	}
	median := spreadOf(slices.Clone(passes)).MedianMS * 1e6
	for n < len(passes)-1 && float64(passes[n]) > slowFirst*median {
		n++
	}
	return n, spreadOf(slices.Clone(passes[n:])).MedianMS * 1e6
}

// passesOf is how long each pass of a stage took in nanoseconds, in the order of time.
func (st *stageClock) passesOf(s *Stage) []int64 {
	list := st.tl.passes(st.regionsOf(s), s.async())
	slices.SortStableFunc(list, func(x, y moment) int { return cmp.Compare(x.start, y.start) })
	return lengths(list)
}
