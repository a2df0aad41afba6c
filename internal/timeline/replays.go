package timeline

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"
)

// Replays tells of every region in which work was captured into CUDA graphs how often
// each of its ranges was replayed, in the order in which they were opened. It is a
// mean over the nodes that were captured in the range itself: where a file begins or
// ends within a replay, it is no whole number. A range around others was replayed as
// often as the one of these that was replayed most. The timeline is one of Captured.
func (t *Timeline) Replays(q Query) map[string][]float64 {
	a := t.Attribute()
	keep := t.opFilter(&q, a)
	type node struct {
		time int64 // of its creation
		what OpKind
	}
	captures := map[uint32]map[node]int64{} // by range: how often each node ran
	t.eachOp(func(op Op) {
		if t.graphNode(op) == 0 || keep != nil && !keep(&op) {
			return
		}
		call := a.callOf(&op)
		if call == None {
			return
		}
		r := a.rangeAround(call)
		if r == None {
			return
		}
		if captures[r] == nil {
			captures[r] = map[node]int64{}
		}
		captures[r][node{t.Calls.Start(call), op.Kind}]++
	})
	replays := a.rangeReplays(func(yield func(uint32, float64) bool) {
		for r, nodes := range captures {
			var ran int64
			for _, n := range nodes {
				ran += n
			}
			if !yield(r, float64(ran)/float64(len(nodes))) {
				return
			}
		}
	})
	order := slices.Collect(maps.Keys(replays))
	slices.SortFunc(order, func(x, y uint32) int {
		return cmp.Or(cmp.Compare(t.Ranges[x].Start, t.Ranges[y].Start), cmp.Compare(x, y))
	})
	out := map[string][]float64{}
	for _, r := range order {
		path := a.Path(a.rangeNode[r])
		out[path] = append(out[path], replays[r])
	}
	return out
}

// rangeReplays adds the ranges around those that were captured in.
func (a *Attribution) rangeReplays(own iter.Seq2[uint32, float64]) map[uint32]float64 {
	all, around := map[uint32]float64{}, map[uint32]float64{}
	for r, n := range own {
		all[r] = n
		for p := a.rangeParent[r]; p != None; p = a.rangeParent[p] {
			around[p] = max(around[p], n)
		}
	}
	for r, n := range around {
		if _, ok := all[r]; !ok {
			all[r] = n
		}
	}
	return all
}

// graphNode is the node of a CUDA graph that a piece of work replays; 0 for others.
func (t *Timeline) graphNode(op Op) int64 {
	switch op.Kind {
	case OpKernel:
		return t.Kernels[op.Index].GraphNode
	case OpCopy:
		return t.Copies[op.Index].GraphNode
	case OpSet:
		return t.Sets[op.Index].GraphNode
	}
	return 0
}

// WithReplays gives regions the instances that ran: of a range that was captured, its
// replays stand in its place.
func WithReplays(rows []RegionRow, replays map[string][]float64) []RegionRow {
	if len(replays) == 0 {
		return rows
	}
	rows = slices.Clone(rows)
	for i := range rows {
		of := replays[rows[i].Path]
		ran := 0.0
		for _, n := range of {
			ran += n
		}
		rows[i].Instances += int64(math.Round(ran)) - int64(len(of))
	}
	return rows
}
