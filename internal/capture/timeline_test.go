package capture

import (
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/plan"
)

// A long capture is foreseen unless a gate or a duration keeps it short.
func TestExpectedCapture(t *testing.T) {
	const hour = time.Hour
	for name, c := range map[string]struct {
		nsys    plan.Nsys
		program time.Duration
		long    bool
	}{
		"whole program": {plan.Nsys{CaptureRange: plan.CaptureNone}, hour, true},
		"short program": {plan.Nsys{CaptureRange: plan.CaptureNone}, time.Minute, false},
		"unknown":       {plan.Nsys{CaptureRange: plan.CaptureNone}, 0, false},
		"a gate":        {plan.Nsys{CaptureRange: plan.CaptureNVTX}, hour, false},
		"a window":      {plan.Nsys{CaptureRange: plan.CaptureNone, Delay: time.Minute, Duration: time.Minute}, hour, false},
		"a long window": {plan.Nsys{CaptureRange: plan.CaptureNone, Duration: hour / 2}, hour, true},
		"a late window": {plan.Nsys{CaptureRange: plan.CaptureNone, Delay: hour - time.Minute}, hour, false},
	} {
		if got := ExpectedSpan(c.nsys, c.program) > LongTimeline; got != c.long {
			t.Errorf("%s: long is %v", name, got)
		}
	}
}
