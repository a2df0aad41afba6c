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

	// Of a flow: turns that others may still come before.
	ahead      minHeap[aheadTurn]
	held, most int // turns that are listed, and that may be before old ones are dropped
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
	h := a.noHostRanges()
	for i := range a.t.Ranges {
		if opens, closes, ok := a.turns(uint32(i)); ok && int(a.t.Ranges[i].Thread) < len(h.threads) {
			list := &h.threads[a.t.Ranges[i].Thread]
			*list = append(*list, opens, closes)
		}
	}
	for th, list := range h.threads {
		h.threads[th] = sortTurns(list)
	}
	return h
}

func (a *Attribution) noHostRanges() *hostRanges {
	return &hostRanges{threads: make([][]hostTurn, len(a.t.Threads)), near: make([]int, len(a.t.Threads)), ahead: minHeap[aheadTurn]{less: (*aheadTurn).before}}
}

// turns are those of a range; false where it makes none.
func (a *Attribution) turns(r uint32) (opens, closes hostTurn, ok bool) {
	rng, node := &a.t.Ranges[r], a.rangeNode[r]
	n := &a.nodes[node]
	if rng.Kind != PushPop || rng.End <= rng.Start || node == 0 || n.key.domain != 0 {
		return opens, closes, false
	}
	depth := int32(n.depth + 1)
	return hostTurn{rng.Start, depth, node}, hostTurn{rng.End, -depth, n.parent}, true
}

// An aheadTurn is a turn of a flow on its way to the others of its thread.
type aheadTurn struct {
	hostTurn
	thread uint32
	number uint32 // of its range in the file
}

// before is the order of sortTurns.
func (x *aheadTurn) before(y *aheadTurn) bool {
	return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.depth, y.depth), cmp.Compare(x.number, y.number)) < 0
}

// open takes the next range of a flow.
func (h *hostRanges) open(a *Attribution, r uint32) {
	thread := a.t.Ranges[r].Thread
	if opens, closes, ok := a.turns(r); ok && int(thread) < len(h.threads) {
		h.ahead.push(aheadTurn{opens, thread, a.rangeNumber[r]})
		h.ahead.push(aheadTurn{closes, thread, a.rangeNumber[r]})
	}
}

// settle lists the turns before a moment; all ranges that start before that must be open.
// Where there are many, it forgets those that nobody asks for any more: horizon is asked
// only then.
func (h *hostRanges) settle(until int64, horizon func() int64) {
	for len(h.ahead.list) > 0 && h.ahead.list[0].at < until {
		turn := h.ahead.pop()
		h.threads[turn.thread] = append(h.threads[turn.thread], turn.hostTurn)
		h.held++
	}
	if h.held < max(h.most, leastTurns) {
		return
	}
	from := horizon()
	h.held = 0
	for th, list := range h.threads {
		n := sort.Search(len(list), func(i int) bool { return list[i].at > from }) - 1 // the last by then counts on
		if n > 0 {
			h.threads[th], h.near[th] = slices.Delete(list, 0, n), max(0, h.near[th]-n)
		}
		h.held += len(h.threads[th])
	}
	h.most = 2 * h.held
}

// leastTurns is how many turns of a flow are held before any is dropped.
const leastTurns = 1 << 12

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

// longest is the range that was innermost longest between two moments; 0 for outside
// every range. times is for its use.
// It is cleared where needed; of equal times the lowest region counts.
func (h *hostRanges) longest(thread uint32, from, to int64, times map[uint32]int64) uint32 {
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
