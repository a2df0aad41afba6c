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
	bounds *timeline.BoundReader // nil behind the last
	ranges *timeline.RangeReader
	counts func(r uint32) bool // instances of its process are counted
	at     int64               // of the bound; the end of time behind the last
	labels int
	sums   []int64 // ns, by region and then label
}

// newTally counts the ranges that are chosen, of regions numbered up to so many. One that ends
// before it starts counts nothing.
func newTally(tl *timed, labels int) *tally {
	t := &tally{bounds: tl.tape.Bounds(), ranges: tl.tape.Ranges(), labels: labels, sums: make([]int64, (len(tl.regions)+1)*labels)}
	t.counts = func(r uint32) bool { return tl.tallies(tl.processOfThread(t.ranges.Thread(r))) }
	t.look()
	return t
}

// look goes to the next bound.
func (t *tally) look() {
	t.at = math.MaxInt64
	for t.bounds != nil {
		if !t.bounds.Next() {
			t.bounds = nil
		} else if of, _ := t.bounds.Range(); t.counts(of) {
			t.at = t.bounds.Time()
			return
		}
	}
}

// upTo takes the bounds up to a moment. Before has what was painted before the moment
// from, and since then it is the label.
func (t *tally) upTo(to int64, before []int64, from int64, label uint8) {
	for t.at <= to && t.bounds != nil {
		of, ends := t.bounds.Range()
		at := t.at
		t.look()
		sums := t.of(t.ranges.Region(of))
		if !ends {
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
			tl.eachOf(id, only, func(r *instance) {
				if counted == nil || !tl.tallies(r.process) {
					tl.painting(workKey{r.process, only.device}).split(r.start, r.end, ns)
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
