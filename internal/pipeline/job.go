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

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/load"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/pick"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/redact"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
	"github.com/deepprof/deepprof/internal/workload"
)

// A job is what every step is given: the plan, and what was found and made
// before the first step. Steps read it and change nothing in it.
type job struct {
	Options
	plan    *plan.Plan // a copy, complete: with the seed where the configuration leaves it open
	steps   []step     // of the plan
	store   *runs.Run  // nil before there is a run, and in a dry run
	finder  tool.Finder
	nsys    tool.Tool
	ncu     tool.Tool
	lists   *tool.Capabilities // what ncu knows; nil where it could not be told
	python  tool.Tool          // of the shipped programs
	start   string             // folder that relative paths of the configuration begin in
	dir     string             // working directory of the workload
	env     []string           // of the workload
	counts  bool               // the user may read counters of the GPU
	gpus    int                // of the machine; 0 where that is not known
	dry     bool               // nothing is started
	played  bool               // the captures come from a recording
	record  func(capture.Tool, capture.Recording)
	display *display
	// again makes a run of its own: Run, which the table of steps must not name.
	again func(context.Context, Options) (*Summary, error)
}

// newJob fixes what a plan leaves open; start is "" for the folder of this
// process.
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
func (j *job) create(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	files, err := runs.PlanFiles(j.plan, j.Config)
	if err != nil {
		return err
	}
	secrets := j.secrets()
	parent, auto := plan.SplitRunDir(j.Dir)
	o := runs.CreateOptions{
		Version: j.Version, Command: runs.WithoutEnv(j.plan, j.Argv),
		Steps: planned(j.steps), Label: secrets.Text(workload.Label(j.plan)), Start: j.start, Files: files, Secrets: secrets,
	}
	if !auto {
		o.Dir = parent
	}
	if j.store, err = runs.Create(parent, o); err != nil {
		return err
	}
	j.dir = j.workingDir()
	j.tell(runIs, fact.File("dir", j.store.Dir()))
	for name, text := range j.Files {
		if err := j.store.WriteFile(name, []byte(runs.WithoutEnv(j.plan, []string{string(text)})[0])); err != nil {
			return errors.Join(err, j.store.Finish(runs.StatusFailed, errorFact(err)))
		}
	}
	return nil
}

// secrets are the values that the run must not show.
func (j *job) secrets() *redact.Values {
	return runs.Secrets(j.plan, append(os.Environ(), j.env...), j.Argv, j.Config)
}

// workingDir is where the workload runs: the folder of the run where
// hydra.job.chdir asks for it.
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
	record, err := load.ReadRecord(j.store.Path(serverFolder(plan.StepNsys) + "/" + load.RecordName))
	if err != nil {
		return 0
	}
	return time.Duration(record.Ready * float64(time.Second))
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
func (j *job) target(step string) ([]string, error) {
	if workload.Serves(j.plan) {
		return j.serverArgv(), nil
	}
	if !workload.Shipped(j.plan) {
		return j.plan.Pipeline.Workload.Command, nil
	}
	_, argv, err := j.session(step, sessionFolder(step))
	return argv, err
}

// session is what the session of a step is told and started with.
func (j *job) session(step, folder string) (workload.Spec, []string, error) {
	spec, argv, _, err := workload.Build(j.plan, step, workload.Places{Python: j.pythonPath(), Program: j.place(programFolder), Out: j.place(folder), Start: j.start})
	return spec, argv, err
}

// pythonPath is the interpreter of the shipped programs.
func (j *job) pythonPath() string {
	return cmp.Or(j.python.Path, j.program(j.plan.Pipeline.Workload.Python))
}

// foretell says what counters will cost before there is a timeline, for a dry
// run.
func (j *job) foretell() {
	j.Say(message.Text(runsOfWorkload(j.steps, j.plan)))
	n := j.plan.Pipeline.Ncu
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
	return j.plan.Pipeline.Nsys.Enable && pick.NotChoosing(j.plan.Pipeline.Ncu, true).IsZero()
}
