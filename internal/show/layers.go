package show

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/report/folder"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/timeline"
	"github.com/deepprof/deepprof/internal/workload"
)

// showLayers shows the modules of a model. Work that a CUDA graph replayed counts
// where it was captured.
// Top cuts the table at the end; a row of work in no stage comes last.
func showLayers(ctx context.Context, path string, q timeline.Query, r *Request) (report.Printable, error) {
	f, src, err := openTimeline(ctx, path, "layers", r)
	if err != nil {
		return nil, err
	}
	defer src.done()
	q.Captured, q.OrLaunched, q.Detect, q.Top = f.HasGraphNodes(), true, true, 0
	var scope timeline.Query
	_, about, err := src.scope(ctx, f, &scope, "layers", message.Phrase("without-limiters"), r)
	if err != nil {
		return nil, err
	}
	q.LaunchedIn = scope.Region
	rows, err := f.RegionRows(ctx, q)
	if err != nil {
		return nil, err
	}
	replays, err := f.Replays(ctx, q)
	if err != nil {
		return nil, err
	}
	layers := timeline.Layers(timeline.WithReplays(rows.Rows, replays), r.All)
	notes := append(src.notes(), about...)
	res, err := analyzed(src)
	if err != nil {
		notes = append(notes, message.Phrase("layers-without-counters", err))
	}
	uses, err := usesOf(ctx, f, res, q)
	if err != nil {
		return nil, err
	}
	work, err := analysis.LayerWork(src.dir, res, rows.Rows, replays)
	if err != nil {
		return nil, err
	}
	var lines []report.LayerLine
	for _, l := range layers {
		line := report.LayerLine{LayerRow: l, Use: uses(l.Paths())}
		use := work(&l)
		line.ModelFLOPs, line.MFU, line.NoMFU = use.FLOPs, use.MFU, use.Why
		lines = append(lines, line)
	}
	outside, told, err := layerCoverage(ctx, f, q, layers, rows.Warnings)
	if err != nil {
		return nil, err
	}
	if outside.Launches > 0 {
		line := report.LayerLine{LayerRow: outside, Use: uses([]string{""})}
		line.NoMFU = work(&outside).Why
		lines = append(lines, line)
	}
	return first(report.LayerView.Table(lines, append(notes, message.Texts(told)...)...), r.Top), nil
}

// layerCoverage is the row of the work in no stage, and what to tell of the GPU time
// that has no layer.
func layerCoverage(ctx context.Context, f *nsys.File, q timeline.Query, layers []timeline.LayerRow, told []fact.Fact) (timeline.LayerRow, []fact.Fact, error) {
	q.By = timeline.ByRegion
	kernels, err := f.KernelRows(ctx, q)
	if err != nil {
		return timeline.LayerRow{}, nil, err
	}
	graphs, open, err := f.CaptureCoverage(ctx)
	if err != nil {
		return timeline.LayerRow{}, nil, err
	}
	if !q.Captured { // else the regions told it
		told = append(told, open...)
	}
	if in := timeline.InLayers(layers, kernels.Rows, graphs.Whole.NS); !in.IsZero() {
		told = append([]fact.Fact{in}, told...)
	}
	return timeline.InNoStage(kernels.Rows), told, nil
}

// first keeps the first rows of a table and counts the others; 0 keeps all. Views whose rows
// are told apart by name cut them themselves, after that.
func first(t report.Printable, top int) report.Printable {
	if top > 0 {
		t.First(top)
	}
	return t
}

// analyzed is the result of a run; nil for a file by itself, and where captures were never
// analyzed. A result that cannot be read is an error, and the view goes on without it: only
// what counters tell is missing then.
func analyzed(src *source) (*analysis.Result, error) {
	if src.dir == "" {
		return nil, nil
	}
	res, err := folder.Read(filepath.Join(src.dir, runs.ResultName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return res, err
}

// usesOf gives what the counters of a result tell of the launches in regions, outside
// nested ones; nothing without a result.
// Paths are region paths; "" is work in no region. The file must stay open only until it
// returns.
func usesOf(ctx context.Context, f *nsys.File, res *analysis.Result, q timeline.Query) (func(paths []string) analysis.Use, error) {
	none := func([]string) analysis.Use { return analysis.Use{} }
	if res == nil {
		return none, nil
	}
	q.By = timeline.ByRegion | timeline.ByLaunchConfig
	rows, err := f.KernelRows(ctx, q)
	if err != nil {
		return none, err
	}
	in := map[string][]analysis.LaunchSum{}
	for i := range rows.Rows {
		k := &rows.Rows[i]
		l := analysis.LaunchSum{Name: k.Name, Calls: k.Calls, NS: k.TotalNS}
		if k.Grid != nil && k.Block != nil {
			l.Grid, l.Block = widened(*k.Grid), widened(*k.Block)
		}
		path := ""
		if k.Region != nil {
			path = *k.Region
		}
		in[path] = append(in[path], l)
	}
	use := res.Uses()
	return func(paths []string) analysis.Use {
		var list []analysis.LaunchSum
		for _, path := range paths {
			list = append(list, in[path]...)
		}
		return use(list)
	}, nil
}

// widened is an extent in the type that results have; timelines have 32 bits.
func widened(d [3]int32) [3]int64 { return [3]int64{int64(d[0]), int64(d[1]), int64(d[2])} }

// showSteps shows the distribution of steps, or each of them with All, for programs and
// where Distribution does not ask otherwise. Those of a server come from its result.
func showSteps(ctx context.Context, path string, q timeline.Query, r *Request) (report.Printable, error) {
	summed := r.Distribution || !r.All && !r.Data
	if res, err := folder.Read(filepath.Join(path, runs.ResultName)); err == nil && summed && res.Serving != nil && len(res.Serving.Steps) > 0 {
		return report.ServingSteps(res), nil
	}
	f, src, err := openTimeline(ctx, path, "steps", r)
	if err != nil {
		return nil, err
	}
	defer src.done()
	q.Top, q.Detect = 0, true
	rows, err := f.RangeRows(ctx, q)
	if err != nil {
		return nil, err
	}
	steps := timeline.Steps(rows.Rows)
	notes := src.notes()
	if len(steps) == 0 {
		notes = append(notes, message.Phrase("steps-absent"))
	}
	if err := addSizes(steps, src); err != nil {
		notes = append(notes, message.Phrase("steps-without-shapes", err))
	}
	notes = append(notes, message.Texts(rows.Warnings)...)
	if summed {
		return report.StepGroupView.Table(timeline.GroupSteps(steps), notes...), nil
	}
	return first(report.ModelStepView.Table(steps, notes...), r.Top), nil
}

// stepsOf answers the view of steps: --by divides those of a server, which a
// result tells.
func stepsOf(ctx context.Context, r *Request) (*Answer, error) {
	if r.By == "" {
		return ofLaunches(showSteps)(ctx, r)
	}
	table, ok := report.StepsBy[r.By]
	if !ok {
		return nil, usagef("--by %q: steps are divided by kernel, layer, time or token", r.By)
	}
	return ofResult("steps", table)(ctx, r)
}

// addSizes gives steps the sizes that annotation told, where there are as many of them as
// steps of decode in the timeline: else nobody knows which belongs to which. Only one process
// may have told any.
// Steps stay without sizes, and without an error, where the numbers do not match.
func addSizes(steps []timeline.StepRow, src *source) error {
	if src.dir == "" {
		return nil
	}
	told, err := workload.ReadAnnotated(filepath.Join(src.dir, runs.AnnotateFolder, plan.StepNsys))
	if err != nil || len(told.Processes) != 1 {
		return err
	}
	var decode []workload.AnnotatedStep
	for _, s := range told.Processes[0].Steps {
		if s.Stage == "decode" {
			decode = append(decode, s)
		}
	}
	if len(decode) != len(steps) {
		return nil
	}
	for i := range steps {
		steps[i].Batch, steps[i].Tokens, steps[i].Cached = &decode[i].Batch, &decode[i].Tokens, &decode[i].Cached
	}
	return nil
}
