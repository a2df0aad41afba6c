package sqlite

import (
	"bytes"
	"context"
	"testing"
)

// FuzzFile opens and reads arbitrary bytes as a database with an optional log.
// Reading must end, without a panic, and never deliver more rows than the file
// can hold.
func FuzzFile(f *testing.F) {
	f.Add([]byte("SQLite format 3\x00"), []byte{})
	f.Fuzz(func(t *testing.T, data, log []byte) {
		db := &DB{path: "fuzz.sqlite", file: bytes.NewReader(data), size: int64(len(data))}
		var err error
		if db.head, err = readHeader(db.file, db.size); err != nil {
			return
		}
		if err := db.load(bytes.NewReader(log), int64(len(log))); err != nil {
			return
		}
		for i := range db.Tables() {
			table := &db.Tables()[i]
			var names []string
			for _, c := range table.Columns {
				names = append(names, c.Name)
			}
			stats, err := db.Scan(context.Background(), table, names, 2, func(_ int, r *Row) error {
				touch(r, len(names))
				return nil
			})
			// A cell pointer takes two bytes, and a page is read once a table.
			if err == nil && stats.Rows > int64(len(data)+len(log))/2 {
				t.Fatalf("%d rows from %d bytes", stats.Rows, len(data)+len(log))
			}
			if err == nil {
				sameInts(t, db, table, names)
			}
		}
	})
}

// touch uses every accessor on every column.
func touch(r *Row, columns int) {
	for i := range columns {
		r.Int(i)
		r.Float(i)
		if r.Null(i) != (r.Type(i) == Null) {
			panic("Null and Type disagree")
		}
		_ = r.Type(i).String()
		r.Bytes(i)
		r.Text(i)
	}
}

// FuzzCreate parses arbitrary statements.
func FuzzCreate(f *testing.F) {
	for _, shape := range shapes {
		for _, sql := range shape.sql {
			if len(sql) < 500 {
				f.Add(sql)
			}
		}
	}
	f.Add("CREATE VIRTUAL TABLE v USING fts5(x)")
	f.Add("CREATE TABLE t(a DEFAULT (-(+x'zz')), [b, \"c\", 'd)")
	f.Fuzz(func(t *testing.T, sql string) {
		table, ok := newTable("t", 2, sql)
		if ok && table.refuse.IsZero() {
			for _, c := range table.Columns {
				if c.stored >= len(table.Columns) || c.stored < 0 && !c.computed {
					t.Fatalf("column %q is stored at %d of %d", c.Name, c.stored, len(table.Columns))
				}
			}
		}
	})
}
