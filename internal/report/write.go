package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// narrowest is the least width to which a name is shortened: below that it
// tells nothing.
const narrowest = 24

// A single cell may hold a hundred thousand characters; people get no more
// than these, CSV and JSON get all.
const (
	textCell     = 160
	markdownCell = 300
)

// WriteText writes an aligned table. Where width is positive, names are
// shortened in the middle so that lines fit; 0 keeps them whole.
func (t *Table[T]) WriteText(w io.Writer, width int) error {
	rows := collect(t)
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, "no rows")
		return err
	}
	columns := t.visible(rows)
	headers, cells, widths := layout(columns, rows, textCell)
	fit(columns, headers, cells, widths, width)
	out := bufio.NewWriterSize(w, 1<<16)
	blanks := strings.Repeat(" ", slices.Max(widths)+2)
	line := func(get func(int) string) {
		for i := range columns {
			text := get(i)
			pad := blanks[:max(0, widths[i]-utf8.RuneCountInString(text))]
			last := i == len(columns)-1
			if columns[i].Kind > Name {
				out.WriteString(pad)
			}
			out.WriteString(text)
			if last {
				break
			}
			if columns[i].Kind <= Name {
				out.WriteString(pad)
			}
			out.WriteString("  ")
		}
		out.WriteByte('\n')
	}
	line(func(i int) string { return headers[i] })
	for r := range rows {
		line(func(i int) string { return cells[i][r] })
	}
	return out.Flush()
}

// WriteMarkdown writes a table for a document, with its notes below it.
func (t *Table[T]) WriteMarkdown(w io.Writer) error {
	rows := collect(t)
	out := bufio.NewWriter(w)
	if len(rows) == 0 {
		fmt.Fprintln(out, "No rows.")
	} else {
		columns := t.visible(rows)
		headers, cells, _ := layout(columns, rows, markdownCell)
		for i := range columns {
			fmt.Fprintf(out, "| %s ", markdown(headers[i]))
		}
		fmt.Fprint(out, "|\n")
		for i := range columns {
			rule := "---"
			if columns[i].Kind > Name {
				rule = "---:"
			}
			fmt.Fprintf(out, "| %s ", rule)
		}
		fmt.Fprint(out, "|\n")
		for r := range rows {
			for i := range columns {
				fmt.Fprintf(out, "| %s ", markdown(cells[i][r]))
			}
			fmt.Fprint(out, "|\n")
		}
	}
	if t.Cut > 0 {
		fmt.Fprintf(out, "\n%d more rows.\n", t.Cut)
	}
	for i, n := range t.notes() {
		if i == 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "- %s\n", markdown(oneLine(n)))
	}
	return out.Flush()
}

// WriteCSV writes every column with its exact values.
func (t *Table[T]) WriteCSV(w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<16)
	var line []byte
	for i, c := range t.Columns {
		if i > 0 {
			line = append(line, ',')
		}
		line = appendField(line, c.Name)
	}
	if _, err := out.Write(append(line, '\n')); err != nil {
		return err
	}
	for row := range t.Rows {
		t.written++
		line = line[:0]
		if a, ok := any(row).(appender); ok {
			line = a.AppendCSV(line)
		} else {
			for i := range t.Columns {
				if i > 0 {
					line = append(line, ',')
				}
				line = appendField(line, plain(t.Columns[i].Get(row)))
			}
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return out.Flush()
}

// appendField writes a field as RFC 4180 asks for it.
func appendField(b []byte, s string) []byte {
	if !utf8.ValidString(s) { // as JSON does
		s = strings.ToValidUTF8(s, string(utf8.RuneError))
	}
	if s == "" || !strings.ContainsAny(s, "\",\r\n") && s[0] != ' ' {
		return append(b, s...)
	}
	b = append(b, '"')
	b = append(b, strings.ReplaceAll(s, `"`, `""`)...)
	return append(b, '"')
}

// An appender writes itself; rows that come by the hundred thousand implement
// it.
type appender interface {
	AppendJSON([]byte) []byte
	AppendCSV([]byte) []byte
}

// WriteJSON writes one object with the schema, the rows and the notes. Rows
// are written as they come.
func (t *Table[T]) WriteJSON(w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<16)
	fmt.Fprintf(out, "{\"schema\": %q, \"schema_version\": %d, \"rows\": [", "deepprof."+t.Schema, t.Version)
	var buf []byte
	separator := "\n"
	for row := range t.Rows {
		t.written++
		buf = append(buf[:0], separator...)
		separator = ",\n"
		if a, ok := any(row).(appender); ok {
			buf = a.AppendJSON(buf)
		} else {
			text, err := json.Marshal(row)
			if err != nil {
				return fmt.Errorf("write %s: %w", t.Schema, err)
			}
			buf = append(buf, text...)
		}
		if _, err := out.Write(buf); err != nil {
			return err
		}
	}
	notes := t.notes()
	if notes == nil {
		notes = []string{}
	}
	text, err := json.Marshal(notes)
	if err != nil {
		return fmt.Errorf("write %s: %w", t.Schema, err)
	}
	fmt.Fprintf(out, "\n], \"rows_left_out\": %d, \"warnings\": %s}\n", t.Cut, text)
	return out.Flush()
}

func collect[T any](t *Table[T]) []*T {
	var rows []*T
	for r := range t.Rows {
		rows = append(rows, r)
	}
	t.written = len(rows)
	return rows
}

func layout[T any](columns []Column[T], rows []*T, clip int) (headers []string, cells [][]string, widths []int) {
	headers, cells, widths = make([]string, len(columns)), make([][]string, len(columns)), make([]int, len(columns))
	units := scales(columns, rows)
	for i := range columns {
		headers[i], cells[i] = readable(&columns[i], units[i], rows, clip)
		widths[i] = utf8.RuneCountInString(headers[i])
		for _, c := range cells[i] {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	return headers, cells, widths
}

// fit shortens the names, the widest column first, until a line fits.
func fit[T any](columns []Column[T], headers []string, cells [][]string, widths []int, width int) {
	if width <= 0 {
		return
	}
	total := 2 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for total > width {
		widest := -1
		for i, c := range columns {
			if c.Kind == Name && widths[i] > max(narrowest, utf8.RuneCountInString(headers[i])) && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		narrow := max(narrowest, utf8.RuneCountInString(headers[widest]), widths[widest]-(total-width))
		total -= widths[widest] - narrow
		widths[widest] = narrow
		for r, c := range cells[widest] {
			cells[widest][r] = shorten(c, narrow)
		}
	}
}

// markdown escapes what would break a cell or turn a name into markup.
var markdownEscapes = strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", ">", "&gt;", "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`)

func markdown(s string) string { return markdownEscapes.Replace(s) }
