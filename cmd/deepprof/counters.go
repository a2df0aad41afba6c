package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/deepprof/deepprof/internal/cxx"
	"github.com/deepprof/deepprof/internal/ncurep"
	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/suggest"
	"github.com/deepprof/deepprof/internal/timeline"
)

// duration is the metric that holds how long a launch took under the profiler.
const duration = "gpu__time_duration.sum"

// A counted is a source of counted launches: reports that are streamed, or CSV.
type counted struct {
	*source
	results  iter.Seq2[string, *ncurep.Result] // each with the name of its report, where there are several
	seen     []nvtx.Seen                       // ranges that were open at a launch, collected by keeps
	names    kernelNames                       // that --kernel left out, collected by keeps
	kept     bool                              // keeps has let a launch pass
	warnings func() []string
	close    func()
}

// openCounters opens what a view of counters reads: of a run, all its reports.
func openCounters(ctx context.Context, path, view string, opts ncurep.Options) (*counted, error) {
	src, err := locate(ctx, path, inputCounters)
	if err != nil {
		return nil, err
	}
	switch src.kind {
	case inputTimeline:
		return nil, wrongInput(path, src.kind, view)
	case inputCSV:
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
		return &counted{source: src, results: results, warnings: func() []string { return texts(rep.Warnings) }, close: src.done}, nil
	}
	return openReports(src, opts)
}

// openReports opens the reports of a source. One of several that cannot be read
// is a warning.
func openReports(src *source, opts ncurep.Options) (*counted, error) {
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
	c.warnings = func() []string {
		var out []string
		for _, err := range errs {
			out = append(out, "left out: "+err.Error())
		}
		for i, r := range readers {
			if r == nil {
				continue
			}
			for _, text := range texts(r.Warnings()) {
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

// texts words a list for people.
func texts[T fmt.Stringer](list []T) []string {
	var out []string
	for _, x := range list {
		out = append(out, x.String())
	}
	return out
}

// keeps tells whether a result passes the filters of a query.
func (c *counted) keeps(r *ncurep.Result, q *timeline.Query) bool {
	var state nvtx.State
	if q.Region != nil {
		state = stateOf(r.NVTX)
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

// kernelNames are a few short names, for the answer to a pattern that matches
// none.
type kernelNames struct {
	list []string
	more int
	all  map[string]bool
}

// mostNames are enough to see how names are written.
const mostNames = 5

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

func (n *kernelNames) text() string {
	if len(n.list) == 0 {
		return "the report has no kernels"
	}
	text := "kernels in the report: " + strings.Join(n.list, ", ")
	if n.more > 0 {
		text += fmt.Sprintf(" and %d more", n.more)
	}
	return text
}

// see remembers the ranges that were open, for the answer to an expression
// that matches none of them.
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

// explainEmpty refuses an expression that no range matches.
func (c *counted) explainEmpty(rows int, region string) error {
	if rows > 0 || region == "" {
		return nil
	}
	if _, err := nvtx.Resolve([]string{region}, append([]nvtx.Seen{}, c.seen...)); err != nil {
		return usagef("--region: %w", err)
	}
	return nil
}

// stateOf gives the ranges that were open at a launch in the form that filter
// expressions are matched against.
func stateOf(n ncurep.NVTX) nvtx.State {
	domain := func(name string) string {
		if name == nvtx.DefaultDomain {
			return ""
		}
		return name
	}
	var s nvtx.State
	for _, stack := range n.Stacks {
		ranges := make([]nvtx.Range, len(stack.Ranges))
		for i, r := range stack.Ranges {
			ranges[i] = nvtx.Range{Name: r.Name, Domain: domain(stack.Domain)}
		}
		s.Stacks = append(s.Stacks, ranges)
	}
	for _, o := range n.Open {
		s.Open = append(s.Open, nvtx.Range{Name: o.Name, Domain: domain(o.Domain)})
	}
	return s
}

func launchesOfCounters(ctx context.Context, path string, q timeline.Query, more *viewFlags) (report.Printable, error) {
	c, err := openCounters(ctx, path, "launches", ncurep.Options{})
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
	if err := c.explainEmpty(len(rows), more.region); err != nil {
		return nil, err
	}
	return report.CountedLaunches(rows, cut, c.warnings), nil
}

// displayName tells ranges apart, which ncu all calls "range".
func displayName(r *ncurep.Result) string {
	if r.Kind == ncurep.Kernel {
		return r.Name()
	}
	return strings.TrimSpace(r.Name() + " " + pathsOf(stateOf(r.NVTX)))
}

func countedLaunch(r *ncurep.Result) report.CountedLaunchRow {
	row := report.CountedLaunchRow{
		ID: r.ID, Kernel: r.Name(), ShortName: cxx.Short(displayName(r)), Kind: r.Kind.String(),
		Grid: [3]uint64{r.Grid.X, r.Grid.Y, r.Grid.Z}, Block: [3]uint64{r.Block.X, r.Block.Y, r.Block.Z},
		Context: r.ContextID, NVTX: pathsOf(stateOf(r.NVTX)), Process: r.Process.ID, Metrics: len(r.Metrics),
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

// pathsOf writes the open ranges as show regions does: one path a stack, then
// the start/end ranges.
func pathsOf(s nvtx.State) string {
	var paths []string
	for _, stack := range s.Stacks {
		paths = append(paths, nvtx.Path(stack))
	}
	for _, r := range s.Open {
		paths = append(paths, nvtx.Path([]nvtx.Range{r}))
	}
	return strings.Join(paths, "; ")
}

// kernelsOfCounters sums the durations that were measured under the profiler.
func kernelsOfCounters(ctx context.Context, path string, q timeline.Query, more *viewFlags) (report.Printable, error) {
	if q.By != 0 {
		return nil, usagef("show kernels --by: counters are not split; name a timeline")
	}
	c, err := openCounters(ctx, path, "kernels", ncurep.Options{Metrics: func(name string) bool { return name == duration }})
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
	if err := c.explainEmpty(len(order)+without, more.region); err != nil {
		return nil, err
	}
	all := q
	all.Top = 0 // names are told apart before rows are cut
	rows := timeline.SumKernels(order, &all)
	rows.Warnings = append(rows.Warnings, "durations were measured by Nsight Compute, launch by launch, with the clocks and caches it sets; a timeline tells what the program sees")
	if without > 0 {
		rows.Warnings = append(rows.Warnings, fmt.Sprintf("%d launches have no %s and are not counted; collect the section SpeedOfLight", without, duration))
	}
	rows.Warnings = append(rows.Warnings, c.warnings()...)
	return report.Kernels(rows, nil, q.Top), nil
}

func infoOfCounters(path string) (report.Printable, error) {
	r, err := ncurep.Open(path, ncurep.Options{NoMetrics: true})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	info := r.Info()
	facts := []report.Fact{
		{Section: "file", Name: "path", Value: path},
		{Section: "file", Name: "bytes", Value: fmt.Sprint(info.Size)},
		{Section: "file", Name: "container version", Value: fmt.Sprint(info.Version)},
		{Section: "file", Name: "results", Value: fmt.Sprint(info.Results)},
		{Section: "file", Name: "embedded cubins and sources", Value: fmt.Sprint(info.NumSource)},
	}
	facts = append(facts, sessionFacts(&info.Session)...)
	for _, p := range info.Processes {
		facts = append(facts, report.Fact{Section: "process", Name: fmt.Sprint(p.ID), Value: p.Name})
	}
	for range r.All() { // damage within results is found by visiting them
	}
	return report.Facts(facts, texts(r.Warnings())), nil
}

func metricsCommand() command {
	return command{
		use: "metrics PATH", short: "Every counter of every launch: the numbers of 'ncu --import PATH --page raw'",
		long: `Print every counter of every launch or range of a .ncu-rep, of all .ncu-rep of a
run, or of ncu's CSV.

Values are in base units (byte, ns, hz, ...) and exact. --raw prints the whole
page of 'ncu --import PATH --page raw --csv' as ncu 2025.3 does under LC_ALL=C,
but with whole kernel names; older releases write some units and digits otherwise
(Gbyte/second for Gbyte/s), and selfcheck allows for that. --dump prints
everything that was read, for people who look into the file itself. Both are of
one report. Each report numbers its launches from 0, so that rows of a run with
several begin with the name of theirs.`,
		example: `  deepprof show metrics report.ncu-rep --kernel nvjet --metric '^dram__'
  deepprof show metrics report.ncu-rep --json > metrics.json
  deepprof show metrics report.ncu-rep --raw > raw.csv
  deepprof show metrics report.ncu-rep --dump | less`,
		args: exactly("PATH"),
		setup: func(fs *pflag.FlagSet, s streams) func(context.Context, []string) error {
			var f showFlags
			f.register(fs)
			metricRegex := fs.String("metric", "", "only metrics whose name matches `REGEX`")
			instances := fs.Bool("instances", false, "with the values that a metric is made of (JSON and dump)")
			dump := fs.Bool("dump", false, "print the parsed structure of a .ncu-rep; of filters it takes --metric")
			raw := fs.Bool("raw", false, "print ncu's raw page as CSV, as ncu 2025.3 does; takes no filters")
			units := fs.String("print-units", "auto", "units of --raw: auto or base, as ncu means them")
			return func(ctx context.Context, args []string) error {
				q, err := f.query()
				if err != nil {
					return err
				}
				path, err := named(args[0])
				if err != nil {
					return err
				}
				opts := ncurep.Options{Instances: *instances}
				metrics, matched := map[string]bool{}, false
				if *metricRegex != "" {
					re, err := regexp.Compile(*metricRegex)
					if err != nil {
						return usagef("--metric %q: %w", *metricRegex, err)
					}
					opts.Metrics = func(name string) bool {
						matches := re.MatchString(name)
						matched = matched || matches
						if !strings.Contains(name, ":") { // those are lists of metrics
							metrics[name] = true
						}
						return matches
					}
				}
				switch {
				case *dump && *raw, (*dump || *raw) && (f.json || f.csv || f.md):
					return usagef("--dump, --raw, --json, --csv and --md exclude each other")
				case fs.Changed("print-units") && !*raw:
					return usagef("--print-units goes with --raw; the other formats hold base units")
				case *dump:
					if err := unfiltered(fs, "dump", "region", "kernel", "device", "process", "top"); err != nil {
						return err
					}
					return dumpReport(ctx, s.out, path, opts)
				case *raw:
					if err := unfiltered(fs, "raw", "region", "kernel", "device", "process", "top", "metric", "instances"); err != nil {
						return err
					}
					return rawPage(ctx, s, path, *units)
				}
				c, err := openCounters(ctx, path, "metrics", opts)
				if err != nil {
					return err
				}
				defer c.close()
				t := report.Metrics(metricRows(c, &q, opts), len(c.files) > 1, c.warnings)
				t.Note(c.notes()...)
				f.first(t)
				if err := f.print(s, t); err != nil {
					return err
				}
				note := func(text string) { fmt.Fprintln(s.err, report.Wrap("note: "+text, terminalWidth(s.err), "  ")) }
				if t.Written() == 0 && f.kernel != "" && !c.kept {
					note(c.names.text())
				}
				if t.Written() == 0 && opts.Metrics != nil && !matched && len(metrics) > 0 {
					note(nearestMetrics(*metricRegex, slices.Sorted(maps.Keys(metrics))))
				}
				return c.explainEmpty(t.Written(), f.region)
			}
		},
	}
}

// nearestMetrics answers a pattern that no metric matches: with names that are
// written alike or, because names are long, begin alike.
func nearestMetrics(pattern string, names []string) string {
	text := fmt.Sprintf("none of the %d metrics in the report matches --metric %s; ", len(names), pattern)
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
		return text + "there are: " + strings.Join(names[:min(len(names), mostNames)], ", ")
	}
	return text + "the nearest: " + strings.Join(near[:min(len(near), mostNames)], ", ")
}

// metricRows streams the counters, so that a large report is never held.
func metricRows(c *counted, q *timeline.Query, opts ncurep.Options) iter.Seq[*report.MetricRow] {
	return func(yield func(*report.MetricRow) bool) {
		for name, r := range c.results {
			if !c.keeps(r, q) {
				continue
			}
			launch := report.NewMetricLaunch(name, r.ID, r.Name())
			for i := range r.Metrics {
				m := &r.Metrics[i]
				if opts.Metrics != nil && !opts.Metrics(m.Name) {
					continue
				}
				row := report.MetricRow{Launch: launch, Name: m.Name, Value: m.Value, Unit: m.Unit()}
				for _, in := range m.Instances {
					row.Instances = append(row.Instances, report.MetricInstance(in))
				}
				if !yield(&row) {
					return
				}
			}
		}
	}
}

// unfiltered refuses flags that choose rows beside a format that has all of them.
func unfiltered(fs *pflag.FlagSet, format string, choosing ...string) error {
	for _, name := range choosing {
		if fs.Changed(name) {
			return usagef("--%s is the whole report and goes without --%s; --csv and --json take it", format, name)
		}
	}
	return nil
}

// openReport opens a .ncu-rep itself: no other input holds what --dump and --raw
// print, and several reports do not make one page.
func openReport(ctx context.Context, path, view string, opts ncurep.Options) (r *ncurep.Reader, done func(), err error) {
	src, err := locate(ctx, path, inputCounters)
	if err != nil {
		return nil, nil, err
	}
	if src.kind == inputTimeline || src.kind == inputCSV {
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

func dumpReport(ctx context.Context, w io.Writer, path string, opts ncurep.Options) error {
	opts.Rules, opts.Sections, opts.Sources = true, true, true
	r, done, err := openReport(ctx, path, "metrics --dump", opts)
	if err != nil {
		return err
	}
	defer done()
	return ncurep.Dump(w, r)
}

func rawPage(ctx context.Context, s streams, path, units string) error {
	if units != "auto" && units != "base" {
		return usagef("--print-units %q: must be auto or base", units)
	}
	r, done, err := openReport(ctx, path, "metrics --raw", ncurep.Options{})
	if err != nil {
		return err
	}
	defer done()
	err = ncurep.WriteRawCSV(s.out, r, units)
	for _, w := range texts(r.Warnings()) {
		fmt.Fprintln(s.err, "warning: "+w)
	}
	return err
}

// sessionFacts lists what a report says about the session that made it.
func sessionFacts(s *ncurep.Session) []report.Fact {
	var facts []report.Fact
	add := func(section, name, value string) {
		if value != "" {
			facts = append(facts, report.Fact{Section: section, Name: name, Value: value})
		}
	}
	if s.CreationTime > 0 {
		add("session", "created (UTC)", time.Unix(int64(s.CreationTime), 0).UTC().Format(time.DateTime))
	}
	add("session", "command line", s.CommandLine)
	add("session", "executable", s.Executable)
	add("session", "arguments", s.Arguments)
	add("session", "working directory", s.WorkDirectory)
	add("session", "comments", s.Comments)
	for _, p := range s.Versions {
		add("version", p.Name, p.Value)
	}
	for _, p := range s.Properties {
		add("property", p.Name, p.Value)
	}
	for _, d := range s.Devices {
		add("device", fmt.Sprint(d.ID), fmt.Sprintf("%s (%d attributes)", d.Name, len(d.Attributes)))
	}
	return facts
}
