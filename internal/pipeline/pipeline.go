// Package pipeline is the run itself: the table of steps that lead from a plan
// to captures and reports in a run directory, and the order in which they are
// done. Steps hand over through files, so that a crash costs one step. How a capture
// is made and judged is in capture, serving and workload, what is counted in pick.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/doctor"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
	"github.com/deepprof/deepprof/internal/workload"
)

// table is everything that a run does, in order. Runs, dry runs, resumed runs,
// recordings and the live display go by its rows, and no other place lists them.
var table = []step{
	// Before everything else: what a run that dies early was made with stays known.
	{name: plan.StepProvenance, enabled: always, quick: true, quiet: true, run: writeProvenance},
	{name: plan.StepUnprofiled, tells: "times", enabled: func(p *plan.Plan) bool { return p.Pipeline.Unprofiled.Enable }, proves: true,
		folders: []string{runs.SessionFolder(plan.StepUnprofiled), runs.ServerOf(plan.StepUnprofiled)},
		run:     runUnprofiled, command: commandOf(plan.StepUnprofiled), runs: unprofiledRuns, how: "unprofiled"},
	// Off by default: it costs as much time as the unprofiled run.
	{name: plan.StepAnnotateCost, enabled: func(p *plan.Plan) bool { return p.Pipeline.AnnotateCost && !workload.Shipped(p) }, session: true,
		needs: []string{plan.StepUnprofiled}, folders: []string{runs.AnnotationOf(plan.StepAnnotateCost)},
		run: measureAnnotation, runs: unprofiledRuns, how: "annotated"},
	{name: plan.StepDirectInference, tells: "predictions", enabled: func(p *plan.Plan) bool { return p.Pipeline.DirectInference.Enable }, proves: true, session: true,
		needs: []string{plan.StepUnprofiled}, folders: []string{runs.SessionFolder(plan.StepDirectInference)},
		run: runDirectInference, command: commandOf(plan.StepDirectInference), runs: once, how: "predicted"},
	// After the steps that tell how many tokens there were.
	{name: plan.StepStaticAnalysis, enabled: func(p *plan.Plan) bool { return p.Pipeline.StaticAnalysis.Enable }, session: true, quick: true,
		needs: []string{plan.StepUnprofiled, plan.StepDirectInference}, run: countFlops},
	// Its pass runs at the end of the unprofiled process as a rule: see operatorsFollow.
	{name: plan.StepTorchProfiler, tells: "operators", enabled: func(p *plan.Plan) bool { return p.Pipeline.TorchProfiler.Enable }, session: true,
		needs: []string{plan.StepUnprofiled, plan.StepDirectInference}, folders: []string{runs.SessionFolder(plan.StepTorchProfiler)},
		run: runTorchProfiler, command: commandOf(plan.StepTorchProfiler), runs: operatorRuns, how: "operators"},
	{name: plan.StepTorchFlops, enabled: func(p *plan.Plan) bool { return p.Pipeline.StaticAnalysis.TorchFlopCounter }, session: true,
		needs: []string{plan.StepUnprofiled, plan.StepDirectInference}, folders: []string{runs.SessionFolder(plan.StepTorchFlops)}, files: []string{runs.FlopsComparison},
		run: runTorchFlops, command: commandOf(plan.StepTorchFlops), runs: once, how: "flops"},
	{name: plan.StepNsys, tells: "timeline", enabled: func(p *plan.Plan) bool { return p.Pipeline.Nsys.Enable },
		needs:   []string{plan.StepUnprofiled, plan.StepDirectInference},
		folders: []string{plan.StepNsys, runs.SessionFolder(plan.StepNsys), runs.ServerOf(plan.StepNsys), runs.AnnotationOf(plan.StepNsys)},
		prepare: prepareNsys, run: captureTimeline, continues: continueRanks, command: nsysCommands, runs: once, how: "nsys"},
	{name: plan.StepFirstAnswer, enabled: func(p *plan.Plan) bool { return p.Pipeline.Nsys.Enable && p.Pipeline.Ncu.Enable }, quick: true, quiet: true, reports: true,
		needs: []string{plan.StepUnprofiled, plan.StepDirectInference, plan.StepNsys}, run: firstAnswer},
	{name: plan.StepRepeats, extra: true, enabled: func(p *plan.Plan) bool { return p.Pipeline.Repeats > 1 },
		needs: []string{plan.StepUnprofiled, plan.StepNsys}, folders: []string{plan.StepRepeats},
		run: runRepeats, runs: func(p *plan.Plan) int { return 2 * (p.Pipeline.Repeats - 1) }, how: "repeats"},
	// The last that needs a GPU: whatever it costs, the rest is there already.
	{name: plan.StepNcu, tells: "limiters", enabled: func(p *plan.Plan) bool { return p.Pipeline.Ncu.Enable },
		needs:   []string{plan.StepUnprofiled, plan.StepDirectInference, plan.StepNsys},
		folders: []string{plan.StepNcu, runs.SessionFolder(plan.StepNcu), runs.ServerOf(plan.StepNcu), runs.AnnotationOf(plan.StepNcu)}, files: []string{runs.TargetsName},
		prepare: prepareNcu, run: captureCounters, command: ncuCommands},
	{name: plan.StepReport, enabled: always, quick: true, reports: true, run: report,
		needs: []string{plan.StepProvenance, plan.StepUnprofiled, plan.StepDirectInference, plan.StepStaticAnalysis, plan.StepTorchProfiler,
			plan.StepTorchFlops, plan.StepNsys, plan.StepNcu}},
}

// Options say what to run and who watches.
type Options struct {
	// Plan is not changed: a job has a copy. Resume takes it for runs of schema 1 alone.
	Plan   *plan.Plan
	Config []byte // composed and resolved, for the record
	// Files are further files that the run begins with, by name within it: what
	// hydra.output_subdir asks for. Values of secrets are taken out of them.
	Files   map[string][]byte
	Dir     string   // hydra.run.dir: a run directory, or "auto" in a store
	Version string   // of this program
	Argv    []string // the command line that started the run, for the record

	// Categories sorts kernels in the report; nil takes the shipped rules.
	Categories *analysis.Categories

	// IgnoreBlockers runs in spite of what the checks of the machine found.
	IgnoreBlockers bool

	// Interrupts may be nil for a run that nobody stops.
	Interrupts <-chan os.Signal // the first asks to finish, the second kills
	// Recording is a folder that receives the packed run, and what each profiler
	// printed in a form that can be played again; "" records nothing.
	Recording string
	// Both are called from one goroutine at a time, and must not be nil.
	// Progress receives a line to show while a step runs, Say one to keep.
	Progress func(line string)
	Say      func(line string)
}

// A StepResult is what came of one step.
type StepResult struct {
	// Name is that of the row, or for a recording of the step that was recorded.
	Name    string
	State   runs.State
	Outcome capture.Outcome // zero for a step that was skipped
	Seconds float64         // below 0 where a recording does not tell
	Reason  fact.Fact
	// Recorded tells that it was taken from a recording: Seconds passed then.
	Recorded bool
	Quiet    bool // nobody need be told where it went well
}

// A Summary is what came of the run.
type Summary struct {
	Dir    string
	Status runs.Status
	// Steps are in the order of the table; kept ones of a resumed run are left out.
	Steps  []StepResult
	Result *analysis.Result // nil where nothing could be analyzed
	// Captured tells that there is something to analyze, Recorded that it was
	// taken from a recording, which cannot be resumed.
	Captured, Recorded bool
}

// Run executes the plan. The error is set where nothing was started; what
// happened after that is in the summary. An interrupt before the first step
// gives context.Canceled.
func Run(ctx context.Context, o Options) (*Summary, error) {
	j, err := newJob(o, "")
	if err != nil {
		return nil, err
	}
	j.again = Run
	err = tool.UntilInterrupted(ctx, o.Interrupts, func(ctx context.Context) error {
		if err := prepare(ctx, j); err != nil {
			return err
		}
		return j.create(ctx)
	})
	if err != nil {
		return nil, err
	}
	s, err := (&execution{job: j, summary: &Summary{Dir: j.store.Dir()}}).run(ctx)
	if err == nil && o.Recording != "" {
		err = packRecording(ctx, j, s)
	}
	return s, err
}

// DryRun checks everything that a run checks and returns its commands, a line
// each that can be pasted into a shell. It starts nothing and makes no run. With
// blockers the commands come with a BlockedError; a profiler that is missing
// stands in them by its bare name.
// Lines are in the order of the steps, without values of secrets.
func DryRun(ctx context.Context, o Options) ([]string, error) {
	j, err := newJob(o, "")
	if err != nil {
		return nil, err
	}
	j.dry = true
	var blocked *doctor.BlockedError
	err = tool.UntilInterrupted(ctx, o.Interrupts, func(ctx context.Context) error { return prepare(ctx, j) })
	if err != nil && !errors.As(err, &blocked) {
		return nil, err
	}
	var lines []string
	for _, s := range j.steps {
		if s.command == nil || !s.enabled(j.plan) || s.runs != nil && s.runs(j.plan) == 0 {
			continue
		}
		commands, err := s.command(j)
		if err != nil {
			return nil, err
		}
		for _, c := range commands {
			lines = append(lines, capture.ShellLine(c))
		}
	}
	j.foretell()
	if blocked != nil {
		return lines, blocked
	}
	return lines, nil
}

// Resume goes on with a run: it does what is not done, by the plan that the run
// was started with, in the folder that it was started in. What earlier attempts
// left is set aside. A run that stores no plan, of schema 1, goes by o.Plan,
// which the caller has made of its configuration.
func Resume(ctx context.Context, dir string, o Options) (*Summary, error) {
	before, err := runs.ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	store, err := runs.Reopen(ctx, dir)
	if err != nil {
		return nil, err
	}
	var j *job
	var todo runs.ResumePlan
	err = tool.UntilInterrupted(ctx, o.Interrupts, func(ctx context.Context) error {
		if todo, err = runs.PlanResume(ctx, store); err != nil {
			return err
		}
		for _, p := range todo.Problems {
			o.tell(stepAgain, fact.File("file", p.Path), fact.Because("why", p.Why), fact.Name("step", todo.Next))
		}
		if j, err = reopenJob(o, store); err != nil || todo.Next == "" {
			return err
		}
		j.again = Run
		return prepare(ctx, j)
	})
	if err != nil {
		return nil, errors.Join(err, store.Abandon(before)) // as if nobody had asked
	}
	e := &execution{job: j, summary: &Summary{Dir: store.Dir()}, kept: todo.Kept, resumed: true}
	if todo.Next == "" && before.Status == runs.StatusDone {
		o.tell(nothingToDo)
		e.summary.Status, e.summary.Captured = before.Status, captured(store.Dir())
		return e.summary, store.Abandon(before)
	}
	if todo.Next != "" {
		if err := store.SetAsideReports(plan.StepReport); err != nil {
			return nil, errors.Join(err, store.Abandon(before))
		}
	}
	return e.run(ctx)
}

// recent are the releases whose arguments a dry run shows where a tool is absent.
var recent = map[string]tool.Version{tool.Nsys: {Major: 2025, Minor: 1}, tool.Ncu: {Major: 2025, Minor: 1}}

// A step is a row of the table: one thing that a run does. A field that a row
// leaves out is off, empty, or nothing to do.
type step struct {
	name    string // plan.Step...: in the manifest, on the screen, and the folder of what it writes
	enabled func(*plan.Plan) bool
	session bool   // only a workload that ships with deepprof has it
	proves  bool   // that the workload runs at all: where it fails, no later step runs
	quick   bool   // it starts no workload: the first interrupt ends it
	quiet   bool   // nobody is told where it goes well
	extra   bool   // off unless asked for: nobody is told that it was skipped
	reports bool   // it analyzes what was captured, and is skipped where that is nothing
	tells   string // what will be known when it is done, for the live line; labeled in internal/message

	needs   []string // steps whose files it reads, or whose success it stands on
	folders []string // that it writes into, for any kind of workload; a resumed run sets them aside
	files   []string // that it writes outside of them; set aside into the first folder

	runs func(*plan.Plan) int // how often it runs the workload; nil where that is not known before
	how  string               // it does so: an ID of the domain "runs-how"

	// prepare finds what the step starts, and has its arguments checked, before
	// the first step. It may set what it found in the job.
	prepare func(context.Context, *job) error
	// command is what it starts, for a dry run.
	command func(*job) ([]tool.Command, error)
	// run does it. The error is one of the run directory or of the machine; what
	// went wrong with the workload or a tool is an outcome.
	run stepFunc
	// continues gives a resumed run something else to do than all of the step
	// again; a nil function where there is nothing to keep.
	continues func(context.Context, *job) (stepFunc, error)
}

// A stepFunc does a step. It takes what earlier steps left from the files of the run, so
// that a resumed run needs nothing but the folder, and leaves the plan as it is. An outcome says how the step went, whatever went wrong with
// the workload or a tool; the error is that the run cannot be recorded any more.
type stepFunc func(context.Context, *job) (capture.Outcome, error)

// always and the two below are what rows of the table are made of. Repeats of 0 are
// those of a plan that does not say: the workload runs once.
func always(*plan.Plan) bool          { return true }
func once(*plan.Plan) int             { return 1 }
func unprofiledRuns(p *plan.Plan) int { return max(1, p.Pipeline.Unprofiled.Repeats) }

// stepsOf are the rows that a plan has, enabled or not: a command of the user's
// has fewer than a program of our own.
// The table itself is never changed.
func stepsOf(p *plan.Plan) []step {
	return slices.DeleteFunc(slices.Clone(table), func(s step) bool { return s.session && !workload.Shipped(p) && !s.enabled(p) })
}

// planned are rows as the manifest begins with them.
func planned(list []step) []runs.Step {
	var out []runs.Step
	for _, s := range list {
		out = append(out, runs.Step{Name: s.name, Needs: s.needs})
	}
	return out
}

// runsOfWorkload says how often the workload runs before ncu: what a run costs
// at least.
func runsOfWorkload(list []step, p *plan.Plan) fact.Fact {
	var parts []fact.Fact
	for _, s := range list {
		if s.runs != nil && s.enabled(p) && s.runs(p) > 0 {
			parts = append(parts, fact.New(runsOfStep, fact.Count("n", s.runs(p)), fact.ID("how", "runs-how", s.how)))
		}
	}
	if len(parts) == 0 {
		return fact.New(runsNone)
	}
	return fact.New(runsAhead, fact.Because("runs", parts...))
}

// A display shows where the run stands: the place of the step among those that
// run, what it is doing, and how long it will take where that can be told.
type display struct {
	show     func(line string)
	now, of  int
	expected time.Duration // 0 where it is not known
	tells    string        // of the step
}

// start moves on to a step of the list. A step that runs the workload once takes
// about as long as the unprofiled run did; 0 is not known.
func (d *display) start(s step, list []step, p *plan.Plan, unprofiled time.Duration) {
	d.now, d.of, d.expected, d.tells = 0, 0, 0, s.tells
	for _, other := range list {
		if !other.enabled(p) || other.quiet {
			continue
		}
		d.of++
		if other.name == s.name {
			d.now = d.of
		}
	}
	if s.runs != nil {
		d.expected = unprofiled
	}
}

// line is called from the goroutine of the step that runs, about once a second.
func (d *display) line(text string) {
	expected := ""
	if d.expected > 0 {
		expected = d.expected.Round(time.Second).String()
	}
	d.show(fmt.Sprintf("[%d/%d] %s", d.now, d.of, message.Phrase("step-goes-on", text, expected, message.Label("tells", d.tells))))
}
