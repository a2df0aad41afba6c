package timeline

import (
	"cmp"
	"slices"
	"sort"
)

// A Tile is a part of a timeline, ready to be drawn. Times are ns from the start of the
// timeline, which is its first event.
type Tile struct {
	LengthNS int64    `json:"length_ns"` // of the whole timeline
	StartNS  int64    `json:"start_ns"`
	EndNS    int64    `json:"end_ns"`
	Names    []string `json:"names"` // of boxes
	// Lanes are those of ranges, then of kernels, then of copies; never null.
	Lanes []TileLane `json:"lanes"`
	// Events are how many the tile has, by kind of lane; a kind without any is absent.
	Events map[string]int `json:"events"`
}

// A TileLane is the work of a stream, or the ranges of a thread at one depth.
type TileLane struct {
	Kind string `json:"kind"` // nvtx, kernel, copy
	// Of is the process, GPU and stream, or of ranges the thread and the depth.
	Of     [3]int `json:"-"`
	Events int    `json:"events"` // in the tile
	// Boxes are by start; never null.
	Boxes []TileBox `json:"boxes"`
}

// A TileBox is an event, or several that lie together with their busy time. Keys are short:
// a tile has thousands of them.
type TileBox struct {
	Start int64 `json:"s"` // from the start of the timeline
	Len   int64 `json:"d"`
	Name  int   `json:"n"` // the longest event's, index into names
	// Events that the box stands for; BusyNS is their union, which is Len for one.
	Events int   `json:"c"`
	BusyNS int64 `json:"b"`
}

// A Drawing is a timeline as lanes of events, out of which tiles are cut.
type Drawing struct {
	LengthNS int64    // 0 for a timeline without events
	names    []string // of events
	lanes    []drawnLane
}

// A drawnLane is all events of a lane.
type drawnLane struct {
	kind string
	of   [3]int
	// events are by start; several may run at the same time.
	events  []drawnEvent
	longest int64 // event: one that begins before a tile may reach into it
}

// A drawnEvent is in ns; before fromZero by the clock of the file, then from its start.
type drawnEvent struct {
	// start, end: end is not before start.
	start, end int64
	name       uint32 // index into Drawing.names
}

// A laneKey is what the events of a lane have in common.
type laneKey struct {
	// kind is nvtx, kernel or copy.
	kind  string
	of    uint32 // queue, or thread of ranges
	depth int    // of ranges
}

// numbers are those that tell a lane from others of its kind; lanes are ordered by them.
func (k laneKey) numbers(t *Timeline) [3]int {
	if k.kind == "nvtx" {
		return [3]int{t.Threads[k.of].TID, k.depth}
	}
	q := &t.Queues[k.of]
	return [3]int{t.Processes[q.Process].PID, int(q.Device), int(q.Stream)}
}

// Draw makes lanes of the ranges of threads by depth, and of the work of streams. Names are
// shared with the timeline, which can go.
// Lanes without an event are not made.
func (t *Timeline) Draw() *Drawing {
	lanes := map[laneKey]*drawnLane{}
	add := func(key laneKey, start, end int64, name uint32) {
		if lanes[key] == nil {
			lanes[key] = &drawnLane{kind: key.kind, of: key.numbers(t)}
		}
		lanes[key].events = append(lanes[key].events, drawnEvent{start, max(start, end), name})
	}
	d := &Drawing{names: append(slices.Clip(slices.Clone(t.Names)), "copy")}
	t.drawRanges(add)
	for i := range t.Kernels {
		k := &t.Kernels[i]
		add(laneKey{"kernel", k.Queue, 0}, k.Start, k.End, uint32(t.Functions[k.Function].Short))
	}
	for i := range t.Copies {
		c := &t.Copies[i]
		add(laneKey{"copy", c.Queue, 0}, c.Start, c.End, uint32(len(t.Names)))
	}
	for _, l := range lanes {
		d.lanes = append(d.lanes, *l)
	}
	slices.SortFunc(d.lanes, func(a, b drawnLane) int {
		return cmp.Or(-cmp.Compare(a.kind, b.kind), slices.Compare(a.of[:], b.of[:])) // nvtx above kernel above copy
	})
	d.fromZero()
	return d
}

// drawRanges gives each range of a thread the depth at which it lies in others.
func (t *Timeline) drawRanges(add func(key laneKey, start, end int64, name uint32)) {
	order := make([]int, len(t.Ranges))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &t.Ranges[a], &t.Ranges[b]
		return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(y.End, x.End))
	})
	open := map[uint32][]int64{} // ends of the ranges that are open, by thread
	for _, i := range order {
		r := &t.Ranges[i]
		if int(r.Thread) >= len(t.Threads) {
			continue
		}
		ends := open[r.Thread]
		for len(ends) > 0 && ends[len(ends)-1] <= r.Start {
			ends = ends[:len(ends)-1]
		}
		add(laneKey{"nvtx", r.Thread, len(ends)}, r.Start, r.End, uint32(r.Name))
		open[r.Thread] = append(ends, r.End)
	}
}

// fromZero sorts events and lets the timeline begin at 0, whatever the clock of the file.
func (d *Drawing) fromZero() {
	first, last := int64(0), int64(0)
	any := false
	for i := range d.lanes {
		l := &d.lanes[i]
		slices.SortStableFunc(l.events, func(a, b drawnEvent) int { return cmp.Compare(a.start, b.start) })
		for _, e := range l.events {
			if !any || e.start < first {
				first = e.start
			}
			if !any || e.end > last {
				last = e.end
			}
			any = true
			l.longest = max(l.longest, e.end-e.start)
		}
	}
	for i := range d.lanes {
		for j := range d.lanes[i].events {
			e := &d.lanes[i].events[j]
			e.start, e.end = e.start-first, e.end-first
		}
	}
	d.LengthNS = last - first
}

// Cut makes a tile of width boxes a lane.
// Times are ns from the start of the timeline; names hold only those of the tile.
func (d *Drawing) Cut(start, end int64, width int) Tile {
	out := Tile{LengthNS: d.LengthNS, StartNS: start, EndNS: end, Names: []string{}, Lanes: []TileLane{}, Events: map[string]int{}}
	numbers := map[uint32]int{}
	for i := range d.lanes {
		lane := d.lanes[i].cut(start, end, width, func(name uint32) int {
			n, ok := numbers[name]
			if !ok {
				n = len(out.Names)
				numbers[name] = n
				out.Names = append(out.Names, d.names[name])
			}
			return n
		})
		out.Lanes = append(out.Lanes, lane)
		out.Events[lane.Kind] += lane.Events
	}
	return out
}

// cut joins events that begin in the same part of the tile.
// Boxes are in order of start and have whole events: one may begin before the tile and
// end after it.
func (l *drawnLane) cut(start, end int64, width int, number func(uint32) int) TileLane {
	out := TileLane{Kind: l.kind, Of: l.of, Boxes: []TileBox{}}
	bin := max(1, (end-start+int64(width)-1)/int64(width))
	from := sort.Search(len(l.events), func(i int) bool { return l.events[i].start >= start-l.longest })
	at, longest := int64(-1), int64(0)
	for _, e := range l.events[from:] {
		if e.start >= end {
			break
		}
		if e.end < start {
			continue
		}
		out.Events++
		n, length := max(0, e.start-start)/bin, e.end-e.start
		if n != at || len(out.Boxes) == 0 {
			out.Boxes = append(out.Boxes, TileBox{Start: e.start, Len: length, Name: number(e.name), Events: 1, BusyNS: length})
			at, longest = n, length
			continue
		}
		b := &out.Boxes[len(out.Boxes)-1]
		ran := b.Start + b.Len // until then one of them runs, or ran last
		b.Len, b.Events, b.BusyNS = max(b.Len, e.end-b.Start), b.Events+1, b.BusyNS+max(0, e.end-max(e.start, ran))
		if length > longest {
			longest, b.Name = length, number(e.name)
		}
	}
	return out
}
