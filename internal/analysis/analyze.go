package analysis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/pick"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/workload"
)

// Analyze reads what the input names and finishes the numbers. The result is
// the same for the same files.
func Analyze(ctx context.Context, in Input) (*Result, error) {
	if in.Empty() {
		return nil, errors.New("analyse: there is neither a timeline nor a report of counters nor what a workload measured; give a run, an .sqlite or .nsys-rep, or an .ncu-rep")
	}
	res, err := analyze(ctx, in)
	var lost *lostError
	if errors.As(err, &lost) {
		in.Timeline, in.lostAt, in.lost = "", in.Timeline, lost.err
		if in.Empty() {
			return nil, fmt.Errorf("analyse: %w", lost.err)
		}
		return analyze(ctx, in) // of the rest
	}
	return res, err
}

func analyze(ctx context.Context, in Input) (*Result, error) {
	a := &analyzer{in: in, th: in.Thresholds.withDefaults(), res: newResult(in), launches: map[int][]*launch{}, launchOf: map[int]*launch{}, chosen: map[string]bool{}}
	for _, step := range []func(context.Context) error{
		a.loadCategories,
		a.readRun,       // manifest, environment, inputs
		a.readWorkload,  // clean times, model
		a.readTimeline,  // totals, kernels, regions, stages, overview
		a.judgeTimeline, // whether it is whole and has what was asked for
		a.readCounters,  // joined to kernels
		a.readTargets,   // why launches were counted
		a.findPeaks,     // what the GPU can do
		a.judge,         // limiter and roofline of each kernel
		a.countRegions,  // counters over regions
		a.utilise,       // MFU and MBU
		a.readOperators, // of the torch profiler
		a.refuseNothing, // where no file held anything
		a.findSavings,   // opportunities
		a.conclude,      // findings
		a.trim,          // to what a report can hold
		a.mergeNotes,
		a.mergeFacts,
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

// refuseNothing fails where nothing could be taken from the files.
func (a *analyzer) refuseNothing(context.Context) error {
	if a.tl != nil || len(a.counted)+len(a.ranges)+len(a.res.Operators) > 0 || a.clean != nil || a.profiled != nil {
		return nil
	}
	files := slices.Concat(a.in.Counters, slices.Sorted(maps.Values(a.in.Metrics)))
	if a.in.Operators != "" {
		files = append(files, a.in.Operators)
	}
	why := "neither a launch nor a range, an operator or the time of a stage is in it"
	if len(a.res.Warnings) > 0 {
		why = a.res.Warnings[0].Text
	}
	return fmt.Errorf("there is nothing to analyse in %s: %s", strings.Join(files, ", "), why)
}

// mergeNotes keeps one of the remarks that say the same, as a stage that warned
// and the file that it left do.
func (a *analyzer) mergeNotes(context.Context) error {
	for _, notes := range []*[]Note{&a.res.Warnings, &a.res.Missing} {
		seen, captured := map[string]bool{}, map[string]bool{}
		for _, n := range *notes {
			if _, text := said(&n); n.ID == captureNote {
				captured[text] = true
			}
		}
		*notes = slices.DeleteFunc(*notes, func(n Note) bool {
			_, text := said(&n)
			again := seen[n.Text] || n.ID != captureNote && captured[text]
			seen[n.Text] = true
			return again
		})
	}
	for i := range a.res.Warnings {
		n := &a.res.Warnings[i]
		if by, text := said(n); by != "" {
			n.Text = by + a.ofOneProcess(text) + text
		}
	}
	return nil
}

// said parts a warning of a capture, or of its file, into who says it and what;
// by is "" for others.
func said(n *Note) (by, text string) {
	if text, ok := strings.CutPrefix(n.Text, "the profiler says: "); ok {
		return "the profiler says: ", text
	}
	if stage, text, ok := strings.Cut(n.Text, ": "); ok && n.ID == captureNote {
		return stage + ": ", text
	}
	return "", n.Text
}

// ofOneProcess begins a message of nsys that is about one process where the
// timeline has from others what it misses.
func (a *analyzer) ofOneProcess(text string) string {
	switch {
	case a.tl == nil:
	case strings.HasPrefix(text, "No NVTX events collected") && len(a.tl.t.Ranges) > 0:
		return "one process has no NVTX ranges, another has: "
	case (strings.HasPrefix(text, "No CUDA events collected") || strings.HasPrefix(text, "CUDA profiling might have not been started")) && len(a.tl.t.Kernels) > 0:
		return "one process did not use CUDA, another did: "
	}
	return ""
}

// mergeFacts keeps one version of CUDA where the driver's and PyTorch's are the
// same, and tells them apart where they are not.
func (a *analyzer) mergeFacts(context.Context) error {
	env := &a.res.Environment
	for i := range env.Software {
		f := &env.Software[i]
		switch {
		case f.Name != "CUDA" || env.CUDA == "":
		case f.Value == env.CUDA:
			env.Software = slices.Delete(env.Software, i, i+1)
			return nil
		default:
			f.Name = "CUDA of PyTorch"
		}
	}
	return nil
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
	memoryHz   map[string]int64 // highest clock of the memory of each GPU, by UUID
	alone      float64          // seconds of the clean run where it was timed as a whole; 0 is not known
	th         Thresholds
	res        *Result
	categories *Categories
	kinds      *kinds

	tl    *timed            // nil without a timeline
	scope *scoped           // nil for the whole timeline
	asked error             // why there is no scope
	byKey map[kernelKey]int // kernels of the result
	// regionIDs are those of the rows of Result.Regions for all work together,
	// which come first; stageRegions those of the stages, none for the whole.
	regionIDs    []uint32
	stageRegions [][]uint32

	counted      []*launch            // launches with counters
	launches     map[int][]*launch    // of each kernel
	launchOf     map[int]*launch      // the one that speaks for a kernel
	chosen       map[string]bool      // kernels of the plan, by ID
	ranges       []*launch            // results of range replay
	clean        *workload.Metrics    // of the clean run
	profiled     *workload.Metrics    // of the run under nsys
	recorded     map[string]runs.File // of the manifest, by path
	noCounters   *runs.Outcome        // why ncu failed, nil where it did not
	regionReport *pick.RegionReport
	partsOnly    bool // regions have counters by process and device, not over all of them
	cpuOnly      bool // the torch profiler saw no device
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
