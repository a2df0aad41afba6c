package timeline

import (
	"cmp"
	"slices"
	"sync"

	"github.com/deepprof/deepprof/internal/engine"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/nvtx"
)

// use is what a range, or a region, had of the GPU.
type use struct {
	ops, copies         int64 // kernels, copies and sets; of them copies and sets
	kernels, kernelNS   int64
	ownKernels, ownNS   int64 // of kernels in no range nested in it
	copyNS, copyBytes   int64
	graphs, graphNS     int64
	projStart, projEnd  int64 // first start and last end of kernels, copies and sets
	workStart, workEnd  int64 // the same, with whole graphs
	busy                int64 // union of them
	projected, anything bool
	over                bool // a sum left the range of int64
}

// add takes one piece of work. Work must come in the order of its start.
func (u *use) add(op *Op, bytes int64, own bool) {
	ns := Since(op.Start, op.End)
	switch op.Kind {
	case OpKernel:
		u.kernels++
		accrue(&u.kernelNS, ns, &u.over)
		if own {
			u.ownKernels++
			accrue(&u.ownNS, ns, &u.over)
		}
	case OpGraph:
		u.graphs++
		accrue(&u.graphNS, ns, &u.over)
	default:
		u.copies++
		accrue(&u.copyNS, ns, &u.over)
		accrue(&u.copyBytes, bytes, &u.over)
	}
	if op.Kind != OpGraph {
		u.ops++
		if !u.projected {
			u.projected, u.projStart, u.projEnd = true, op.Start, op.End
		}
		u.projStart, u.projEnd = min(u.projStart, op.Start), max(u.projEnd, op.End)
	}
	if !u.anything {
		u.anything, u.workStart, u.workEnd = true, op.Start, op.Start
	}
	if from := max(op.Start, u.workEnd); op.End > from {
		accrue(&u.busy, Since(from, op.End), &u.over)
		u.workEnd = op.End
	}
}

// projection is from the first start to the last end, ns; 0 without such work.
func (u *use) projection() int64 { return Since(u.projStart, u.projEnd) }

// idle is the time between the first start and the last end in which none of the work ran, ns.
func (u *use) idle() int64 { return Since(u.workStart, u.workEnd) - u.busy }

// usage is the GPU work of every range that has any.
type usage struct {
	a    *Attribution
	slot []uint32 // by range: index into uses, or None
	uses []use
	once map[regionKey]*use // start/end regions: work counts once, however many instances are open
	same map[uint32]*use    // by start/end range: what its own thread launched
}

// allWork is what measured keeps.
type allWork struct {
	once  sync.Once
	usage *usage
	busy  []int64 // may be known before the rest
}

// measured is the work that a query chooses, by range, and how long each range had
// the GPU busy. That of all work is asked for by several views and kept.
// The busy times are in ns, by index into Ranges. Both are shared and must not be changed.
func (a *Attribution) measured(q *Query) (*usage, []int64) {
	if q.all() {
		a.all.once.Do(func() { a.all.usage, a.all.busy = a.measureBoth(q) })
		return a.all.usage, a.all.busy
	}
	return a.measureBoth(q)
}

func (a *Attribution) measureBoth(q *Query) (u *usage, busy []int64) {
	keep := a.t.opFilter(q, a)
	var beside sync.WaitGroup
	if busy = a.all.busy; busy == nil || !q.all() {
		beside.Go(func() { busy = a.t.busyWithin(keep) })
	}
	u = a.measure(keep)
	beside.Wait()
	return u, busy
}

// all tells whether the query is about all work.
func (q *Query) all() bool { return q.Kernel == nil && len(q.Devices)+len(q.Processes) == 0 }

// measure goes through the work that keep accepts, all where it is nil, and credits it to
// the ranges around its launch.
func (a *Attribution) measure(keep func(*Op) bool) *usage {
	u := newUsage(a)
	sets := runCursor{runs: a.callSet}
	a.t.byStart(nil, func(op *Op) bool {
		if keep != nil && !keep(op) {
			return true
		}
		if call := a.callOf(op); call != None {
			if sets.runs != nil {
				u.credit(op, a.sets.get(sets.at(call)))
			}
			u.creditOpen(op, a.openAround(call), a.t.Calls.Thread(call))
		}
		return true
	})
	return u
}

func newUsage(a *Attribution) *usage {
	u := &usage{a: a, slot: make([]uint32, len(a.t.Ranges)), uses: make([]use, 0, len(a.t.Ranges)), once: map[regionKey]*use{}, same: map[uint32]*use{}}
	for i := range u.slot {
		u.slot[i] = None
	}
	return u
}

// credit takes a piece of work and the innermost range of each stack around its launch.
func (u *usage) credit(op *Op, stacks []uint32) {
	bytes := u.a.t.opBytes(op)
	for _, r := range stacks {
		for own := true; r != None; r, own = u.a.rangeParent[r], false {
			u.of(r).add(op, bytes, own)
		}
	}
}

// creditOpen takes a piece of work, the start/end ranges around its launch, and the
// thread of that.
func (u *usage) creditOpen(op *Op, open []uint32, thread uint32) {
	a, bytes := u.a, u.a.t.opBytes(op)
	for i, r := range open {
		u.of(r).add(op, bytes, true)
		if rng := &a.t.Ranges[r]; rng.EndThread == None && rng.Thread == thread {
			addTo(u.same, r).add(op, bytes, true)
		}
		id := a.rangeNode[r]
		if slices.ContainsFunc(open[:i], func(o uint32) bool { return a.rangeNode[o] == id }) {
			continue
		}
		addTo(u.once, regionKey{id, a.t.Queues[op.Queue].Process}).add(op, bytes, true)
	}
}

func addTo[K comparable](uses map[K]*use, key K) *use {
	u := uses[key]
	if u == nil {
		u = &use{}
		uses[key] = u
	}
	return u
}

// of is the use of a range, made where it is new. Pointers stay valid: uses has room for all ranges.
func (u *usage) of(r uint32) *use {
	if u.slot[r] == None {
		u.slot[r] = uint32(len(u.uses))
		u.uses = append(u.uses, use{})
	}
	return &u.uses[u.slot[r]]
}

// get is nil for a range without GPU work.
func (u *usage) get(r int) *use {
	if u.slot[r] == None {
		return nil
	}
	return &u.uses[u.slot[r]]
}

func (t *Timeline) opBytes(op *Op) int64 {
	switch op.Kind {
	case OpCopy:
		return t.Copies[op.Index].Bytes
	case OpSet:
		return t.Sets[op.Index].Bytes
	}
	return 0
}

// RegionRows sums the ranges by region path, ordered by time on the GPU.
// Rows with equal time come by time on the host, then by path.
func (t *Timeline) RegionRows(q Query) Rows[RegionRow] {
	var beside sync.WaitGroup
	var busy []int64
	if q.all() {
		beside.Go(func() { busy = t.busyWithin(nil) })
	}
	a := t.Attribute()
	beside.Wait()
	a.all.busy = busy
	rows := a.regionRows(q)
	rows.Warnings = append(rows.Warnings, a.Warnings...)
	return rows
}

func (a *Attribution) regionRows(q Query) Rows[RegionRow] {
	var rows []RegionRow
	var over bool
	devices := []int32{-1}
	if q.By&ByDevice != 0 {
		devices = a.t.devices()
	}
	for _, device := range devices {
		part := q
		if q.By&ByDevice != 0 {
			if !q.wantDevice(device) {
				continue
			}
			part.Devices = []int{int(device)}
		}
		sums := a.regionsOf(&part)
		rows, over = append(rows, sums.list()...), over || sums.over
	}
	return sortRegions(rows, over, q.Top)
}

func sortRegions(rows []RegionRow, over bool, top int) Rows[RegionRow] {
	slices.SortStableFunc(rows, compareRegions)
	out := cutTop(rows, top)
	if over {
		out.Warnings = append(out.Warnings, fact.New(CodeOverflow))
	}
	return out
}

func compareRegions(x, y RegionRow) int {
	return cmp.Or(
		cmp.Compare(y.BusyNS, x.BusyNS),
		cmp.Compare(y.RangeNS, x.RangeNS),
		cmp.Compare(x.Path, y.Path),
		cmp.Compare(x.Domain, y.Domain),
		cmp.Compare(x.Style, y.Style),
	)
}

func (t *Timeline) devices() []int32 {
	var list []int32
	for _, q := range t.Queues {
		list = append(list, q.Device)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

type regionKey struct {
	node    uint32
	process uint32
}

// middle is the median of sorted numbers, of which there is one; between two it is
// their mean, rounded up.
func middle(sorted []int64) int64 {
	low, high := sorted[(len(sorted)-1)/2], sorted[len(sorted)/2]
	return low + (high-low+1)/2
}

// spread tells how long single instances lasted, of which there is one.
func (row *RegionRow) spread(lasted *Sample) {
	low, high := lasted.middle()
	row.MinNS, row.MedianNS, row.MaxNS = lasted.min, middle([]int64{low, high}), lasted.max
	lasted.Each(func(ns, n int64) {
		if ns > 2*row.MedianNS {
			row.Outliers += n
		}
	})
}

// groupPaths gives each region the path of its group, in which ids are taken out,
// numbers that count instances are "#" and steps of a serving engine go by their kind, and the region
// of that group that was opened first.
func (a *Attribution) groupPaths() (paths []string, first []uint32) {
	var g nvtx.Grouper
	for id := 1; id < len(a.nodes); id++ {
		g.Add(a.Path(a.nodes[id].parent), a.nodeName(uint32(id)))
	}
	type group struct {
		path string
		kind RangeKind
	}
	paths, first = make([]string, len(a.nodes)), make([]uint32, len(a.nodes))
	seen, begun := map[group]uint32{}, a.firstOpened()
	stacks := make([][]nvtx.Range, len(a.nodes))
	for id := 1; id < len(a.nodes); id++ { // a parent has the lower number
		n := &a.nodes[id]
		name := g.Group(a.Path(n.parent), a.nodeName(uint32(id)))
		if s, ok := engine.ParseStep(a.nodeName(uint32(id))); ok && s.Kind != engine.Unknown {
			name = string(s.Kind)
		}
		stacks[id] = append(slices.Clip(stacks[n.parent]), nvtx.Range{Name: name, Domain: a.t.Name(n.key.domain)})
		paths[id] = nvtx.Path(stacks[id])
		key := group{paths[id], n.key.kind}
		if old, ok := seen[key]; !ok || begun[old].later(begun[id]) {
			seen[key] = uint32(id)
		}
	}
	for id := 1; id < len(a.nodes); id++ {
		first[id] = seen[group{paths[id], a.nodes[id].key.kind}]
	}
	return paths, first
}

// firstOpened is, by region, that of its ranges that was opened first.
func (a *Attribution) firstOpened() []opening {
	if a.begun != nil {
		return a.begun
	}
	begun, any := make([]opening, len(a.nodes)), make([]bool, len(a.nodes))
	for i, id := range a.rangeNode {
		if at := a.opening(uint32(i)); !any[id] || begun[id].later(at) {
			begun[id], any[id] = at, true
		}
	}
	return begun
}

// credit adds the work of one instance. What a start/end region has of it is
// added by creditOnce, save where the instances are measured one by one.
func (row *RegionRow) credit(u *use, over *bool) {
	accrue(&row.ProjectedNS, u.projection(), over)
	accrue(&row.BusyNS, u.busy, over)
	accrue(&row.IdleNS, u.idle(), over)
	if row.Style == PushPop.String() {
		row.creditOnce(u, over)
	}
}

func (row *RegionRow) creditOnce(u *use, over *bool) {
	row.KernelCalls += u.kernels
	accrue(&row.InclusiveNS, u.kernelNS, over)
	row.ExclusiveCalls += u.ownKernels
	accrue(&row.ExclusiveNS, u.ownNS, over)
	row.GPUOps += u.ops
	accrue(&row.CopyNS, u.copyNS, over)
	accrue(&row.CopyBytes, u.copyBytes, over)
	row.GraphLaunches += u.graphs
	accrue(&row.GraphNS, u.graphNS, over)
	*over = *over || u.over
}

func (a *Attribution) newRegion(id uint32, q *Query, process uint32) *RegionRow {
	n := &a.nodes[id]
	row := &RegionRow{
		Path: a.Path(id), Name: a.nodeName(id), Domain: a.t.Name(n.key.domain),
		Style: n.key.kind.String(), Depth: n.depth,
	}
	if n.key.kind == StartEnd {
		row.SameThread = &SameThread{}
	}
	if q.By&ByDevice != 0 {
		row.Device = new(q.Devices[0])
	}
	if q.By&ByProcess != 0 {
		row.Process = new(a.t.pid(process))
	}
	return row
}

// nodeFilter tells for each region path whether the query's region holds in it.
func (a *Attribution) nodeFilter(q *Query) []bool {
	keep := make([]bool, len(a.nodes))
	for id := 1; id < len(keep); id++ {
		keep[id] = q.Region == nil || q.Region(a.nodeState(uint32(id)))
	}
	return keep
}

// opFilter keeps work by device, process and kernel name; nil where all is kept.
func (t *Timeline) opFilter(q *Query, a *Attribution) func(*Op) bool {
	if q.all() {
		return nil
	}
	named := *q
	named.Region = nil
	kernels := t.kernelFilter(&named, a)
	queues := t.queueFilter(q)
	return func(op *Op) bool {
		if op.Kind == OpKernel {
			return kernels(op.Index, &t.Kernels[op.Index])
		}
		return q.Kernel == nil && queues[op.Queue]
	}
}

func (t *Timeline) pid(process uint32) int {
	if int(process) < len(t.Processes) {
		return t.Processes[process].PID
	}
	return 0
}
