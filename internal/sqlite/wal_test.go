package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWriteAheadLog(t *testing.T) {
	for _, encoding := range []string{"UTF-8", "UTF-16be"} {
		t.Run(encoding, func(t *testing.T) {
			path := create(t, "PRAGMA page_size = 1024", "PRAGMA encoding = '"+encoding+"'", "PRAGMA journal_mode = WAL",
				"CREATE TABLE t (a INTEGER, b TEXT)", series(3000)+"INSERT INTO t SELECT n, 'old ' || n FROM s")
			writer := openOracle(t, path)
			exec(t, writer, "PRAGMA wal_autocheckpoint = 0", "UPDATE t SET b = 'new ' || a WHERE a % 10 = 0",
				series(4000)+"INSERT INTO t SELECT -n, printf('%.*c', n % 900, 'w') FROM s", "CREATE TABLE late (x)", "INSERT INTO late VALUES (1), (2)")
			db := open(t, path)
			if w := db.Warnings(); len(w) != 1 || !w[0].Is(logRead) || w[0].Number("n") < 1 {
				t.Errorf("warnings %v", w)
			}
			if len(db.Tables()) != 2 {
				t.Fatalf("tables %v", db.Tables())
			}
			compare(t, path)

			link := filepath.Join(t.TempDir(), "link.sqlite")
			if err := os.Symlink(path, link); err != nil {
				t.Fatal(err)
			}
			if linked := open(t, link); len(linked.Tables()) != 2 {
				t.Errorf("the log was not found through a symbolic link")
			}

			// A transaction that is not committed is not there.
			before := fileSize(t, path+"-wal")
			exec(t, writer, "PRAGMA cache_size = 5", "BEGIN", "UPDATE t SET b = 'uncommitted'")
			if fileSize(t, path+"-wal") == before {
				t.Fatal("the transaction has not reached the log")
			}
			db = open(t, path)
			table, _ := db.Table("t")
			rows, stats := dump(t, db, table, 1)
			if len(rows) != 7000 || stats.BadRows+stats.BadPages != 0 {
				t.Errorf("%d rows: %s", len(rows), stats.err())
			}
			for _, row := range rows {
				if strings.Contains(row, "uncommitted") {
					t.Fatalf("read %s", row)
				}
			}
			exec(t, writer, "ROLLBACK")
		})
	}
}

func TestDamagedLog(t *testing.T) {
	path := create(t, "PRAGMA page_size = 512", "PRAGMA journal_mode = WAL", "CREATE TABLE t (a INTEGER)", "INSERT INTO t VALUES (1), (2)")
	writer := openOracle(t, path)
	exec(t, writer, "PRAGMA wal_autocheckpoint = 0", "INSERT INTO t VALUES (3)", "INSERT INTO t VALUES (4)",
		series(500)+"INSERT INTO t SELECT n FROM s")
	database, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	frame := frameHeaderSize + 512
	for _, test := range []struct {
		name string
		log  func() []byte
		rows int
	}{
		{"sound", func() []byte { return log }, 504},
		{"last commit cut", func() []byte { return log[:len(log)-1] }, 4},
		{"second frame cut", func() []byte { return log[:walHeaderSize+2*frame-1] }, 3},
		{"second frame altered", func() []byte { b := []byte(string(log)); b[walHeaderSize+frame+200] ^= 1; return b }, 3},
		{"old salt", func() []byte { b := []byte(string(log)); b[walHeaderSize+9] ^= 1; return b }, 2},
		{"header altered", func() []byte { b := []byte(string(log)); b[13] ^= 1; return b }, 2},
		{"huge page number", func() []byte { b := []byte(string(log)); b[walHeaderSize] = 0xff; return b }, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			copied := writeFile(t, database)
			if err := os.WriteFile(copied+"-wal", test.log(), 0o644); err != nil {
				t.Fatal(err)
			}
			db := open(t, copied)
			table, _ := db.Table("t")
			if rows, stats := dump(t, db, table, 1); len(rows) != test.rows || stats.Damaged() {
				t.Errorf("%d rows, want %d: %s", len(rows), test.rows, stats.err())
			}
		})
	}
}

func TestRollbackJournal(t *testing.T) {
	path := create(t, "PRAGMA page_size = 512", "CREATE TABLE t (a INTEGER, b TEXT)", series(2000)+"INSERT INTO t SELECT n, 'x' || n FROM s")
	writer := openOracle(t, path)
	exec(t, writer, "PRAGMA journal_mode = PERSIST", "PRAGMA cache_size = 5", "BEGIN", "UPDATE t SET b = 'changed'")
	// The head of the journal is written when pages spill into the database.
	_, err := Open(path)
	if !errors.Is(err, errBusy) || !strings.Contains(err.Error(), path+"-journal") || !strings.Contains(err.Error(), "wait for the export") {
		t.Fatalf("open with a hot journal: %v", err)
	}
	exec(t, writer, "COMMIT")
	if _, err := os.Stat(path + "-journal"); err != nil {
		t.Fatalf("the journal should persist: %v", err)
	}
	compare(t, path)
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
