package report

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/deepprof/deepprof/internal/message"
)

// narrowest is the width to which a name is shortened before a column is left
// out, and tightest where that is not enough: below it tells nothing.
const (
	narrowest = 24
	tightest  = 12
)

// A single cell may hold a hundred thousand characters; people get no more
// than this in a terminal and longestName in Markdown, CSV and JSON get all.
const textCell = 160

// WriteText writes an aligned table. Where width is positive no line exceeds
// it: names are shortened in the middle and words at their end, then columns are
// left out, the least important first, and Footnotes names those; only an ID may
// be longer. 0 keeps everything.
func (t *Table[T]) WriteText(w io.Writer, width int) error {
	rows, groups := t.collect()
	switch {
	case groups != nil:
		return t.writeGroups(w, width, groups)
	case len(rows) == 0:
		_, err := fmt.Fprintln(w, message.Phrase("no-rows"))
		return err
	}
	columns := t.visible(rows, false)
	headers, cells, widths := layout(columns, rows, textCell)
	keep, dropped := fit(columns, headers, cells, widths, width)
	columns, headers, cells, widths = elementsAt(columns, keep), elementsAt(headers, keep), elementsAt(cells, keep), elementsAt(widths, keep)
	t.aside, t.dropped = nil, dropped
	if len(dropped) > 0 {
		t.aside = append(t.aside, message.Phrase("table-too-narrow", strings.Join(dropped, ", "), cmp.Or(t.Everything, "--csv")))
	}
	if order := t.orderWords(); order != "" {
		t.aside = append(t.aside, order)
	}
	if t.Legend != "" {
		t.aside = append(t.aside, t.Legend)
	}
	out := bufio.NewWriterSize(w, 1<<16)
	blanks := strings.Repeat(" ", slices.Max(widths)+2)
	line := func(get func(int) string) {
		for i := range columns {
			text := get(i)
			if width > 0 {
				text = columns[i].Format.shorten(text, widths[i])
			}
			pad := blanks[:max(0, widths[i]-utf8.RuneCountInString(text))]
			last := i == len(columns)-1
			if !columns[i].left() {
				out.WriteString(pad)
			}
			out.WriteString(text)
			if last {
				break
			}
			if columns[i].left() {
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
	rows := t.all()
	var out bytes.Buffer
	var notes []string
	if len(rows) == 0 {
		fmt.Fprintln(&out, upperFirst(sentence(message.Phrase("no-rows"))))
	} else {
		columns := t.visible(rows, false)
		headers, cells, _ := layout(columns, rows, longestName)
		g := &grid{rows: make([][]string, len(rows)), compact: true}
		for i := range columns {
			g.column(prose(headers[i]), !columns[i].left())
			for r := range rows {
				g.rows[r] = append(g.rows[r], markdown(columns[i].Format, cells[i][r]))
			}
		}
		g.write(&out)
		notes = slices.DeleteFunc([]string{t.orderWords(), t.Legend}, func(s string) bool { return s == "" })
	}
	if t.Cut > 0 {
		fmt.Fprintln(&out, "\n"+message.Phrase("more-rows", t.Cut))
	}
	for i, n := range append(notes, t.notes()...) {
		if i == 0 {
			out.WriteByte('\n')
		}
		fmt.Fprintf(&out, "- %s\n", prose(n))
	}
	_, err := w.Write(out.Bytes())
	return err
}

// Raw: see Printable.
func (t *Table[T]) Raw() { t.raw = true }

// WriteCSV writes every column with its exact values; see Raw for texts that
// begin like a formula.
func (t *Table[T]) WriteCSV(w io.Writer) error {
	cell := appendCell
	if t.raw {
		cell = appendField
	}
	out := bufio.NewWriterSize(w, 1<<16)
	var line []byte
	for i, c := range t.Columns {
		if i > 0 {
			line = append(line, ',')
		}
		line = appendField(line, c.Key)
	}
	if _, err := out.Write(append(line, '\n')); err != nil {
		return err
	}
	for row := range t.Rows {
		t.written++
		line = line[:0]
		for i := range t.Columns {
			if i > 0 {
				line = append(line, ',')
			}
			line = cell(line, plain(t.Columns[i].Value(row)))
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return out.Flush()
}

// appendCell is appendField for a value. A text that a spreadsheet would take for
// a formula gets an apostrophe before it; numbers stay as they are.
func appendCell(b []byte, s string) []byte {
	if s != "" && strings.IndexByte("=+-@\t\r", s[0]) >= 0 {
		if _, err := strconv.ParseFloat(s, 64); err != nil {
			s = "'" + s
		}
	}
	return appendField(b, s)
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

// WriteJSON writes one object with the schema, the rows and the notes. Rows
// are written as they come.
func (t *Table[T]) WriteJSON(w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<16)
	fmt.Fprintf(out, "{\"schema\": %q, \"schema_version\": %d, \"rows\": [", "deepprof."+t.Name, Version)
	if err := t.writeRows(out); err != nil {
		return err
	}
	notes := t.notes()
	if notes == nil {
		notes = []string{}
	}
	text, err := json.Marshal(notes)
	if err != nil {
		return fmt.Errorf("write %s: %w", t.Name, err)
	}
	fmt.Fprintf(out, "\n], \"rows_left_out\": %d, \"warnings\": %s", t.Cut, text)
	for _, key := range slices.Sorted(maps.Keys(t.Extra)) {
		if text, err = json.Marshal(t.Extra[key]); err != nil {
			return fmt.Errorf("write %s: %w", t.Name, err)
		}
		fmt.Fprintf(out, ", %q: %s", key, text)
	}
	fmt.Fprint(out, "}\n")
	return out.Flush()
}

// layout is the text of a table: headers, cells by column, and the width of each column in
// characters. No cell has more than clip.
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

// fit makes lines of at most width: it narrows the texts in widths and returns
// the columns that stay and the titles of those that do not.
func fit[T any](columns []Column[T], headers []string, cells [][]string, widths []int, width int) (keep []int, dropped []string) {
	for i := range columns {
		keep = append(keep, i)
	}
	if width <= 0 {
		return keep, nil
	}
	least := func(i, to int) int {
		switch f := columns[i].Format; {
		case !columns[i].left():
		case f == Name || f == Words || f == Text && to < narrowest:
			return min(widths[i], max(to, utf8.RuneCountInString(headers[i])))
		}
		return widths[i]
	}
	for len(keep) > 1 && lineWidth(keep, func(i int) int { return least(i, narrowest) }) > width {
		at := leastImportant(columns, keep)
		if at < 0 {
			break
		}
		dropped, keep = append(dropped, headers[keep[at]]), slices.Delete(keep, at, at+1)
	}
	to := narrowest
	if lineWidth(keep, func(i int) int { return least(i, narrowest) }) > width {
		to = tightest
	}
	// The last resort: from the right, but for the first text, which says what a
	// row is about.
	for len(keep) > 1 && lineWidth(keep, func(i int) int { return least(i, to) }) > width {
		subject := slices.IndexFunc(keep, func(i int) bool { return columns[i].left() })
		at := len(keep) - 1
		for at >= 0 && (at == subject || columns[keep[at]].Format == ID) {
			at--
		}
		if at < 0 {
			break
		}
		dropped, keep = append(dropped, headers[keep[at]]), slices.Delete(keep, at, at+1)
	}
	for {
		over := lineWidth(keep, func(i int) int { return widths[i] }) - width
		widest := -1
		for _, i := range keep {
			if widths[i] > least(i, to) && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if over <= 0 || widest < 0 {
			break
		}
		widths[widest] = max(least(widest, to), widths[widest]-over)
	}
	if len(keep) == 1 && columns[keep[0]].Format != ID {
		widths[keep[0]] = min(widths[keep[0]], width)
	}
	return keep, dropped
}

// lineWidth is that of a line of the columns that are kept, with two blanks between them.
func lineWidth(keep []int, of func(int) int) int {
	total := 2 * (len(keep) - 1)
	for _, i := range keep {
		total += of(i)
	}
	return total
}

// leastImportant is the place in keep of the column that gives way first, or -1.
func leastImportant[T any](columns []Column[T], keep []int) int {
	at := -1
	for n, i := range keep {
		if m := columns[i].Priority; m > 0 && (at < 0 || m >= columns[keep[at]].Priority) {
			at = n
		}
	}
	return at
}

// elementsAt are the elements at some places, in the order of keep.
func elementsAt[E any](list []E, keep []int) []E {
	out := make([]E, len(keep))
	for n, i := range keep {
		out[n] = list[i]
	}
	return out
}

// markdown escapes a cell as the pages of a report do.
func markdown(f Format, s string) string {
	if f == Name && s != "" {
		return code(s)
	}
	return prose(s)
}
