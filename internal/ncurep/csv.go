package ncurep

import (
	"bufio"
	"bytes"
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
	maxLine    = 16 << 20 // bytes, with the line breaks inside quoted cells
	maxRecords = 4 << 20  // rows of one table; the rest is left out with a warning
)

// ErrNoTable is in the chain of the error about a text without a table of ncu.
var ErrNoTable = errors.New("no table of ncu --csv found")

// ReadCSVFile reads a page that `ncu --csv` printed.
// The file may be compressed. An error about a text without a table has ErrNoTable in
// its chain.
func ReadCSVFile(path string) (*Report, error) {
	f, err := format.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open CSV: %w", err)
	}
	defer f.Close()
	rep, err := ReadCSV(f)
	if err != nil {
		return nil, fmt.Errorf("read CSV %s: %w", path, err)
	}
	return rep, nil
}

// ReadCSV reads the raw page (a column per metric, units in the second row) or
// the details page (a row per metric) of `ncu --csv`, with or without the
// ==PROF== lines among which --log-file leaves it. Values are brought to base
// units. A row or number that cannot be read is named in a warning.
// Times come out in ns and sizes in bytes, whatever unit the page was printed in; the
// locale of the numbers is found from all cells together. Several tables in one text
// are read as one report, each with its own columns.
// Options do not apply: a page has what ncu printed. Instances, sections and sources
// are never in it.
func ReadCSV(r io.Reader) (*Report, error) {
	t := &table{rep: &Report{}}
	if err := t.scan(r); err != nil {
		return nil, err
	}
	if t.header == nil {
		return nil, fmt.Errorf("%w: no line starts with \"ID\"; print one with `ncu --import FILE --page raw --csv`", ErrNoTable)
	}
	if t.lost > 0 {
		t.warn(0, int64(t.lost), rowsUnread, fact.Count("n", t.lost))
	}
	for i, res := range t.rep.Results {
		t.rep.Info.Results = i + 1
		if !slices.Contains(t.rep.Info.Processes, res.Process) {
			t.rep.Info.Processes = append(t.rep.Info.Processes, res.Process)
		}
	}
	return t.rep, nil
}

// table gathers one CSV input and is used once.
type table struct {
	rep    *Report
	header []string
	index  map[string]int
	units  []string // of a raw page, parallel to header; nil in a details page
	rows   []record
	lost   int                // rows that gave no result
	byID   map[string]*Result // of a details page: by ID and process
}

// A record is one row; line is the first of its lines in the text, counted from 1.
type record struct {
	line  int
	cells []string
}

// warn keeps a warning about a line, 0 for the whole table.
// lost counts rows or cells, not bytes. At most 201 warnings are kept.
func (t *table) warn(line int, lost int64, code fact.Code, params ...fact.Param) {
	const enough = 200
	if len(t.rep.Warnings) > enough {
		return
	}
	what := fact.New(code, params...)
	if len(t.rep.Warnings) == enough {
		line, what = 0, fact.New(remarksMany)
	}
	t.rep.Warnings = append(t.rep.Warnings, placed(Warning{Offset: -1, Line: line, Lost: lost, What: what}))
}

// scan reads all lines, then turns the rows into results once the locale of
// the numbers is known. A second header starts a second table.
func (t *table) scan(r io.Reader) error {
	in := bufio.NewReaderSize(r, 64<<10)
	for line := 1; ; {
		text, n, err := readRecord(in)
		at := line
		line += n
		if err != nil && err != io.EOF {
			return fmt.Errorf("line %d: %w", at, err)
		}
		if len(text) > 0 {
			t.line(at, text)
		}
		if err == io.EOF {
			break
		}
		if len(t.rows) > maxRecords {
			t.warn(line, 0, rowsMany, fact.Count("most", maxRecords))
			break
		}
	}
	t.finish()
	return nil
}

// readRecord returns one line, or several if a quoted cell contains line
// breaks, and how many they were.
// At the end it returns io.EOF, with the last line if that has no line break. A quote
// that is never closed takes at most 1,000 lines with it.
func readRecord(in *bufio.Reader) (string, int, error) {
	var b []byte
	for n := 1; ; n++ {
		part, err := in.ReadSlice('\n')
		b = append(b, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			n--
			err = nil
			if len(b) <= maxLine {
				continue
			}
		}
		if len(b) > maxLine {
			return "", n, fmt.Errorf("longer than %d bytes", maxLine)
		}
		quoted := len(b) > 0 && b[0] == '"'
		if err == nil && quoted && bytes.Count(b, []byte{'"'})%2 == 1 && n < 1000 {
			continue
		}
		return strings.TrimRight(string(b), "\r\n"), n, err
	}
}

// line sorts out what ncu and the program printed around the table. A row that begins
// with a quote is ncu's; anything else that is no CSV is output of the program.
func (t *table) line(at int, text string) {
	text = strings.TrimPrefix(text, "\ufeff")
	switch {
	case strings.HasPrefix(text, "=="), strings.TrimSpace(text) == "":
		return
	case strings.HasPrefix(text, `"ID",`), strings.HasPrefix(text, "ID,"):
		t.finish()
		t.head(at, text)
		return
	case t.header == nil:
		return // what the program printed before
	}
	cells, err := splitLine(text)
	switch {
	case err != nil && !strings.HasPrefix(text, `"`):
		return // what the program printed among the rows
	case err != nil:
		t.lost++
		t.warn(at, 1, rowLeftOut, fact.Error("error", err))
		return
	case len(cells) < 2 && !strings.HasPrefix(text, `"`):
		return
	}
	t.rows = append(t.rows, record{at, cells})
}

// splitLine gives the cause without the position, which the caller knows better.
func splitLine(text string) ([]string, error) {
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord = -1
	cells, err := r.Read()
	if err == nil {
		return cells, nil
	}
	var pe *csv.ParseError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return nil, err
}

// head begins a new table; of two columns with one name the first counts.
func (t *table) head(at int, text string) {
	cells, err := splitLine(text)
	if err != nil {
		t.warn(at, 0, headLeftOut, fact.Error("error", err))
		return
	}
	t.header, t.index, t.units = cells, map[string]int{}, nil
	for i, c := range cells {
		if _, ok := t.index[c]; ok {
			t.warn(at, 0, columnTwice, fact.Name("name", c))
			continue
		}
		t.index[c] = i
	}
}

// finish turns the rows of the table read so far into results. It may be called for a table
// without rows.
func (t *table) finish() {
	rows := t.rows
	t.rows, t.byID = nil, map[string]*Result{}
	if t.header == nil {
		return
	}
	value, long := t.index["Metric Value"]
	if !long && len(rows) > 0 && rows[0].cells[0] == "" {
		t.units, rows = rows[0].cells, rows[1:]
	}
	locale := metric.LocaleUnknown
	for _, r := range rows {
		for i, c := range r.cells {
			if long && i == value || !long && i >= t.firstMetric() {
				locale = locale.Merge(metric.Evidence(c))
			}
		}
	}
	if locale == metric.LocaleMixed {
		t.warn(0, 0, twoLocales)
	}
	for _, r := range rows {
		if long {
			t.longRow(r, locale)
		} else {
			t.wideRow(r, locale)
		}
	}
}
