package timeline

import "math"

// Since is the time from start to end. Damaged files hold times at both ends of
// the clock: what 64 bits cannot hold stands at the largest or smallest number.
func Since(start, end int64) int64 {
	d := end - start
	if (end^start)&(end^d) >= 0 {
		return d
	}
	if end < start {
		return math.MinInt64
	}
	return math.MaxInt64
}

// Endless reports a time from start to end that Since cuts short.
func Endless(start, end int64) bool { return (end^start)&(end^(end-start)) < 0 }

// accrue adds n to a sum. One that would leave the range of int64 stands at its
// end from then on, and sets over.
func accrue(sum *int64, n int64, over *bool) {
	if n != 0 && (*sum == math.MaxInt64 || *sum == math.MinInt64) {
		*over = true
		return
	}
	s := *sum + n
	if (*sum^s)&(n^s) < 0 {
		*over = true
		s = math.MaxInt64
		if n < 0 {
			s = math.MinInt64
		}
	}
	*sum = s
}
