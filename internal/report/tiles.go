package report

import (
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
)

// A Tile is a number that the page begins with: its name, its value with the unit,
// and what to know of it.
type Tile struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Note  string `json:"note,omitempty"`
}

// PageTiles are what a reader looks for first: latency, throughput and the use of
// the GPU, as far as they were measured.
func PageTiles(r *analysis.Result) []Tile {
	tiles := servingTiles(r.Serving)
	if len(tiles) == 0 {
		tiles = aggregateTiles(r.Totals.Aggregates)
	}
	for _, m := range []struct {
		name string
		of   func(*analysis.Stage) []analysis.Utilization
	}{{"MFU", func(s *analysis.Stage) []analysis.Utilization { return s.MFU }}, {"MBU", func(s *analysis.Stage) []analysis.Utilization { return s.MBU }}} {
		if t, ok := useTile(m.name, r.Stages, m.of); ok {
			tiles = append(tiles, t)
		}
	}
	return tiles
}

// servingTiles are those of the window that the client measured last.
func servingTiles(s *analysis.Serving) []Tile {
	if s == nil {
		return nil
	}
	for i := len(s.Windows) - 1; i >= 0; i-- {
		w := &s.Windows[i]
		if w.Stats == nil || w.Stats.TTFT.N == 0 {
			continue
		}
		return []Tile{
			{"Time to first token", elapsed(w.Stats.TTFT.P50), "median, " + w.Name},
			{"Time per token", elapsed(w.Stats.TPOT.P50), "median, " + w.Name},
			{"Tokens/s", significant(w.Stats.TokensPerSecond), w.Name},
		}
	}
	return nil
}

// tileMeasures are the measures of the unprofiled run that have a tile.
var tileMeasures = []string{"ttft_ms", "token_ms", "forward_ms", "tokens_per_s", "images_per_s"}

func aggregateTiles(list []analysis.Aggregate) (tiles []Tile) {
	for _, name := range tileMeasures {
		for i := range list {
			a := &list[i]
			if a.Name != name {
				continue
			}
			value := significant(a.P50)
			if a.Unit == "ms" {
				value = elapsed(a.P50 * 1e6)
			} else if a.Unit != "" {
				value += " " + a.Unit
			}
			tiles = append(tiles, Tile{aggregateLabel(a), value, "median, unprofiled"})
		}
	}
	return tiles
}

// useTile has a measure of each stage, as the first method that tells it does.
func useTile(name string, stages []analysis.Stage, of func(*analysis.Stage) []analysis.Utilization) (Tile, bool) {
	var values, names []string
	for i := range stages {
		for _, u := range of(&stages[i]) {
			if u.Value != nil && !u.Contradiction {
				values, names = append(values, percent(*u.Value)), append(names, stages[i].Name)
				break
			}
		}
	}
	if len(values) == 0 || len(values) > 3 { // more have no room; the table has them
		return Tile{}, false
	}
	return Tile{name, strings.Join(values, " / "), strings.Join(names, " / ")}, true
}
