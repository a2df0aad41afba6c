package timeline

import "slices"

// RangeNode is the region path of range i, by its number.
func (a *Attribution) RangeNode(i int) uint32 { return a.rangeNode[i] }

// Launch is the call that launched a piece of work, by its index in
// Timeline.Calls, or None.
func (a *Attribution) Launch(op Op) uint32 { return a.callOf(&op) }

// OpenSince is the start of the earliest range that was open around a launching
// call; false outside every range.
// ns on the clock of the capture.
func (a *Attribution) OpenSince(call uint32) (start int64, ok bool) {
	if call == None {
		return 0, false
	}
	take := func(r uint32) {
		if at := a.t.Ranges[r].Start; !ok || at < start {
			start, ok = at, true
		}
	}
	for _, r := range a.innermost(call) {
		for a.rangeParent[r] != None {
			r = a.rangeParent[r]
		}
		take(r)
	}
	for _, r := range a.openAround(call) {
		take(r)
	}
	return start, ok
}

// RangesAround visits every range that was open around a launching call.
// Of each stack the innermost comes first, then what is around it; start/end ranges come last.
func (a *Attribution) RangesAround(call uint32, visit func(r uint32)) {
	if call == None {
		return
	}
	for _, r := range a.innermost(call) {
		for ; r != None; r = a.rangeParent[r] {
			visit(r)
		}
	}
	for _, r := range a.openAround(call) {
		visit(r)
	}
}

// RangesInTurn is RangesAround for calls one after the other, many of which lie
// between the same ranges: it lists those that keep tells, in the same order. The
// list holds until the next call.
func (a *Attribution) RangesInTurn(keep func(r uint32) bool) func(call uint32) []uint32 {
	var list []uint32
	var last uint64
	known := false
	return func(call uint32) []uint32 {
		if call == None {
			return nil
		}
		if s := a.state(call); !known || s != last {
			list, last, known = list[:0], s, true
			a.RangesAround(call, func(r uint32) {
				if keep(r) {
					list = append(list, r)
				}
			})
		}
		return list
	}
}

// RegionRows sums the ranges by region path, ordered by time on the GPU.
// Of a flow that was written to tape, a query may choose nothing and be grouped alone.
func (a *Attribution) RegionRows(q Query) Rows[RegionRow] {
	switch {
	case a.passed == nil:
		return a.regionRows(q)
	case q.Grouped:
		return sortRegions(slices.Clone(a.passed[1]), a.passedOver, q.Top)
	}
	return sortRegions(slices.Clone(a.passed[0]), a.passedOver, q.Top)
}

// EachOp visits all GPU work, kind by kind, in the order of the file.
func (t *Timeline) EachOp(visit func(Op)) { t.eachOp(visit) }
