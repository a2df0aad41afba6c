package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/ncurep"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/pick"
	"github.com/deepprof/deepprof/internal/plan"
	reports "github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/timeline"
)

// summaries are the tables of the timeline that pipeline.nsys.stats_csv asks
// for: those of `deepprof show --csv`.
var summaries = []struct {
	name string
	view func(context.Context, *nsys.File) (reports.Printable, error)
}{
	{"nsys/summary_kernels.csv", func(ctx context.Context, f *nsys.File) (reports.Printable, error) {
		rows, err := f.KernelRows(ctx, timeline.Query{})
		return reports.Kernels(rows, nil, 0), err
	}},
	{"nsys/summary_regions.csv", func(ctx context.Context, f *nsys.File) (reports.Printable, error) {
		rows, err := f.RegionRows(ctx, timeline.Query{})
		return reports.Regions(rows), err
	}},
	{"nsys/summary_launches.csv", func(ctx context.Context, f *nsys.File) (reports.Printable, error) {
		rows, err := f.StreamLaunches(ctx, timeline.Query{})
		return reports.Launches(rows), err
	}},
}

// exportTimeline writes the timeline's tables as CSV into the run. The capture
// stays good where that fails: the failure is told.
func exportTimeline(ctx context.Context, j *job) error {
	name := j.store.Timeline()
	if name == "" {
		j.tell(noOneTimeline, fact.Key("key", "pipeline.nsys.stats_csv"))
		return nil
	}
	f, err := nsys.OpenSQLite(j.store.Path(name))
	if err != nil {
		return err
	}
	defer f.Close()
	var made []string
	for _, s := range summaries {
		err := writeExport(j.store, s.name, func(w io.Writer) error {
			t, err := s.view(ctx, f)
			if err != nil {
				return err
			}
			return t.WriteCSV(w)
		})
		if err != nil {
			j.tellError("note", err)
			continue
		}
		made = append(made, s.name)
	}
	return j.store.AddFiles(ctx, plan.StepNsys, made...)
}

// exportCounters writes every metric of every counted launch as CSV into the
// run, one file for each report.
func exportCounters(ctx context.Context, j *job) error {
	var made []string
	for i, path := range runs.Files(j.store.Dir(), runs.CountersFile) {
		name := "ncu/raw.csv"
		if i > 0 {
			name = fmt.Sprintf("ncu/raw-%d.csv", i+1)
		}
		err := writeExport(j.store, name, func(w io.Writer) error {
			r, err := ncurep.Open(path, ncurep.Options{})
			if err != nil {
				return err
			}
			defer r.Close()
			return ncurep.WriteRawCSV(w, r, "base")
		})
		if err != nil {
			j.tellError("note", err)
			continue
		}
		made = append(made, name)
	}
	return j.store.AddFiles(ctx, plan.StepNcu, made...)
}

// writeExport writes a file of the run whole or not at all.
func writeExport(store *runs.Run, name string, write func(io.Writer) error) (err error) {
	fail := func(err error) error { return fmt.Errorf("write %s: %w", name, err) }
	path := store.Path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fail(err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".export-*")
	if err != nil {
		return fail(err)
	}
	defer os.Remove(f.Name()) // gone once it was renamed
	if err := errors.Join(write(f), f.Chmod(0o644), f.Close()); err != nil {
		return fail(err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fail(err)
	}
	return nil
}

// sectionsName is the list of what the ncu of the run could have counted.
const sectionsName = "ncu/sections.txt"

// listSections writes the sets and sections of ncu with their cost into the run,
// where ncu could list them.
func listSections(ctx context.Context, j *job) error {
	if j.lists == nil {
		return nil
	}
	err := writeExport(j.store, sectionsName, func(w io.Writer) error {
		return reports.WriteSections(w, j.ncu.String(), pick.SectionCosts(j.lists.Sets, j.lists.Sections, j.lists.SetMetrics))
	})
	if err != nil {
		j.tellError("note", err)
		return nil
	}
	return j.store.AddFiles(ctx, plan.StepNcu, sectionsName)
}
