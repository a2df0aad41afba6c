package timeline

import (
	"cmp"
	"container/heap"
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

// GapRows lists the gaps between pieces of GPU work: of each device, and of
// each stream that has company on its device. The longest come first. A gap of
// a device belongs to no process; with a process filter, other processes' work
// does not end a gap.
func (t *Timeline) GapRows(q Query) Rows[GapRow] {
	a := t.Attribute()
	gaps := t.findGaps(&q)
	if q.Region != nil {
		inRegion := a.callMatcher(q.Region)
		gaps = slices.DeleteFunc(gaps, func(g gap) bool { return !inRegion(a.callOf(t.op(g.after))) })
	}
	cut := cutTop(gaps, q.Top)
	longestFirst(gaps, len(cut.Rows))
	byThread := t.callsByThread()
	rows := make([]GapRow, len(cut.Rows))
	for i, g := range cut.Rows {
		rows[i] = a.gapRow(g, byThread, &q)
	}
	return Rows[GapRow]{Rows: rows, Cut: cut.Cut, Warnings: a.Warnings}
}

func compareGaps(x, y gap) int {
	return cmp.Or(
		cmp.Compare(y.end-y.start, x.end-x.start),
		cmp.Compare(x.start, y.start),
		cmp.Compare(x.lane.device, y.lane.device),
		cmp.Compare(y.lane.queue, x.lane.queue))
}

// longestFirst sorts gaps as far as the first n. Few of millions are wanted as
// a rule, so the best are kept in a heap, worst on top.
func longestFirst(gaps []gap, n int) {
	if n == 0 || n > len(gaps)/8 {
		slices.SortFunc(gaps, compareGaps)
		return
	}
	h := gapHeap(gaps[:n])
	heap.Init(&h)
	for i := n; i < len(gaps); i++ {
		if compareGaps(gaps[i], h[0]) < 0 {
			gaps[i], h[0] = h[0], gaps[i]
			heap.Fix(&h, 0)
		}
	}
	slices.SortFunc(gaps[:n], compareGaps)
}

type gapHeap []gap

func (h gapHeap) Len() int           { return len(h) }
func (h gapHeap) Less(i, j int) bool { return compareGaps(h[i], h[j]) > 0 }
func (h gapHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h gapHeap) Push(any)           {} // the heap never grows
func (h gapHeap) Pop() any           { return nil }

// findGaps walks the work of every lane in the order of its start.
func (t *Timeline) findGaps(q *Query) []gap {
	queues := t.queueFilter(q)
	devices := t.devices()
	deviceOf := make([]int, len(t.Queues)) // by queue, index into devices
	for i := range t.Queues {
		deviceOf[i], _ = slices.BinarySearch(devices, t.Queues[i].Device)
	}
	used := make([]bool, len(t.Queues))
	order := t.opOrder(func(op Op) bool {
		keep := queues[op.Queue] && op.End >= op.Start
		used[op.Queue] = used[op.Queue] || keep
		return keep
	})
	streams := make([]int, len(devices))
	for i, u := range used {
		if u {
			streams[deviceOf[i]]++
		}
	}
	var gaps []gap
	step := func(last *lastWork, l lane, ref opRef, op Op) {
		if last.any && op.Start > last.end && op.Start-last.end >= q.MinGap && t.wantGap(q, op) {
			gaps = append(gaps, gap{l, last.end, op.Start, last.ref, ref})
		}
		if !last.any || op.End > last.end {
			*last = lastWork{ref, op.End, true}
		}
	}
	ofDevice, ofQueue := make([]lastWork, len(devices)), make([]lastWork, len(t.Queues))
	for _, ref := range order {
		op := t.op(ref)
		d := deviceOf[op.Queue]
		step(&ofDevice[d], lane{devices[d], None}, ref, op)
		if streams[d] > 1 {
			step(&ofQueue[op.Queue], lane{devices[d], op.Queue}, ref, op)
		}
	}
	return gaps
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
	maxEnd []int64
}

func (t *Timeline) callsByThread() []threadCalls {
	threads := make([]threadCalls, len(t.Threads))
	for i := range t.Calls {
		if th := t.Calls[i].Thread; int(th) < len(threads) {
			threads[th].order = append(threads[th].order, uint32(i))
		}
	}
	for i := range threads {
		order := threads[i].order
		compare := func(x, y uint32) int {
			return cmp.Or(cmp.Compare(t.Calls[x].Start, t.Calls[y].Start), cmp.Compare(x, y))
		}
		if !slices.IsSortedFunc(order, compare) {
			slices.SortFunc(order, compare)
		}
		latest := make([]int64, len(order))
		for j, c := range order {
			latest[j] = t.Calls[c].End
			if j > 0 {
				latest[j] = max(latest[j], latest[j-1])
			}
		}
		threads[i].maxEnd = latest
	}
	return threads
}

// each visits the calls that overlap the time from start to end.
func (c *threadCalls) each(t *Timeline, start, end int64, f func(call *Call)) {
	first := sort.Search(len(c.maxEnd), func(i int) bool { return c.maxEnd[i] > start })
	for _, i := range c.order[first:] {
		call := &t.Calls[i]
		if call.Start >= end {
			return
		}
		if call.End > start {
			f(call)
		}
	}
}

// maxGapCalls bounds the names listed for a gap.
const maxGapCalls = 8

func (a *Attribution) gapRow(g gap, threads []threadCalls, q *Query) GapRow {
	t := a.t
	after := t.op(g.after)
	row := GapRow{
		Device: int(g.lane.device), StartNS: g.start, EndNS: g.end, DurationNS: g.end - g.start,
		Before: t.opName(t.op(g.before), q), After: t.opName(after, q),
	}
	if g.lane.queue != None {
		queue := &t.Queues[g.lane.queue]
		stream, context, pid := int(queue.Stream), int(queue.Context), t.pid(queue.Process)
		row.Stream, row.Context, row.Process = &stream, &context, &pid
	}
	launch := a.callOf(after)
	launcher := uint32(None)
	if launch != None {
		row.NVTX = a.Path(a.callNode(launch))
		launcher = t.Calls[launch].Thread
	}
	process := t.Queues[after.Queue].Process
	sums := map[StringID]*GapCall{}
	for th := range threads {
		if t.Threads[th].Process != process {
			continue
		}
		var covered intervals
		threads[th].each(t, g.start, g.end, func(c *Call) {
			from, to := max(c.Start, g.start), min(c.End, g.end)
			covered.add(from, to)
			s := sums[c.Name]
			if s == nil {
				s = &GapCall{Name: t.Name(c.Name)}
				sums[c.Name] = s
			}
			s.NS += to - from
			s.Calls++
		})
		if uint32(th) == launcher {
			host := row.DurationNS - covered.within(g.start, g.end)
			row.HostNS = &host
		}
	}
	row.Calls = topCalls(sums)
	return row
}

func topCalls(sums map[StringID]*GapCall) []GapCall {
	var list []GapCall
	for _, s := range sums {
		list = append(list, *s)
	}
	slices.SortFunc(list, func(x, y GapCall) int {
		return cmp.Or(cmp.Compare(y.NS, x.NS), cmp.Compare(x.Name, y.Name))
	})
	return list[:min(len(list), maxGapCalls)]
}

// opName names a piece of work for people.
func (t *Timeline) opName(op Op, q *Query) string {
	switch op.Kind {
	case OpKernel:
		f := t.Functions[t.Kernels[op.Index].Function]
		if q.Shorten != nil {
			return q.Shorten(t.Name(f.Demangled))
		}
		return t.Name(f.Short)
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
