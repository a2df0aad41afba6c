package web

import (
	"cmp"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/suggest"
	"github.com/deepprof/deepprof/internal/timeline"
)

// tileParams are the parameters of a tile.
var tileParams = []struct{ name, help string }{
	{name: "start_ns", help: "first moment of the tile, in nanoseconds from the start of the timeline; 0 where it is not given"},
	{name: "end_ns", help: "end of the tile; the end of the timeline where it is not given"},
	{name: "width", help: "boxes of a lane at most: shorter events that lie together are summed up; 1000 where it is not given"},
}

// partParam chooses one of several timelines.
const partParam = "part"

// Limits of a tile, and the timelines that stay in memory.
const (
	defaultWidth = 1000
	mostWidth    = 4000
	keptTiles    = 2
)

// A tile is a part of a timeline, ready to be drawn. Times are ns from the start of the
// timeline, which is its first event.
type tile struct {
	LengthNS int64 `json:"length_ns"` // of the whole timeline
	// StartNS and EndNS are from the start of the timeline, as LengthNS.
	StartNS int64      `json:"start_ns"`
	EndNS   int64      `json:"end_ns"`
	Part    string     `json:"part"`  // which of parts this is
	Parts   []string   `json:"parts"` // timelines of the run
	Names   []string   `json:"names"` // of boxes
	Lanes   []tileLane `json:"lanes"`
	// Events are how many the tile has, by kind of lane; a kind without any is absent.
	Events map[string]int `json:"events"`
}

// A tileLane is the work of a stream, or the ranges of a thread at one depth.
type tileLane struct {
	Kind   string `json:"kind"` // nvtx, kernel, copy
	Label  string `json:"label"`
	Events int    `json:"events"` // in the tile
	// Boxes are by start; never null.
	Boxes []tileBox `json:"boxes"`
}

// A tileBox is an event, or several that lie together with their busy time. Keys are short:
// a tile has thousands of them.
type tileBox struct {
	Start int64 `json:"s"` // from the start of the timeline
	Len   int64 `json:"d"`
	Name  int   `json:"n"` // the longest event's, index into names
	// Events that the box stands for; BusyNS is their union, which is Len for one.
	Events int   `json:"c"`
	BusyNS int64 `json:"b"`
}

// A drawn is a timeline as lanes of events, sorted by start. Events of a lane may
// overlap by a damaged file alone.
type drawn struct {
	length int64    // ns
	names  []string // of events
	lanes  []drawnLane
}

// A drawnLane is all events of a lane, by start.
type drawnLane struct {
	kind, label string
	order       [3]int // of lanes of a kind: process, GPU and stream, or thread and depth
	// events are by start; several may run at the same time.
	events  []drawnEvent
	longest int64 // event: one that begins before a tile may reach into it
}

// A drawnEvent is in ns; before fromZero by the clock of the file, then from its start.
type drawnEvent struct {
	// start, end: end is not before start.
	start, end int64
	name       uint32 // index into drawn.names
}

// A tileCache keeps the timelines that were asked for last.
// It is safe for concurrent use. An error is kept like a timeline, until the file
// changes or others push it out.
type tileCache struct {
	mu   sync.Mutex
	kept []keptTimeline // the newest last
}

// A keptTimeline is one file at one time of change; drawn reads it once.
type keptTimeline struct {
	path string
	// stamp is the time of the file when it was read: a file that changed is read again.
	stamp time.Time
	// drawn reads the file on its first call, and gives the same to all.
	drawn func() (*drawn, error)
}

// get reads a timeline, once for all who ask at the same time. One that is pushed out while
// somebody draws it stays with them.
func (c *tileCache) get(path string) (*drawn, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	i := slices.IndexFunc(c.kept, func(k keptTimeline) bool { return k.path == path && k.stamp.Equal(st.ModTime()) })
	var k keptTimeline
	if i >= 0 {
		k = c.kept[i]
		c.kept = slices.Delete(c.kept, i, i+1)
	} else {
		k = keptTimeline{path, st.ModTime(), sync.OnceValues(func() (*drawn, error) { return readDrawn(path) })}
	}
	c.kept = append(c.kept, k)
	if len(c.kept) > keptTiles {
		c.kept = slices.Delete(c.kept, 0, 1)
	}
	c.mu.Unlock()
	return k.drawn()
}

// readDrawn reads for every client that waits, so that no one of them can cancel
// it.
func readDrawn(path string) (*drawn, error) {
	ctx := context.Background()
	f, err := nsys.Open(ctx, path, nsys.OpenOptions{})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := f.Timeline(ctx, nsys.Kernels|nsys.Memory|nsys.NVTX|nsys.Machine)
	if err != nil {
		return nil, err
	}
	return draw(t), nil
}

// draw makes lanes of the ranges of threads by depth, and of the work of streams. Names are
// shared with the timeline, which can go.
// Lanes without an event are not made.
func draw(t *timeline.Timeline) *drawn {
	lanes := map[laneKey]*drawnLane{}
	add := func(key laneKey, start, end int64, name uint32) {
		if lanes[key] == nil {
			lanes[key] = &drawnLane{kind: key.kind}
		}
		lanes[key].events = append(lanes[key].events, drawnEvent{start, max(start, end), name})
	}
	d := &drawn{names: append(slices.Clip(slices.Clone(t.Names)), "copy")}
	drawRanges(t, add)
	for i := range t.Kernels {
		k := &t.Kernels[i]
		add(laneKey{"kernel", k.Queue, 0}, k.Start, k.End, uint32(t.Functions[k.Function].Short))
	}
	for i := range t.Copies {
		c := &t.Copies[i]
		add(laneKey{"copy", c.Queue, 0}, c.Start, c.End, uint32(len(t.Names)))
	}
	for key, l := range lanes {
		l.label, l.order = key.label(t)
		d.lanes = append(d.lanes, *l)
	}
	slices.SortFunc(d.lanes, func(a, b drawnLane) int {
		return cmp.Or(-cmp.Compare(a.kind, b.kind), slices.Compare(a.order[:], b.order[:])) // nvtx above kernel above copy
	})
	d.fromZero()
	return d
}

// A laneKey is what the events of a lane have in common.
type laneKey struct {
	// kind is nvtx, kernel or copy.
	kind  string
	of    uint32 // queue, or thread of ranges
	depth int    // of ranges
}

// label names a lane, with the numbers by which lanes of a kind are ordered.
func (k laneKey) label(t *timeline.Timeline) (string, [3]int) {
	if k.kind == "nvtx" {
		thread := t.Threads[k.of].TID
		return message.Phrase("tile-ranges", strconv.Itoa(thread), strconv.Itoa(k.depth)), [3]int{thread, k.depth}
	}
	q := &t.Queues[k.of]
	order := [3]int{t.Processes[q.Process].PID, int(q.Device), int(q.Stream)}
	return message.Phrase("tile-stream", strconv.Itoa(order[0]), strconv.Itoa(order[1]), strconv.Itoa(order[2])), order
}

// drawRanges gives each range of a thread the depth at which it lies in others.
func drawRanges(t *timeline.Timeline, add func(key laneKey, start, end int64, name uint32)) {
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

// fromZero sorts events and lets the timeline begin at 0, whatever the clock of the file. A
// timeline without events has length 0.
func (d *drawn) fromZero() {
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
	d.length = last - first
}

// cut makes a tile of width boxes a lane.
// Times are ns from the start of the timeline; names hold only those of the tile.
func (d *drawn) cut(start, end int64, width int) tile {
	out := tile{LengthNS: d.length, StartNS: start, EndNS: end, Names: []string{}, Lanes: []tileLane{}, Events: map[string]int{}}
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

// cut sums events that begin in the same part of the tile.
// Boxes are in order of start and have whole events: one may begin before the tile and
// end after it.
func (l *drawnLane) cut(start, end int64, width int, number func(uint32) int) tileLane {
	out := tileLane{Kind: l.kind, Label: l.label, Boxes: []tileBox{}}
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
			out.Boxes = append(out.Boxes, tileBox{Start: e.start, Len: length, Name: number(e.name), Events: 1, BusyNS: length})
			at, longest = n, length
			continue
		}
		b := &out.Boxes[len(out.Boxes)-1]
		b.Len, b.Events, b.BusyNS = max(b.Len, e.end-b.Start), b.Events+1, b.BusyNS+length
		if length > longest {
			longest, b.Name = length, number(e.name)
		}
	}
	return out
}

// timelines are those of a run by name: the path without its ending. Of a capture
// in two formats the SQLite export is taken.
func timelines(dir string) (names []string, files map[string]string) {
	files = map[string]string{}
	for _, path := range append(runs.Files(dir, runs.TimelineFile), runs.Files(dir, runs.TimelineReportFile)...) {
		name, err := filepath.Rel(dir, strings.TrimSuffix(path, filepath.Ext(path)))
		if _, have := files[name]; err != nil || have {
			continue
		}
		names, files[name] = append(names, name), path
	}
	slices.Sort(names)
	return names, files
}

// tile answers a part of the timeline of a run; without parameters all of it.
func (s *server) tile(w http.ResponseWriter, r *http.Request, dir string) error {
	names, files := timelines(dir)
	if len(files) == 0 {
		return refused(http.StatusNotFound, "no-timeline", "the run holds no timeline")
	}
	query := r.URL.Query()
	part := cmp.Or(query.Get(partParam), names[0])
	if files[part] == "" {
		return refused(http.StatusBadRequest, "usage", "timeline: parameter %s: the run has no timeline %q%s; it has: %s", partParam, part, suggest.DidYouMean(part, names), strings.Join(names, ", "))
	}
	d, err := s.tiles.get(files[part])
	if err != nil {
		return err
	}
	given := [3]int64{0, d.length, defaultWidth}
	for i, p := range tileParams {
		if text := query.Get(p.name); text != "" {
			if given[i], err = strconv.ParseInt(text, 10, 64); err != nil {
				return refused(http.StatusBadRequest, "usage", "timeline: parameter %s: %q is no whole number", p.name, text)
			}
		}
	}
	start, end, width := given[0], min(given[1], d.length), given[2]
	if start < 0 || end < start || width < 1 || width > mostWidth {
		return refused(http.StatusBadRequest, "usage", "timeline: a tile begins at 0 or later, ends after that and has 1 to %d boxes a lane", mostWidth)
	}
	out := d.cut(start, end, int(width))
	out.Part, out.Parts = part, names
	return writeJSON(w, out)
}
