package timeline

import (
	"math"
	"slices"

	"github.com/deepprof/deepprof/internal/nvtx"
)

// A Captured is a timeline in which work that a CUDA graph replayed belongs to
// the ranges that were open when its node was captured, instead of those open
// when the graph was launched. All other work stands as it was.
type Captured struct {
	*Timeline
	CaptureCoverage
}

// LaunchedIn is the timeline with the kernels alone that were launched while match
// holds.
// Everything but the list of kernels is shared with t.
func (t *Timeline) LaunchedIn(match func(nvtx.State) bool) *Timeline {
	made, in := *t, t.Attribute().KernelMatcher(match)
	made.Kernels = nil
	for i := range t.Kernels {
		if in(i) {
			made.Kernels = append(made.Kernels, t.Kernels[i])
		}
	}
	return &made
}

// CaptureCoverage is how much work of CUDA graphs has a place of capture.
type CaptureCoverage struct {
	// Replayed is the work of graph nodes, Found the part of it whose capture is
	// known. The rest is outside every range. Early is the part of Found that was
	// captured before the file begins, whose ranges only an earlier window has.
	Replayed, Found, Early Replays
	// Whole are launches of graphs that were traced as a whole: nothing tells the
	// kernels in them, nor where these were captured.
	Whole Replays
	// NodeRows is how many nodes the file tells of; 0 where graphs were traced as
	// a whole, or not at all.
	NodeRows int
}

// Replays counts pieces of work and their time on the GPU.
// A piece that ends before it starts, as in a damaged file, counts with 0 ns.
type Replays struct {
	Count int64 `json:"count"`
	NS    int64 `json:"ns"`
}

func (r *Replays) add(start, end int64) {
	r.Count++
	r.NS += max(0, Since(start, end))
}

// Captured follows kernel, copy and set to the node that they replay, from a
// clone to its original, and to the thread and moment at which that was
// captured. Nodes are told apart by process, because their ids are its own.
//
// The result shares everything with t but calls and work: a call stands for the
// creation of each node, so that attribution needs to know nothing of graphs.
func (t *Timeline) Captured() *Captured { return t.captured(false) }

// CapturedOrLaunched is Captured, but work whose ranges of capture are not known stays
// in those around the launch of its graph.
func (t *Timeline) CapturedOrLaunched() *Captured { return t.captured(true) }

func (t *Timeline) captured(orLaunched bool) *Captured {
	c := &Captured{CaptureCoverage: CaptureCoverage{NodeRows: len(t.GraphNodes)}}
	for i := range t.Graphs {
		c.Whole.add(t.Graphs[i].Start, t.Graphs[i].End)
	}
	made := *t
	c.Timeline = &made
	made.Calls = t.Calls.clone(len(t.GraphNodes))
	made.Kernels = append([]Kernel(nil), t.Kernels...)
	made.Copies = append([]Copy(nil), t.Copies...)
	made.Sets = append([]Set(nil), t.Sets...)
	creations := newCreations(&made, t.GraphNodes)
	move := func(node int64, queue uint32, start, end int64, correlation *uint32) {
		if node == 0 {
			return
		}
		c.Replayed.add(start, end)
		id, ok := creations.correlation(t.Queues[queue].Process, node)
		early := ok && creations.early[id]
		if !orLaunched || ok && !early {
			*correlation = id
		}
		if ok {
			c.Found.add(start, end)
		}
		if early {
			c.Early.add(start, end)
		}
	}
	for i := range made.Kernels {
		k := &made.Kernels[i]
		move(k.GraphNode, k.Queue, k.Start, k.End, &k.Correlation)
	}
	for i := range made.Copies {
		k := &made.Copies[i]
		move(k.GraphNode, k.Queue, k.Start, k.End, &k.Correlation)
	}
	for i := range made.Sets {
		k := &made.Sets[i]
		move(k.GraphNode, k.Queue, k.Start, k.End, &k.Correlation)
	}
	return c
}

// Captured is the attribution in which kernels that a CUDA graph replayed have the
// place in which their node was captured. Everything else of it, the calls of these
// kernels too, is as in a.
// Its list of places begins with that of a; the places of capture follow. So two numbers can
// stand for the same regions, and more than one for outside every region.
func (a *Attribution) Captured() *Attribution {
	a.findPlaces()
	replayed := *a.t
	replayed.Kernels, replayed.Copies, replayed.Sets, replayed.Graphs, replayed.Calls = nil, nil, nil, nil, Calls{}
	var from []int
	for i := range a.t.Kernels {
		if k := &a.t.Kernels[i]; k.GraphNode != 0 {
			replayed.Kernels, from = append(replayed.Kernels, *k), append(from, i)
		}
	}
	captured := replayed.Captured().Attribute() // whose regions have the same numbers: the ranges are the same
	captured.findPlaces()
	made, all := *a, *a.places
	made.places = &all
	before := uint32(len(all.list))
	all.list, all.kernel = slices.Concat(all.list, captured.places.list), runs{}
	next := 0
	for i := range uint32(len(a.t.Kernels)) {
		place := uint32(0)
		if next < len(from) && from[next] == int(i) {
			place = before + captured.places.kernel.at(uint32(next))
			next++
		} else {
			place = a.places.kernel.at(i)
		}
		all.kernel.add(place)
	}
	return &made
}

// creations hands out calls that stand for the creation of nodes.
// Their correlations are above all those of the calls of the process, so that none is used twice.
type creations struct {
	nodeRows
	t     *Timeline
	made  map[nodeOf]uint32 // correlation of the call made for a node
	early map[uint32]bool   // correlations of nodes that were captured before the file begins
	next  []uint32          // by process: the next free correlation
}

type nodeOf struct {
	process uint32
	node    int64
}

// nodeRows are the nodes of the file. Ids of graphs are reused only after the
// graph is gone, and then the later capture is the one that is replayed.
type nodeRows struct {
	nodes []GraphNode
	rows  map[nodeOf]int32 // index into nodes; the latest creation counts
}

func (t *Timeline) nodeRows(nodes []GraphNode) nodeRows {
	c := nodeRows{nodes: nodes, rows: make(map[nodeOf]int32, len(nodes))}
	for i := range nodes {
		c.rows[nodeOf{t.ThreadProcess(nodes[i].Thread), nodes[i].Node}] = int32(i)
	}
	return c
}

func newCreations(t *Timeline, nodes []GraphNode) *creations {
	c := &creations{nodeRows: t.nodeRows(nodes), t: t, made: map[nodeOf]uint32{}, early: map[uint32]bool{}, next: make([]uint32, len(t.Processes))}
	for i := range uint32(t.Calls.Len()) {
		id := t.Calls.Correlation(i)
		if p := t.ThreadProcess(t.Calls.Thread(i)); int(p) < len(c.next) && id != NoCorrelation && id >= c.next[p] {
			c.next[p] = id + 1
		}
	}
	return c
}

// correlation is that of the call for the creation of a node; false where the
// chain to it is broken.
func (c *creations) correlation(process uint32, node int64) (uint32, bool) {
	key := nodeOf{process, node}
	if id, ok := c.made[key]; ok {
		return id, id != NoCorrelation
	}
	id := uint32(NoCorrelation)
	if i, ok := c.original(key); ok && int(process) < len(c.next) && c.next[process] < math.MaxUint32-1 {
		row := &c.nodes[i]
		id = c.next[process]
		c.next[process]++
		c.early[id] = c.early[id] || row.Time < 0 && (c.t.recalledFrom == 0 || row.Time < c.t.recalledFrom)
		c.t.Calls.Add(Call{Start: row.Time, End: row.Time, Correlation: id, Thread: row.Thread})
	}
	c.made[key] = id
	return id, id != NoCorrelation
}

// original follows clones to the node that was captured, by its place in nodes. A chain that
// does not end is broken.
func (c *nodeRows) original(key nodeOf) (int32, bool) {
	for range 64 {
		i, ok := c.rows[key]
		if !ok {
			return 0, false
		}
		row := &c.nodes[i]
		next := nodeOf{key.process, row.Original}
		if _, known := c.rows[next]; row.Original == 0 || !known {
			return i, row.Original == 0
		}
		key = next
	}
	return 0, false
}
