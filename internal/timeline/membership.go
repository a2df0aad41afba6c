package timeline

import "slices"

// Launch is the call that launched a piece of work, by its index in
// Timeline.Calls, or None.
func (a *Attribution) Launch(op Op) uint32 { return a.callOf(&op) }

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
