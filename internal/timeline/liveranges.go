package timeline

import (
	"cmp"
	"math"
	"slices"
)

// liveRanges are the push/pop ranges of a flow that are still needed: those that are open,
// and those around calls whose work may still come. They are in Timeline.Ranges, and so
// are known by a place there, which another range gets when nobody needs the one before.
// It is for one goroutine.
type liveRanges struct {
	a      *Attribution
	in     rangeReader
	sweeps []*threadSweep // by thread
	lost   int64          // stacks around a call beyond maxStacks
	needed []int          // by range: how many still need it
	free   []uint32       // places of ranges
	sets   []liveSet      // 0 is the empty one
	unused []uint32       // sets
	made   uint32         // sets so far
	opened func(r uint32) // told of every range, which it may hold; nil for nobody
	closed func(r uint32) // told of every range that nobody needs any more; nil for nobody
}

// A liveSet is the innermost range of each stack around calls.
type liveSet struct {
	ranges []uint32
	needed int
	serial uint32 // tells sets apart that had the same place
	around placeRegion
}

// placeRegion is the place and the region between the ranges of a set.
type placeRegion struct {
	known         bool
	place, region uint32
}

// newLiveRanges goes through ranges from the first on. Those of an earlier pass are gone.
func newLiveRanges(a *Attribution, next func() []Range) *liveRanges {
	a.t.Ranges, a.rangeNode, a.rangeParent, a.rangeNumber = nil, nil, nil, []uint32{}
	l := &liveRanges{a: a, in: rangeReader{next: next}, sets: []liveSet{{}}}
	l.in.fill()
	return l
}

// readUntil opens the ranges that start by a moment. All calls that start before that were
// told, and none that starts later.
func (l *liveRanges) readUntil(at int64) {
	for len(l.in.same) > 0 && l.in.same[0].Start <= at {
		for i := range l.in.same {
			l.open(&l.in.same[i])
		}
		l.in.fill()
	}
}

func (l *liveRanges) open(g *numberedRange) {
	a, r := l.a, uint32(len(l.a.t.Ranges))
	if n := len(l.free); n > 0 {
		r, l.free = l.free[n-1], l.free[:n-1]
	} else {
		a.t.Ranges, a.rangeNumber, l.needed = append(a.t.Ranges, Range{}), append(a.rangeNumber, 0), append(l.needed, 0)
		a.rangeNode, a.rangeParent = append(a.rangeNode, 0), append(a.rangeParent, 0)
	}
	a.t.Ranges[r], a.rangeNumber[r], l.needed[r] = g.Range, g.number, 1 // by its stack
	a.place(r, l.sweep(g.Thread).push(r))
	if parent := a.rangeParent[r]; parent != None {
		l.hold(parent)
	}
	if l.opened != nil {
		l.opened(r)
	}
}

func (l *liveRanges) sweep(thread uint32) *threadSweep {
	for int(thread) >= len(l.sweeps) {
		l.sweeps = append(l.sweeps, nil)
	}
	if l.sweeps[thread] == nil {
		l.sweeps[thread] = &threadSweep{a: l.a, sets: l, left: l.release, lost: &l.lost}
	}
	return l.sweeps[thread]
}

// hold keeps a range until it is released as often.
func (l *liveRanges) hold(r uint32) { l.needed[r]++ }

func (l *liveRanges) release(r uint32) {
	for r != None {
		if l.needed[r]--; l.needed[r] > 0 {
			return
		}
		if l.closed != nil {
			l.closed(r)
		}
		l.free = append(l.free, r)
		r = l.a.rangeParent[r]
	}
}

// end closes the ranges that are left, and ends the pass.
func (l *liveRanges) end() {
	l.readUntil(math.MaxInt64)
	for r, n := range l.needed {
		if n > 0 && l.closed != nil {
			l.closed(uint32(r))
		}
	}
}

// add implements setMaker. The set last, which its thread held, is let go for the new one.
func (l *liveRanges) add(list []uint32, last uint32) uint32 {
	if slices.Equal(list, l.sets[last].ranges) {
		return last
	}
	set := uint32(0)
	if len(list) > 0 {
		if n := len(l.unused); n > 0 {
			set, l.unused = l.unused[n-1], l.unused[:n-1]
		} else {
			set, l.sets = uint32(len(l.sets)), append(l.sets, liveSet{})
		}
		l.made++
		s := &l.sets[set]
		*s = liveSet{ranges: append(s.ranges[:0], list...), needed: 1, serial: l.made}
		for _, r := range list {
			l.hold(r)
		}
	}
	l.releaseSet(last)
	return set
}

// holdSet keeps a set until it is released as often.
func (l *liveRanges) holdSet(set uint32) { l.sets[set].needed++ }

func (l *liveRanges) releaseSet(set uint32) {
	s := &l.sets[set]
	if s.needed--; s.needed > 0 || set == 0 {
		return
	}
	for _, r := range s.ranges {
		l.release(r)
	}
	l.unused = append(l.unused, set)
}

// A rangeReader gives ranges in the order in which they open.
type rangeReader struct {
	next   func() []Range  // in the order of the file; none behind the last
	rest   []Range         // that it gave and nobody took yet
	same   []numberedRange // that start at once, the longest first; none behind the last
	start  int64           // of these; the end of time where there is none
	n      uint32          // that were read
	broken bool            // ranges do not lie by start, or belong to no thread
}

// A numberedRange is a range with its place in the file, from 0.
type numberedRange struct {
	Range
	number uint32
}

// fill goes on to the ranges with the next start.
func (r *rangeReader) fill() {
	last, any := int64(0), len(r.same) > 0
	if any {
		last = r.same[0].Start
	}
	r.same = r.same[:0]
	for !r.broken {
		if len(r.rest) == 0 {
			if r.rest = r.next(); len(r.rest) == 0 {
				break
			}
		}
		g := &r.rest[0]
		if len(r.same) > 0 && g.Start != r.same[0].Start {
			break
		}
		r.broken = any && g.Start < last || g.Kind != PushPop
		r.same, r.rest = append(r.same, numberedRange{*g, r.n}), r.rest[1:]
		r.n++
	}
	if r.broken {
		r.same = nil
	}
	if r.start = math.MaxInt64; len(r.same) > 0 {
		r.start = r.same[0].Start
	}
	if len(r.same) > 1 {
		slices.SortStableFunc(r.same, func(x, y numberedRange) int { return cmp.Compare(y.open(), x.open()) })
	}
}

// attributeRanges is Attribute of a timeline whose kernels, calls and ranges come in a flow,
// of which a pass gives the ranges; false where they must be in memory. Regions are numbered
// as in memory: by thread, then as they are opened first. The attribution has no range yet.
func (t *Timeline) attributeRanges(next func() []Range) (*Attribution, bool) {
	type first struct{ thread, opened uint32 }
	a, firsts, n := newAttribution(t), []first{{}}, uint32(0)
	l := newLiveRanges(a, next)
	a.begun = []opening{{}}
	l.opened = func(r uint32) {
		id, at := a.rangeNode[r], first{t.Ranges[r].Thread, n}
		n++
		if int(id) == len(firsts) {
			firsts, a.begun = append(firsts, at), append(a.begun, a.opening(r))
			return
		}
		if at.thread < firsts[id].thread {
			firsts[id] = at
		}
		if o := a.opening(r); a.begun[id].later(o) {
			a.begun[id] = o
		}
	}
	l.readUntil(math.MaxInt64)
	if l.in.broken || len(t.Domains) > maxStacks {
		return nil, false
	}
	order := upTo(len(a.nodes))
	slices.SortFunc(order[1:], func(x, y uint32) int {
		return cmp.Or(cmp.Compare(firsts[x].thread, firsts[y].thread), cmp.Compare(firsts[x].opened, firsts[y].opened))
	})
	old, begun := *a, a.begun
	*a = *newAttribution(t)
	a.begun, a.lost = make([]opening, len(order)), old.lost
	to := make([]uint32, len(order))
	for id, from := range order[1:] {
		key := old.nodes[from].key
		key.parent = to[key.parent]
		to[from] = a.nodeFor(key)
		a.begun[id+1] = begun[from]
	}
	a.warn()
	return a, true
}
