package pipeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/export"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/ncu"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/redact"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
	"github.com/deepprof/deepprof/internal/workload"
)

// nsysCommands are the timeline capture of the plan: one command, or for a server
// those that open and close its windows.
func nsysCommands(j *job) ([]tool.Command, error) {
	if workload.Serves(j.plan) {
		return sessionCommands(j)
	}
	target, err := j.target(plan.StepNsys)
	if err != nil {
		return nil, err
	}
	command, err := j.nsysCommand(target)
	return []tool.Command{command}, err
}

// nsysCommand depends on whether sampling was given up in the run: it is built anew for
// each attempt. Behind a launcher it writes the script of ranks.
func (j *job) nsysCommand(target []string) (tool.Command, error) {
	launch, ranks := j.launch(target)
	if ranks {
		target = launch.Program
	}
	args, env, err := nsys.Args(j.nsysOptions(target), j.nsys.Version)
	if err != nil {
		return tool.Command{}, err
	}
	command := tool.Command{Path: j.nsys.Path, Args: args, Dir: j.dir, Env: tool.Environ(j.env, append(env, j.annotateOver(j.env, plan.StepNsys)...)...)}
	if ranks {
		return j.behind(launch, command, "--output", plan.StepNsys, strings.Join(j.plan.Pipeline.Ranks, ","))
	}
	return command, nil
}

// nsysOptions are those of the configuration. Counters are not sampled in ranks, nor
// where the user may not read them.
// Output is a path without an extension, which nsys adds.
func (j *job) nsysOptions(target []string) nsys.CaptureOptions {
	n := j.plan.Pipeline.Nsys
	hz, gpus := j.sampling().Rate()
	if _, ranks := j.launch(target); ranks { // one nsys at a time can read the counters of a GPU
		hz = 0
	}
	return nsys.CaptureOptions{
		SampleHz: hz, SampleGPUs: gpus, PythonSampling: n.PythonSampling,
		Output: j.place(runs.NsysOutput), Command: target, Trace: n.Trace, Sample: n.Sample, CPUCtxSw: n.CPUCtxSw,
		CaptureRange: n.CaptureRange, CaptureRangeEnd: n.CaptureRangeEnd, NVTXCapture: n.NVTXCapture, NVTXRegisterOnly: n.NVTXRegisterOnly,
		NVTXDomainInclude: n.NVTXDomainInclude, NVTXDomainExclude: n.NVTXDomainExclude, CUDAGraphTrace: n.CUDAGraphTrace,
		TraceForkBeforeExec: n.TraceForkBeforeExec, Wait: n.Wait, Delay: n.Delay, Duration: n.Duration, ExtraArgs: n.ExtraArgs,
	}
}

// capture fills in what both profilers share. Where the command is a launcher, it is
// told how to stop what that starts. The name of a tool is that of its step.
// Output is within the run. Secrets are taken out of what is recorded.
func (j *job) capture(kind capture.Tool, command tool.Command, target []string, output string, timeout time.Duration) capture.Capture {
	s := j.plan.Pipeline.Supervision
	c := capture.Capture{
		Tool: kind, Command: command, Output: j.store.Path(output), Target: target,
		Limits: capture.LimitsOf(j.plan.Pipeline.Supervision, timeout), Interrupts: j.Interrupts, Retries: s.Retries, Backoff: s.Backoff,
		Secret: redact.Secret, KeepEnv: workload.PassedEnv(j.plan),
		Notice:   func(f fact.Fact) { j.Say(string(kind) + ": " + message.Text(f)) },
		Progress: func(p capture.Progress) { j.display.line(fmt.Sprintf("%s: %s", kind, p)) },
	}
	if _, c.Behind = j.launch(target); c.Behind {
		c.Stop = func() {
			if err := os.WriteFile(workload.StopFile(j.place(string(kind))), nil, 0o666); err != nil {
				j.tell(ranksUnasked, fact.Error("error", err))
			}
		}
	}
	if j.record != nil {
		secrets := j.secrets()
		c.Record = func(r capture.Recording) {
			r.Args = secrets.Args(r.Args)
			for i := range r.Events {
				r.Events[i].Text = secrets.Clean(r.Events[i].Text)
			}
			j.record(kind, r)
		}
	}
	return c
}

// captureTimeline runs the workload under nsys, and exports its report.
func captureTimeline(ctx context.Context, j *job) (capture.Outcome, error) {
	if workload.Serves(j.plan) {
		return annotated(ctx, j, plan.StepNsys, func() (capture.Outcome, error) { return serveSession(ctx, j) })
	}
	n := j.plan.Pipeline.Nsys
	if slices.Contains(n.Trace, "osrt") && n.CaptureRange == plan.CaptureNone {
		j.tell(osrtHuge)
	}
	if took := capture.ExpectedSpan(n, j.unprofiledTime()); took > capture.LongTimeline {
		ahead := fact.New(capture.LongAhead, fact.NS("span", took))
		j.tell(toldAhead, fact.Because("what", ahead))
	}
	if less := j.sampling().Less(); !less.IsZero() {
		j.Say(message.Text(less))
	}
	o, err := profiled(ctx, j, plan.StepNsys, func(target []string) (capture.Outcome, error) {
		o, err := captureNsys(ctx, j, target)
		if err != nil {
			return o, err
		}
		if !j.sampling().Blamed(o) {
			return o, nil
		}
		if err := j.giveUpSamples(o.What); err != nil {
			return o, err
		}
		return captureNsys(ctx, j, target)
	})
	if err != nil || !n.StatsCSV || !o.Usable {
		return o, err
	}
	return o, exportTimeline(ctx, j)
}

// exportTimeline writes the timeline's tables as CSV into the run.
// Of several timelines none is exported: nothing says which is meant.
func exportTimeline(ctx context.Context, j *job) error {
	name := j.store.Timeline()
	if name == "" {
		j.tell(noOneTimeline, fact.Key("key", "pipeline.nsys.stats_csv"))
		return nil
	}
	made, problems := export.TimelineCSV(ctx, j.store, name)
	return j.exported(ctx, plan.StepNsys, made, problems)
}

// captureNsys starts nsys once and records what came of it.
// The report that was made comes first among the files, with its export; what could not
// be moved into the run comes last.
func captureNsys(ctx context.Context, j *job, target []string) (capture.Outcome, error) {
	n := j.plan.Pipeline.Nsys
	command, err := j.nsysCommand(target)
	if err != nil {
		return capture.Outcome{}, err
	}
	c := j.capture(capture.Nsys, command, target, runs.NsysOutput, n.Timeout)
	c.Gated = n.CaptureRange != plan.CaptureNone
	c.EndsTarget = n.Duration > 0 || (c.Gated && (n.CaptureRangeEnd == "" || strings.Contains(n.CaptureRangeEnd, "shutdown")))
	c.Expect = capture.ExpectTimeline(n)
	exports, got := map[string]string{}, map[string]int64{}
	c.Check = func(ctx context.Context, report string) (*capture.Content, error) {
		content, made, err := capture.CheckTimeline(ctx, j.nsys, n, report, j.store.Path(plan.StepNsys+"/"+runs.CommandName))
		exports[report] = made
		content.AddTo(got)
		return content, err
	}
	c.Diagnostics = func(ctx context.Context, report string) ([]capture.Diagnostic, error) {
		return capture.StoredDiagnostics(ctx, j.nsys.Path, report, exports[report])
	}
	result := capture.Run(ctx, c)
	j.store.SweepFolder(plan.StepNsys)
	var files []string
	for _, report := range result.Reports {
		files = append(files, report)
		if made := exports[report]; made != "" {
			files = append(files, made)
		}
	}
	if len(result.Reports) > 0 {
		j.noteSecrets(result.Reports[0])
	}
	result.JudgeMissing(capture.AskedTables(n), got)
	if result.Outcome.Kind == capture.GateNeverOpened && n.CaptureRange == plan.CaptureNVTX {
		result.ExplainGate(n)
	}
	return result.Outcome, result.Store(ctx, j.store, plan.StepNsys, j.dir, append(files, result.Kept...))
}

// sampling is what the run knows of sampling counters under nsys.
func (j *job) sampling() capture.Sampling {
	return capture.Sampling{
		Plan: j.plan, Permitted: j.counts, GPUs: j.gpus, Program: j.unprofiledTime(), Dry: j.store == nil,
		Off: j.store != nil && j.store.Has(runs.SamplesOff),
	}
}

// giveUpSamples has later captures of the run made without sampling.
func (j *job) giveUpSamples(why fact.Fact) error {
	j.tell(samplesGivenUp, fact.Because("why", why))
	return os.WriteFile(j.store.Path(runs.SamplesOff), []byte(message.Text(why)+"\n"), 0o644)
}

// launch is the launcher of the workload, behind which profilers are put. A
// workload without one, or whose program cannot be told, is captured as a tree of
// processes.
// False is the answer for a workload that ships with deepprof: it is one process.
func (j *job) launch(target []string) (workload.Launch, bool) {
	if workload.Shipped(j.plan) || workload.Serves(j.plan) {
		return workload.Launch{}, false
	}
	return workload.FindLaunch(target)
}

// behind puts a profiler behind a launcher, in the ranks that a list chooses. A dry
// run writes no script.
func (j *job) behind(l workload.Launch, profiler tool.Command, outputOption, step, ranks string) (tool.Command, error) {
	s := workload.Shim{Ranks: ranks, Folder: j.place(step), Single: step == plan.StepNcu}
	if step == plan.StepNcu && j.plan.Pipeline.Ncu.Pick.Collectives {
		s.Peers = ncu.PeersOption(j.lists)
	}
	command := l.Behind(&s, profiler, outputOption, j.env)
	if j.store == nil {
		return command, nil
	}
	return command, s.Install()
}

// countedRank is the rank that counters are taken of: the lowest with a timeline,
// else the first that the plan chooses.
// One rank is counted: ncu makes the others wait, and they would wait for each other.
func (j *job) countedRank() string {
	if j.store != nil {
		if of := j.store.RankTimeline(); of != nil && of.Of.Rank != nil {
			return strconv.Itoa(*of.Of.Rank)
		}
	}
	if list := j.plan.Pipeline.Ranks; len(list) > 0 {
		if _, err := strconv.Atoi(list[0]); err == nil {
			return list[0]
		}
	}
	return "0"
}

// continueRanks goes on with the timelines that ranks left before their step was
// cut off; nil where there are none. The job is not started again for the other
// ranks, since timelines of two jobs cannot be held against each other.
func continueRanks(ctx context.Context, j *job) (stepFunc, error) {
	target, err := j.target(plan.StepNsys)
	if _, ranks := j.launch(target); err != nil || !ranks {
		return nil, nil
	}
	o, files, err := capture.KeptRanks(ctx, j.store, j.nsys, j.plan.Pipeline.Nsys)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	j.tell(ranksStand, fact.Because("what", o.What))
	return func(ctx context.Context, j *job) (capture.Outcome, error) {
		return o, capture.StoreWork(ctx, j.store, plan.StepNsys, o, files...)
	}, nil
}

// annotation is what a step puts into the workload; nil for none.
func (j *job) annotation(step string) *workload.Annotation {
	if j.store != nil && j.store.Has(runs.AnnotateOff) {
		return nil
	}
	return workload.AnnotationOf(j.plan, step, j.place(runs.AnnotateFolder), j.place(runs.AnnotationOf(step)))
}

// annotateOver are the variables that annotation adds to an environment of a step.
func (j *job) annotateOver(env []string, step string) []string {
	return j.annotation(step).Variables(env)
}

// annotated runs a step with annotation. Where the step fails with it, though the
// workload ran to its end without a profiler, it is done again without it. Only
// if that helps is annotation the cause, and off for the rest of the run.
// Take is called once or twice.
func annotated(ctx context.Context, j *job, step string, take func() (capture.Outcome, error)) (capture.Outcome, error) {
	a := j.annotation(step)
	if a == nil {
		return take()
	}
	if err := a.Install(); err != nil {
		return capture.Outcome{}, err
	}
	o, err := take()
	if err == nil && cameToNothing(j, step, o) && j.unprofiledTime() > 0 && ctx.Err() == nil {
		j.tell(annotationFails, fact.Name("step", step))
		if err := os.WriteFile(j.store.Path(runs.AnnotateOff), []byte(step+": "+message.Verdict(string(o.Kind), o.What, o.Evidence)+"\n"), 0o644); err != nil {
			return o, err
		}
		if _, err := j.store.SetAside(step, step); err != nil {
			return o, err
		}
		if o, err = take(); err == nil && cameToNothing(j, step, o) {
			err = os.Remove(j.store.Path(runs.AnnotateOff))
		}
	}
	return o, errors.Join(err, j.store.AddFiles(ctx, step, annotateFiles(j, step)...))
}

// cameToNothing reports whether annotation may be why a step has no data: the
// workload failed, or ended before it did anything that was asked for though a
// process of it was annotated. A program that no annotation got into (it does not
// import torch) gives no data without it either.
func cameToNothing(j *job, step string, o capture.Outcome) bool {
	return o.Kind == capture.WorkloadFailed || o.Kind == capture.MissingData && !o.Usable && len(annotateFiles(j, step)) > 0
}

// annotateFiles are the side files of a step; none where no process imported torch.
func annotateFiles(j *job, step string) []string {
	return append(j.store.FilesIn(runs.AnnotationOf(step)), j.store.Present(".", runs.AnnotateOff)...)
}

// measureAnnotation runs the workload annotated and without a profiler, as often
// as it ran without annotation.
// A workload that is not annotated costs nothing: the step is done at once.
func measureAnnotation(ctx context.Context, j *job) (capture.Outcome, error) {
	a := j.annotation(plan.StepAnnotateCost)
	if a == nil {
		return capture.Outcome{Kind: capture.Captured, Usable: true}, nil
	}
	if err := a.Install(); err != nil {
		return capture.Outcome{}, err
	}
	return runProgram(ctx, j, plan.StepAnnotateCost, runs.AnnotationOf(plan.StepAnnotateCost), tool.Environ(j.env, j.annotateOver(j.env, plan.StepAnnotateCost)...))
}
