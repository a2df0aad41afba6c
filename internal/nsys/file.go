// Package nsys knows Nsight Systems: how its captures are started and judged,
// how its reports become SQLite files, and what stands in those. It is the one
// place that knows the vendor's tables; package timeline holds what they mean.
//
// Its size is that of the formats: each table in every layout that releases wrote,
// the command lines, the exports, 700 lines of streams for tables that memory does
// not hold, and some 1,600 that compare with nsys stats.
package nsys

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/sqlite"
	"github.com/deepprof/deepprof/internal/timeline"
)

// Part chooses what of a file is read.
// Parts can be combined. Calls goes before LaunchCalls, and Kernels before KernelTimes.
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
// table is "" for the end of the file. The same loss is kept once.
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
// The first count of a table stays.
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

// source names the SQLite file only if a report was exported to it.
func (f *File) source() timeline.Source {
	s := timeline.Source{Path: f.Path, Bytes: f.db.Size(), Tool: f.tool, Schema: f.schema}
	if filepath.Clean(f.SQLite) != filepath.Clean(f.Path) {
		s.SQLite = f.SQLite
	}
	return s
}
