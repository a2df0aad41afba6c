package nsys

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/metric"
)

// Bounds on one CSV input.
const (
	maxStatsLine = 4 << 20 // bytes
	maxStatsRows = 4 << 20
)

// ErrNoStats is in the chain of the error about a text without a table.
var ErrNoStats = errors.New("no table of nsys stats --format csv found")

// StatsTable is one report of `nsys stats --format csv`. Times are in ns
// whatever unit the header names.
type StatsTable struct {
	Report  string // cuda_gpu_kern_sum and the like, by its columns; empty if unknown
	Columns []StatsColumn
	Rows    []StatsRow
	Lost    int // rows that could not be read
	// Warnings name every row and number that was left out, with its line.
	Warnings []fact.Fact
}

// StatsColumn is a column under the one name that all versions share.
type StatsColumn struct {
	Name   string  // total_ns, instances, mean_ns, ..., name; the header if unknown
	Header string  // as printed
	scale  float64 // ns per unit of the header, 1 for other numbers; 0 for a column of text
}

// StatsRow is one line: the text of every cell, and its number if it is one.
type StatsRow struct {
	Line  int
	Cells []StatsCell
}

// StatsCell is a cell; Value is absent if the cell is empty or a text.
type StatsCell struct {
	Text  string
	Value metric.Value
}

// Codes of what was wrong with a line of a table of nsys stats; a comment names the
// parameters besides line.
const (
	statsRowLost    fact.Code = "stats-row-lost"    // error
	statsRowCells   fact.Code = "stats-row-cells"   // cells, columns
	statsNumberLost fact.Code = "stats-number-lost" // column, text, error
	statsRowsCut    fact.Code = "stats-rows-cut"    //
	statsMore       fact.Code = "stats-more"        //
	// StatsNoNumber is a cell without the number that a view needs: line, column.
	StatsNoNumber fact.Code = "stats-no-number"
)

// Column returns the position of a column by its shared name, -1 if absent.
func (t *StatsTable) Column(name string) int {
	return slices.IndexFunc(t.Columns, func(c StatsColumn) bool { return c.Name == name })
}

// Number returns a number of a row by the name of its column.
// It reports false if the column is absent or the cell is no number.
func (t *StatsTable) Number(row int, column string) (float64, bool) {
	if i := t.Column(column); i >= 0 && i < len(t.Rows[row].Cells) {
		return t.Rows[row].Cells[i].Value.Float64()
	}
	return 0, false
}

// Text returns a cell of a row by the name of its column.
// It is "" if the column is absent.
func (t *StatsTable) Text(row int, column string) string {
	if i := t.Column(column); i >= 0 && i < len(t.Rows[row].Cells) {
		return t.Rows[row].Cells[i].Text
	}
	return ""
}

// ReadStatsCSVFile reads what `nsys stats --format csv` printed.
// The file may be compressed. There is at least one table, or an error with ErrNoStats
// in its chain if the text is no output of nsys stats.
func ReadStatsCSVFile(path string) ([]*StatsTable, error) {
	f, err := format.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open CSV: %w", err)
	}
	defer f.Close()
	tables, err := readStatsCSV(f)
	if err != nil {
		return nil, fmt.Errorf("read CSV %s: %w", path, err)
	}
	return tables, nil
}

// readStatsCSV reads one or several tables, with the lines that nsys prints
// between them. Column names of 2021 to 2025 are known.
func readStatsCSV(r io.Reader) ([]*StatsTable, error) {
	s := &statsScanner{}
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 64<<10), maxStatsLine)
	line, rows := 0, 0
	for in.Scan() && rows <= maxStatsRows {
		line++
		text := strings.TrimRight(in.Text(), "\r")
		if s.take(line, text) {
			rows++
		}
	}
	s.finish()
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", line+1, err)
	}
	if len(s.tables) == 0 {
		if len(s.nearly) > 0 {
			return nil, &UnknownColumnsError{Found: s.nearly, Expected: statsExpected}
		}
		return nil, fmt.Errorf("%w: print one with `nsys stats --report cuda_gpu_kern_sum --format csv FILE`", ErrNoStats)
	}
	if rows > maxStatsRows {
		t := s.tables[len(s.tables)-1]
		t.Warnings = append(t.Warnings, fact.New(statsRowsCut, fact.Count("line", line)))
	}
	return s.tables, nil
}

// An UnknownColumnsError is a table whose header is almost one of nsys stats. It
// has ErrNoStats in its chain.
type UnknownColumnsError struct {
	Found, Expected []string
}

func (e *UnknownColumnsError) Error() string {
	return fmt.Sprintf("%v: the columns are %s; expected are %s, or their older names", ErrNoStats, strings.Join(e.Found, ", "), strings.Join(e.Expected, ", "))
}

func (e *UnknownColumnsError) Unwrap() error { return ErrNoStats }

// statsExpected are the columns of cuda_gpu_kern_sum.
var statsExpected = []string{"Time (%)", "Total Time (ns)", "Instances", "Avg (ns)", "Med (ns)", "Min (ns)", "Max (ns)", "StdDev (ns)", "Name"}

// It keeps the lines of the open table until it ends, since all of them tell how numbers are
// written there.
type statsScanner struct {
	tables  []*StatsTable
	nearly  []string // the first line that has some columns of a header, but too few
	open    *StatsTable
	records []statsRecord
}

type statsRecord struct {
	line  int
	text  string
	cells []string
	err   error
}

// take handles one line and reports whether it is a row.
func (s *statsScanner) take(line int, text string) bool {
	if strings.TrimSpace(text) == "" {
		s.finish()
		return false
	}
	cells, err := splitStatsLine(strings.TrimPrefix(text, "\ufeff"))
	if err == nil {
		if columns, ok := statsHeader(cells); ok {
			s.finish()
			s.open = &StatsTable{Columns: columns, Report: statsReport(columns)}
			return false
		} else if s.nearly == nil && nearlyHeader(columns) {
			s.nearly = cells
		}
	}
	if s.open == nil {
		return false // what nsys says between tables
	}
	s.records = append(s.records, statsRecord{line, text, cells, err})
	return true
}

// splitStatsLine reads proper CSV; repair handles what nsys writes otherwise.
func splitStatsLine(text string) ([]string, error) {
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord = -1
	cells, err := r.Read()
	var pe *csv.ParseError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return cells, err
}

// repair reads a row in the way that nsys writes it: it quotes a name with a
// comma, but does not double the quotes within.
func (r *statsRecord) repair(columns []StatsColumn) {
	headers := make([]string, len(columns))
	for i, c := range columns {
		headers[i] = c.Header
	}
	if cells := splitStats(r.text, headers); cells != nil {
		last := len(cells) - 1
		cells[last] = unquote(cells[last])
		r.cells, r.err = cells, nil
	}
}

// finish turns the records of the open table into rows.
func (s *statsScanner) finish() {
	t := s.open
	if t == nil {
		return
	}
	locale := metric.LocaleUnknown
	for n := range s.records {
		r := &s.records[n]
		if r.err != nil || len(r.cells) != len(t.Columns) {
			r.repair(t.Columns)
		}
		for i, c := range r.cells {
			if i < len(t.Columns) && t.Columns[i].scale != 0 {
				locale = locale.Merge(metric.Evidence(c))
			}
		}
	}
	for _, r := range s.records {
		t.row(r, locale)
	}
	s.tables = append(s.tables, t)
	s.open, s.records = nil, nil
}

// lose keeps the first 200 warnings; one more says that there were others.
func (t *StatsTable) lose(line int, code fact.Code, params ...fact.Param) {
	const enough = 200
	switch {
	case len(t.Warnings) < enough:
		t.Warnings = append(t.Warnings, fact.New(code, params...).With(fact.Count("line", line)))
	case len(t.Warnings) == enough:
		t.Warnings = append(t.Warnings, fact.New(statsMore, fact.Count("line", line)))
	}
}

// row adds a row, or counts it as lost; a number that cannot be read leaves its cell
// without a value and the row in place.
func (t *StatsTable) row(r statsRecord, l metric.Locale) {
	switch {
	case r.err != nil:
		t.Lost++
		t.lose(r.line, statsRowLost, fact.Error("error", r.err))
		return
	case len(r.cells) != len(t.Columns):
		t.Lost++
		t.lose(r.line, statsRowCells, fact.Count("cells", len(r.cells)), fact.Count("columns", len(t.Columns)))
		return
	}
	row := StatsRow{Line: r.line, Cells: make([]StatsCell, len(r.cells))}
	for i, text := range r.cells {
		c := StatsCell{Text: text}
		if t.Columns[i].scale != 0 && text != "" {
			v, err := metric.ParseNumber(text, l)
			if err != nil {
				t.lose(r.line, statsNumberLost, fact.Name("column", t.Columns[i].Header), fact.Vendor("text", text), fact.Error("error", err))
			} else {
				c.Value = scaled(v, t.Columns[i].scale)
			}
		}
		row.Cells[i] = c
	}
	t.Rows = append(t.Rows, row)
}

// scaled keeps integers as they are if the header names ns.
func scaled(v metric.Value, scale float64) metric.Value {
	if x, ok := v.Float64(); ok && scale != 1 {
		return metric.Float64(x * scale)
	}
	return v
}

// statsNames maps headers, without their unit and in lower case, to the shared
// names. A name that ends in _ns is a time; those marked true hold numbers.
var statsNames = map[string]struct {
	name   string
	number bool
}{
	"time(%)": {"time_pct", true}, "time": {"time_pct", true},
	"total time": {"total_ns", true}, "total": {"total_ns", true}, "total proj time": {"total_proj_ns", true},
	"total range time": {"total_range_ns", true},
	"instances":        {"instances", true}, "num calls": {"instances", true}, "count": {"instances", true},
	"invocations": {"instances", true}, "launches": {"instances", true}, "duration": {"total_ns", true}, "total duration": {"total_ns", true}, "mean": {"mean_ns", true},
	"calls": {"instances", true}, "range instances": {"instances", true}, "nvtx inst": {"range_instances", true},
	"kern inst": {"instances", true}, "operations": {"instances", true},
	"avg": {"mean_ns", true}, "average": {"mean_ns", true}, "proj avg": {"mean_ns", true},
	"med": {"median_ns", true}, "median": {"median_ns", true}, "proj med": {"median_ns", true},
	"min": {"min_ns", true}, "minimum": {"min_ns", true}, "proj min": {"min_ns", true},
	"max": {"max_ns", true}, "maximum": {"max_ns", true}, "proj max": {"max_ns", true},
	"stddev": {"stddev_ns", true}, "proj stddev": {"stddev_ns", true},
	"name": {"name", false}, "function name": {"name", false}, "function": {"name", false}, "api name": {"name", false}, "kernel name": {"kernel", false}, "operation": {"name", false},
	"range": {"range", false}, "nvtx range": {"range", false}, "style": {"style", false},
	"pid": {"pid", true}, "tid": {"tid", true},
	"total gpu ops": {"gpu_ops", true}, "avg gpu ops": {"mean_gpu_ops", true}, "avg range lvl": {"mean_level", true},
	"avg num child": {"mean_children", true},
	"gridxyz":       {"grid", false}, "blockxyz": {"block", false}, "grdxyz": {"grid", false}, "blkxyz": {"block", false},
}

// statsUnits are the units that --timeunit can put into a header.
var statsUnits = map[string]float64{
	"ns": 1, "nsec": 1, "us": 1e3, "usec": 1e3, "ms": 1e6, "msec": 1e6, "s": 1e9, "sec": 1e9,
}

// statsHeader recognizes a header by its column names.
func statsHeader(cells []string) ([]StatsColumn, bool) {
	columns := make([]StatsColumn, len(cells))
	known, numbers := 0, 0
	for i, c := range cells {
		columns[i] = statsColumn(c)
		if columns[i].Name != c {
			known++
		}
		if columns[i].scale != 0 {
			numbers++
		}
	}
	// "Kernel Name" is beside a range in nvtx_kern_sum, and else another word for
	// "Name".
	named := func(name string) int {
		return slices.IndexFunc(columns, func(c StatsColumn) bool { return c.Name == name })
	}
	if at := named("kernel"); at >= 0 && named("range") < 0 && named("name") < 0 {
		columns[at].Name = "name"
	}
	return columns, known >= 3 && numbers >= 2 && known*2 >= len(cells)
}

// nearlyHeader tells a line that may be meant as a header: two cells or more with
// known names.
func nearlyHeader(columns []StatsColumn) bool {
	known := 0
	for _, c := range columns {
		if c.Name != c.Header {
			known++
		}
	}
	return known >= 2
}

// statsColumn finds the shared name and the unit in a header such as "Total Time (ms)".
// A header that is not known keeps its text as the name and scale 0, so its cells stay texts.
func statsColumn(header string) StatsColumn {
	c := StatsColumn{Name: header, Header: header}
	key := strings.ToLower(strings.TrimSpace(header))
	unit := 1.0
	if open := strings.LastIndex(key, "("); open > 0 && strings.HasSuffix(key, ")") {
		inside := key[open+1 : len(key)-1]
		if u, ok := statsUnits[inside]; ok {
			key, unit = strings.TrimSpace(key[:open]), u
		} else if inside == "%" {
			key = "time(%)"
		}
	}
	n, ok := statsNames[key]
	if !ok {
		return c
	}
	c.Name = n.name
	if n.number {
		c.scale = unit
	}
	return c
}

// statsReport names the report that has these columns.
func statsReport(columns []StatsColumn) string {
	has := func(name string) bool {
		return slices.ContainsFunc(columns, func(c StatsColumn) bool { return c.Name == name })
	}
	header := func(name string) bool {
		return slices.ContainsFunc(columns, func(c StatsColumn) bool { return strings.EqualFold(c.Header, name) })
	}
	switch {
	case has("range") && has("kernel"):
		return "nvtx_kern_sum"
	case has("total_proj_ns"):
		return "nvtx_gpu_proj_sum"
	case has("range"):
		return "nvtx_sum"
	case header("Operation"):
		return "cuda_gpu_mem_time_sum"
	case header("Num Calls"):
		return "cuda_api_sum"
	case has("name") && has("instances") && has("total_ns"):
		return "cuda_gpu_kern_sum"
	}
	return ""
}
