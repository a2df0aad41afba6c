package nsys

import (
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/timeline"
)

// freeText are the columns that hold whatever a program called something. Their
// cells may hold anything; all other columns hold numbers and fixed words.
var freeText = []string{"Name", "Range", "NVTX Range", "Kernel Name", "Operation"}

// parseStats reads a report of nsys stats as it is written, which is no proper
// CSV: a cell with a comma stands between quotes, but quotes and line ends
// within cells are left as they are. What tells the cells apart is that only
// names hold commas, and that a row has one at most at each end. A report
// without rows is an empty file.
// Text that fits no row is dropped.
func parseStats(data string) vendorTable {
	var r vendorTable
	data = strings.ReplaceAll(data, "\r\n", "\n")
	head, body, _ := strings.Cut(strings.TrimLeft(data, "\n"), "\n")
	if head == "" {
		return r
	}
	r.Columns = strings.Split(head, ",")
	first, last := slices.Contains(freeText, r.Columns[0]), slices.Contains(freeText, r.Columns[len(r.Columns)-1])
	held := "" // the beginning of a row whose first cell has a line end
	for line := range strings.SplitSeq(strings.TrimSuffix(body, "\n"), "\n") {
		cells := splitStats(held+line, r.Columns)
		switch n := len(r.Rows); {
		case cells != nil:
			r.Rows = append(r.Rows, cells)
			held = ""
		case first:
			held += line + "\n"
		case last && n > 0:
			cell := &r.Rows[n-1][len(r.Columns)-1]
			*cell += "\n" + line
		}
	}
	if last {
		for _, row := range r.Rows {
			at := len(row) - 1
			row[at] = unquote(row[at])
		}
	}
	return r
}

// splitStats cuts a line into its cells, or gives nil if it is no whole row.
// The last cell keeps its quotes, because it may go on in the next line.
func splitStats(line string, columns []string) []string {
	n := len(columns)
	parts := strings.Split(line, ",")
	extra := len(parts) - n // commas within names
	if extra < 0 {
		return nil
	}
	if !slices.Contains(freeText, columns[0]) {
		cells := slices.Clone(parts[:n-1])
		cells = append(cells, strings.Join(parts[n-1:], ","))
		if !fixedCells(cells[:n-1], columns) {
			return nil
		}
		return cells
	}
	lastFree := slices.Contains(freeText, columns[n-1])
	// The name at the end is never known to be short, so each place is tried
	// where the fixed cells between the names may begin.
	for begin := 1; begin <= extra+1; begin++ {
		if !lastFree && begin != extra+1 {
			continue
		}
		end := begin + n - 2
		fixed := parts[begin:end]
		if !lastFree {
			fixed = parts[begin:]
		}
		if fixedCells(fixed, columns[1:]) {
			cells := append([]string{unquote(strings.Join(parts[:begin], ","))}, parts[begin:end]...)
			return append(cells, strings.Join(parts[end:], ","))
		}
	}
	return nil
}

// fixedCells reports whether cells can stand in columns that hold no names, of
// which some are never empty.
func fixedCells(cells, columns []string) bool {
	if !slices.ContainsFunc(cells, func(c string) bool { return c != "" }) {
		return false
	}
	for i, cell := range cells {
		switch {
		case cell == "" || cell == "None":
		case columns[i] == "Style":
			if !slices.Contains(rangeStyles, cell) {
				return false
			}
		case strings.Trim(cell, "0123456789 +-.:eE") != "":
			return false
		}
	}
	return true
}

var rangeStyles = []string{timeline.PushPop.String(), timeline.StartEnd.String()}

// unquote takes the quotes off a cell that has them for its comma.
func unquote(cell string) string {
	if inner, ok := strings.CutPrefix(cell, `"`); ok && strings.Contains(inner, ",") {
		if inner, ok := strings.CutSuffix(inner, `"`); ok {
			return inner
		}
	}
	return cell
}
