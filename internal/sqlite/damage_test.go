package sqlite

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
)

func TestOpenRefuses(t *testing.T) {
	sound, err := os.ReadFile(create(t, "CREATE TABLE t (a)"))
	if err != nil {
		t.Fatal(err)
	}
	with := func(at int, b ...byte) []byte {
		data := bytes.Clone(sound)
		copy(data[at:], b)
		return data
	}
	for _, test := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "the file is empty"},
		{"another format", []byte("NVR\x00\x02\x00\x00\x00"), "not an SQLite database"},
		{"text", []byte("Time (%),Total Time (ns)\n100.0,5\n"), "not an SQLite database"},
		{"zeros", make([]byte, 8192), "not an SQLite database"},
		{"cut in the header", sound[:60], "cut after 60 bytes"},
		{"cut in the first page", sound[:300], "no table can be read"},
		{"page size", with(16, 0x10, 0x01), "page size 4097"},
		{"newer format", with(19, 9), "newer than this reader knows"},
		{"encoding", with(56, 0, 0, 0, 7), "text encoding 7"},
		{"page 1 is no tree", with(100, 0x77), "no table can be read"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := writeFile(t, test.data)
			_, err := Open(path)
			if err == nil {
				t.Fatal("opened")
			}
			if !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %q should name %s and %q", err, path, test.want)
			}
		})
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, errNotSQLite) || !strings.Contains(err.Error(), "directory") {
		t.Errorf("a directory: %v", err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestScanRefuses(t *testing.T) {
	db := open(t, create(t, "CREATE TABLE flat (a TEXT PRIMARY KEY, b) WITHOUT ROWID", "CREATE TABLE t (a, v AS (a + 1))"))
	for _, test := range []struct {
		table   string
		columns []string
		want    string
	}{
		{"flat", []string{"a"}, "table flat of " + db.Path() + ": its layout is not known"},
		{"t", []string{"a", "gone"}, `table t has no column "gone"`},
		{"t", []string{"v"}, "column v of table t is generated"},
		{"t", []string{"a", "A"}, "asked for twice"},
	} {
		table, ok := db.Table(test.table)
		if !ok {
			t.Fatalf("no table %s", test.table)
		}
		_, err := db.Scan(context.Background(), table, test.columns, 1, func(int, *Row) error { return nil })
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want %q", err, test.want)
		}
	}
}

func open(t testing.TB, path string) *DB {
	t.Helper()
	db, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// bigTable is a database of some hundred pages with overflow, and its bytes.
func bigTable(t *testing.T) (path string, data []byte) {
	t.Helper()
	path = create(t, "PRAGMA page_size = 1024", "CREATE TABLE t (a INTEGER, b TEXT)",
		series(5000)+"INSERT INTO t SELECT n, CASE n % 500 WHEN 0 THEN printf('%.*c', 9000, 'o') ELSE 'row ' || n END FROM s")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, data
}

// subset checks that every row of got is a row of want, in order.
func subset(t *testing.T, got, want []string) {
	t.Helper()
	i := 0
	for _, row := range got {
		for i < len(want) && want[i] != row {
			i++
		}
		if i == len(want) {
			t.Fatalf("row %.200s is not in the sound file at this place", row)
		}
		i++
	}
}

func TestTruncated(t *testing.T) {
	path, data := bigTable(t)
	table, _ := open(t, path).Table("t")
	want, _ := dump(t, open(t, path), table, 1)
	last := -1
	for _, percent := range []int{20, 50, 75, 99} {
		db := open(t, writeFile(t, data[:len(data)*percent/100]))
		if w := db.Warnings(); len(w) == 0 || !w[0].Is(fileCut) || w[0].Number("missing") <= 0 {
			t.Errorf("%d %%: warnings %v", percent, w)
		}
		table, ok := db.Table("t")
		if !ok {
			t.Fatal("no table")
		}
		got, stats := dump(t, db, table, 2)
		subset(t, got, want)
		if len(got) <= last || len(got) == len(want) {
			t.Errorf("%d %%: %d of %d rows", percent, len(got), len(want))
		}
		last = len(got)
		if stats.BadPages+stats.BadRows == 0 || len(stats.Problems) == 0 || len(stats.Problems) > maxProblems {
			t.Errorf("%d %%: %s", percent, stats.err())
		}
	}
}

func TestCutWhileOpen(t *testing.T) {
	path, data := bigTable(t)
	db := open(t, path)
	table, _ := db.Table("t")
	if err := os.Truncate(path, int64(len(data)/2)); err != nil {
		t.Fatal(err)
	}
	got, stats := dump(t, db, table, 1)
	if len(got) == 0 || stats.BadPages == 0 || !stats.Changed {
		t.Errorf("%s", stats.err())
	}
	if f := stats.Fact(); f.Text("changed") == "" || f.Number("bad_pages") != float64(stats.BadPages) {
		t.Errorf("%v", f)
	}
}

func TestCycles(t *testing.T) {
	path, data := bigTable(t)
	db := open(t, path)
	table, _ := db.Table("t")
	root := (int(table.root) - 1) * db.head.pageSize
	if data[root] != interiorPage {
		t.Fatal("the root should be an interior page")
	}
	want, _ := dump(t, db, table, 1)
	t.Run("child is the root", func(t *testing.T) {
		bad := bytes.Clone(data)
		binary.BigEndian.PutUint32(bad[root+8:], table.root)
		got, stats := dump(t, open(t, writeFile(t, bad)), table, 1)
		subset(t, got, want)
		if stats.BadPages != 1 || !stats.Problems[0].Is(pageTwice) || len(got) == 0 {
			t.Errorf("%s", stats.err())
		}
	})
	t.Run("overflow chain", func(t *testing.T) {
		bad := bytes.Clone(data)
		loops := 0
		for page := 1; page < len(bad)/1024; page++ {
			at := page * 1024
			// An overflow page of the fixture is full of one letter.
			if next := binary.BigEndian.Uint32(bad[at:]); next != 0 && bytes.Count(bad[at+4:at+1024], []byte("o")) == 1020 {
				binary.BigEndian.PutUint32(bad[at:], uint32(page+1))
				loops++
			}
		}
		got, stats := dump(t, open(t, writeFile(t, bad)), table, 1)
		subset(t, got, want)
		if loops == 0 || stats.BadRows != 10 || len(got) != 4990 || !stats.Problems[0].Is(rowCycle) {
			t.Errorf("%d loops: %s", loops, stats.err())
		}
	})
}

// firstLeaf finds a leaf page of the fixture that is not the schema.
func firstLeaf(t *testing.T, data []byte) int {
	t.Helper()
	for at := 1024; at < len(data); at += 1024 {
		if data[at] == leafPage {
			return at
		}
	}
	t.Fatal("no leaf")
	return 0
}

func TestDamagedRows(t *testing.T) {
	path, data := bigTable(t)
	table, _ := open(t, path).Table("t")
	want, _ := dump(t, open(t, path), table, 1)
	leaf := firstLeaf(t, data)
	cells := int64(binary.BigEndian.Uint16(data[leaf+3:]))
	first := leaf + int(binary.BigEndian.Uint16(data[leaf+8:]))
	huge := bytes.Repeat([]byte{0xff}, 9)
	for _, test := range []struct {
		name     string
		at       int
		bytes    []byte
		rows     int64 // lost
		badRows  int64
		badPages int64
		want     fact.Code
	}{
		{"length beyond the file", first, huge, 1, 1, 0, rowHuge},
		{"record header", first + 2, []byte{0x7f}, 1, 1, 0, rowHeader},
		{"reserved type", first + 3, []byte{10}, 1, 1, 0, rowLong},
		{"cell pointer", leaf + 8, []byte{0xff, 0xff}, 1, 1, 0, rowOutside},
		{"repeated cell", leaf + 10, data[leaf+8 : leaf+10], 1, 1, 0, rowTwice},
		{"cell count", leaf + 3, []byte{0xff, 0xff}, cells, 0, 1, pageCells},
		{"kind", leaf, []byte{0x0a}, cells, 0, 1, pageKind},
	} {
		t.Run(test.name, func(t *testing.T) {
			bad := bytes.Clone(data)
			copy(bad[test.at:], test.bytes)
			got, stats := dump(t, open(t, writeFile(t, bad)), table, 1)
			if test.name != "length beyond the file" { // it overwrites the cell before
				subset(t, got, want)
			}
			if stats.BadPages != test.badPages || stats.BadRows < test.badRows || !slices.ContainsFunc(stats.Problems, func(f fact.Fact) bool { return f.Is(test.want) }) {
				t.Errorf("%s", stats.err())
			}
			if lost := int64(len(want) - len(got)); lost < test.rows || lost > test.rows+1 {
				t.Errorf("%d rows lost, want %d", lost, test.rows)
			}
		})
	}
}

func TestStop(t *testing.T) {
	path, _ := bigTable(t)
	db := open(t, path)
	table, _ := db.Table("t")
	enough := errors.New("enough")
	for _, workers := range []int{1, 4} {
		_, err := db.Scan(context.Background(), table, []string{"a"}, workers, func(int, *Row) error { return enough })
		if err != enough {
			t.Errorf("%d workers: %v", workers, err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := db.Scan(ctx, table, []string{"a"}, workers, func(int, *Row) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("%d workers: %v", workers, err)
		}
	}
}

// TestAllocations holds the promise that rows cost no memory.
func TestAllocations(t *testing.T) {
	path, _ := bigTable(t)
	db := open(t, path)
	table, _ := db.Table("t")
	var sum int64
	allocs := testing.AllocsPerRun(3, func() {
		_, err := db.Scan(context.Background(), table, []string{"a", "b"}, 1, func(_ int, r *Row) error {
			sum += r.Int(0) + int64(len(r.Bytes(1)))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 100 {
		t.Errorf("%v allocations for 5000 rows", allocs)
	}
}

func TestUnreadable(t *testing.T) {
	db := open(t, create(t, "CREATE TABLE flat (a TEXT PRIMARY KEY, b) WITHOUT ROWID", "CREATE TABLE t (a)", "CREATE VIEW v AS SELECT a FROM t"))
	for name, want := range map[string]fact.Code{"flat": tableNoRowID, "FLAT": tableNoRowID, "v": tableIsView, "V": tableIsView, "t": "", "absent": ""} {
		if got := db.Unreadable(name); got.Code != want {
			t.Errorf("%s: %v, want %s", name, got, want)
		}
	}
	if _, ok := db.Table("v"); ok {
		t.Error("a view counts as a table")
	}
}
