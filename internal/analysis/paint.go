package analysis

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sort"

	"github.com/deepprof/deepprof/internal/timeline"
)

// A painting gives every nanosecond of a stretch of time exactly one label: the
// category of the kernel that ran, or why none did. Any part of it therefore
// splits without a rest.
type painting struct {
	labels int
	starts []int64 // of the pieces, which follow each other without holes
	label  []uint8
	end    int64
	// sums holds, for every stride of pieces, the time of each label before it.
	sums []int64
	// calls are the pieces of CUDA calls that have no cause of their own.
	calls []callPiece
}

// A callPiece is idle time in which the host was in a CUDA call.
type callPiece struct {
	moment
	name timeline.StringID
}

const stride = 128

// A stint is GPU work on its way into a painting.
type stint struct {
	start, end int64
	label      uint8  // category; copyLabel for copies and sets
	call       uint32 // that launched it, or timeline.None
	since      int64  // start of the earliest range around the call; that of the call itself without one
	node       bool   // a node of a CUDA graph, which the call launched as a whole
}

const copyLabel = 255

// palette has what all paintings of a timeline share.
type palette struct {
	categories int // labels below are categories, those above causes
	calls      *callIndex
	cuts       []int64 // bounds of ranges, sorted: shared time is dealt out anew at each
}

func (p *palette) of(c cause) uint8 { return uint8(p.categories + int(c)) }

// paint labels the time from lo to hi. The work is sorted by start.
func (p *palette) paint(work []stint, lo, hi int64) *painting {
	b := &painter{p: p, out: &painting{labels: p.categories + int(causes), end: max(lo, hi)}, at: lo, hi: hi,
		active: make([]int32, p.categories), begun: map[uint32]bool{}}
	b.ends = make([]stint, 0, len(work))
	for _, w := range work {
		if w.end > w.start {
			b.ends = append(b.ends, w)
		}
	}
	work = slices.Clone(b.ends)
	slices.SortFunc(b.ends, func(x, y stint) int { return cmp.Compare(x.end, y.end) })
	b.run(work)
	b.out.sum()
	return b.out
}

type painter struct {
	p      *palette
	out    *painting
	at, hi int64
	ends   []stint
	active []int32 // kernels running, by category
	kinds  int     // categories with any
	count  int32   // kernels running
	copies int32
	last   uint32          // call that launched the work which began last
	begun  map[uint32]bool // launches of graphs of which a node began
}

func (b *painter) run(work []stint) {
	b.last = timeline.None
	ended := 0
	for next := 0; next < len(work) || ended < len(b.ends); {
		if next < len(work) && (ended >= len(b.ends) || work[next].start <= b.ends[ended].end) {
			w := &work[next]
			b.until(w.start, w)
			b.change(w, 1)
			b.last = w.call
			if w.node && w.call != timeline.None {
				b.begun[w.call] = true
			}
			next++
			continue
		}
		var after *stint
		if next < len(work) {
			after = &work[next]
		}
		b.until(b.ends[ended].end, after)
		b.change(&b.ends[ended], -1)
		ended++
	}
	b.until(b.hi, nil)
}

func (b *painter) change(w *stint, by int32) {
	if w.label == copyLabel {
		b.copies += by
		return
	}
	before := b.active[w.label]
	b.active[w.label] += by
	b.count += by
	switch {
	case before == 0:
		b.kinds++
	case b.active[w.label] == 0:
		b.kinds--
	}
}

// until paints up to t what the present state says. After is the work that
// begins next.
func (b *painter) until(t int64, after *stint) {
	t = min(t, b.hi)
	if t <= b.at {
		return
	}
	switch {
	case b.kinds > 1:
		b.share(t)
	case b.kinds == 1:
		b.out.add(b.at, uint8(slices.IndexFunc(b.active, func(n int32) bool { return n > 0 })))
	case b.copies > 0:
		b.out.add(b.at, b.p.of(causeCopy))
	default:
		b.idle(t, after)
	}
	b.at = t
}

// share deals out time in which kernels of several categories ran: to each by
// the number of its kernels.
func (b *painter) share(t int64) {
	cuts := b.p.cuts
	i := sort.Search(len(cuts), func(i int) bool { return cuts[i] > b.at })
	for b.at < t {
		end := t
		if i < len(cuts) && cuts[i] < t {
			end = cuts[i]
			i++
		}
		b.deal(end)
		b.at = end
	}
}

func (b *painter) deal(end int64) {
	length := uint64(end) - uint64(b.at)
	at, dealt := b.at, int32(0)
	for label, n := range b.active {
		if n == 0 {
			continue
		}
		b.out.add(at, uint8(label))
		dealt += n
		// The bounds are exact shares of the whole, rounded down, so that
		// nothing is lost between them.
		hi, lo := bits.Mul64(length, uint64(dealt))
		share, _ := bits.Div64(hi, lo, uint64(b.count))
		at = int64(uint64(b.at) + share)
	}
}

// idle paints time without any work.
func (b *painter) idle(t int64, after *stint) {
	call, since := b.last, int64(math.MaxInt64)
	if after != nil {
		call, since = after.call, after.since
	}
	if call == timeline.None {
		b.out.add(b.at, b.p.of(causeNone))
		return
	}
	if after != nil && after.node && b.begun[call] {
		b.out.add(b.at, b.p.of(causeGraph)) // the GPU goes from node to node by itself
		return
	}
	calls := b.p.calls
	until := t
	if after != nil {
		until = min(t, max(b.at, calls.t.Calls[call].End))
	}
	calls.walk(calls.t.Calls[call].Thread, b.at, until, func(start, end int64, c cause, in uint32) {
		if c == causeCall {
			b.out.calls = append(b.out.calls, callPiece{moment{start, end}, calls.t.Calls[in].Name})
		}
		if c != causeHost || start >= since {
			b.add(start, c, after == nil)
			return
		}
		b.add(start, causeNone, after == nil)
		if since < end {
			b.add(since, causeHost, after == nil)
		}
	})
	if until < t {
		b.out.add(until, b.p.of(causeLaunch))
	}
}

// add begins a piece of idle time. Where no work follows, the host is on its
// way to no launch.
func (b *painter) add(start int64, c cause, tail bool) {
	if tail && (c == causePython || c == causeHost) {
		c = causeNone
	}
	b.out.add(start, b.p.of(c))
}

// add begins a piece. A piece of no length is replaced by the next.
func (p *painting) add(start int64, label uint8) {
	if n := len(p.starts); n > 0 {
		if p.label[n-1] == label {
			return
		}
		if p.starts[n-1] == start {
			p.label[n-1] = label
			if n > 1 && p.label[n-2] == label {
				p.starts, p.label = p.starts[:n-1], p.label[:n-1]
			}
			return
		}
	}
	p.starts, p.label = append(p.starts, start), append(p.label, label)
}

func (p *painting) sum() {
	running := make([]int64, p.labels)
	for i := range p.starts {
		if i%stride == 0 {
			p.sums = append(p.sums, running...)
		}
		running[p.label[i]] += p.pieceEnd(i) - p.starts[i]
	}
}

func (p *painting) pieceEnd(i int) int64 {
	if i+1 < len(p.starts) {
		return p.starts[i+1]
	}
	return p.end
}

// split adds the time of each label between start and end to into. What lies
// outside the painting has the last label.
func (p *painting) split(start, end int64, into []int64) {
	if end <= start {
		return
	}
	if len(p.starts) == 0 {
		into[p.labels-1] += end - start
		return
	}
	first, last := p.starts[0], p.end
	into[p.labels-1] += max(0, min(end, first)-start) + max(0, end-max(start, last))
	start, end = max(start, first), min(end, last)
	if end <= start {
		return
	}
	p.before(end, into, 1)
	p.before(start, into, -1)
}

// before adds, times sign, the time of each label before a moment within the
// painting.
func (p *painting) before(at int64, into []int64, sign int64) {
	i := sort.Search(len(p.starts), func(i int) bool { return p.starts[i] > at }) - 1
	if i < 0 {
		return
	}
	from := i / stride
	for l, ns := range p.sums[from*p.labels : (from+1)*p.labels] {
		into[l] += sign * ns
	}
	for j := from * stride; j < i; j++ {
		into[p.label[j]] += sign * (p.starts[j+1] - p.starts[j])
	}
	into[p.label[i]] += sign * (at - p.starts[i])
}

// callIndex has the outer CUDA calls of each thread by start.
type callIndex struct {
	t       *timeline.Timeline
	causes  []cause // by name
	threads [][]uint32
	hostGap int64 // longer stretches without a CUDA call are not between launches
}

func indexCalls(t *timeline.Timeline, hostGap int64) *callIndex {
	x := &callIndex{t: t, hostGap: hostGap, causes: make([]cause, len(t.Names)), threads: make([][]uint32, len(t.Threads))}
	known := make([]bool, len(t.Names))
	count := make([]int, len(t.Threads))
	for i := range t.Calls {
		c := &t.Calls[i]
		if int(c.Name) < len(known) && !known[c.Name] {
			known[c.Name] = true
			x.causes[c.Name] = callCause(t.Names[c.Name])
		}
		if int(c.Thread) < len(count) {
			count[c.Thread]++
		}
	}
	for th, n := range count {
		x.threads[th] = make([]uint32, 0, n)
	}
	for i := range t.Calls {
		if th := t.Calls[i].Thread; int(th) < len(x.threads) {
			x.threads[th] = append(x.threads[th], uint32(i))
		}
	}
	byStart := func(a, b uint32) int {
		p, q := &t.Calls[a], &t.Calls[b]
		return cmp.Or(cmp.Compare(p.Start, q.Start), cmp.Compare(q.End, p.End), cmp.Compare(a, b))
	}
	for th, list := range x.threads {
		if !slices.IsSortedFunc(list, byStart) {
			slices.SortFunc(list, byStart)
		}
		x.threads[th] = outer(t, list)
	}
	return x
}

// outer drops calls that lie within an earlier one, so that ends grow with
// starts.
func outer(t *timeline.Timeline, list []uint32) []uint32 {
	kept := list[:0]
	var end int64
	for _, c := range list {
		if len(kept) == 0 || t.Calls[c].End > end {
			end = t.Calls[c].End
			kept = append(kept, c)
		}
	}
	return kept
}

func (x *callIndex) cause(call uint32) cause {
	if name := x.t.Calls[call].Name; int(name) < len(x.causes) {
		return x.causes[name]
	}
	return causeCall
}

// walk tells what a thread was in between two moments, piece by piece, and the
// call, timeline.None between calls. Of calls within calls, the outer one counts.
func (x *callIndex) walk(thread uint32, from, to int64, piece func(start, end int64, c cause, call uint32)) {
	if to <= from {
		return
	}
	if int(thread) >= len(x.threads) {
		piece(from, to, causeNone, timeline.None)
		return
	}
	list, calls := x.threads[thread], x.t.Calls
	i := sort.Search(len(list), func(i int) bool { return calls[list[i]].Start > from })
	first := i
	for first > 0 && calls[list[first-1]].End > from {
		first--
	}
	at, ended, any := from, int64(0), false
	if first > 0 {
		ended, any = calls[list[first-1]].End, true
	}
	for j := first; j < len(list) && at < to; j++ {
		c := &calls[list[j]]
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
