package sqlite

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the fuzz corpus anew")

// corpusDir is where the fuzzer looks for the seeds of FuzzFile.
const corpusDir = "testdata/fuzz/FuzzFile"

// TestCorpus keeps the seeds: small sound databases, and the same with bytes
// flipped, cut short, or with a log. FuzzFile reads them in every test run.
func TestCorpus(t *testing.T) {
	if *update {
		writeCorpus(t)
	}
	seeds, err := filepath.Glob(filepath.Join(corpusDir, "*"))
	if err != nil || len(seeds) < 20 {
		t.Errorf("%d seeds (%v): write them with go test -run TestCorpus -update", len(seeds), err)
	}
}

func writeCorpus(t *testing.T) {
	if err := os.MkdirAll(corpusDir, 0o755); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i, sql := range [][]string{
		{"CREATE TABLE t (a INTEGER, b TEXT, c REAL)", series(40) + "INSERT INTO t SELECT n*n*n, 'row ' || n, n FROM s"},
		{"CREATE TABLE t (id INTEGER PRIMARY KEY, b BLOB)", series(4) + "INSERT INTO t SELECT n, zeroblob(n*400) FROM s"},
		{"PRAGMA encoding = 'UTF-16le'", "CREATE TABLE t (a TEXT)", "INSERT INTO t VALUES ('é'), (NULL)", "ALTER TABLE t ADD b DEFAULT 3"},
	} {
		path := create(t, append([]string{"PRAGMA page_size = 512"}, sql...)...)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		seed(t, fmt.Sprintf("sound-%d", i), data, nil)
		seed(t, fmt.Sprintf("cut-%d", i), data[:len(data)*2/3], nil)
		for n := range 6 {
			bad := append([]byte(nil), data...)
			for range 1 + n {
				bad[100+random.IntN(len(bad)-100)] ^= byte(1 + random.IntN(255))
			}
			seed(t, fmt.Sprintf("flipped-%d-%d", i, n), bad, nil)
		}
	}
	path := create(t, "PRAGMA page_size = 512", "PRAGMA journal_mode = WAL", "CREATE TABLE t (a)")
	writer := openOracle(t, path)
	exec(t, writer, "INSERT INTO t VALUES (1), ('two')")
	data, _ := os.ReadFile(path)
	log, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	seed(t, "log", data, log)
	log[60] ^= 4
	seed(t, "log-flipped", data, log)
}

func seed(t *testing.T, name string, data, log []byte) {
	text := fmt.Sprintf("go test fuzz v1\n[]byte(%q)\n[]byte(%q)\n", data, log)
	if err := os.WriteFile(filepath.Join(corpusDir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
