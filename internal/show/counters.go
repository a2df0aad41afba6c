package show

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/cxx"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/ncurep"
	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/timeline"
)

// duration is the metric that holds how long a launch took under the profiler, in ns. ncu
// collects it in every set but not in every choice of metrics.
const duration = "gpu__time_duration.sum"

// A counted is a source of counted launches: reports that are streamed, or CSV. Its results
// can be ranged over once. warnings and the explanation of an empty answer are complete when
// they were.
type counted struct {
	*source
	results iter.Seq2[string, *ncurep.Result] // each with the name of its report, where there are several
	seen    []nvtx.Seen                       // ranges that were open at a launch, collected by keeps
	names   kernelNames                       // that --kernel left out, collected by keeps
	kept    bool                              // keeps has let a launch pass
	// warnings are in words; complete once results were ranged over.
	warnings func() []string
	// close gives back readers and temporary files; it must be called once.
	close func()
}

// openCounters opens what a view of counters reads: of a run, all its reports.
// The caller calls close of the result, also if it reads nothing.
func openCounters(ctx context.Context, path, view string, opts ncurep.Options, more *Request) (*counted, error) {
	src, err := locate(ctx, path, Counters)
	if err != nil {
		return nil, err
	}
	switch src.kind {
	case Timeline:
		return nil, wrongInput(path, src.kind, view)
	case CSV:
		rep, err := ncurep.ReadCSVFile(path)
		if err != nil {
			return nil, cmp.Or(noReport("show "+view, path), err)
		}
		results := func(yield func(string, *ncurep.Result) bool) {
			for _, r := range rep.Results {
				if !yield("", r) {
					return
				}
			}
		}
		return &counted{source: src, results: results, warnings: func() []string { return remarks(rep.Warnings) }, close: src.done}, nil
	}
	return openReports(src, opts, more)
}

// openReports opens the reports of a source. One of several that cannot be read
// is a warning.
// If none can be read it closes everything and returns all errors. What one report lost is
// added to more, which makes After fail unless Partial is set.
func openReports(src *source, opts ncurep.Options, more *Request) (*counted, error) {
	readers := make([]*ncurep.Reader, len(src.files)) // nil for one that cannot be read
	var errs []error
	c := &counted{source: src}
	c.close = func() {
		for _, r := range readers {
			if r != nil {
				r.Close()
			}
		}
		src.done()
	}
	for i, file := range src.files {
		var err error
		if readers[i], err = ncurep.Open(file, opts); err != nil {
			readers[i] = nil
			errs = append(errs, err)
		}
	}
	if len(errs) == len(src.files) {
		c.close()
		return nil, errors.Join(errs...)
	}
	c.results = func(yield func(string, *ncurep.Result) bool) {
		for i, r := range readers {
			if r == nil {
				continue
			}
			for result := range r.All() {
				if !yield(src.name(i), result) {
					return
				}
			}
		}
	}
	more.losses = append(more.losses, func() []string {
		var out []string
		for _, err := range errs {
			out = append(out, err.Error())
		}
		for _, r := range readers {
			if r != nil {
				out = append(out, remarks(r.Lost())...)
			}
		}
		return out
	})
	c.warnings = func() []string {
		var out []string
		for _, err := range errs {
			out = append(out, message.Phrase("left-out", err))
		}
		for i, r := range readers {
			if r == nil {
				continue
			}
			for _, text := range remarks(r.Warnings()) {
				if name := src.name(i); name != "" {
					text = name + ": " + text
				}
				out = append(out, text)
			}
		}
		return out
	}
	return c, nil
}

// remarks are the words of what a reader found wrong with counters; what to do stands beside
// the table, not here.
func remarks(list []ncurep.Warning) []string {
	var out []string
	for _, w := range list {
		out = append(out, message.Text(w.What))
	}
	return out
}

// texts words a list for people by the type's own String.
func texts[T fmt.Stringer](list []T) []string {
	var out []string
	for _, x := range list {
		out = append(out, x.String())
	}
	return out
}

// keeps tells whether a result passes the filters of a query.
// It also collects what an answer without rows needs to explain itself, so it is called
// once per result and in no other place.
func (c *counted) keeps(r *ncurep.Result, q *timeline.Query) bool {
	var state nvtx.State
	if q.Region != nil {
		state = r.NVTX.State()
		c.see(state)
	}
	switch {
	case q.Kernel != nil && !q.Kernel.MatchString(r.Name()) && !q.Kernel.MatchString(r.MangledName) && !q.Kernel.MatchString(r.FunctionName):
		c.names.add(r.Name())
		return false
	case len(q.Devices) > 0 && !slices.Contains(q.Devices, r.Device):
		return false
	case len(q.Processes) > 0 && !slices.Contains(q.Processes, int(r.Process.ID)):
		return false
	}
	pass := q.Region == nil || q.Region(state)
	c.kept = c.kept || pass
	return pass
}

// see remembers the ranges that were open, for the answer to an expression
// that matches none of them.
// Each stack is kept once, with all its outer parts, in the order in which they came.
func (c *counted) see(s nvtx.State) {
	add := func(style nvtx.Style, stack []nvtx.Range) {
		if !slices.ContainsFunc(c.seen, func(x nvtx.Seen) bool { return x.Style == style && slices.Equal(x.Stack, stack) }) {
			c.seen = append(c.seen, nvtx.Seen{Style: style, Stack: stack})
		}
	}
	for _, stack := range s.Stacks {
		for i := range stack {
			add(nvtx.PushPop, stack[:i+1])
		}
	}
	for i := range s.Open {
		add(nvtx.StartEnd, s.Open[i:i+1])
	}
}

// explainEmpty refuses an expression that no range of the launches matches, with the nearest
// ones. It needs that keeps saw every result.
// The error is a UsageError.
func (c *counted) explainEmpty(rows int, region string) error {
	if rows > 0 || region == "" {
		return nil
	}
	if _, err := nvtx.Resolve([]string{region}, append([]nvtx.Seen{}, c.seen...)); err != nil {
		return usagef("--region: %w", err)
	}
	return nil
}

// launchesOfCounters shows what was counted, in the order of the reports; Top keeps the
// first and counts the others. Several reports of a run are one list.
// Times are those under ncu, in ns.
func launchesOfCounters(ctx context.Context, path string, q timeline.Query, more *Request) (report.Printable, error) {
	c, err := openCounters(ctx, path, "launches", ncurep.Options{}, more)
	if err != nil {
		return nil, err
	}
	defer c.close()
	var rows []report.CountedLaunchRow
	cut := 0
	for _, r := range c.results {
		if !c.keeps(r, &q) {
			continue
		}
		if q.Top > 0 && len(rows) == q.Top {
			cut++
			continue
		}
		rows = append(rows, countedLaunch(r))
	}
	if err := c.explainEmpty(len(rows), more.Region); err != nil {
		return nil, err
	}
	t := report.CountedLaunchView.Table(rows, c.warnings()...)
	t.Cut = cut
	return t, nil
}

// displayName tells ranges apart, which ncu all calls "range", by the NVTX ranges around
// them.
func displayName(r *ncurep.Result) string {
	if r.Kind == ncurep.Kernel {
		return r.Name()
	}
	return strings.TrimSpace(r.Name() + " " + r.NVTX.State().Paths())
}

// countedLaunch is a result as a row. Fields that the report does not have are nil.
func countedLaunch(r *ncurep.Result) report.CountedLaunchRow {
	row := report.CountedLaunchRow{
		ID: r.ID, Kernel: r.Name(), ShortName: cxx.Short(displayName(r)), Kind: r.Kind.String(),
		Grid: [3]uint64{r.Grid.X, r.Grid.Y, r.Grid.Z}, Block: [3]uint64{r.Block.X, r.Block.Y, r.Block.Z},
		Context: r.ContextID, NVTX: r.NVTX.State().Paths(), Process: r.Process.ID, Metrics: len(r.Metrics),
	}
	if r.HasStream {
		row.Stream = &r.StreamID
	}
	if r.Device >= 0 {
		row.Device = &r.Device
	}
	if v, ok := r.Value(duration); ok {
		row.DurationNS = &v
	}
	return row
}

// kernelsOfCounters sums the durations that were measured under the profiler, by name. They
// are those of replayed launches, which a note says; launches without a duration are counted
// in another note.
func kernelsOfCounters(ctx context.Context, path string, q timeline.Query, more *Request) (report.Printable, error) {
	if q.By != 0 {
		return nil, usagef("show kernels --by: counters are not split; name a timeline")
	}
	c, err := openCounters(ctx, path, "kernels", ncurep.Options{Metrics: func(name string) bool { return name == duration }}, more)
	if err != nil {
		return nil, err
	}
	defer c.close()
	groups := map[string]*timeline.KernelGroup{}
	var order []*timeline.KernelGroup
	without := 0
	for _, r := range c.results {
		if !c.keeps(r, &q) {
			continue
		}
		ns, ok := r.Value(duration)
		if !ok {
			without++
			continue
		}
		name := displayName(r)
		g := groups[name]
		if g == nil {
			g = &timeline.KernelGroup{Name: name, Short: cxx.Short(name)}
			groups[name] = g
			order = append(order, g)
		}
		g.Sample.Add(int64(math.Round(ns)))
	}
	if err := c.explainEmpty(len(order)+without, more.Region); err != nil {
		return nil, err
	}
	all := q
	all.Top = 0 // names are told apart before rows are cut
	rows := timeline.SumKernels(order, &all)
	notes := []string{message.Phrase("ncu-durations-note")}
	if without > 0 {
		notes = append(notes, message.Phrase("ncu-launches-without-metric", without, duration))
	}
	t := report.Kernels(rows, nil, q.Top)
	t.Note(append(notes, c.warnings()...)...)
	return t, nil
}
