package analysis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/pick"
	"github.com/deepprof/deepprof/internal/timeline"
)

// Analyze reads what the input names and finishes the numbers. The result is
// the same for the same files.
func Analyze(ctx context.Context, in Input) (*Result, error) {
	if in.Empty() {
		return nil, errors.New("analyze: there is neither a timeline nor a report of counters nor what a workload measured; give a run, an .sqlite or .nsys-rep, or an .ncu-rep")
	}
	if err := in.checkModel(); err != nil {
		return nil, err
	}
	in.Timelines = in.Ordered()
	for {
		res, err := analyze(ctx, in)
		var lost *lostError
		if !errors.As(err, &lost) {
			return res, err
		}
		in.lost = append(in.lost, lostTimeline{in.timeline(), lost.err})
		if in.Timelines = in.Timelines[1:]; in.Empty() {
			return nil, fmt.Errorf("analyze: %w", lost.err)
		}
		// The rest is analyzed.
	}
}

func analyze(ctx context.Context, in Input) (*Result, error) {
	by, err := newRules(&in)
	if err != nil {
		return nil, fmt.Errorf("analyze: %w", err)
	}
	a := newAnalyzer(in, by)
	for _, step := range []func(context.Context) error{
		a.takeRun,        // manifest, environment, inputs
		a.takeWorkload,   // clean times, model
		a.readTimeline,   // totals, kernels, regions, stages, overview
		a.readAnnotation, // whether deepprof's ranges got into the program
		a.judgeTimeline,  // whether it is whole and has what was asked for
		a.readOthers,     // where there are several timelines
		a.readServing,    // windows of a server, its clients and its steps
		a.readCounters,   // joined to kernels
		a.readTargets,    // why launches were counted
		a.regionsOfNcu,   // where there is no timeline
		a.findPeaks,      // what the GPU can do
		a.judge,          // limiter and roofline of each kernel
		a.countRegions,   // counters over regions
		a.judgeRanges,    // limiter and roofline of regions measured as a whole
		a.utilize,        // MFU and MBU
		a.servingWork,    // of the steps of a server
		a.divideSteps,    // into kernels and layers
		a.readOperators,  // of the torch profiler
		a.findHostFrames, // what Python did while the GPU waited
		a.refuseNothing,  // where no file held anything
		func(context.Context) error { return a.refuseUnused() }, // a file that was named
		a.advise, // opportunities and findings
		a.trim,   // to what a report can hold
		func(context.Context) error {
			a.res.Warnings, a.res.Missing = a.notes.merged(a.timeline())
			a.res.Source.Files = append(a.res.Source.Files, a.notes.files...)
			a.res.Environment.mergeCUDA()
			a.res.Derive()
			return nil
		},
	} {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("analyze: %w", err)
		}
	}
	return a.res, nil
}

// An EmptyError says that the files hold nothing to analyze. Warnings say why,
// where that is known.
type EmptyError struct {
	Files    []string
	Warnings []Note
}

func (e *EmptyError) Error() string {
	text := "there is nothing to analyze in " + strings.Join(e.Files, ", ")
	for _, w := range e.Warnings {
		if why := w.Text("error"); why != "" {
			return text + ": " + why
		}
	}
	return text + ": neither a launch nor a range, an operator or the time of a stage is in it"
}

// refuseNothing fails where nothing could be taken from the files.
func (a *analyzer) refuseNothing(context.Context) error {
	if a.tl != nil || len(a.counted)+len(a.ranges)+len(a.res.Operators) > 0 || a.self.best() != nil || a.res.Serving != nil {
		return nil
	}
	files := slices.Concat(a.in.Counters, slices.Sorted(maps.Values(a.in.Metrics)))
	if a.in.Operators != "" {
		files = append(files, a.in.Operators)
	}
	return &EmptyError{Files: files, Warnings: a.notes.warnings}
}

// mergeCUDA keeps one version of CUDA where the driver's and PyTorch's are the
// same, and tells them apart where they are not.
func (env *Environment) mergeCUDA() {
	for i := range env.Software {
		f := &env.Software[i]
		switch {
		case f.Name != "CUDA" || env.CUDA == "":
		case f.Value == env.CUDA:
			env.Software = slices.Delete(env.Software, i, i+1)
			return
		default:
			f.Name = "CUDA of PyTorch"
		}
	}
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

// rules are what time and kernels are named and judged by. No step changes them.
type rules struct {
	th         Thresholds
	categories *Categories
	kinds      *kinds
}

// newRules are those of an input, or else the built-in ones.
func newRules(in *Input) (rules, error) {
	categories := in.Categories
	if categories == nil {
		var err error
		if categories, err = LoadCategories(); err != nil {
			return rules{}, err
		}
	}
	return rules{in.Thresholds.withDefaults(), categories, &kinds{categories, map[string]kind{}}}, nil
}

// An analyzer carries what the steps hand on.
type analyzer struct {
	rules
	in    Input
	run   *runRecord
	res   *Result
	notes notes

	ofJob    []Finding         // about the ranks of a job
	brief    bool              // a further timeline, of which no overview is drawn
	siblings int               // timelines, or processes, that are read one by one; 0 before
	tl       *timed            // nil without a timeline
	byKey    map[kernelKey]int // kernels of the result

	counted      []*launch         // launches with counters, of the program of the timeline
	foreign      int               // launches with counters of another program
	launches     map[int][]*launch // of each kernel
	launchOf     map[int]*launch   // the one that speaks for a kernel
	chosen       map[string]bool   // kernels of the plan, by ID
	ranges       []*launch         // results of range replay
	self         selfTimes
	regionReport *pick.RegionReport
	partsOnly    bool                   // regions have counters by process and device, not over all of them
	cpuOnly      bool                   // the torch profiler saw no device
	isInjected   func(path string) bool // of regions, as far as asked for
	steps        []timeline.StepRow     // of a serving engine, of all timelines
}

func (a *analyzer) takeRun(context.Context) error {
	a.run = readRun(&a.in, &a.notes)
	a.notes.recorded = a.run.files
	a.res.Source, a.res.Environment, a.res.Workload = a.run.source, a.run.environment, a.run.workload
	a.res.Method.Commands, a.res.Method.Deviations = a.run.commands, a.run.deviations
	return nil
}

func (a *analyzer) takeWorkload(context.Context) error {
	a.self = readSelfTimes(&a.in, a.run.unprofiledSeconds, &a.notes)
	if a.self.unprofiled == nil && len(a.in.Timelines) > 0 {
		a.res.Method.UnprofiledS = a.run.unprofiledSeconds
	}
	a.self.describe(&a.in, a.res)
	return nil
}

// timeline is nil where none was read.
func (a *analyzer) timeline() *timeline.Timeline {
	if a.tl == nil {
		return nil
	}
	return a.tl.t
}

func newAnalyzer(in Input, by rules) *analyzer {
	res := newResult(in)
	res.Method.Thresholds = by.th.facts()
	return &analyzer{rules: by, in: in, res: res, notes: notes{in: &in}, run: &runRecord{}, launches: map[int][]*launch{}, launchOf: map[int]*launch{}, chosen: map[string]bool{}}
}

// advise lists what could be gained, and states what was found.
func (a *analyzer) advise(context.Context) error {
	stages := newStageClock(a.res.Stages, a.tl, a.self)
	if a.tl != nil {
		a.res.Opportunities = (&savings{th: a.th, res: a.res, tl: a.tl, launchOf: a.launchOf, stages: stages}).find()
	}
	found := (&conclusion{th: a.th, in: &a.in, res: a.res, notes: &a.notes, tl: a.tl, stages: stages, found: a.res.Findings}).conclude()
	a.res.Findings = byWeight(append(a.ofJob, found...))
	return nil
}
