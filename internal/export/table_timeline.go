package export

import (
	"context"
	"iter"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/cxx"
	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/timeline"
)

// query asks for the work of the source in a timeline.
// With a region it reads the ranges of the file once to refuse an expression that
// matches nothing.
func (s *Source) query(ctx context.Context, f *nsys.File) (timeline.Query, error) {
	q := timeline.Query{Shorten: cxx.Short, Detect: true}
	if s.Region == "" {
		return q, nil
	}
	t, err := f.TimelineFor(ctx, nsys.Regions, q)
	if err != nil {
		return q, err
	}
	q.Region, err = s.regionMatch(t.Attribute())
	return q, err
}

// rankOf is the rank of a job that a timeline is of and its host, as its name
// tells them; nil and "" where it does not.
func rankOf(file string) (rank any, host string) {
	id := timeline.IdentityOfName(format.BaseName(file))
	if id.Rank == nil {
		return nil, ""
	}
	return int64(*id.Rank), id.Host
}

// timelineTable is a table with rows of every timeline. The last columns are the
// rank and the host of a job of several.
func timelineTable[Row any](name string, keys []key[Row], view report.View[Row], ask func(context.Context, *Source, *nsys.File, timeline.Query) (iter.Seq[*Row], error)) table {
	return table{
		name: name, columns: append(columnsOf("timeline", keys, view), column{"rank", int64(0)}, column{"host", ""}),
		rows: func(ctx context.Context, s *Source, write emitter) ([]string, error) {
			return s.eachTimeline(ctx, func(file string, f *nsys.File) error {
				rank, host := rankOf(file)
				emit := func(cells []any) error { return write(append(cells, rank, host)) }
				q, err := s.query(ctx, f)
				if err != nil {
					return err
				}
				rows, err := ask(ctx, s, f, q)
				if err != nil {
					return err
				}
				return emitRows(emit, s.Run, file, keys, view, rows)
			})
		},
	}
}

// launchTable has every launch; launch is its place in the timeline, from 1.
func launchTable() table {
	keys := []key[timeline.LaunchRow]{
		{"launch", int64(0), func(r *timeline.LaunchRow) any { return int64(r.ID) }},
		{"kernel_id", "", func(r *timeline.LaunchRow) any { return analysis.KernelID(r.Kernel, r.Grid, r.Block) }},
	}
	view := report.LaunchView.Renamed(map[string]string{"id": "", "nvtx": "region", "nvtx_all": "regions"})
	return timelineTable("launches", keys, view, func(ctx context.Context, _ *Source, f *nsys.File, q timeline.Query) (iter.Seq[*timeline.LaunchRow], error) {
		s, err := f.StreamLaunches(ctx, q)
		return s.Rows, err
	})
}

// Grid and block are always set in rows by launch configuration.
func kernelTable() table {
	keys := []key[report.KernelRow]{{"kernel_id", "", func(r *report.KernelRow) any {
		return analysis.KernelID(r.Name, *r.Grid, *r.Block)
	}}}
	view := report.KernelView.Renamed(map[string]string{"region": "", "process": "", "cause": "", "name": "kernel"})
	return timelineTable("kernels", keys, view, func(ctx context.Context, s *Source, f *nsys.File, q timeline.Query) (iter.Seq[*report.KernelRow], error) {
		q.By = timeline.ByDevice | timeline.ByLaunchConfig
		rows, err := f.KernelRows(ctx, q)
		if err != nil {
			return nil, err
		}
		limiter, err := s.limiters(ctx)
		if err != nil {
			return nil, err
		}
		out := make([]report.KernelRow, len(rows.Rows))
		for i, r := range rows.Rows {
			out[i] = report.KernelRow{KernelRow: r, Limiter: limiter[analysis.KernelID(r.Name, *r.Grid, *r.Block)]}
		}
		return report.Slice(out), nil
	})
}

// limiters are the codes of what limits the kernels that were counted, by their
// ID.
func (s *Source) limiters(ctx context.Context) (map[string]string, error) {
	out := map[string]string{}
	if len(s.Counters) == 0 {
		return out, nil
	}
	result, err := s.Result(ctx)
	if err != nil {
		return nil, err
	}
	for i := range result.Kernels {
		out[result.Kernels[i].ID] = result.Kernels[i].Limiter.Kind
	}
	return out, nil
}

// regionTable has the regions of each timeline. Rows overlap, as regions nest.
func regionTable() table {
	view := report.RegionView.Renamed(map[string]string{"path": "region", "process": "", "device": ""})
	return timelineTable("regions", nil, view, func(ctx context.Context, _ *Source, f *nsys.File, q timeline.Query) (iter.Seq[*timeline.RegionRow], error) {
		rows, err := f.RegionRows(ctx, q)
		return report.Slice(rows.Rows), err
	})
}

// Work of CUDA graphs counts where it was captured, as in show layers.
func layerTable() table {
	view := report.LayerView.Renamed(map[string]string{"limiter": ""})
	return timelineTable("layers", nil, view, func(ctx context.Context, _ *Source, f *nsys.File, q timeline.Query) (iter.Seq[*report.LayerLine], error) {
		q.Captured, q.OrLaunched = f.HasGraphNodes(), true
		rows, err := f.RegionRows(ctx, q)
		if err != nil {
			return nil, err
		}
		replays, err := f.Replays(ctx, q)
		if err != nil {
			return nil, err
		}
		var lines []report.LayerLine
		for _, l := range timeline.Layers(timeline.WithReplays(rows.Rows, replays), true) {
			lines = append(lines, report.LayerLine{LayerRow: l})
		}
		return report.Slice(lines), nil
	})
}

// stepTable has the steps that ranges name.
func stepTable() table {
	return timelineTable("steps", nil, report.ModelStepView, func(ctx context.Context, _ *Source, f *nsys.File, q timeline.Query) (iter.Seq[*timeline.StepRow], error) {
		rows, err := f.RangeRows(ctx, q)
		return report.Slice(timeline.Steps(rows.Rows)), err
	})
}

// sampleView is the metrics that Nsight Systems sampled. They are of a GPU, not of
// a region, so that a region has none.
var sampleView = report.View[timeline.MetricSample]{Name: "samples", Columns: []report.Column[timeline.MetricSample]{
	{Key: "time_ns", Unit: report.Nanoseconds, Value: func(r *timeline.MetricSample) any { return r.Time }},
	{Key: "source", Unit: report.Count, Value: func(r *timeline.MetricSample) any { return r.Source }},
	{Key: "metric", Value: func(r *timeline.MetricSample) any { name, _ := sampleUnit(r.Metric); return name }},
	{Key: "unit", Value: func(r *timeline.MetricSample) any { _, unit := sampleUnit(r.Metric); return unit }},
	{Key: "value", Unit: report.Count, Value: func(r *timeline.MetricSample) any { return r.Value }},
}}

// sampleTable has every reading of every sampled metric, as nsys wrote it.
func sampleTable() table {
	return table{
		name: "samples", columns: columnsOf("timeline", nil, sampleView),
		rows: func(ctx context.Context, s *Source, emit emitter) ([]string, error) {
			return s.eachTimeline(ctx, func(file string, f *nsys.File) error {
				if s.Region != "" {
					return nil
				}
				return f.EachSample(ctx, func(m *timeline.MetricSample) error {
					return emitRows(emit, s.Run, file, nil, sampleView, func(yield func(*timeline.MetricSample) bool) { yield(m) })
				})
			})
		},
	}
}
