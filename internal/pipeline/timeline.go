package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/export"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/redact"
	"github.com/deepprof/deepprof/internal/tool"
	"github.com/deepprof/deepprof/internal/workload"
)

// nsysCommand is the timeline capture of the plan.
func nsysCommand(j *job) (tool.Command, error) {
	target, err := j.target(plan.StepNsys)
	if err != nil {
		return tool.Command{}, err
	}
	return j.nsysCommand(target)
}

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

func (j *job) nsysOptions(target []string) nsys.CaptureOptions {
	n := j.plan.Pipeline.Nsys
	hz, gpus := j.sampling()
	if _, ranks := j.launch(target); ranks { // one nsys at a time can read the counters of a GPU
		hz = 0
	}
	return nsys.CaptureOptions{
		SampleHz: hz, SampleGPUs: gpus, PythonSampling: n.PythonSampling,
		Output: j.place("nsys/run"), Command: target, Trace: n.Trace, Sample: n.Sample, CPUCtxSw: n.CPUCtxSw,
		CaptureRange: n.CaptureRange, CaptureRangeEnd: n.CaptureRangeEnd, NVTXCapture: n.NVTXCapture, NVTXRegisterOnly: n.NVTXRegisterOnly,
		NVTXDomainInclude: n.NVTXDomainInclude, NVTXDomainExclude: n.NVTXDomainExclude, CUDAGraphTrace: n.CUDAGraphTrace,
		TraceForkBeforeExec: n.TraceForkBeforeExec, Wait: n.Wait, Delay: n.Delay, Duration: n.Duration, ExtraArgs: n.ExtraArgs,
	}
}

// capture fills in what both profilers share.
func (j *job) capture(kind capture.Tool, command tool.Command, target []string, output string, timeout time.Duration) capture.Capture {
	s := j.plan.Pipeline.Supervision
	c := capture.Capture{
		Tool: kind, Command: command, Output: j.store.Path(output), Target: target,
		Limits: capture.LimitsOf(j.plan.Pipeline.Supervision, timeout), Interrupts: j.Interrupts, Retries: s.Retries, Backoff: s.Backoff,
		Secret: redact.Secret, KeepEnv: workload.PassedEnv(j.plan),
		Notice:   func(f fact.Fact) { j.Say(string(kind) + ": " + message.Text(f)) },
		Progress: func(p capture.Progress) { j.display.line(fmt.Sprintf("%s: %s", kind, p)) },
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
func captureTimeline(ctx context.Context, j *job) (made, error) {
	n := j.plan.Pipeline.Nsys
	if slices.Contains(n.Trace, "osrt") && n.CaptureRange == plan.CaptureNone {
		j.tell(osrtHuge)
	}
	if took := capture.ExpectedSpan(n, j.unprofiledTime()); took > capture.LongTimeline {
		ahead := fact.New(capture.LongAhead, fact.NS("span", took))
		j.tell(toldAhead, fact.Because("what", ahead))
	}
	j.sampledNote()
	m, err := profiled(ctx, j, plan.StepNsys, func(target []string) (capture.Outcome, error) {
		command, err := j.nsysCommand(target)
		if err != nil {
			return capture.Outcome{}, err
		}
		c := j.capture(capture.Nsys, command, target, "nsys/run", n.Timeout)
		j.setBehind(&c, plan.StepNsys, target)
		o, err := captureNsys(ctx, j, c)
		if err != nil {
			return o, err
		}
		if again, err := j.withoutSamples(o); err != nil || !again {
			return o, err
		}
		if c.Command, err = j.nsysCommand(target); err != nil {
			return o, err
		}
		return captureNsys(ctx, j, c)
	})
	if err != nil || !n.StatsCSV || !m.Usable {
		return m, err
	}
	return m, exportTimeline(ctx, j)
}

// exportTimeline writes the timeline's tables as CSV into the run.
func exportTimeline(ctx context.Context, j *job) error {
	name := j.store.Timeline()
	if name == "" {
		j.tell(noOneTimeline, fact.Key("key", "pipeline.nsys.stats_csv"))
		return nil
	}
	made, problems := export.TimelineCSV(ctx, j.store, name)
	return j.exported(ctx, plan.StepNsys, made, problems)
}

func captureNsys(ctx context.Context, j *job, c capture.Capture) (capture.Outcome, error) {
	n := j.plan.Pipeline.Nsys
	c.Gated = n.CaptureRange != plan.CaptureNone
	c.EndsTarget = n.Duration > 0 || (c.Gated && (n.CaptureRangeEnd == "" || strings.Contains(n.CaptureRangeEnd, "shutdown")))
	c.Expect = capture.ExpectTimeline(n)
	exports, got := map[string]string{}, map[string]int64{}
	c.Check = func(ctx context.Context, report string) (*capture.Content, error) {
		content, made, err := capture.CheckTimeline(ctx, j.nsys, n, report, j.store.Path("nsys/cmd.txt"))
		exports[report] = made
		content.AddTo(got)
		return content, err
	}
	c.Diagnostics = func(ctx context.Context, report string) ([]capture.Diagnostic, error) {
		return capture.StoredDiagnostics(ctx, j.nsys.Path, report, exports[report])
	}
	result := capture.Run(ctx, c)
	j.store.SweepFolder("nsys")
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
	return result.Outcome, result.Store(ctx, j.store, "nsys", j.dir, append(files, result.Kept...))
}
