package redact

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/deepprof/deepprof/internal/tool"
)

const (
	secretToken = "hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345"
	secretKey   = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
	secretPlain = "correct horse battery staple"
)

// planted are strings that redaction must leave nowhere in the file.
var planted = []string{secretToken, secretKey, secretPlain, "trudy", "gpunode42", "/home/trudy", "/lustre/grp7", "example.org", "WANDB_RUN", "rowgone", "BIGVALUE"}

// timelineDB writes an SQLite file with the tables of a timeline, long values
// on overflow pages, deleted rows and free pages.
func timelineDB(t *testing.T, pragmas string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.sqlite")
	db, err := sqlite3.Open(path)
	must(t, err)
	defer db.Close()
	exec := func(format string, args ...any) {
		t.Helper()
		if err := db.Exec(fmt.Sprintf(format, args...)); err != nil {
			t.Fatalf("%v in %.80s", err, fmt.Sprintf(format, args...))
		}
	}
	env := "USER=trudy\x00HOSTNAME=gpunode42.example.org\x00HOME=/home/trudy\x00HF_TOKEN=" + secretToken + "\x00AWS_SECRET_ACCESS_KEY=" + secretKey +
		"\x00WANDB_RUN=x\x00DB_PASSWORD=" + secretPlain + "\x00BIG=" + strings.Repeat("BIGVALUE", 3000)
	blob := fmt.Sprintf("CAST(x'%x' AS TEXT)", env)
	exec("PRAGMA secure_delete=OFF; %s", pragmas)
	exec("BEGIN")
	exec(`CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
		CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT NOT NULL, name TEXT NOT NULL, nameEnum INTEGER NOT NULL, value TEXT NOT NULL);
		CREATE TABLE META_DATA_CAPTURE (name TEXT NOT NULL, value TEXT);
		CREATE TABLE EXPORT_META_DATA (name TEXT NOT NULL, value TEXT);
		CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
		CREATE TABLE OSRT_CALLCHAINS (id INTEGER NOT NULL, stackDepth INTEGER NOT NULL, symbol INTEGER, UNIQUE (id, stackDepth));
		CREATE TABLE GONE (a TEXT);
		CREATE VIEW v AS SELECT * FROM StringIds;`)
	exec("INSERT INTO StringIds VALUES (1,'void gemm<(int)32>(int, const float *)'), (2,%s), (3,'/model/layers.0/MatMul'), (4,'loaded /lustre/grp7/m.bin'), (5,'')", blob)
	exec("INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (1,'Local (CLI)','CpuCores',1,'16'), (1,'Local (CLI)','DeviceEnvironment',610,'%s'), (1,'Local (CLI)','Hostname',619,'gpunode42')",
		strings.ReplaceAll(env, "\x00", ";"))
	exec(`INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:ENVIRONMENT_VARIABLE','HF_TOKEN="%s"'), ('PROCESS_0:COMMAND','/home/trudy/toy'), ('PROCESS_0:USER_NAME','trudy'), ('RATE_HZ','0')`, secretToken)
	exec("INSERT INTO EXPORT_META_DATA VALUES ('EXPORT_HOST','gpunode42'), ('EXPORT_USER','trudy'), ('EXPORT_PRODUCT_VERSION','2025.3.2.0')")
	exec("INSERT INTO PROCESSES VALUES (1,2,'/home/trudy/toy'), (2,3,'note: %s'), (4,5,'kworker/3:0')", secretPlain)
	for i := range 3000 {
		exec("INSERT INTO OSRT_CALLCHAINS VALUES (%d,%d,%d)", i, i%7, i*i)
	}
	for i := range 400 {
		exec("INSERT INTO GONE VALUES ('rowgone %d %s'); INSERT INTO StringIds VALUES (%d,'rowgone %d %s')", i, strings.Repeat("rowgone", i%90), 100+i, i, strings.Repeat("rowgone", i%900))
	}
	exec("COMMIT; BEGIN")
	exec("DROP TABLE GONE; DELETE FROM StringIds WHERE id >= 100 AND id %% 3 > 0; UPDATE StringIds SET value='kept ' || id WHERE id >= 100; COMMIT")
	for i := range 20 {
		exec("INSERT INTO StringIds VALUES (%d,'%s')", 1000+i, strings.Repeat("t", 5000+300*i))
	}
	return path
}

func query(t *testing.T, path, sql string) string {
	t.Helper()
	db, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READONLY)
	must(t, err)
	defer db.Close()
	stmt, _, err := db.Prepare(sql)
	must(t, err)
	defer stmt.Close()
	var rows []string
	for stmt.Step() {
		var cells []string
		for i := range stmt.ColumnCount() {
			cells = append(cells, stmt.ColumnText(i))
		}
		rows = append(rows, strings.Join(cells, "|"))
	}
	must(t, stmt.Err())
	return strings.Join(rows, "\n")
}

func redactFile(t *testing.T, path string) error {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	r := New()
	if err := r.LearnSQLite(f); err != nil {
		return err
	}
	return r.SQLite(f)
}

func TestRedactSQLite(t *testing.T) {
	for name, pragmas := range map[string]string{
		"as nsys writes it": "",
		"small pages":       "PRAGMA page_size=512;",
		"large pages":       "PRAGMA page_size=65536;",
		"auto vacuum":       "PRAGMA auto_vacuum=INCREMENTAL; PRAGMA page_size=1024;",
		"write-ahead log":   "PRAGMA journal_mode=WAL;",
	} {
		t.Run(name, func(t *testing.T) {
			path := timelineDB(t, pragmas)
			before, err := os.ReadFile(path)
			must(t, err)
			for _, s := range planted {
				if !bytes.Contains(before, []byte(s)) {
					t.Fatalf("%q is not in the file: the test would show nothing", s)
				}
			}
			must(t, redactFile(t, path))
			after, err := os.ReadFile(path)
			must(t, err)
			if len(after) != len(before) {
				t.Errorf("the size changed from %d to %d", len(before), len(after))
			}
			for _, s := range planted {
				if i := bytes.Index(after, []byte(s)); i >= 0 {
					t.Errorf("%q is left at %d: %q", s, i, after[max(0, i-40):min(len(after), i+40)])
				}
			}
			if got := query(t, path, "PRAGMA integrity_check"); got != "ok" {
				t.Errorf("integrity check: %s", got)
			}
			for sql, want := range map[string]string{
				"SELECT value FROM StringIds WHERE id IN (1,3,5) ORDER BY id":                          "void gemm<(int)32>(int, const float *)\n/model/layers.0/MatMul\n",
				"SELECT count(*), sum(symbol) FROM OSRT_CALLCHAINS":                                    "3000|8995500500",
				"SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name='CpuCores'":                       "16",
				"SELECT value FROM EXPORT_META_DATA WHERE name LIKE '%VERSION'":                        "2025.3.2.0",
				"SELECT name FROM PROCESSES WHERE pid=5":                                               "kworker/3:0",
				"SELECT length(value) FROM META_DATA_CAPTURE WHERE name='PROCESS_0:COMMAND'":           "15",
				"SELECT value FROM META_DATA_CAPTURE WHERE name='PROCESS_0:COMMAND'":                   "/redacted/xxxxx",
				"SELECT substr(value,1,21) FROM TARGET_INFO_SYSTEM_ENV WHERE name='DeviceEnvironment'": envGone,
				"SELECT value FROM StringIds WHERE id=103":                                             "",
				"SELECT value FROM StringIds WHERE id=102":                                             "kept 102",
			} {
				if got := query(t, path, sql); got != want {
					t.Errorf("%s = %q, want %q", sql, got, want)
				}
			}
		})
	}
}

// Behind the end of a value, its last overflow page may hold old content.
func TestRedactSQLiteTails(t *testing.T) {
	path := timelineDB(t, "")
	b, err := os.ReadFile(path)
	must(t, err)
	n := 0
	for at := 0; at < len(b); at += 4096 {
		p := b[at : at+4096]
		if string(p[:5]) == "\x00\x00\x00\x00t" && p[4000] == 0 {
			copy(p[4000:], "old content")
			n++
		}
	}
	if n == 0 {
		t.Fatal("no overflow page has room for old content")
	}
	must(t, os.WriteFile(path, b, 0o644))
	must(t, redactFile(t, path))
	b, err = os.ReadFile(path)
	must(t, err)
	if bytes.Contains(b, []byte("old content")) {
		t.Error("old content is left behind the end of a value")
	}
	if got := query(t, path, "SELECT count(*) FROM StringIds WHERE value=replace(hex(zeroblob(2500)),'0','t')"); got != "1" {
		t.Errorf("%s values of 5000 characters are left as they were, want 1", got)
	}
}

func TestRedactSQLiteRefuses(t *testing.T) {
	index := timelineDB(t, "")
	db, err := sqlite3.Open(index)
	must(t, err)
	must(t, db.Exec("CREATE INDEX byname ON PROCESSES(name)"))
	must(t, db.Close())
	utf16 := timelineDB(t, "PRAGMA encoding='UTF-16';")
	for path, want := range map[string]string{index: "index", utf16: "UTF-8"} {
		if err := redactFile(t, path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
	short := timelineDB(t, "")
	must(t, os.Truncate(short, 5000))
	if err := redactFile(t, short); err == nil {
		t.Error("a file that is cut off was accepted")
	}
	// An index over text that need not change is no obstacle.
	fine := timelineDB(t, "")
	db, err = sqlite3.Open(fine)
	must(t, err)
	must(t, db.Exec("CREATE TABLE T (a TEXT UNIQUE); INSERT INTO T VALUES ('prefill'), ('decode')"))
	must(t, db.Close())
	must(t, redactFile(t, fine))
	if got := query(t, fine, "PRAGMA integrity_check"); got != "ok" {
		t.Errorf("integrity check: %s", got)
	}
}

// A damaged file is refused with an error; it neither panics nor loops.
func TestRedactSQLiteDamaged(t *testing.T) {
	path := timelineDB(t, "PRAGMA page_size=512;")
	good, err := os.ReadFile(path)
	must(t, err)
	bad := filepath.Join(t.TempDir(), "bad.sqlite")
	for at := 16; at < len(good); at += 1 + len(good)/60 {
		for _, v := range []byte{0x00, 0xff} {
			b := bytes.Clone(good)
			copy(b[at:], []byte{v, v, v})
			must(t, os.WriteFile(bad, b, 0o644))
			redactFile(t, bad)
		}
	}
}

func FuzzRedactSQLite(f *testing.F) {
	page := make([]byte, 1024)
	copy(page, "SQLite format 3\x00\x02\x00\x01\x01\x00\x40\x20\x20")
	page[100] = 0x0d
	f.Add(page)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(dir, "f.sqlite")
		must(t, os.WriteFile(path, data, 0o644))
		redactFile(t, path)
	})
}

// The real thing: nsys with planted secrets in its environment.
func TestRedactRealTimeline(t *testing.T) {
	base := os.Getenv("DEEPPROF_NSIGHT")
	if base == "" {
		t.Skip("DEEPPROF_NSIGHT names no folder with nsys")
	}
	for _, release := range []string{"trixie", "bookworm"} {
		t.Run(release, func(t *testing.T) {
			dir := t.TempDir()
			out := filepath.Join(dir, "run")
			path := out + ".sqlite"
			var before []byte
			// Runs of nsys 2022.4 that start together on one machine disturb each other.
			for try := 1; before == nil; try++ {
				if _, err := tool.ClearStuckSessions(); err != nil {
					t.Log(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				c := exec.CommandContext(ctx, filepath.Join(base, release, "nsys"), "profile", "--trace=nvtx,osrt", "--sample=none", "--cpuctxsw=none",
					"--export=sqlite", "--force-overwrite=true", "--output="+out, "/bin/echo", "reading", "/home/trudy/data.bin")
				c.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "TMPDIR=" + dir, "USER=trudy", "HOSTNAME=gpunode42.example.org", "HOME=/home/trudy",
					"HF_TOKEN=" + secretToken, "AWS_SECRET_ACCESS_KEY=" + secretKey, "DB_PASSWORD=" + secretPlain, "SHARE=/lustre/grp7", "BIG=" + strings.Repeat("BIGVALUE", 2000)}
				c.WaitDelay = time.Second
				text, err := c.CombinedOutput()
				cancel()
				if before, _ = os.ReadFile(path); before == nil && try == 5 {
					t.Fatalf("%v\n%s", err, text)
				}
			}
			must(t, redactFile(t, path))
			after, err := os.ReadFile(path)
			must(t, err)
			for _, s := range []string{secretToken, secretKey, secretPlain, "trudy", "gpunode42", "/home", "/lustre/grp7", "BIGVALUE", dir} {
				if !bytes.Contains(before, []byte(s)) {
					t.Errorf("%q was never in the file", s)
				}
				if i := bytes.Index(after, []byte(s)); i >= 0 {
					t.Errorf("%q is left: %q", s, after[max(0, i-40):min(len(after), i+40)])
				}
			}
			if got := query(t, path, "PRAGMA integrity_check"); got != "ok" {
				t.Errorf("integrity check: %s", got)
			}
		})
	}
}

// TestBlankEnvironments: environments go, every other row stays.
func TestBlankEnvironments(t *testing.T) {
	path := timelineDB(t, "PRAGMA page_size=1024")
	before, err := os.ReadFile(path)
	must(t, err)
	n, err := BlankEnvironments(path)
	must(t, err)
	if n < 3 {
		t.Errorf("%d environments, want those of StringIds, TARGET_INFO_SYSTEM_ENV and META_DATA_CAPTURE", n)
	}
	after, err := os.ReadFile(path)
	must(t, err)
	if len(after) != len(before) {
		t.Fatalf("%d bytes, were %d", len(after), len(before))
	}
	db, err := sqlite3.Open(path)
	must(t, err)
	defer db.Close()
	must(t, db.Exec("PRAGMA integrity_check"))
	texts := func(query string) string {
		s, _, err := db.Prepare(query)
		must(t, err)
		defer s.Close()
		var b strings.Builder
		for s.Step() {
			for i := range s.ColumnCount() {
				b.WriteString(s.ColumnText(i) + "\n")
			}
		}
		must(t, s.Err())
		return b.String()
	}
	all := texts("SELECT value FROM StringIds") + texts("SELECT * FROM TARGET_INFO_SYSTEM_ENV") + texts("SELECT * FROM META_DATA_CAPTURE")
	for _, gone := range []string{secretToken, secretKey, secretPlain, "BIGVALUE", "WANDB_RUN"} {
		if strings.Contains(all, gone) {
			t.Errorf("%q is still in a row", gone)
		}
	}
	for _, kept := range []string{"void gemm<(int)32>", "/model/layers.0/MatMul", "CpuCores", "/home/trudy/toy", "RATE_HZ"} {
		if !strings.Contains(all, kept) {
			t.Errorf("%q is gone", kept)
		}
	}
	if _, err := BlankEnvironments(filepath.Join(t.TempDir(), "nosuch")); err == nil {
		t.Error("a missing file is no error")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
