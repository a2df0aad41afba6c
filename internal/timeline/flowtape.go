package timeline

import (
	"cmp"
	"slices"

	"github.com/deepprof/deepprof/internal/columns"
)

// FlowTape writes the kernels, calls and ranges of a flow to tape, with all other work of t;
// false where they must be in memory, or where more than one process or device did the work.
// What is asked of single kernels, calls or ranges of the attribution by their number cannot be
// answered, nor sums of regions by device or process. t has none of them afterwards, nor copies
// and sets.
func (t *Timeline) FlowTape(f Flow, store *columns.Store) (*Attribution, *Tape, bool) {
	a, ok := t.attributeRanges(f.Ranges())
	if !ok {
		return nil, nil, false
	}
	a.places, a.mainTimes = newPlaces(), &placeTimes{}
	a.places.graph = make([]uint32, len(t.Graphs))
	captured := a.capturePlaces(f)
	j := newFlowJoin(a, f)
	w := &flowTaper{captured: captured, taper: newTaper(a, store), join: j, uses: &flowUses{a: a}, busy: &flowBusy{t: t, live: j.live}}
	w.sums = [2]*regionSums{a.regionSums(&Query{}), a.regionSums(&Query{Grouped: true})}
	w.steps = a.stepRegions()
	j.times, j.number = true, w.call
	j.live.opened, j.live.closed = w.opened, w.closed
	if ok = t.flowOps(f, w.takePiece); !ok || !j.finish() {
		return nil, nil, false
	}
	w.busy.finish()
	j.live.end()
	a.passed = &[2][]RegionRow{w.sums[0].list(), w.sums[1].list()}
	a.passedOver = w.sums[0].over || w.sums[1].over
	byStart := func(x, y RangeRow) int { return cmp.Or(cmp.Compare(x.StartNS, y.StartNS), cmp.Compare(x.ID, y.ID)) }
	slices.SortFunc(w.stepRows, byStart)
	slices.SortFunc(w.Long, byStart)
	w.Steps = Steps(w.stepRows)
	tape := w.finish()
	t.Ranges, t.Copies, t.Sets, t.KernelsByStart = nil, nil, nil, true
	return a, tape, true
}

// A flowTaper writes a flow to tape, and sums up its regions meanwhile.
type flowTaper struct {
	*taper
	join     *flowJoin
	uses     *flowUses
	busy     *flowBusy
	sums     [2]*regionSums // by path, and by group
	steps    []bool         // as stepRegions tells
	stepRows []RangeRow
	places   []uint32 // of ranges on the tape, by their place in liveRanges
	sites    []*ThreadCalls
	last     tapedWork
	queue    uint32                                  // of the first piece
	serial   uint32                                  // of the set of ranges around the last piece
	any      bool                                    // there was one
	captured func(process uint32, node int64) uint32 // nil where no node was captured
}

// capturePlaces finds in which place nodes of CUDA graphs were captured; nil where none was.
func (a *Attribution) capturePlaces(f Flow) func(process uint32, node int64) uint32 {
	t := a.t
	if len(t.GraphNodes) == 0 {
		return nil
	}
	order := upTo(len(t.GraphNodes))
	SortByStart(order, func(i uint32) int64 { return t.GraphNodes[i].Time })
	places, l := make([]uint32, len(order)), newLiveRanges(a, f.Ranges())
	for _, i := range order {
		n := &t.GraphNodes[i]
		l.readUntil(n.Time)
		places[i] = a.placeOf(l.sets[l.sweep(n.Thread).around(n.Time, n.Time)].ranges, nil)
	}
	rows, known := t.nodeRows(t.GraphNodes), map[nodeOf]uint32{}
	return func(process uint32, node int64) uint32 {
		key := nodeOf{process, node}
		place, ok := known[key]
		if !ok {
			if i, found := rows.original(key); found {
				place = places[i]
			}
			known[key] = place
		}
		return place
	}
}

// opened takes a range that opens.
func (w *flowTaper) opened(r uint32) {
	w.uses.begin(r)
	w.busy.begin(r)
	parent := uint32(None)
	if around := w.a.rangeParent[r]; around != None {
		parent = w.places[around]
	}
	for int(r) >= len(w.places) {
		w.places = append(w.places, 0)
	}
	w.places[r] = uint32(w.ranges.Len())
	w.addRange(&w.a.t.Ranges[r], w.a.rangeNode[r], parent)
}

// closed takes a range of which nobody needs anything more.
func (w *flowTaper) closed(r uint32) {
	a, use, busy := w.a, w.uses.get(r), w.busy.within[r]
	for _, sums := range w.sums {
		sums.add(r, a.rangeNumber[r], use, busy, nil)
	}
	step := a.isStep(w.steps, r)
	if !step && len(a.t.Samples) == 0 {
		return
	}
	row := a.rangeRow(int(r), use, nil)
	row.ID = int(a.rangeNumber[r]) + 1
	if step {
		w.stepRows = append(w.stepRows, row)
	}
	if row.long() && len(a.t.Samples) > 0 {
		w.Long = append(w.Long, row)
	}
}

// long tells whether a range, or its work, lasts long enough for sampled counters.
func (r *RangeRow) long() bool { return r.RangeNS >= LongNS || r.ProjectedNS >= LongNS }

// call takes the next call, and gives its place among those of its thread.
func (w *flowTaper) call(c *FlowCall) uint32 {
	for int(c.Site) >= len(w.sites) {
		w.sites = append(w.sites, w.thread(w.a.t.Calls.sites[len(w.sites)].Thread))
	}
	th := w.sites[c.Site]
	n := th.calls.Len()
	if n > 0 && c.Start == th.start && c.End > th.end {
		w.join.broken = true // of calls that start at once the longest comes first
	}
	th.start, th.end = c.Start, c.End
	th.add(c.Start, c.End, c.Site)
	w.cover(c.Start, c.End)
	return uint32(n)
}

// takePiece takes the next piece of work; false where the flow cannot be written to tape.
func (w *flowTaper) takePiece(op *Op) bool {
	l, ok := w.join.launchOf(op)
	q := &w.a.t.Queues[op.Queue]
	if first := &w.a.t.Queues[w.queue]; w.any && (first.Process != q.Process || first.Device != q.Device) {
		return false
	}
	if !ok {
		return false
	}
	w.busy.add(op)
	set := &w.join.live.sets[l.set]
	w.uses.credit(op, set.ranges)
	if !set.around.known {
		set.around = placeRegion{true, w.a.placeOf(set.ranges, nil), w.a.nodeOf(set.ranges, nil)}
	}
	p := &w.last
	if !w.any {
		w.queue = op.Queue
	}
	if p.same = w.any && set.serial == w.serial; !p.same {
		w.any, w.serial, p.stacks = true, set.serial, p.stacks[:0]
		for _, r := range set.ranges {
			p.stacks = append(p.stacks, w.places[r])
		}
	}
	p.Op, p.bytes, p.call, p.start, p.end = op, w.a.t.opBytes(op), int64(l.number), l.Start, l.End
	// Field by field: a shape that is made elsewhere and copied costs a tenth of all of this.
	s := &p.shape
	s.Kind, s.Queue, s.Thread = op.Kind, op.Queue, w.sites[l.Site].Thread
	s.Place, s.Region, s.Captured = set.around.place, set.around.region, set.around.place
	w.a.t.describe(op, s)
	switch op.Kind {
	case OpKernel:
		if node := op.kernel.GraphNode; node != 0 && w.captured != nil {
			p.shape.Captured = w.captured(q.Process, node)
		}
		w.a.mainTimes.add(set.around.place, op.Start, op.End)
		w.cover(op.Start, op.End)
	case OpGraph:
		w.a.places.graph[op.Index] = set.around.place
	}
	w.add(p)
	return true
}
