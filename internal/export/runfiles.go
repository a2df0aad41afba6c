package export

import (
	"context"
	"io"

	"github.com/deepprof/deepprof/internal/ncurep"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/timeline"
)

// summaries are the tables of the timeline that pipeline.nsys.stats_csv asks for: those of
// `deepprof show --csv`, of the whole timeline. The names are part of the layout of a run.
var summaries = []struct {
	name string
	view func(context.Context, *nsys.File) (report.Printable, error)
}{
	{runs.SummaryCSV("kernels"), func(ctx context.Context, f *nsys.File) (report.Printable, error) {
		rows, err := f.KernelRows(ctx, timeline.Query{})
		return report.Kernels(rows, nil, 0), err
	}},
	{runs.SummaryCSV("regions"), func(ctx context.Context, f *nsys.File) (report.Printable, error) {
		rows, err := f.RegionRows(ctx, timeline.Query{})
		return report.Regions(rows), err
	}},
	{runs.SummaryCSV("launches"), func(ctx context.Context, f *nsys.File) (report.Printable, error) {
		rows, err := f.StreamLaunches(ctx, timeline.Query{})
		return report.Launches(rows), err
	}},
}

// TimelineCSV writes tables of a timeline of the run as CSV into it: the names of what was
// made, and what went wrong with the others. A table that fails does not keep the others from
// being written.
func TimelineCSV(ctx context.Context, store *runs.Run, name string) (made []string, problems []error) {
	f, err := nsys.OpenSQLite(store.Path(name))
	if err != nil {
		return nil, []error{err}
	}
	defer f.Close()
	for _, s := range summaries {
		err := store.WriteBy(s.name, func(w io.Writer) error {
			t, err := s.view(ctx, f)
			if err != nil {
				return err
			}
			return t.WriteCSV(w)
		})
		if err != nil {
			problems = append(problems, err)
			continue
		}
		made = append(made, s.name)
	}
	return made, problems
}

// CountersCSV writes every metric of every counted launch as CSV into the run, one
// file for each report; it returns what TimelineCSV does.
func CountersCSV(store *runs.Run) (made []string, problems []error) {
	for i, path := range runs.Files(store.Dir(), runs.CountersFile) {
		name := runs.CountersCSV(i + 1)
		err := store.WriteBy(name, func(w io.Writer) error {
			r, err := ncurep.Open(path, ncurep.Options{})
			if err != nil {
				return err
			}
			defer r.Close()
			return ncurep.WriteRawCSV(w, r, "base")
		})
		if err != nil {
			problems = append(problems, err)
			continue
		}
		made = append(made, name)
	}
	return made, problems
}
