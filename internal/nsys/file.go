// Package nsys knows Nsight Systems: how its captures are started and judged,
// how its reports become SQLite files, and what stands in those. It is the one
// place that knows the vendor's tables; package timeline holds what they mean.
//
// Its size is that of the formats: each table in every layout that releases wrote,
// the command lines, the exports, and some 1,700 lines that compare with nsys stats.
package nsys

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/sqlite"
	"github.com/deepprof/deepprof/internal/timeline"
)

// Part chooses what of a file is read.
type Part uint16

// The parts of a file.
const (
	Kernels     Part = 1 << iota
	Memory           // copies and sets
	Graphs           // launches of CUDA graphs that were traced as a whole, and graph nodes
	Syncs            // waits
	Calls            // all CUDA calls
	LaunchCalls      // only the CUDA calls that launched the work read
	CallCounts       // how many CUDA calls each thread made, without keeping them
	NVTX             // ranges, marks, domains, categories
	Machine          // processes, threads, GPUs, system, diagnostics
	Overhead         // time taken by the profiler
	KernelTimes      // kernels without their names and launch configurations
	Samples          // counters that were sampled

	// Regions is what NVTX attribution needs.
	Regions = Kernels | Memory | Graphs | LaunchCalls | NVTX
	// Everything is all of it.
	Everything = Kernels | Memory | Graphs | Syncs | Calls | NVTX | Machine | Overhead | Samples
)

// A File is an open SQLite export. Its methods may not be called at the same
// time.
type File struct {
	Path   string // as named by the caller
	SQLite string // the file that is read; Path itself unless it had to be exported

	// Workers is the number of goroutines that read; 0 takes one per core.
	Workers int

	// Earlier is the export of an earlier window of the same process, which knows
	// the ranges in which CUDA graphs were captured; "" without one.
	Earlier string

	tool, schema string // what exported the file, and the layout it says it has

	db       *sqlite.DB
	warnings []fact.Fact
	damage   []timeline.Damage // what is lost of what was read so far
	absent   bool              // a table that was asked for is not there
	tables   []timeline.TableCount
	noted    map[string]bool
	done     func() // removes what Close must; nil for nothing
}

// OpenSQLite opens an export. Open also takes reports.
// A file that is cut or damaged opens as long as its list of tables can be read; what
// is lost is told by Lost and by the warnings of each answer. The caller closes it.
func OpenSQLite(path string) (*File, error) {
	db, err := sqlite.Open(path)
	if err != nil {
		return nil, err
	}
	f := &File{Path: path, SQLite: path, db: db, noted: map[string]bool{}}
	if err := f.recognize(); err != nil {
		db.Close()
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	for _, w := range db.Warnings() {
		f.note(w)
	}
	for _, d := range db.Damage() {
		f.lose(d.Part, d.What)
	}
	if err := f.readVersions(); err != nil {
		db.Close()
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return f, nil
}

// schemaMajor is the version of the export's layout that this reader knows;
// within it, tables and columns are only added.
const schemaMajor = "3"

var exportLayouts = []layout{
	{table: "META_DATA_EXPORT", need: []string{"name", "value"}},
	{table: "EXPORT_META_DATA", need: []string{"name", "value"}}, // 2022
}

// readVersions: a file without a version is read like any other; one of another major
// version is read with a warning.
func (f *File) readVersions() error {
	for _, l := range exportLayouts {
		_, err := scanTable(context.Background(), f, l, 1, func(_ *struct{}, r row) bool {
			switch r.text(0) {
			case "EXPORT_PRODUCT_VERSION":
				f.tool = r.text(1)
			case "EXPORT_SCHEMA_VERSION":
				f.schema = r.text(1)
			}
			return true
		})
		if err != nil {
			return err
		}
	}
	if major, _, _ := strings.Cut(f.schema, "."); f.schema != "" && major != schemaMajor {
		f.warn(timeline.CodeSchema, fact.Name("schema", f.schema), fact.Name("known", schemaMajor))
	}
	f.tables, f.absent = nil, false // of the two layouts one is never there
	return nil
}

// marks are tables that only an export of Nsight Systems has.
var marks = []string{
	"META_DATA_EXPORT", "EXPORT_META_DATA", "ANALYSIS_DETAILS", "ENUM_NSYS_EVENT_TYPE", "TARGET_INFO_SESSION_START_TIME",
	tableKernel, tableRuntime, tableNVTX,
}

// recognize refuses databases of other programs and the stub that a failed
// export leaves.
func (f *File) recognize() error {
	tables := f.db.Tables()
	if !slices.ContainsFunc(tables, func(t sqlite.Table) bool {
		return slices.Contains(marks, t.Name) || strings.HasPrefix(t.Name, "CUPTI_ACTIVITY_KIND_")
	}) {
		return fmt.Errorf("an SQLite database of %d tables, but none of Nsight Systems: "+
			"it is of another program or the rest of a failed export; export the report again with nsys export --type=sqlite --force-overwrite=true", len(tables))
	}
	return nil
}

// Lost is what the answers so far may lack: tables that they were read from and
// that are cut or damaged. Where the list of tables is damaged, a table that is
// not there may have been. A file that is cut behind all of them has lost nothing.
func (f *File) Lost() []timeline.Damage {
	var out []timeline.Damage
	for _, d := range f.damage {
		if d.Table != "" && (d.Table != sqlite.Schema || f.absent) {
			out = append(out, d)
		}
	}
	return out
}

// Close releases the file.
// Nothing that was read refers to the file: timelines and rows stay valid.
func (f *File) Close() error {
	if f.done != nil {
		defer f.done()
	}
	return f.db.Close()
}

// lose warns of a table that is gone, wholly or in part.
func (f *File) lose(table string, what fact.Fact) {
	f.note(what)
	if !slices.ContainsFunc(f.damage, func(d timeline.Damage) bool { return d.Table == table && d.What.Equal(what) }) {
		f.damage = append(f.damage, timeline.Damage{Table: table, What: what})
	}
}

func (f *File) warn(code fact.Code, params ...fact.Param) { f.note(fact.New(code, params...)) }

// note keeps a warning once.
func (f *File) note(w fact.Fact) {
	if !slices.ContainsFunc(f.warnings, w.Equal) {
		f.warnings = append(f.warnings, w)
	}
}

// Has reports whether the file holds a table, readable or not.
// Exports leave out tables without rows, so false means no data as a rule.
func (f *File) Has(table string) bool {
	_, ok := f.db.Table(table)
	return ok || !f.db.Unreadable(table).IsZero()
}

// HasGraphNodes reports whether the file tells when nodes of CUDA graphs were
// captured.
func (f *File) HasGraphNodes() bool {
	return slices.ContainsFunc(nodeLayouts, func(l layout) bool { return f.Has(l.table) })
}

// KernelRows summarizes kernels. It reads nothing but kernels and their names
// unless the query asks for regions.
// Times are ns of GPU time under the profiler.
func (f *File) KernelRows(ctx context.Context, q timeline.Query) (timeline.Rows[timeline.KernelRow], error) {
	q.Exact = f.exact()
	if !q.NeedsRegions() {
		return f.kernelStream(ctx, q)
	}
	t, err := f.attributable(ctx, Kernels|LaunchCalls|NVTX, q)
	if err != nil {
		return timeline.Rows[timeline.KernelRow]{}, err
	}
	return withWarnings(t.KernelRows(q), t), nil
}

// exact tells how the nsys that exported the file rounds. 2022.4 and 2023.4 go
// by the shortest decimal, 2025.3 by the exact value; of those between, nothing
// is known.
func (f *File) exact() bool {
	year, _, _ := strings.Cut(f.tool, ".")
	n, err := strconv.Atoi(year)
	return err == nil && n >= 2025
}

// attributable reads what a query by regions needs. Where it asks for the
// ranges of capture, a warning tells how much replayed work has none.
func (f *File) attributable(ctx context.Context, parts Part, q timeline.Query) (*timeline.Timeline, error) {
	if !q.Captured {
		return f.TimelineFor(ctx, parts, q)
	}
	t, err := f.Timeline(ctx, parts|Graphs)
	if err != nil {
		return nil, err
	}
	recalled, err := f.withEarlier(ctx, t)
	if err != nil {
		return nil, err
	}
	c := recalled.Captured()
	made := *c.Timeline
	made.Warnings = append(slices.Clone(t.Warnings), capturedWarnings(c)...)
	return &made, nil
}

// withEarlier adds the ranges of the earlier window in which graphs were
// captured.
func (f *File) withEarlier(ctx context.Context, t *timeline.Timeline) (*timeline.Timeline, error) {
	if f.Earlier == "" {
		return t, nil
	}
	e, err := OpenSQLite(f.Earlier)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	earlier, err := e.Timeline(ctx, NVTX|Graphs)
	if err != nil {
		return nil, err
	}
	return t.WithEarlier(earlier), nil
}

// TimelineFor reads the chosen parts. Where the query asks for what repeats and the file
// has no ranges, the names of kernels are read too, and the timeline has ranges of
// what repeats.
func (f *File) TimelineFor(ctx context.Context, parts Part, q timeline.Query) (*timeline.Timeline, error) {
	t, err := f.Timeline(ctx, parts)
	if err == nil && q.Detect && len(t.Ranges) == 0 && parts&Kernels == 0 {
		t, err = f.Timeline(ctx, parts|Kernels)
	}
	if err != nil {
		return nil, err
	}
	return f.detected(t, q), nil
}

// detected is the timeline with ranges of what repeats where the query asks for
// them and there are no others. A damaged file may have lost its own.
func (f *File) detected(t *timeline.Timeline, q timeline.Query) *timeline.Timeline {
	if !q.Detect || len(t.Ranges) > 0 || len(f.Lost()) > 0 {
		return t
	}
	made, p := t.WithPhases()
	if p.Period > 0 {
		made.Warnings = append(slices.Clone(t.Warnings), p.Fact())
	}
	return made
}

// capturedWarnings say how much GPU time of CUDA graphs has no range of capture,
// and what to change.
func capturedWarnings(c *timeline.Captured) []fact.Fact {
	of := []fact.Param{fact.Count("of", c.Replayed.Count), fact.NS("of_time", c.Replayed.NS)}
	one := func(code fact.Code, params ...fact.Param) []fact.Fact {
		return []fact.Fact{fact.New(code, append(params, of...)...)}
	}
	switch lost := c.Replayed.Count - c.Found.Count; {
	case len(c.Graphs) > 0 && c.Replayed.Count == 0:
		return []fact.Fact{fact.New(timeline.CodeCaptureWhole, fact.Count("n", len(c.Graphs)))}
	case c.Replayed.Count == 0:
		return []fact.Fact{fact.New(timeline.CodeCaptureNone)}
	case lost > 0 && c.NodeRows == 0:
		return one(timeline.CodeCaptureNoNodes, fact.Count("n", lost))
	case lost > 0:
		return one(timeline.CodeCaptureLost, fact.Count("n", lost), fact.NS("time", c.Replayed.NS-c.Found.NS))
	case c.Early.Count > 0:
		return one(timeline.CodeCaptureEarly, fact.Count("n", c.Early.Count), fact.NS("time", c.Early.NS))
	}
	return nil
}

// regionsFor is what a query about ranges needs: names of kernels only where it
// goes by them.
func regionsFor(q timeline.Query) Part {
	if q.Kernel != nil {
		return Regions
	}
	return Regions&^Kernels | KernelTimes
}

// RegionRows sums NVTX ranges by path.
// GPU time counts for the ranges that were open when the work was launched, on the
// thread that launched it, not for those open while it ran.
func (f *File) RegionRows(ctx context.Context, q timeline.Query) (timeline.Rows[timeline.RegionRow], error) {
	if rows, ok, err := f.flowRegions(ctx, q); ok || err != nil {
		return rows, err
	}
	t, err := f.attributable(ctx, regionsFor(q), q)
	if err != nil {
		return timeline.Rows[timeline.RegionRow]{}, err
	}
	return withWarnings(t.RegionRows(q), t), nil
}

// Replays is Timeline.Replays, with the ranges of an earlier window; nil where the query
// does not count work where it was captured.
func (f *File) Replays(ctx context.Context, q timeline.Query) (map[string][]float64, error) {
	if !q.Captured {
		return nil, nil
	}
	t, err := f.attributable(ctx, regionsFor(q), q)
	if err != nil {
		return nil, err
	}
	return t.Replays(q), nil
}

// RangeRows lists the instances of NVTX ranges.
// Unclosed ranges are listed with the last time of the file as their end.
func (f *File) RangeRows(ctx context.Context, q timeline.Query) (timeline.Rows[timeline.RangeRow], error) {
	t, err := f.TimelineFor(ctx, regionsFor(q), q)
	if err != nil {
		return timeline.Rows[timeline.RangeRow]{}, err
	}
	return withWarnings(t.RangeRows(q), t), nil
}

// StreamLaunches lists kernel launches one by one.
// Where the tables are in the usual order, no launch is kept in memory, and rows may
// be read after f was closed.
func (f *File) StreamLaunches(ctx context.Context, q timeline.Query) (timeline.Stream[timeline.LaunchRow], error) {
	fed, ok, err := f.streamFed(ctx, q)
	if ok || err != nil {
		return fed, err
	}
	t, err := f.TimelineFor(ctx, Kernels|LaunchCalls|NVTX, q)
	if err != nil {
		return timeline.Stream[timeline.LaunchRow]{}, err
	}
	s := t.StreamLaunches(q)
	s.Warnings = slices.Concat(t.Warnings, s.Warnings)
	return s, nil
}

// GapGroups sums the times in which a GPU or a stream ran nothing by cause and
// region.
func (f *File) GapGroups(ctx context.Context, q timeline.Query) (timeline.Rows[timeline.GapGroupRow], error) {
	parts := regionsFor(q)&^LaunchCalls | Calls
	t, err := f.TimelineFor(ctx, parts, q)
	if err != nil {
		return timeline.Rows[timeline.GapGroupRow]{}, err
	}
	return withWarnings(t.GapGroups(q), t), nil
}

// StreamGaps lists the times in which a GPU or a stream ran nothing, one by one:
// there can be more gaps than kernels. Where few are wanted, the CUDA calls are gone
// through twice: for those that launched work, and for those that lie in the gaps.
func (f *File) StreamGaps(ctx context.Context, q timeline.Query) (timeline.Stream[timeline.GapRow], error) {
	if q.Top == 0 {
		t, err := f.TimelineFor(ctx, Regions&^LaunchCalls|Calls, q)
		if err != nil {
			return timeline.Stream[timeline.GapRow]{}, err
		}
		s := t.EveryGap(q)
		s.Warnings = slices.Concat(t.Warnings, s.Warnings)
		return s, nil
	}
	t, err := f.TimelineFor(ctx, Regions, q)
	if err != nil {
		return timeline.Stream[timeline.GapRow]{}, err
	}
	gaps := t.FindGaps(q)
	calls, err := f.callsWithin(ctx, gaps.Reach)
	if err != nil {
		return timeline.Stream[timeline.GapRow]{}, err
	}
	s := gaps.Stream(calls)
	s.Warnings = slices.Concat(t.Warnings, s.Warnings)
	return s, nil
}

// withWarnings puts what the file lacks before what the rows lack.
func withWarnings[T any](rows timeline.Rows[T], t *timeline.Timeline) timeline.Rows[T] {
	rows.Warnings = slices.Concat(t.Warnings, rows.Warnings)
	return rows
}

// Timeline reads the chosen parts.
// Parts that were not asked for are empty, and nothing tells them from parts without
// data: keep the Part value beside the timeline. The timeline holds its own copies
// and may be used after Close. It is complete, or there is an error; damage is a
// warning, not an error.
func (f *File) Timeline(ctx context.Context, parts Part) (*timeline.Timeline, error) {
	b := newBuilder(f)
	steps := []struct {
		part Part
		read func(context.Context) error
	}{
		{Kernels | KernelTimes, func(ctx context.Context) error { return b.kernels(ctx, parts&Kernels != 0) }},
		{Memory, b.copies},
		{Memory, b.sets},
		{Graphs, b.graphs},
		{Syncs, b.syncs},
		{CallCounts, func(ctx context.Context) error {
			if parts&Calls != 0 {
				return nil // reading them counts them
			}
			return b.callCounts(ctx)
		}},
		{Calls | LaunchCalls, func(ctx context.Context) error { return b.calls(ctx, parts&Calls == 0) }},
		{NVTX, b.nvtx},
		{Overhead, b.overhead},
		{Samples, b.samples},
		{Machine, b.machine},
	}
	for _, s := range steps {
		if parts&s.part == 0 {
			continue
		}
		if err := s.read(ctx); err != nil {
			return nil, fmt.Errorf("read %s: %w", f.SQLite, err)
		}
	}
	if err := b.finish(ctx); err != nil {
		return nil, fmt.Errorf("read %s: %w", f.SQLite, err)
	}
	f.noteAbsent(parts)
	b.t.Tables, f.tables = onePerTable(f.tables), nil
	b.t.Warnings, b.t.Damage = slices.Clone(f.warnings), slices.Clone(f.damage)
	return b.t, nil
}

// onePerTable drops the counts of tables that were gone through twice.
func onePerTable(counts []timeline.TableCount) []timeline.TableCount {
	seen := map[string]bool{}
	return slices.DeleteFunc(counts, func(c timeline.TableCount) bool {
		again := seen[c.Name]
		seen[c.Name] = true
		return again
	})
}

// noteAbsent warns of tables that the file lacks. Exports leave out tables
// without rows, so that is absent data and no damage.
func (f *File) noteAbsent(parts Part) {
	for _, a := range []struct {
		part  Part
		table string
		code  fact.Code
	}{
		{Kernels | KernelTimes, tableKernel, timeline.CodeNoKernels},
		{Calls | LaunchCalls | CallCounts, tableRuntime, timeline.CodeNoCalls},
		{NVTX, tableNVTX, timeline.CodeNoRanges},
	} {
		if parts&a.part != 0 && !f.Has(a.table) {
			f.warn(a.code, fact.Name("table", a.table))
		}
	}
	if parts&(Kernels|KernelTimes) != 0 && f.Has(tableGraphTrace) {
		f.warn(timeline.CodeGraphsWhole)
	}
}

// source names the SQLite file only where a report was exported to it.
func (f *File) source() timeline.Source {
	s := timeline.Source{Path: f.Path, Bytes: f.db.Size(), Tool: f.tool, Schema: f.schema}
	if filepath.Clean(f.SQLite) != filepath.Clean(f.Path) {
		s.SQLite = f.SQLite
	}
	return s
}

// Info sums up what the file holds.
// It keeps everything in memory but the CUDA calls, which are only counted.
func (f *File) Info(ctx context.Context) (timeline.Info, error) {
	t, err := f.Timeline(ctx, Everything&^Calls|CallCounts)
	if err != nil {
		return timeline.Info{}, err
	}
	return t.Info(), nil
}
