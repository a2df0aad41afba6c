package timeline

import "math"

// A cut is one end of a range, on its way to the time that a process was busy
// before it.
// at is in ns, of an index into Ranges.
type cut struct {
	at     int64
	of     uint32
	begins bool
}

// busyWithin is, for each range, the part of it in which a GPU of its process ran
// any of the work that keep accepts, any work at all where that is nil.
// ns, by index into Ranges. GPUs that are busy at the same time count once. A range whose process
// is not known, or that does not end after its start, has 0.
func (t *Timeline) busyWithin(keep func(*Op) bool) []int64 {
	b := newBusyRanges(t)
	t.byStart(nil, func(op *Op) bool {
		if keep == nil || keep(op) {
			b.add(op)
		}
		return true
	})
	return b.finish()
}

// busyRanges goes through work and ends of ranges together, by time.
type busyRanges struct {
	t      *Timeline
	cuts   [][]cut // by process
	sums   []busySum
	before []uint64 // busy time before the start of each range
	within []int64  // in each range
}

func newBusyRanges(t *Timeline) *busyRanges {
	return &busyRanges{t: t, cuts: t.cutsByProcess(), sums: make([]busySum, len(t.Processes)), before: make([]uint64, len(t.Ranges)), within: make([]int64, len(t.Ranges))}
}

// add takes one piece of work, which come by start.
// Work of an unknown process and work without length count for nothing.
func (b *busyRanges) add(op *Op) {
	p := b.t.Queues[op.Queue].Process
	if int(p) >= len(b.sums) || op.End <= op.Start {
		return
	}
	s, list := &b.sums[p], b.cuts[p]
	for s.next < len(list) && list[s.next].at <= op.Start {
		b.take(list[s.next], s.until(list[s.next].at))
		s.next++
	}
	s.add(op.Start, op.End)
}

func (b *busyRanges) take(c cut, covered uint64) {
	if c.begins {
		b.before[c.of] = covered
	} else {
		b.within[c.of] = int64(min(covered-b.before[c.of], math.MaxInt64))
	}
}

// finish gives the busy part of each range.
// Ranges that end after the last work are counted here, so it comes after all work.
func (b *busyRanges) finish() []int64 {
	for p := range b.sums {
		s := &b.sums[p]
		for _, c := range b.cuts[p][s.next:] {
			b.take(c, s.until(c.at))
		}
	}
	return b.within
}

// cutsByProcess lists the ends of ranges by time. A range that ends before it
// starts, as in a damaged file, has none.
func (t *Timeline) cutsByProcess() [][]cut {
	cuts := make([][]cut, len(t.Processes))
	for i := range t.Ranges {
		r := &t.Ranges[i]
		if p := t.ThreadProcess(r.Thread); int(p) < len(cuts) && r.End > r.Start {
			cuts[p] = append(cuts[p], cut{r.Start, uint32(i), true}, cut{r.End, uint32(i), false})
		}
	}
	for p, list := range cuts {
		order := upTo(len(list))
		SortByStart(order, func(i uint32) int64 { return list[i].at })
		sorted := make([]cut, len(list))
		for i, from := range order {
			sorted[i] = list[from]
		}
		cuts[p] = sorted
	}
	return cuts
}

// A busySum is the union of the work of a process so far, which comes by start.
type busySum struct {
	start, end int64  // of the last stretch
	covered    uint64 // before it; the whole clock has 64 bits
	any        bool
	next       int // cut that was not reached yet
}

func (s *busySum) add(start, end int64) {
	if s.any && start <= s.end {
		s.end = max(s.end, end)
		return
	}
	s.covered = s.until(s.end)
	s.start, s.end, s.any = start, end, true
}

// until is the time covered before a moment that is not before the last stretch.
func (s *busySum) until(at int64) uint64 {
	if !s.any || at <= s.start {
		return s.covered
	}
	return s.covered + uint64(min(at, s.end)) - uint64(s.start)
}
