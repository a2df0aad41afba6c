package analysis

import (
	"cmp"
	"slices"

	"github.com/deepprof/deepprof/internal/timeline"
)

// callIndex has the outer CUDA calls of each thread by start.
type callIndex struct {
	t       *timeline.Timeline
	causes  []cause // by name
	threads [][]uint32
	inner   bool  // there are calls within others, or of a thread that is not known, which are in no list
	hostGap int64 // longer stretches without a CUDA call are not between launches
}

func indexCalls(t *timeline.Timeline, hostGap int64) *callIndex {
	x := &callIndex{t: t, hostGap: hostGap, causes: make([]cause, len(t.Names)), threads: make([][]uint32, len(t.Threads))}
	known := make([]bool, len(t.Names))
	count := make([]int, len(t.Threads))
	sites := t.Calls.Sites()
	for _, s := range sites {
		if int(s.Name) < len(known) && !known[s.Name] {
			known[s.Name] = true
			x.causes[s.Name] = callCause(t.Names[s.Name])
		}
	}
	calls := uint32(t.Calls.Len())
	for i := range calls {
		if th := t.Calls.Thread(i); int(th) < len(count) {
			count[th]++
		} else {
			x.inner = true
		}
	}
	for th, n := range count {
		x.threads[th] = make([]uint32, 0, n)
	}
	for i := range calls {
		if th := t.Calls.Thread(i); int(th) < len(x.threads) {
			x.threads[th] = append(x.threads[th], i)
		}
	}
	byStart := func(a, b uint32) int {
		if p, q := t.Calls.Start(a), t.Calls.Start(b); p != q {
			return cmp.Compare(p, q)
		}
		return cmp.Or(cmp.Compare(t.Calls.End(b), t.Calls.End(a)), cmp.Compare(a, b))
	}
	for th, list := range x.threads {
		if !slices.IsSortedFunc(list, byStart) {
			slices.SortFunc(list, byStart)
		}
		x.threads[th] = outer(t, list)
		x.inner = x.inner || len(x.threads[th]) < len(list)
	}
	return x
}

// outer drops calls that lie within an earlier one, so that ends grow with
// starts.
func outer(t *timeline.Timeline, list []uint32) []uint32 {
	kept := list[:0]
	var end int64
	for _, c := range list {
		if last := t.Calls.End(c); len(kept) == 0 || last > end {
			end = last
			kept = append(kept, c)
		}
	}
	return kept
}

func (x *callIndex) cause(call uint32) cause {
	if name := x.t.Calls.Name(call); int(name) < len(x.causes) {
		return x.causes[name]
	}
	return causeCall
}

// walk tells what a thread was in between two moments, piece by piece, and the
// call, timeline.None between calls. Of calls within calls, the outer one counts.
// Begun has, by thread, how many calls began by the moment of an earlier walk, from
// where this one goes on: moments come in order.
func (x *callIndex) walk(begun []int, thread uint32, from, to int64, piece func(start, end int64, c cause, call uint32)) {
	if to <= from {
		return
	}
	if int(thread) >= len(x.threads) {
		piece(from, to, causeNone, timeline.None)
		return
	}
	list, calls := x.threads[thread], &x.t.Calls
	for begun[thread] < len(list) && calls.Start(list[begun[thread]]) <= from {
		begun[thread]++
	}
	first := begun[thread]
	for first > 0 && calls.End(list[first-1]) > from {
		first--
	}
	at, ended, any := from, int64(0), false
	if first > 0 {
		ended, any = calls.End(list[first-1]), true
	}
	for j := first; j < len(list) && at < to; j++ {
		c := calls.At(list[j])
		if c.End <= at || c.End <= c.Start { // over, or damaged
			if !any || c.End > ended {
				ended, any = c.End, true
			}
			continue
		}
		if c.Start > at {
			piece(at, min(c.Start, to), x.between(any, ended, c.Start), timeline.None)
			at = min(c.Start, to)
			if at >= to {
				return
			}
		}
		piece(at, min(c.End, to), x.cause(list[j]), list[j])
		at = min(c.End, to)
		ended, any = c.End, true
	}
	if at < to {
		piece(at, to, causeNone, timeline.None)
	}
}

// between is the cause for a thread that is in no call since the moment ended
// and makes the next at the moment next.
func (x *callIndex) between(any bool, ended, next int64) cause {
	switch {
	case !any:
		return causeNone
	case timeline.Since(ended, next) > x.hostGap:
		return causeHost
	}
	return causePython
}
