package report

import (
	"strings"
	"unicode/utf8"
)

// Wrap breaks a line at blanks so that it fits into a terminal; what follows the
// first row begins with indent. Words are never cut: they may be paths that are
// there to be copied. Width 0, no terminal, leaves the line as it is.
// Blanks before the first word stay.
func Wrap(line string, width int, indent string) string {
	if width <= 0 || utf8.RuneCountInString(line) <= width {
		return line
	}
	lead := line[:len(line)-len(strings.TrimLeft(line, " "))]
	var rows []string
	row, empty := lead, true
	for _, word := range strings.Split(line[len(lead):], " ") {
		if !empty && utf8.RuneCountInString(row)+1+utf8.RuneCountInString(word) > width {
			rows = append(rows, strings.TrimRight(row, " "))
			row, empty = indent, true
			if word == "" {
				continue
			}
		}
		if !empty {
			row += " "
		}
		row, empty = row+word, false
	}
	return strings.Join(append(rows, row), "\n")
}

// WrapMost is Wrap with that many rows at most; an ellipsis stands for the rest.
func WrapMost(line string, width int, indent string, most int) string {
	rows := strings.Split(Wrap(line, width, indent), "\n")
	if len(rows) <= most {
		return strings.Join(rows, "\n")
	}
	last := []rune(rows[most-1])
	rows[most-1] = strings.TrimRight(string(last[:min(len(last), max(width-2, 0))]), " ,;:") + " …"
	return strings.Join(rows[:most], "\n")
}

// Rows is how many rows of a terminal a text takes that ends with a line feed.
// Width 0 counts lines.
func Rows(text string, width int) int {
	n := 0
	text = strings.NewReplacer(boldOn, "", boldOff, "").Replace(text)
	for line := range strings.Lines(text) {
		n++
		if width > 0 {
			n += max(0, utf8.RuneCountInString(strings.TrimSuffix(line, "\n"))-1) / width
		}
	}
	return n
}
