package pipeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"time"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
	"github.com/deepprof/deepprof/internal/workload"
	"github.com/deepprof/deepprof/workloads"
)

// commandOf is the workload as a step without a profiler starts it.
func commandOf(step string) func(*job) ([]tool.Command, error) {
	return func(j *job) ([]tool.Command, error) {
		if workload.Serves(j.plan) {
			_, server := j.serverLine()
			return []tool.Command{server}, nil
		}
		argv, err := j.target(step)
		if err != nil {
			return nil, err
		}
		return []tool.Command{j.command(argv)}, nil
	}
}

// command starts a program as the workload is started.
func (j *job) command(argv []string) tool.Command {
	return tool.Command{Path: argv[0], Args: argv[1:], Dir: j.dir, Env: j.env}
}

// runUnprofiled runs the workload without a profiler: the time that overhead is
// measured against, and the proof that the workload runs at all.
func runUnprofiled(ctx context.Context, j *job) (capture.Outcome, error) {
	switch {
	case workload.Serves(j.plan):
		return serveUnprofiled(ctx, j)
	case !workload.Shipped(j.plan):
		return runProgram(ctx, j, plan.StepUnprofiled, runs.WorkloadFolder, j.env)
	}
	repeats := j.plan.Pipeline.Unprofiled.Repeats
	o, err := capture.Repeatedly(repeats, func(n int) (capture.Outcome, error) {
		folder, then := runs.SessionFolder(plan.StepUnprofiled), ""
		if n > 1 {
			folder += fmt.Sprintf("/run-%d", n)
		}
		if n == repeats && operatorsFollow(j.plan) {
			then = plan.StepTorchProfiler
		}
		return runSession(ctx, j, plan.StepUnprofiled, folder, then)
	})
	return o, errors.Join(err, j.store.Publish(ctx, plan.StepUnprofiled, runs.MetricsName))
}

// runProgram runs a command of the user's without a profiler, as often as the
// unprofiled run is to be repeated.
// Logs are numbered from 1 in the folder, which is named within the run.
func runProgram(ctx context.Context, j *job, step, folder string, env []string) (capture.Outcome, error) {
	shown := j.plan.Pipeline.Workload.Command
	command := j.command(shown)
	command.Env = env
	if err := j.store.WriteFile(folder+"/"+runs.CommandName, capture.CommandFile(command)); err != nil {
		return capture.Outcome{}, err
	}
	program, missing := capture.FindTarget(shown, command.Dir, command.Env)
	if missing != nil {
		return *missing, capture.Refuse(j.store, step, j.dir, *missing, shown...)
	}
	if found, err := exec.LookPath(command.Path); err != nil || found != program {
		command.Path = program // by the PATH of the workload, not of this process
	}
	return capture.Repeatedly(j.plan.Pipeline.Unprofiled.Repeats, func(n int) (capture.Outcome, error) {
		return j.runPlain(ctx, step, capture.Program{Command: command, Shown: shown, Stdout: path.Join(folder, runs.NumberedLog(runs.StdoutName, n)), Stderr: path.Join(folder, runs.NumberedLog(runs.StderrName, n))})
	})
}

// runPlain runs a program without a profiler as an attempt of a step, within the
// time that the step has. The logs are named within the run.
func (j *job) runPlain(ctx context.Context, step string, p capture.Program) (capture.Outcome, error) {
	pipeline := j.plan.Pipeline
	limit := pipeline.Unprofiled.Timeout
	p.LimitKey = "pipeline.unprofiled.timeout_s"
	switch step {
	case plan.StepDirectInference:
		limit, p.LimitKey = pipeline.DirectInference.Timeout, "pipeline.direct_inference.timeout_s"
	case plan.StepTorchProfiler:
		limit, p.LimitKey = pipeline.TorchProfiler.Timeout, "pipeline.torch_profiler.timeout_s"
	}
	p.Stdout, p.Stderr = j.store.Path(p.Stdout), j.store.Path(p.Stderr)
	p.Limits, p.Interrupts, p.Progress = capture.LimitsOf(pipeline.Supervision, limit), j.Interrupts, j.elapsed(step)
	return capture.StoreProgram(ctx, j.store, step, p)
}

// elapsed shows how long a step runs already.
func (j *job) elapsed(name string) func(time.Duration) {
	return func(d time.Duration) { j.display.line(fmt.Sprintf("%s: %s", name, d.Round(time.Second))) }
}

// ready writes what the session of a step needs and returns its command. Then is
// a step whose session follows in the same process; "" is none.
// The program is written anew for each step: one that somebody changed does not run.
func ready(j *job, step, folder, then string) ([]string, error) {
	spec, argv, err := j.session(step, folder)
	if err != nil {
		return nil, err
	}
	if then != "" {
		second, _, err := j.session(then, runs.SessionFolder(then))
		if err != nil {
			return nil, err
		}
		spec.Then = &second
	}
	if err := workload.Unpack(workloads.FS, j.store.Path(runs.ProgramFolder)); err != nil {
		return nil, err
	}
	if err := j.store.WriteJSON(path.Join(folder, runs.SpecName), spec); err != nil {
		return nil, err
	}
	return argv, writeDeviations(j)
}

// writeDeviations records what the steps change of the configuration.
func writeDeviations(j *job) error {
	list := []workload.Deviation{}
	for _, s := range j.steps {
		if s.enabled(j.plan) {
			list = append(list, workload.Deviations(j.plan, s.name)...)
		}
	}
	return j.store.WriteJSON(runs.DeviationsFile, map[string]any{"schema": workload.Schema, "deviations": list})
}

// runSession runs a shipped program without a profiler; then is as in ready.
func runSession(ctx context.Context, j *job, step, folder, then string) (capture.Outcome, error) {
	argv, err := ready(j, step, folder, then)
	if err != nil {
		return capture.Outcome{}, err
	}
	command, dir := j.command(argv), j.store.Path(folder)
	if err := j.store.WriteFile(folder+"/"+runs.CommandName, capture.CommandFile(command)); err != nil {
		return capture.Outcome{}, err
	}
	return j.runPlain(ctx, step, capture.Program{
		Command: command, Shown: argv, Stdout: folder + "/" + runs.StdoutName, Stderr: folder + "/" + runs.StderrName,
		Judge: func(o *capture.Outcome, exit *tool.Exit) {
			if m, err := workload.ReadMetrics(dir); then != "" && err == nil && m.Complete && o.Kind != capture.Interrupted {
				// Whatever happened after that happened to the session that follows.
				o.Usable, o.Kind, exit = true, capture.Captured, &tool.Exit{}
			}
			if exit != nil && o.Kind != capture.Interrupted && o.Kind != capture.TimedOut && o.Kind != capture.Stalled {
				capture.ExplainSession(o, workload.Judge(*exit, dir, workload.ModeOf(step)), dir)
			}
		},
		Wrote: func() []string { return append(sessionFiles(j.store, folder), runs.DeviationsFile) },
	})
}

// profiled has a capture run the workload of a step: a command of the user's, or
// a session, whose own words explain what came of it.
// Take may be called twice: see annotated.
func profiled(ctx context.Context, j *job, step string, take func(target []string) (capture.Outcome, error)) (capture.Outcome, error) {
	folder, shipped := runs.SessionFolder(step), workload.Shipped(j.plan)
	o, err := annotated(ctx, j, step, func() (capture.Outcome, error) {
		target, err := j.target(step)
		if shipped {
			if err = os.RemoveAll(j.store.Path(folder + "/" + runs.ErrorName)); err == nil { // of the try before
				target, err = ready(j, step, folder, "")
			}
		}
		if err != nil {
			return capture.Outcome{}, err
		}
		o, err := take(target)
		if shipped && err == nil {
			capture.ExplainFailure(&o, j.store.Path(folder))
		}
		return o, err
	})
	if err != nil || !shipped {
		return o, err
	}
	return o, j.store.AddFiles(ctx, step, append(sessionFiles(j.store, folder), runs.DeviationsFile)...)
}

// sessionFiles are the files that a session wrote, as far as they are there.
func sessionFiles(store *runs.Run, folder string) []string {
	return store.Present(folder, runs.SpecName, runs.CommandName, runs.MetricsName, runs.OperatorsName, runs.FlopsName, runs.ErrorName,
		runs.PredictionsName, runs.TraceName)
}

// runDirectInference has the workload answer the dataset, for its predictions. Its
// metrics stand in where there is no unprofiled run.
// A session that failed publishes nothing that it did not write.
func runDirectInference(ctx context.Context, j *job) (capture.Outcome, error) {
	const step = plan.StepDirectInference
	o, err := runSession(ctx, j, step, runs.SessionFolder(step), "")
	names := []string{runs.PredictionsName}
	if !j.store.Has(runs.WorkloadFolder + "/" + runs.MetricsName) {
		names = append(names, runs.MetricsName)
	}
	return o, errors.Join(err, j.store.Publish(ctx, step, names...))
}

// operatorsFollow tells that the pass under torch.profiler is the last thing that
// the process of the unprofiled run does, which saves loading the model again.
func operatorsFollow(p *plan.Plan) bool {
	return workload.Shipped(p) && p.Pipeline.Unprofiled.Enable && p.Pipeline.TorchProfiler.Enable
}

// operatorRuns is 0 where the pass follows the unprofiled run in its process.
func operatorRuns(p *plan.Plan) int {
	if operatorsFollow(p) {
		return 0
	}
	return 1
}

// runTorchProfiler takes what followed the unprofiled run; where that is not
// good, the session gets a process of its own.
func runTorchProfiler(ctx context.Context, j *job) (capture.Outcome, error) {
	const step = plan.StepTorchProfiler
	folder := runs.SessionFolder(step)
	if v := workload.Judge(tool.Exit{}, j.store.Path(folder), workload.ModeTorchProfiler); v.OK && operatorsFollow(j.plan) {
		o := capture.Outcome{Kind: capture.Captured, What: fact.New(operatorsTaken), Usable: true}
		capture.ExplainSession(&o, v, j.store.Path(folder))
		return o, capture.StoreWork(ctx, j.store, step, o, sessionFiles(j.store, folder)...)
	}
	return runSession(ctx, j, step, folder, "")
}

// countFlops counts FLOPs and bytes from the model's config, for what the
// unprofiled run had or else for what is configured. A model that cannot be
// counted costs the MFU and not the run.
func countFlops(ctx context.Context, j *job) (capture.Outcome, error) {
	report, err := workload.CountFlops(j.plan, j.start, j.store.Path(runs.WorkloadFolder))
	o := capture.FlopsCounted(report, err)
	if err != nil {
		return o, capture.StoreWork(ctx, j.store, plan.StepStaticAnalysis, o)
	}
	if err := j.store.WriteJSON(runs.FlopsReport, report); err != nil {
		return capture.Outcome{}, err
	}
	return o, capture.StoreWork(ctx, j.store, plan.StepStaticAnalysis, o, runs.FlopsReport)
}

// runTorchFlops counts again with torch's FlopCounterMode and compares.
func runTorchFlops(ctx context.Context, j *job) (capture.Outcome, error) {
	const step = plan.StepTorchFlops
	folder := runs.SessionFolder(step)
	o, err := runSession(ctx, j, step, folder, "")
	if err != nil || !o.Usable {
		return o, err
	}
	compared, err := workload.CompareFlops(j.plan, j.start, j.store.Path(folder+"/"+runs.FlopsName))
	o.JudgeFlops(compared, err)
	if err != nil {
		return o, nil
	}
	if err := j.store.WriteJSON(runs.FlopsComparison, compared); err != nil {
		return o, err
	}
	return o, j.store.AddFiles(ctx, step, runs.FlopsComparison)
}

// runRepeats makes the unprofiled run and the timeline again in new processes. Each
// repeat is a run of its own within the run, so that everything that reads a run
// reads a repeat.
// Numbers begin at 2: the run itself is the first.
func runRepeats(ctx context.Context, j *job) (capture.Outcome, error) {
	o := capture.Outcome{Kind: capture.Captured, What: fact.New(repeatsDone), Usable: true}
	for n := 2; n <= j.plan.Pipeline.Repeats; n++ {
		summary, err := j.again(ctx, j.repeat(n))
		if err != nil {
			return o, err
		}
		switch summary.Status {
		case runs.StatusDone:
		case runs.StatusInterrupted:
			return capture.Outcome{Kind: capture.Interrupted, What: fact.New(repeatStopped, fact.Count("n", n))}, nil
		default:
			return capture.Outcome{Kind: capture.WorkloadFailed, What: fact.New(repeatFailed, fact.Count("n", n), fact.File("dir", summary.Dir))}, nil
		}
	}
	return o, capture.StoreWork(ctx, j.store, plan.StepRepeats, o)
}

// repeat is the job of the n-th process: what is repeated and nothing else.
func (j *job) repeat(n int) Options {
	p := *j.plan
	p.Pipeline.Repeats, p.Pipeline.Ncu.Enable, p.Pipeline.TorchProfiler.Enable, p.Pipeline.DirectInference.Enable = 1, false, false, false
	p.Pipeline.AnnotateCost, p.Pipeline.StaticAnalysis.TorchFlopCounter = false, false
	o := j.Options
	o.Plan, o.Dir, o.Recording, o.Files = &p, j.store.Path(runs.RepeatDir(n)), "", nil
	head := fmt.Sprintf("repeat %d of %d: ", n, j.plan.Pipeline.Repeats)
	o.Say = func(line string) { j.Say(head + line) }
	o.Progress = func(line string) { j.Progress(head + line) }
	return o
}
