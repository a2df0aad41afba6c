package analysis

import (
	"math"
	"testing"

	"github.com/deepprof/deepprof/internal/timeline"
)

// TestHistogramOfDamagedTimes: durations of a damaged file may lie further apart than 64 bits can
// tell.
func TestHistogramOfDamagedTimes(t *testing.T) {
	h := histogram(timeline.SampleOf([]int64{math.MinInt64, -9_000_000_000_000_000_000, 3, 4, 9_000_000_000_000_000_000, math.MaxInt64}))
	var n int64
	for _, c := range h.Counts {
		n += c
	}
	if n != 6 || len(h.Bounds) != len(h.Counts)+1 {
		t.Errorf("%d values in %d bins between %v, want 6", n, len(h.Counts), h.Bounds)
	}
}
