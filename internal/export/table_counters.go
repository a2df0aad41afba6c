package export

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/ncurep"
	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/report"
)

// A counterRow is one metric of one counted launch.
type counterRow struct {
	launch *ncurep.Result
	// region is the path that was open at the launch; "" outside of any.
	region string
	id     string // of the kernel
	metric *ncurep.Metric
}

// counterView has one row a metric of a counted launch. A metric has a number in value or a
// text in text, never both. Values are in base units.
var counterView = report.View[counterRow]{Name: "metrics", Columns: []report.Column[counterRow]{
	{Key: "counted_launch", Unit: report.Count, Value: func(r *counterRow) any { return value(r.launch, func(l *ncurep.Result) int64 { return int64(l.ID) }) }},
	{Key: "kernel_id", Value: func(r *counterRow) any { return r.id }},
	{Key: "region", Value: func(r *counterRow) any { return r.region }},
	{Key: "metric", Value: func(r *counterRow) any { return value(r.metric, func(m *ncurep.Metric) string { return m.Name }) }},
	{Key: "value", Unit: report.Count, Value: func(r *counterRow) any {
		if r.metric == nil {
			return float64(0)
		}
		if v, ok := r.metric.Value.Float64(); ok {
			return v
		}
		return nil
	}},
	{Key: "text", Value: func(r *counterRow) any {
		if r.metric == nil {
			return ""
		}
		if _, ok := r.metric.Value.Float64(); ok || r.metric.Value.IsZero() {
			return nil
		}
		return r.metric.Value.Text()
	}},
	{Key: "unit", Value: func(r *counterRow) any { return value(r.metric, func(m *ncurep.Metric) string { return m.Unit() }) }},
	{Key: "kernel", Value: func(r *counterRow) any { return value(r.launch, func(l *ncurep.Result) string { return l.Name() }) }},
}}

// value asks something of a part of a row; of an empty row it gives the zero of
// the type, by which columns are declared.
func value[P, V any](part *P, ask func(*P) V) V {
	if part == nil {
		var zero V
		return zero
	}
	return ask(part)
}

// metricTable has the counters of all reports. A damaged report ends the export unless the
// source takes what is left.
func metricTable() table {
	return table{
		name: "metrics", columns: columnsOf("report", nil, counterView),
		rows: func(ctx context.Context, s *Source, emit emitter) (notes []string, err error) {
			match, err := s.counterMatch()
			if err != nil {
				return nil, err
			}
			for _, path := range s.Counters {
				results, done, err := openCounters(path)
				if err != nil {
					return notes, err
				}
				err = emitRows(emit, s.Run, s.relative(path), nil, counterView, counterRows(ctx, results, match))
				more, closeErr := done()
				if notes = append(notes, more...); len(more) > 0 && !s.Partial && err == nil {
					err = &lostError{path, more}
				}
				if err = errors.Join(err, closeErr, ctx.Err()); err != nil {
					return notes, err
				}
			}
			return notes, nil
		},
	}
}

// counterMatch is the region of the source over counted launches; nil without one.
func (s *Source) counterMatch() (func(nvtx.State) bool, error) {
	if s.Region == "" {
		return nil, nil
	}
	exprs, err := nvtx.ParseList(s.Region)
	if err != nil {
		return nil, usagef("--region: %w", err)
	}
	return func(state nvtx.State) bool {
		return slices.ContainsFunc(exprs, func(e *nvtx.Expr) bool { return e.Match(state) })
	}, nil
}

// openCounters opens a report or ncu's CSV. done gives what was lost of it.
// done must be called once, after the results were read; it closes the report.
func openCounters(path string) (results iter.Seq[*ncurep.Result], done func() ([]string, error), err error) {
	f, err := format.Recognize(path)
	if err != nil {
		return nil, nil, err
	}
	if f.Holds == format.Table {
		rep, err := ncurep.ReadCSVFile(path)
		if err != nil {
			return nil, nil, err
		}
		return slices.Values(rep.Results), func() ([]string, error) { return nil, nil }, nil
	}
	r, err := ncurep.Open(path, ncurep.Options{})
	if err != nil {
		return nil, nil, err
	}
	return r.All(), func() (notes []string, err error) {
		for _, l := range r.Lost() {
			notes = append(notes, message.Text(l.What))
		}
		return notes, r.Close()
	}, nil
}

// The same row is yielded again and again: nobody keeps it.
func counterRows(ctx context.Context, results iter.Seq[*ncurep.Result], match func(nvtx.State) bool) iter.Seq[*counterRow] {
	return func(yield func(*counterRow) bool) {
		for r := range results {
			state := r.NVTX.State()
			if ctx.Err() != nil {
				return
			}
			if match != nil && !match(state) {
				continue
			}
			row := counterRow{launch: r, region: state.Paths(), id: analysis.KernelID(r.Name(), narrow(r.Grid.X, r.Grid.Y, r.Grid.Z), narrow(r.Block.X, r.Block.Y, r.Block.Z))}
			for i := range r.Metrics {
				row.metric = &r.Metrics[i]
				if !yield(&row) {
					return
				}
			}
		}
	}
}

// narrow: extents of CUDA fit 31 bits.
func narrow(x, y, z uint64) [3]int32 { return [3]int32{int32(x), int32(y), int32(z)} }
