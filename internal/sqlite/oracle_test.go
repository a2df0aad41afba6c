package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sqlite3 "github.com/ncruces/go-sqlite3"

	"github.com/deepprof/deepprof/internal/fixture"
)

// create makes a database with SQLite itself and returns its path.
func create(t testing.TB, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.sqlite")
	conn := openOracle(t, path)
	exec(t, conn, statements...)
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func openOracle(t testing.TB, path string) *sqlite3.Conn {
	t.Helper()
	conn, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func exec(t testing.TB, conn *sqlite3.Conn, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if err := conn.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// oracle dumps a table as SQLite reads it, one line a row.
func oracle(t testing.TB, conn *sqlite3.Conn, table *Table) []string {
	t.Helper()
	names := []string{"rowid"}
	for _, c := range table.Columns {
		if !c.computed {
			names = append(names, sqlite3.QuoteIdentifier(c.Name))
		}
	}
	stmt, _, err := conn.Prepare("SELECT " + strings.Join(names, ",") + " FROM " +
		sqlite3.QuoteIdentifier(table.Name) + " ORDER BY rowid")
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	var rows []string
	for stmt.Step() {
		var b strings.Builder
		for i := range stmt.ColumnCount() {
			switch stmt.ColumnType(i) {
			case sqlite3.INTEGER:
				fmt.Fprintf(&b, "|i%d", stmt.ColumnInt64(i))
			case sqlite3.FLOAT:
				fmt.Fprintf(&b, "|f%v", stmt.ColumnFloat(i))
			case sqlite3.TEXT:
				fmt.Fprintf(&b, "|t%q", stmt.ColumnText(i))
			case sqlite3.BLOB:
				fmt.Fprintf(&b, "|b%x", stmt.ColumnRawBlob(i))
			default:
				b.WriteString("|null")
			}
		}
		rows = append(rows, b.String())
	}
	if err := stmt.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// dump is the same from this package; rows of the workers are joined in order.
func dump(t testing.TB, db *DB, table *Table, workers int) ([]string, ScanStats) {
	t.Helper()
	var names []string
	for _, c := range table.Columns {
		if !c.computed {
			names = append(names, c.Name)
		}
	}
	shares := make([][]string, Workers(workers))
	stats, err := db.Scan(context.Background(), table, names, workers, func(w int, r *Row) error {
		shares[w] = append(shares[w], format(r, len(names)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, s := range shares {
		rows = append(rows, s...)
	}
	return rows, stats
}

func format(r *Row, columns int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "|i%d", r.RowID())
	for i := range columns {
		switch r.Type(i) {
		case Integer:
			fmt.Fprintf(&b, "|i%d", r.Int(i))
		case Float:
			fmt.Fprintf(&b, "|f%v", r.Float(i))
		case Text:
			fmt.Fprintf(&b, "|t%q", r.Text(i))
		case Blob:
			fmt.Fprintf(&b, "|b%x", r.Bytes(i))
		default:
			b.WriteString("|null")
		}
	}
	return b.String()
}

// compare checks every table of a file against SQLite, on one and on three
// workers, and returns the number of rows.
func compare(t *testing.T, path string) int {
	t.Helper()
	db, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn := openOracle(t, path)
	defer conn.Close()
	total := 0
	for i := range db.Tables() {
		table := &db.Tables()[i]
		if !table.refuse.IsZero() {
			t.Errorf("table %s: %s", table.Name, table.refuse.Code)
			continue
		}
		want := oracle(t, conn, table)
		total += len(want)
		for _, workers := range []int{1, 3} {
			got, stats := dump(t, db, table, workers)
			if stats.Damaged() || stats.Rows != int64(len(got)) {
				t.Errorf("table %s: %s", table.Name, stats.err())
			}
			diff(t, table.Name, got, want)
		}
	}
	return total
}

func diff(t *testing.T, name string, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("table %s: %d rows, SQLite has %d", name, len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("table %s, row %d:\n got %.300s\nwant %.300s", name, i, got[i], want[i])
		}
	}
}

// unzip writes a compressed fixture to a file of the test.
func unzip(t testing.TB, name string) string {
	t.Helper()
	return writeFile(t, fixture.Read(t, name))
}

func writeFile(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.sqlite")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
