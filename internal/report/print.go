package report

import "io"

// A Printable is an answer that can be written in every format.
type Printable interface {
	WriteText(w io.Writer, width int) error
	WriteMarkdown(w io.Writer) error
	WriteCSV(w io.Writer) error
	// Raw makes WriteCSV write texts that a spreadsheet takes for formulas as they
	// are.
	Raw()
	WriteJSON(w io.Writer) error
	// WritePage writes the cells that a person reads, as JSON for a page that draws
	// them: the columns with their titles, rows, order, rows_left_out and warnings.
	WritePage(w io.Writer) error
	// Footnotes are what a reader must know and a text or CSV does not hold.
	// They are complete once the rows were written.
	Footnotes() []string
	// Written is the number of rows that were written.
	Written() int
	// First keeps the first n rows and counts the others as cut.
	First(n int)
	// SumUp lets a text that would have more than most rows sum them up, where the
	// view says how. The rows are then not held. The smallest number holds.
	SumUp(most int)
	// Note puts texts before the notes of the table.
	Note(texts ...string)
}

// Note implements Printable.
func (t *Table[T]) Note(texts ...string) {
	if len(texts) > 0 {
		own := t.Notes
		t.Notes = func() []string {
			if own == nil {
				return texts
			}
			return append(texts[:len(texts):len(texts)], own()...)
		}
	}
}

// First implements Printable.
func (t *Table[T]) First(n int) {
	all := t.Rows
	t.Rows = func(yield func(*T) bool) {
		left := n
		for row := range all {
			switch {
			case left == 0:
				t.Cut++
			case !yield(row):
				return
			default:
				left--
			}
		}
	}
}

// SumUp implements Printable.
func (t *Table[T]) SumUp(most int) {
	if t.most == 0 || most < t.most {
		t.most = most
	}
}

// Written implements Printable.
func (t *Table[T]) Written() int { return t.written }

// Footnotes implements Printable.
func (t *Table[T]) Footnotes() []string {
	return append(t.aside[:len(t.aside):len(t.aside)], t.notes()...)
}
