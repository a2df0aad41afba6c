// Package report turns finished numbers into what people and programs read:
// tables for a terminal, Markdown, CSV and JSON. It computes nothing.
package report

import (
	"iter"
	"strings"
)

// Kind says how the values of a column are written.
type Kind uint8

// The kinds of column. CSV and JSON always hold the plain value.
const (
	Text        Kind = iota // any text, aligned left
	ID                      // a text that is there to be copied, and never shortened
	Words                   // a text in words, of which a narrow terminal gets the first
	Name                    // a name out of a program, shortened in the middle there; Markdown shows it as code
	Count                   // a number, aligned right
	Nanoseconds             // scaled to one unit for the whole column
	Moment                  // likewise nanoseconds, since the capture began: to the microsecond, so that it can be found again
	Bytes                   // likewise
	Operations              // likewise, floating-point
	Percent
)

// left reports the kinds that are texts.
func (k Kind) left() bool { return k <= Name }

// A Column is one field of a row. Get returns nil for a value that is absent.
type Column[T any] struct {
	Name  string // header in CSV; the key in JSON is that of the row's own tag
	Title string // header for people; Name without its unit if empty
	Kind  Kind
	Get   func(*T) any
	// Show replaces Get where a person reads; nil shows what Get gives.
	Show func(*T) any
	// Columns of one Group are scaled to the same unit.
	Group string
	// Detail columns are left out where a person reads, to keep lines short.
	Detail bool
	// Minor columns give way where a terminal is too narrow, those with the
	// highest number first.
	Minor int
}

// shown is the cell for people.
func (c *Column[T]) shown(r *T) any {
	if c.Show != nil {
		return c.Show(r)
	}
	return c.Get(r)
}

// title is the header for people, before a unit is added.
func (c *Column[T]) title() string {
	if c.Title != "" {
		return c.Title
	}
	t := c.Name
	switch c.Kind {
	case Nanoseconds, Moment:
		t = strings.TrimSuffix(t, "_ns")
	case Bytes:
		t = strings.TrimSuffix(t, "_bytes")
	case Percent:
		t = strings.TrimSuffix(t, "_pct") + " %"
	}
	return strings.ReplaceAll(t, "_", " ")
}

// A Table is an answer that is ready to be written. Rows marshal to JSON by
// their own tags, so that the field names are part of the row's type.
type Table[T any] struct {
	Schema  string // name of the JSON schema, such as "kernels"
	Version int    // of that schema
	Columns []Column[T]
	Rows    iter.Seq[*T]
	// Cut is the number of rows that were left out on request.
	Cut int
	// Notes are what a reader must know to trust the rows. A function, because
	// rows that are read while they are written give their notes at the end.
	Notes func() []string
	// Everything is the flag that prints every column; "" is --csv.
	Everything string
	// Legend is said below a table for people: what its headings mean.
	Legend string

	written int
	aside   []string // what the text that was written leaves unsaid
	dropped []string // columns that it had no room for
}

func (t *Table[T]) notes() []string {
	if t.Notes == nil {
		return nil
	}
	return t.Notes()
}

// visible are the columns that people see: those marked as detail, and those
// without a single value, are left out.
func (t *Table[T]) visible(rows []*T) []Column[T] {
	var out []Column[T]
	for _, c := range t.Columns {
		if c.Detail {
			continue
		}
		for _, r := range rows {
			if deref(c.shown(r)) != nil {
				out = append(out, c)
				break
			}
		}
	}
	return out
}

// Slice iterates over rows that are in memory.
func Slice[T any](rows []T) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := range rows {
			if !yield(&rows[i]) {
				return
			}
		}
	}
}
