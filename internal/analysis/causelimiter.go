package analysis

import "github.com/deepprof/deepprof/internal/fact"

// unitAtomics is the part of an L2 slice that does atomics.
const unitAtomics = "l2_atomics"

// codeBusySlice: one slice of L2 takes atomics (slice), others few (mean).
const codeBusySlice fact.Code = "l2-slice-atomics"

// idles reports whether a good part of the SMs have nothing to do: an average SM
// works for less of the time than the busiest, or the grid has too few blocks for
// them where that was not counted.
func (l *launch) idles() bool {
	s := &causeInput{launch: l}
	if _, active, ok := s.active(); ok {
		return active <= activeLimit
	}
	g := dims(l.res.Grid)
	sms, ok := l.value(counterSMs)
	return ok && float64(g[0]*g[1]*g[2]) <= activeLimit*sms
}

// busySlice: one slice of L2 takes atomics most of the time, whatever the units do
// on average and however small the grid is.
func (l *launch) busySlice() (Limiter, bool) {
	all, _ := l.readings()
	f, a := contendedAtomics(&causeInput{launch: l, all: all})
	if a != yes {
		return Limiter{}, false
	}
	busiest, mean := f.evidence[0], f.evidence[1]
	level := share(busiest.Value)
	return Limiter{Kind: limitL2, Units: []string{unitAtomics}, Level: &level,
		Why: because(codeBusySlice, fact.Share("slice", level), fact.Share("mean", mean.Value/100)),
		Evidence: []Evidence{
			{Metric: busiest.Metric, Value: busiest.Value, Unit: "%", Threshold: atLeast(busiest.Threshold / 100)},
			{Metric: mean.Metric, Value: mean.Value, Unit: "%"},
		}}, true
}
