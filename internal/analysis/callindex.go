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
	threads []timeline.List
	inner   bool  // there are calls within others, or of a thread that is not known, which are in no list
	hostGap int64 // longer stretches without a CUDA call are not between launches
}

func indexCalls(t *timeline.Timeline, hostGap int64) *callIndex {
	x := &callIndex{t: t, hostGap: hostGap, causes: make([]cause, len(t.Names)), threads: make([]timeline.List, len(t.Threads))}
	known := make([]bool, len(t.Names))
	for _, s := range t.Calls.Sites() {
		if int(s.Name) < len(known) && !known[s.Name] {
			known[s.Name] = true
			x.causes[s.Name] = callCause(t.Names[s.Name])
		}
	}
	threads := make([]outerCalls, len(t.Threads))
	for i := range uint32(t.Calls.Len()) {
		th := t.Calls.Thread(i)
		if int(th) >= len(threads) {
			x.inner = true
			continue
		}
		threads[th].add(i, t.Calls.Start(i), t.Calls.End(i))
	}
	for th := range threads {
		if threads[th].disordered {
			threads[th] = sortedCalls(t, uint32(th))
		}
		x.threads[th] = threads[th].list
		x.inner = x.inner || threads[th].inner
	}
	return x
}

// outerCalls takes the calls of a thread by start, the longest first, and drops those
// that lie within an earlier one, so that ends grow with starts.
type outerCalls struct {
	list       timeline.List
	reach      int64 // end of the last that was kept
	start, end int64 // of the last
	any        bool
	inner      bool // one was dropped
	disordered bool // they do not come in that order
}

func (o *outerCalls) add(call uint32, start, end int64) {
	o.disordered = o.disordered || o.any && (start < o.start || start == o.start && end > o.end)
	o.start, o.end = start, end
	if o.any && end <= o.reach {
		o.inner = true
		return
	}
	o.any, o.reach = true, end
	o.list.Add(call)
}

// sortedCalls is for a thread whose calls do not lie by start.
func sortedCalls(t *timeline.Timeline, thread uint32) (o outerCalls) {
	var list []uint32
	for i := range uint32(t.Calls.Len()) {
		if t.Calls.Thread(i) == thread {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(t.Calls.Start(a), t.Calls.Start(b)), cmp.Compare(t.Calls.End(b), t.Calls.End(a)), cmp.Compare(a, b))
	})
	for _, c := range list {
		o.add(c, t.Calls.Start(c), t.Calls.End(c))
	}
	return o
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
	list, calls := &x.threads[thread], &x.t.Calls
	for begun[thread] < list.Len() && calls.Start(list.At(begun[thread])) <= from {
		begun[thread]++
	}
	first := begun[thread]
	for first > 0 && calls.End(list.At(first-1)) > from {
		first--
	}
	at, ended, any := from, int64(0), false
	if first > 0 {
		ended, any = calls.End(list.At(first-1)), true
	}
	for j := first; j < list.Len() && at < to; j++ {
		call := list.At(j)
		c := calls.At(call)
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
		piece(at, min(c.End, to), x.cause(call), call)
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
