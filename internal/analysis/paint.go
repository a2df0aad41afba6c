package analysis

import (
	"iter"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/deepprof/deepprof/internal/columns"
	"github.com/deepprof/deepprof/internal/timeline"
)

// palette has what all paintings of a timeline share.
type palette struct {
	categories int     // labels below are categories, those above causes
	label      []uint8 // by kind of work: its category, or copyLabel for copies and sets
	hosts      *hostCalls
	// since gives a function that tells of work, piece after piece, when the earliest range
	// around its launch began; the launch itself without one. The launch must be known.
	since func() func(*timeline.WorkReader) int64
	tape  *timeline.Tape // shared time is dealt out anew at each bound of a range
	store *columns.Store
}

// copyLabel stands in place of a category for copies and sets; there are never so many
// categories.
const copyLabel = 255

// of is the label of a cause.
func (p *palette) of(c cause) uint8 { return uint8(p.categories + int(c)) }

// paint labels the time from lo to hi. The work comes by start. Counted is filled; it may be
// nil.
func (p *palette) paint(work iter.Seq[*timeline.WorkReader], lo, hi int64, counted *tally) *painting {
	out := &painting{labels: p.labels(), call: p.of(causeCall), end: max(lo, hi), tally: counted, space: columns.NewBlocks(p.store)}
	b := &painter{p: p, at: lo, hi: hi, active: make([]int32, p.categories), begun: map[graphLaunch]bool{}, hosts: map[uint32]*hostCursor{}, since: p.since()}
	full, empty := make(chan []piece, parcels), make(chan []piece, parcels)
	b.take = func(pieces []piece) []piece {
		full <- pieces
		select {
		case used := <-empty:
			return used[:0]
		default:
			return make([]piece, 0, parcel)
		}
	}
	var beside sync.WaitGroup
	beside.Go(func() {
		for pieces := range full {
			out.take(pieces)
			select {
			case empty <- pieces:
			default:
			}
		}
		out.finish()
	})
	b.run(work)
	close(full)
	beside.Wait()
	return out
}

const (
	parcel  = 1024 // pieces that are handed over at once
	parcels = 4    // that may wait
)

// splitWork gives the time of each category within stretches of time by work alone, which
// comes by start: why none runs is not asked.
func (p *palette) splitWork(work iter.Seq[*timeline.WorkReader], lo, hi int64, windows []moment) []int64 {
	ns := make([]int64, p.labels())
	out := &painting{labels: p.labels(), call: p.of(causeCall), end: max(lo, hi)}
	b := &painter{p: p, at: lo, hi: hi, active: make([]int32, p.categories), workOnly: true}
	b.take = func(pieces []piece) []piece {
		out.take(pieces)
		return pieces[:0]
	}
	if areApart(windows) {
		out.within = &windowSums{windows: windows, ns: ns}
	}
	b.run(work)
	out.finish()
	if out.within == nil {
		for _, m := range windows {
			out.split(m.start, m.end, ns)
		}
	}
	return ns
}

// labels is how many there are.
func (p *palette) labels() int { return p.categories + int(causes) }

// A painter goes through work by start and knows what runs at a moment.
type painter struct {
	p       *palette
	found   []piece               // that nobody took yet
	take    func([]piece) []piece // takes them, and gives room for others
	at, hi  int64
	running []ending // what ends first is last
	active  []int32  // kernels running, by category
	kinds   int      // categories with any
	count   int32    // kernels running
	copies  int32
	last    graphLaunch            // the call that launched the work which began last
	begun   map[graphLaunch]bool   // launches of graphs of which a node began
	hosts   map[uint32]*hostCursor // by thread, of those that were asked for
	since   func(*timeline.WorkReader) int64
	only    int                   // a category with any, or one that had some last
	bounds  *timeline.BoundReader // nil before it is asked for

	workOnly bool // idle time has no cause
}

// A graphLaunch is a call, by its place among those of its thread; None where it is not known.
type graphLaunch struct{ thread, call uint32 }

// An ending is work that runs.
type ending struct {
	at    int64
	label uint8
}

// begin takes up work that runs from now on.
func (b *painter) begin(end int64, label uint8) {
	b.change(label, 1)
	i := len(b.running)
	b.running = append(b.running, ending{})
	for ; i > 0 && b.running[i-1].at < end; i-- { // few run at once
		b.running[i] = b.running[i-1]
	}
	b.running[i] = ending{end, label}
}

// run paints all time. Work that takes no time, or ends before it starts, changes nothing.
func (b *painter) run(work iter.Seq[*timeline.WorkReader]) {
	b.last.call = timeline.None
	for w := range work {
		start, end := w.Span()
		if end <= start {
			continue
		}
		b.finish(start, w)
		b.until(start, w)
		kind := w.Kind()
		b.begin(end, b.p.label[kind])
		if b.workOnly {
			continue
		}
		k := w.Of()
		b.last = graphLaunch{k.Thread, w.Call()}
		if k.Node && b.last.call != timeline.None {
			b.begun[b.last] = true
		}
	}
	b.finish(math.MaxInt64, nil)
	b.until(b.hi, nil)
	b.found = b.take(b.found)
}

// put begins a piece. The name is that of a call, and 0 for other labels.
func (b *painter) put(start int64, label uint8, name timeline.StringID) {
	if len(b.found) == parcel {
		b.found = b.take(b.found)
	}
	b.found = append(b.found, piece{start, label, name})
}

// finish ends the work that is over before a moment, at which other work begins.
func (b *painter) finish(before int64, after *timeline.WorkReader) {
	for n := len(b.running) - 1; n >= 0 && b.running[n].at < before; n-- {
		w := b.running[n]
		b.running = b.running[:n]
		b.until(w.at, after)
		b.change(w.label, -1)
	}
}

// change counts work that begins (1) or ends (-1).
func (b *painter) change(label uint8, by int32) {
	if label == copyLabel {
		b.copies += by
		return
	}
	before := b.active[label]
	b.active[label] += by
	b.count += by
	switch {
	case before == 0:
		b.kinds++
	case b.active[label] == 0:
		b.kinds--
	}
}

// until paints up to t what the present state says. After is the work that
// begins next.
func (b *painter) until(t int64, after *timeline.WorkReader) {
	t = min(t, b.hi)
	if t <= b.at {
		return
	}
	switch {
	case b.kinds > 1:
		b.share(t)
	case b.kinds == 1:
		if b.active[b.only] == 0 {
			b.only = slices.IndexFunc(b.active, func(n int32) bool { return n > 0 })
		}
		b.put(b.at, uint8(b.only), 0)
	case b.copies > 0:
		b.put(b.at, b.p.of(causeCopy), 0)
	default:
		b.idle(t, after)
	}
	b.at = t
}

// share deals out time in which kernels of several categories ran: to each by
// the number of its kernels.
func (b *painter) share(t int64) {
	if b.bounds == nil {
		b.bounds = b.p.tape.Bounds()
	}
	cut := b.bounds.After(b.at)
	for b.at < t {
		end := t
		if cut && b.bounds.Time() < t {
			end = b.bounds.Time()
			cut = b.bounds.After(end)
		}
		b.deal(end)
		b.at = end
	}
}

// deal is share up to a moment before which no range begins or ends, so that a part of the
// time that somebody asks for never ends within it.
func (b *painter) deal(end int64) {
	length := uint64(end) - uint64(b.at)
	at, dealt := b.at, int32(0)
	for label, n := range b.active {
		if n == 0 {
			continue
		}
		b.put(at, uint8(label), 0)
		dealt += n
		// The bounds are exact shares of the whole, rounded down, so that
		// nothing is lost between them.
		hi, lo := bits.Mul64(length, uint64(dealt))
		share, _ := bits.Div64(hi, lo, uint64(b.count))
		at = int64(uint64(b.at) + share)
	}
}

// idle paints time without any work.
func (b *painter) idle(t int64, after *timeline.WorkReader) {
	if b.workOnly {
		b.put(b.at, b.p.of(causeNone), 0)
		return
	}
	by := b.last
	if after != nil {
		by = graphLaunch{after.Of().Thread, after.Call()}
	}
	if by.call == timeline.None {
		b.put(b.at, b.p.of(causeNone), 0)
		return
	}
	if after != nil && after.Of().Node && b.begun[by] {
		b.put(b.at, b.p.of(causeGraph), 0) // the GPU goes from node to node by itself
		return
	}
	until := t
	if after != nil {
		_, end := after.Launch()
		until = min(t, max(b.at, end))
	}
	if h := b.host(by.thread); h != nil {
		b.walk(h, until, after)
	} else if b.at < until {
		b.add(b.at, causeNone, after == nil)
	}
	if until < t {
		b.put(until, b.p.of(causeLaunch), 0)
	}
}

// host is the cursor of a thread; nil for one that is not known.
func (b *painter) host(thread uint32) *hostCursor {
	h, ok := b.hosts[thread]
	if !ok {
		h = b.p.hosts.cursor(thread)
		b.hosts[thread] = h
	}
	return h
}

// walk paints, up to a moment, what a thread was in, piece by piece. Of calls within calls,
// the outer one counts. Time goes on from walk to walk.
func (b *painter) walk(h *hostCursor, to int64, after *timeline.WorkReader) {
	if to <= b.at {
		return
	}
	h.until(b.at)
	at, ended, any := b.at, h.ended, h.any
	for i := 0; at < to; i++ {
		c := h.at(i)
		if c == nil {
			break
		}
		if c.end <= c.start { // damaged, or of no length
			ended, any = c.end, true
			continue
		}
		start, end, site := c.start, c.end, c.site
		if start > at {
			b.wait(at, min(start, to), h.x.between(any, ended, start), 0, after)
			at = min(start, to)
			if at >= to {
				return
			}
		}
		b.wait(at, min(end, to), h.x.causes[site], h.x.names[site], after)
		at = min(end, to)
		ended, any = end, true
	}
	if at < to {
		b.wait(at, to, causeNone, 0, after)
	}
}

// wait paints a stretch of idle time in which the host was in one call, or between two.
// Host code before the first range around the launch of the work that comes after is not
// on the way to it.
func (b *painter) wait(start, end int64, c cause, in timeline.StringID, after *timeline.WorkReader) {
	switch {
	case c == causeCall:
		b.put(start, b.p.of(causeCall), in)
		return
	case c == causeHost && after != nil:
		if since := b.since(after); start < since {
			b.add(start, causeNone, false)
			if since < end {
				b.add(since, causeHost, false)
			}
			return
		}
	}
	b.add(start, c, after == nil)
}

// add begins a piece of idle time. Where no work follows, the host is on its
// way to no launch.
func (b *painter) add(start int64, c cause, tail bool) {
	if tail && (c == causePython || c == causeHost) {
		c = causeNone
	}
	b.put(start, b.p.of(c), 0)
}
