package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// RangeRows lists every instance of every range by its start. With a device
// or kernel filter, only the GPU work of that counts.
func (t *Timeline) RangeRows(q Query) Rows[RangeRow] {
	return t.Attribute().rangeRows(q, func(int) bool { return true })
}

// rangeRows is RangeRows of the ranges that want accepts.
func (a *Attribution) rangeRows(q Query, want func(i int) bool) Rows[RangeRow] {
	t := a.t
	u, _ := a.measured(&q)
	matches := a.nodeFilter(&q)
	var order []int
	for i := range t.Ranges {
		r := &t.Ranges[i]
		if want(i) && matches[a.rangeNode[i]] && q.wantProcess(t.pid(t.ThreadProcess(r.Thread))) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(t.Ranges[x].Start, t.Ranges[y].Start) })
	cut := cutTop(order, q.Top)
	categories := t.categoryNames()
	rows := make([]RangeRow, len(cut.Rows))
	for i, at := range cut.Rows {
		rows[i] = a.rangeRow(at, u.get(at), categories)
	}
	return Rows[RangeRow]{Rows: rows, Cut: cut.Cut, Warnings: a.Warnings}
}

func (a *Attribution) rangeRow(i int, u *use, categories map[categoryKey]string) RangeRow {
	t := a.t
	r := &t.Ranges[i]
	id := a.rangeNode[i]
	row := RangeRow{
		ID: i + 1, Path: a.Path(id), Name: t.Name(r.Name), Domain: t.DomainName(r.Domain), Style: r.Kind.String(),
		StartNS: r.Start, EndNS: r.End, RangeNS: Since(r.Start, r.End),
		Process: t.pid(t.ThreadProcess(r.Thread)), Depth: a.nodes[id].depth, Unclosed: r.Unclosed,
	}
	if int(r.Thread) < len(t.Threads) {
		row.Thread = t.Threads[r.Thread].TID
	}
	if r.Category != 0 {
		row.Category = categories[categoryKey{r.Domain, r.Category}]
		if row.Category == "" {
			row.Category = fmt.Sprint(r.Category)
		}
	}
	if r.Color != 0 {
		row.Color = fmt.Sprintf("#%08X", r.Color)
	}
	if int(r.Payload) < len(t.Payloads) {
		row.PayloadType, row.Payload = t.Payloads[r.Payload].Type, t.Payloads[r.Payload].Value
	}
	if u == nil {
		return row
	}
	if u.projected {
		start := u.projStart
		row.ProjectedStart, row.ProjectedNS = &start, u.projection()
	}
	row.KernelCalls, row.InclusiveNS, row.ExclusiveNS = u.kernels, u.kernelNS, u.ownNS
	row.BusyNS, row.IdleNS, row.GPUOps, row.GraphLaunches = u.busy, u.idle(), u.ops, u.graphs
	return row
}

type categoryKey struct{ domain, id uint32 }

func (t *Timeline) categoryNames() map[categoryKey]string {
	names := make(map[categoryKey]string, len(t.Categories))
	for _, c := range t.Categories {
		names[categoryKey{c.Domain, c.ID}] = t.Name(c.Name)
	}
	return names
}

// StreamLaunches gives the kernels in the order in which they ran, one by one:
// millions of rows take much more memory than what they are made from.
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
			if !yield(w.row(int(i))) {
				return
			}
		}
	}
	return Stream[LaunchRow]{Rows: rows, Len: len(cut.Rows), Cut: cut.Cut, Warnings: a.Warnings}
}

// A launchWriter makes rows and keeps the texts that many of them share.
type launchWriter struct {
	a      *Attribution
	q      *Query
	states map[uint64]openPaths // by state
	last   openPaths            // of the state
	state  uint64               // of the last call
	known  bool                 // there was one
	lists  map[string]uint32    // of paths, numbered
	short  map[uint32]string    // by function
	texts  map[launchKind]*launchText
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
	return &launchWriter{a: a, q: q, states: map[uint64]openPaths{}, lists: map[string]uint32{}, short: map[uint32]string{}, texts: map[launchKind]*launchText{}}
}

func (w *launchWriter) row(i int) *LaunchRow {
	a := w.a
	t := a.t
	k := &t.Kernels[i]
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
	if call := a.kernelCall(i); call != None {
		at := t.Calls.At(call)
		r.launch, r.wait = at.Start, Since(at.Start, k.Start)
		row.LaunchNS, row.QueueNS = &r.launch, &r.wait
		if int(at.Thread) < len(t.Threads) {
			r.tid = t.Threads[at.Thread].TID
			row.Thread, kind.thread = &r.tid, at.Thread
		}
		open := w.open(call)
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
func (w *launchWriter) open(call uint32) openPaths {
	state := w.a.state(call)
	if w.known && state == w.state {
		return w.last
	}
	p, ok := w.states[state]
	if !ok {
		p = openPaths{node: w.a.callNode(call), all: w.a.callPaths(call)}
		key := strings.Join(p.all, "\x00")
		if p.number, ok = w.lists[key]; !ok {
			p.number = uint32(len(w.lists))
			w.lists[key] = p.number
		}
		w.states[state] = p
	}
	w.last, w.state, w.known = p, state, true
	return p
}

// callPaths names everything that was open around a call.
func (a *Attribution) callPaths(call uint32) []string {
	var paths []string
	for _, list := range [][]uint32{a.innermost(call), a.openAround(call)} {
		for _, r := range list {
			if path := a.Path(a.rangeNode[r]); !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}
