package show

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/pick"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/report/folder"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/timeline"
)

// openTimeline opens what a view of the timeline reads; done of the source gives
// it back.
// An error leaves nothing open. Of several timelines it opens the one that Part names.
func openTimeline(ctx context.Context, path, view string, more *Request) (*nsys.File, *source, error) {
	src, err := locate(ctx, path, Timeline)
	if err != nil {
		return nil, nil, err
	}
	if src.kind == Counters || src.kind == CSV {
		return nil, nil, wrongInput(path, src.kind, view)
	}
	if err := src.choose(more.Part); err != nil {
		src.done()
		return nil, nil, err
	}
	f, err := nsys.Open(ctx, src.files[0], nsys.OpenOptions{})
	release := src.done
	if err != nil {
		release()
		return nil, nil, err
	}
	src.done = func() { f.Close(); release() }
	more.lacks(f)
	if startup := runs.Files(src.dir, runs.StartupFile); src.dir != "" && len(startup) > 0 {
		f.Earlier = startup[0]
	}
	return f, src, nil
}

// An answer of a file may be in memory or made while it is read.
// Count is the number of rows, known before the first of a stream was made.
type answer interface {
	Count() int
	Notes() []fact.Fact
}

// viewTimeline answers a view with one of the questions that a file answers. Launches and gaps
// of a run are narrowed to its scope. The file stays open until the table was made; a stream
// holds what it needs.
// ask gets the query after it was narrowed; table gets what ask returned, also where it is
// empty.
func viewTimeline[T answer](ctx context.Context, path, view string, q timeline.Query, more *Request,
	ask func(*nsys.File, context.Context, timeline.Query) (T, error),
	table func(T) report.Printable) (report.Printable, error) {
	f, src, err := openTimeline(ctx, path, view, more)
	if err != nil {
		return nil, err
	}
	defer src.done()
	notes := src.notes()
	if view == "launches" || view == "gaps" {
		_, about, err := src.scope(ctx, f, &q, view, "", more)
		if err != nil {
			return nil, err
		}
		notes = append(notes, about...)
	}
	answer, err := ask(f, ctx, q)
	if err != nil {
		return nil, err
	}
	if answer.Count() == 0 {
		if err := explainEmpty(ctx, f, more, answer.Notes()); err != nil {
			return nil, err
		}
	}
	t := table(answer)
	t.Note(notes...)
	return t, nil
}

// explainEmpty says why there is nothing to show where that is an error: an
// expression that no range matches, or a file that lost all of it.
// With Partial a file that lost everything is no error: the table is empty then.
func explainEmpty(ctx context.Context, f *nsys.File, more *Request, warnings []fact.Fact) error {
	if len(f.Lost()) > 0 {
		if more.Partial {
			return nil
		}
		return fmt.Errorf("read %s: nothing of this could be read: %s", f.Path, message.Join(warnings))
	}
	if more.Region == "" {
		return nil
	}
	t, err := f.TimelineFor(ctx, nsys.Regions, timeline.Query{Detect: true})
	if err != nil {
		return err
	}
	if _, err := nvtx.Resolve([]string{more.Region}, t.Attribute().Seen()); err != nil {
		return usagef("--region: %w", err)
	}
	return nil
}

// showKernels shows time by kernel. The path decides: a run or an analysis has limiters, a
// file by itself has not.
func showKernels(ctx context.Context, path string, q timeline.Query, more *Request) (report.Printable, error) {
	q.Detect = true
	switch kind, err := Recognize(path); {
	case err != nil:
		return nil, err
	case kind == CSV:
		return kernelsOfCSV(ctx, path, q, more)
	case kind == Counters:
		return kernelsOfCounters(ctx, path, q, more)
	case kind == Folder, kind == Result, kind == Pack:
		if t, ok := kernelsOfAnalysis(path, q, more); ok {
			return t, nil
		}
		return kernelsOfRun(ctx, path, q, more)
	}
	top := q.Top
	q.Top = 0 // names are told apart before rows are cut
	return viewTimeline(ctx, path, "kernels", q, more, (*nsys.File).KernelRows, func(rows timeline.Rows[timeline.KernelRow]) report.Printable {
		return report.Kernels(rows, nil, top)
	})
}

// kernelsOfRun shows the part of a run that its reports are about, with the
// limiters that they have.
func kernelsOfRun(ctx context.Context, path string, q timeline.Query, more *Request) (report.Printable, error) {
	f, src, err := openTimeline(ctx, path, "kernels", more)
	if err != nil {
		return nil, err
	}
	defer src.done()
	result, about, err := src.scope(ctx, f, &q, "launches", message.Phrase("without-limiters"), more)
	if err != nil {
		return nil, err
	}
	top := q.Top
	q.Top = 0 // names are told apart before rows are cut
	rows, err := f.KernelRows(ctx, q)
	if err != nil {
		return nil, err
	}
	if len(rows.Rows) == 0 {
		if err := explainEmpty(ctx, f, more, rows.Warnings); err != nil {
			return nil, err
		}
	}
	t := report.Kernels(rows, result, top)
	t.Note(append(src.notes(), about...)...)
	return t, nil
}

// scope narrows a question to the part of a run that its reports are about, and
// says so of what is shown. The result is that of the run; nil where there is
// none, and lost is what a result that cannot be read takes away.
// It changes q.Region, but not where Region was given or Whole is set. about are notes for
// people.
func (s *source) scope(ctx context.Context, f *nsys.File, q *timeline.Query, shown, lost string, more *Request) (result *analysis.Result, about []string, err error) {
	if s.dir == "" {
		return nil, nil, nil
	}
	result, err = folder.Read(filepath.Join(s.dir, runs.ResultName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) && more.Analyze != nil { // damaged, or of an older deepprof
		about = append(about, message.Phrase("analyzed-again", err))
		result, err = more.Analyze(ctx, "show", []string{s.dir})
	}
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) { // captures that were never analyzed have none
			about = append(about, message.Phrase("whole-timeline-note", lost, err))
		}
		return nil, about, nil
	}
	switch {
	case result.Scope == nil || more.Region != "":
		return result, about, nil
	case more.Whole:
		return result, append(about, message.Phrase("scope-whole-timeline", message.Text(result.Scope.Name))), nil
	}
	q.Region, err = scopeMatch(ctx, f, result.Scope)
	return result, append(about, message.Phrase("scope-of-reports", shown, message.Text(result.Scope.Name))), err
}

// scopeMatch tells launches of the scope of an analysis, by the filters that it
// was made with.
func scopeMatch(ctx context.Context, f *nsys.File, scope *analysis.Scope) (func(nvtx.State) bool, error) {
	if scope.Default && len(scope.Exclude) == 0 { // nobody named regions: those that the analysis chose
		return inRegions(scope.Regions), nil
	}
	t, err := f.Timeline(ctx, nsys.Regions)
	if err != nil {
		return nil, err
	}
	filters, err := pick.ResolveFilters(scope.Expressions, scope.Exclude, append([]nvtx.Seen{}, t.Attribute().Seen()...))
	if err != nil {
		return nil, fmt.Errorf("find %s in %s: %w; --whole shows everything", message.Text(scope.Name), f.Path, err)
	}
	return filters.Match, nil
}

// inRegions tells launches in the regions of these paths, or nested in one of them.
func inRegions(paths []string) func(nvtx.State) bool {
	return func(s nvtx.State) bool {
		for _, stack := range s.Stacks {
			for n := range stack {
				if slices.Contains(paths, nvtx.Path(stack[:n+1])) {
					return true
				}
			}
		}
		return slices.ContainsFunc(s.Open, func(r nvtx.Range) bool { return slices.Contains(paths, nvtx.Path([]nvtx.Range{r})) })
	}
}

// showRegions shows time by region. Of counters alone it takes an analysis, which has times
// under ncu.
func showRegions(ctx context.Context, path string, q timeline.Query, more *Request) (report.Printable, error) {
	if q.By&^(timeline.ByDevice|timeline.ByProcess) != 0 {
		return nil, usagef("show regions --by: regions are split by device and process only")
	}
	if kind, err := Recognize(path); err == nil && kind == Counters {
		return regionsOfCounters(ctx, path, more)
	}
	q.Grouped, q.Detect = more.Grouped, true
	return viewTimeline(ctx, path, "regions", q, more, (*nsys.File).RegionRows, report.Regions)
}

// regionsOfCounters shows the ranges around what ncu counted: counts and times are those
// under ncu, and shares of the program are not known.
func regionsOfCounters(ctx context.Context, path string, more *Request) (report.Printable, error) {
	if more.By != "" || more.Region != "" {
		return nil, usagef("show regions --by, --region: these choose launches of a timeline; name one")
	}
	result, err := more.Analyze(ctx, "show regions", []string{path})
	if err != nil {
		return nil, err
	}
	more.noteLosses(result)
	t := report.NcuRegions(result)
	if more.Top > 0 {
		t.First(more.Top)
	}
	return t, nil
}

// showRanges shows every instance of every range.
func showRanges(ctx context.Context, path string, q timeline.Query, more *Request) (report.Printable, error) {
	q.Detect = true
	return viewTimeline(ctx, path, "ranges", q, more, (*nsys.File).RangeRows, report.Ranges)
}

// showLaunches shows launches of a timeline, or those that were counted.
func showLaunches(ctx context.Context, path string, q timeline.Query, more *Request) (report.Printable, error) {
	switch kind, err := Recognize(path); {
	case err != nil:
		return nil, err
	case kind == Counters, kind == CSV:
		return launchesOfCounters(ctx, path, q, more)
	}
	q.Detect = true
	return viewTimeline(ctx, path, "launches", q, more, (*nsys.File).StreamLaunches, report.Launches)
}

// showGaps shows when the GPU ran nothing; without All gaps are summed by cause and region.
// MinGap is a duration of Go; a gap of exactly that length is shown.
func showGaps(ctx context.Context, path string, q timeline.Query, more *Request) (report.Printable, error) {
	d, err := time.ParseDuration(more.MinGap)
	if err != nil || d < 0 {
		return nil, usagef("--min-gap %q: not a duration such as 500ns, 10us or 1ms", more.MinGap)
	}
	q.MinGap, q.WholeDevices, q.Detect = d.Nanoseconds(), !more.Streams, true
	if !more.All {
		return viewTimeline(ctx, path, "gaps", q, more, (*nsys.File).GapGroups, report.GapGroups)
	}
	return viewTimeline(ctx, path, "gaps", q, more, (*nsys.File).StreamGaps, report.Gaps)
}
