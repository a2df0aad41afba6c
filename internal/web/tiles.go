package web

import (
	"cmp"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
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

// A tile is a part of a timeline, ready to be drawn.
type tile struct {
	timeline.Tile
	Part  string     `json:"part"`  // which of parts this is
	Parts []string   `json:"parts"` // timelines of the run
	Lanes []tileLane `json:"lanes"`
}

// A tileLane is a lane with its name.
type tileLane struct {
	timeline.TileLane
	Label string `json:"label"`
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
	drawn func() (*timeline.Drawing, error)
}

// get reads a timeline, once for all who ask at the same time. One that is pushed out while
// somebody draws it stays with them.
func (c *tileCache) get(path string) (*timeline.Drawing, error) {
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
		k = keptTimeline{path, st.ModTime(), sync.OnceValues(func() (*timeline.Drawing, error) { return readDrawing(path) })}
	}
	c.kept = append(c.kept, k)
	if len(c.kept) > keptTiles {
		c.kept = slices.Delete(c.kept, 0, 1)
	}
	c.mu.Unlock()
	return k.drawn()
}

// readDrawing reads for every client that waits, so that no one of them can cancel
// it.
func readDrawing(path string) (*timeline.Drawing, error) {
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
	return t.Draw(), nil
}

// named gives the lanes of a tile their names.
func named(t timeline.Tile) []tileLane {
	lanes := make([]tileLane, len(t.Lanes))
	for i, l := range t.Lanes {
		of := []string{strconv.Itoa(l.Of[0]), strconv.Itoa(l.Of[1]), strconv.Itoa(l.Of[2])}
		lanes[i] = tileLane{l, message.Phrase("tile-stream", of[0], of[1], of[2])}
		if l.Kind == "nvtx" {
			lanes[i].Label = message.Phrase("tile-ranges", of[0], of[1])
		}
	}
	return lanes
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
	given := [3]int64{0, d.LengthNS, defaultWidth}
	for i, p := range tileParams {
		if text := query.Get(p.name); text != "" {
			if given[i], err = strconv.ParseInt(text, 10, 64); err != nil {
				return refused(http.StatusBadRequest, "usage", "timeline: parameter %s: %q is no whole number", p.name, text)
			}
		}
	}
	start, end, width := given[0], min(given[1], d.LengthNS), given[2]
	if start < 0 || end < start || width < 1 || width > mostWidth {
		return refused(http.StatusBadRequest, "usage", "timeline: a tile begins at 0 or later, ends after that and has 1 to %d boxes a lane", mostWidth)
	}
	cut := d.Cut(start, end, int(width))
	return writeJSON(w, tile{Tile: cut, Part: part, Parts: names, Lanes: named(cut)})
}
