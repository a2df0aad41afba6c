package compare

import (
	"maps"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/runs"
)

// Summarize sums up the samples of a run in which a GPU was at work; nil without
// any sample.
func Summarize(samples []runs.Condition) *Conditions {
	if len(samples) == 0 {
		return nil
	}
	c, reasons := &Conditions{Samples: len(samples)}, map[string]bool{}
	var clocks, power []float64
	for i := range samples {
		s := &samples[i]
		if s.Throttled != "" {
			c.Throttled++
			for _, why := range strings.Split(s.Throttled, "+") {
				reasons[why] = true
			}
		}
		if s.Utilization > 0 && s.ClockSM > 0 {
			clocks = append(clocks, s.ClockSM)
		}
		if s.Utilization > 0 && s.PowerW > 0 {
			power = append(power, s.PowerW)
		}
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
