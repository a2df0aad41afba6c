package timeline

import (
	"math"
	"sort"
)

// intervals is a union of stretches of time, filled in the order of starts.
type intervals struct {
	start  []int64
	before []uint64 // time covered before each stretch; the whole clock has 64 bits
	end    int64    // of the last stretch
}

// add takes a stretch that starts no earlier than those before. One without length is left out.
func (v *intervals) add(start, end int64) {
	if end <= start {
		return
	}
	n := len(v.start)
	if n > 0 && start <= v.end {
		v.end = max(v.end, end)
		return
	}
	covered := uint64(0)
	if n > 0 {
		covered = v.before[n-1] + uint64(v.end) - uint64(v.start[n-1])
	}
	v.start, v.before, v.end = append(v.start, start), append(v.before, covered), end
}

// until is the time covered before the moment at.
func (v *intervals) until(at int64) uint64 {
	i := sort.Search(len(v.start), func(i int) bool { return v.start[i] >= at }) - 1
	if i < 0 {
		return 0
	}
	length := uint64(v.end) - uint64(v.start[i])
	if i+1 < len(v.start) {
		length = v.before[i+1] - v.before[i]
	}
	return v.before[i] + min(uint64(at)-uint64(v.start[i]), length)
}

// within is the covered part of the time from start to end, ns.
func (v *intervals) within(start, end int64) int64 {
	if end <= start {
		return 0
	}
	return int64(min(v.until(end)-v.until(start), math.MaxInt64))
}
