package report

import (
	"math"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
)

// A Tile is a number that the page begins with: its name, its value with the unit,
// and what to know of it.
type Tile struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Note  string `json:"note,omitempty"`
	// Change is how it differs from the baseline, "" without one.
	Change string `json:"change,omitempty"`
}

// Codes of what a tile says of the baseline. by, run; value
const (
	codeMore fact.Code = "page-more"
	codeLess fact.Code = "page-less"
	codeSame fact.Code = "page-same"
	codeWas  fact.Code = "page-was"
)

// changed says a relative change against a run.
func changed(change float64, run string) string {
	code, by := codeMore, change
	switch {
	case math.Abs(change) < 0.0005:
		return message.Text(fact.New(codeSame, fact.Name("run", run)))
	case change < 0:
		code, by = codeLess, -change
	}
	return message.Text(fact.New(code, fact.Share("by", by), fact.Name("run", run)))
}

// measureChange is how a measure differs from that of the baseline.
func measureChange(r *analysis.Result, name string) string {
	if r.Baseline == nil {
		return ""
	}
	for _, m := range r.Baseline.Measures {
		if m.Name == name {
			return changed(m.Change, r.Baseline.Name)
		}
	}
	return ""
}

// useBefore has the use of the stages in the baseline.
func useBefore(r *analysis.Result, use string) string {
	if r.Baseline == nil {
		return ""
	}
	var values []string
	for i := range r.Stages {
		for _, u := range r.Baseline.Uses {
			if u.Name == use && u.Stage == r.Stages[i].Name {
				values = append(values, percent(u.Share))
			}
		}
	}
	if len(values) == 0 {
		return ""
	}
	return message.Text(fact.New(codeWas, fact.Name("value", strings.Join(values, " / ")), fact.Name("run", r.Baseline.Name)))
}

// KernelChange is how the typical launch of a kernel differs from that of the same
// kernel in the baseline; "" where there is none.
func KernelChange(r *analysis.Result, b *analysis.BaselineKernel) string {
	return changed(b.Change, r.Baseline.Name)
}

// PageTiles are what a reader looks for first: latency, throughput and the use of
// the GPU, as far as they were measured.
func PageTiles(r *analysis.Result) []Tile {
	tiles := servingTiles(r)
	if len(tiles) == 0 {
		tiles = aggregateTiles(r)
	}
	for _, m := range []struct {
		name string
		of   func(*analysis.Stage) []analysis.Utilization
	}{{"MFU", func(s *analysis.Stage) []analysis.Utilization { return s.MFU }}, {"MBU", func(s *analysis.Stage) []analysis.Utilization { return s.MBU }}} {
		if t, ok := useTile(m.name, r.Stages, m.of); ok {
			t.Change = useBefore(r, strings.ToLower(m.name))
			tiles = append(tiles, t)
		}
	}
	return tiles
}

// servingTiles are those of the window that the client measured last.
func servingTiles(r *analysis.Result) []Tile {
	w := r.Serving.LastMeasured()
	if w == nil {
		return nil
	}
	return []Tile{
		{message.Phrase("time-to-first-token"), elapsed(w.Stats.TTFT.P50), "median, " + w.Name, measureChange(r, "ttft_ms")},
		{message.Phrase("time-per-token"), elapsed(w.Stats.TPOT.P50), "median, " + w.Name, measureChange(r, "token_ms")},
		{"Tokens/s", significant(w.Stats.TokensPerSecond), w.Name, measureChange(r, "tokens_per_s")},
	}
}

// tileMeasures are the measures of the unprofiled run that have a tile.
var tileMeasures = []string{"ttft_ms", "token_ms", "forward_ms", "tokens_per_s", "images_per_s"}

func aggregateTiles(r *analysis.Result) (tiles []Tile) {
	list := r.Totals.Aggregates
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
			tiles = append(tiles, Tile{aggregateLabel(a), value, message.Phrase("median-unprofiled"), measureChange(r, name)})
		}
	}
	return tiles
}

// useTile has a measure of each stage, as the first method that tells it does.
func useTile(name string, stages []analysis.Stage, of func(*analysis.Stage) []analysis.Utilization) (Tile, bool) {
	var values, names []string
	for i := range stages {
		if u := analysis.FirstUse(of(&stages[i])); u != nil {
			values, names = append(values, percent(*u)), append(names, stages[i].Name)
		}
	}
	if len(values) == 0 || len(values) > 3 { // more have no room; the table has them
		return Tile{}, false
	}
	return Tile{Name: name, Value: strings.Join(values, " / "), Note: strings.Join(names, " / ")}, true
}
