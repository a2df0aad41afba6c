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

const copyLabel = 255

// stints is the GPU work of a timeline by start. There are millions, so that it
// keeps their order alone, and makes each as it is asked for.
type stints struct {
	t          *timeline.Timeline
	at         *timeline.Attribution
	order      timeline.List // pieces as Timeline.Op counts them
	byFunction []uint8       // category of kernels
	graph      uint8         // category of whole graphs
}

// newStints sorts the work once; byFunction is the category of each function.
func newStints(at *timeline.Attribution, byFunction []uint8, graph uint8) stints {
	t := at.Timeline()
	s := stints{t: t, at: at, byFunction: byFunction, graph: graph}
	var before [timeline.OpGraph + 1]int // pieces of earlier kinds
	before[timeline.OpCopy] = len(t.Kernels)
	before[timeline.OpSet] = before[timeline.OpCopy] + len(t.Copies)
	before[timeline.OpGraph] = before[timeline.OpSet] + len(t.Sets)
	t.ByStart(func(op timeline.Op) { s.order.Add(uint32(before[op.Kind] + op.Index)) })
	return s
}

func (s *stints) len() int { return s.order.Len() }

// op is piece i.
func (s *stints) op(i int) timeline.Op { return s.t.Op(int(s.order.At(i))) }

// kernel is the index of piece i where it is a kernel.
func (s *stints) kernel(i int) (int, bool) {
	n := int(s.order.At(i))
	return n, n < len(s.t.Kernels)
}

// queue is that of piece i.
func (s *stints) queue(i int) *timeline.Queue {
	if k, ok := s.kernel(i); ok {
		return &s.t.Queues[s.t.Kernels[k].Queue]
	}
	return &s.t.Queues[s.op(i).Queue]
}

// call is the one that launched piece i, or timeline.None.
func (s *stints) call(i int) uint32 {
	if k, ok := s.kernel(i); ok {
		return s.at.KernelLaunch(k)
	}
	return s.at.Launch(s.op(i))
}

// span is when piece i ran, and in which queue.
func (s *stints) span(i int) (start, end int64, queue uint32) {
	if n, ok := s.kernel(i); ok {
		k := &s.t.Kernels[n]
		return k.Start, k.End, k.Queue
	}
	op := s.op(i)
	return op.Start, op.End, op.Queue
}

// get is piece i.
func (s *stints) get(i int) stint {
	if n, ok := s.kernel(i); ok {
		k := &s.t.Kernels[n]
		return stint{k.Start, k.End, s.at.KernelLaunch(n), k.Queue, s.byFunction[k.Function], k.GraphNode != 0}
	}
	op := s.op(i)
	w := stint{start: op.Start, end: op.End, call: s.at.Launch(op), queue: op.Queue, label: copyLabel}
	switch op.Kind {
	case timeline.OpCopy:
		w.node = s.t.Copies[op.Index].GraphNode != 0
	case timeline.OpSet:
		w.node = s.t.Sets[op.Index].GraphNode != 0
	case timeline.OpGraph:
		w.label = s.graph
	}
	return w
}
