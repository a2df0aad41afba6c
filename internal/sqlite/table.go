package sqlite

import (
	"fmt"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
)

// Table describes one table of the schema.
type Table struct {
	Name    string
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
	for _, c := range t.Columns {
		if strings.EqualFold(c.Name, name) {
			return c, true
		}
	}
	return Column{}, false
}

// Has reports whether the table has a column of this name.
func (t *Table) Has(name string) bool {
	_, ok := t.column(name)
	return ok
}

// refused names the code of the reason; Unreadable has the whole fact.
func (t *Table) refused(path string) error {
	return fmt.Errorf("scan table %s of %s: its layout is not known (%s)", t.Name, path, t.refuse.Code)
}
