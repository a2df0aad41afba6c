package show

import (
	"context"
	"path/filepath"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/timeline"
	"github.com/deepprof/deepprof/internal/workload"
)

// modelWork gives the FLOPs that the modules of a row ask for, and the MFU of that,
// both nil where they are not known; why says where that is so for all rows.
func modelWork(ctx context.Context, f *nsys.File, src *source, res *analysis.Result, q timeline.Query, rows []timeline.RegionRow) (of func(*timeline.LayerRow) (flops, mfu *float64), why string, err error) {
	none := func(*timeline.LayerRow) (flops, mfu *float64) { return nil, nil }
	if src.dir == "" {
		return none, "", nil
	}
	told, err := workload.ReadAnnotated(filepath.Join(src.dir, runs.AnnotateFolder, plan.StepNsys))
	if err != nil {
		return none, "", err
	}
	if !hasWork(told) {
		return none, "without MFU: annotation (pipeline.annotate) notes the shapes that it comes from, and noted none in this run", nil
	}
	w := layerWork{res: res, work: told.Work(), instances: map[string]int64{}, replayed: map[string]bool{}}
	for i := range rows {
		w.instances[rows[i].Path] = rows[i].Instances
	}
	if q.Captured {
		err = w.findReplayed(ctx, f, q, rows)
	}
	if len(w.replayed) > 0 {
		why = "without MFU of modules that CUDA graphs replayed: how often they ran is not noted"
	}
	return w.of, why, err
}

func hasWork(told workload.Annotated) bool {
	for _, p := range told.Processes {
		if len(p.Work) > 0 {
			return true
		}
	}
	return false
}

// layerWork is what annotation noted of the modules in the regions of a timeline.
type layerWork struct {
	res       *analysis.Result // nil where nothing was analyzed
	work      func(path string) []workload.ModuleWork
	instances map[string]int64 // by path
	replayed  map[string]bool
}

// findReplayed finds the regions with work that is not launched in them.
func (w *layerWork) findReplayed(ctx context.Context, f *nsys.File, q timeline.Query, rows []timeline.RegionRow) error {
	q.Captured = false
	launched, err := f.RegionRows(ctx, q)
	if err != nil {
		return err
	}
	ns := map[string]int64{}
	for i := range launched.Rows {
		ns[launched.Rows[i].Path] = launched.Rows[i].ExclusiveNS
	}
	for i := range rows {
		if r := &rows[i]; r.ExclusiveNS != ns[r.Path] {
			w.replayed[r.Path] = true
		}
	}
	return nil
}

// of sums the modules of a row. Each range stands for a mean call of its module. The
// work of all of them has to be known, and to be of one data type.
func (w *layerWork) of(row *timeline.LayerRow) (flops, mfu *float64) {
	sum, dtype := 0.0, ""
	for _, path := range row.Paths() {
		done, kind := w.ofPath(path)
		if kind == "" || dtype != "" && kind != dtype {
			return nil, nil
		}
		sum, dtype = sum+done, kind
	}
	if sum <= 0 {
		return nil, nil
	}
	if w.res != nil {
		mfu = w.res.MFU(sum, row.NS, dtype)
	}
	return &sum, mfu
}

// ofPath is the work of all instances of a region; the type is "" where it is not
// known.
func (w *layerWork) ofPath(path string) (flops float64, dtype string) {
	var calls int64
	for _, m := range w.work(path) {
		if dtype != "" && m.DType != dtype {
			return 0, ""
		}
		flops, calls, dtype = flops+m.FLOPs, calls+m.Calls, m.DType
	}
	if calls == 0 || w.replayed[path] {
		return 0, ""
	}
	return flops / float64(calls) * float64(w.instances[path]), dtype
}
