package analysis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/timeline"
)

// Analyze reads what the input names and finishes the numbers. The result is
// the same for the same files.
// A timeline that cannot be used is left out with a warning if there are others; if
// nothing is left, the error names the first. The error is a ScopeError if the regions
// that were asked for select nothing, an UnusedError if a file that was named cannot be
// used.
func Analyze(ctx context.Context, in Input) (*Result, error) {
	if in.Empty() {
		return nil, errors.New("analyze: there is neither a timeline nor a report of counters nor what a workload measured; give a run, an .sqlite or .nsys-rep, or an .ncu-rep")
	}
	if in.Model != "" && in.counted == nil {
		return nil, errors.New("count " + in.Model + ": the shape of the session is not given")
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

// analyze is one try with the timelines that are left. The error is a lostError where
// the first of them has nothing that can be used, and plain ctx.Err where ctx has
// ended.
func analyze(ctx context.Context, in Input) (*Result, error) {
	by, err := newRules(&in)
	if err != nil {
		return nil, fmt.Errorf("analyze: %w", err)
	}
	a := newAnalyzer(in, by)
	a.take()
	res, err := a.analyze(ctx)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("analyze: %w", err)
	}
	return res, nil
}

// analyze goes through the steps. Each takes what earlier ones made, and adds to a copy of
// the result, which takes its place here, or returns what it makes. Notes collect warnings.
func (a *analyzer) analyze(ctx context.Context) (*Result, error) {
	res := a.res
	reader := &timelineReader{rules: a.rules, in: &a.in, run: a.run, self: a.self, made: new(*res), notes: &a.notes}
	defer reader.close()
	tl, err := reader.readTimeline(ctx)
	if err != nil {
		return nil, err
	}
	*res = *reader.made
	res.Method.Annotation = a.readAnnotation(tl)
	if err := a.judgeTimeline(tl); err != nil {
		return nil, err
	}
	all, err := (&jobReader{timelineReader: reader}).read(ctx)
	if err != nil {
		return nil, err
	}
	res.Parts, res.Across, res.Job = all.parts, all.across, all.job
	res.Overview.Ranks, res.Overview.RankNames = all.lanes, all.names
	res.Serving = a.readServing(all.steps)
	counted, err := a.count(ctx, tl)
	if err != nil {
		return nil, err
	}
	sure := a.judge(tl, counted)
	doubtful, err := a.utilize(tl, sure)
	if err != nil {
		return nil, err
	}
	a.divideSteps(tl)
	res.Stages = withHostFrames(res.Stages, tl)
	operators := &operatorReader{counters: sure, in: &a.in, self: a.self, res: res, notes: &a.notes, tl: tl}
	res.Operators, res.Profiled = operators.readOperators()
	if err := a.refuse(tl, sure); err != nil {
		return nil, err
	}
	a.advise(tl, sure, all.found, doubtful)
	a.finish(tl)
	return res, ctx.Err()
}

// count reads the counters, and joins them to the kernels of the timeline.
func (a *analyzer) count(ctx context.Context, tl *timed) (*counters, error) {
	cr := &counterReader{rules: a.rules, in: &a.in, run: a.run, notes: &a.notes, tl: tl, made: new(*a.res)}
	counted, err := cr.read(ctx)
	*a.res = *cr.made
	return counted, err
}

// judge says what the GPU can do and what limits kernels and regions. It returns
// the counters that are not in doubt.
func (a *analyzer) judge(tl *timed, counted *counters) *counters {
	res := a.res
	peaks := &peakFinder{counters: counted, run: a.run, gpus: res.Environment.GPUs, tl: tl}
	res.Environment.GPUs, res.Roofline.Roofs = peaks.findPeaks()
	j := &judgment{counters: counted, made: new(*res), notes: &a.notes, tl: tl}
	sure := j.judge()
	j.countRegions()
	j.judgeRanges()
	*res = *j.made
	return sure
}

// utilize gives MFU and MBU of stages and of the steps of a server. It returns what
// is doubtful about them.
func (a *analyzer) utilize(tl *timed, sure *counters) ([]Finding, error) {
	res := a.res
	u := &utilizer{counters: sure, in: &a.in, run: a.run, self: a.self, gpus: res.Environment.GPUs, roofs: res.Roofline.Roofs, commands: res.Method.Commands,
		notes: &a.notes, tl: tl, useRows: useRows{
			stages: slices.Clone(res.Stages), kernels: slices.Clone(res.Kernels), regionRows: slices.Clone(res.Regions), workload: res.Workload,
		}}
	if err := u.utilize(); err != nil {
		return nil, err
	}
	res.takeUse(&u.useRows)
	if res.Serving != nil {
		res.Serving.Steps = u.servingWork(res.Serving)
	}
	return u.found, nil
}

// finish cuts the result to what a report can hold, and derives the rest.
func (a *analyzer) finish(tl *timed) {
	a.res.trim()
	a.res.Warnings, a.res.Missing = a.notes.merged(tl.onTape())
	a.res.Source.Files = append(a.res.Source.Files, a.notes.files...)
	a.res.Environment.mergeCUDA()
	a.res.Derive()
}

// An emptyError says that the files hold nothing to analyze. Warnings say why,
// where that is known.
type emptyError struct {
	Files    []string
	Warnings []Note
}

// Error names the files, and the first reason that a warning gives.
func (e *emptyError) Error() string {
	text := "there is nothing to analyze in " + strings.Join(e.Files, ", ")
	for _, w := range e.Warnings {
		if why := w.Text("error"); why != "" {
			return text + ": " + why
		}
		if w.Is(inputLost) {
			return text + ": the file is cut or damaged; copy or capture it again"
		}
	}
	return text + ": neither a launch nor a range, an operator or the time of a stage is in it"
}

// refuse fails where nothing could be taken from the files, or nothing from one
// that was named. It comes after all steps that take something.
func (a *analyzer) refuse(tl *timed, c *counters) error {
	if tl != nil || len(c.counted)+len(c.ranges)+len(a.res.Operators) > 0 || a.self.best() != nil || a.res.Serving != nil {
		return a.refuseUnused()
	}
	files := slices.Concat(a.in.Counters, slices.Sorted(maps.Values(a.in.Metrics)))
	if a.in.Operators != "" {
		files = append(files, a.in.Operators)
	}
	return &emptyError{Files: files, Warnings: a.notes.warnings}
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
			f.Name = "torch_cuda"
		}
	}
}

// newResult has no nil slice where JSON has a list: readers of result.json need not
// tell an empty list from none.
func newResult(in Input) *Result {
	return &Result{
		Schema: Schema, Version: in.Version, Preliminary: in.Preliminary,
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

// An analyzer is what all steps read: what to analyze and by which rules, what the
// run and the workload recorded. Steps write only into the result, each its own
// part, and notes.
type analyzer struct {
	rules
	in    Input
	run   *runRecord
	self  selfTimes
	res   *Result
	notes notes
}

// take reads what the run and the workload recorded, before all else.
func (a *analyzer) take() {
	a.run = readRun(&a.in, &a.notes)
	a.notes.recorded = a.run.files
	a.res.Source, a.res.Environment, a.res.Workload = a.run.source, a.run.environment, a.run.workload
	a.res.Method.Commands, a.res.Method.Deviations = a.run.commands, a.run.deviations
	a.self = readSelfTimes(&a.in, a.run.unprofiledSeconds, &a.notes)
	if a.self.unprofiled == nil && len(a.in.Timelines) > 0 {
		a.res.Method.UnprofiledS = a.run.unprofiledSeconds
	}
	a.self.describe(&a.in, a.res)
}

// onTape is nil where no timeline was read.
func (tl *timed) onTape() *timeline.Tape {
	if tl == nil {
		return nil
	}
	return tl.tape
}

// newAnalyzer has a result with nothing but its thresholds; take and analyze fill it.
func newAnalyzer(in Input, by rules) *analyzer {
	res := newResult(in)
	res.Method.Thresholds, res.Method.OverheadLimit = by.th.facts(), by.th.Overhead
	return &analyzer{rules: by, in: in, res: res, notes: notes{in: &in}, run: &runRecord{}}
}

// advise lists what could be gained, and states what was found.
func (a *analyzer) advise(tl *timed, sure *counters, ofJob, doubtful []Finding) {
	stages := newStageClock(a.res.Stages, tl, a.self)
	if tl != nil {
		a.res.Opportunities = (&savings{th: a.th, res: a.res, tl: tl, launchOf: sure.launchOf, stages: stages}).find()
	}
	found := (&conclusion{th: a.th, in: &a.in, res: a.res, notes: &a.notes, tl: tl, stages: stages, found: doubtful}).conclude()
	a.res.Findings = byWeight(append(ofJob, found...))
}
