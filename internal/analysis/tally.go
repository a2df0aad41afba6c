package analysis

import (
	"math"

	"github.com/deepprof/deepprof/internal/timeline"
)

// A tally has the time of each label within the instances of each region. It is added up
// while time is painted: to look for each instance in the painting takes longer.
//
// The time of a label between two moments is that before the second less that before the
// first, so that a region adds up what was painted before the ends of its instances, and
// subtracts what was painted before their starts.
type tally struct {
	ranges []timeline.Range
	region func(r int) uint32
	order  []uint32 // starts (2r) and ends (2r+1) of ranges r, by time
	next   int      // of order: the first that was not reached
	at     int64    // its moment; the end of time behind the last
	labels int
	sums   []int64 // ns, by region and then label
}

// newTally counts the ranges that are chosen, of regions numbered up to so many. Order are
// all starts and ends of ranges by time. One that ends before it starts counts nothing.
func newTally(tl *timed, order []uint32, labels int) *tally {
	t := &tally{ranges: tl.t.Ranges, region: tl.at.RangeNode, labels: labels, sums: make([]int64, (len(tl.regions)+1)*labels)}
	for _, e := range order {
		if r := &t.ranges[e/2]; r.End > r.Start && tl.tallies(tl.processOf(e/2)) {
			t.order = append(t.order, e)
		}
	}
	t.look()
	return t
}

// rangeBound is the moment of a start (2r) or an end (2r+1) of range r.
func rangeBound(ranges []timeline.Range, e uint32) int64 {
	if e%2 == 0 {
		return ranges[e/2].Start
	}
	return ranges[e/2].End
}

// look finds the moment of the next bound.
func (t *tally) look() {
	t.at = math.MaxInt64
	if t.next < len(t.order) {
		t.at = rangeBound(t.ranges, t.order[t.next])
	}
}

// upTo takes the bounds up to a moment. Before has what was painted before the moment
// from, and since then it is the label.
func (t *tally) upTo(to int64, before []int64, from int64, label uint8) {
	for t.at <= to && t.next < len(t.order) {
		e, at := t.order[t.next], t.at
		t.next++
		t.look()
		sums := t.of(t.region(int(e / 2)))
		if e%2 == 0 {
			for l, ns := range before {
				sums[l] -= ns
			}
			sums[label] -= at - from
			continue
		}
		for l, ns := range before {
			sums[l] += ns
		}
		sums[label] += at - from
	}
}

func (t *tally) of(region uint32) []int64 {
	return t.sums[int(region)*t.labels : (int(region)+1)*t.labels]
}

// tallies tells whether instances of a process, -1 for one that is not known, are counted
// in the tally of all work: that of the only process that has any.
func (tl *timed) tallies(process int) bool {
	return tl.only >= 0 && (process < 0 || process == tl.only)
}

// addInstances adds the time of each label in the instances of regions, each by the work
// of its own process.
func (tl *timed) addInstances(ids []uint32, only workKey, ns []int64) {
	var counted *tally
	if only == (workKey{-1, -1}) && tl.only >= 0 {
		counted = tl.whole().tally
	}
	for _, id := range ids {
		if counted != nil {
			for l, n := range counted.of(id) {
				ns[l] += n
			}
		}
		if counted == nil || tl.strangers {
			tl.eachOf(id, only, func(i uint32, process int) {
				if counted == nil || !tl.tallies(process) {
					tl.painting(workKey{process, only.device}).split(tl.t.Ranges[i].Start, tl.t.Ranges[i].End, ns)
				}
			})
		}
	}
}

// windowSums add up the time of each label within stretches of time, which are in order
// and apart from each other, while it is painted.
type windowSums struct {
	windows []moment
	ns      []int64 // by label
	next    int     // the first stretch that is not over
}

// areApart tells whether stretches of time are in order and share no moment.
func areApart(windows []moment) bool {
	for i := 1; i < len(windows); i++ {
		if windows[i].start < windows[i-1].end {
			return false
		}
	}
	return true
}

// add takes a piece. They come by time.
func (s *windowSums) add(start, end int64, label uint8) {
	for s.next < len(s.windows) && s.windows[s.next].end <= start {
		s.next++
	}
	for _, m := range s.windows[s.next:] {
		if m.start >= end {
			return
		}
		s.ns[label] += max(0, min(end, m.end)-max(start, m.start))
	}
}
