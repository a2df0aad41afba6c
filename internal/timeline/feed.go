package timeline

import (
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
)

// A Feed gives the kernels and the CUDA calls of a file one by one, so that millions of
// them need no memory. What it gives is valid until the next is asked for.
type Feed interface {
	NextKernel() *Kernel    // by start; nil behind the last
	NextCall() *Call        // by start, with growing correlation ids; nil behind the last
	Ranges() func() []Range // as of a Flow
	Close()
}

// Fed is what is known of kernels and calls before they are fed. Every kernel has a
// call, and all are of one process.
// Open is called each time that rows are gone through; the stream closes the feed after that.
type Fed struct {
	Launches func(queue, function uint32) int64 // how many kernels of each there are
	// Back is by how much the correlation of a kernel may be smaller than that of one
	// that ran before it.
	Back  uint32
	Open  func() Feed
	Table string // of the kernels
}

// FeedLaunches is StreamLaunches of a timeline without kernels, calls and ranges, which are
// fed while rows are made; false where ranges must be in memory. The query may not choose by
// region.
func (t *Timeline) FeedLaunches(q Query, fed Fed) (Stream[LaunchRow], bool) {
	first := fed.Open()
	a, ok := t.attributeRanges(first.Ranges())
	first.Close()
	if !ok {
		return Stream[LaunchRow]{}, false
	}
	keep := t.kernelFilter(&q, nil)
	n := 0
	for queue := range t.Queues {
		for function := range t.Functions {
			if keep(0, &Kernel{Queue: uint32(queue), Function: uint32(function)}) {
				n += int(fed.Launches(uint32(queue), uint32(function)))
			}
		}
	}
	var lost struct{ kernels, calls int } // in a file that changed since it was looked at
	s := Stream[LaunchRow]{Len: n, Warnings: a.Warnings, Late: func() []fact.Fact {
		var late []fact.Fact
		if lost.kernels > 0 {
			late = append(late, fact.New(CodeRowsSkipped, fact.Name("table", fed.Table), fact.Count("n", lost.kernels)))
		}
		if lost.calls > 0 {
			late = append(late, fact.New(CodeNoLaunchCall, fact.Count("n", lost.calls)))
		}
		return late
	}}
	if q.Top > 0 && n > q.Top {
		s.Len, s.Cut = q.Top, n-q.Top
	}
	s.Rows = func(yield func(*LaunchRow) bool) {
		feed := fed.Open()
		defer feed.Close()
		lost.kernels, lost.calls = 0, 0
		w, j := newLaunchWriter(a, &q), newFeedJoin(a, feed, fed.Back)
		for i, made := 0, 0; made < s.Len; i++ {
			k := feed.NextKernel()
			if k == nil {
				lost.kernels = s.Len - made
				return
			}
			if !keep(i, k) {
				continue
			}
			made++
			call := j.launchOf(k.Correlation)
			if !call.known {
				lost.calls++
			}
			if !yield(w.row(i, k, call)) {
				return
			}
		}
	}
	return s, true
}

// A feedJoin finds the calls of kernels that come one after the other.
// Its window has the calls that were read, by correlation; those more than back behind high may
// be gone.
type feedJoin struct {
	feed   Feed
	live   *liveRanges
	back   uint32 // see Fed
	high   uint32 // largest correlation that was asked for
	window []fedCall
	near   int // in the window: call that was found last
}

// A fedCall is a call that a kernel may still ask for. The window holds its set.
type fedCall struct {
	start                    int64
	correlation, thread, set uint32
}

func newFeedJoin(a *Attribution, feed Feed, back uint32) *feedJoin {
	return &feedJoin{feed: feed, back: back, live: newLiveRanges(a, feed.Ranges())}
}

// launchOf is the call with a correlation id; the zero value where there is none.
func (j *feedJoin) launchOf(correlation uint32) launchCall {
	j.read(correlation)
	at := j.find(correlation)
	if at < 0 {
		return launchCall{}
	}
	c := &j.window[at]
	set := &j.live.sets[c.set]
	return launchCall{known: true, start: c.start, thread: c.thread, state: uint64(set.serial) << 32, stacks: set.ranges}
}

// read takes calls up to a correlation id into the window.
func (j *feedJoin) read(correlation uint32) {
	j.high = max(j.high, correlation)
	for n := len(j.window); n == 0 || j.window[n-1].correlation < correlation; n = len(j.window) {
		c := j.feed.NextCall()
		if c == nil {
			return
		}
		if n == cap(j.window) {
			j.drop()
		}
		j.live.readUntil(c.Start)
		set := j.live.sweep(c.Thread).around(c.Start, c.End)
		j.live.holdSet(set)
		j.window = append(j.window, fedCall{c.Start, c.Correlation, c.Thread, set})
	}
}

// drop forgets the calls that no kernel can ask for any more.
// It runs only when the memory of the window is full, so that a call is moved rarely.
func (j *feedJoin) drop() {
	first := 0
	for first < len(j.window) && uint64(j.window[first].correlation)+uint64(j.back) < uint64(j.high) {
		j.live.releaseSet(j.window[first].set)
		first++
	}
	j.window = j.window[:copy(j.window, j.window[first:])]
	j.near = 0
}

// find is the place of a call in the window, -1 where it is not there. As a rule it is
// the one that was found last, or the next.
func (j *feedJoin) find(correlation uint32) int {
	for at := j.near; at < min(j.near+3, len(j.window)); at++ {
		if j.window[at].correlation == correlation {
			j.near = at
			return at
		}
	}
	at, ok := slices.BinarySearchFunc(j.window, correlation, func(c fedCall, id uint32) int {
		return int(int64(c.correlation) - int64(id))
	})
	if !ok {
		return -1
	}
	j.near = at
	return at
}
