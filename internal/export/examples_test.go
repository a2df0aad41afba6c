package export

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// examples are the code blocks of docs/exports.md in a language.
func examples(t *testing.T, language string) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/exports.md")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		out = append(out, m[1])
	}
	if len(out) == 0 {
		t.Fatalf("docs/exports.md has no example in %s", language)
	}
	return out
}

// recorded is the counted program of the examples: an LLM on an H200.
func recorded(t *testing.T) *Source {
	t.Helper()
	s := counted(t)
	s.Run, s.Timelines, s.Counters = "llm", []string{"../../testdata/h200/llm.sqlite.gz"}, []string{"../../testdata/h200/llm.ncu-rep.gz"}
	return s
}

// TestDuckDBExamples runs the SQL of the docs, and compares a sum with ours. It
// needs node and 'npm ci' in testdata/duckdb, which scripts/packages does.
func TestDuckDBExamples(t *testing.T) {
	if _, err := os.Stat("testdata/duckdb/node_modules/@duckdb/node-api"); err != nil {
		t.Skip("DuckDB is not installed: run scripts/packages")
	}
	dir, s := t.TempDir(), recorded(t)
	if _, err := formatNamed(t, "parquet").WriteFolder(context.Background(), s, filepath.Join(dir, "tables")); err != nil {
		t.Fatal(err)
	}
	for _, sql := range examples(t, "sql") {
		if rows := duckdb(t, dir, sql); len(rows) == 0 {
			t.Errorf("no rows: %s", sql)
		}
	}
	rows := duckdb(t, dir, `SELECT count(*) AS n, sum(duration_ns)::BIGINT AS ns, (SELECT sum(total_ns)::BIGINT FROM 'tables/kernels.parquet') AS kernels FROM 'tables/launches.parquet'`)
	tl := readTimeline(t, s)
	var ns int64
	for i := range tl.Kernels {
		ns += tl.Kernels[i].Duration()
	}
	if number(t, rows[0]["n"].(string)) != int64(len(tl.Kernels)) || number(t, rows[0]["ns"].(string)) != ns || rows[0]["kernels"] != rows[0]["ns"] {
		t.Errorf("DuckDB sums %v, want %d launches and %d ns", rows[0], len(tl.Kernels), ns)
	}
}

func duckdb(t *testing.T, dir, sql string) (rows []map[string]any) {
	t.Helper()
	script, err := filepath.Abs("testdata/duckdb/query.mjs")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", script)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(sql)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	if err := json.Unmarshal(out, &rows); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	return rows
}

// TestPandasExamples runs the Python of the docs with Debian's pandas.
func TestPandasExamples(t *testing.T) {
	if exec.Command("/usr/bin/python3", "-c", "import pandas").Run() != nil {
		t.Skip("pandas is not installed: run scripts/packages")
	}
	dir := t.TempDir()
	if _, err := formatNamed(t, "csv").WriteFolder(context.Background(), recorded(t), filepath.Join(dir, "tables-csv")); err != nil {
		t.Fatal(err)
	}
	for _, code := range examples(t, "python") {
		cmd := exec.Command("/usr/bin/python3", "-c", code)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil || bytes.Count(out, []byte("\n")) < 10 || bytes.Contains(out, []byte("NaN")) {
			t.Errorf("%v: %s", err, out)
		}
	}
}

// TestPromtool checks OpenMetrics with Prometheus's own tool.
func TestPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		if promtool, err = filepath.Abs("../../bin/promtool"); err == nil {
			_, err = os.Stat(promtool)
		}
	}
	if err != nil {
		t.Skip("promtool is not installed: run scripts/packages")
	}
	cmd := exec.Command(promtool, "check", "metrics")
	cmd.Stdin = bytes.NewReader(exported(t, "openmetrics", recorded(t)))
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}
