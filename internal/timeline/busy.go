package timeline

import (
	"cmp"
	"math"
	"slices"
)

// A cut is one end of a range, on its way to the time that a process was busy
// before it.
type cut struct {
	at     int64
	of     uint32
	begins bool
}

// busyWithin is, for each range, the part of it in which a GPU of its process ran
// any of the work that keep accepts. It goes through work and ends of ranges
// together, by time.
func (t *Timeline) busyWithin(keep func(Op) bool) []int64 {
	cuts := t.cutsByProcess()
	sums := make([]busySum, len(t.Processes))
	before := make([]uint64, len(t.Ranges)) // busy time before the start of each range
	within := make([]int64, len(t.Ranges))
	take := func(c cut, covered uint64) {
		if c.begins {
			before[c.of] = covered
		} else {
			within[c.of] = int64(min(covered-before[c.of], math.MaxInt64))
		}
	}
	t.ByStart(func(op Op) {
		p := t.Queues[op.Queue].Process
		if int(p) >= len(sums) || op.End <= op.Start || !keep(op) {
			return
		}
		s, list := &sums[p], cuts[p]
		for s.next < len(list) && list[s.next].at <= op.Start {
			take(list[s.next], s.until(list[s.next].at))
			s.next++
		}
		s.add(op.Start, op.End)
	})
	for p := range sums {
		s := &sums[p]
		for _, c := range cuts[p][s.next:] {
			take(c, s.until(c.at))
		}
	}
	return within
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
	for _, list := range cuts {
		slices.SortFunc(list, func(x, y cut) int { return cmp.Compare(x.at, y.at) })
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
