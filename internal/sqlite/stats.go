package sqlite

import (
	"fmt"

	"github.com/deepprof/deepprof/internal/fact"
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
	// Problems are the first few of the damages.
	Problems []fact.Fact
}

// Damaged reports whether anything was lost or is doubtful.
func (s *ScanStats) Damaged() bool {
	return s.BadRows > 0 || s.BadPages > 0 || s.Disordered > 0 || s.Changed
}

// Fact is what was delivered and what was lost.
func (s *ScanStats) Fact() fact.Fact {
	params := []fact.Param{fact.Count("rows", s.Rows)}
	for _, part := range []struct {
		key string
		n   int64
	}{{"bad_rows", s.BadRows}, {"bad_pages", s.BadPages}, {"disordered", s.Disordered}} {
		if part.n > 0 {
			params = append(params, fact.Count(part.key, part.n))
		}
	}
	if s.Changed {
		params = append(params, fact.ID("changed", "sqlite", "changed"))
	}
	if len(s.Problems) > 0 {
		params = append(params, fact.Because("first", s.Problems...))
	}
	return fact.New(scanned, params...)
}

// err is the loss as an error of those who need all of the file.
func (s *ScanStats) err() error {
	return fmt.Errorf("%d rows are read, %d are damaged and %d out of order, %d pages are damaged or missing", s.Rows, s.BadRows, s.Disordered, s.BadPages)
}

// problem keeps the first few; the counts have them all.
func (s *ScanStats) problem(f fact.Fact) {
	if len(s.Problems) < maxProblems {
		s.Problems = append(s.Problems, f)
	}
}

// badPage counts a page that is lost with all below it.
func (s *ScanStats) badPage(page uint32, code fact.Code, params ...fact.Param) {
	s.BadPages++
	s.problem(fact.New(code, append(params, fact.Count("page", int64(page)))...))
}

// badRow counts a row, by its place in the page; the fact is made only if it is kept.
func (s *ScanStats) badRow(page uint32, index int, cause fact.Code) {
	s.BadRows++
	if len(s.Problems) < maxProblems {
		s.problem(fact.New(cause, fact.Count("page", int64(page)), fact.Count("row", index+1)))
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
		s.problem(p)
	}
}
