// Package export writes what was captured in the formats of other tools: pprof,
// Perfetto, CSV, Parquet, OpenMetrics, Go benchmarks and JSON. An export covers
// the whole input unless a region is named.
//
// It decides what goes where in those formats. The numbers are made by
// packages timeline and analysis, and columns are those of the views in package
// report. docs/exports.md describes the files.
//
// It has seven formats: Perfetto with its clocks and lanes takes 950 lines, the tidy
// tables as CSV and Parquet 800, pprof 300, the other three the rest.
package export

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/timeline"
)

// A Source is what is exported.
// It may be exported several times and by several formats, one after the other.
type Source struct {
	// Run is the key of every table: the name of the run, or of the first file.
	Run string
	// Dir is the run, which names of files are relative to; "" for files that were
	// named one by one.
	Dir       string
	Timelines []string // SQLite exports or reports of Nsight Systems
	Counters  []string // .ncu-rep, or CSV of ncu
	// Result analyzes the source: the whole of it, or its region. It may be called more than once; who makes the Source keeps the answer.
	Result func(context.Context) (*analysis.Result, error)
	// Region is an NVTX expression; "" takes everything.
	Region  string
	Partial bool // what is left of damaged files is enough
	// Version is that of this program.
	Version string
}

// A Format is one way to export.
type Format struct {
	// Name is that of the command: deepprof export NAME.
	Name  string
	Short string // one line of help
	// Long is what more there is to say; may be empty.
	Long string
	// Needs names what a source must have: "timeline", or "" for anything.
	Needs string
	// Folder: several tables are written, each into a file of a folder.
	Folder bool
	write  func(context.Context, *Source, io.Writer) (notes []string, err error) // nil for formats with a codec
	// codec writes one table; nil for formats without tables.
	codec codec
}

// Formats lists all formats.
// Names are unique and are the words of the command line; the order is that of the help.
func Formats() []Format {
	return []Format{
		{Name: "pprof", Needs: "timeline", write: writePprof,
			Short: "GPU time by region and kernel, for go tool pprof",
			Long: `Write a profile for 'go tool pprof'. The stack of a sample is the path of regions,
layers and operators around the launch, and the kernel. Sample types are gpu_time
(nanoseconds, the default), launches and, if kernels were counted, dram_bytes
and flops. Samples have the labels device, stream and process.`},
		{Name: "perfetto", Needs: "timeline", write: writePerfetto,
			Short: "The timeline for ui.perfetto.dev",
			Long: `Write a native trace of Perfetto: processes and threads with their NVTX ranges and
CUDA calls, kernels and copies on the streams of each GPU, an arrow from each call
to what it launched, and metrics that were sampled. Kernels and calls are streamed,
so that a capture of millions needs little memory.`},
		{Name: "csv", Folder: true, codec: csvCodec{},
			Short: "Tidy tables as CSV",
			Long:  tablesHelp("CSV")},
		{Name: "parquet", Folder: true, codec: parquetCodec{},
			Short: "Tidy tables as Parquet, for DuckDB, pandas and the like",
			Long:  tablesHelp("Parquet")},
		{Name: "openmetrics", write: writeOpenMetrics,
			Short: "Numbers of stages and kernels as OpenMetrics text, for Prometheus",
			Long: `Write the times of stages, regions and kernels, utilization and totals as
OpenMetrics text. Prometheus reads it through the textfile collector of its
node_exporter; every sample has the label run.`},
		{Name: "bench", write: writeBench,
			Short: "Times of stages as Go benchmark results, for benchstat",
			Long: `Write the times of stages and kernels in the format of Go benchmarks, which benchstat
reads. A line is the mean over one process; put the exports of several runs into one
file each side for benchstat to compare.`},
		{Name: "json", write: writeJSON,
			Short: "The result of the analysis as JSON",
			Long: `Write the whole result of the analysis as JSON; docs/schemas has its schema
(result). 'deepprof show VIEW --json' prints single tables.`},
	}
}

// A UsageError is the caller's: something that the source does not have.
// Callers map it to the exit code of a wrong command line.
type UsageError struct{ err error }

// Error is that of the mistake itself.
func (e *UsageError) Error() string { return e.err.Error() }

// Unwrap lets errors.Is and errors.As see the mistake.
func (e *UsageError) Unwrap() error { return e.err }

// usagef is fmt.Errorf for a mistake of the caller.
func usagef(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// A lostError refuses to export what is left of a damaged file.
// Lost are sentences for people, one for each part that is gone; never empty.
type lostError struct {
	Path string
	// Lost are sentences; never empty.
	Lost []string
}

// Error says what is lost and how to export the rest.
func (e *lostError) Error() string {
	return fmt.Sprintf("read %s: a part of it is lost: %s; copy, export or capture it again, or export the rest with --partial", e.Path, strings.Join(e.Lost, "; "))
}

// check refuses a source that lacks what the format shows.
func (f *Format) check(s *Source) error {
	if f.Needs == "timeline" && len(s.Timelines) == 0 {
		return usagef("export %s %s: this format needs a timeline: name a run that has one, or the .sqlite or .nsys-rep of an Nsight Systems capture", f.Name, s.Run)
	}
	return nil
}

// Write exports to a stream; the format must not be one of several tables.
// Notes are sentences for people about what the export lacks; they come also with an
// error. What was written before an error is useless.
func (f *Format) Write(ctx context.Context, s *Source, w io.Writer) (notes []string, err error) {
	if err := f.check(s); err != nil {
		return nil, err
	}
	out := bufio.NewWriterSize(w, 1<<20)
	notes, err = f.write(ctx, s, out)
	return notes, errors.Join(err, out.Flush())
}

// WriteFile exports to a file, which appears only when it is whole.
// A file of the same name stays as it was if the export fails.
func (f *Format) WriteFile(ctx context.Context, s *Source, path string) (notes []string, err error) {
	err = replaceFile(path, func(w io.Writer) error {
		notes, err = f.Write(ctx, s, w)
		return err
	})
	return notes, err
}

// replaceFile writes a file beside its place and moves it there once all of it is
// on the disk. What is no plain file, such as /dev/stdout, is written to as it is.
// The file gets the mode 0644, whatever the umask.
func replaceFile(path string, write func(io.Writer) error) error {
	if info, err := os.Stat(path); err == nil {
		switch {
		case info.IsDir():
			return usagef("write %s: it is a folder; name a file", path)
		case !info.Mode().IsRegular():
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return &UsageError{err}
			}
			return errors.Join(write(f), f.Close())
		}
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return usagef("write %s: %w", path, err)
	}
	defer os.Remove(f.Name()) // fails after the rename, which is fine
	err = write(f)
	if err == nil {
		err = errors.Join(f.Chmod(0o644), f.Sync())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// eachTimeline opens the timelines one after the other and closes each.
// visit gets the relative name of the file. A damaged file is a lostError after the
// visit, unless the source takes what is left; the first error ends the walk.
func (s *Source) eachTimeline(ctx context.Context, visit func(name string, f *nsys.File) error) (notes []string, err error) {
	for _, path := range s.Timelines {
		f, err := nsys.Open(ctx, path, nsys.OpenOptions{})
		if err != nil {
			return notes, err
		}
		err = visit(s.relative(path), f)
		gone := lost(f)
		if notes = append(notes, gone...); len(gone) > 0 && !s.Partial && err == nil {
			err = &lostError{path, gone}
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return notes, err
		}
	}
	return notes, nil
}

// relative is the name of a file within the source, with slashes: the key timeline or report
// of every table. Files that were named one by one have their base name.
func (s *Source) relative(path string) string {
	if s.Dir != "" {
		if rel, err := filepath.Rel(s.Dir, path); err == nil {
			return filepath.ToSlash(rel)
		}
	}
	return filepath.Base(path)
}

// regionMatch gives the filter of the source over launches, nil without a region.
// A region that no range of the timeline matches is refused.
func (s *Source) regionMatch(at *timeline.Attribution) (func(nvtx.State) bool, error) {
	match, err := s.counterMatch()
	if err != nil || match == nil {
		return nil, err
	}
	if _, err := nvtx.Resolve([]string{s.Region}, at.Seen()); err != nil {
		return nil, usagef("--region: %w", err)
	}
	return match, nil
}

// WriteTo writes to a path, "-" is out: a file, or of a format with tables a folder of
// all of them, or one table, "" for all. Notes come back also with an error.
func (f *Format) WriteTo(ctx context.Context, src *Source, output, table string, out io.Writer) ([]string, error) {
	switch {
	case !f.Folder && output == "-":
		return f.Write(ctx, src, out)
	case !f.Folder:
		return f.WriteFile(ctx, src, output)
	case table == "" && (output == "-" || slices.Contains([]string{".csv", ".parquet"}, filepath.Ext(output))):
		return nil, usagef("export %s: %s is for one table; choose it with --table, or name a folder for all of them", f.Name, output)
	case table != "" && output == "-":
		return f.WriteTable(ctx, src, table, out)
	case table != "":
		return f.WriteTableFile(ctx, src, table, output)
	}
	return f.WriteFolder(ctx, src, output)
}
