package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"

	sqlite3 "github.com/ncruces/go-sqlite3"
)

// series is a common table expression that counts from 1 to n.
func series(n int) string {
	return fmt.Sprintf("WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM s WHERE n < %d) ", n)
}

// shapes are databases that differ in what the file format can do.
var shapes = []struct {
	name string
	sql  []string
	rows int
}{
	{"empty table", []string{"CREATE TABLE t (a INTEGER, b TEXT)"}, 0},
	{"every integer width", []string{
		"CREATE TABLE t (a INTEGER, b, c INTEGER)",
		"INSERT INTO t VALUES (0, 1, NULL), (-1, 127, -128), (128, -129, 32767), (-32768, 32768, 8388607), (-8388608, 8388608, 2147483647)," +
			"(-2147483648, 2147483648, 140737488355327), (-140737488355328, 140737488355328, 9223372036854775807), (-9223372036854775808, 255, 65535)",
	}, 8},
	{"floats", []string{
		"CREATE TABLE t (a REAL, b FLOAT, c, d NUMERIC, e DOUBLE PRECISION)",
		"INSERT INTO t VALUES (1, 2.5, 3.0, 4.0, -7), (1e300, -0.0, 1e-300, '12', 9007199254740993), (NULL, 9e999, -9e999, 'x', 0)",
	}, 3},
	{"text and blobs", []string{
		"CREATE TABLE t (a TEXT, b BLOB, c)",
		"INSERT INTO t VALUES ('', x'', 'é 漢字 🜚'), (CAST(x'ff00fe' AS TEXT), x'00ff', 'a' || char(0) || 'b'), ('line' || char(10) || '|', zeroblob(300), NULL)",
	}, 3},
	{"overflow", []string{
		"CREATE TABLE t (a INTEGER, big TEXT, b INTEGER, blob BLOB, c TEXT)",
		series(60) + "INSERT INTO t SELECT n, printf('%.*c', n*n*7, 'x') || n, -n, randomblob(n*97), 'end' || n FROM s",
	}, 60},
	{"overflow boundaries", []string{
		"CREATE TABLE t (a TEXT)",
		series(3000) + "INSERT INTO t SELECT printf('%.*c', n*3, 'y') FROM s",
	}, 3000},
	{"header in overflow", []string{
		wideTable(1500), series(3) + "INSERT INTO w (c0, c700, c1499) SELECT n, 'middle', n*1000000 FROM s",
		"UPDATE w SET c3 = printf('%.*c', 70000, 'z') WHERE c0 = 2",
	}, 3},
	{"deep tree", []string{
		"CREATE TABLE t (a INTEGER, b TEXT)",
		series(30000) + "INSERT INTO t SELECT n*n, printf('row %d %.*c', n, n%50, '-') FROM s",
	}, 30000},
	{"rowid alias", []string{
		"CREATE TABLE t (a TEXT, id INTEGER PRIMARY KEY, b)",
		"CREATE TABLE u (id INTEGER, a, PRIMARY KEY (id))",
		"CREATE TABLE v (id INTEGER PRIMARY KEY DESC, a)",
		"CREATE TABLE w (id INT PRIMARY KEY, a)",
		`CREATE TABLE x (a, "the id" integer constraint pk primary key autoincrement not null)`,
		"CREATE TABLE y (id INTEGER, a, CONSTRAINT k UNIQUE (a) PRIMARY KEY (\"id\" DESC))",
		"CREATE TABLE z (a INTEGER, b INTEGER, PRIMARY KEY (a, b))",
		"INSERT INTO t VALUES ('a', -5, 1), ('b', 9223372036854775807, 2), ('c', -9223372036854775808, 3)",
		"INSERT INTO u VALUES (7, 1), (8, 2)", "INSERT INTO v VALUES (7, 1), (8, 2)", "INSERT INTO w VALUES (7, 1)",
		"INSERT INTO x (a) VALUES ('p'), ('q')", "INSERT INTO y VALUES (70, 1), (60, 2)", "INSERT INTO z VALUES (1, 2)",
	}, 14},
	{"names", []string{
		"CREATE TABLE \"odd \"\"name\" (\"select\" TEXT, [b c] VARCHAR ( 10 , 2 ) NOT NULL DEFAULT ')', `d``e` INTEGER /* , x */ -- , y\n, 'f' CHECK (f <> ','), end, key INT)",
		`INSERT INTO "odd ""name" VALUES ('x', 'y', 3, 4, 5, 6)`,
		"CREATE TABLE IF NOT EXISTS main.second(a,b)", "INSERT INTO second VALUES (1, 2)",
		"CREATE TABLE third AS SELECT 1 AS one, 'x' AS \"two words\"",
	}, 3},
	{"altered", []string{
		"CREATE TABLE t (a INTEGER)", "INSERT INTO t VALUES (1), (2)",
		"ALTER TABLE t ADD COLUMN b", "ALTER TABLE t ADD COLUMN c INTEGER DEFAULT -42", "INSERT INTO t VALUES (3, 4, 5)",
		"ALTER TABLE t ADD COLUMN d TEXT DEFAULT 'it''s'", "ALTER TABLE t ADD COLUMN e REAL DEFAULT 7", "ALTER TABLE t ADD COLUMN f BLOB DEFAULT x'0aFF'",
		"ALTER TABLE t ADD COLUMN g TEXT DEFAULT 12", "ALTER TABLE t ADD COLUMN h NUMERIC DEFAULT '3.0'", "ALTER TABLE t ADD COLUMN i TEXT NOT NULL DEFAULT (1.5)",
		"ALTER TABLE t ADD COLUMN j INTEGER DEFAULT 0x10", "ALTER TABLE t ADD COLUMN k DEFAULT TRUE", "ALTER TABLE t ADD COLUMN l INTEGER DEFAULT 'nan'",
		"ALTER TABLE t ADD COLUMN m DEFAULT -1.5e3", "ALTER TABLE t ADD COLUMN n DEFAULT 9223372036854775808",
		"ALTER TABLE t RENAME COLUMN b TO renamed", "INSERT INTO t (a) VALUES (9)",
	}, 4},
	{"dropped column", []string{
		"CREATE TABLE t (a INTEGER, b TEXT, c INTEGER)", "INSERT INTO t VALUES (1, 'x', 3), (4, 'y', 6)", "ALTER TABLE t DROP COLUMN b",
	}, 2},
	{"generated columns", []string{
		"CREATE TABLE t (a INTEGER, v INT GENERATED ALWAYS AS (a * 2), b TEXT, s TEXT AS (b || '!') STORED, c REAL)",
		"INSERT INTO t (a, b, c) VALUES (1, 'x', 2), (3, 'y', 4)",
	}, 2},
	{"strict", []string{"CREATE TABLE t (a INTEGER, b REAL, c ANY) STRICT", "INSERT INTO t VALUES (1, 2, '3')"}, 1},
	{"deleted rows and freeblocks", []string{
		"CREATE TABLE t (a INTEGER, b TEXT)",
		series(8000) + "INSERT INTO t SELECT n, printf('%.*c', n%90, 'q') FROM s",
		"DELETE FROM t WHERE a % 3 = 0", "DELETE FROM t WHERE a BETWEEN 2000 AND 5000",
		series(500) + "INSERT INTO t SELECT -n, printf('%.*c', 2000 + n, 'r') FROM s",
		"UPDATE t SET b = b || b WHERE a % 7 = 0",
	}, 3833},
	{"vacuumed", []string{
		"CREATE TABLE t (a INTEGER, b TEXT)", "CREATE TABLE gone (a)", series(5000) + "INSERT INTO t SELECT n, 'v' || n FROM s",
		series(5000) + "INSERT INTO gone SELECT n FROM s", "DROP TABLE gone", "DELETE FROM t WHERE a % 2", "VACUUM",
	}, 2500},
	{"auto vacuum", []string{
		"PRAGMA auto_vacuum = FULL", "CREATE TABLE t (a INTEGER, b TEXT)", series(9000) + "INSERT INTO t SELECT n, 'pointer map ' || n FROM s",
		"DELETE FROM t WHERE a < 4000",
	}, 5001},
	{"interleaved tables, an index and a view", []string{
		"CREATE TABLE t (a INTEGER, b TEXT)", "CREATE TABLE u (a INTEGER, b TEXT)", "CREATE INDEX i ON t (b)", "CREATE VIEW v AS SELECT a FROM t",
		"CREATE TRIGGER tr AFTER INSERT ON t BEGIN INSERT INTO u VALUES (new.a, 'copy of ' || new.b); END",
		series(6000) + "INSERT INTO t SELECT n, 'r' || n FROM s",
	}, 12000},
	{"no rows inserted in order", []string{
		"CREATE TABLE t (id INTEGER PRIMARY KEY, b TEXT)",
		series(7000) + "INSERT INTO t SELECT (n * 7919) % 7001, 'shuffled ' || n FROM s",
	}, 7000},
}

func wideTable(columns int) string {
	sql := "CREATE TABLE w ("
	for i := range columns {
		if i > 0 {
			sql += ", "
		}
		sql += fmt.Sprintf("c%d", i)
	}
	return sql + ")"
}

func TestShapes(t *testing.T) {
	layouts := []struct{ name, pragma string }{
		{"4096 utf8", "PRAGMA page_size = 4096; PRAGMA encoding = 'UTF-8'"},
		{"512 utf16le", "PRAGMA page_size = 512; PRAGMA encoding = 'UTF-16le'"},
		{"1024 utf16be", "PRAGMA page_size = 1024; PRAGMA encoding = 'UTF-16be'"},
		{"65536 utf8", "PRAGMA page_size = 65536"},
	}
	for _, shape := range shapes {
		for _, layout := range layouts {
			t.Run(shape.name+"/"+layout.name, func(t *testing.T) {
				path := create(t, append([]string{layout.pragma}, shape.sql...)...)
				db, err := Open(path)
				if err != nil {
					t.Fatal(err)
				}
				defer db.Close()
				for i := range db.Tables() {
					table := &db.Tables()[i]
					var names []string
					for _, c := range table.Columns {
						if !c.computed {
							names = append(names, c.Name)
						}
					}
					sameInts(t, db, table, names)
				}
				if rows := compare(t, path); rows < shape.rows {
					t.Errorf("SQLite itself has %d rows, the shape needs %d", rows, shape.rows)
				}
			})
		}
	}
}

func TestReservedBytes(t *testing.T) {
	for _, size := range []int{512, 4096} {
		for _, reserved := range []int{8, 32} {
			path := filepath.Join(t.TempDir(), "reserved.sqlite")
			conn := openOracle(t, path)
			exec(t, conn, fmt.Sprintf("PRAGMA page_size = %d", size))
			if _, err := conn.FileControl("main", sqlite3.FCNTL_RESERVE_BYTES, reserved); err != nil {
				t.Fatal(err)
			}
			exec(t, conn, "CREATE TABLE t (a INTEGER, b TEXT)", series(2000)+"INSERT INTO t SELECT n, printf('%.*c', n*3, 'y') FROM s")
			conn.Close()
			if got := open(t, path).head; got.usable != size-reserved {
				t.Errorf("usable %d of %d", got.usable, size)
			}
			if rows := compare(t, path); rows != 2000 {
				t.Errorf("%d rows", rows)
			}
		}
	}
}

func TestDeclaredColumns(t *testing.T) {
	db := open(t, create(t, shapes[8].sql...))
	var got []string
	for _, table := range db.Tables() {
		for _, c := range table.Columns {
			got = append(got, fmt.Sprintf("%s.%s %s %v", table.Name, c.Name, c.Type, c.rowID))
		}
	}
	want := []string{
		"t.a TEXT false", "t.id INTEGER true", "t.b  false",
		"u.id INTEGER true", "u.a  false",
		"v.id INTEGER false", "v.a  false",
		"w.id INT false", "w.a  false",
		"x.a  false", "x.the id integer true",
		"sqlite_sequence.name  false", "sqlite_sequence.seq  false",
		"y.id INTEGER true", "y.a  false",
		"z.a INTEGER false", "z.b INTEGER false",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
