package analysis

import (
	"context"
	"errors"
	"fmt"

	"github.com/deepprof/deepprof/internal/pick"
	"github.com/deepprof/deepprof/internal/workload"
)

// Analyze reads what the input names and finishes the numbers. The result is
// the same for the same files.
func Analyze(ctx context.Context, in Input) (*Result, error) {
	if in.Empty() {
		return nil, errors.New("analyse: there is neither a timeline nor a report of counters nor what a workload measured; give a run, an .sqlite or .nsys-rep, or an .ncu-rep")
	}
	a := &analyzer{in: in, th: in.Thresholds.withDefaults(), res: newResult(in), launches: map[int][]*launch{}, launchOf: map[int]*launch{}}
	for _, step := range []func(context.Context) error{
		a.loadCategories,
		a.readRun,       // manifest, environment, inputs
		a.readWorkload,  // clean times, model
		a.readTimeline,  // totals, kernels, regions, stages, overview
		a.readCounters,  // joined to kernels
		a.readTargets,   // why launches were counted
		a.findPeaks,     // what the GPU can do
		a.judge,         // limiter and roofline of each kernel
		a.countRegions,  // counters over regions
		a.utilise,       // MFU and MBU
		a.readOperators, // of the torch profiler
		a.findSavings,   // opportunities
		a.conclude,      // findings
		a.trim,          // to what a report can hold
	} {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("analyse: %w", err)
		}
	}
	return a.res, nil
}

func newResult(in Input) *Result {
	return &Result{
		Schema: Schema, Version: in.Version,
		Source:      Source{Recorded: in.Recorded, Files: []File{}},
		Environment: Environment{GPUs: []GPU{}},
		Stages:      []Stage{}, Regions: []Region{}, Kernels: []Kernel{}, Categories: []CategoryTime{},
		Roofline:      Roofline{Roofs: []Peak{}, Points: []Point{}},
		Opportunities: []Opportunity{}, Findings: []Finding{},
		Overview: Overview{Names: []string{}, Lanes: []Lane{}},
	}
}

// An analyzer carries what the steps hand on.
type analyzer struct {
	in         Input
	alone      float64 // seconds of the clean run where it was timed as a whole; 0 is not known
	th         Thresholds
	res        *Result
	categories *Categories
	kinds      *kinds

	tl    *timed            // nil without a timeline
	byKey map[kernelKey]int // kernels of the result
	// regionIDs are those of the rows of Result.Regions for all work together,
	// which come first; stageRegion those of the stages, 0 for the whole.
	regionIDs, stageRegion []uint32

	counted      []*launch         // launches with counters
	launches     map[int][]*launch // of each kernel
	launchOf     map[int]*launch   // the one that speaks for a kernel
	ranges       []*launch         // results of range replay
	clean        *workload.Metrics // of the clean run
	profiled     *workload.Metrics // of the run under nsys
	regionReport *pick.RegionReport
}

func (a *analyzer) loadCategories(context.Context) error {
	a.res.Method.Thresholds = a.th.facts()
	a.categories = a.in.Categories
	if a.categories == nil {
		var err error
		if a.categories, err = LoadCategories(); err != nil {
			return err
		}
	}
	a.kinds = &kinds{a.categories, map[string]kind{}}
	return nil
}

func (a *analyzer) warn(id, next, format string, args ...any) {
	a.res.Warnings = append(a.res.Warnings, Note{ID: id, Text: fmt.Sprintf(format, args...), Next: next})
}

func (a *analyzer) missing(id, next, format string, args ...any) {
	a.res.Missing = append(a.res.Missing, Note{ID: id, Text: fmt.Sprintf(format, args...), Next: next})
}
