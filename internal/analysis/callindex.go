package analysis

import (
	"cmp"
	"slices"

	"github.com/deepprof/deepprof/internal/timeline"
)

// callIndex has the outer CUDA calls of each thread by start. Starts and ends both grow from
// call to call of a thread, strictly. It refers to the calls of the timeline by number, and
// is of no use once dropCalls has numbered them anew.
type callIndex struct {
	t       *timeline.Timeline
	causes  []cause // by site
	threads []timeline.List
	busy    []int64 // ns in the calls of each list
	inner   bool    // there are calls within others, or of a thread that is not known, which are in no list
	hostGap int64   // longer stretches without a CUDA call are not between launches
}

// indexCalls goes through all calls once, in the order of the file; threads whose calls do
// not lie by start are sorted. HostGap is in ns.
func indexCalls(t *timeline.Timeline, hostGap int64) *callIndex {
	sites := t.Calls.Sites()
	x := &callIndex{t: t, hostGap: hostGap, causes: make([]cause, len(sites)), threads: make([]timeline.List, len(t.Threads)), busy: make([]int64, len(t.Threads))}
	known := map[timeline.StringID]cause{}
	for i, s := range sites {
		c, ok := known[s.Name]
		if !ok {
			c = causeCall
			if int(s.Name) < len(t.Names) {
				c = callCause(t.Names[s.Name])
			}
			known[s.Name] = c
		}
		x.causes[i] = c
	}
	threads := make([]outerCalls, len(t.Threads))
	t.Calls.Each(func(i, site uint32, start, end int64) {
		th := sites[site].Thread
		if int(th) >= len(threads) {
			x.inner = true
			return
		}
		threads[th].add(i, start, end)
	})
	for th := range threads {
		if threads[th].disordered {
			threads[th] = sortedCalls(t, uint32(th))
		}
		x.threads[th], x.busy[th] = threads[th].list, threads[th].busy
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
	busy       int64 // ns in those that were kept
	inner      bool  // one was dropped
	disordered bool  // they do not come in that order
}

// add takes the next call. A call that ends where an earlier one does, or before, lies within
// it: whoever asks what the host did is told the outer one. Where calls come out of order,
// what was kept so far means nothing, and sortedCalls begins anew.
func (o *outerCalls) add(call uint32, start, end int64) {
	o.disordered = o.disordered || o.any && (start < o.start || start == o.start && end > o.end)
	o.start, o.end = start, end
	if o.any && end <= o.reach {
		o.inner = true
		return
	}
	o.any, o.reach = true, end
	o.busy += max(0, end-start)
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

// cause is why the GPU waits while a thread is in a call.
func (x *callIndex) cause(call uint32) cause { return x.causes[x.t.Calls.Site(call)] }

// A hostCursor goes through the outer calls of a thread as time goes on. Their ends grow
// from call to call, so that all before one that is over are over too.
type hostCursor struct {
	x    *callIndex
	list *timeline.List
	next int // the first call that is not over

	ended int64 // end of the call before that
	any   bool  // there is one

	read  []timeline.Span // calls that were read, from place first on
	first int
	room  [readAhead]timeline.Span
}

// readAhead is how many calls are read at once. Few lie between two launches.
const readAhead = 64

// cursors are at the first call of each thread.
func (x *callIndex) cursors() []hostCursor {
	list := make([]hostCursor, len(x.threads))
	for th := range list {
		list[th].x, list[th].list = x, &x.threads[th]
	}
	return list
}

// at is call i of the thread, nil behind the last.
func (h *hostCursor) at(i int) *timeline.Span {
	if i < h.first || i >= h.first+len(h.read) {
		h.first, h.read = i, h.room[:h.x.t.Calls.Spans(h.list, i, h.room[:])]
		if len(h.read) == 0 {
			return nil
		}
	}
	return &h.read[i-h.first]
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
