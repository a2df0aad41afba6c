package timeline

import (
	"math"
	"testing"
)

// TestSamplesWithin counts the readings whose own time lies wholly inside.
func TestSamplesWithin(t *testing.T) {
	nan := float32(math.NaN())
	tl := &Timeline{Samples: []Samples{{Times: []int64{100, 200, 300, 400, 500}, Values: [][]float32{{0.1, 0.2, 0.4, 0.6, 0.9}, nil, {nan, nan, 0.5, nan, nan}, nil, nil, nil}}}}
	got := tl.SampledWithin(150, 450) // the reading at 200 began before
	mean, err := got[0].Mean()
	if got[0].N != 2 || math.Abs(mean-0.5) > 1e-6 || math.Abs(err-0.105) > 1e-6 {
		t.Errorf("got %+v: %v ± %v", got[0], mean, err)
	}
	if got[1].N != 0 || got[2].N != 1 {
		t.Errorf("got %+v", got)
	}
	if got := tl.SampledWithin(300, 399); got != nil {
		t.Errorf("got %+v for an interval without a whole reading", got)
	}
	if got := tl.SampledWithin(100, 200); got[0].N != 1 {
		t.Errorf("got %+v", got[0])
	}
	if got := (&Timeline{}).SampledWithin(0, 1); got != nil {
		t.Errorf("got %+v", got)
	}
}

// TestRounding adds what whole percents hide: nothing in 0, up to a percent in 1.
func TestRounding(t *testing.T) {
	for percent, want := range map[float32]float64{0: 0, 1: 0.01, 2: 0.005, 100: 0.005} {
		tl := &Timeline{Samples: []Samples{{Times: []int64{0, 1, 2}, Values: [][]float32{{percent / 100, percent / 100, percent / 100}}}}}
		if _, err := tl.SampledWithin(0, 2)[0].Mean(); math.Abs(err-want) > 1e-6 {
			t.Errorf("equal readings of %v %%: ± %v, want %v", percent, err, want)
		}
	}
}

func TestBatchClass(t *testing.T) {
	for n, want := range map[int][2]int{0: {0, 0}, 1: {1, 1}, 8: {8, 8}, 9: {9, 16}, 16: {9, 16}, 17: {17, 32}, 64: {33, 64}, 65: {65, 128}} {
		if lo, hi := batchClass(n); lo != want[0] || hi != want[1] {
			t.Errorf("%d is in %d-%d, want %v", n, lo, hi, want)
		}
	}
}
