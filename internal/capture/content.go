package capture

import (
	"context"
	"errors"
	"strings"

	"github.com/deepprof/deepprof/internal/ncurep"
	"github.com/deepprof/deepprof/internal/nsys"
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
