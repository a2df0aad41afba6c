package timeline

import (
	"cmp"
	"slices"
	"sort"
)

// hostRanges tell which range of the default domain was innermost on a thread at a
// moment: the module, or the part of the program, that ran there.
type hostRanges [][]hostTurn // by thread, in order of time

// A hostTurn is a moment at which another range became the innermost one.
type hostTurn struct {
	at    int64
	depth int // of the range that opens, negative where it closes: inner ones close first
	node  uint32
}

// hostRanges lists the turns of every thread. Ranges of start/end belong to no
// thread and are left out.
func (a *Attribution) hostRanges() hostRanges {
	out := make(hostRanges, len(a.t.Threads))
	for i := range a.t.Ranges {
		r := &a.t.Ranges[i]
		node := a.RangeNode(i)
		if r.Kind != PushPop || int(r.Thread) >= len(out) || r.End <= r.Start || node == 0 || a.nodes[node].key.domain != 0 {
			continue
		}
		n := &a.nodes[node]
		out[r.Thread] = append(out[r.Thread], hostTurn{r.Start, n.depth + 1, node}, hostTurn{r.End, -n.depth - 1, n.parent})
	}
	for _, list := range out {
		slices.SortStableFunc(list, func(x, y hostTurn) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.depth, y.depth)) })
	}
	return out
}

// most is the range that was innermost longest between two moments; 0 for outside
// every range. times is for its use.
func (h hostRanges) most(thread uint32, from, to int64, times map[uint32]int64) uint32 {
	if int(thread) >= len(h) || from >= to {
		return 0
	}
	list := h[thread]
	i := sort.Search(len(list), func(i int) bool { return list[i].at > from })
	if i == len(list) || list[i].at >= to { // one range all the time, as a rule
		if i == 0 {
			return 0
		}
		return list[i-1].node
	}
	clear(times)
	h.add(thread, from, to, times)
	return mostNode(times)
}

// add gives every range the time between two moments in which it was the innermost
// one of a thread; 0 stands for outside every range.
func (h hostRanges) add(thread uint32, from, to int64, into map[uint32]int64) {
	if int(thread) >= len(h) || from >= to {
		return
	}
	list := h[thread]
	i := sort.Search(len(list), func(i int) bool { return list[i].at > from }) - 1
	for at := from; at < to; i++ {
		node, until := uint32(0), to
		if i >= 0 {
			node = list[i].node
		}
		if i+1 < len(list) {
			until = min(to, list[i+1].at)
		}
		if until > at {
			into[node] += until - at
		}
		at = until
	}
}
