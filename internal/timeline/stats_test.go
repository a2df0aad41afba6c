package timeline

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The expected values are what nsys stats 2022.4 and 2023.4 print.
func TestRound1(t *testing.T) {
	tests := []struct{ x, want float64 }{
		{0, 0}, {1, 1}, {2.5, 2.5}, {0.25, 0.3}, {0.15, 0.2}, {0.05, 0.1}, {0.04, 0}, {-0.25, -0.3},
		{12345.15, 12345.2}, {100000000007.45, 100000000007.5}, {100000000007.95, 100000000008},
		{9.96, 10}, {99.949, 99.9}, {1e300, 1e300}, {math.Inf(1), math.Inf(1)},
	}
	for _, test := range tests {
		if got := Round1(test.x); got != test.want {
			t.Errorf("Round1(%v) = %v, want %v", test.x, got, test.want)
		}
	}
}

// The expected values are what SQLite 3.53 gives.
func TestRoundExact(t *testing.T) {
	tests := []struct{ x, want float64 }{
		{0.25, 0.3}, {0.75, 0.8}, {-0.25, -0.3}, {8.35, 8.3}, {11.95, 11.9}, {0.15, 0.1}, {24130455.15, 24130455.1}, {3, 3}, {2.5, 2.5}, {1.0 / 3, 0.3},
	}
	for _, test := range tests {
		if got := RoundExact(test.x); got != test.want {
			t.Errorf("RoundExact(%v) = %v, want %v", test.x, got, test.want)
		}
	}
}

// Durations that are counted, because there are many, have the statistics that they have
// one by one, also where some lie too far from others to be counted.
func TestCountedSample(t *testing.T) {
	for seed := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, 3))
		var all []int64
		samples := make([]Sample, 2)
		for i := range 3*countFrom + int(seed) {
			v := 1000 + random.Int64N(50)
			switch seed {
			case 1:
				v = random.Int64N(1 << 31) // too far apart
			case 2:
				v = random.Int64N(1 << 18)
			case 3:
				if v += 1 << 30; i%3 > 0 {
					v = 40_000 + random.Int64N(9000)
				}
			}
			if i%1000 == 0 {
				v = -1 - v<<8
			}
			all = append(all, v)
			samples[min(1, random.IntN(4))].Add(v)
		}
		counted := samples[0].counted + samples[1].counted
		if s := &samples[1]; seed != 1 && counted == 0 || 4*(len(s.small)+s.counts.used*pageSize) > 8*s.Len() {
			t.Errorf("seed %d: of %d durations %d are counted on %d pages, %d are not", seed, s.Len(), counted, s.counts.used, len(s.small))
		}
		s := samples[seed%2]
		s.merge(&samples[1-seed%2])
		slices.Sort(all)
		var sum int64
		for _, v := range all {
			sum += v
		}
		mean, squares := float64(sum)/float64(len(all)), 0.0
		for _, v := range all {
			squares += (float64(v) - mean) * (float64(v) - mean)
		}
		n := len(all)
		want := [...]float64{float64(n), float64(sum), float64(all[0]), float64(all[n-1]), mean, (float64(all[(n-1)/2]) + float64(all[n/2])) / 2}
		got := [...]float64{float64(s.Len()), float64(s.Sum()), float64(s.Min()), float64(s.Max()), s.Mean(), s.Median()}
		if got != want {
			t.Errorf("seed %d: the statistics are %v, want %v", seed, got, want)
		}
		if std := math.Sqrt(squares / float64(n-1)); math.Abs(s.Stddev()-std) > 1e-9*std {
			t.Errorf("seed %d: the deviation is %v, want %v", seed, s.Stddev(), std)
		}
		for k := 0; k < n; k += 1 + n/50 {
			negative, _ := slices.BinarySearch(s.wide, 0)
			if got := s.kth(k, negative); got != all[k] {
				t.Errorf("seed %d: place %d has %d, want %d", seed, k, got, all[k])
			}
		}
	}
}

func TestSample(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		var all []int64
		var s, part Sample
		for range 1 + random.IntN(200) {
			v := random.Int64N(1000)
			switch random.IntN(20) {
			case 0:
				v = -random.Int64N(1 << 40)
			case 1:
				v = random.Int64N(1 << 45)
			case 2:
				v = 7 // many equal ones
			}
			all = append(all, v)
			if random.IntN(2) == 0 {
				s.Add(v)
			} else {
				part.Add(v)
			}
		}
		s.merge(&part)
		slices.Sort(all)
		n := len(all)
		median := float64(all[n/2])
		if n%2 == 0 {
			median = (float64(all[n/2-1]) + float64(all[n/2])) / 2
		}
		var sum int64
		for _, v := range all {
			sum += v
		}
		if s.Len() != n || s.Sum() != sum || s.Min() != all[0] || s.Max() != all[n-1] || s.Median() != median {
			t.Fatalf("round %d: got n=%d sum=%d min=%d max=%d median=%v, want n=%d sum=%d min=%d max=%d median=%v",
				round, s.Len(), s.Sum(), s.Min(), s.Max(), s.Median(), n, sum, all[0], all[n-1], median)
		}
	}
}

func TestSampleEdges(t *testing.T) {
	var s Sample
	if s.Mean() != 0 || s.Median() != 0 || s.Stddev() != 0 {
		t.Error("an empty sample is not all zero")
	}
	s.Add(5)
	if s.Stddev() != 0 || s.Median() != 5 {
		t.Errorf("one value: %v, %v", s.Stddev(), s.Median())
	}
	s.Add(7)
	if s.Stddev() != math.Sqrt2 || s.Median() != 6 || s.Mean() != 6 {
		t.Errorf("two values: %v, %v, %v", s.Stddev(), s.Median(), s.Mean())
	}
	var huge Sample
	huge.Add(math.MaxInt64)
	huge.Add(math.MaxInt64)
	if huge.Sum() != math.MaxInt64 || huge.Mean() != math.MaxInt64 {
		t.Errorf("sum %d, mean %v", huge.Sum(), huge.Mean())
	}
}

func TestSelectKthOnBadPivots(t *testing.T) {
	// Organ pipes and sawteeth are where medians of three do badly.
	for n := 1; n < 400; n += 13 {
		for k := range n {
			a := make([]uint32, n)
			for i := range a {
				a[i] = uint32(min(i, n-i) * (i%3 + 1))
			}
			sorted := slices.Sorted(slices.Values(a))
			if got := selectKth(a, k); got != sorted[k] {
				t.Fatalf("n=%d k=%d: got %d, want %d", n, k, got, sorted[k])
			}
		}
	}
}

func TestSortByStart(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, width := range []int64{1, 5, 5000, 1 << 40, math.MaxInt64} {
		starts := make([]int64, 3000)
		list := make([]uint32, len(starts))
		for i := range starts {
			starts[i], list[i] = random.Int64N(width)-width/2, uint32(i)
		}
		starts[0], starts[1] = math.MinInt64, math.MaxInt64
		start := func(i uint32) int64 { return starts[i] }
		want := slices.Clone(list)
		slices.SortStableFunc(want, func(x, y uint32) int { return cmp.Compare(start(x), start(y)) })
		SortByStart(list, start)
		if !slices.Equal(list, want) {
			t.Errorf("width %d: not in stable order", width)
		}
	}
}
