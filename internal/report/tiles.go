package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
)

// A Tile is a number that the page begins with: its name, its value with the unit,
// and what to know of it.
type Tile struct {
	// Name begins with a capital and has no unit.
	Name  string `json:"name"`
	Value string `json:"value"` // of several stages with slashes between them
	// Note says of which run or stages the value is.
	Note string `json:"note,omitempty"`
	// Change is how it differs from the baseline, "" without one.
	Change string `json:"change,omitempty"`
}

// Codes of what a tile says of the baseline. by, run; change, value, run
const (
	codeMore fact.Code = "page-more"
	codeLess fact.Code = "page-less"
	codeSame fact.Code = "page-same"
	codeFrom fact.Code = "page-from"
)

// changed says a relative change against a run.
func changed(change float64, run string) string {
	code, by := codeMore, change
	switch {
	case analysis.Unchanged(change):
		return message.Text(fact.New(codeSame, fact.Name("run", run)))
	case change < 0:
		code, by = codeLess, -change
	}
	return message.Text(fact.New(code, fact.Share("by", by), fact.Name("run", run)))
}

// measureChange is how a measure differs from that of the baseline, and what it is
// there.
func measureChange(r *analysis.Result, name string, write func(float64) string) string {
	if r.Baseline == nil {
		return ""
	}
	for _, m := range r.Baseline.Measures {
		if m.Name == name {
			return changedFrom(r, signedShare(m.Change), write(m.Value))
		}
	}
	return ""
}

// useChange is how the use of the stages differs from that in the baseline, relative
// as of every measure, and what it is there.
func useChange(r *analysis.Result, use string, of func(*analysis.Stage) []analysis.Utilization) string {
	if r.Baseline == nil {
		return ""
	}
	var changes, values []string
	for i := range r.Stages {
		now := analysis.FirstUse(of(&r.Stages[i]))
		if now == nil {
			continue
		}
		for _, u := range r.Baseline.Uses {
			if u.Name == use && u.Stage == r.Stages[i].Name && u.Share > 0 {
				changes, values = append(changes, signedShare(u.Change(*now))), append(values, percent(u.Share))
			}
		}
	}
	if len(values) == 0 {
		return ""
	}
	return changedFrom(r, strings.Join(changes, " / "), strings.Join(values, " / "))
}

// changedFrom needs a baseline; change and value are texts with their units.
func changedFrom(r *analysis.Result, change, value string) string {
	return message.Text(fact.New(codeFrom, fact.Name("change", change), fact.Name("value", value), fact.Name("run", r.Baseline.Name)))
}

// signedShare writes a relative change: "-16.1 %".
func signedShare(x float64) string {
	digits := 1
	if math.Abs(x) >= 1 {
		digits = 0
	}
	return fmt.Sprintf("%+.*f %%", digits, 100*x)
}

// KernelChange is how the typical launch of a kernel differs from that of the same
// kernel in the baseline; "" where there is none.
func KernelChange(r *analysis.Result, b *analysis.BaselineKernel) string {
	return changed(b.Change, r.Baseline.Name)
}

// PageTiles are what a reader looks for first: latency, throughput and the use of
// the GPU, as far as they were measured.
// Of a server they are those of its clients; tiles whose value is not known are left out.
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
			t.Change = useChange(r, strings.ToLower(m.name), m.of)
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
	median := message.Phrase("median-of", w.Name)
	return []Tile{
		{message.Label("aggregate", "ttft_ms"), elapsed(w.Stats.TTFT.P50), median, measureChange(r, "ttft_ms", milliseconds)},
		{message.Label("aggregate", "token_ms"), elapsed(w.Stats.TPOT.P50), median, measureChange(r, "token_ms", milliseconds)},
		{message.Phrase("tokens-per-second"), significant(w.Stats.TokensPerSecond), w.Name, measureChange(r, "tokens_per_s", significant)},
	}
}

// milliseconds writes ms with the unit that suits them.
func milliseconds(ms float64) string { return elapsed(ms * 1e6) }

// tileMeasures are the measures of the unprofiled run that have a tile.
var tileMeasures = []string{"ttft_ms", "token_ms", "forward_ms", "tokens_per_s", "images_per_s"}

// aggregateTiles are the medians of the unprofiled run, in the order of tileMeasures.
func aggregateTiles(r *analysis.Result) (tiles []Tile) {
	list := r.Totals.Aggregates
	for _, name := range tileMeasures {
		for i := range list {
			a := &list[i]
			if a.Name != name {
				continue
			}
			write := func(x float64) string { return strings.TrimSpace(significant(x) + " " + a.Unit) }
			if a.Unit == "ms" {
				write = milliseconds
			}
			tiles = append(tiles, Tile{aggregateLabel(a), write(a.P50), message.Phrase("median-of", message.Phrase("unprofiled")), measureChange(r, name, write)})
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
