package capture

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/ncurep"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/tool"
)

// CheckCounters counts the results of a report, and the values of each metric:
// ncu passes over metrics that it does not know.
func CheckCounters(report string) (*Content, error) {
	r, err := ncurep.Open(report, ncurep.Options{})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	content := &Content{Rows: map[string]int64{}}
	for result := range r.All() {
		content.Launches++
		content.Rows[DataResults]++
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
		content.Warnings = append(content.Warnings, w.What)
	}
	if content.Launches == 0 && len(content.Warnings) > 0 { // a report without results is damaged, not empty
		return nil, errors.New("no result can be read: the report is cut or damaged")
	}
	return content, nil
}

// StoredDiagnostics gives the messages that nsys stored in its report, by the
// export of it. Exports of older versions lack them; nsys then exports the report
// to text.
func StoredDiagnostics(ctx context.Context, program, report, export string) ([]Diagnostic, error) {
	f, err := nsys.OpenSQLite(export)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !f.Has("DIAGNOSTIC_EVENT") {
		return textDiagnostics(program)(ctx, report)
	}
	stored, err := f.Timeline(ctx, nsys.Machine)
	if err != nil {
		return nil, err
	}
	var out []Diagnostic
	for _, d := range stored.Diagnostics {
		level := [...]string{0: "Verbose", 1: "Info", 2: "Warning", 3: "Error"}[min(max(d.Severity, 0), 3)]
		out = append(out, Diagnostic{Level: level, Text: d.Text})
	}
	return out, nil
}

// Kinds of data in Content.Rows, beside the names of tables and metrics.
const (
	DataKernels = "cuda-kernels"
	DataRanges  = "nvtx-ranges"
	DataResults = "results" // of a counter report, whatever they hold
)

// dataDomain is the domain of kinds of data as IDs.
const dataDomain = "data"

// ExpectTimeline says what a timeline must hold to be what was asked for. A
// program need not have ranges, unless they are all that was asked for or a
// domain was named. What else was asked for and is absent is named.
func ExpectTimeline(n plan.Nsys) Expect {
	e := Expect{}
	if _, count, ok := strings.Cut(n.CaptureRangeEnd, ":"); ok && n.CaptureRange != plan.CaptureNone {
		e.Reports, _ = strconv.Atoi(count) // nsys.Args has checked it
	}
	if n.TracesCUDA() {
		e.Tables = append(e.Tables, DataKernels)
	}
	if slices.Contains(n.Trace, "nvtx") && (len(n.Trace) == 1 || len(n.NVTXDomainInclude) > 0) {
		e.Tables = append(e.Tables, DataRanges)
	}
	for _, name := range asked(n) {
		if nsys.KnowsTrace(name) {
			e.Named = append(e.Named, name)
		}
	}
	return e
}

// asked are the kinds of data that a timeline is to hold.
func asked(n plan.Nsys) []string {
	var out []string
	for _, api := range n.Trace {
		switch {
		case plan.OfCUDA(api):
			out = append(out, DataKernels)
		case api == "nvtx":
			out = append(out, DataRanges)
		default:
			out = append(out, api)
		}
	}
	if n.Sample != "" && n.Sample != "none" {
		out = append(out, nsys.TraceSampling)
	}
	if n.CPUCtxSw != "" && n.CPUCtxSw != "none" {
		out = append(out, nsys.TraceScheduling)
	}
	return append(out, nsys.OptionTraces(n.ExtraArgs)...)
}

// AskedTables are the kinds of data of which a good timeline has at least one;
// none where something was asked for that cannot be looked for.
func AskedTables(n plan.Nsys) []string {
	list := asked(n)
	if slices.ContainsFunc(list, func(name string) bool { return name != DataKernels && name != DataRanges && !nsys.KnowsTrace(name) }) {
		return nil
	}
	return list
}

// absent are the names that the reports hold nothing of.
func (e Expect) absent(c *Content) []string {
	if c == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(e.Named), func(name string) bool { return c.Rows[name] > 0 })
}

// JudgeMissing tells a capture that lacks part of what was asked for from one
// that has nothing of it, which is not usable. Got counts what the reports hold.
func (r *Result) JudgeMissing(asked []string, got map[string]int64) {
	if len(asked) == 0 || len(r.Reports) == 0 || slices.ContainsFunc(asked, func(name string) bool { return got[name] > 0 }) {
		return
	}
	o := &r.Outcome
	switch o.Kind {
	case Captured, WithWarnings:
		o.verdict(MissingData, nil)
		o.Evidence = lacks(asked...)
	case MissingData:
	default:
		return
	}
	o.Usable = false
	o.What = o.What.With(fact.ID("but", "left-but", "nothing-of-it"))
	r.amend()
}

// ExplainGate names what may still keep the gate of a timeline shut, in the
// manifest as on the screen.
func (r *Result) ExplainGate(n plan.Nsys) {
	var more []fact.Param
	if n.NVTXRegisterOnly {
		more = append(more, fact.Key("register", "pipeline.nsys.nvtx_register_only=false"))
	}
	if !n.TraceForkBeforeExec {
		more = append(more, fact.Key("fork", forkSetting))
	}
	r.Outcome.Cause = fact.New(causeGate, more...)
	r.amend()
}

// amend makes the verdict on the capture that on its last attempt.
func (r *Result) amend() {
	if n := len(r.Attempts); n > 0 {
		r.Attempts[n-1].Outcome = r.Outcome
	}
}

// diagnosticField is a field of a DiagnosticEvent in the text export of nsys
// 2022 and 2023, which have no table for it in SQLite.
var diagnosticField = regexp.MustCompile(`\b(Level|Text): (?:"((?:[^"\\]|\\.)*)"|(\S+))`)

// unescape undoes the escapes of the text export; a message becomes one line.
var unescape = strings.NewReplacer(`\n`, " ", `\t`, " ", `\"`, `"`, `\\`, `\`)

// readDiagnostics finds the profiler's own messages in the text export of a
// report. Everything else in it is skipped.
func readDiagnostics(r io.Reader) ([]Diagnostic, error) {
	var list []Diagnostic
	var block strings.Builder
	inside := false
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := in.ReadSlice('\n')
		switch text := strings.TrimRight(string(line), "\r\n"); {
		case text == "DiagnosticEvent_ {":
			inside = true
			block.Reset()
		case inside && text == "}":
			inside = false
			list = append(list, parseDiagnostic(block.String()))
		case inside && block.Len() < maxLine:
			block.WriteString(text + "\n")
		}
		if err == io.EOF {
			return list, nil
		}
		if err != nil && err != bufio.ErrBufferFull {
			return list, fmt.Errorf("read text export: %w", err)
		}
	}
}

// maxLine bounds a message of the text export, in bytes.
const maxLine = 1 << 20

// parseDiagnostic leaves a field that the block does not have at "".
func parseDiagnostic(block string) Diagnostic {
	var d Diagnostic
	for _, m := range diagnosticField.FindAllStringSubmatch(block, -1) {
		value := m[3]
		if m[2] != "" {
			value = strings.Join(strings.Fields(unescape.Replace(m[2])), " ")
		}
		switch m[1] {
		case "Level":
			d.Level = value
		case "Text":
			d.Text = value
		}
	}
	return d
}

// maxTextExport is the largest report that is exported to text for its
// diagnostics: the text is some hundred times larger.
const maxTextExport = 32 << 20

// textDiagnostics returns a function for Capture.Diagnostics that lets nsys
// export the report to text, for versions that keep the messages nowhere else.
func textDiagnostics(nsys string) func(ctx context.Context, report string) ([]Diagnostic, error) {
	return func(ctx context.Context, report string) ([]Diagnostic, error) {
		info, err := os.Stat(report)
		if err != nil {
			return nil, err
		}
		if info.Size() > maxTextExport {
			return nil, fmt.Errorf("the report is larger than %d MiB", maxTextExport>>20)
		}
		dir, err := os.MkdirTemp("", format.TempName("diag"))
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		text := filepath.Join(dir, "report.txt")
		_, stderr, exit, err := tool.Output(ctx, tool.Command{
			Path: nsys,
			Args: []string{"export", "--type=text", "--output=" + text, "--force-overwrite=true", report},
			Env:  tool.Environ(os.Environ(), "LC_ALL=C", "TMPDIR="+dir),
		})
		if err != nil {
			return nil, err
		}
		f, err := os.Open(text)
		if err != nil {
			return nil, fmt.Errorf("nsys export: %s: %s", exit, oneLine(stderr))
		}
		defer f.Close()
		return readDiagnostics(f)
	}
}
