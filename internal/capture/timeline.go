package capture

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/redact"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
)

// Codes of what is stated about a timeline. internal/message has their words; a
// comment names the parameters.
const (
	environmentLeft fact.Code = "environment-left"    // error
	samplesOver     fact.Code = "samples-over-bound"  // size, limit
	longTimeline    fact.Code = "long-timeline"       // span
	LongAhead       fact.Code = "long-timeline-ahead" // span
)

// LongTimeline is the length from which a timeline costs more than it tells: it
// holds the same steps again and again.
const LongTimeline = 5 * time.Minute

// ExpectedSpan is the time that a timeline of a program will cover, by the
// time that the program takes without a profiler; 0 where that is unknown or a
// gate decides.
func ExpectedSpan(n plan.Nsys, program time.Duration) time.Duration {
	if n.CaptureRange != plan.CaptureNone {
		return 0
	}
	rest := max(0, program-n.Delay)
	if n.Duration > 0 {
		return min(rest, n.Duration)
	}
	return rest
}

// CheckTimeline exports a report beside it, takes the environments out of the
// export, and counts what it holds. Export is where that lies, "" where there is
// none; its command is added to the file of commands.
func CheckTimeline(ctx context.Context, t tool.Tool, n plan.Nsys, report, commands string) (content *Content, export string, err error) {
	target := strings.TrimSuffix(report, filepath.Ext(report)) + ".sqlite"
	if err := nsys.Export(ctx, t, report, target); err != nil {
		return nil, "", err
	}
	if err := runs.AppendLine(commands, nsys.ExportLine(t, report, target)); err != nil {
		return nil, target, err
	}
	content, err = readTimeline(ctx, n, target)
	return content, target, err
}

// readTimeline counts what was asked for, by table and by the names of the configuration.
// Environments are blanked before anybody reads the export.
func readTimeline(ctx context.Context, n plan.Nsys, target string) (*Content, error) {
	content := &Content{Rows: map[string]int64{}}
	if _, err := redact.BlankEnvironments(target); err != nil {
		content.Warnings = append(content.Warnings, fact.New(environmentLeft, fact.Error("error", err)))
	}
	f, err := nsys.OpenSQLite(target)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := f.Timeline(ctx, tracedParts(n.Trace))
	if err != nil {
		return nil, err
	}
	content.Warnings = append(content.Warnings, t.Warnings...)
	for _, table := range t.Tables {
		content.Rows[table.Name] = table.Rows
	}
	if took := t.Span(); took > LongTimeline {
		content.Warnings = append(content.Warnings, fact.New(longTimeline, fact.NS("span", took)))
	}
	over, err := checkSamples(ctx, f, maxSampleBytes)
	if err != nil {
		return nil, err
	}
	content.Warnings = append(content.Warnings, over...)
	content.Rows[DataKernels] = int64(len(t.Kernels) + len(t.Graphs))
	content.Rows[DataRanges] = int64(len(t.Ranges))
	for _, name := range AskedTables(n) {
		if f.Traced(name) {
			content.Rows[name]++
		}
	}
	return content, nil
}

// AddTo adds what a report holds to what others do.
func (c *Content) AddTo(got map[string]int64) {
	if c == nil {
		return
	}
	for name, n := range c.Rows {
		got[name] += n
	}
}

// tracedParts are the parts of a timeline that the configuration asked for: what was
// not asked for is not missed.
func tracedParts(trace []string) nsys.Part {
	parts := nsys.Overhead
	for _, api := range trace {
		switch {
		case plan.OfCUDA(api):
			parts |= nsys.Kernels | nsys.Memory | nsys.Graphs | nsys.Syncs | nsys.Calls
		case api == "nvtx":
			parts |= nsys.NVTX
		}
	}
	return parts
}
