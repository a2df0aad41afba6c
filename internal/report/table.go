// Package report turns finished numbers into what people and programs read:
// tables for a terminal, Markdown, CSV and JSON. It computes nothing.
//
// Its size is that of what can be read: some 3,600 lines declare the tables, 3,100
// write the Markdown pages, and the rest are the summary, comparisons and the
// fitting of cells into terminals.
package report

import (
	"iter"
	"slices"
)

// A Table is the answer of a view, ready to be written. Rows marshal to JSON by
// their own tags, so that the field names are part of the row's type.
type Table[T any] struct {
	View[T]
	// Rows may be ranged over once; a stream makes them while they are written.
	Rows iter.Seq[*T]
	// Cut is the number of rows that were left out on request.
	Cut int
	// Notes are what a reader must know to trust the rows. A function, because
	// rows that are read while they are written give their notes at the end.
	Notes func() []string
	// Extra is further values of the JSON object, by key.
	Extra map[string]any

	most int // rows that a text has before they are summed up; 0 is no limit
	// written is complete once a writer has returned.
	written int
	raw     bool     // CSV without protection against formulas
	aside   []string // what the text that was written leaves unsaid
	dropped []string // columns that it had no room for
}

// notes are asked for once the rows were written: some are known only then.
func (t *Table[T]) notes() []string {
	if t.Notes == nil {
		return nil
	}
	return t.Notes()
}

// visible are the columns that people see: those marked as detail, and those
// without a single value, are left out. One that says why it has none stays where
// notes are shown.
func (v *View[T]) visible(rows []*T, notes bool) []Column[T] {
	var out []Column[T]
	for _, c := range v.Columns {
		if !c.Detail && slices.ContainsFunc(rows, func(r *T) bool {
			x := deref(c.shown(r))
			return x != nil && x != "" || notes && c.Note != nil && c.Note(r) != ""
		}) {
			out = append(out, c)
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
