package timeline

import (
	"encoding/binary"
	"slices"
)

// StreamLaunches gives the kernels in the order in which they ran, one by one:
// millions of rows take much more memory than what they are made from.
// The stream keeps the attribution, and so the timeline, in memory.
func (t *Timeline) StreamLaunches(q Query) Stream[LaunchRow] {
	a := t.Attribute()
	keep := t.kernelFilter(&q, a)
	var order []uint32
	for i := range t.Kernels {
		if keep(i, &t.Kernels[i]) {
			order = append(order, uint32(i))
		}
	}
	if !t.KernelsByStart {
		SortByStart(order, func(i uint32) int64 { return t.Kernels[i].Start })
	}
	cut := cutTop(order, q.Top)
	rows := func(yield func(*LaunchRow) bool) {
		w := newLaunchWriter(a, &q)
		for _, i := range cut.Rows {
			if !yield(w.row(int(i), &t.Kernels[i], a.launchOf(int(i)))) {
				return
			}
		}
	}
	return Stream[LaunchRow]{Rows: rows, Len: len(cut.Rows), Cut: cut.Cut, Warnings: a.Warnings}
}

// A launchWriter makes rows and keeps the texts that many of them share.
type launchWriter struct {
	a     *Attribution
	q     *Query
	last  *openPaths            // of the state
	state uint64                // of the last call
	byKey map[string]*openPaths // by the regions
	key   []byte
	short map[uint32]string // by function
	texts map[launchKind]*launchText
}

// A launchCall is the call that launched a kernel.
type launchCall struct {
	known  bool
	start  int64
	thread uint32 // index into Threads
	// state numbers what was open around it: the set of push/pop ranges in the upper
	// 32 bits, the list of start/end ranges in the lower ones.
	state  uint64
	stacks []uint32 // innermost range of each stack
	open   []uint32 // start/end ranges
}

// launchOf is the call of a kernel; the zero value where it is not known.
func (a *Attribution) launchOf(kernel int) launchCall {
	call := a.kernelCall(kernel)
	if call == None {
		return launchCall{}
	}
	return launchCall{true, a.t.Calls.Start(call), a.t.Calls.Thread(call), a.state(call), a.innermost(call), a.openAround(call)}
}

// openPaths are the ranges around a call: the innermost, and all by their path.
type openPaths struct {
	node   uint32
	all    []string
	number uint32 // of all
}

// A launchKind is what launches that differ only in numbers and times share.
type launchKind struct{ function, config, queue, thread, node, paths uint32 }

func newLaunchWriter(a *Attribution, q *Query) *launchWriter {
	return &launchWriter{a: a, q: q, byKey: map[string]*openPaths{}, short: map[uint32]string{}, texts: map[launchKind]*launchText{}}
}

// row makes the row of kernel i of the file, from 0. NVTXAll is shared between rows.
func (w *launchWriter) row(i int, k *Kernel, call launchCall) *LaunchRow {
	a := w.a
	t := a.t
	f, c, queue := t.Functions[k.Function], &t.Configs[k.Config], &t.Queues[k.Queue]
	var r struct { // a row with what it points to is one piece of memory
		LaunchRow
		correlation  uint32
		tid          int
		launch, wait int64
	}
	row := &r.LaunchRow
	*row = LaunchRow{
		ID: i + 1, Kernel: t.Name(f.Demangled), Short: w.shortName(k.Function),
		Grid: c.Grid, Block: c.Block,
		Context: int(queue.Context), Stream: int(queue.Stream), Device: int(queue.Device),
		Process: t.pid(queue.Process), StartNS: k.Start, DurationNS: k.Duration(),
		Registers: c.Registers, StaticShared: c.StaticShared, DynamicShared: c.DynamicShared,
		GraphNode: k.GraphNode, Graph: k.GraphID(),
	}
	if k.Correlation != NoCorrelation {
		r.correlation = k.Correlation
		row.Correlation = &r.correlation
	}
	kind := launchKind{function: k.Function, config: k.Config, queue: k.Queue, thread: None, paths: None}
	if call.known {
		r.launch, r.wait = call.start, Since(call.start, k.Start)
		row.LaunchNS, row.QueueNS = &r.launch, &r.wait
		if int(call.thread) < len(t.Threads) {
			r.tid = t.Threads[call.thread].TID
			row.Thread, kind.thread = &r.tid, call.thread
		}
		open := w.open(&call)
		row.NVTX, row.NVTXAll = a.Path(open.node), open.all
		kind.node, kind.paths = open.node, open.number
	}
	text := w.texts[kind]
	if text == nil {
		text = newLaunchText(row)
		w.texts[kind] = text
	}
	row.text = text
	return row
}

func (w *launchWriter) shortName(function uint32) string {
	f := w.a.t.Functions[function]
	if w.q.Shorten == nil {
		return w.a.t.Name(f.Short)
	}
	name, ok := w.short[function]
	if !ok {
		name = w.q.Shorten(w.a.t.Name(f.Demangled))
		w.short[function] = name
	}
	return name
}

// open is what was open around a call. Calls of one state follow each other.
func (w *launchWriter) open(call *launchCall) *openPaths {
	if w.last != nil && call.state == w.state {
		return w.last
	}
	node := w.a.nodeOf(call.stacks, call.open)
	w.key = binary.LittleEndian.AppendUint32(w.key[:0], node)
	for _, list := range [][]uint32{call.stacks, call.open} {
		for _, r := range list {
			w.key = binary.LittleEndian.AppendUint32(w.key, w.a.rangeNode[r])
		}
	}
	p := w.byKey[string(w.key)]
	if p == nil {
		p = &openPaths{node: node, all: w.a.pathsOf(call.stacks, call.open), number: uint32(len(w.byKey))}
		w.byKey[string(w.key)] = p
	}
	w.last, w.state = p, call.state
	return p
}

// pathsOf names everything that is open.
// Stacks come first, by domain; each path comes once.
func (a *Attribution) pathsOf(stacks, open []uint32) []string {
	var paths []string
	for _, list := range [][]uint32{stacks, open} {
		for _, r := range list {
			if path := a.Path(a.rangeNode[r]); !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}
