package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/report/html"
	"github.com/deepprof/deepprof/internal/runs"
)

// ResultFile is the name of the analysis in a run.
const ResultFile = "result.json"

// WriteResult writes an analysis and every report that is made from it into a
// folder, and returns their paths. What can be written is, whatever else fails.
func WriteResult(dir string, r *analysis.Result) ([]string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("write reports: %w", err)
	}
	data, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", ResultFile, err)
	}
	path := filepath.Join(dir, ResultFile)
	if err := report.ReplaceFile(path, append(data, '\n')); err != nil {
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	made := []string{path}
	pages, err := report.WriteAll(dir, r, report.WriteOptions{Pages: []report.Page{{Name: "report.html", Write: html.Write}}})
	made = append(made, pages...)
	regions, rerr := report.WriteRegionReports(filepath.Join(dir, "ncu", "regions"), r)
	return append(made, regions...), errors.Join(err, rerr)
}

// ReadResult reads a result.json.
func ReadResult(path string) (*analysis.Result, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r analysis.Result
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(&r); err != nil {
		return nil, fmt.Errorf("read %s: %w; make it again with deepprof analyze", path, err)
	}
	if r.Schema < 1 || r.Schema > analysis.Schema {
		return nil, fmt.Errorf("read %s: schema %d; this deepprof knows up to %d", path, r.Schema, analysis.Schema)
	}
	return &r, nil
}

// captured tells whether the run holds anything to analyse.
func (r *run) captured() bool {
	in, err := analysis.FromRun(r.store.Dir())
	return err == nil && !in.Empty()
}

// statusSoFar is how the run will end if nothing goes wrong any more.
func (r *run) statusSoFar() runs.Status {
	status, _ := r.status()
	return status
}

// report is the last stage: it needs files only.
func (r *run) report(ctx context.Context) (capture.Outcome, error) {
	in, err := analysis.FromRun(r.store.Dir())
	if err != nil {
		return capture.Outcome{}, err
	}
	in.Version, in.Recorded, in.Status = r.Version, r.recorded, string(r.statusSoFar())
	in.Categories = r.Categories
	r.live("report: reading what was captured")
	result, err := analysis.Analyze(ctx, in)
	if err != nil {
		return capture.Outcome{Kind: capture.Unknown, What: "no report was made", Evidence: err.Error(), Next: "deepprof analyze " + r.store.Dir()}, nil
	}
	r.live("report: writing")
	made, err := WriteResult(r.store.Dir(), result)
	if err != nil && runs.IsDiskFull(err) {
		return capture.Outcome{}, err
	}
	r.summary.Result = result
	o := capture.Outcome{Kind: capture.Captured, What: "the reports were written", Usable: true}
	if err != nil {
		o.Kind, o.Evidence = capture.WithWarnings, err.Error()
	}
	return o, r.recordReport(ctx, o, made)
}

// recordReport enters what was written into the manifest.
func (r *run) recordReport(ctx context.Context, o capture.Outcome, made []string) error {
	if err := r.store.StartAttempt("report", r.dir, "deepprof", "analyze", r.store.Dir()); err != nil {
		return err
	}
	var rels []string
	for _, path := range made {
		if rel, err := filepath.Rel(r.store.Dir(), path); err == nil {
			rels = append(rels, filepath.ToSlash(rel))
		}
	}
	files, err := r.store.HashFiles(context.WithoutCancel(ctx), rels...)
	if err != nil {
		return err
	}
	return r.store.EndAttempt("report", runs.Result{Outcome: record(o), Files: files})
}
