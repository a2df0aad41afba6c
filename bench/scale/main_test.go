package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sqlite3 "github.com/ncruces/go-sqlite3"

	"github.com/deepprof/deepprof/internal/sqlite"
)

const toy = "../../internal/sqlite/testdata/toy.sqlite.gz"

// query returns the first column of the first row.
func query(t *testing.T, conn *sqlite3.Conn, sql string) string {
	t.Helper()
	stmt, _, err := conn.Prepare(sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	defer stmt.Close()
	if !stmt.Step() {
		t.Fatalf("%s: no row: %v", sql, stmt.Err())
	}
	return stmt.ColumnText(0)
}

func scaled(t *testing.T, kernels int) *sqlite3.Conn {
	t.Helper()
	path := filepath.Join(t.TempDir(), "big.sqlite")
	var out bytes.Buffer
	if err := run([]string{"-source", toy, "-o", path, "-kernels", fmt.Sprint(kernels)}, &out); err != nil {
		t.Fatal(err)
	}
	conn, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestScale(t *testing.T) {
	conn := scaled(t, 31*200)
	for _, test := range []struct{ sql, want string }{
		{"PRAGMA integrity_check", "ok"},
		{"SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL", "6200"},
		{"SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME", "17000"},
		{"SELECT count(*) FROM StringIds", "275"},
		{"SELECT count(*) FROM sqlite_schema", "44"},
		// Every kernel has the one call that launched it, before it, in its copy.
		{"SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r USING (correlationId) WHERE r.start < k.start AND k.start - r.start < 1e9", "6200"},
		// Declarations of NVTX domains and the like are not repeated.
		{"SELECT count(*) FROM NVTX_EVENTS WHERE eventType IN (33, 39, 75, 76)", "1"},
		{"SELECT count(*) - count(DISTINCT rangeId) FROM NVTX_EVENTS WHERE eventType = 60", "0"},
		{"SELECT count(*) FROM (SELECT start, lag(start) OVER (ORDER BY rowid) AS before FROM CUPTI_ACTIVITY_KIND_KERNEL) WHERE start < before - 1000000000", "0"},
	} {
		if got := query(t, conn, test.sql); got != test.want {
			t.Errorf("%s: %s, want %s", test.sql, got, test.want)
		}
	}
}

func TestScaleRefuses(t *testing.T) {
	target := filepath.Join(t.TempDir(), "big.sqlite")
	if err := run([]string{"-o", target}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "usage") {
		t.Errorf("no source: %v", err)
	}
	if err := run([]string{"-source", "main.go", "-o", target}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "main.go") {
		t.Errorf("no database: %v", err)
	}
	if files, _ := os.ReadDir(filepath.Dir(target)); len(files) != 0 {
		t.Errorf("left %v", files)
	}
}

// TestWriter writes rows of all sizes around an empty lock page, which in a
// real file lies behind the first GiB.
func TestWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w.sqlite")
	w, err := newWriter(path)
	if err != nil {
		t.Fatal(err)
	}
	w.lock = 40
	table := w.newTable()
	numbers := []int64{0, 1, -1, 127, 128, -129, 1 << 15, 1 << 23, -1 << 31, 1 << 40, 1 << 47, -1 << 63}
	for i := range 3000 {
		n := numbers[i%len(numbers)]
		table.add(int64(i)*int64(i)*1e9, encode(nil, []value{{kind: sqlite.Integer, i: n}, {}, {kind: sqlite.Float, f: 0.5}, text(strings.Repeat("x", i*7))}))
	}
	table.finish("t", "CREATE TABLE t (n INTEGER, z, f REAL, s TEXT)")
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	read, _ := db.Table("t")
	i := 0
	stats, err := db.Scan(context.Background(), read, []string{"n", "z", "f", "s"}, 1, func(_ int, r *sqlite.Row) error {
		if r.RowID() != int64(i)*int64(i)*1e9 || r.Int(0) != numbers[i%len(numbers)] || !r.Null(1) || r.Float(2) != 0.5 || len(r.Bytes(3)) != i*7 {
			t.Fatalf("row %d: %d %d %v %v %d", i, r.RowID(), r.Int(0), r.Null(1), r.Float(2), len(r.Bytes(3)))
		}
		i++
		return nil
	})
	if err != nil || stats.Damaged() || i != 3000 {
		t.Errorf("%d rows, %v: %v", i, err, stats.Fact())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if page := data[39*pageSize : 40*pageSize]; len(bytes.Trim(page, "\x00")) != 0 {
		t.Error("the lock page is not empty")
	}
}
