package timeline

import (
	"math"
	"slices"
	"sort"
)

// A SampledMetric is a hardware counter that nsys reads at a fixed rate, without
// replaying anything.
type SampledMetric struct {
	ID   string // stable: of results and exports
	Name string // as nsys writes it, without its unit
}

// SampledMetrics are those that are kept, in the order of Samples.Values. Each is
// a share of what the unit can do.
var SampledMetrics = []SampledMetric{
	{"gpu_active", "GR Active"}, {"sm_active", "SMs Active"}, {"sm_issue", "SM Issue"}, {"tensor_active", "Tensor Active"},
	{"dram_read", "DRAM Read Bandwidth"}, {"dram_write", "DRAM Write Bandwidth"},
}

// Samples are the readings of one GPU. Each tells the mean since the reading
// before.
type Samples struct {
	Device int
	Times  []int64     // ascending
	Values [][]float32 // by SampledMetrics, 0 to 1, NaN where a reading lacks it; nil for a metric that the GPU does not have
}

// Square makes all metrics as long as there are readings.
func (s *Samples) Square() {
	for m, values := range s.Values {
		for values != nil && len(values) < len(s.Times) {
			values = append(values, float32(math.NaN()))
		}
		s.Values[m] = values
	}
}

// Moments are sums over readings, which can be added up over ranges and files.
type Moments struct {
	N            int
	Sum, Squares float64
	Rounding     float64 // what rounding can hide in each reading, added up
}

// Add takes the readings of another.
func (m *Moments) Add(o Moments) {
	m.N, m.Sum, m.Squares, m.Rounding = m.N+o.N, m.Sum+o.Sum, m.Squares+o.Squares, m.Rounding+o.Rounding
}

// reading is one value, 0 to 1. nsys gives whole percents: 0 is none at all, 1 is
// anything up to that, as ncu showed beside it, and others are rounded.
func reading(v float64) Moments {
	m := Moments{N: 1, Sum: v, Squares: v * v, Rounding: 0.005}
	switch {
	case v <= 0:
		m.Rounding = 0
	case v < 0.015:
		m.Rounding = 0.01
	}
	return m
}

// Mean is the mean of the readings and its error: the standard error and what
// rounding can hide; 0 readings give 0.
// With one reading the error is infinite.
func (m Moments) Mean() (mean, err float64) {
	if m.N == 0 {
		return 0, 0
	}
	n := float64(m.N)
	mean = m.Sum / n
	if m.N < 2 {
		return mean, math.Inf(1)
	}
	variance := max(0, m.Squares/n-mean*mean) * n / (n - 1)
	return mean, math.Sqrt(variance/n) + m.Rounding/n
}

// within sums the readings that lie wholly in an interval: those whose own time
// began in it and ended in it. By SampledMetrics; N is 0 where there is none.
func (s *Samples) within(start, end int64) []Moments {
	out := make([]Moments, len(SampledMetrics))
	first := sort.Search(len(s.Times), func(i int) bool { return s.Times[i] >= start })
	for i := first + 1; i < len(s.Times) && s.Times[i] <= end; i++ {
		for m, values := range s.Values {
			if values == nil || values[i] != values[i] {
				continue
			}
			out[m].Add(reading(float64(values[i])))
		}
	}
	return out
}

// SampledWithin sums the readings of all GPUs in an interval; nil where there are
// none at all.
func (t *Timeline) SampledWithin(start, end int64) []Moments {
	var out []Moments
	for i := range t.Samples {
		got := t.Samples[i].within(start, end)
		if out == nil {
			out = got
			continue
		}
		for m := range got {
			out[m].Add(got[m])
		}
	}
	if !slices.ContainsFunc(out, func(m Moments) bool { return m.N > 0 }) {
		return nil
	}
	return out
}
