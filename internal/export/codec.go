package export

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/deepprof/deepprof/internal/report"
)

// csvCodec writes RFC 4180 with a header. A text that a spreadsheet would take for
// a formula gets an apostrophe before it; an absent value is empty.
type csvCodec struct{}

// ext implements codec.
func (csvCodec) ext() string { return ".csv" }

// The header holds the keys of the columns, the same in every format.
func (csvCodec) open(w io.Writer, _ string, columns []column) (tableWriter, error) {
	t := &csvTable{out: bufio.NewWriterSize(w, 1<<18)}
	header := make([]any, len(columns))
	for i, c := range columns {
		header[i] = c.key
	}
	return t, t.row(header)
}

// csvTable writes rows as they come.
type csvTable struct {
	out *bufio.Writer
	// line is used again for each row.
	line []byte
}

// The line buffer is reused for every row.
func (t *csvTable) row(cells []any) error {
	t.line = t.line[:0]
	for i, c := range cells {
		if i > 0 {
			t.line = append(t.line, ',')
		}
		t.line = report.AppendCSV(t.line, c)
	}
	_, err := t.out.Write(append(t.line, '\n'))
	return err
}

// close leaves the stream open.
func (t *csvTable) close() error { return t.out.Flush() }

// parquetCodec writes Parquet with zstd, texts by dictionary, every column
// optional.
type parquetCodec struct{}

// ext implements codec.
func (parquetCodec) ext() string { return ".parquet" }

// rowGroup is how many rows are compressed together, and batch how many of a
// column are handed over at once.
const (
	rowGroup = 1 << 20
	batch    = 1 << 12
)

// open writes the schema; statistics of pages let readers skip those that they do not need.
func (parquetCodec) open(w io.Writer, name string, columns []column) (tableWriter, error) {
	out := parquet.NewGenericWriter[any](w, parquet.NewSchema(name, parquet.SchemaOf(reflect.New(structOf(columns)).Interface())),
		parquet.CreatedBy("deepprof", "", ""), parquet.DataPageStatistics(true))
	return &parquetTable{out: out, columns: columns, values: make([][]parquet.Value, len(columns))}, nil
}

// structOf declares the columns as a struct, which is how their order is kept.
func structOf(columns []column) reflect.Type {
	fields := make([]reflect.StructField, len(columns))
	for i, c := range columns {
		options := ",optional,zstd"
		if _, text := c.zero.(string); text {
			options += ",dict"
		}
		fields[i] = reflect.StructField{
			Name: fmt.Sprintf("C%d", i), Type: reflect.PointerTo(reflect.TypeOf(c.zero)),
			Tag: reflect.StructTag(`parquet:"` + c.key + options + `"`),
		}
	}
	return reflect.StructOf(fields)
}

// It holds at most batch rows itself and a row group in the library.
type parquetTable struct {
	out *parquet.GenericWriter[any]
	// columns are in the order of the file, which is that of the declaration.
	columns []column
	values  [][]parquet.Value // by column, rows not handed over yet
	rows    int               // in the row group
}

// row takes cells in the order of the columns. A nil cell is null.
func (t *parquetTable) row(cells []any) error {
	for i, c := range cells {
		v := parquet.NullValue().Level(0, 0, i)
		if c = typed(c, t.columns[i].zero); c != nil {
			v = parquet.ValueOf(c).Level(0, 1, i)
		}
		t.values[i] = append(t.values[i], v)
	}
	if t.rows++; t.rows%batch != 0 {
		return nil
	}
	if err := t.flush(); err != nil || t.rows < rowGroup {
		return err
	}
	t.rows = 0
	return t.out.Flush()
}

// typed is a cell in the type of its column; nil where it has none. A cell of another type than
// its column becomes absent: a column has one type.
func typed(cell, zero any) any {
	switch zero.(type) {
	case string:
		if s, ok := cell.(string); ok {
			return strings.ToValidUTF8(s, "\uFFFD")
		}
	case float64:
		if n, ok := cell.(int64); ok {
			return float64(n)
		}
	}
	if reflect.TypeOf(cell) != reflect.TypeOf(zero) {
		return nil
	}
	return cell
}

// flush hands the values over, column by column.
func (t *parquetTable) flush() error {
	for i, w := range t.out.ColumnWriters() {
		if _, err := w.WriteRowValues(t.values[i]); err != nil {
			return err
		}
		t.values[i] = t.values[i][:0]
	}
	return nil
}

// close writes what is held, and the footer that makes the file readable.
func (t *parquetTable) close() error { return errors.Join(t.flush(), t.out.Close()) }
