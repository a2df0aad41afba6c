package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/plan"
	pages "github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/report/html"
	"github.com/deepprof/deepprof/internal/runs"
)

// ResultFile is the name of the analysis in a run.
const ResultFile = "result.json"

// regionsFolder holds the reports of regions.
var regionsFolder = filepath.Join("ncu", "regions")

// WriteResult writes an analysis and every report that is made from it into a
// folder, and returns their paths. What can be written is, whatever else fails.
// What an earlier analysis left there and this one does not have is removed.
func WriteResult(dir string, r *analysis.Result) ([]string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("write reports: %w", err)
	}
	data, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", ResultFile, err)
	}
	path := filepath.Join(dir, ResultFile)
	if err := pages.ReplaceFile(path, append(data, '\n')); err != nil {
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	made := []string{path}
	written, err := pages.WriteAll(dir, r, pages.WriteOptions{Pages: []pages.Page{{Name: "report.html", Write: html.Write}}})
	made = append(made, written...)
	regions, rerr := pages.WriteRegionReports(filepath.Join(dir, regionsFolder), r)
	made = append(made, regions...)
	return made, errors.Join(err, rerr, removeStale(filepath.Join(dir, regionsFolder), made))
}

// removeStale removes the reports of regions that an analysis does not know.
// The other reports have the same names each time.
func removeStale(dir string, made []string) error {
	folders, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, f := range folders {
		folder := filepath.Join(dir, f.Name())
		if !f.IsDir() || slices.Contains(made, filepath.Join(folder, "report.json")) || slices.Contains(made, filepath.Join(folder, "report.md")) {
			continue
		}
		for _, name := range []string{"report.json", "report.md"} {
			if err := os.Remove(filepath.Join(folder, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
				errs = append(errs, fmt.Errorf("remove what an earlier analysis left: %w", err))
			}
		}
		_ = os.Remove(folder) // one that holds files of somebody else's stays
	}
	return errors.Join(errs...)
}

// Rewrite is WriteResult for a run, whose manifest learns of the new files. In a
// run that cannot be changed, because it goes on for example, it is WriteResult.
func Rewrite(ctx context.Context, dir string, r *analysis.Result) ([]string, error) {
	var made []string
	var written error
	err := runs.Amend(ctx, dir, func(store *runs.Run) error {
		started := time.Now()
		made, written = WriteResult(dir, r)
		m := store.Manifest()
		if s := m.Step(plan.StepReport); written != nil || s == nil || s.State != runs.StateDone {
			return nil // nothing there vouches for the files
		}
		files, err := store.HashFiles(ctx, within(store, made)...)
		if err != nil {
			return err
		}
		seconds := time.Since(started).Seconds()
		outcome := runs.Outcome{Kind: string(capture.Captured), Usable: true, Text: "the reports were written again"}
		return store.Update(func(m *runs.Manifest) error {
			s := m.Step(plan.StepReport)
			for i := range s.Attempts {
				s.Attempts[i].Files = nil // they are replaced
			}
			s.Attempts = append(s.Attempts, runs.Attempt{
				Command: []string{"deepprof", "analyze", dir}, Dir: dir, Started: started.UTC(), Seconds: &seconds, Outcome: &outcome, Files: files,
			})
			return nil
		})
	})
	if made == nil && written == nil {
		return WriteResult(dir, r)
	}
	return made, errors.Join(written, err)
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

// captured tells whether a run holds anything to analyze.
func captured(dir string) bool {
	in, err := analysis.FromRun(dir)
	return err == nil && !in.Empty()
}

// report is the last step: it needs files only.
func report(ctx context.Context, j *job) (made, error) {
	dir := j.store.Dir()
	in, err := analysis.FromRun(dir)
	if err != nil {
		return made{}, err
	}
	in.Version, in.Recorded, in.Status = j.Version, j.played, string(statusSoFar(j.store.Manifest()))
	in.Categories = j.Categories
	j.display.line("report: reading what was captured")
	result, err := analysis.Analyze(ctx, in)
	if ctx.Err() != nil {
		return made{}, ctx.Err()
	}
	if err != nil {
		return made{Outcome: capture.Outcome{Kind: capture.Unknown, What: "no report was made", Evidence: err.Error(), Next: "deepprof analyze " + dir}}, nil
	}
	j.display.line("report: writing")
	files, err := WriteResult(dir, result)
	switch {
	case runs.IsDiskFull(err):
		return made{}, err
	case err != nil && len(files) == 0, err != nil && filepath.Base(files[0]) != ResultFile:
		return made{Outcome: capture.Outcome{Kind: capture.Unknown, What: "the reports could not be written", Evidence: err.Error(), Next: "fix that, then deepprof analyze " + dir}}, nil
	}
	o := capture.Outcome{Kind: capture.Captured, What: "the reports were written", Usable: true}
	if err != nil {
		o.Kind, o.Evidence = capture.WithWarnings, err.Error()
	}
	if err := recordReport(ctx, j, o, files); err != nil {
		return made{}, err
	}
	return made{Outcome: o, result: result}, nil
}

// statusSoFar is how a run will end by the steps that are done, if nothing goes
// wrong any more.
func statusSoFar(m runs.Manifest) runs.Status {
	for i := range m.Steps {
		if m.Steps[i].State == runs.StateFailed {
			return runs.StatusFailed
		}
	}
	return runs.StatusDone
}

// recordReport enters what was written into the manifest.
func recordReport(ctx context.Context, j *job, o capture.Outcome, files []string) error {
	if err := j.store.StartAttempt(plan.StepReport, j.store.Dir(), "deepprof", "analyze", j.store.Dir()); err != nil {
		return err
	}
	hashed, err := j.store.HashFiles(context.WithoutCancel(ctx), within(j.store, files)...)
	if err != nil {
		return err
	}
	return j.store.EndAttempt(plan.StepReport, runs.Result{Outcome: recorded(o), Files: hashed})
}
