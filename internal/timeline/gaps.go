package timeline

import (
	"cmp"
	"slices"
)

// gap is one stretch in which a lane ran nothing.
type gap struct {
	lane          lane
	start, end    int64
	before, after Op
}

// A lane is a whole device, or one stream on it.
type lane struct {
	device int32
	queue  uint32 // None for the device
}

// compareGaps puts the longest first, then the earliest, then the lowest device, and a whole
// device before its streams.
func compareGaps(x, y gap) int {
	return cmp.Or(
		cmp.Compare(Since(y.start, y.end), Since(x.start, x.end)),
		cmp.Compare(x.start, y.start),
		compareLanes(x.lane, y.lane))
}

func compareLanes(x, y lane) int {
	return cmp.Or(cmp.Compare(x.device, y.device), cmp.Compare(y.queue, x.queue))
}

// A gapFinder finds the gaps between pieces of GPU work that come by start: of each
// device, and of each stream that has company on its device. A gap of a device belongs to
// no process; with a process filter, other processes' work does not end a gap.
// The gap that found is told of is valid until it returns.
type gapFinder struct {
	t       *Timeline
	q       *Query
	found   func(*gap)
	now     gap // that was found last
	devices map[int32]*gapLane
	queues  []queueLanes
}

// gapLane is a lane with its work that ended last so far.
type gapLane struct {
	lane
	last Op
	any  bool
}

// queueLanes are what the work of a queue belongs to.
type queueLanes struct {
	device, own *gapLane // own is nil where its gaps are not wanted, both where the queue is not
}

func (t *Timeline) newGapFinder(q *Query, found func(*gap)) *gapFinder {
	return &gapFinder{t: t, q: q, found: found, devices: map[int32]*gapLane{}}
}

// lanes is what the work of a queue belongs to. Queues may come up while work does.
func (f *gapFinder) lanes(queue uint32) *queueLanes {
	if int(queue) < len(f.queues) {
		return &f.queues[queue]
	}
	wanted := f.t.queueFilter(f.q)
	for i := len(f.queues); i < len(f.t.Queues); i++ {
		var l queueLanes
		if number := f.t.Queues[i].Device; wanted[i] {
			l.device = f.devices[number]
			if l.device == nil {
				l.device = &gapLane{lane: lane{number, None}}
				f.devices[number] = l.device
			}
		}
		f.queues = append(f.queues, l)
	}
	return &f.queues[queue]
}

// streams adds lanes for the queues that share their device with another one in use.
// It needs all work in memory, and comes before the first add.
func (f *gapFinder) streams() {
	used := map[int32][]uint32{}
	seen := make([]bool, len(f.t.Queues))
	f.t.eachOp(func(op Op) {
		if l := f.lanes(op.Queue); l.device != nil && op.End >= op.Start && !seen[op.Queue] {
			seen[op.Queue] = true
			used[l.device.device] = append(used[l.device.device], op.Queue)
		}
	})
	for device, queues := range used {
		for _, q := range queues {
			if len(queues) > 1 {
				f.queues[q].own = &gapLane{lane: lane{device, q}}
			}
		}
	}
}

// add takes the next piece of work.
// Work that ends before it starts, as in a damaged file, neither ends nor begins a gap.
func (f *gapFinder) add(op *Op) {
	l := f.lanes(op.Queue)
	if l.device == nil || op.End < op.Start {
		return
	}
	f.step(l.device, op)
	if l.own != nil {
		f.step(l.own, op)
	}
}

func (f *gapFinder) step(l *gapLane, op *Op) {
	if l.any && op.Start > l.last.End && Since(l.last.End, op.Start) >= f.q.MinGap && f.t.wantGap(f.q, op) {
		f.now = gap{l.lane, l.last.End, op.Start, l.last, *op}
		f.found(&f.now)
	}
	if !l.any || op.End > l.last.End {
		l.last, l.any = *op, true
	}
}

// horizon is the moment before which no gap begins that is found from now on.
// 0 before the first work.
func (f *gapFinder) horizon() int64 {
	at, any := int64(0), false
	take := func(l *gapLane) {
		if l != nil && l.any && (!any || l.last.End < at) {
			at, any = l.last.End, true
		}
	}
	for i := range f.queues {
		take(f.queues[i].device)
		take(f.queues[i].own)
	}
	return at
}

// wantGap applies a kernel filter to the work after the gap.
func (t *Timeline) wantGap(q *Query, after *Op) bool {
	if q.Kernel == nil {
		return true
	}
	if after.Kind != OpKernel {
		return false
	}
	f := t.Functions[after.what]
	return q.Kernel.MatchString(t.Name(f.Demangled)) || q.Kernel.MatchString(t.Name(f.Short)) || q.Kernel.MatchString(t.Name(f.Mangled))
}

// namedCalls sums the calls of one name in a gap; there are few names.
type namedCalls struct {
	name      StringID
	ns, calls int64
}

// maxGapCalls bounds the names listed for a gap.
const maxGapCalls = 8

// topCalls puts those first that took longest, and drops what is too much to list.
// It reorders sums, and the result is a part of it.
func (t *Timeline) topCalls(sums []namedCalls) []namedCalls {
	if len(sums) < 2 {
		return sums
	}
	slices.SortFunc(sums, func(x, y namedCalls) int {
		if x.ns != y.ns {
			return cmp.Compare(y.ns, x.ns)
		}
		return cmp.Compare(t.Name(x.name), t.Name(y.name))
	})
	return sums[:min(len(sums), maxGapCalls)]
}

// gapWork is what a row tells of the work around a gap.
type gapWork struct {
	kind OpKind
	what uint32 // as of an Op
}

// workName names a piece of work for people.
// A nil shorten takes the short name of the file.
func (t *Timeline) workName(w gapWork, shorten func(string) string) string {
	switch w.kind {
	case OpKernel:
		f := t.Functions[w.what]
		if shorten == nil {
			return t.Name(f.Short)
		}
		return shorten(t.Name(f.Demangled))
	case OpCopy:
		return "[copy " + CopyKind(uint8(w.what)) + "]"
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
// The number is that of the file. One that is not known gives "unknown".
func CopyKind(kind uint8) string {
	if int(kind) < len(copyKinds) {
		return copyKinds[kind]
	}
	return copyKinds[0]
}
