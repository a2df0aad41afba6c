package compare

import (
	"maps"
	"slices"

	"github.com/deepprof/deepprof/internal/gpu"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
)

// Summarize sums up the samples of a run in which a GPU was at work; nil where it
// was at work in none.
// Samples during counting are left out, because ncu may lock the clocks.
func Summarize(samples []runs.Condition) *Conditions {
	c, reasons := &Conditions{}, map[string]bool{}
	var clocks, power []float64
	for i := range samples {
		s := &samples[i]
		if s.Utilization <= 0 || s.Step == plan.StepNcu { // idle, or under clocks that ncu may lock
			continue
		}
		c.Samples++
		why := gpu.Throttled(s.Reasons)
		if len(why) > 0 {
			c.Throttled++
		}
		for _, name := range why {
			reasons[name] = true
		}
		if s.ClockSM > 0 {
			clocks = append(clocks, s.ClockSM)
		}
		if s.PowerW > 0 {
			power = append(power, s.PowerW)
		}
	}
	if c.Samples == 0 {
		return nil
	}
	c.Reasons = slices.Sorted(maps.Keys(reasons))
	if len(clocks) > 0 {
		c.ClockMHz = median(clocks)
	}
	if len(power) > 0 {
		c.PowerW = median(power)
	}
	return c
}
