package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/doctor"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/ncu"
	"github.com/deepprof/deepprof/internal/pick"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/redact"
	reports "github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/serving"
	"github.com/deepprof/deepprof/internal/tool"
	"github.com/deepprof/deepprof/internal/workload"
)

// A job is what every step is given: the plan, and what was found and made
// before the first step. Steps read it; the report alone sets its result.
type job struct {
	Options
	plan   *plan.Plan // a copy, complete: with the seed where the configuration leaves it open
	steps  []step     // of the plan
	store  *runs.Run  // nil before there is a run, and in a dry run
	finder tool.Finder
	// nsys, ncu, lists and python are set while the run is prepared; zero for a step that is off.
	nsys   tool.Tool
	ncu    tool.Tool
	lists  *tool.Capabilities // what ncu knows; nil where it could not be told
	python tool.Tool          // of the shipped programs
	start  string             // folder that relative paths of the configuration begin in
	dir    string             // working directory of the workload
	env    []string           // of the workload
	// counts and gpus are what the checks of the machine found.
	counts  bool // the user may read counters of the GPU
	gpus    int  // of the machine; 0 where that is not known
	dry     bool // nothing is started
	played  bool // the captures come from a recording
	record  func(capture.Tool, capture.Recording)
	display *display
	result  *analysis.Result // of the last report or first answer; nil before
	// again makes a run of its own: Run, which the table of steps must not name.
	again func(context.Context, Options) (*Summary, error)
}

// newJob fixes what a plan leaves open; start is "" for the folder of this
// process.
// The plan of the options stays as it is: the job changes a copy.
func newJob(o Options, start string) (*job, error) {
	if start == "" {
		var err error
		if start, err = os.Getwd(); err != nil {
			return nil, fmt.Errorf("find the working directory: %w", err)
		}
	}
	own := *o.Plan
	if sampling := &own.Dataset.Sampling; sampling.Randomize && sampling.Seed == nil {
		seed := rand.IntN(1 << 31) // every step shuffles alike
		sampling.Seed = &seed
	}
	j := &job{Options: o, plan: &own, steps: stepsOf(&own), start: start, display: &display{show: o.Progress}}
	if w := &own.Pipeline.Workload; w.Chdir && len(w.Command) > 0 { // the program is found where it was typed
		w.Command = slices.Clone(w.Command)
		w.Command[0] = j.program(w.Command[0])
	}
	j.dir = j.workingDir()
	var err error
	if o.Recording != "" {
		j.record, err = capture.RecordInto(o.Recording, func(err error) { o.tellError("warning", err) })
	}
	return j, err
}

// reopenJob is the job of a run that goes on, by what the run recorded of its
// start.
func reopenJob(o Options, store *runs.Run) (*job, error) {
	stored, err := store.ReadExactPlan()
	if err != nil {
		return nil, err
	}
	if stored != nil {
		o.Plan = stored
	}
	if o.Plan == nil {
		return nil, fmt.Errorf("resume %s: it has no %s; start a new run", store.Dir(), runs.PlanName)
	}
	start := store.Manifest().Start
	if start == "" { // schema 1
		in, err := store.ReadInputs()
		if err != nil {
			return nil, err
		}
		start = in.Workload.Start
		own := *o.Plan
		own.Dataset.Sampling.Seed = cmp.Or(own.Dataset.Sampling.Seed, workload.SeedOf(runs.Files(store.Dir(), runs.SpecFile)))
		o.Plan = &own
	}
	j, err := newJob(o, start)
	if err != nil {
		return nil, err
	}
	j.store, j.Dir = store, store.Dir()
	j.dir = j.workingDir()
	if st, err := os.Stat(j.dir); err != nil || !st.IsDir() {
		return nil, fmt.Errorf("resume %s: the working directory of its workload, %s, is not there any more", store.Dir(), j.dir)
	}
	if err := runs.RestoreSecrets(j.plan); err != nil {
		return nil, err
	}
	store.Hide(j.secrets())
	return j, nil
}

// create makes the run directory, with what is needed to resume it.
// Secrets are taken out of every file that is written here.
func (j *job) create(ctx context.Context) error {
	files, err := runs.PlanFiles(j.plan, j.Config)
	if err != nil || ctx.Err() != nil {
		return cmp.Or(ctx.Err(), err)
	}
	secrets := j.secrets()
	err = j.createRun(runs.CreateOptions{Command: runs.WithoutEnv(j.plan, j.Argv), Steps: planned(j.steps), Label: secrets.Text(workload.Label(j.plan)), Files: files, Secrets: secrets})
	if err != nil {
		return err
	}
	j.dir = j.workingDir()
	for name, text := range j.Files {
		if err := j.store.WriteFile(name, []byte(runs.WithoutEnv(j.plan, []string{string(text)})[0])); err != nil {
			return errors.Join(err, j.store.Finish(runs.StatusFailed, capture.ErrorFact(err)))
		}
	}
	return nil
}

// createRun makes the run directory where hydra.run.dir says.
func (j *job) createRun(o runs.CreateOptions) (err error) {
	o.Version, o.Start = j.Version, j.start
	parent, auto := plan.SplitRunDir(j.Dir)
	if !auto {
		o.Dir = parent
	}
	if j.store, err = runs.Create(parent, o); err == nil {
		j.tell(runIs, fact.File("dir", j.store.Dir()))
	}
	return err
}

// secrets are the values that the run must not show.
// They are collected anew each time: the environment of the workload is known late.
func (j *job) secrets() *redact.Values {
	return runs.Secrets(j.plan, append(os.Environ(), j.env...), j.Argv, j.Config)
}

// workingDir is where the workload runs: the folder of the run where
// hydra.job.chdir asks for it.
// The path is absolute. It changes once, when the run has got its name.
func (j *job) workingDir() string {
	if j.plan.Pipeline.Workload.Chdir {
		return filepath.Clean(j.place(""))
	}
	return j.abs(j.plan.Pipeline.Workload.Cwd)
}

// abs gives a path of the configuration a place: relative ones begin where the
// run was started.
func (j *job) abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(j.start, path)
}

// program is abs for a program, whose bare name is looked up in PATH.
func (j *job) program(path string) string {
	if !strings.Contains(path, "/") {
		return path
	}
	return j.abs(path)
}

// place is where a file of the run will lie; the name of a run that is still to
// be made is not known.
// Rel has slashes; the path is absolute.
func (j *job) place(rel string) string {
	if j.store != nil {
		return j.store.Path(rel)
	}
	dir := j.Dir
	if parent, auto := plan.SplitRunDir(dir); auto {
		dir = filepath.Join(parent, "RUN")
	}
	return filepath.Join(j.abs(dir), filepath.FromSlash(rel))
}

// programTime is what one start of the program takes until its launches can be
// counted: the unprofiled run, or the start of a server in its nsys session. 0
// where neither was measured.
func (j *job) programTime() time.Duration {
	if !workload.Serves(j.plan) {
		return j.unprofiledTime()
	}
	return serving.StartTime(j.store)
}

// unprofiledTime is how long one run of the workload took without a profiler; 0
// where that is not known.
func (j *job) unprofiledTime() time.Duration {
	if j.store == nil {
		return 0
	}
	m := j.store.Manifest()
	s := m.Step(plan.StepUnprofiled)
	if s == nil || s.State != runs.StateDone || s.Seconds == nil {
		return 0
	}
	return time.Duration(*s.Seconds / float64(max(1, j.plan.Pipeline.Unprofiled.Repeats)) * float64(time.Second))
}

// target is the program that a step profiles: the command of the user's, or the
// session of the step.
// It names paths in the run, which need not be written yet.
func (j *job) target(step string) ([]string, error) {
	if workload.Serves(j.plan) {
		_, server := j.serverLine()
		return server.Argv(), nil
	}
	if !workload.Shipped(j.plan) {
		return j.plan.Pipeline.Workload.Command, nil
	}
	_, argv, err := j.session(step, runs.SessionFolder(step))
	return argv, err
}

// session is what the session of a step is told and started with.
func (j *job) session(step, folder string) (workload.Spec, []string, error) {
	return workload.Build(j.plan, step, workload.Places{Python: j.pythonPath(), Program: j.place(runs.ProgramFolder), Out: j.place(folder), Start: j.start})
}

// pythonPath is the interpreter of the shipped programs.
func (j *job) pythonPath() string {
	return cmp.Or(j.python.Path, j.program(j.plan.Pipeline.Workload.Python))
}

// foretell says what counters will cost before there is a timeline, for a dry
// run.
// It counts on a recent release where a tool is missing.
func (j *job) foretell() {
	j.Say(message.Text(runsOfWorkload(j.steps, j.plan)))
	n, _ := j.ncuPlan()
	if n.Enable && workload.Serves(j.plan) {
		j.foretellServer()
	}
	p := pick.PolicyOf(j.plan.Pipeline.Nsys, n, j.ncu.Version, 0)
	p.BriefStart = workload.BriefWarmup(j.plan)
	switch choose := j.willChoose(); {
	case !n.Enable:
	case choose && n.CLI.ReplayMode == plan.ReplayAuto:
		j.tell(costOfRanges, fact.Because("cost", p.Foresee()))
	case choose:
		j.tell(costOfLaunches, fact.Because("cost", p.Foresee()))
	default:
		passes, _ := p.Collect.Passes()
		j.tell(costUnknown, fact.Count("n", passes))
	}
}

// willChoose tells whether launches will be chosen, as far as that shows before
// there is a timeline.
func (j *job) willChoose() bool {
	n, _ := j.ncuPlan()
	return j.plan.Pipeline.Nsys.Enable && pick.NotChoosing(n, true).IsZero()
}

// prepare checks everything that can be checked before anything is started. A
// dry run is prepared to its end and then gets its BlockedError.
func prepare(ctx context.Context, j *job) error {
	report, err := j.examine(ctx)
	if err != nil || ctx.Err() != nil {
		return cmp.Or(ctx.Err(), err)
	}
	for _, row := range report.Rows {
		if row.Status == doctor.Warning || row.Status == doctor.Blocker && j.IgnoreBlockers {
			for _, line := range reports.CheckLines(row) {
				j.Say(line)
			}
		}
	}
	if err := j.findPython(ctx, report); err != nil {
		return err
	}
	blocked := report.HasBlocker() && !j.IgnoreBlockers
	if !blocked || j.dry {
		err = prepareSteps(ctx, j)
	}
	if blocked && err == nil {
		return &doctor.BlockedError{Report: report}
	}
	return err
}

// prepareSteps has each step find its tools and check its arguments.
// The first error ends it: what follows may stand on it.
func prepareSteps(ctx context.Context, j *job) error {
	for _, s := range j.steps {
		if s.prepare != nil && s.enabled(j.plan) {
			if err := s.prepare(ctx, j); err != nil {
				return err
			}
		}
	}
	return nil
}

// findPython finds the interpreter of a shipped program.
func (j *job) findPython(ctx context.Context, report doctor.Report) error {
	if !workload.Shipped(j.plan) && !workload.ShipsServer(j.plan) {
		return nil
	}
	var err error
	j.python, err = workload.FindPython(ctx, j.program(j.plan.Pipeline.Workload.Python), j.finder.Find)
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case j.dry || !j.IgnoreBlockers && report.HasBlocker():
		return nil // the report says so
	}
	return &doctor.MissingError{Name: tool.Python, Instead: "name another with pipeline.workload.python=PATH", Told: j.IgnoreBlockers, Err: err}
}

// find finds a profiler. A dry run goes on without it, under its bare name; that
// it is missing is one of the blockers.
// The error is a doctor.MissingError, or that of the context.
func (j *job) find(ctx context.Context, name, path string) (tool.Tool, error) {
	t, err := j.finder.Find(ctx, tool.Spec{Name: name, Path: j.program(path)})
	switch {
	case err == nil || ctx.Err() != nil:
		return t, err
	case j.dry:
		return tool.Tool{Name: name, Path: name, Version: recent[name]}, nil
	}
	return t, &doctor.MissingError{Name: name, Instead: "turn its step off with pipeline." + name + ".enable=false", Told: j.IgnoreBlockers, Err: err}
}

// prepareNsys finds nsys and builds its command once, so that what nsys would refuse
// is refused before the workload has run.
func prepareNsys(ctx context.Context, j *job) (err error) {
	if j.nsys, err = j.find(ctx, tool.Nsys, j.plan.Pipeline.Nsys.Path); err != nil {
		return err
	}
	if workload.Serves(j.plan) && j.plan.Pipeline.Server.WindowSteps > 0 {
		if e, _ := j.serverLine(); e.StepMetric == "" {
			return fmt.Errorf("pipeline.server.window_steps: the engine %s does not count its steps in /metrics; end windows with window_requests or window_s", e.Name)
		}
	}
	_, err = nsysCommands(j)
	return err
}

// prepareNcu has ncu's arguments checked: those of the configuration, less what
// the choice of launches decides itself.
// Metrics are held against what ncu knows for the GPU of this machine, where one can be
// asked.
func prepareNcu(ctx context.Context, j *job) (err error) {
	if j.ncu, err = j.find(ctx, tool.Ncu, j.plan.Pipeline.Ncu.Path); err != nil {
		return err
	}
	if n, fellBack := j.ncuPlan(); fellBack && !j.willChoose() {
		j.tell(noPerConfig, fact.Name("tool", j.ncu.String()), fact.Count("n", n.CLI.LaunchCount))
	}
	if filepath.IsAbs(j.ncu.Path) {
		if j.lists, err = tool.Probe(ctx, j.ncu, tool.System{}); err != nil {
			j.tell(sectionsUnlisted, fact.Name("tool", j.ncu.String()), fact.Error("error", err))
		}
	}
	o, err := j.ncuWritten()
	if err != nil {
		return err
	}
	if j.willChoose() {
		o.FilterMode = ""
	}
	if _, _, err = ncu.Args(o, j.ncu.Version); err != nil {
		return err
	}
	metrics := pick.Named(j.plan.Pipeline.Ncu.CLI.Metrics)
	if smi, err := j.finder.Find(ctx, tool.Spec{Name: tool.NvidiaSMI}); err == nil && j.lists != nil && len(metrics) > 0 {
		return j.lists.CheckMetrics(ctx, smi, "pipeline.ncu.ncu_cli.metrics", metrics)
	}
	return nil
}

// Examine makes every check that a run of the plan makes before it starts, and
// starts nothing.
// Rows come in the order of the checks; the last is about the arguments of captures, which
// only a machine without blockers has.
func Examine(ctx context.Context, o Options) (doctor.Report, error) {
	o.Say = func(string) {}
	j, err := newJob(o, "")
	if err != nil {
		return doctor.Report{}, err
	}
	report, err := j.examine(ctx)
	if err != nil || report.HasBlocker() {
		return report, err
	}
	row := doctor.Row{Check: "captures", Status: doctor.OK, Seen: fact.New(doctor.CapturesFine)}
	if err = j.findPython(ctx, report); err == nil {
		err = prepareSteps(ctx, j)
	}
	if err != nil {
		row.Status, row.Seen = doctor.Blocker, fact.New(doctor.CapturesRefused, fact.Error("error", err))
	}
	report.Rows = append(report.Rows, row)
	return report, ctx.Err()
}

// examine looks at the machine, and at the files that the configuration names.
// It also sets what the job keeps of the machine: environment, permission, GPUs.
func (j *job) examine(ctx context.Context) (doctor.Report, error) {
	var err error
	if j.env, err = workload.Environ(j.plan); err != nil {
		return doctor.Report{}, err
	}
	o := doctor.OptionsOf(j.plan, j.Dir)
	o.NsysPath, o.NcuPath, o.PythonPath = j.program(o.NsysPath), j.program(o.NcuPath), j.program(o.PythonPath)
	o.PythonEnv = j.env
	report := doctor.Check(ctx, o, doctor.Host{Find: j.finder.Find})
	dir := j.dir
	if j.plan.Pipeline.Workload.Chdir && j.store == nil { // the run is still to be made
		dir = j.start
	}
	report.Rows = append(report.Rows, doctor.WorkloadRows(j.plan, j.start, dir, j.env)...)
	j.counts, j.gpus = report.Counts(), report.GPUs
	return report, nil
}
