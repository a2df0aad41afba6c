package timeline

import (
	"slices"

	"github.com/deepprof/deepprof/internal/nvtx"
)

// A gapSource goes through work by start and tells of the CUDA calls around the gaps in
// it.
type gapSource interface {
	// each visits the work; false where it cannot be told without all of it in memory.
	each(visit func(*Op)) bool
	// launchOf is the call that launched the work that is visited.
	launchOf(op *Op) gapLaunch
	// readUntil gives the window all calls that start before a moment.
	readUntil(at int64)
}

// gapLaunch is the call that launched the work after a gap.
// The zero value stands for a call that is not known. Times are in ns.
type gapLaunch struct {
	known        bool
	start, end   int64
	thread       uint32   // index into Threads
	stacks, open []uint32 // as of a launchCall
}

// memorySource has all work and all calls in memory.
type memorySource struct {
	a      *Attribution
	window *callWindow
	order  []uint32 // calls by start
	next   int
}

func newMemorySource(a *Attribution, w *callWindow) *memorySource {
	s := &memorySource{a: a, window: w, order: upTo(a.t.Calls.Len())}
	a.t.Calls.sortByStart(s.order)
	return s
}

func (s *memorySource) each(visit func(*Op)) bool {
	s.a.t.byStart(nil, func(op *Op) bool { visit(op); return true })
	return true
}

func (s *memorySource) launchOf(op *Op) gapLaunch {
	call := s.a.callOf(op)
	if call == None {
		return gapLaunch{}
	}
	c := &s.a.t.Calls
	return gapLaunch{true, c.Start(call), c.End(call), c.Thread(call), s.a.innermost(call), s.a.openAround(call)}
}

func (s *memorySource) readUntil(at int64) {
	c := &s.a.t.Calls
	for ; s.next < len(s.order) && c.Start(s.order[s.next]) < at; s.next++ {
		i := s.order[s.next]
		s.window.add(&FlowCall{c.Start(i), c.End(i), c.Correlation(i), c.Site(i)})
	}
}

// flowSource has neither.
type flowSource struct {
	j *flowJoin
	l launched // of the work that is visited
}

func newFlowSource(a *Attribution, f Flow, w *callWindow, hosts *hostRanges) *flowSource {
	j := newFlowJoin(a, f)
	j.times, j.each = true, w.add
	j.live.opened = func(r uint32) { hosts.open(a, r) }
	return &flowSource{j: j}
}

func (s *flowSource) each(visit func(*Op)) bool {
	ok := s.j.a.t.flowOps(s.j.flow, func(op *Op) (ok bool) {
		if s.l, ok = s.j.launchOf(op); ok {
			visit(op)
		}
		return ok
	})
	s.j.each, s.j.live.opened = nil, nil // no gap comes after the last work
	return ok && s.j.finish()
}

// launchOf answers for the work that is visited now, whatever it is asked for.
func (s *flowSource) launchOf(*Op) gapLaunch {
	return gapLaunch{true, s.l.Start, s.l.End, s.j.a.t.Calls.sites[s.l.Site].Thread, s.j.live.sets[s.l.set].ranges, nil}
}

func (s *flowSource) readUntil(at int64) { s.j.readUntil(at) }

// A callWindow keeps the calls that may reach into gaps that are still to be found.
type callWindow struct {
	t       *Timeline
	outer   bool // without calls that lie in another of their thread
	threads []threadWindow
	held    int
	most    int // calls that may be held before those that are over are dropped
}

// threadWindow has calls of a thread by start.
type threadWindow struct {
	calls  []windowCall
	at     int   // the first that may reach into the next gap
	latest int64 // end of all so far, those that were dropped too
	any    bool
}

type windowCall struct {
	start, end int64
	latest     int64 // end of those up to it
	site       uint32
}

// leastWindow is how many calls are held before any is dropped: 1 MB of them.
const leastWindow = 1 << 15

// add takes the next call; they come by start. Those of a thread that is not known are left out.
func (w *callWindow) add(c *FlowCall) {
	thread := w.t.Calls.sites[c.Site].Thread
	if int(thread) >= len(w.threads) {
		if int(thread) >= len(w.t.Threads) {
			return
		}
		w.threads = append(w.threads, make([]threadWindow, int(thread)+1-len(w.threads))...)
	}
	th := &w.threads[thread]
	if w.outer && th.any && c.End <= th.latest {
		return
	}
	if !th.any || c.End > th.latest {
		th.any, th.latest = true, c.End
	}
	th.calls = append(th.calls, windowCall{c.Start, c.End, th.latest, c.Site})
	w.held++
}

// drop lets go of the calls that were over by a moment, where there are many.
// horizon is asked only then. No gap that is still to come may begin before it.
func (w *callWindow) drop(horizon func() int64) {
	if w.held < max(w.most, leastWindow) {
		return
	}
	over := horizon()
	w.held = 0
	for i := range w.threads {
		th := &w.threads[i]
		n := 0
		for n < len(th.calls) && th.calls[n].latest <= over {
			n++
		}
		th.calls = slices.Delete(th.calls, 0, n)
		th.at = max(0, th.at-n)
		w.held += len(th.calls)
	}
	w.most = 2 * w.held
}

// from are the calls of a thread from the first that may end after a moment. Moments
// that are asked for grow, as a rule.
// Some of them may end before it all the same. The list is valid until the next add or drop.
func (w *callWindow) from(thread uint32, start int64) []windowCall {
	if int(thread) >= len(w.threads) {
		return nil
	}
	th := &w.threads[thread]
	for th.at > 0 && th.calls[th.at-1].latest > start {
		th.at--
	}
	for th.at < len(th.calls) && th.calls[th.at].latest <= start {
		th.at++
	}
	return th.calls[th.at:]
}

// regionMatcher tells whether a query's region holds around a launch.
func (a *Attribution) regionMatcher(match func(nvtx.State) bool) func(gapLaunch) bool {
	if match == nil {
		return func(gapLaunch) bool { return true }
	}
	answers := map[string]bool{}
	var key []byte
	return func(l gapLaunch) bool {
		key = a.stateKey(key[:0], l.stacks, l.open)
		answer, known := answers[string(key)]
		if !known {
			answer = match(a.stateOf(l.stacks, l.open))
			answers[string(key)] = answer
		}
		return answer
	}
}

// A gapSearch finds the gaps that a query chooses, with the launch of the work after
// each, and has the calls that may lie in it in its window.
type gapSearch struct {
	a      *Attribution
	q      *Query
	source gapSource
	window *callWindow
	hosts  *hostRanges
}

// gapSearch goes through a timeline in memory, all of whose CUDA calls it needs.
func (t *Timeline) gapSearch(q *Query, outer bool) *gapSearch {
	a, w := t.Attribute(), &callWindow{t: t, outer: outer}
	return &gapSearch{a, q, newMemorySource(a, w), w, a.hostRanges()}
}

// flowSearch goes through a flow; false where it must be in memory. The query may not choose
// by kernel, and is about whole devices.
func (t *Timeline) flowSearch(q *Query, f Flow, outer bool) (*gapSearch, bool) {
	a, ok := t.attributeRanges(f.Ranges())
	if !ok {
		return nil, false
	}
	w, hosts := &callWindow{t: t, outer: outer}, a.noHostRanges()
	return &gapSearch{a, q, newFlowSource(a, f, w, hosts), w, hosts}, true
}

// each visits the gaps by their end; false where the flow cannot tell them.
// The gap is valid until visit returns.
func (s *gapSearch) each(visit func(*gap, gapLaunch)) bool {
	keep := s.a.regionMatcher(s.q.Region)
	var finder *gapFinder
	finder = s.a.t.newGapFinder(s.q, func(x *gap) {
		l := s.source.launchOf(&x.after)
		if !keep(l) {
			return
		}
		s.source.readUntil(x.end)
		s.window.drop(finder.horizon)
		s.hosts.settle(x.end, finder.horizon)
		visit(x, l)
	})
	if !s.q.WholeDevices {
		finder.streams()
	}
	return s.source.each(finder.add)
}
