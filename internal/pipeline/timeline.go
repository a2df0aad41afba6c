package pipeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/redact"
	"github.com/deepprof/deepprof/internal/tool"
)

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
	return tool.Command{Path: r.nsys.Path, Args: args, Dir: r.dir, Env: tool.Environ(r.env, env...)}, nil
}

// checkGate refuses what nsys takes without a word and never matches.
func checkGate(n plan.Nsys) error {
	if strings.Count(strings.ReplaceAll(n.NVTXCapture, `\@`, ""), "@") > 1 {
		return fmt.Errorf(`pipeline.nsys.nvtx_capture %q: a second "@"; the form is name or name@domain (write "\@" for the character)`, n.NVTXCapture)
	}
	return nil
}

func (r *run) captureTimeline(ctx context.Context) (capture.Outcome, error) {
	n := r.Plan.Pipeline.Nsys
	command, err := r.nsysCommand(r.store.Path("nsys/run"))
	if err != nil {
		return capture.Outcome{}, err
	}
	if slices.Contains(n.Trace, "osrt") && n.CaptureRange == plan.CaptureNone {
		r.Say("note: osrt records every call into the C library: a small Python program wrote 2.5 GB in three minutes; leave it out of pipeline.nsys.trace, or set a gate with pipeline.nsys.capture_range=nvtx")
	}
	c := r.capture(capture.Nsys, command, "nsys/run", n.Timeout)
	c.Gated = n.CaptureRange != plan.CaptureNone
	c.EndsTarget = n.Duration > 0 || (c.Gated && (n.CaptureRangeEnd == "" || strings.Contains(n.CaptureRangeEnd, "shutdown")))
	c.Expect = expectTimeline(n)
	exports, got := map[string]string{}, map[string]int64{}
	c.Check = func(ctx context.Context, report string) (*capture.Content, error) {
		content, err := r.checkTimeline(ctx, report, exports)
		add(got, content)
		return content, err
	}
	c.Diagnostics = func(ctx context.Context, report string) ([]capture.Diagnostic, error) {
		return r.diagnostics(ctx, report, exports)
	}
	result := capture.Run(ctx, c)
	r.store.SweepFolder("nsys")
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
	if len(result.Reports) > 0 {
		r.warnSecrets(result.Reports[0])
	}
	if asked := askedTables(n); len(asked) > 0 {
		judgeMissing(&result, asked, got)
	}
	if result.Outcome.Kind == capture.GateNeverOpened && n.CaptureRange == plan.CaptureNVTX {
		setNext(&result, gateAdvice(n))
	}
	return result.Outcome, r.record(ctx, "nsys", result, append(files, result.Kept...))
}

// Kinds of data in a timeline, as a person calls them.
const (
	dataKernels = "CUDA kernels"
	dataRanges  = "NVTX ranges"
)

// expectTimeline says what the capture must bring to be what was asked for. A
// program need not have ranges, unless they are all that was asked for or a
// domain was named.
func expectTimeline(n plan.Nsys) capture.Expect {
	e := capture.Expect{}
	if _, count, ok := strings.Cut(n.CaptureRangeEnd, ":"); ok && n.CaptureRange != plan.CaptureNone {
		e.Reports, _ = strconv.Atoi(count) // nsys.Args has checked it
	}
	cuda := slices.ContainsFunc(n.Trace, func(api string) bool { return strings.HasPrefix(api, "cuda") })
	if cuda {
		e.Tables = append(e.Tables, dataKernels)
	}
	if slices.Contains(n.Trace, "nvtx") && (len(n.Trace) == 1 || len(n.NVTXDomainInclude) > 0) {
		e.Tables = append(e.Tables, dataRanges)
	}
	return e
}

// askedTables are the kinds of data of which a good timeline has at least one;
// none where something was asked for that is not counted.
func askedTables(n plan.Nsys) []string {
	var out []string
	for _, api := range n.Trace {
		switch {
		case strings.HasPrefix(api, "cuda"):
			out = append(out, dataKernels)
		case api == "nvtx":
			out = append(out, dataRanges)
		default:
			return nil
		}
	}
	if (n.Sample != "" && n.Sample != "none") || (n.CPUCtxSw != "" && n.CPUCtxSw != "none") {
		return nil
	}
	return out
}

// gateAdvice names what may still keep the gate shut.
func gateAdvice(n plan.Nsys) string {
	next := "check name, domain and case of the range in pipeline.nsys.nvtx_capture"
	if n.NVTXRegisterOnly {
		next += "; strings that the program does not register need pipeline.nsys.nvtx_register_only=false"
	}
	if !n.TraceForkBeforeExec {
		next += "; children that are forked without exec need pipeline.nsys.trace_fork_before_exec=true"
	}
	return next
}

// checkTimeline exports a report into the run, takes the environments out of
// the export, and counts what it holds.
func (r *run) checkTimeline(ctx context.Context, report string, exports map[string]string) (*capture.Content, error) {
	target := strings.TrimSuffix(report, filepath.Ext(report)) + ".sqlite"
	if err := nsys.Export(ctx, r.nsys, report, target); err != nil {
		return nil, err
	}
	exports[report] = target
	content := &capture.Content{Rows: map[string]int64{}}
	if err := appendLine(r.store.Path("nsys/cmd.txt"), nsys.ExportLine(r.nsys, report, target)); err != nil {
		return nil, err
	}
	if _, err := redact.BlankEnvironments(target); err != nil {
		content.Warnings = append(content.Warnings, "the environment that nsys stored is still in the export: "+err.Error())
	}
	f, err := nsys.OpenSQLite(target)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := f.Timeline(ctx, r.traced())
	if err != nil {
		return nil, err
	}
	content.Warnings = append(content.Warnings, t.Warnings...)
	for _, table := range t.Tables {
		content.Rows[table.Name] = table.Rows
	}
	content.Rows[dataKernels] = int64(len(t.Kernels) + len(t.Graphs))
	content.Rows[dataRanges] = int64(len(t.Ranges))
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
