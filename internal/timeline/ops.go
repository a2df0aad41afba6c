package timeline

import (
	"cmp"
	"math"
	"slices"
)

// An Op is one piece of GPU work.
type Op struct {
	Kind        OpKind
	what        uint32  // function of a kernel, kind of a copy; 0 of others
	Index       int     // in the slice of its kind
	Start, End  int64   // ns
	Queue       uint32  // index into Queues
	Correlation uint32  // as of a Kernel
	kernel      *Kernel // that it is, where it came in a flow and is visited
}

// OpKind says which slice of the timeline an Op lies in.
// Attribution.opCalls and Op count the kinds in this order.
type OpKind uint8

// The kinds of GPU work.
const (
	OpKernel OpKind = iota
	OpCopy
	OpSet
	OpGraph
)

// eachOp visits kernels, copies, sets and whole graphs, each in the order of the file.
func (t *Timeline) eachOp(f func(Op)) {
	for i := range t.Kernels {
		k := &t.Kernels[i]
		f(Op{OpKernel, k.Function, i, k.Start, k.End, k.Queue, k.Correlation, nil})
	}
	for i := range t.Copies {
		c := &t.Copies[i]
		f(Op{OpCopy, uint32(c.Kind), i, c.Start, c.End, c.Queue, c.Correlation, nil})
	}
	for i := range t.Sets {
		s := &t.Sets[i]
		f(Op{OpSet, 0, i, s.Start, s.End, s.Queue, s.Correlation, nil})
	}
	for i := range t.Graphs {
		g := &t.Graphs[i]
		f(Op{OpGraph, 0, i, g.Start, g.End, g.Queue, g.Correlation, nil})
	}
}

func (t *Timeline) opAt(kind OpKind, i int) Op {
	switch kind {
	case OpKernel:
		k := &t.Kernels[i]
		return Op{OpKernel, k.Function, i, k.Start, k.End, k.Queue, k.Correlation, nil}
	case OpCopy:
		c := &t.Copies[i]
		return Op{OpCopy, uint32(c.Kind), i, c.Start, c.End, c.Queue, c.Correlation, nil}
	case OpSet:
		s := &t.Sets[i]
		return Op{OpSet, 0, i, s.Start, s.End, s.Queue, s.Correlation, nil}
	default:
		g := &t.Graphs[i]
		return Op{OpGraph, 0, i, g.Start, g.End, g.Queue, g.Correlation, nil}
	}
}

// Ops is the number of pieces of GPU work.
func (t *Timeline) Ops() int { return len(t.Kernels) + len(t.Copies) + len(t.Sets) + len(t.Graphs) }

// Op is piece i of the GPU work as EachOp counts it.
// It panics where i is not below Ops.
func (t *Timeline) Op(i int) Op {
	if i < len(t.Kernels) { // nearly all are
		return t.opAt(OpKernel, i)
	}
	for kind, n := range t.opCounts() {
		if i < n {
			return t.opAt(OpKind(kind), i)
		}
		i -= n
	}
	panic("timeline: there is no such piece of work")
}

func (t *Timeline) opCounts() [4]int {
	return [4]int{OpKernel: len(t.Kernels), OpCopy: len(t.Copies), OpSet: len(t.Sets), OpGraph: len(t.Graphs)}
}

// ByStart visits all GPU work by start; work that starts at once stays in the
// order of kinds and of the file. The kinds are merged as they lie: most files
// hold each of them in order, and nearly all work is of one kind.
// The Op is one and the same all the time: visit must copy what it keeps.
func (t *Timeline) ByStart(visit func(*Op)) {
	t.byStart(nil, func(op *Op) bool { visit(op); return true })
}

// byStart is ByStart until visit says false. Kernels come from the flow where there is
// one.
func (t *Timeline) byStart(f Flow, visit func(*Op) bool) {
	var heads []opHead
	for kind, n := range t.opCounts() {
		if f != nil && OpKind(kind) == OpKernel {
			h := opHead{op: Op{Kind: OpKernel, Index: -1}, flow: f}
			if h.advance(t) {
				heads = append(heads, h)
			}
			continue
		}
		if n > 0 {
			heads = append(heads, t.opHead(OpKind(kind), n))
		}
	}
	for len(heads) > 0 {
		first := earliest(heads)
		h, until := &heads[first], turn(heads, first)
		for more := true; more && h.op.Start <= until; {
			if !visit(&h.op) {
				return
			}
			more = h.advance(t)
		}
		if h.done {
			heads = slices.Delete(heads, first, first+1)
		}
	}
}

func earliest(heads []opHead) int {
	first := 0
	for i := range heads {
		if heads[i].op.Start < heads[first].op.Start {
			first = i
		}
	}
	return first
}

// turn is the last start at which the head before all others is still that.
func turn(heads []opHead, first int) int64 {
	until := int64(math.MaxInt64)
	for i := range heads {
		switch start := heads[i].op.Start; {
		case i > first:
			until = min(until, start)
		case i < first: // it began later, or it would be first
			until = min(until, start-1)
		}
	}
	return until
}

// An opHead goes through the work of one kind by start.
type opHead struct {
	op    Op
	flow  Flow     // of kernels that are not in memory; nil for others
	rest  []Kernel // that the flow gave and nobody took yet
	order []uint32 // nil where the file is in order
	next  int
	n     int
	done  bool
}

func (t *Timeline) opHead(kind OpKind, n int) opHead {
	h := opHead{op: Op{Kind: kind}, n: n}
	if !t.inOrder(kind, n) {
		h.order = upTo(n)
		SortByStart(h.order, func(i uint32) int64 { return t.opAt(kind, int(i)).Start })
	}
	h.advance(t)
	return h
}

// upTo are the numbers below n.
func upTo(n int) []uint32 {
	list := make([]uint32, n)
	for i := range list {
		list[i] = uint32(i)
	}
	return list
}

// inOrder tells whether the work of a kind lies by start.
func (t *Timeline) inOrder(kind OpKind, n int) bool {
	if kind == OpKernel {
		return t.KernelsByStart || slices.IsSortedFunc(t.Kernels, func(x, y Kernel) int { return cmp.Compare(x.Start, y.Start) })
	}
	for i := 1; i < n; i++ {
		if t.opAt(kind, i).Start < t.opAt(kind, i-1).Start {
			return false
		}
	}
	return true
}

// advance moves on to the next work; false where there is none.
func (h *opHead) advance(t *Timeline) bool {
	if h.flow != nil {
		if len(h.rest) == 0 {
			if h.rest = h.flow.NextKernels(); len(h.rest) == 0 {
				h.done = true
				return false
			}
		}
		k := &h.rest[0]
		h.rest = h.rest[1:]
		h.op.Index++
		h.op.Start, h.op.End, h.op.Queue, h.op.Correlation, h.op.what, h.op.kernel = k.Start, k.End, k.Queue, k.Correlation, k.Function, k
		return true
	}
	if h.next == h.n {
		h.done = true
		return false
	}
	i := h.next
	if h.order != nil {
		i = int(h.order[i])
	}
	h.next++
	if h.op.Kind == OpKernel { // nearly all are
		k := &t.Kernels[i]
		h.op.Index, h.op.Start, h.op.End, h.op.Queue, h.op.Correlation, h.op.what = i, k.Start, k.End, k.Queue, k.Correlation, k.Function
		return true
	}
	h.op = t.opAt(h.op.Kind, i)
	return true
}

// insertByStart sorts as SortByStart does, without further memory. It gives up, with
// the list half sorted, where it would move events more often than most.
func insertByStart(list []uint32, start func(event uint32) int64, most int) bool {
	if len(list) == 0 {
		return true
	}
	last := start(list[0])
	for i := 1; i < len(list); i++ {
		e := list[i]
		at := start(e)
		if at >= last {
			last = at
			continue
		}
		j := i
		for ; j > 0 && start(list[j-1]) > at; j-- {
			list[j] = list[j-1]
		}
		list[j] = e
		if most -= i - j; most < 0 {
			return false
		}
	}
	return true
}

// SortByStart puts a list of events in the order of their starts, which start
// looks up; events that start at once stay as they are. Captures hold millions of
// events that are nearly, but not quite, in order: they are inserted one by one
// where that moves few, and else go through a radix sort.
// start may be asked several times for an event. The radix sort needs 32 bytes for each.
func SortByStart(list []uint32, start func(event uint32) int64) {
	if insertByStart(list, start, 4*len(list)) {
		return
	}
	type entry struct {
		start uint64 // since the earliest
		event uint32
	}
	low, high := start(list[0]), start(list[0])
	for _, e := range list {
		low, high = min(low, start(e)), max(high, start(e))
	}
	from, to := make([]entry, len(list)), make([]entry, len(list))
	for i, e := range list {
		from[i] = entry{uint64(start(e)) - uint64(low), e}
	}
	const digit = 11
	width := uint64(high) - uint64(low)
	for shift := uint(0); shift < 64 && width>>shift != 0; shift += digit {
		var count [1 << digit]int
		for i := range from {
			count[from[i].start>>shift%(1<<digit)]++
		}
		sum := 0
		for d := range count {
			count[d], sum = sum, sum+count[d]
		}
		for i := range from {
			d := from[i].start >> shift % (1 << digit)
			to[count[d]] = from[i]
			count[d]++
		}
		from, to = to, from
	}
	for i := range from {
		list[i] = from[i].event
	}
}
