package analysis

import (
	"path/filepath"
	"slices"

	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/timeline"
	"github.com/deepprof/deepprof/internal/workload"
)

// A LayerUse is the FLOPs that the modules of a row ask for, and the MFU of that.
type LayerUse struct {
	// FLOPs are of all instances of the row; MFU is nil if Why says so.
	FLOPs, MFU *float64
	// Why is a code of the domain no-mfu; "" if MFU is known.
	Why string
}

// Codes of why a row has no MFU; message has their words, JSON the codes.
const (
	mfuNotNoted   = "not-noted"   // annotation noted no shapes in this run
	mfuOutside    = "outside"     // work in no module
	mfuCompiled   = "compiled"    // a compiled module is one range
	mfuNoProducts = "no-products" // none was seen
	mfuSome       = "some"        // of some of the modules of a row none was seen
	mfuTypes      = "types"       // products of several data types
	mfuGraphs     = "graphs"      // captured calls and replays do not match
	mfuPeak       = "peak"        // the peak is not known, or the GPU cannot have done that
)

// LayerWork gives the FLOPs that the modules of a row ask for, and the MFU of that. run is
// the folder of a run; "" is a file without one, which has none, and no reason either.
// res is nil if nothing was analyzed. replays are by region path: how often each captured
// range was replayed.
func LayerWork(run string, res *Result, rows []timeline.RegionRow, replays map[string][]float64) (of func(*timeline.LayerRow) LayerUse, err error) {
	if run == "" {
		return func(*timeline.LayerRow) LayerUse { return LayerUse{} }, nil
	}
	told, err := workload.ReadAnnotated(filepath.Join(run, runs.AnnotateFolder, plan.StepNsys))
	if err != nil {
		return nil, err
	}
	if !hasWork(told) {
		return func(*timeline.LayerRow) LayerUse { return LayerUse{Why: mfuNotNoted} }, nil
	}
	w := layerWork{res: res, work: told.Work(), compiled: told.Compiled(), instances: map[string]int64{}, replays: replays}
	for i := range rows {
		w.instances[rows[i].Path] = rows[i].Instances
	}
	return w.of, nil
}

// hasWork tells whether annotation noted shapes: runs of older versions have none.
func hasWork(told workload.Annotated) bool {
	for _, p := range told.Processes {
		if len(p.Work) > 0 {
			return true
		}
	}
	return false
}

// layerWork is what annotation noted of the modules in the regions of a timeline. Regions and
// modules are matched by their path.
type layerWork struct {
	res  *Result // nil where nothing was analyzed
	work func(path string) []workload.ModuleWork
	// compiled tells a module that was compiled: it is one range, without those inside it.
	compiled  func(path string) bool
	instances map[string]int64     // by path
	replays   map[string][]float64 // by path, of each range with a capture
}

// of sums the modules of a row.
func (w *layerWork) of(row *timeline.LayerRow) LayerUse {
	if row.Layer == "" {
		return LayerUse{Why: mfuOutside}
	}
	return w.ofPaths(row.Paths(), row.NS)
}

// ofPaths sums modules whose kernels took ns. The work of all of them has to be known, and to
// be of one data type.
func (w *layerWork) ofPaths(paths []string, ns int64) LayerUse {
	sum, dtype, lacking := 0.0, "", false
	for _, path := range paths {
		done, kind, why := w.ofPath(path)
		switch {
		case why == mfuNoProducts:
			lacking = true
			continue
		case why != "":
			return LayerUse{Why: why}
		case dtype != "" && kind != dtype:
			return LayerUse{Why: mfuTypes}
		}
		sum, dtype = sum+done, kind
	}
	switch {
	case sum <= 0:
		return LayerUse{Why: mfuNoProducts}
	case lacking:
		return LayerUse{Why: mfuSome}
	}
	use := LayerUse{FLOPs: &sum}
	if w.res != nil {
		use.MFU = w.res.MFU(sum, ns, dtype)
	}
	if use.MFU == nil {
		use.Why = mfuPeak
	}
	return use
}

// ofPath is the work of all instances of a region, or why it is not known.
// FLOPs are those of the model, multiply and add counted as two; why is "" where they
// are known.
func (w *layerWork) ofPath(path string) (flops float64, dtype, why string) {
	var calls int64
	var captured []float64
	list := w.work(path)
	for _, m := range list {
		if dtype != "" && m.DType != dtype {
			return 0, "", mfuTypes
		}
		flops, calls, dtype = flops+m.FLOPs, calls+m.Calls, m.DType
		captured = append(captured, m.Captured...)
	}
	switch {
	case dtype == "" && w.compiled(path):
		return 0, "", mfuCompiled
	case dtype == "":
		return 0, "", mfuNoProducts
	}
	replayed, ok := replayedWork(captured, w.replays[path], len(list) == 1)
	if !ok {
		return 0, "", mfuGraphs
	}
	if calls > 0 { // each range stands for a mean call
		flops *= float64(w.ranAtOnce(path, calls, len(captured))) / float64(calls)
	}
	return flops + replayed, dtype, ""
}

// ranAtOnce is how many ranges of a region ran their work themselves: those of a capture only
// record it for replays.
func (w *layerWork) ranAtOnce(path string, calls int64, captured int) int64 {
	if n := w.instances[path]; n != calls+int64(captured) { // a part of the process
		return max(0, n-int64(len(w.replays[path])))
	}
	return calls
}

// replayedWork is what captured calls did, each as often as it was replayed. Captures
// that differ are told apart by their order, which has to be that of one process.
// captured are FLOPs of each capture, replays how often each ran. ok is false where they
// cannot be matched.
func replayedWork(captured, replays []float64, inOrder bool) (flops float64, ok bool) {
	if len(replays) == 0 {
		return 0, true
	}
	same := len(captured) > 0 && slices.Min(captured) == slices.Max(captured)
	if !same && (!inOrder || len(captured) != len(replays)) {
		return 0, false
	}
	for i, n := range replays {
		if same {
			i = 0
		}
		flops += captured[i] * n
	}
	return flops, true
}
