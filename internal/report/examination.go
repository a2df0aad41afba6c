package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/deepprof/deepprof/internal/doctor"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
)

// An Examination is the JSON form of what doctor saw. Its keys are stable: scripts read
// them.
type Examination struct {
	Schema int `json:"schema"`
	// Blocked: a check that failed keeps every run from starting.
	Blocked bool          `json:"blocked"`
	Rows    []examinedRow `json:"rows"`
}

// An examinedRow is a check in data and in words; Fix is "" where nothing need be done.
type examinedRow struct {
	// Check is the ID of the check, Name its words.
	Check  string        `json:"check"`
	Name   string        `json:"name"`
	Status doctor.Status `json:"status"`
	// Evidence is one line, whatever the system wrote.
	Evidence string `json:"evidence"`
	Fix      string `json:"fix,omitempty"`
	fact.Fact
}

// NewExamination words what doctor saw.
func NewExamination(r doctor.Report) Examination {
	c := Examination{Schema: 1, Blocked: r.HasBlocker()}
	for _, row := range r.Rows {
		c.Rows = append(c.Rows, examined(row))
	}
	return c
}

// examined words a check. Facts may hold line breaks of the system, which become blanks.
func examined(row doctor.Row) examinedRow {
	oneLine := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	return examinedRow{Check: row.Check, Name: message.Label("check", row.Check), Status: row.Status,
		Evidence: oneLine(message.Text(row.Seen)), Fix: oneLine(message.Next(row.Seen)), Fact: row.Seen}
}

// CheckLines is a check as a run tells of it: what was seen, and the fix in a line
// of its own.
func CheckLines(row doctor.Row) []string {
	c := examined(row)
	lines := []string{fmt.Sprintf("%s: %s: %s", c.Status, c.Name, c.Evidence)}
	if c.Fix != "" {
		lines = append(lines, "  "+message.Phrase("check-fix", c.Fix))
	}
	return lines
}

// leastCheckText is the width below which evidence and fix go under the name of
// the check, not beside it.
const leastCheckText = 40

// Write writes one line for each check and one more for its fix. On a terminal of
// that width both are wrapped under their column; 0 is no terminal, and no line is
// wrapped.
func (c Examination) Write(w io.Writer, width int) error {
	var status, name int
	for _, row := range c.Rows {
		status = max(status, len(row.Status)+2)
		name = max(name, utf8.RuneCountInString(row.Name)+2)
	}
	room, indent := 0, status+name
	if width > 0 {
		if room = width - indent; room < leastCheckText {
			indent = status
			room = max(width-indent, 1)
		}
	}
	var b strings.Builder
	for _, row := range c.Rows {
		lines := Wrap(row.Evidence, room, "")
		if row.Fix != "" {
			lines += "\n" + Wrap(message.Phrase("check-fix", row.Fix), room, "")
		}
		head := fmt.Sprintf("%-*s%-*s", status, row.Status, name, row.Name)
		if indent == status { // under the name
			fmt.Fprintln(&b, strings.TrimRight(head, " "))
			head = strings.Repeat(" ", indent)
		}
		for line := range strings.SplitSeq(lines, "\n") {
			fmt.Fprintln(&b, strings.TrimRight(head+line, " "))
			head = strings.Repeat(" ", indent)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
