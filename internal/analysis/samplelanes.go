package analysis

import (
	"math"
	"slices"

	"github.com/deepprof/deepprof/internal/timeline"
)

// Sampling is how counters were sampled beside the timeline.
type Sampling struct {
	RateHz   float64 `json:"rate_hz"`  // by the median distance of two readings
	Readings int     `json:"readings"` // of all GPUs
	GPUs     int     `json:"gpus"`
}

// A CounterLane is a row under the timeline: one sampled counter of one GPU, as
// means over bins of equal width.
type CounterLane struct {
	Device  int    `json:"device"`
	Metric  string `json:"metric"`   // as Sampled.Metric
	StartNS int64  `json:"start_ns"` // of the first bin, from Overview.StartNS
	BinNS   int64  `json:"bin_ns"`
	// Values are thousandths of what the unit can do; -1 for a bin without a
	// reading.
	Values []int `json:"values"`
}

// maxBins bounds the values of a counter lane: more than a screen is wide.
const maxBins = 2000

// samplingOf sums up the readings of a timeline; nil where there are none.
func samplingOf(t *timeline.Timeline) *Sampling {
	var s Sampling
	var apart []int64
	for i := range t.Samples {
		times := t.Samples[i].Times
		s.Readings, s.GPUs = s.Readings+len(times), s.GPUs+1
		for n := 1; n < len(times); n++ {
			apart = append(apart, times[n]-times[n-1])
		}
	}
	if len(apart) == 0 {
		return nil
	}
	slices.Sort(apart)
	if middle := apart[len(apart)/2]; middle > 0 {
		s.RateHz = math.Round(1e9 / float64(middle))
	}
	return &s
}

// counterLanes are the sampled counters over time, those that the GPUs have.
func counterLanes(t *timeline.Timeline, origin int64) []CounterLane {
	var out []CounterLane
	for i := range t.Samples {
		s := &t.Samples[i]
		for m, values := range s.Values {
			if lane, ok := counterLane(s.Times, values, origin); ok {
				lane.Device, lane.Metric = s.Device, timeline.SampledMetrics[m].ID
				out = append(out, lane)
			}
		}
	}
	return out
}

// counterLane averages readings in bins; a reading is put where its time ends.
func counterLane(times []int64, values []float32, origin int64) (CounterLane, bool) {
	if len(times) < 2 || values == nil {
		return CounterLane{}, false
	}
	first, span := times[0], times[len(times)-1]-times[0]
	width := max(1, span/min(maxBins, int64(len(times)-1)))
	n := int(span/width) + 1
	sums, counts := make([]float64, n), make([]int, n)
	for i, v := range values {
		if v != v { // not read
			continue
		}
		bin := int((times[i] - first) / width)
		sums[bin] += float64(v)
		counts[bin]++
	}
	lane := CounterLane{StartNS: first - origin, BinNS: width, Values: make([]int, n)}
	for i := range sums {
		lane.Values[i] = -1
		if counts[i] > 0 {
			lane.Values[i] = int(math.Round(1000 * sums[i] / float64(counts[i])))
		}
	}
	return lane, true
}
