package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"time"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
	"github.com/deepprof/deepprof/internal/workload"
	"github.com/deepprof/deepprof/workloads"
)

// Files of sessions within a run.
const (
	programFolder  = "workload/program"          // the shipped programs
	deviationsName = "workload/deviations.json"  // what the steps change of the configuration
	flopsName      = "workload/flops.json"       // a flops.Report
	flopsCheckName = "workload/flops_check.json" // a flops.Comparison
)

// sessionFolder is where the session of a step writes.
func sessionFolder(step string) string { return "workload/" + step }

// unprofiledCommand is the workload as the unprofiled run starts it.
func unprofiledCommand(j *job) (tool.Command, error) { return sessionCommand(plan.StepUnprofiled)(j) }

// sessionCommand is the workload as a step without a profiler starts it.
func sessionCommand(step string) func(*job) (tool.Command, error) {
	return func(j *job) (tool.Command, error) {
		argv, err := j.target(step)
		if err != nil {
			return tool.Command{}, err
		}
		return tool.Command{Path: argv[0], Args: argv[1:], Dir: j.dir, Env: j.env}, nil
	}
}

// runUnprofiled runs the workload without a profiler: the time that overhead is
// measured against, and the proof that the workload runs at all.
func runUnprofiled(ctx context.Context, j *job) (made, error) {
	u := j.plan.Pipeline.Unprofiled
	one := func(n int) (capture.Outcome, error) {
		folder := "workload/" + plan.StepUnprofiled
		if n > 1 {
			folder += fmt.Sprintf("/run-%d", n)
		}
		then := ""
		if n == u.Repeats && operatorsFollow(j.plan) {
			then = plan.StepTorchProfiler
		}
		return runSession(ctx, j, plan.StepUnprofiled, folder, then, u.Timeout, "pipeline.unprofiled.timeout_s")
	}
	if !workload.Shipped(j.plan) {
		return runProgram(ctx, j, plan.StepUnprofiled, "workload", j.env)
	}
	o, err := capture.Repeatedly(u.Repeats, one)
	return made{Outcome: o}, errors.Join(err, publish(ctx, j.store, plan.StepUnprofiled, workload.MetricsName))
}

// runProgram runs a command of the user's without a profiler, as often as the
// unprofiled run is to be repeated.
func runProgram(ctx context.Context, j *job, step, folder string, env []string) (made, error) {
	u := j.plan.Pipeline.Unprofiled
	shown := j.plan.Pipeline.Workload.Command
	command := tool.Command{Path: shown[0], Args: shown[1:], Dir: j.dir, Env: env}
	if err := j.store.WriteFile(folder+"/cmd.txt", capture.CommandFile(command)); err != nil {
		return made{}, err
	}
	program, missing := capture.FindTarget(shown, command.Dir, command.Env)
	if missing != nil {
		return made{Outcome: *missing}, capture.Refuse(j.store, step, j.dir, *missing, shown...)
	}
	if found, err := exec.LookPath(command.Path); err != nil || found != program {
		command.Path = program // by the PATH of the workload, not of this process
	}
	o, err := capture.Repeatedly(u.Repeats, func(n int) (capture.Outcome, error) {
		return capture.StoreProgram(ctx, j.store, step, capture.Program{
			Command: command, Stdout: j.store.Path(fmt.Sprintf("%s/stdout.%d.log", folder, n)), Stderr: j.store.Path(fmt.Sprintf("%s/stderr.%d.log", folder, n)),
			Limits: capture.LimitsOf(j.plan.Pipeline.Supervision, u.Timeout), LimitKey: "pipeline.unprofiled.timeout_s", Interrupts: j.Interrupts, Progress: j.elapsed(step),
		}, shown, func(*capture.Outcome, *tool.Exit) {}, func() []string { return nil })
	})
	return made{Outcome: o}, err
}

// elapsed shows how long a step runs already.
func (j *job) elapsed(name string) func(time.Duration) {
	return func(d time.Duration) { j.display.line(fmt.Sprintf("%s: %s", name, d.Round(time.Second))) }
}

// ready writes what the session of a step needs and returns its command. Then is
// a step whose session follows in the same process; "" is none.
func ready(j *job, step, folder, then string) ([]string, error) {
	spec, argv, err := j.session(step, folder)
	if err != nil {
		return nil, err
	}
	if then != "" {
		second, _, err := j.session(then, sessionFolder(then))
		if err != nil {
			return nil, err
		}
		spec.Then = &second
	}
	if err := workload.Unpack(workloads.FS, j.store.Path(programFolder)); err != nil {
		return nil, err
	}
	if err := writeJSON(j.store, path.Join(folder, workload.SpecName), spec); err != nil {
		return nil, err
	}
	return argv, writeDeviations(j)
}

// writeDeviations records what the steps change of the configuration.
func writeDeviations(j *job) error {
	var names []string
	for _, s := range j.steps {
		if len(s.makes.ofSession) > 0 && s.enabled(j.plan) {
			names = append(names, s.name)
		}
	}
	list := workload.Deviations(j.plan, names...)
	if list == nil {
		list = []workload.Deviation{}
	}
	return writeJSON(j.store, deviationsName, map[string]any{"schema": workload.Schema, "deviations": list})
}

func writeJSON(store *runs.Run, name string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return store.WriteFile(name, append(text, '\n'))
}

// runSession runs a shipped program without a profiler. Limit is the setting
// that bounds its time; then is as in ready.
func runSession(ctx context.Context, j *job, step, folder, then string, timeout time.Duration, limit string) (capture.Outcome, error) {
	argv, err := ready(j, step, folder, then)
	if err != nil {
		return capture.Outcome{}, err
	}
	command := tool.Command{Path: argv[0], Args: argv[1:], Dir: j.dir, Env: j.env}
	if err := j.store.WriteFile(folder+"/cmd.txt", capture.CommandFile(command)); err != nil {
		return capture.Outcome{}, err
	}
	dir := j.store.Path(folder)
	p := capture.Program{
		Command: command, Stdout: filepath.Join(dir, "stdout.log"), Stderr: filepath.Join(dir, "stderr.log"),
		Limits: capture.LimitsOf(j.plan.Pipeline.Supervision, timeout), LimitKey: limit, Interrupts: j.Interrupts, Progress: j.elapsed(step),
	}
	judge := func(o *capture.Outcome, exit *tool.Exit) {
		if m, err := workload.ReadMetrics(dir); then != "" && err == nil && m.Complete && o.Kind != capture.Interrupted {
			// Whatever happened after that happened to the session that follows.
			o.Usable, o.Kind = true, capture.Captured
			exit = &tool.Exit{}
		}
		stopped := o.Kind == capture.Interrupted || o.Kind == capture.TimedOut || o.Kind == capture.Stalled
		if exit != nil && !stopped {
			capture.ExplainSession(o, workload.Judge(*exit, dir, workload.ModeOf(step)), dir)
		}
	}
	return capture.StoreProgram(ctx, j.store, step, p, argv, judge, func() []string { return append(sessionFiles(j.store, folder), deviationsName) })
}

// profiled has a capture run the workload of a step: a command of the user's, or
// a session, whose own words explain what came of it.
func profiled(ctx context.Context, j *job, step string, take func(target []string) (capture.Outcome, error)) (made, error) {
	if !workload.Shipped(j.plan) {
		target, err := j.target(step)
		if err != nil {
			return made{}, err
		}
		o, err := annotated(ctx, j, step, func() (capture.Outcome, error) { return take(target) })
		return made{Outcome: o}, err
	}
	folder := sessionFolder(step)
	o, err := annotated(ctx, j, step, func() (capture.Outcome, error) {
		if err := os.Remove(j.store.Path(folder + "/" + workload.ErrorName)); err != nil && !errors.Is(err, fs.ErrNotExist) { // of the try before
			return capture.Outcome{}, err
		}
		argv, err := ready(j, step, folder, "")
		if err != nil {
			return capture.Outcome{}, err
		}
		o, err := take(argv)
		if err == nil {
			capture.ExplainFailure(&o, j.store.Path(folder))
		}
		return o, err
	})
	if err != nil {
		return made{Outcome: o}, err
	}
	return made{Outcome: o}, j.store.AddFiles(ctx, step, append(sessionFiles(j.store, folder), deviationsName)...)
}

// sessionFiles are the files that a session wrote, as far as they are there.
func sessionFiles(store *runs.Run, folder string) []string {
	var out []string
	for _, name := range []string{
		workload.SpecName, "cmd.txt", workload.MetricsName, workload.OperatorsName, workload.FlopsName, workload.ErrorName,
		workload.PredictionsName, workload.TraceName,
	} {
		if exists(store.Path(folder + "/" + name)) {
			out = append(out, folder+"/"+name)
		}
	}
	return out
}

// publish copies files of the session of a step to workload/ itself, as far as
// they are there.
func publish(ctx context.Context, store *runs.Run, step string, names ...string) error {
	for _, name := range names {
		text, err := os.ReadFile(store.Path("workload/" + step + "/" + name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("copy %s: %w", name, err)
		}
		if err := store.WriteFile("workload/"+name, text); err != nil {
			return err
		}
		if err := store.AddFiles(ctx, step, "workload/"+name); err != nil {
			return err
		}
	}
	return nil
}

func runDirectInference(ctx context.Context, j *job) (made, error) {
	const step = plan.StepDirectInference
	o, err := runSession(ctx, j, step, sessionFolder(step), "", j.plan.Pipeline.DirectInference.Timeout, "pipeline.direct_inference.timeout_s")
	names := []string{workload.PredictionsName}
	if !exists(j.store.Path("workload/" + workload.MetricsName)) {
		names = append(names, workload.MetricsName)
	}
	return made{Outcome: o}, errors.Join(err, publish(ctx, j.store, step, names...))
}

// operatorsFollow tells that the pass under torch.profiler is the last thing that
// the process of the unprofiled run does, which saves loading the model again.
func operatorsFollow(p *plan.Plan) bool {
	return workload.Shipped(p) && p.Pipeline.Unprofiled.Enable && p.Pipeline.TorchProfiler.Enable
}

func operatorRuns(p *plan.Plan) int {
	if operatorsFollow(p) {
		return 0
	}
	return 1
}

func operatorsCommand(j *job) (tool.Command, error) {
	if operatorsFollow(j.plan) {
		return tool.Command{}, nil
	}
	return sessionCommand(plan.StepTorchProfiler)(j)
}

// runTorchProfiler takes what followed the unprofiled run; where that is not
// good, the session gets a process of its own.
func runTorchProfiler(ctx context.Context, j *job) (made, error) {
	const step = plan.StepTorchProfiler
	folder := sessionFolder(step)
	if v := workload.Judge(tool.Exit{}, j.store.Path(folder), workload.ModeTorchProfiler); v.OK && operatorsFollow(j.plan) {
		o := capture.Outcome{Kind: capture.Captured, What: fact.New(operatorsTaken), Usable: true}
		capture.ExplainSession(&o, v, j.store.Path(folder))
		return made{Outcome: o}, capture.StoreWork(ctx, j.store, step, o, sessionFiles(j.store, folder)...)
	}
	o, err := runSession(ctx, j, step, folder, "", j.plan.Pipeline.TorchProfiler.Timeout, "pipeline.torch_profiler.timeout_s")
	return made{Outcome: o}, err
}

// countFlops counts FLOPs and bytes from the model's config, for what the
// unprofiled run had or else for what is configured. A model that cannot be
// counted costs the MFU and not the run.
func countFlops(ctx context.Context, j *job) (made, error) {
	o := capture.Outcome{Kind: capture.Captured, What: fact.New(flopsCounted), Usable: true}
	report, err := workload.CountFlops(j.plan, j.start, j.store.Path("workload"))
	if err != nil {
		o.Kind, o.What, o.Cause = capture.MissingData, fact.New(noFlops, fact.Error("error", err)), fact.New(causeOfFlops)
		return made{Outcome: o}, capture.StoreWork(ctx, j.store, plan.StepStaticAnalysis, o)
	}
	if err := writeJSON(j.store, flopsName, report); err != nil {
		return made{}, err
	}
	warnFlops(&o, report.Warnings)
	return made{Outcome: o}, capture.StoreWork(ctx, j.store, plan.StepStaticAnalysis, o, flopsName)
}

func warnFlops(o *capture.Outcome, list []fact.Fact) {
	for _, w := range list {
		o.Kind = capture.WithWarnings
		o.Warnings = append(o.Warnings, capture.Warning{Fact: w})
	}
}

// runTorchFlops counts again with torch's FlopCounterMode and compares.
func runTorchFlops(ctx context.Context, j *job) (made, error) {
	const step, folder = plan.StepTorchFlops, "workload/" + plan.StepTorchFlops
	o, err := runSession(ctx, j, step, folder, "", j.plan.Pipeline.Unprofiled.Timeout, "pipeline.unprofiled.timeout_s")
	if err != nil || !o.Usable {
		return made{Outcome: o}, err
	}
	compared, err := workload.CompareFlops(j.plan, j.start, j.store.Path(folder+"/"+workload.FlopsName))
	if err != nil {
		o.Kind, o.What = capture.MissingData, fact.New(flopsUncompared, fact.Error("error", err))
		return made{Outcome: o}, nil
	}
	if err := writeJSON(j.store, flopsCheckName, compared); err != nil {
		return made{Outcome: o}, err
	}
	o.What = fact.New(flopsAgree)
	for _, d := range compared.Stages {
		if !d.Agree {
			o.Kind, o.What = capture.WithWarnings, fact.New(flopsDisagree)
			o.Warnings = append(o.Warnings, capture.Warning{Fact: fact.New(flopsDiffer,
				fact.Stage("stage", d.Stage), fact.Count("ours", d.Ours), fact.Count("torch", d.Torch), fact.Share("relative", d.Relative)), Scope: d.Stage})
		}
	}
	warnFlops(&o, compared.Warnings)
	return made{Outcome: o}, j.store.AddFiles(ctx, step, flopsCheckName)
}
