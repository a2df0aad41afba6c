package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
)

// schemaTable is the table at page 1 that lists all others.
var schemaTable = Table{
	Name: "sqlite_schema",
	Columns: []Column{
		{Name: "type", Type: "TEXT", stored: 0},
		{Name: "name", Type: "TEXT", stored: 1},
		{Name: "tbl_name", Type: "TEXT", stored: 2},
		{Name: "rootpage", Type: "INT", stored: 3},
		{Name: "sql", Type: "TEXT", stored: 4},
	},
	root: 1,
}

// loadSchema fills db.tables. A damaged schema gives the tables that can still
// be read.
func (db *DB) loadSchema() error {
	stats, err := db.Scan(context.Background(), &schemaTable, []string{"type", "name", "rootpage", "sql"}, 1,
		func(_ int, r *Row) error {
			switch r.Text(0) {
			case "table":
				if t, ok := newTable(r.Text(1), r.Int(2), r.Text(3)); ok {
					db.tables = append(db.tables, t)
				}
			case "view":
				db.views = append(db.views, r.Text(1))
			}
			return nil
		})
	if err != nil {
		return fmt.Errorf("read schema: %w", err)
	}
	if !stats.Damaged() {
		return nil
	}
	if len(db.tables) == 0 {
		return fmt.Errorf("read schema: no table can be read: %w", stats.err())
	}
	db.lose(Schema, fact.New(schemaDamaged, fact.Because("why", stats.Fact())))
	return nil
}

// newTable builds a table from its row in the schema; a virtual table has no
// pages and is left out.
func newTable(name string, root int64, sql string) (Table, bool) {
	columns, withoutRowID, err := parseCreate(sql)
	t := Table{Name: name, SQL: sql, Columns: columns}
	switch {
	case errors.Is(err, errVirtual):
		return t, false
	case err != nil:
		t.refuse = fact.New(tableStatement, fact.Error("error", err))
	case withoutRowID:
		t.refuse = fact.New(tableNoRowID)
	case root < 1 || root > maxPages:
		t.refuse = fact.New(tableRoot, fact.Count("page", root))
	default:
		t.root = uint32(root)
	}
	stored := 0
	for i := range columns {
		c := &columns[i]
		c.real = affinityOf(c.Type) == affinityReal
		if c.stored = stored; c.computed {
			c.stored = -1
		} else {
			stored++
		}
	}
	return t, true
}

// affinity is the kind of value that a column prefers.
type affinity uint8

const (
	affinityBlob affinity = iota
	affinityText
	affinityNumeric
	affinityInteger
	affinityReal
)

// affinityOf follows the rules that SQLite gives for declared types, in order.
func affinityOf(declared string) affinity {
	upper := strings.ToUpper(declared)
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(upper, p) })
	}
	switch {
	case has("INT"):
		return affinityInteger
	case has("CHAR", "CLOB", "TEXT"):
		return affinityText
	case upper == "" || has("BLOB"):
		return affinityBlob
	case has("REAL", "FLOA", "DOUB"):
		return affinityReal
	}
	return affinityNumeric
}
