package timeline

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"sort"
)

// gap is one stretch in which a lane ran nothing.
type gap struct {
	lane       lane
	start, end int64
	before     opRef
	after      opRef
}

// A lane is a whole device, or one stream on it.
type lane struct {
	device int32
	queue  uint32 // None for the device
}

// Gaps are the gaps that a query chooses, longest first, before the calls that
// filled them are known: there are far more calls than launches, and few of them
// lie in a gap that is shown.
type Gaps struct {
	a    *Attribution
	q    Query
	gaps []gap
	cut  int
	busy map[int64]*stretches // by globalPid: the times of the gaps

	short map[uint32]string // names of functions, shortened

	hosts  hostRanges
	python pythonSamples

	// Of the row that was made last:
	host    int64
	calls   []GapCall
	sums    []namedCalls // the same
	covered intervals
	onHost  uint32 // region of Host
	times   map[uint32]int64
	frames  map[PythonFrame]int64
}

// namedCalls sums the calls of one name in a gap; there are few names.
type namedCalls struct {
	name StringID
	GapCall
}

// FindGaps finds the gaps between pieces of GPU work: of each device, and of each
// stream that has company on its device. A gap of a device belongs to no process;
// with a process filter, other processes' work does not end a gap. It needs no
// calls but those that launched work.
func (t *Timeline) FindGaps(q Query) *Gaps {
	g := newGaps(t, q)
	var inRegion func(Op) bool
	if q.Region != nil {
		inRegion = g.a.OpMatcher(q.Region)
	}
	best := gapHeap{}
	t.findGaps(&q, func(x gap) {
		if inRegion != nil && !inRegion(t.op(x.after)) {
			return
		}
		if q.Top == 0 || len(best) < q.Top {
			best = append(best, x)
			if len(best) == q.Top {
				heap.Init(&best)
			}
			return
		}
		g.cut++
		if compareGaps(x, best[0]) < 0 {
			best[0] = x
			heap.Fix(&best, 0)
		}
	})
	slices.SortFunc(best, compareGaps)
	g.gaps = best
	for _, x := range g.gaps {
		process := t.Queues[t.op(x.after).Queue].Process
		if int(process) >= len(t.Processes) {
			continue
		}
		global := t.Processes[process].Global
		if g.busy[global] == nil {
			g.busy[global] = &stretches{}
		}
		g.busy[global].add(x.start, x.end)
	}
	for _, s := range g.busy {
		s.join()
	}
	return g
}

func newGaps(t *Timeline, q Query) *Gaps {
	a := t.Attribute()
	return &Gaps{
		a: a, q: q, busy: map[int64]*stretches{}, short: map[uint32]string{},
		hosts: a.hostRanges(), python: t.pythonSamples(), times: map[uint32]int64{}, frames: map[PythonFrame]int64{},
	}
}

// Reach tells whether a call of a process may have filled one of the gaps.
func (g *Gaps) Reach(globalPid, start, end int64) bool {
	s := g.busy[globalPid]
	return s != nil && s.overlap(start, end)
}

// Stream tells what filled the gaps, one by one. The calls, with their threads and
// names, are those of another timeline of the same file: all calls, or all that
// Reach accepts.
func (g *Gaps) Stream(calls *Timeline) Stream[GapRow] {
	byThread := calls.callsByThread()
	rows := func(yield func(*GapRow) bool) {
		for _, x := range g.gaps {
			var row GapRow
			g.fill(&row, x, calls, byThread)
			if !yield(row.clone()) {
				return
			}
		}
	}
	return Stream[GapRow]{Rows: rows, Len: len(g.gaps), Cut: g.cut, Warnings: g.a.Warnings}
}

// clone copies a row with its lists.
func (r *GapRow) clone() *GapRow {
	made := *r
	made.Calls = slices.Clone(r.Calls)
	if r.HostNS != nil {
		host := *r.HostNS
		made.HostNS = &host
	}
	return &made
}

// stretches are times that need not be disjoint until they are joined.
type stretches struct{ list []stretch }

type stretch struct{ start, end int64 }

func (s *stretches) add(start, end int64) { s.list = append(s.list, stretch{start, end}) }

func (s *stretches) join() {
	slices.SortFunc(s.list, func(x, y stretch) int { return cmp.Compare(x.start, y.start) })
	joined := s.list[:0]
	for _, x := range s.list {
		if n := len(joined); n > 0 && x.start <= joined[n-1].end {
			joined[n-1].end = max(joined[n-1].end, x.end)
			continue
		}
		joined = append(joined, x)
	}
	s.list = joined
}

func (s *stretches) overlap(start, end int64) bool {
	i := sort.Search(len(s.list), func(i int) bool { return s.list[i].end > start })
	return i < len(s.list) && s.list[i].start < end
}

func compareGaps(x, y gap) int {
	return cmp.Or(
		cmp.Compare(Since(y.start, y.end), Since(x.start, x.end)),
		cmp.Compare(x.start, y.start),
		cmp.Compare(x.lane.device, y.lane.device),
		cmp.Compare(y.lane.queue, x.lane.queue))
}

// A gapHeap has the worst of the best gaps on top: few of millions are wanted as
// a rule.
type gapHeap []gap

func (h gapHeap) Len() int           { return len(h) }
func (h gapHeap) Less(i, j int) bool { return compareGaps(h[i], h[j]) > 0 }
func (h gapHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h gapHeap) Push(any)           {} // the heap never grows
func (h gapHeap) Pop() any           { return nil }

// findGaps walks the work of every lane in the order of its start.
func (t *Timeline) findGaps(q *Query, found func(gap)) {
	queues := t.queueFilter(q)
	devices := t.devices()
	deviceOf := make([]int, len(t.Queues)) // by queue, index into devices
	for i := range t.Queues {
		deviceOf[i], _ = slices.BinarySearch(devices, t.Queues[i].Device)
	}
	used := make([]bool, len(t.Queues))
	keep := func(op Op) bool { return queues[op.Queue] && op.End >= op.Start }
	t.eachOp(func(op Op) { used[op.Queue] = used[op.Queue] || keep(op) })
	streams := make([]int, len(devices))
	for i, u := range used {
		if u {
			streams[deviceOf[i]]++
		}
	}
	step := func(last *lastWork, l lane, op Op) {
		if last.any && op.Start > last.end && Since(last.end, op.Start) >= q.MinGap && t.wantGap(q, op) {
			found(gap{l, last.end, op.Start, last.ref, op.ref()})
		}
		if !last.any || op.End > last.end {
			*last = lastWork{op.ref(), op.End, true}
		}
	}
	ofDevice, ofQueue := make([]lastWork, len(devices)), make([]lastWork, len(t.Queues))
	t.ByStart(func(op Op) {
		if !keep(op) {
			return
		}
		d := deviceOf[op.Queue]
		step(&ofDevice[d], lane{devices[d], None}, op)
		if streams[d] > 1 && !q.WholeDevices {
			step(&ofQueue[op.Queue], lane{devices[d], op.Queue}, op)
		}
	})
}

// lastWork is the work of a lane that ended last so far.
type lastWork struct {
	ref opRef
	end int64
	any bool
}

// wantGap applies a kernel filter to the work after the gap.
func (t *Timeline) wantGap(q *Query, after Op) bool {
	if q.Kernel == nil {
		return true
	}
	if after.Kind != OpKernel {
		return false
	}
	f := t.Functions[t.Kernels[after.Index].Function]
	return q.Kernel.MatchString(t.Name(f.Demangled)) || q.Kernel.MatchString(t.Name(f.Short)) || q.Kernel.MatchString(t.Name(f.Mangled))
}

// threadCalls are the calls of a thread by start, with the latest end so far,
// so that those which reach into a gap can be found.
type threadCalls struct {
	order  []uint32
	latest []int64 // for every callBlock calls
	near   int     // block that was found last
}

const callBlock = 16

func (t *Timeline) callsByThread() []threadCalls {
	threads := make([]threadCalls, len(t.Threads))
	for i, order := range t.threadOrder() {
		threads[i].order = order
		end := int64(math.MinInt64)
		for j, c := range order {
			end = max(end, t.Calls.End(c))
			if j%callBlock == callBlock-1 || j == len(order)-1 {
				threads[i].latest = append(threads[i].latest, end)
			}
		}
	}
	return threads
}

// threadOrder lists the calls of each thread by start.
func (t *Timeline) threadOrder() [][]uint32 {
	counts := make([]int, len(t.Threads))
	for i := range uint32(t.Calls.Len()) {
		if th := t.Calls.Thread(i); int(th) < len(counts) {
			counts[th]++
		}
	}
	threads := make([][]uint32, len(counts))
	for th, n := range counts {
		threads[th] = make([]uint32, 0, n)
	}
	for i := range uint32(t.Calls.Len()) {
		if th := t.Calls.Thread(i); int(th) < len(threads) {
			threads[th] = append(threads[th], i)
		}
	}
	for _, list := range threads {
		t.Calls.sortByStart(list)
	}
	return threads
}

// reach is the first block with a call that ends after a moment. Gaps are asked for
// in order as a rule, so that the next one is close.
func (c *threadCalls) reach(start int64) int {
	for n := c.near; n < min(c.near+4, len(c.latest)); n++ {
		if c.latest[n] > start && (n == 0 || c.latest[n-1] <= start) {
			c.near = n
			return n
		}
	}
	c.near = sort.Search(len(c.latest), func(i int) bool { return c.latest[i] > start })
	return c.near
}

// each visits the calls that overlap the time from start to end.
func (c *threadCalls) each(t *Timeline, start, end int64, f func(call *Call)) {
	first := min(c.reach(start)*callBlock, len(c.order))
	for _, i := range c.order[first:] {
		if t.Calls.Start(i) >= end {
			return
		}
		if t.Calls.End(i) > start {
			call := t.Calls.At(i)
			f(&call)
		}
	}
}

// maxGapCalls bounds the names listed for a gap.
const maxGapCalls = 8

// fill makes the row of a gap, whose lists are valid until the next one is made.
func (g *Gaps) fill(row *GapRow, x gap, calls *Timeline, threads []threadCalls) {
	t := g.a.t
	after := t.op(x.after)
	*row = GapRow{
		Device: int(x.lane.device), StartNS: x.start, EndNS: x.end, DurationNS: Since(x.start, x.end),
		Before: g.opName(t.op(x.before)), After: g.opName(after),
	}
	if x.lane.queue != None {
		queue := &t.Queues[x.lane.queue]
		stream, context, pid := int(queue.Stream), int(queue.Context), t.pid(queue.Process)
		row.Stream, row.Context, row.Process = &stream, &context, &pid
	}
	launch := g.a.callOf(after)
	launcher, known := int64(0), false
	g.onHost = 0
	clear(g.frames)
	if launch != None {
		g.seeHost(row, x, launch)
		row.NVTX = g.a.Path(g.a.callNode(launch))
		if th := t.Calls.Thread(launch); int(th) < len(t.Threads) {
			launcher, known = t.Threads[th].Global, true
		}
	}
	var process int64
	if p := t.Queues[after.Queue].Process; int(p) < len(t.Processes) {
		process = t.Processes[p].Global
	}
	if known {
		g.host = row.DurationNS // where the thread made no call at all in it
		row.HostNS = &g.host
	}
	sums := g.sums[:0]
	var over bool // a gap that long is told of by the events around it
	for th := range threads {
		if ProcessOf(calls.Threads[th].Global) != process {
			continue
		}
		covered := &g.covered
		covered.start, covered.before = covered.start[:0], covered.before[:0]
		threads[th].each(calls, x.start, x.end, func(c *Call) {
			from, to := max(c.Start, x.start), min(c.End, x.end)
			covered.add(from, to)
			at := slices.IndexFunc(sums, func(s namedCalls) bool { return s.name == c.Name })
			if at < 0 {
				at = len(sums)
				sums = append(sums, namedCalls{c.Name, GapCall{Name: calls.Name(c.Name)}})
			}
			s := &sums[at]
			accrue(&s.NS, Since(from, to), &over)
			s.Calls++
		})
		if known && calls.Threads[th].Global == launcher {
			*row.HostNS -= covered.within(x.start, x.end)
		}
	}
	g.sums = topCalls(sums)
	g.calls = g.calls[:0]
	for _, s := range g.sums {
		g.calls = append(g.calls, s.GapCall)
	}
	row.Calls = g.calls
}

// seeHost tells what the thread that launched the work after a gap was in until then.
func (g *Gaps) seeHost(row *GapRow, x gap, launch uint32) {
	t := g.a.t
	thread, until := t.Calls.Thread(launch), min(x.end, t.Calls.Start(launch))
	g.onHost = g.hosts.most(thread, x.start, until, g.times)
	row.Host = g.a.Path(g.onHost)
	g.python.count(thread, x.start, until, g.frames)
	if len(g.frames) > 0 {
		row.Python = t.hostFrames(g.frames)
	}
}

// topCalls puts those first that took longest, and drops what is too much to list.
func topCalls(sums []namedCalls) []namedCalls {
	if len(sums) < 2 {
		return sums
	}
	slices.SortFunc(sums, func(x, y namedCalls) int {
		if x.NS != y.NS {
			return cmp.Compare(y.NS, x.NS)
		}
		return cmp.Compare(x.Name, y.Name)
	})
	return sums[:min(len(sums), maxGapCalls)]
}

// opName names a piece of work for people.
func (g *Gaps) opName(op Op) string {
	t := g.a.t
	switch op.Kind {
	case OpKernel:
		id := t.Kernels[op.Index].Function
		f := t.Functions[id]
		if g.q.Shorten == nil {
			return t.Name(f.Short)
		}
		name, ok := g.short[id]
		if !ok {
			name = g.q.Shorten(t.Name(f.Demangled))
			g.short[id] = name
		}
		return name
	case OpCopy:
		return "[copy " + CopyKind(t.Copies[op.Index].Kind) + "]"
	case OpSet:
		return "[set]"
	default:
		return "[CUDA graph]"
	}
}

var copyKinds = [...]string{
	"unknown", "host to device", "device to host", "host to array", "array to host", "array to array",
	"array to device", "device to array", "device to device", "host to host", "peer to peer",
}

// CopyKind names the direction of a copy.
func CopyKind(kind uint8) string {
	if int(kind) < len(copyKinds) {
		return copyKinds[kind]
	}
	return copyKinds[0]
}
