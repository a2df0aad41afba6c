package analysis

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/columns"
)

// withTapes analyzes a file in each of the ways that its events can take to the tape, and into
// memory or a file.
func withTapes(t *testing.T, path string, o func(*Input)) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, way := range []string{"flow", "memory", "file"} {
		in, err := fromFiles(path)
		if err != nil {
			t.Fatal(err)
		}
		o(&in)
		old := columns.MostMemory
		if way == "file" {
			columns.MostMemory = 0
		}
		noFlow = way == "memory"
		r, err := Analyze(t0(), in)
		columns.MostMemory, noFlow = old, false
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		detail, err := json.Marshal(r.Overview.Detail)
		if err != nil {
			t.Fatal(err)
		}
		out[way] = string(text) + "\n" + string(detail)
	}
	return out
}

// TestWaysToTape: the result is the same whether a timeline comes to the tape in a flow or from
// memory, and wherever the tape lies.
func TestWaysToTape(t *testing.T) {
	list, err := filepath.Glob("../nsys/testdata/exports/*.sqlite.gz")
	if err != nil || len(list) < 10 {
		t.Fatal(list, err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	for _, fixture := range append(list, llmTimeline) {
		path := unpacked(t, fixture)
		for name, o := range map[string]func(*Input){"default": func(*Input) {}, "whole": func(in *Input) { in.DefaultScope = false }} {
			got := withTapes(t, path, o)
			for _, way := range []string{"memory", "file"} {
				if got[way] == got["flow"] {
					continue
				}
				x, y := strings.Split(got["flow"], ","), strings.Split(got[way], ",")
				for i := range min(len(x), len(y)) {
					if x[i] != y[i] {
						t.Errorf("%s, %s: a flow gives %s after %s, %s %s", filepath.Base(fixture), name, x[i], strings.Join(x[max(0, i-8):i], ","), way, y[i])
						break
					}
				}
			}
		}
	}
}
