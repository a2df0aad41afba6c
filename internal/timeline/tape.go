package timeline

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/deepprof/deepprof/internal/columns"
)

// A Tape has the GPU work, the CUDA calls of each thread and the ranges of a timeline by start,
// in blocks, so that millions of them take the memory of a few. They are known by their place on
// it, from 0: work, ranges, and calls among those of their thread. Readers go through them; the
// tape itself does not change.
type Tape struct {
	// Kinds are what pieces of work share; their numbers are those of the timeline.
	Kinds []WorkKind
	// Devices sums up the work of each GPU, as Timeline.DeviceInfo does.
	Devices []DeviceInfo
	// Kernels, Graphs, Copies and Sets count the work.
	Kernels, Graphs, Copies, Sets int
	// Threads made calls, in the order of their first.
	Threads []ThreadCalls
	// Steps are those of the timeline, as Steps lists them.
	Steps []StepRow
	// FirstNS and LastNS are the earliest start and the latest end of the kernels and calls of a
	// flow; FirstNS is above LastNS where there are none.
	FirstNS, LastNS int64
	// Long are the ranges that last LongNS or more, themselves or by their work on the GPU,
	// where the timeline has sampled counters.
	Long []RangeRow

	work, launches, ranges, bounds *columns.Table
	payloads                       map[uint32]uint32 // index into Timeline.Payloads, by range; those that have one
	order                          []uint32          // of each kernel in the order of the file: its place; nil where they lie by start
	before                         []uint32          // kernels before each block of work
	endless                        bool              // some work is Endless, so that its length is not told by the column
}

// ThreadCalls are the CUDA calls of a thread.
type ThreadCalls struct {
	Thread uint32 // index into Timeline.Threads, or beyond where it is not known
	NS     int64  // of all calls; one that ends before it starts counts 0
	calls  *columns.Table

	start, end int64 // of the call that was added last, from a flow
}

// LongNS is how long a range must last for readings of sampled counters to be its own alone;
// shorter ones have readings that are wholly inside only by chance.
const LongNS = 1_000_000

// A WorkKind is the work that differs in time alone. Times are ns; what ends before it starts
// counts 0.
type WorkKind struct {
	WorkShape
	Launches  int64 // at least one
	NS        int64 // of them together
	Min, Max  int64
	Bytes     int64  // that copies moved, and sets wrote, together
	Durations Sample // of the launches; only Each and Join may be asked
}

// A WorkShape tells kinds apart.
type WorkShape struct {
	Kind             OpKind
	Node             bool   // of a CUDA graph, which its call launched as a whole
	Function, Config uint32 // of a kernel
	Copy             uint8  // kind of a copy
	Queue            uint32
	Place, Region    uint32 // see LaunchedFrom
	Captured         uint32 // of a kernel: its place in the attribution that tells where graphs were captured
	Thread           uint32 // that launched it; None where the call is not known
	Graph            int64  // 0 outside CUDA graphs, or where a node does not tell its graph
}

// Columns of work.
const (
	workStart = iota
	workLength
	workKind
	workColumns
)

// Columns of the launches of work, which have as many rows.
const (
	launchedBy    = iota // the call, among those of its thread; -1 where it is not known
	launchedAfter        // from the start of the call to that of the work
	launchedFor          // length of the call; 0 without one
	launchedColumns
)

const (
	callStart = iota
	callLength
	callSite
	callColumns
)

const (
	rangeStart = iota
	rangeLength
	rangeRegion
	rangeParent // how far before it the range around it is; 0 for none
	rangeThread
	rangeDomain
	rangeColumns
)

const (
	boundAt    = iota
	boundRange // twice its place, and 1 more for its end
	boundColumns
)

// A taper writes a tape: ranges by start, the longest first, calls by start, and work by start.
type taper struct {
	*Tape
	a       *Attribution
	store   *columns.Store
	known   map[WorkShape]uint32
	slots   [1 << 8]shapeSlot
	devices deviceSums
	lists   []uint32 // ranges around the work before, as around writes them
	threads map[uint32]*ThreadCalls
	ends    minHeap[rangeEnd] // of ranges, that come after the last start
}

// A rangeEnd is when a range, by its place on the tape, ends.
type rangeEnd struct {
	at int64
	of uint32
}

func newTaper(a *Attribution, store *columns.Store) *taper {
	return &taper{
		Tape: &Tape{FirstNS: math.MaxInt64, LastNS: math.MinInt64, work: columns.NewTable(store, workColumns), launches: columns.NewTable(store, launchedColumns), ranges: columns.NewTable(store, rangeColumns), bounds: columns.NewTable(store, boundColumns), payloads: map[uint32]uint32{}},
		a:    a, store: store, devices: newDeviceSums(a.t), threads: map[uint32]*ThreadCalls{}, known: map[WorkShape]uint32{},
		ends: minHeap[rangeEnd]{less: func(x, y *rangeEnd) bool { return x.at < y.at }},
	}
}

// tapedWork is a piece of work on its way to a tape.
type tapedWork struct {
	*Op
	shape  WorkShape
	bytes  int64
	call   int64 // its place on the tape; -1 for none
	start  int64 // of the call, or 0
	end    int64
	stacks []uint32 // innermost range of each stack around the call, by their place on the tape
	open   []uint32 // start/end ranges around it
	same   bool     // both are those of the work before
}

// add takes the next piece of work.
func (w *taper) add(p *tapedWork) {
	if w.work.At() == 0 {
		w.before = append(w.before, uint32(w.Kernels))
	}
	switch p.Kind {
	case OpKernel:
		w.Kernels++
	case OpGraph:
		w.Graphs++
	case OpCopy:
		w.Copies++
	case OpSet:
		w.Sets++
	}
	w.devices.add(p.Op)
	w.endless = w.endless || Endless(p.Start, p.End)
	ns := max(0, Since(p.Start, p.End))
	number := w.kindOf(&p.shape)
	k := &w.Kinds[number]
	k.Durations.Add(ns)
	k.Bytes += p.bytes
	if !p.same || w.work.At() == 0 {
		w.around(p.stacks, p.open)
	}
	t := w.work
	t.Set(workStart, p.Start)
	t.Set(workLength, p.End-p.Start)
	t.Set(workKind, int64(number))
	t.End()
	lag, length := int64(0), int64(0)
	if p.call >= 0 {
		lag, length = p.Start-p.start, p.end-p.start
	}
	t = w.launches
	t.Set(launchedBy, p.call)
	t.Set(launchedAfter, lag)
	t.Set(launchedFor, length)
	t.End()
}

// A shapeSlot remembers the kind of a shape: work of few shapes comes again soon. The shape is
// packed into words, which are compared several times faster than its fields.
type shapeSlot struct {
	a, b, c, d uint64
	graph      int64
	kind       uint32 // from 1; 0 for none
}

// kindOf is the number of the kind of a shape, which is added where it is new.
func (w *taper) kindOf(s *WorkShape) uint32 {
	d := uint64(s.Captured) | uint64(s.Kind)<<32 | uint64(s.Copy)<<40
	if s.Node {
		d |= 1 << 48
	}
	a, b, c := uint64(s.Function)|uint64(s.Config)<<32, uint64(s.Queue)|uint64(s.Place)<<32, uint64(s.Region)|uint64(s.Thread)<<32
	slot := &w.slots[(s.Function+31*s.Config+127*s.Place)%uint32(len(w.slots))]
	if slot.kind > 0 && slot.a == a && slot.b == b && slot.c == c && slot.d == d && slot.graph == s.Graph {
		return slot.kind - 1
	}
	kind, ok := w.known[*s]
	if !ok {
		kind = uint32(len(w.Kinds))
		w.Kinds = append(w.Kinds, WorkKind{WorkShape: *s})
		w.known[*s] = kind
	}
	*slot = shapeSlot{a, b, c, d, s.Graph, kind + 1}
	return kind
}

// cover takes a kernel or a call of a flow.
func (w *taper) cover(start, end int64) {
	w.FirstNS, w.LastNS = min(w.FirstNS, start), max(w.LastNS, start, end)
}

// around notes the ranges around the next piece of work where they differ from those before, or
// where a block begins: how many pieces of the block came before, how many stacks and how many
// start/end ranges follow, and those.
func (w *taper) around(stacks, open []uint32) {
	n, last := len(stacks), w.lists
	if at := w.work.At(); at > 0 && len(last) == n+len(open)+1 && last[0] == uint32(n) && slices.Equal(last[1:n+1], stacks) && slices.Equal(last[n+1:], open) {
		return
	}
	w.lists = append(append(append(last[:0], uint32(n)), stacks...), open...)
	extra := w.work.Extra()
	*extra = binary.LittleEndian.AppendUint32(*extra, uint32(w.work.At()))
	*extra = binary.LittleEndian.AppendUint32(*extra, uint32(n)|uint32(len(open))<<16) // of at most maxStacks and maxOpen
	for _, r := range w.lists[1:] {
		*extra = binary.LittleEndian.AppendUint32(*extra, r)
	}
}

// thread is that of calls, made where it is new.
func (w *taper) thread(number uint32) *ThreadCalls {
	th := w.threads[number]
	if th == nil {
		th = &ThreadCalls{Thread: number, calls: columns.NewTable(w.store, callColumns)}
		w.threads[number] = th
	}
	return th
}

// add takes the next call of the thread.
func (th *ThreadCalls) add(start, end int64, site uint32) {
	th.NS += max(0, Since(start, end))
	th.calls.Set(callStart, start)
	th.calls.Set(callLength, end-start)
	th.calls.Set(callSite, int64(site))
	th.calls.End()
}

// addRange takes the next range with its region, and the place of the range around it on the
// tape, or None.
func (w *taper) addRange(r *Range, region, parent uint32) {
	t, back := w.ranges, int64(0)
	if parent != None {
		back = int64(t.Len()) - int64(parent)
	}
	t.Set(rangeStart, r.Start)
	t.Set(rangeLength, r.End-r.Start)
	t.Set(rangeRegion, int64(region))
	t.Set(rangeParent, back)
	t.Set(rangeThread, int64(r.Thread))
	t.Set(rangeDomain, int64(r.Domain))
	t.End()
	if at := uint32(t.Len() - 1); r.End >= r.Start {
		w.endRanges(r.Start)
		w.bound(r.Start, 2*int64(at))
		w.ends.push(rangeEnd{r.End, at})
	}
}

// endRanges writes the ends of ranges before a moment.
func (w *taper) endRanges(before int64) {
	for len(w.ends.list) > 0 && w.ends.list[0].at < before {
		e := w.ends.pop()
		w.bound(e.at, 2*int64(e.of)+1)
	}
}

func (w *taper) bound(at, of int64) {
	w.bounds.Set(boundAt, at)
	w.bounds.Set(boundRange, of)
	w.bounds.End()
}

func (w *taper) finish() *Tape {
	for len(w.ends.list) > 0 {
		e := w.ends.pop()
		w.bound(e.at, 2*int64(e.of)+1)
	}
	w.bounds.Finish()
	w.work.Finish()
	w.launches.Finish()
	w.ranges.Finish()
	for i := range w.a.t.Calls.sites {
		if th := w.threads[w.a.t.Calls.sites[i].Thread]; th != nil {
			delete(w.threads, th.Thread)
			th.calls.Finish()
			w.Threads = append(w.Threads, *th)
		}
	}
	for i := range w.Kinds {
		k := &w.Kinds[i]
		k.Launches, k.NS, k.Min, k.Max = int64(k.Durations.Len()), k.Durations.Sum(), k.Durations.Min(), k.Durations.Max()
		k.Durations.settle()
	}
	w.Devices, _ = w.devices.list()
	return w.Tape
}

// Tape writes the timeline to a tape. Captured is the attribution in which work of CUDA graphs
// stands where it was captured; a itself without graphs. Its kernels are those of a.
func (a *Attribution) Tape(captured *Attribution, store *columns.Store) *Tape {
	w, t := newTaper(a, store), a.t
	ranges := w.takeRanges()
	calls := w.takeCalls()
	a.findPlaces()
	p := tapedWork{call: -1}
	var last uint64
	known := false
	kernels := make([]uint32, len(t.Kernels))
	t.byStart(nil, func(op *Op) bool {
		call := a.callOf(op)
		p.Op, p.bytes, p.call, p.start, p.end = op, t.opBytes(op), -1, 0, 0
		p.shape = WorkShape{Kind: op.Kind, Queue: op.Queue, Thread: None, Place: a.OpPlace(*op)}
		p.shape.Captured = p.shape.Place
		t.describe(op, &p.shape)
		if op.Kind == OpKernel {
			kernels[op.Index] = uint32(w.work.Len())
			if captured != a {
				p.shape.Captured = captured.KernelPlace(op.Index)
			}
		}
		if call == None {
			p.stacks, p.open, p.same, known = p.stacks[:0], p.open[:0], false, false
			w.add(&p)
			return true
		}
		c := t.Calls.At(call)
		p.start, p.end, p.call = c.Start, c.End, int64(calls[call])
		p.shape.Thread, p.shape.Region = c.Thread, a.callNode(call)
		state := a.state(call)
		if p.same = known && state == last; !p.same {
			known, last = true, state
			p.stacks, p.open = p.stacks[:0], p.open[:0]
			for _, r := range a.innermost(call) {
				p.stacks = append(p.stacks, placeOf(ranges, r))
			}
			for _, r := range a.openAround(call) {
				p.open = append(p.open, placeOf(ranges, r))
			}
		}
		w.add(&p)
		return true
	})
	a.placeTimes()
	if !t.inOrder(OpKernel, len(t.Kernels)) {
		w.order = kernels
	}
	w.Steps = a.stepRows()
	if len(t.Samples) > 0 {
		for _, row := range a.rangeRows(Query{}, func(int) bool { return true }).Rows {
			if row.long() {
				w.Long = append(w.Long, row)
			}
		}
	}
	return w.finish()
}

// describe sets what a shape has of a kernel, a copy or a set itself.
func (t *Timeline) describe(op *Op, s *WorkShape) {
	node := int64(0)
	s.Function, s.Config, s.Copy, s.Graph = 0, 0, 0, 0
	switch op.Kind {
	case OpKernel:
		k := op.kernel
		if k == nil {
			k = &t.Kernels[op.Index]
		}
		s.Function, s.Config, node = k.Function, k.Config, k.GraphNode
		s.Graph = k.GraphID()
	case OpCopy:
		s.Copy, node = t.Copies[op.Index].Kind, t.Copies[op.Index].GraphNode
	case OpSet:
		node = t.Sets[op.Index].GraphNode
	}
	s.Node = node != 0
}

// placeOf is the place of an event on the tape; nil where events lie as in the file.
func placeOf(places []uint32, event uint32) uint32 {
	if places == nil {
		return event
	}
	return places[event]
}

// takeRanges writes all ranges, and gives their places.
func (w *taper) takeRanges() (places []uint32) {
	a, ranges := w.a, w.a.t.Ranges
	order := upTo(len(ranges))
	compare := func(x, y uint32) int {
		p, q := &ranges[x], &ranges[y]
		return cmp.Or(cmp.Compare(p.Start, q.Start), cmp.Compare(q.open(), p.open()), cmp.Compare(x, y))
	}
	if !slices.IsSortedFunc(order, compare) {
		slices.SortFunc(order, compare)
		places = make([]uint32, len(order))
		for at, r := range order {
			places[r] = uint32(at)
		}
	}
	for _, r := range order {
		parent := uint32(None)
		if ranges[r].Kind == PushPop && a.rangeParent[r] != None {
			parent = placeOf(places, a.rangeParent[r])
		}
		if ranges[r].Payload != None {
			w.payloads[uint32(w.ranges.Len())] = ranges[r].Payload
		}
		w.addRange(&ranges[r], a.rangeNode[r], parent)
	}
	return places
}

// takeCalls writes all calls, and gives their places. Of those that start at once the longest
// comes first, so that one within another follows it.
func (w *taper) takeCalls() (places []uint32) {
	calls := &w.a.t.Calls
	places = make([]uint32, calls.Len())
	sites := make([]*ThreadCalls, len(calls.sites))
	for i, s := range calls.sites {
		sites[i] = w.thread(s.Thread)
	}
	take := func(i, site uint32, start, end int64) {
		places[i] = uint32(sites[site].calls.Len())
		sites[site].add(start, end, site)
	}
	ordered, last, until := true, int64(0), int64(0)
	calls.Each(func(i, _ uint32, start, end int64) {
		ordered = ordered && (i == 0 || start > last || start == last && end <= until)
		last, until = start, end
	})
	if ordered {
		calls.Each(take)
		return places
	}
	order := upTo(calls.Len())
	SortByStart(order, calls.Start)
	for from, to := 0, 0; from < len(order); from = to {
		for to = from + 1; to < len(order) && calls.Start(order[to]) == calls.Start(order[from]); to++ {
		}
		if to-from > 1 {
			slices.SortStableFunc(order[from:to], func(x, y uint32) int { return cmp.Compare(calls.End(y), calls.End(x)) })
		}
	}
	for _, i := range order {
		take(i, calls.Site(i), calls.Start(i), calls.End(i))
	}
	return places
}
