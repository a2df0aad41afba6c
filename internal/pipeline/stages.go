package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/ncu"
	"github.com/deepprof/deepprof/internal/ncurep"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
)

// baseline runs the workload alone: the time that overhead is measured
// against, and the proof that the workload runs at all.
func (r *run) baseline(ctx context.Context) (capture.Outcome, error) {
	w, command := r.Plan.Pipeline.Workload, r.workload()
	for i := range r.Plan.Pipeline.Baseline.Repeats {
		out, errs := fmt.Sprintf("workload/stdout.%d.log", i+1), fmt.Sprintf("workload/stderr.%d.log", i+1)
		if err := os.MkdirAll(r.store.Path("workload"), 0o777); err != nil {
			return capture.Outcome{}, err
		}
		if err := r.store.WriteFile("workload/cmd.txt", []byte(command.Line(os.Environ())+"\n")); err != nil {
			return capture.Outcome{}, err
		}
		if err := r.store.StartAttempt("baseline", w.Cwd, w.Command...); err != nil {
			return capture.Outcome{}, err
		}
		start := time.Now()
		ended, err := tool.Supervise(ctx, tool.Job{
			Command: command, Stdout: r.store.Path(out), Stderr: r.store.Path(errs),
			Limits: r.limits(r.Plan.Pipeline.Baseline.Timeout), Interrupts: r.Interrupts,
			OnTick: func(tool.Tick) {
				r.Progress(fmt.Sprintf("baseline: %s", time.Since(start).Round(time.Second)))
			},
		})
		outcome := judgeBaseline(ended, err, r.store.Path(errs))
		files, hashErr := r.store.HashFiles(context.WithoutCancel(ctx), out, errs)
		if hashErr != nil && err == nil {
			return capture.Outcome{}, hashErr
		}
		result := runs.Result{Outcome: record(outcome), Files: files}
		if err == nil {
			code := ended.Exit.Code
			result.ExitCode = &code
		}
		if err := r.store.EndAttempt("baseline", result); err != nil {
			return capture.Outcome{}, err
		}
		if !outcome.Usable {
			return outcome, nil
		}
	}
	return capture.Outcome{Kind: capture.Captured, What: "the workload ran to its end", Usable: true}, nil
}

// workload is the program without a profiler.
func (r *run) workload() tool.Command {
	w := r.Plan.Pipeline.Workload
	return tool.Command{Path: w.Command[0], Args: w.Command[1:], Dir: w.Cwd, Env: r.env}
}

// judgeBaseline words the end of a workload without a profiler.
func judgeBaseline(ended tool.Ended, err error, stderr string) capture.Outcome {
	o := capture.Outcome{}
	if !ended.Exit.OK() {
		o.Evidence = lastLine(stderr)
	}
	switch {
	case err != nil:
		o.Kind, o.What, o.Evidence = capture.WorkloadMissing, "the workload could not be started", err.Error()
		o.Next = "check the command and its working directory"
	case ended.Stopped == tool.Interrupted:
		o.Kind, o.What = capture.Interrupted, "the run was interrupted"
	case ended.Stopped == tool.Stalled:
		o.Kind, o.What = capture.Stalled, "the workload showed no sign of life and was stopped"
		o.Next = "raise pipeline.supervision.stall_s if it is only slow"
	case ended.Stopped != tool.NotStopped:
		o.Kind, o.What = capture.TimedOut, "the workload took too long and was stopped"
		o.Next = "raise pipeline.baseline.timeout_s"
	case !ended.Exit.OK():
		o.Kind, o.What = capture.WorkloadFailed, fmt.Sprintf("the workload ended with %s", ended.Exit)
		o.Next = "read " + stderr
	default:
		o.Kind, o.What, o.Usable = capture.Captured, "the workload ran to its end", true
	}
	return o
}

// lastLine is the last line of a log, "" where it is empty or cannot be read.
func lastLine(path string) string {
	const tail = 4 << 10
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.Size() > tail {
		_, _ = f.Seek(-tail, io.SeekEnd)
	}
	text, _ := io.ReadAll(f)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

func (r *run) limits(timeout time.Duration) tool.Limits {
	s := r.Plan.Pipeline.Supervision
	return tool.Limits{Timeout: timeout, Stall: s.Stall, Grace: s.StopGrace}
}

// nsysCommand builds the timeline capture; output has no extension.
func (r *run) nsysCommand(output string) (tool.Command, error) {
	n, w := r.Plan.Pipeline.Nsys, r.Plan.Pipeline.Workload
	args, env, err := nsys.Args(nsys.CaptureOptions{
		Output: output, Command: w.Command, Trace: n.Trace, Sample: n.Sample, CPUCtxSw: n.CPUCtxSw,
		CaptureRange: n.CaptureRange, CaptureRangeEnd: n.CaptureRangeEnd, NVTXCapture: n.NVTXCapture, NVTXRegisterOnly: n.NVTXRegisterOnly,
		NVTXDomainInclude: n.NVTXDomainInclude, NVTXDomainExclude: n.NVTXDomainExclude, CUDAGraphTrace: n.CUDAGraphTrace,
		TraceForkBeforeExec: n.TraceForkBeforeExec, Wait: n.Wait, Delay: n.Delay, Duration: n.Duration, ExtraArgs: n.ExtraArgs,
	}, r.nsys.Version)
	if err != nil {
		return tool.Command{}, err
	}
	return tool.Command{Path: r.nsys.Path, Args: args, Dir: w.Cwd, Env: tool.Environ(r.env, env...)}, nil
}

func (r *run) captureTimeline(ctx context.Context) (capture.Outcome, error) {
	n := r.Plan.Pipeline.Nsys
	command, err := r.nsysCommand(r.store.Path("nsys/run"))
	if err != nil {
		return capture.Outcome{}, err
	}
	c := r.capture(capture.Nsys, command, "nsys/run", n.Timeout)
	c.Gated = n.CaptureRange != plan.CaptureNone
	c.EndsTarget = n.Duration > 0 || (c.Gated && strings.Contains(n.CaptureRangeEnd, "shutdown"))
	exports := map[string]string{}
	c.Check = func(ctx context.Context, report string) (*capture.Content, error) {
		return r.checkTimeline(ctx, report, exports)
	}
	c.Diagnostics = func(ctx context.Context, report string) ([]capture.Diagnostic, error) {
		return r.diagnostics(ctx, report, exports)
	}
	result := capture.Run(ctx, c)
	var files []string
	for _, report := range result.Reports {
		files = append(files, report)
		if made := exports[report]; made != "" {
			files = append(files, made)
			r.timeline = made
		}
	}
	if len(result.Reports) > 1 {
		r.timeline = "" // which of several ranges is meant is not known
	}
	return result.Outcome, r.record(ctx, "nsys", result, append(files, result.Kept...))
}

// checkTimeline exports a report into the run and counts what it holds.
func (r *run) checkTimeline(ctx context.Context, report string, exports map[string]string) (*capture.Content, error) {
	target := strings.TrimSuffix(report, filepath.Ext(report)) + ".sqlite"
	if err := nsys.Export(ctx, r.nsys, report, target); err != nil {
		return nil, err
	}
	exports[report] = target
	f, err := nsys.OpenSQLite(target)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := f.Timeline(ctx, r.traced())
	if err != nil {
		return nil, err
	}
	content := &capture.Content{Rows: map[string]int64{}, Warnings: t.Warnings}
	for _, table := range t.Tables {
		content.Rows[table.Name] = table.Rows
	}
	return content, nil
}

// traced are the parts of a timeline that the configuration asked for: what was
// not asked for is not missed.
func (r *run) traced() nsys.Part {
	parts := nsys.Overhead
	for _, api := range r.Plan.Pipeline.Nsys.Trace {
		switch {
		case strings.HasPrefix(api, "cuda"):
			parts |= nsys.Kernels | nsys.Memory | nsys.Graphs | nsys.Syncs | nsys.Calls
		case api == "nvtx":
			parts |= nsys.NVTX
		}
	}
	return parts
}

// diagnostics gives the messages that nsys stored in its report. Exports of
// older versions lack them; those are asked for a text export.
func (r *run) diagnostics(ctx context.Context, report string, exports map[string]string) ([]capture.Diagnostic, error) {
	f, err := nsys.OpenSQLite(exports[report])
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !f.Has("DIAGNOSTIC_EVENT") {
		return capture.TextDiagnostics(r.nsys.Path)(ctx, report)
	}
	t, err := f.Timeline(ctx, nsys.Machine)
	if err != nil {
		return nil, err
	}
	var out []capture.Diagnostic
	for _, d := range t.Diagnostics {
		level := [...]string{0: "Verbose", 1: "Info", 2: "Warning", 3: "Error"}[min(max(d.Severity, 0), 3)]
		out = append(out, capture.Diagnostic{Level: level, Text: d.Text})
	}
	return out, nil
}

// ncuCommand builds the counter capture. Expressions are resolved with the
// ranges that the timeline holds; seen is nil where there is none.
func (r *run) ncuCommand(output string, seen []nvtx.Seen) (tool.Command, error) {
	c, w := r.Plan.Pipeline.Ncu.CLI, r.Plan.Pipeline.Workload
	include, err := nvtx.Resolve(c.NVTXInclude, seen)
	if err != nil {
		return tool.Command{}, fmt.Errorf("pipeline.ncu.ncu_cli.nvtx_include: %w", err)
	}
	exclude, err := nvtx.Resolve(c.NVTXExclude, seen)
	if err != nil {
		return tool.Command{}, fmt.Errorf("pipeline.ncu.ncu_cli.nvtx_exclude: %w", err)
	}
	mode := c.ReplayMode
	if mode == plan.ReplayAuto {
		mode = plan.ReplayKernel
	}
	var sets, sections []string
	if r.lists != nil {
		sets, sections = r.lists.Sets, r.lists.Sections
	}
	args, env, err := ncu.Args(ncu.Options{
		Output: output, Command: w.Command, ReplayMode: mode, Set: c.Set, Sections: c.Sections, Metrics: c.Metrics,
		NVTXInclude: nvtx.Values(include), NVTXExclude: nvtx.Values(exclude), KernelName: c.KernelName, KernelNameBase: c.KernelNameBase,
		KernelID: c.KernelID, LaunchSkip: c.LaunchSkip, LaunchCount: c.LaunchCount, FilterMode: c.FilterMode, TargetProcesses: c.TargetProcesses,
		ClockControl: c.ClockControl, CacheControl: c.CacheControl, WaitForProfilerStart: !c.ProfileFromStart, GraphProfiling: c.GraphProfiling,
		ConfigFile: c.ConfigFile, ExtraArgs: c.ExtraArgs, KnownSets: sets, KnownSections: sections,
	}, r.ncu.Version)
	if err != nil {
		return tool.Command{}, err
	}
	return tool.Command{Path: r.ncu.Path, Args: args, Dir: w.Cwd, Env: tool.Environ(r.env, env...)}, nil
}

func (r *run) captureCounters(ctx context.Context) (capture.Outcome, error) {
	seen, err := r.seen(ctx)
	if err != nil {
		return capture.Outcome{}, err
	}
	command, err := r.ncuCommand(r.store.Path("ncu/run"), seen)
	var unmatched *nvtx.UnmatchedError
	if errors.As(err, &unmatched) {
		return capture.Outcome{
			Kind: capture.NothingMatched, What: "ncu was not started: " + err.Error(),
			Cause: "the timeline holds no such range", Next: "name a range that exists; deepprof show regions " + r.store.Dir() + " lists them",
		}, nil
	}
	if err != nil {
		return capture.Outcome{}, err
	}
	c := r.capture(capture.Ncu, command, "ncu/run", r.Plan.Pipeline.Ncu.Timeout)
	c.Secret = func(string, string) bool { return false } // ncu stores no environment
	c.Check = checkCounters
	for _, m := range r.Plan.Pipeline.Ncu.CLI.Metrics {
		if !strings.Contains(m, ":") { // regex:, group: and breakdown: name several
			c.Expect.Tables = append(c.Expect.Tables, m)
		}
	}
	result := capture.Run(ctx, c)
	return result.Outcome, r.record(ctx, "ncu", result, append(result.Reports, result.Kept...))
}

// checkCounters counts the results of a report, and the values of each metric:
// ncu passes over metrics that it does not know.
func checkCounters(_ context.Context, report string) (*capture.Content, error) {
	r, err := ncurep.Open(report, ncurep.Options{})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	content := &capture.Content{Rows: map[string]int64{}}
	for result := range r.All() {
		content.Launches++
		for i := range result.Metrics {
			m := &result.Metrics[i]
			if m.Value.IsZero() && m.NumInstances == 0 {
				continue
			}
			content.Rows[m.Name]++
			if base, _, rolled := strings.Cut(m.Name, "."); rolled {
				content.Rows[base]++ // a metric may be asked for without its roll-up
			}
		}
	}
	for _, w := range r.Warnings() {
		content.Warnings = append(content.Warnings, w.String())
	}
	return content, nil
}

// seen lists the ranges of the timeline, nil where there is none.
func (r *run) seen(ctx context.Context) ([]nvtx.Seen, error) {
	if r.timeline == "" {
		return nil, nil
	}
	f, err := nsys.OpenSQLite(r.timeline)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := f.Timeline(ctx, nsys.Regions)
	if err != nil {
		return nil, err
	}
	return t.Attribute().Seen(), nil
}

// capture fills in what both profilers share.
func (r *run) capture(kind capture.Tool, command tool.Command, output string, timeout time.Duration) capture.Capture {
	s := r.Plan.Pipeline.Supervision
	var record func(capture.Recording)
	if r.Record != nil {
		record = func(rec capture.Recording) { r.Record(string(kind), rec) }
	}
	return capture.Capture{
		Record: record, Tool: kind, Command: command, Output: r.store.Path(output), Target: r.Plan.Pipeline.Workload.Command,
		Limits: r.limits(timeout), Interrupts: r.Interrupts, Retries: s.Retries, Backoff: s.Backoff,
		KeepEnv:  slices.Collect(maps.Keys(r.Plan.Pipeline.Workload.Env)),
		Progress: func(p capture.Progress) { r.Progress(fmt.Sprintf("%s: %s", kind, p)) },
	}
}

// record writes the attempts of a capture into the manifest.
func (r *run) record(ctx context.Context, stage string, result capture.Result, paths []string) error {
	var rels []string
	for _, p := range paths {
		if rel, err := filepath.Rel(r.store.Dir(), p); err == nil && filepath.IsLocal(rel) {
			rels = append(rels, filepath.ToSlash(rel))
		}
	}
	for _, name := range []string{"/cmd.txt", "/stdout.log", "/stderr.log"} { // a capture that is refused writes none
		if exists(r.store.Path(stage + name)) {
			rels = append(rels, stage+name)
		}
	}
	files, err := r.store.HashFiles(context.WithoutCancel(ctx), rels...)
	if err != nil {
		return err
	}
	return r.store.Update(func(m *runs.Manifest) error {
		s := m.Stage(stage)
		for i, a := range result.Attempts {
			code, seconds, outcome := a.Code, a.Seconds, record(a.Outcome)
			attempt := runs.Attempt{Command: []string{result.Command}, Dir: r.Plan.Pipeline.Workload.Cwd, Started: a.Started.UTC(), Seconds: &seconds, ExitCode: &code, Outcome: &outcome}
			if i == len(result.Attempts)-1 {
				attempt.Files = files
			}
			s.Attempts = append(s.Attempts, attempt)
		}
		return nil
	})
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// record translates a verdict into the form of the manifest.
func record(o capture.Outcome) runs.Outcome {
	out := runs.Outcome{Kind: string(o.Kind), Usable: o.Usable, Text: o.What, Evidence: o.Evidence, Cause: o.Cause, Next: o.Next}
	for _, w := range o.Warnings {
		out.Warnings = append(out.Warnings, w.Text)
	}
	return out
}
