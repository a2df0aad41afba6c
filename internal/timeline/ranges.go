package timeline

import (
	"cmp"
	"fmt"
	"slices"
)

// RangeRows lists every instance of every range by its start. With a device
// or kernel filter, only the GPU work of that counts.
func (t *Timeline) RangeRows(q Query) Rows[RangeRow] {
	a := t.Attribute()
	u := a.measure(t.opFilter(&q, a))
	matches := a.nodeFilter(&q)
	var order []int
	for i := range t.Ranges {
		r := &t.Ranges[i]
		if matches[a.rangeNode[i]] && q.wantProcess(t.pid(t.ThreadProcess(r.Thread))) {
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
		w := launchWriter{a: a, q: &q, paths: map[uint64][]string{}, short: map[uint32]string{}}
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
	a     *Attribution
	q     *Query
	paths map[uint64][]string // by state
	short map[uint32]string   // by function
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
		ID: i + 1, Kernel: t.Name(f.Demangled), Short: t.Name(f.Short),
		Grid: c.Grid, Block: c.Block,
		Context: int(queue.Context), Stream: int(queue.Stream), Device: int(queue.Device),
		Process: t.pid(queue.Process), StartNS: k.Start, DurationNS: k.Duration(),
		Registers: c.Registers, StaticShared: c.StaticShared, DynamicShared: c.DynamicShared,
		GraphNode: k.GraphNode, Graph: k.GraphID(),
	}
	if w.q.Shorten != nil {
		name, ok := w.short[k.Function]
		if !ok {
			name = w.q.Shorten(row.Kernel)
			w.short[k.Function] = name
		}
		row.Short = name
	}
	if k.Correlation != NoCorrelation {
		r.correlation = k.Correlation
		row.Correlation = &r.correlation
	}
	call := a.kernelCall(i)
	if call == None {
		return row
	}
	at := t.Calls.At(call)
	r.launch, r.wait = at.Start, Since(at.Start, k.Start)
	row.LaunchNS, row.QueueNS = &r.launch, &r.wait
	if int(at.Thread) < len(t.Threads) {
		r.tid = t.Threads[at.Thread].TID
		row.Thread = &r.tid
	}
	row.NVTX = a.Path(a.callNode(call))
	state := a.state(call)
	all, ok := w.paths[state]
	if !ok {
		all = a.callPaths(call)
		w.paths[state] = all
	}
	row.NVTXAll = all
	return row
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
