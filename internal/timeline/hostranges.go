package timeline

import (
	"cmp"
	"slices"
	"sort"
)

// hostRanges tell which range of the default domain was innermost on a thread at a
// moment: the module, or the part of the program, that ran there.
// It is for one goroutine, since it remembers where it was.
type hostRanges struct {
	threads [][]hostTurn // in order of time
	near    []int        // by thread: the turn that was found last
}

// A hostTurn is a moment at which another range became the innermost one.
type hostTurn struct {
	at    int64
	depth int32 // of the range that opens, negative where it closes: inner ones close first
	node  uint32
}

// hostRanges lists the turns of every thread. Ranges of start/end belong to no
// thread and are left out.
func (a *Attribution) hostRanges() *hostRanges {
	h := &hostRanges{threads: make([][]hostTurn, len(a.t.Threads)), near: make([]int, len(a.t.Threads))}
	for i := range a.t.Ranges {
		r := &a.t.Ranges[i]
		node := a.RangeNode(i)
		if r.Kind != PushPop || int(r.Thread) >= len(h.threads) || r.End <= r.Start || node == 0 || a.nodes[node].key.domain != 0 {
			continue
		}
		n := &a.nodes[node]
		depth := int32(n.depth + 1)
		h.threads[r.Thread] = append(h.threads[r.Thread], hostTurn{r.Start, depth, node}, hostTurn{r.End, -depth, n.parent})
	}
	for th, list := range h.threads {
		h.threads[th] = sortTurns(list)
	}
	return h
}

// sortTurns puts turns by time, and those of one moment by depth.
func sortTurns(list []hostTurn) []hostTurn {
	order := upTo(len(list))
	SortByStart(order, func(i uint32) int64 { return list[i].at })
	sorted := make([]hostTurn, len(list))
	for i, from := range order {
		sorted[i] = list[from]
	}
	for from := 0; from < len(sorted); {
		to := from + 1
		for to < len(sorted) && sorted[to].at == sorted[from].at {
			to++
		}
		if to-from > 1 {
			slices.SortStableFunc(sorted[from:to], func(x, y hostTurn) int { return cmp.Compare(x.depth, y.depth) })
		}
		from = to
	}
	return sorted
}

// after is the first turn of a thread after a moment. Moments that are asked for follow
// each other, as a rule.
func (h *hostRanges) after(thread uint32, at int64) int {
	list, i := h.threads[thread], h.near[thread]
	for range 8 {
		switch {
		case i > 0 && list[i-1].at > at:
			i--
		case i < len(list) && list[i].at <= at:
			i++
		default:
			h.near[thread] = i
			return i
		}
	}
	i = sort.Search(len(list), func(i int) bool { return list[i].at > at })
	h.near[thread] = i
	return i
}

// most is the range that was innermost longest between two moments; 0 for outside
// every range. times is for its use.
// It is cleared where needed; of equal times the lowest region counts.
func (h *hostRanges) most(thread uint32, from, to int64, times map[uint32]int64) uint32 {
	if int(thread) >= len(h.threads) || from >= to {
		return 0
	}
	list := h.threads[thread]
	i := h.after(thread, from)
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
// ns are added to what is in the map.
func (h *hostRanges) add(thread uint32, from, to int64, into map[uint32]int64) {
	if int(thread) >= len(h.threads) || from >= to {
		return
	}
	list := h.threads[thread]
	i := h.after(thread, from) - 1
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
