// Package pipeline is the run itself: the stage list, from a plan to captures
// in a run directory. Stages hand over through files, so that a crash costs
// one stage.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/doctor"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
)

// Options say what to run and who watches.
type Options struct {
	Plan    *plan.Plan
	Config  []byte   // composed and resolved, for the record
	Dir     string   // hydra.run.dir: a run directory, or "auto" in a store
	Version string   // of this program
	Argv    []string // the command line that started the run, for the record

	// Categories sorts kernels in the report; nil takes the shipped rules.
	Categories *analysis.Categories

	// IgnoreBlockers runs in spite of what the checks of the machine found.
	IgnoreBlockers bool

	Interrupts <-chan os.Signal // the first asks to finish, the second kills
	// Record receives each capture in a form that can be played again; nil
	// records nothing.
	Record func(stage string, r capture.Recording)
	// Progress receives a line to show while a stage runs, Say one to keep.
	Progress func(line string)
	Say      func(line string)
}

// A StageResult is what came of one stage.
type StageResult struct {
	Name    string
	State   runs.State
	Outcome capture.Outcome // zero for a stage that was skipped
	Seconds float64         // below 0 where a recording does not tell
	Reason  string
	// Recorded tells that it was taken from a recording: Seconds passed then.
	Recorded bool
}

// A Summary is what came of the run.
type Summary struct {
	Dir    string
	Status runs.Status
	Stages []StageResult
	Result *analysis.Result // nil where nothing could be analysed
	// Captured tells that there is something to analyse, Recorded that it was
	// taken from a recording, which cannot be resumed.
	Captured, Recorded bool
}

// A BlockedError says why the run was not started.
type BlockedError struct{ Report doctor.Report }

func (e *BlockedError) Error() string {
	return "the machine cannot do what the configuration asks for"
}

// A MissingError says that a run cannot start without a program, whatever is to
// be ignored.
type MissingError struct {
	Name    string // of the program
	Instead string // what to do
	Told    bool   // what was looked for is among the blockers that were told
	Err     error
}

func (e *MissingError) Error() string {
	if e.Told {
		return fmt.Sprintf("the run cannot do without a working %s, also with --ignore-blockers; mend it, or %s", e.Name, e.Instead)
	}
	return fmt.Sprintf("%v; or %s", e.Err, e.Instead)
}

func (e *MissingError) Unwrap() error { return e.Err }

// run is a run under way.
type run struct {
	Options
	store     *runs.Run
	tools     tool.Finder
	nsys, ncu tool.Tool
	lists     *tool.Capabilities // what ncu knows; nil where it could not be told
	python    tool.Tool          // of the shipped programs
	start     string             // folder that relative paths of the configuration begin in
	dir       string             // working directory of the workload
	env       []string           // of the workload
	summary   *Summary
	timeline  string // the SQLite export of the capture, once there is one

	dry         bool          // nothing is started
	blocked     *BlockedError // what a dry run found in the way
	resumed     bool
	recorded    bool // the captures come from a recording
	list        []stageOf
	at          standing // in the list
	interrupted bool     // between stages
	warned      bool     // of secrets in the report
}

// Run executes the plan. The error is set where nothing was started; what
// happened after that is in the summary. An interrupt before the first stage
// gives context.Canceled.
func Run(ctx context.Context, o Options) (*Summary, error) {
	r := &run{Options: o, summary: &Summary{}}
	if err := r.begin(""); err != nil {
		return nil, err
	}
	err := r.untilInterrupted(ctx, func(ctx context.Context) error {
		if err := r.prepare(ctx); err != nil {
			return err
		}
		return r.create(ctx)
	})
	if err != nil {
		return nil, err
	}
	return r.stages(ctx, nil)
}

// DryRun checks everything that a run checks and returns its commands, a line
// each that can be pasted into a shell. It starts nothing and makes no run. With
// blockers the commands come with a BlockedError; a profiler that is missing
// stands in them by its bare name.
func DryRun(ctx context.Context, o Options) ([]string, error) {
	r := &run{Options: o, summary: &Summary{}}
	r.dry = true
	if err := r.begin(""); err != nil {
		return nil, err
	}
	if err := r.untilInterrupted(ctx, r.prepare); err != nil {
		return nil, err
	}
	p := r.Plan.Pipeline
	lines, err := r.alone()
	if err != nil {
		return nil, err
	}
	if p.Nsys.Enable {
		if err := r.aim(plan.StepNsys); err != nil {
			return nil, err
		}
		c, err := r.nsysCommand(r.place("nsys/run"))
		if err != nil {
			return nil, err
		}
		lines = append(lines, r.line(c))
	}
	if p.Ncu.Enable {
		if err := r.aim(plan.StepNcu); err != nil {
			return nil, err
		}
		c, err := r.ncuCommand(r.place("ncu/run"), nil)
		if err != nil {
			return nil, err
		}
		lines = append(lines, r.line(c))
	}
	r.foresee()
	if r.blocked != nil {
		return lines, r.blocked
	}
	return lines, nil
}

// recent are the releases whose arguments a dry run shows where a tool is absent.
var recent = map[string]tool.Version{tool.Nsys: {Major: 2025, Minor: 1}, tool.Ncu: {Major: 2025, Minor: 1}}

// find finds a profiler. A dry run goes on without it, under its bare name; that
// it is missing is one of the blockers.
func (r *run) find(ctx context.Context, name, path string) (tool.Tool, error) {
	t, err := r.tools.Find(ctx, tool.Spec{Name: name, Path: path})
	switch {
	case err == nil || ctx.Err() != nil:
		return t, err
	case r.dry:
		return tool.Tool{Name: name, Path: name, Version: recent[name]}, nil
	}
	return t, &MissingError{Name: name, Instead: "turn its stage off with pipeline." + name + ".enable=false", Told: r.IgnoreBlockers, Err: err}
}

// Resume goes on with a run after its last good stage, by the configuration
// that it was started with, which the caller has read from it into o.Plan, in
// the folder that it was started in. What earlier attempts left is set aside.
func Resume(ctx context.Context, dir string, o Options) (*Summary, error) {
	before, err := runs.ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	store, err := runs.Reopen(ctx, dir)
	if err != nil {
		return nil, err
	}
	r := &run{Options: o, store: store, summary: &Summary{Dir: store.Dir()}, resumed: true}
	var todo runs.ResumePlan
	err = r.untilInterrupted(ctx, func(ctx context.Context) error {
		if todo, err = runs.PlanResume(ctx, store); err != nil || todo.Next == "" {
			return err
		}
		for _, p := range todo.Problems {
			r.Say(fmt.Sprintf("note: %s: %s is done again", p, todo.Next))
		}
		if err := r.goOn(); err != nil {
			return err
		}
		r.Dir = store.Dir()
		return r.prepare(ctx)
	})
	if err != nil {
		return nil, errors.Join(err, store.Abandon(before)) // as if nobody had asked
	}
	if todo.Next == "" && before.Status == runs.StatusDone {
		r.Say("every stage is done: nothing is left to do")
		r.summary.Status, r.summary.Captured = before.Status, r.captured()
		return r.summary, store.Abandon(before)
	}
	if todo.Next != "" {
		if err := r.setAsideReports(); err != nil {
			return nil, errors.Join(err, store.Abandon(before))
		}
	}
	if slices.Contains(todo.Kept, "nsys") {
		if made := runs.Files(store.Dir(), runs.TimelineFile); len(made) == 1 {
			r.timeline = made[0]
		}
	}
	return r.stages(ctx, todo.Kept)
}

// begin fixes the folders; start is "" for that of this process.
func (r *run) begin(start string) (err error) {
	if start == "" {
		if start, err = os.Getwd(); err != nil {
			return fmt.Errorf("find the working directory: %w", err)
		}
	}
	own := *r.Plan // its command changes from stage to stage
	r.Plan = &own
	r.start = start
	r.dir = r.abs(r.Plan.Pipeline.Workload.Cwd)
	return nil
}

// goOn takes over what a run recorded of its start.
func (r *run) goOn() error {
	in, err := r.store.ReadInputs()
	if err != nil {
		return err
	}
	if err := r.begin(in.Workload.Start); err != nil {
		return err
	}
	if st, err := os.Stat(r.dir); err != nil || !st.IsDir() {
		return fmt.Errorf("resume %s: the working directory of its workload, %s, is not there any more", r.store.Dir(), r.dir)
	}
	return r.restoreSecrets()
}

// abs gives a path of the configuration a place: relative ones begin where the
// run was started.
func (r *run) abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(r.start, path)
}

// program is abs for a program, whose bare name is looked up in PATH.
func (r *run) program(path string) string {
	if !strings.Contains(path, "/") {
		return path
	}
	return r.abs(path)
}

// place is where a file of the run will lie; the name of a run that is still to
// be made is not known.
func (r *run) place(rel string) string {
	if r.store != nil {
		return r.store.Path(rel)
	}
	dir := r.Dir
	if parent, auto := plan.SplitRunDir(dir); auto {
		dir = filepath.Join(parent, "RUN")
	}
	return filepath.Join(r.abs(dir), filepath.FromSlash(rel))
}

// untilInterrupted does what comes before the first stage: there is nothing to
// finish yet, so that the first interrupt ends it.
func (r *run) untilInterrupted(ctx context.Context, do func(context.Context) error) error {
	inner, cancel := context.WithCancel(ctx)
	interrupted, ended := false, make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-r.Interrupts:
			interrupted = true
			cancel()
		case <-inner.Done():
		}
	}()
	err := do(inner)
	cancel()
	<-ended
	if !interrupted && ctx.Err() == nil {
		return err
	}
	if err == nil && r.store != nil && !r.resumed { // made, and not ended by what was interrupted
		err = r.store.Finish(runs.StatusInterrupted, "interrupted before the first stage")
	}
	return fmt.Errorf("interrupted before anything was captured: %w", errors.Join(context.Canceled, err))
}

// stages is the stage list. Stages that are kept stand as they are.
func (r *run) stages(ctx context.Context, kept []string) (*Summary, error) {
	r.list = r.stageList()
	for _, s := range r.list {
		if slices.Contains(kept, s.name) {
			r.Say(s.name + ": kept")
			continue
		}
		if err := r.stage(ctx, s.name, s.enable, s.do); err != nil {
			r.summary.Status = runs.StatusFailed
			return r.summary, errors.Join(err, r.store.Finish(runs.StatusFailed, err.Error()))
		}
	}
	return r.summary, r.finish()
}

// A stageOf is one stage of the list.
type stageOf struct {
	name   string
	enable bool
	do     func(context.Context) (capture.Outcome, error)
}

// stageList is what a run does, in order. A command of the user's has fewer
// stages than a program of our own.
func (r *run) stageList() []stageOf {
	p := r.Plan.Pipeline
	all := []stageOf{
		{"unprofiled", p.Unprofiled.Enable, r.baseline},
		{"direct_inference", p.DirectInference.Enable, r.directInference},
		{"static_analysis", p.StaticAnalysis.Enable, r.staticAnalysis},
		{"torch_profiler", p.TorchProfiler.Enable, r.torchProfiler},
		{"torch_flops", p.StaticAnalysis.TorchFlopCounter, r.torchFlops},
		{"nsys", p.Nsys.Enable, r.profiled(plan.StepNsys, r.captureTimeline)},
		{"ncu", p.Ncu.Enable, r.profiled(plan.StepNcu, r.captureCounters)},
		{"report", true, r.report},
	}
	if r.shipped() {
		return all
	}
	return slices.DeleteFunc(all, func(s stageOf) bool {
		return !s.enable && !slices.Contains([]string{"unprofiled", "nsys", "ncu", "report"}, s.name)
	})
}

// stage runs one stage and records what came of it. The error is that of the
// record: a stage that failed is a result.
func (r *run) stage(ctx context.Context, name string, enable bool, do func(context.Context) (capture.Outcome, error)) error {
	result := StageResult{Name: name}
	skip := func(reason string) error {
		result.State, result.Reason = runs.StateSkipped, reason
		r.summary.Stages = append(r.summary.Stages, result)
		return r.store.SkipStep(name, reason)
	}
	select {
	case <-r.Interrupts: // since the stage before ended
		r.interrupted = true
	default:
	}
	if r.interrupted && enable { // not skipped in the manifest: it is still to be done
		result.State, result.Reason = runs.StateSkipped, "the run was interrupted"
		r.summary.Stages = append(r.summary.Stages, result)
		return nil
	}
	switch failed := r.failed(); {
	case !enable:
		return skip("turned off")
	case failed != "":
		return skip(failed)
	case name == "report" && !r.captured():
		return skip("nothing was captured")
	}
	if r.resumed {
		if err := r.setAside(name); err != nil {
			return err
		}
	}
	if err := r.store.StartStep(name); err != nil {
		return err
	}
	r.at.start(name, r.list)
	r.Say(name + ": started")
	start := time.Now()
	outcome, err := do(ctx)
	result.Seconds = time.Since(start).Seconds()
	switch {
	case ctx.Err() != nil: // a second Ctrl-C, whatever it broke
		outcome = capture.Outcome{Kind: capture.Interrupted, What: "stopped by a signal", Usable: outcome.Usable, Reports: outcome.Reports}
	case runs.IsDiskFull(err):
		outcome = capture.Outcome{Kind: capture.DiskFull, What: err.Error(), Next: "free space, or choose another place with hydra.run.dir=DIR"}
	case err != nil:
		outcome = capture.Outcome{Kind: capture.Unknown, What: err.Error()}
	}
	result.Outcome = outcome
	result.State = stateOf(outcome)
	if result.State != runs.StateDone {
		result.Reason = outcome.String()
	}
	r.summary.Stages = append(r.summary.Stages, result)
	r.Say(fmt.Sprintf("%s: %s, %.1f s", name, outcome.Kind, result.Seconds))
	if err := r.recordVerdict(name, outcome); err != nil {
		return err
	}
	return r.store.EndStep(name, result.State, result.Reason)
}

// recordVerdict puts the verdict on a stage into its last attempt, where it says
// more than that of the attempt alone.
func (r *run) recordVerdict(name string, o capture.Outcome) error {
	return r.store.Update(func(m *runs.Manifest) error {
		a := m.Step(name).Last()
		if a == nil || a.Outcome == nil {
			return nil
		}
		if verdict := record(o); verdict.Kind != a.Outcome.Kind || verdict.Usable != a.Outcome.Usable || len(verdict.Warnings) > len(a.Outcome.Warnings) {
			a.Outcome = &verdict
		}
		return nil
	})
}

// setAside keeps what earlier attempts of a stage left, out of the way. The
// choice of launches goes with the counters that were taken by it.
func (r *run) setAside(name string) error {
	if name == "ncu" {
		if err := r.store.Move(name, map[string]string{TargetsFile: "ncu/" + TargetsFile}); err != nil {
			return err
		}
	}
	for _, folder := range r.folders(name) {
		aside, err := r.store.SetAside(name, folder)
		if err != nil {
			return err
		}
		if aside != "" {
			r.Say(fmt.Sprintf("note: what %s left before is now in %s", name, r.store.Path(aside)))
		}
	}
	return nil
}

// setAsideReports moves what an earlier analysis wrote out of the way, so that
// it does not pass for one of what is captured now.
func (r *run) setAsideReports() error {
	m := r.store.Manifest()
	s := m.Step("report")
	if s == nil {
		return nil
	}
	n := 1
	for exists(r.store.Path(fmt.Sprintf("report/attempt-%d", n))) {
		n++
	}
	moves := map[string]string{}
	for _, f := range s.Files() {
		moves[f.Path] = fmt.Sprintf("report/attempt-%d/%s", n, f.Path)
	}
	return r.store.Move("report", moves)
}

// folders are where a stage leaves its files.
func (r *run) folders(stage string) []string {
	if r.shipped() {
		return sessionFolders[stage]
	}
	return map[string][]string{"unprofiled": {"workload"}, "nsys": {"nsys"}, "ncu": {"ncu"}}[stage]
}

// stateOf is the state of a stage by what came of it. A capture that was cut
// off is not done, however good the part is that there is.
func stateOf(o capture.Outcome) runs.State {
	switch {
	case o.Kind == capture.Interrupted:
		return runs.StateInterrupted
	case !o.Usable, o.Kind == capture.TimedOut, o.Kind == capture.Stalled, o.Kind == capture.HungCollective, o.Kind == capture.WorkloadFailed:
		return runs.StateFailed
	}
	return runs.StateDone
}

// failed says why no further stage runs: one that was interrupted, or a
// workload that cannot run at all.
func (r *run) failed() string {
	for _, s := range r.summary.Stages {
		switch {
		case s.State == runs.StateInterrupted:
			return "the run was interrupted"
		case s.State == runs.StateFailed && (s.Name == "unprofiled" || s.Name == "direct_inference"):
			return "the workload failed without a profiler"
		}
	}
	return ""
}

func (r *run) finish() error {
	status, reason := r.status()
	r.summary.Status, r.summary.Captured = status, r.captured()
	return r.store.Finish(status, reason)
}

// status is how the run stands by its stages.
func (r *run) status() (status runs.Status, reason string) {
	status = runs.StatusDone
	if r.interrupted {
		status, reason = runs.StatusInterrupted, "interrupted between two stages"
	}
	for _, s := range r.summary.Stages {
		switch s.State {
		case runs.StateInterrupted:
			status, reason = runs.StatusInterrupted, s.Reason
		case runs.StateFailed:
			if status == runs.StatusDone {
				status, reason = runs.StatusFailed, s.Name+": "+s.Reason
			}
		}
	}
	return status, reason
}

// prepare checks everything that can be checked before anything is started.
func (r *run) prepare(ctx context.Context) error {
	report, err := r.examine(ctx)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, row := range report.Rows {
		if row.Status == doctor.Warning || row.Status == doctor.Blocker && r.IgnoreBlockers {
			for _, line := range row.Lines() {
				r.Say(line)
			}
		}
	}
	if err := r.preparePrograms(ctx, report); err != nil {
		return err
	}
	if report.HasBlocker() && !r.IgnoreBlockers {
		r.blocked = &BlockedError{report}
		if !r.dry {
			return r.blocked
		}
	}
	return r.prepareCaptures(ctx)
}

// prepareCaptures finds the profilers and has them accept what they will be
// told, as far as that shows without a start.
func (r *run) prepareCaptures(ctx context.Context) (err error) {
	p := r.Plan.Pipeline
	if p.Nsys.Enable {
		if r.nsys, err = r.find(ctx, tool.Nsys, p.Nsys.Path); err != nil {
			return err
		}
		if err := checkGate(p.Nsys); err != nil {
			return err
		}
		if err := r.aim(plan.StepNsys); err != nil {
			return err
		}
		if _, err := r.nsysCommand(r.place("nsys/run")); err != nil {
			return err
		}
	}
	if p.Ncu.Enable {
		if r.ncu, err = r.find(ctx, tool.Ncu, p.Ncu.Path); err != nil {
			return err
		}
		if filepath.IsAbs(r.ncu.Path) {
			r.lists, err = tool.Probe(ctx, r.ncu, tool.System{})
		}
		if err != nil {
			r.Say(fmt.Sprintf("warning: %s: its sets and sections could not be listed, so that a typo in them goes to ncu: %v", r.ncu, err))
		}
		if err := r.aim(plan.StepNcu); err != nil {
			return err
		}
		if err := r.checkNcu(); err != nil {
			return err
		}
		if err := r.checkMetrics(ctx); err != nil {
			return err
		}
	}
	return nil
}

// checkNcu has ncu's arguments checked: those of the configuration, less what
// the choice of launches decides itself.
func (r *run) checkNcu() error {
	o, err := r.asWritten(r.ncuOptions(r.place("ncu/run")), nil)
	if err != nil {
		return err
	}
	if r.willChoose() {
		o.FilterMode = ""
	}
	_, err = r.ncuLine(o)
	return err
}

// create makes the run directory and writes what is known before the start.
func (r *run) create(ctx context.Context) error {
	parent, auto := plan.SplitRunDir(r.Dir)
	o := runs.CreateOptions{Version: r.Version, Command: redactValues(redactArgs(r.Argv, r.secretEnv()), r.Plan.Pipeline.Workload.Env, r.secretEnv()), Steps: []string{"provenance"}, Label: r.label()}
	for _, s := range r.stageList() {
		o.Steps = append(o.Steps, s.name)
	}
	if !auto {
		o.Dir = parent
	}
	store, err := runs.Create(parent, o)
	if err != nil {
		return err
	}
	r.store = store
	r.summary.Dir = store.Dir()
	r.Say("run: " + store.Dir())
	if err := r.provenance(ctx); err != nil {
		status := runs.StatusFailed
		if ctx.Err() != nil {
			status = runs.StatusInterrupted
		}
		return errors.Join(err, store.Finish(status, err.Error()))
	}
	return nil
}
