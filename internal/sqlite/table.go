package sqlite

import (
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
)

// Table describes one table of the schema.
// It is not changed after Open.
type Table struct {
	Name string
	// Columns include generated ones, which cannot be scanned.
	Columns []Column
	SQL     string // the statement that created it

	root   uint32
	refuse fact.Fact // why it cannot be scanned; zero when it can
}

// Column describes one column of a table.
type Column struct {
	Name string
	Type string // as declared; empty when nothing was declared

	stored   int   // place in the record; -1 when it is not in it
	rowID    bool  // an alias of the rowid
	computed bool  // a virtual generated column
	real     bool  // whole numbers are stored as integers and read as floats
	missing  value // what records have that are older than the column
}

// column finds a column by name, without regard to the case of ASCII letters.
func (t *Table) column(name string) (Column, bool) {
	i := slices.IndexFunc(t.Columns, func(c Column) bool { return strings.EqualFold(c.Name, name) })
	if i < 0 {
		return Column{}, false
	}
	return t.Columns[i], true
}

// Has reports whether the table has a column of this name.
func (t *Table) Has(name string) bool {
	_, ok := t.column(name)
	return ok
}
