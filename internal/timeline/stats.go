package timeline

import (
	"math"
	"math/bits"
	"slices"
	"strconv"
)

// A Sample collects durations and gives the statistics that Nsight Systems
// prints of them. Nearly all durations of GPU work fit into 32 bits; those are
// kept in half the memory and, where there are many, counted: launches of a kernel last
// equally long again and again.
// The zero value is empty. It is for one goroutine, the reading methods too; but Each, and a Join of
// it into another, change nothing.
type Sample struct {
	small   []uint32 // that are not counted, or not yet
	counts  durationCounts
	counted int     // durations in counts
	tried   int     // durations that were left in small when they were last counted
	wide    []int64 // below 0 or above 32 bits
	sum     int64
	min     int64
	max     int64
	over    bool // the sum left the range of int64
}

// Add takes one duration, which may be negative.
func (s *Sample) Add(ns int64) {
	if s.Len() == 0 {
		s.min, s.max = ns, ns
	}
	s.min, s.max = min(s.min, ns), max(s.max, ns)
	s.addSum(ns)
	if ns>>32 != 0 {
		s.wide = append(s.wide, ns)
		return
	}
	s.small = append(s.small, uint32(ns))
	if len(s.small) >= max(countFrom, 2*s.tried) {
		s.count()
	}
}

// count counts durations that are kept one by one so far: many at once take less time than one
// after the other, since their counts lie close to each other.
func (s *Sample) count() {
	rest := s.small[:0]
	for _, ns := range s.small {
		s.counts.open(ns, s.counted+len(s.small))
		if s.counts.add(ns, 1) {
			s.counted++
		} else {
			rest = append(rest, ns)
		}
	}
	s.small, s.tried = rest, len(rest)
}

func (s *Sample) addSum(ns int64) {
	accrue(&s.sum, ns, &s.over)
}

// settle counts what can be counted, after the last duration.
func (s *Sample) settle() {
	if len(s.small) >= pageSize {
		s.count()
		s.small = slices.Clone(s.small)
	}
}

// merge adds all durations of o.
// o must not be used afterwards: both may share memory.
func (s *Sample) merge(o *Sample) {
	if o.Len() == 0 {
		return
	}
	if s.Len() == 0 {
		*s = *o
		return
	}
	s.min, s.max = min(s.min, o.min), max(s.max, o.max)
	s.addSum(o.sum)
	s.over = s.over || o.over
	s.wide = append(s.wide, o.wide...)
	s.small = append(s.small, o.small...)
	if s.counted+o.counted > 0 {
		o.counts.each(func(ns, n uint32) {
			s.counts.open(ns, s.Len()+int(n))
			if !s.counts.add(ns, n) {
				s.small = append(s.small, slices.Repeat([]uint32{ns}, int(n))...)
				return
			}
			s.counted += int(n)
		})
	}
}

// Join adds all durations of o, which stays as it is.
func (s *Sample) Join(o *Sample) {
	other := *o
	if s.Len() == 0 {
		other.small, other.wide, other.counts = slices.Clone(o.small), slices.Clone(o.wide), o.counts.clone()
	}
	s.merge(&other)
}

// Len is the number of durations.
func (s *Sample) Len() int { return len(s.small) + s.counted + len(s.wide) }

// Sum saturates at the ends of int64.
func (s *Sample) Sum() int64 { return s.sum }

// Over reports whether the sum is larger than it could be told.
func (s *Sample) Over() bool { return s.over }

// Min is 0 without durations.
func (s *Sample) Min() int64 { return s.min }

// Max is 0 without durations.
func (s *Sample) Max() int64 { return s.max }

// Mean is 0 without durations.
func (s *Sample) Mean() float64 {
	if s.Len() == 0 {
		return 0
	}
	if s.over {
		var sum float64
		s.Each(func(ns, n int64) { sum += float64(n) * float64(ns) })
		return sum / float64(s.Len())
	}
	return float64(s.sum) / float64(s.Len())
}

// Stddev is that of a sample (n-1); 0 for fewer than two durations.
func (s *Sample) Stddev() float64 {
	n := s.Len()
	if n < 2 {
		return 0
	}
	mean, sum := s.Mean(), 0.0
	s.Each(func(ns, n int64) {
		d := float64(ns) - mean
		sum += float64(n) * (d * d)
	})
	return math.Sqrt(sum / float64(n-1))
}

// Median is the middle duration, or the mean of the two middle ones. It
// reorders what the sample holds.
func (s *Sample) Median() float64 {
	if s.Len() == 0 {
		return 0
	}
	low, high := s.middle()
	return (float64(low) + float64(high)) / 2
}

// LowerMedian is the middle duration, the lower of two; 0 without durations. It reorders
// what the sample holds.
func (s *Sample) LowerMedian() int64 {
	if s.Len() == 0 {
		return 0
	}
	low, _ := s.middle()
	return low
}

// middle is the middle duration twice, or the two middle ones. There is at least one. It
// reorders what the sample holds.
func (s *Sample) middle() (low, high int64) {
	n := s.Len()
	slices.Sort(s.wide)
	negative, _ := slices.BinarySearch(s.wide, 0)
	high = s.kth(n/2, negative)
	if n%2 == 1 {
		return high, high
	}
	return s.kth(n/2-1, negative), high
}

// kth is the duration at place k of the sorted sample: the wide ones surround
// the small ones.
func (s *Sample) kth(k, negative int) int64 {
	switch {
	case k < negative:
		return s.wide[k]
	case k >= negative+len(s.small)+s.counted:
		return s.wide[k-len(s.small)-s.counted]
	case s.counted == 0:
		return int64(selectKth(s.small, k-negative))
	default:
		return int64(s.counts.kth(s.small, k-negative))
	}
}

// SampleOf takes a list of durations.
func SampleOf(list []int64) *Sample {
	s := &Sample{}
	for _, ns := range list {
		s.Add(ns)
	}
	return s
}

// Each visits the durations, with how many there are of each, in no order. A duration may come
// several times.
func (s *Sample) Each(f func(ns, n int64)) {
	for _, v := range s.small {
		f(int64(v), 1)
	}
	s.counts.each(func(ns, n uint32) { f(int64(ns), int64(n)) })
	for _, v := range s.wide {
		f(v, 1)
	}
}

// selectKth puts the element that sorting would put at k there and returns it.
func selectKth(a []uint32, k int) uint32 {
	lo, hi := 0, len(a)-1
	for depth := 2 * bits.Len(uint(len(a))); hi-lo > 16; depth-- {
		if depth == 0 {
			break // a bad run of pivots: sort what is left
		}
		pivot := medianOf3(a[lo], a[lo+(hi-lo)/2], a[hi])
		i, j := lo, hi
		for i <= j {
			for a[i] < pivot {
				i++
			}
			for a[j] > pivot {
				j--
			}
			if i <= j {
				a[i], a[j] = a[j], a[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return a[k]
		}
	}
	slices.Sort(a[lo : hi+1])
	return a[k]
}

func medianOf3(a, b, c uint32) uint32 {
	return max(min(a, b), min(max(a, b), c))
}

// Round1 rounds to one decimal as Nsight Systems does: halves go away from
// zero, and the shortest decimal that stands for x decides what a half is.
func Round1(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return x
	}
	var buf [400]byte
	text := strconv.AppendFloat(buf[:0], x, 'f', -1, 64)
	dot := slices.Index(text, '.')
	if dot < 0 || len(text)-dot <= 2 {
		return x
	}
	up := text[dot+2] >= '5'
	r, _ := strconv.ParseFloat(string(text[:dot+2]), 64)
	if !up {
		return r
	}
	tenth := 0.1
	if text[0] == '-' {
		tenth = -0.1
	}
	r, _ = strconv.ParseFloat(strconv.FormatFloat(r+tenth, 'f', 1, 64), 64)
	return r
}

// RoundExact rounds to one decimal as Nsight Systems does where it is built
// with SQLite 3.43 or later: the exact value decides, so that the double
// nearest to 8.35, which is a little less, becomes 8.3.
func RoundExact(x float64) float64 {
	if quarters := x * 4; quarters == math.Trunc(quarters) {
		return Round1(x) // a true half is possible, and goes away from zero
	}
	r, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'f', 1, 64), 64)
	return r
}

// A Spread sums values up as they come. The zero one has none.
type Spread struct {
	N                  int64
	Total, Least, Most float64 // in the unit of the values; 0 where N is 0
}

// Add takes a value; NaN is not one.
func (s *Spread) Add(v float64) {
	if math.IsNaN(v) {
		return
	}
	if s.N == 0 {
		s.Least, s.Most = v, v
	}
	s.N++
	s.Total, s.Least, s.Most = s.Total+v, min(s.Least, v), max(s.Most, v)
}

// Join takes the values of another spread.
func (s *Spread) Join(o Spread) {
	switch {
	case o.N == 0:
	case s.N == 0:
		*s = o
	default:
		s.N, s.Total, s.Least, s.Most = s.N+o.N, s.Total+o.Total, min(s.Least, o.Least), max(s.Most, o.Most)
	}
}

// Mean of the values; NaN where there is none.
func (s *Spread) Mean() float64 { return s.Total / float64(s.N) }
