package timeline

// OfProcess is the part of the timeline that one process made: its GPU work, its
// calls and its ranges. Tables beside the events are shared with the whole, and
// indexes into them stay valid; the machine and the capture are the same. Session
// begins and ends with the events of the process.
// Warnings and counts of tables stay those of the whole file. The events are copies.
func (t *Timeline) OfProcess(process uint32) *Timeline {
	own := *t
	of := func(queue uint32) bool { return t.Queues[queue].Process == process }
	by := func(thread uint32) bool { return t.ThreadProcess(thread) == process }
	own.Kernels = keep(t.Kernels, func(k *Kernel) bool { return of(k.Queue) })
	own.Copies = keep(t.Copies, func(c *Copy) bool { return of(c.Queue) })
	own.Sets = keep(t.Sets, func(s *Set) bool { return of(s.Queue) })
	own.Graphs = keep(t.Graphs, func(g *GraphLaunch) bool { return of(g.Queue) })
	own.Syncs = keep(t.Syncs, func(s *Sync) bool { return of(s.Queue) })
	own.Calls = Calls{}
	for i := range uint32(t.Calls.Len()) {
		if by(t.Calls.Thread(i)) {
			own.Calls.Add(t.Calls.At(i))
		}
	}
	own.Ranges = keep(t.Ranges, func(r *Range) bool { return by(r.Thread) })
	own.Marks = keep(t.Marks, func(m *Mark) bool { return by(m.Thread) })
	own.PythonSamples = keep(t.PythonSamples, func(s *PythonSample) bool { return by(s.Thread) })
	own.GraphNodes = keep(t.GraphNodes, func(n *GraphNode) bool { return by(n.Thread) })
	own.Overhead = keep(t.Overhead, func(o *Overhead) bool { return by(o.Thread) })
	own.Session.FirstNS, own.Session.LastNS = own.extent()
	return &own
}

func keep[T any](all []T, wanted func(*T) bool) []T {
	var list []T
	for i := range all {
		if wanted(&all[i]) {
			list = append(list, all[i])
		}
	}
	return list
}

// extent is the first and the last moment of GPU work, calls and ranges; that of
// the session where there are none.
func (t *Timeline) extent() (first, last int64) {
	first, last = t.Session.LastNS, t.Session.FirstNS
	take := func(start, end int64) { first, last = min(first, start), max(last, end) }
	t.eachOp(func(op Op) { take(op.Start, op.End) })
	for i := range uint32(t.Calls.Len()) {
		take(t.Calls.Start(i), t.Calls.End(i))
	}
	for i := range t.Ranges {
		take(t.Ranges[i].Start, t.Ranges[i].End)
	}
	if first > last {
		return t.Session.FirstNS, t.Session.LastNS
	}
	return first, last
}
