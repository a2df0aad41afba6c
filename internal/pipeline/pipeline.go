// Package pipeline is the run itself: the table of steps that lead from a plan
// to captures and reports in a run directory, and the order in which they are
// done. Steps hand over through files, so that a crash costs one step.
//
// It is 400 lines larger than the 2,500 it aims at: the table, the engine that walks
// it and the job that steps are given are some 1,100; the functions of the steps are
// the rest, of which shipped sessions take 340, servers 260 and counters 240.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/pick"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
	"github.com/deepprof/deepprof/internal/workload"
)

// table is everything that a run does, in order. Runs, dry runs, resumed runs,
// recordings and the live display go by its rows, and no other place lists them.
var table = []step{
	{
		name: plan.StepProvenance, enabled: always, quick: true, quiet: true, run: writeProvenance,
		makes: artifacts{files: []string{runs.EnvName, runs.InputsName}},
	},
	{
		name: plan.StepUnprofiled, tells: "times", enabled: func(p *plan.Plan) bool { return p.Pipeline.Unprofiled.Enable }, proves: true,
		makes: artifacts{ofCommand: []string{"workload"}, ofSession: []string{"workload/" + plan.StepUnprofiled}, ofServer: []string{serverFolder(plan.StepUnprofiled)}},
		run:   byKind(runUnprofiled, serveUnprofiled), command: commandsOf(lone(unprofiledCommand), serverCommands),
		cost: cost{runs: func(p *plan.Plan) int { return max(1, p.Pipeline.Unprofiled.Repeats) }, how: "unprofiled"},
	},
	{
		name: plan.StepAnnotateCost, enabled: func(p *plan.Plan) bool { return p.Pipeline.AnnotateCost && !workload.Shipped(p) }, session: true,
		needs: []string{plan.StepUnprofiled}, makes: artifacts{ofCommand: []string{runs.AnnotateFolder + "/" + plan.StepAnnotateCost}},
		run: measureAnnotation, cost: cost{runs: func(p *plan.Plan) int { return max(1, p.Pipeline.Unprofiled.Repeats) }, how: "annotated"},
	},
	{
		name: plan.StepDirectInference, tells: "predictions", enabled: func(p *plan.Plan) bool { return p.Pipeline.DirectInference.Enable }, proves: true, session: true,
		needs: []string{plan.StepUnprofiled},
		makes: artifacts{ofSession: []string{"workload/" + plan.StepDirectInference}},
		run:   runDirectInference, command: lone(sessionCommand(plan.StepDirectInference)), cost: cost{runs: once, how: "predicted"},
	},
	{
		name: plan.StepStaticAnalysis, enabled: func(p *plan.Plan) bool { return p.Pipeline.StaticAnalysis.Enable }, session: true, quick: true,
		needs: []string{plan.StepUnprofiled, plan.StepDirectInference},
		makes: artifacts{files: []string{flopsName}}, run: countFlops,
	},
	{
		name: plan.StepTorchProfiler, tells: "operators", enabled: func(p *plan.Plan) bool { return p.Pipeline.TorchProfiler.Enable }, session: true,
		needs: []string{plan.StepUnprofiled, plan.StepDirectInference},
		makes: artifacts{ofSession: []string{"workload/" + plan.StepTorchProfiler}},
		run:   runTorchProfiler, command: lone(operatorsCommand), cost: cost{runs: operatorRuns, how: "operators"},
	},
	{
		name: plan.StepTorchFlops, enabled: func(p *plan.Plan) bool { return p.Pipeline.StaticAnalysis.TorchFlopCounter }, session: true,
		needs: []string{plan.StepUnprofiled, plan.StepDirectInference},
		makes: artifacts{ofSession: []string{"workload/" + plan.StepTorchFlops}, files: []string{flopsCheckName}},
		run:   runTorchFlops, command: lone(sessionCommand(plan.StepTorchFlops)), cost: cost{runs: once, how: "flops"},
	},
	{
		name: plan.StepNsys, tells: "timeline", enabled: func(p *plan.Plan) bool { return p.Pipeline.Nsys.Enable },
		needs:   []string{plan.StepUnprofiled, plan.StepDirectInference},
		makes:   artifacts{ofCommand: []string{"nsys", runs.AnnotateFolder + "/" + plan.StepNsys}, ofSession: []string{"nsys", "workload/" + plan.StepNsys}, ofServer: []string{"nsys", serverFolder(plan.StepNsys), runs.AnnotateFolder + "/" + plan.StepNsys}},
		prepare: prepareNsys, run: byKind(captureTimeline, serveWindows), command: commandsOf(lone(nsysCommand), sessionCommands),
		cost: cost{runs: once, how: "nsys"},
	},
	{
		name: plan.StepFirstAnswer, enabled: func(p *plan.Plan) bool { return p.Pipeline.Nsys.Enable && p.Pipeline.Ncu.Enable }, quick: true, quiet: true,
		needs: []string{plan.StepUnprofiled, plan.StepDirectInference, plan.StepNsys}, run: firstAnswer,
	},
	{
		name: plan.StepRepeats, extra: true, enabled: func(p *plan.Plan) bool { return p.Pipeline.Repeats > 1 },
		needs: []string{plan.StepUnprofiled, plan.StepNsys}, makes: artifacts{ofCommand: []string{plan.StepRepeats}, ofSession: []string{plan.StepRepeats}, ofServer: []string{plan.StepRepeats}},
		run: runRepeats, cost: cost{runs: func(p *plan.Plan) int { return 2 * (p.Pipeline.Repeats - 1) }, how: "repeats"},
	},
	{
		name: plan.StepNcu, tells: "limiters", enabled: func(p *plan.Plan) bool { return p.Pipeline.Ncu.Enable },
		needs:   []string{plan.StepUnprofiled, plan.StepDirectInference, plan.StepNsys},
		makes:   artifacts{ofCommand: []string{"ncu", runs.AnnotateFolder + "/" + plan.StepNcu}, ofSession: []string{"ncu", "workload/" + plan.StepNcu}, ofServer: []string{"ncu", serverFolder(plan.StepNcu), runs.AnnotateFolder + "/" + plan.StepNcu}, files: []string{pick.TargetsFile}},
		prepare: prepareNcu, run: captureCounters, command: lone(ncuCommand),
	},
	{
		name: plan.StepReport, enabled: always, quick: true, run: report,
		needs: []string{
			plan.StepProvenance, plan.StepUnprofiled, plan.StepDirectInference, plan.StepStaticAnalysis, plan.StepTorchProfiler,
			plan.StepTorchFlops, plan.StepNsys, plan.StepNcu,
		},
	},
}

// Options say what to run and who watches.
type Options struct {
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

	Interrupts <-chan os.Signal // the first asks to finish, the second kills
	// Recording is a folder that receives the packed run, and what each profiler
	// printed in a form that can be played again; "" records nothing.
	Recording string
	// Progress receives a line to show while a step runs, Say one to keep.
	Progress func(line string)
	Say      func(line string)
}

// A StepResult is what came of one step.
type StepResult struct {
	Name    string
	State   runs.State
	Outcome capture.Outcome // zero for a step that was skipped
	Seconds float64         // below 0 where a recording does not tell
	Reason  fact.Fact
	// Recorded tells that it was taken from a recording: Seconds passed then.
	Recorded bool
}

// A Summary is what came of the run.
type Summary struct {
	Dir    string
	Status runs.Status
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
	err = untilInterrupted(ctx, o.Interrupts, func(ctx context.Context) error {
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
func DryRun(ctx context.Context, o Options) ([]string, error) {
	j, err := newJob(o, "")
	if err != nil {
		return nil, err
	}
	j.dry = true
	var blocked *BlockedError
	err = untilInterrupted(ctx, o.Interrupts, func(ctx context.Context) error { return prepare(ctx, j) })
	if err != nil && !errors.As(err, &blocked) {
		return nil, err
	}
	var lines []string
	for _, s := range j.steps {
		if s.command == nil || !s.enabled(j.plan) {
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
	err = untilInterrupted(ctx, o.Interrupts, func(ctx context.Context) error {
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

// untilInterrupted does something that has nothing to finish, so that the first
// interrupt ends it.
func untilInterrupted(ctx context.Context, interrupts <-chan os.Signal, do func(context.Context) error) error {
	inner, cancel := context.WithCancel(ctx)
	interrupted, ended := false, make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-interrupts:
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
	return fmt.Errorf("interrupted before anything was captured: %w", errors.Join(context.Canceled, err))
}

// recent are the releases whose arguments a dry run shows where a tool is absent.
var recent = map[string]tool.Version{tool.Nsys: {Major: 2025, Minor: 1}, tool.Ncu: {Major: 2025, Minor: 1}}
