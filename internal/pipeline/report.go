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
	"github.com/deepprof/deepprof/internal/report"
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
	if err := report.ReplaceFile(path, append(data, '\n')); err != nil {
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	made := []string{path}
	pages, err := report.WriteAll(dir, r, report.WriteOptions{Pages: []report.Page{{Name: "report.html", Write: html.Write}}})
	made = append(made, pages...)
	regions, rerr := report.WriteRegionReports(filepath.Join(dir, regionsFolder), r)
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
		if s := m.Step("report"); written != nil || s == nil || s.State != runs.StateDone {
			return nil // nothing there vouches for the files
		}
		files, err := store.HashFiles(ctx, within(store, made)...)
		if err != nil {
			return err
		}
		seconds := time.Since(started).Seconds()
		outcome := runs.Outcome{Kind: string(capture.Captured), Usable: true, Text: "the reports were written again"}
		return store.Update(func(m *runs.Manifest) error {
			s := m.Step("report")
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

// within gives paths by their place in a run.
func within(store *runs.Run, paths []string) []string {
	var out []string
	for _, path := range paths {
		abs, err := filepath.Abs(path)
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(store.Dir(), abs); err == nil && filepath.IsLocal(rel) {
			out = append(out, filepath.ToSlash(rel))
		}
	}
	return out
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
	switch {
	case runs.IsDiskFull(err):
		return capture.Outcome{}, err
	case err != nil && len(made) == 0, err != nil && filepath.Base(made[0]) != ResultFile:
		return capture.Outcome{Kind: capture.Unknown, What: "the reports could not be written", Evidence: err.Error(), Next: "mend that, then deepprof analyze " + r.store.Dir()}, nil
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
	files, err := r.store.HashFiles(context.WithoutCancel(ctx), within(r.store, made)...)
	if err != nil {
		return err
	}
	return r.store.EndAttempt("report", runs.Result{Outcome: record(o), Files: files})
}
