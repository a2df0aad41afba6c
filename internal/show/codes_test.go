package show

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fixture"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/report"
)

// TestCodesOnly asks every view of every kind of file, with words and with every
// message replaced by its code: the same views answer, with the same keys, numbers
// and rows, and every renderer works.
func TestCodesOnly(t *testing.T) {
	dir := t.TempDir()
	inputs := [][]string{{"toy.sqlite"}, {"llm.sqlite"}, {"toy.ncu-rep"}, {"config.json"}, {"llm.sqlite", "llm.ncu-rep"}}
	for name, path := range map[string]string{
		"toy.sqlite": "../nsys/testdata/exports/toy.sqlite.gz", "toy.ncu-rep": "../ncurep/testdata/toy_full.ncu-rep.zst",
		"llm.sqlite": "../../testdata/h200/llm.sqlite.gz", "llm.ncu-rep": "../../testdata/h200/llm.ncu-rep.gz",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), fixture.Read(t, path), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	model, err := os.ReadFile("../flops/testdata/models/small/gpt2_inner.json")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "config.json"), model, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	answers := func() (shapes map[string]string, answered map[string]bool) {
		shapes, answered = map[string]string{}, map[string]bool{}
		analyze := analyzeOnce()
		for _, v := range Views() {
			for _, names := range inputs {
				if len(names) > 1 && !v.Many {
					continue
				}
				for _, all := range []bool{false, true} {
					shape, err := shapeOf(t, &v, dir, names, all, analyze)
					if err == nil {
						answered[v.Name] = true
					}
					shapes[fmt.Sprint(v.Name, names, all)] = fmt.Sprintf("%s %T", shape, err)
				}
			}
		}
		return shapes, answered
	}
	words, answered := answers()
	for _, v := range Views() {
		if !answered[v.Name] {
			t.Errorf("no file has an answer of %s", v.Name)
		}
	}
	defer message.CodesOnly()()
	codes, _ := answers()
	for name, want := range words {
		if got := codes[name]; got != want {
			t.Errorf("%s depends on words:\n%.2000s\nwith words\n%.2000s", name, got, want)
		}
	}
}

// analyzeOnce keeps the results: most views ask for the same.
func analyzeOnce() Analyzer {
	made := map[string]*analysis.Result{}
	return func(ctx context.Context, command string, paths []string) (r *analysis.Result, err error) {
		key := strings.Join(paths, " ")
		if made[key] == nil {
			made[key], err = analyzeFiles(ctx, command, paths)
		}
		return made[key], err
	}
}

// shapeOf is what an answer holds besides words.
func shapeOf(t *testing.T, v *View, dir string, names []string, all bool, analyze Analyzer) (string, error) {
	t.Helper()
	var object, rows, others bytes.Buffer
	notes := 0
	for _, write := range []func(report.Printable) error{
		func(p report.Printable) error { return p.WriteJSON(&object) },
		func(p report.Printable) error { return p.WriteCSV(&rows) },
		func(p report.Printable) error { return p.WriteMarkdown(&others) },
		func(p report.Printable) error { return p.WriteText(&others, 0) },
		func(p report.Printable) error { return p.WritePage(&others) },
	} {
		r := NewRequest()
		r.All, r.Top, r.Analyze = all, 50, analyze
		for _, name := range names {
			r.Paths = append(r.Paths, filepath.Join(dir, name))
		}
		a, err := v.Answer(context.Background(), r)
		if err != nil {
			return "", err
		}
		err = write(a)
		after, lost := a.After()
		notes += len(a.Footnotes()) + len(after)
		a.Close()
		if err := errors.Join(err, lost); err != nil {
			t.Fatalf("%s of %v: %v", v.Name, names, err)
		}
	}
	lines, err := csv.NewReader(&rows).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(len(lines), lines[0], notes, fixture.Shape(t, object.Bytes())), nil
}
