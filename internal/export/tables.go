package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/suggest"
)

// A column of a table. Zero has the type of its values: "", int64(0), float64(0) or false; any
// value may be absent. The type is that of the first cell of an empty row, so a view must
// give a typed value there.
type column struct {
	// key never changes: queries name it.
	key  string
	zero any
}

// An emitter takes the cells of a row, which it does not keep.
type emitter func(cells []any) error

// A table is one of the tidy tables. Its rows are those of all timelines, of all
// reports of counters, or of the run of a source.
type table struct {
	name    string
	columns []column
	// rows streams: a row is handed on and forgotten. Notes are complete when it returns.
	rows func(context.Context, *Source, emitter) (notes []string, err error)
}

// tables lists the tidy tables. docs/exports.md describes their columns.
func tables() []table {
	return []table{
		launchTable(), kernelTable(), regionTable(), layerTable(), stepTable(), metricTable(), sampleTable(), requestTable(), conditionTable(),
	}
}

// TableNames lists the tidy tables by name.
func TableNames() (names []string) {
	for _, t := range tables() {
		names = append(names, t.name)
	}
	return names
}

// tablesHelp is the help of both formats with tables.
func tablesHelp(format string) string {
	return fmt.Sprintf(`Write tidy tables as %s: one file each into the folder -o, or one of them into the
file -o with --table. Tables: %s. A table of
what was not captured has no rows.

Every table has the key run. Tables of a timeline have the key timeline, and launch,
kernel_id and region join them with each other, with counters and with other
exports; kernel_id is the same for a kernel, grid and block in every run.`, format, strings.Join(TableNames(), ", "))
}

// A codec writes a table in one format. It is used for several tables, one after the other.
type codec interface {
	ext() string
	open(w io.Writer, name string, columns []column) (tableWriter, error)
}

// row does not keep the cells; close finishes the table and leaves the stream open.
type tableWriter interface {
	row(cells []any) error
	close() error
}

// WriteTable exports one table to a stream.
// The format must have a codec.
func (f *Format) WriteTable(ctx context.Context, s *Source, name string, w io.Writer) (notes []string, err error) {
	all := tables()
	i := slices.IndexFunc(all, func(t table) bool { return t.name == name })
	if i < 0 {
		return nil, usagef("--table %q: there is no such table%s", name, suggest.OneOf(name, TableNames()))
	}
	t := &all[i]
	out, err := f.codec.open(w, t.name, t.columns)
	if err != nil {
		return nil, err
	}
	notes, err = t.rows(ctx, s, out.row)
	return notes, errors.Join(err, out.close())
}

// WriteTableFile exports one table to a file, which appears only when it is whole.
func (f *Format) WriteTableFile(ctx context.Context, s *Source, name, path string) (notes []string, err error) {
	err = replaceFile(path, func(w io.Writer) error {
		notes, err = f.WriteTable(ctx, s, name, w)
		return err
	})
	return notes, err
}

// WriteFolder exports all tables to a folder, which appears only when it is whole.
// A folder of an earlier export is replaced, any other refused.
// Notes are sorted and without repeats.
func (f *Format) WriteFolder(ctx context.Context, s *Source, dir string) (notes []string, err error) {
	if err := mayReplace(dir); err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp(filepath.Dir(filepath.Clean(dir)), "."+filepath.Base(dir)+"-")
	if err != nil {
		return nil, usagef("write %s: %w", dir, err)
	}
	defer os.RemoveAll(temp)
	for _, name := range TableNames() {
		more, err := f.WriteTableFile(ctx, s, name, filepath.Join(temp, name+f.codec.ext()))
		notes = append(notes, more...)
		if err != nil {
			return notes, err
		}
	}
	if err := errors.Join(os.Chmod(temp, 0o755), os.RemoveAll(dir)); err != nil {
		return notes, err
	}
	slices.Sort(notes)
	return slices.Compact(notes), os.Rename(temp, dir)
}

// mayReplace refuses a folder that holds anything but tables, so that a mistyped path costs
// nobody their files.
func mayReplace(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return usagef("write %s: it is no folder; name one, or a single table with --table", dir)
	}
	for _, e := range entries {
		name, ext := strings.TrimSuffix(e.Name(), filepath.Ext(e.Name())), filepath.Ext(e.Name())
		if e.IsDir() || ext != ".csv" && ext != ".parquet" || !slices.Contains(TableNames(), name) {
			return usagef("write %s: the folder holds %s, which is no table of an export; name another folder", dir, e.Name())
		}
	}
	return nil
}

// A key is a column in front of those of a view.
type key[Row any] struct {
	name string
	// zero has the type of value.
	zero  any
	value func(*Row) any
}

// columnsOf are the columns of a table: run and what file the rows are of, keys, and then
// those of a view. emitRows writes cells in the same order.
func columnsOf[Row any](file string, keys []key[Row], view report.View[Row]) []column {
	columns := []column{{"run", ""}, {file, ""}}
	for _, k := range keys {
		columns = append(columns, column{k.name, k.zero})
	}
	for i := range view.Columns {
		columns = append(columns, column{view.Columns[i].Key, view.Columns[i].ZeroOf()})
	}
	return columns
}

// emitRows writes the rows of one file.
// The slice of cells is reused from row to row.
func emitRows[Row any](emit emitter, run, file string, keys []key[Row], view report.View[Row], rows iter.Seq[*Row]) error {
	cells := make([]any, 0, 64)
	for r := range rows {
		cells = append(cells[:0], run, file)
		for i := range keys {
			cells = append(cells, keys[i].value(r))
		}
		for i := range view.Columns {
			cells = append(cells, report.Plain(view.Columns[i].Value(r)))
		}
		if err := emit(cells); err != nil {
			return err
		}
	}
	return nil
}
