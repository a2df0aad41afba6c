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
	command := tool.Command{Path: j.nsys.Path, Args: args, Dir: j.dir, Env: tool.Environ(j.env, append(env, j.annotateEnv(plan.StepNsys)...)...)}
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
		Limits: j.limits(timeout), Interrupts: j.Interrupts, Retries: s.Retries, Backoff: s.Backoff,
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

// longCapture is the length from which a timeline costs more than it tells: it
// holds the same steps again and again.
const longCapture = 5 * time.Minute

// expectedCapture is the time that a timeline of a program will cover, by the
// time that the program takes without a profiler; 0 where that is unknown or a
// gate decides.
func expectedCapture(n plan.Nsys, program time.Duration) time.Duration {
	if n.CaptureRange != plan.CaptureNone {
		return 0
	}
	rest := max(0, program-n.Delay)
	if n.Duration > 0 {
		return min(rest, n.Duration)
	}
	return rest
}

// captureTimeline runs the workload under nsys, and exports its report.
func captureTimeline(ctx context.Context, j *job) (made, error) {
	n := j.plan.Pipeline.Nsys
	if slices.Contains(n.Trace, "osrt") && n.CaptureRange == plan.CaptureNone {
		j.tell(osrtHuge)
	}
	if took := expectedCapture(n, j.unprofiledTime()); took > longCapture {
		ahead := fact.New(longAhead, fact.NS("span", took))
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
		content, err := checkTimeline(ctx, j, report, exports)
		add(got, content)
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

// add sums what the reports of a capture hold.
func add(got map[string]int64, content *capture.Content) {
	if content == nil {
		return
	}
	for name, n := range content.Rows {
		got[name] += n
	}
}

// checkTimeline exports a report into the run, takes the environments out of
// the export, and counts what it holds.
func checkTimeline(ctx context.Context, j *job, report string, exports map[string]string) (*capture.Content, error) {
	target := strings.TrimSuffix(report, filepath.Ext(report)) + ".sqlite"
	if err := nsys.Export(ctx, j.nsys, report, target); err != nil {
		return nil, err
	}
	exports[report] = target
	content := &capture.Content{Rows: map[string]int64{}}
	if err := appendLine(j.store.Path("nsys/cmd.txt"), nsys.ExportLine(j.nsys, report, target)); err != nil {
		return nil, err
	}
	if _, err := redact.BlankEnvironments(target); err != nil {
		content.Warnings = append(content.Warnings, fact.New(environmentLeft, fact.Error("error", err)))
	}
	f, err := nsys.OpenSQLite(target)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := f.Timeline(ctx, tracedParts(j.plan.Pipeline.Nsys.Trace))
	if err != nil {
		return nil, err
	}
	content.Warnings = append(content.Warnings, t.Warnings...)
	for _, table := range t.Tables {
		content.Rows[table.Name] = table.Rows
	}
	if took := t.Span(); took > longCapture {
		content.Warnings = append(content.Warnings, fact.New(longTimeline, fact.NS("span", took)))
	}
	content.Rows[capture.DataKernels] = int64(len(t.Kernels) + len(t.Graphs))
	content.Rows[capture.DataRanges] = int64(len(t.Ranges))
	for _, name := range capture.AskedTables(j.plan.Pipeline.Nsys) {
		if f.Traced(name) {
			content.Rows[name]++
		}
	}
	return content, nil
}

// appendLine adds a line to a text file.
func appendLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

// tracedParts are the parts of a timeline that the configuration asked for: what was
// not asked for is not missed.
func tracedParts(trace []string) nsys.Part {
	parts := nsys.Overhead
	for _, api := range trace {
		switch {
		case strings.HasPrefix(api, "cuda"):
			parts |= nsys.Kernels | nsys.Memory | nsys.Graphs | nsys.Syncs | nsys.Calls
		case api == "nvtx":
			parts |= nsys.NVTX
		}
	}
	return parts
}
