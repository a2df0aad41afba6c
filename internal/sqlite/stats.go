package sqlite

import (
	"fmt"
	"strings"
)

// maxProblems bounds how many problems a ScanStats names.
const maxProblems = 5

// ScanStats tells what a scan has read and what it could not read.
type ScanStats struct {
	Rows  int64 // delivered
	Pages int64 // leaf pages read
	// BadRows were skipped inside readable pages. BadPages could not be read or
	// made no sense; the number of rows in them, and below them when they are
	// interior pages, is unknown.
	BadRows, BadPages int64
	// Disordered rows were delivered although their rowid is not above that of
	// the row before, which a sound file never has.
	Disordered int64
	// Changed: the file was modified between Open and the end of the scan, so
	// the rows may mix two states.
	Changed bool
	// Problems describes the first few of the damages.
	Problems []string
}

// Damaged reports whether anything was lost or is doubtful.
func (s *ScanStats) Damaged() bool {
	return s.BadRows > 0 || s.BadPages > 0 || s.Disordered > 0 || s.Changed
}

// String is one line for a warning: what was delivered and what was lost.
func (s *ScanStats) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d rows read", s.Rows)
	for _, part := range []struct {
		n    int64
		what string
	}{
		{s.BadRows, "damaged rows skipped"},
		{s.BadPages, "damaged or missing pages skipped"},
		{s.Disordered, "rows out of order"},
	} {
		if part.n > 0 {
			fmt.Fprintf(&b, ", %d %s", part.n, part.what)
		}
	}
	if s.Changed {
		b.WriteString(", the file changed while it was read")
	}
	if len(s.Problems) > 0 {
		fmt.Fprintf(&b, " (first: %s)", strings.Join(s.Problems, "; "))
	}
	return b.String()
}

func (s *ScanStats) problem(format string, args ...any) {
	if len(s.Problems) < maxProblems {
		s.Problems = append(s.Problems, fmt.Sprintf(format, args...))
	}
}

func (s *ScanStats) badPage(page uint32, format string, args ...any) {
	s.BadPages++
	if len(s.Problems) < maxProblems {
		s.problem("page %d: %s", page, fmt.Sprintf(format, args...))
	}
}

func (s *ScanStats) badRow(page uint32, index int, cause string) {
	s.BadRows++
	if len(s.Problems) < maxProblems {
		s.problem("page %d, row %d of it: %s", page, index+1, cause)
	}
}

// add joins the stats of a later share of the same scan.
func (s *ScanStats) add(o ScanStats) {
	s.Rows += o.Rows
	s.Pages += o.Pages
	s.BadRows += o.BadRows
	s.BadPages += o.BadPages
	s.Disordered += o.Disordered
	for _, p := range o.Problems {
		s.problem("%s", p)
	}
}
