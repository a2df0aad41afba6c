package show

import (
	"context"
	"io"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/deepprof/deepprof/internal/cxx"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/ncurep"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/suggest"
	"github.com/deepprof/deepprof/internal/timeline"
)

// metricsView is the view of counters: the one with pages beside its rows.
func metricsView() View {
	return View{
		Name: "metrics", Short: "Counters by kernel; each launch with --all, --json and --csv: the numbers of 'ncu --import PATH --page raw'",
		Long: `Print the counters of a .ncu-rep, of all .ncu-rep of a run, or of ncu's CSV: as a
table one line for each kernel and metric, with --all, --top, --json and --csv every
counter of every launch or range.

Values are in base units (byte, ns, hz, ...) and exact. --raw prints the whole
page of 'ncu --import PATH --page raw --csv' as ncu 2025.3 does under LC_ALL=C,
but with whole kernel names; older releases write some units and digits otherwise
(Gbyte/second for Gbyte/s), and selfcheck allows for that. --dump prints
everything that was read, for people who look into the file itself. Both take one
report. Each report numbers its launches from 0, so rows of a run with several
reports begin with the name of theirs.`,
		Example: `  deepprof show metrics report.ncu-rep --kernel nvjet --metric '^dram__'
  deepprof show metrics report.ncu-rep --json > metrics.json
  deepprof show metrics report.ncu-rep --raw > raw.csv
  deepprof show metrics report.ncu-rep --dump | less`,
		Params: launchParams(
			Param{"metric", "only metrics whose name matches `REGEX`", func(r *Request) any { return &r.Metric }},
			Param{"instances", "with the values that a metric is made of (JSON and dump)", func(r *Request) any { return &r.Instances }},
			Param{"dump", "print the parsed structure of a .ncu-rep; of the filters it takes --metric", func(r *Request) any { return &r.Dump }},
			Param{"raw", "print ncu's raw page as CSV, as ncu 2025.3 does; takes no filters", func(r *Request) any { return &r.Raw }},
			Param{"print-units", "units of --raw: auto or base, as in ncu", func(r *Request) any { return &r.Units }}),
		Pages:  []string{"dump", "raw", "print-units"},
		Tables: []report.Declared{report.MetricView}, answer: showMetrics,
	}
}

// showMetrics finds all that is wrong with the parameters before it opens a file.
func showMetrics(ctx context.Context, r *Request) (*Answer, error) {
	q, err := r.query()
	if err != nil {
		return nil, err
	}
	opts := ncurep.Options{Instances: r.Instances}
	if r.Metric != "" {
		if opts.Metrics, err = r.metricFilter(); err != nil {
			return nil, err
		}
	}
	path := r.Paths[0]
	switch {
	case r.Dump && r.Raw, (r.Dump || r.Raw) && r.Data:
		return nil, usagef("--dump, --raw, --json, --csv and --md exclude each other")
	case r.Given["print-units"] && !r.Raw:
		return nil, usagef("--print-units goes with --raw; the other formats hold base units")
	case r.Dump:
		if err := r.unfiltered("dump", "region", "kernel", "device", "process", "top"); err != nil {
			return nil, err
		}
		return r.dump(ctx, path, opts)
	case r.Raw:
		if err := r.unfiltered("raw", "region", "kernel", "device", "process", "top", "metric", "instances"); err != nil {
			return nil, err
		}
		return r.rawPage(ctx, path)
	}
	return r.metricTable(ctx, path, q, opts)
}

// metricFilter keeps the metrics that --metric names, and remembers those that it
// was held against, for an answer without rows.
// Call it once for each request: it starts a new set of names.
func (r *Request) metricFilter() (func(string) bool, error) {
	re, err := regexp.Compile(r.Metric)
	if err != nil {
		return nil, usagef("--metric %q: %w", r.Metric, err)
	}
	r.metricsSeen = map[string]bool{}
	return func(name string) bool {
		matches := re.MatchString(name)
		r.anyMetricPassed = r.anyMetricPassed || matches
		if !strings.Contains(name, ":") { // those are lists of metrics
			r.metricsSeen[name] = true
		}
		return matches
	}, nil
}

// metricTable streams rows while the table is printed: the reports stay open until
// Answer.Close. A table for people is summed up by kernel unless every row is asked for.
func (r *Request) metricTable(ctx context.Context, path string, q timeline.Query, opts ncurep.Options) (*Answer, error) {
	c, err := openCounters(ctx, path, "metrics", opts, r)
	if err != nil {
		return nil, err
	}
	t := report.Metrics(metricRows(c, &q, opts), len(c.files) > 1, c.warnings)
	t.Note(c.notes()...)
	switch {
	case r.Top > 0:
		t.First(r.Top)
	case !r.All && !r.Data:
		t.SumUp(1) // a table is by kernel; JSON and CSV have every value
	}
	after := func() (notes []string, err error) {
		if t.Written() == 0 && r.Kernel != "" && !c.kept {
			notes = append(notes, c.names.text())
		}
		if t.Written() == 0 && !r.anyMetricPassed && len(r.metricsSeen) > 0 {
			notes = append(notes, noSuchMetric(r.Metric, slices.Sorted(maps.Keys(r.metricsSeen))))
		}
		return notes, c.explainEmpty(t.Written(), r.Region)
	}
	return &Answer{Printable: t, close: c.close, after: []func() ([]string, error){after}}, nil
}

// unfiltered refuses parameters that choose rows beside a format that has all of
// them.
func (r *Request) unfiltered(format string, choosing ...string) error {
	for _, name := range choosing {
		if r.Given[name] {
			return usagef("--%s is the whole report and goes without --%s; --csv and --json take it", format, name)
		}
	}
	return nil
}

// noSuchMetric answers a pattern that no metric matches: with names that are
// written alike or, because names are long, begin alike.
func noSuchMetric(pattern string, names []string) string {
	want := strings.ReplaceAll(strings.Trim(pattern, "^$"), `\`, "")
	near := suggest.Nearest(want, names)
	for ; len(near) == 0 && len(want) >= 3; want = want[:len(want)-1] {
		for _, name := range names {
			if strings.HasPrefix(name, want) {
				near = append(near, name)
			}
		}
	}
	if len(near) == 0 {
		return message.Phrase("metrics-unmatched", strconv.Itoa(len(names)), pattern, strings.Join(names[:min(len(names), mostNames)], ", "))
	}
	return message.Phrase("metrics-unmatched-nearest", strconv.Itoa(len(names)), pattern, strings.Join(near[:min(len(near), mostNames)], ", "))
}

// metricRows streams the counters, so that a large report is never held.
// Rows are in the order of the reports, and of the metrics within a launch. The names of
// opts.Metrics are checked again, because CSV is read whole.
func metricRows(c *counted, q *timeline.Query, opts ncurep.Options) iter.Seq[*report.MetricRow] {
	return func(yield func(*report.MetricRow) bool) {
		for name, r := range c.results {
			if !c.keeps(r, q) {
				continue
			}
			kernel, short := r.Name(), cxx.Short(r.Name())
			for i := range r.Metrics {
				m := &r.Metrics[i]
				if opts.Metrics != nil && !opts.Metrics(m.Name) {
					continue
				}
				row := report.MetricRow{Report: name, Launch: r.ID, Kernel: kernel, Short: short, Name: m.Name, Value: report.Reading{Value: m.Value}, Unit: m.Unit()}
				for _, in := range m.Instances {
					row.Instances = append(row.Instances, report.MetricInstance{ID: report.Reading{Value: in.ID}, Value: report.Reading{Value: in.Value}})
				}
				if !yield(&row) {
					return
				}
			}
		}
	}
}

// openReport opens a .ncu-rep itself: no other input holds what --dump and --raw
// print, and several reports do not make one page.
// The caller calls done once. An error leaves nothing open.
func openReport(ctx context.Context, path, view string, opts ncurep.Options) (r *ncurep.Reader, done func(), err error) {
	src, err := locate(ctx, path, Counters)
	if err != nil {
		return nil, nil, err
	}
	if src.kind == Timeline || src.kind == CSV {
		return nil, nil, wrongInput(path, src.kind, view)
	}
	file, err := src.one(path, "show "+view)
	if err == nil {
		r, err = ncurep.Open(file, opts)
	}
	if err != nil {
		src.done()
		return nil, nil, err
	}
	return r, func() { r.Close(); src.done() }, nil
}

// dump prints everything that was read of one report, with rules, sections and sources.
func (more *Request) dump(ctx context.Context, path string, opts ncurep.Options) (*Answer, error) {
	opts.Rules, opts.Sections, opts.Sources = true, true, true
	r, done, err := openReport(ctx, path, "metrics --dump", opts)
	if err != nil {
		return nil, err
	}
	more.losses = append(more.losses, func() []string { return remarks(r.Lost()) })
	return &Answer{Page: func(w io.Writer) error { return ncurep.Dump(w, r) }, close: done}, nil
}

// rawPage prints the raw page of ncu, in units that suit each value or in base units.
// Warnings are told after the page, because reading it finds them.
func (more *Request) rawPage(ctx context.Context, path string) (*Answer, error) {
	units := more.Units
	if units != "auto" && units != "base" {
		return nil, usagef("--print-units %q: must be auto or base", units)
	}
	r, done, err := openReport(ctx, path, "metrics --raw", ncurep.Options{})
	if err != nil {
		return nil, err
	}
	more.losses = append(more.losses, func() []string { return remarks(r.Lost()) })
	a := &Answer{Page: func(w io.Writer) error { return ncurep.WriteRawCSV(w, r, units) }, close: done}
	a.after = append(a.after, func() ([]string, error) { return remarks(r.Warnings()), nil })
	return a, nil
}

// kernelNames are a few short names, for the answer to a pattern that matches
// none.
type kernelNames struct {
	// list are the first names in the order of the report; more counts those after them.
	list []string
	more int
	all  map[string]bool
}

// mostNames are enough to see how names are written: a note is no list.
const mostNames = 5

// add counts each short name once.
func (n *kernelNames) add(name string) {
	short := cxx.Short(name)
	switch {
	case n.all[short]:
		return
	case len(n.list) < mostNames:
		n.list = append(n.list, short)
	default:
		n.more++
	}
	if n.all == nil {
		n.all = map[string]bool{}
	}
	n.all[short] = true
}

// text is a note for people: the first names, and how many more there are.
func (n *kernelNames) text() string {
	if len(n.list) == 0 {
		return message.Phrase("report-has-no-kernels")
	}
	return message.Phrase("kernels-in-report", strings.Join(n.list, ", "), n.more)
}
