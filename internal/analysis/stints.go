package analysis

import "github.com/deepprof/deepprof/internal/timeline"

// A stint is a piece of GPU work.
type stint struct {
	start, end int64
	call       uint32 // that launched it, or timeline.None
	queue      uint32
	label      uint8 // category; copyLabel for copies and sets
	node       bool  // a node of a CUDA graph, which the call launched as a whole
}

// copyLabel stands in place of a category for copies and sets; there are never so many
// categories.
const copyLabel = 255

// stints is the GPU work of a timeline by start. There are millions, so that it
// keeps their order alone, and makes each as it is asked for.
type stints struct {
	t          *timeline.Timeline
	at         *timeline.Attribution
	order      timeline.List // pieces as Timeline.Op counts them
	works      []bool        // by queue: it has work
	byFunction []uint8       // category of kernels
	graph      uint8         // category of whole graphs
}

// newStints sorts the work once, and notes the queues that have any; byFunction is the
// category of each function. The attribution is given afterwards.
func newStints(t *timeline.Timeline, byFunction []uint8, graph uint8) stints {
	s := stints{t: t, byFunction: byFunction, graph: graph, works: make([]bool, len(t.Queues))}
	var before [timeline.OpGraph + 1]int // pieces of earlier kinds
	before[timeline.OpCopy] = len(t.Kernels)
	before[timeline.OpSet] = before[timeline.OpCopy] + len(t.Copies)
	before[timeline.OpGraph] = before[timeline.OpSet] + len(t.Sets)
	t.ByStart(func(op *timeline.Op) {
		s.order.Add(uint32(before[op.Kind] + op.Index))
		s.works[op.Queue] = true
	})
	return s
}

// len counts all work of the timeline.
func (s *stints) len() int { return s.order.Len() }

// A stintReader gives pieces by their place in the order of starts, fastest where places
// go up. It is for one goroutine.
type stintReader struct {
	*stints
	first int      // place of the first that was read ahead
	ahead []uint32 // numbers of the pieces from there on
	room  [256]uint32
}

func (s *stints) reader() *stintReader { return &stintReader{stints: s} }

// number is that of piece i, as Timeline.Op counts it.
func (r *stintReader) number(i int) int {
	if uint(i-r.first) >= uint(len(r.ahead)) {
		r.first, r.ahead = i, r.room[:r.order.Read(i, r.room[:])]
	}
	return int(r.ahead[i-r.first])
}

// op is piece i.
func (r *stintReader) op(i int) timeline.Op { return r.t.Op(r.number(i)) }

// kernel is the index of piece i where it is a kernel.
func (r *stintReader) kernel(i int) (int, bool) {
	n := r.number(i)
	return n, n < len(r.t.Kernels)
}

// queue is that of piece i.
func (r *stintReader) queue(i int) *timeline.Queue {
	if k, ok := r.kernel(i); ok {
		return &r.t.Queues[r.t.Kernels[k].Queue]
	}
	return &r.t.Queues[r.op(i).Queue]
}

// call is the one that launched piece i, or timeline.None.
func (r *stintReader) call(i int) uint32 {
	if k, ok := r.kernel(i); ok {
		return r.at.KernelLaunch(k)
	}
	return r.at.Launch(r.op(i))
}

// span is when piece i ran, and in which queue.
func (r *stintReader) span(i int) (start, end int64, queue uint32) {
	if n, ok := r.kernel(i); ok {
		k := &r.t.Kernels[n]
		return k.Start, k.End, k.Queue
	}
	op := r.op(i)
	return op.Start, op.End, op.Queue
}

// get is piece i.
func (r *stintReader) get(i int) stint {
	if n, ok := r.kernel(i); ok {
		k := &r.t.Kernels[n]
		return stint{k.Start, k.End, r.at.KernelLaunch(n), k.Queue, r.byFunction[k.Function], k.GraphNode != 0}
	}
	op := r.op(i)
	w := stint{start: op.Start, end: op.End, call: r.at.Launch(op), queue: op.Queue, label: copyLabel}
	switch op.Kind {
	case timeline.OpCopy:
		w.node = r.t.Copies[op.Index].GraphNode != 0
	case timeline.OpSet:
		w.node = r.t.Sets[op.Index].GraphNode != 0
	case timeline.OpGraph:
		w.label = r.graph
	}
	return w
}
