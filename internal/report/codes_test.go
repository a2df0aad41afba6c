package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/compare"
	"github.com/deepprof/deepprof/internal/fixture"
	"github.com/deepprof/deepprof/internal/message"
)

// TestCodesOnly replaces every message by its code: results stay as they are to
// the byte, and every renderer still works.
func TestCodesOnly(t *testing.T) {
	tables := map[string]string{}
	for name, r := range cases(t) {
		tables[name] = tableShape(t, r)
	}
	before := map[string][]byte{}
	for name := range captures {
		before[name] = analyzeCaptures(t, name)
	}
	defer message.CodesOnly()()
	for name, want := range before {
		if got := analyzeCaptures(t, name); !bytes.Equal(got, want) {
			t.Errorf("the result of %s depends on words", name)
		}
	}
	for name, r := range cases(t) {
		for _, p := range pages {
			var b bytes.Buffer
			if err := p.Write(&b, r); err != nil {
				t.Errorf("%s of %s: %v", p.Name, name, err)
			}
			if strings.HasSuffix(p.Name, ".md") {
				checkMarkdown(t, b.String())
			}
		}
		if got := tableShape(t, r); got != tables[name] {
			t.Errorf("tables of %s depend on words: %s, with words %s", name, got, tables[name])
		}
		var b bytes.Buffer
		if err := Summary(&b, r, SummaryOptions{}); err != nil || b.Len() == 0 {
			t.Errorf("summary of %s: %v", name, err)
		}
	}
	r := &analysis.Result{}
	if err := json.Unmarshal(before["toy"], r); err != nil {
		t.Fatal(err)
	}
	if text := page(t, WriteReport, r); !bytes.Contains([]byte(text), []byte(analysis.NoBaseline)) {
		t.Error("a missing value does not show as its code")
	}
}

// tableShape is what JSON and CSV of the tables of a result hold besides words:
// keys, numbers and how many rows.
func tableShape(t *testing.T, r *analysis.Result) string {
	t.Helper()
	var out strings.Builder
	for _, of := range []func(*analysis.Result) Printable{Stages, Operators, RooflinePoints, Requests, Samples} {
		out.WriteString(shapeOf(t, func() Printable { return of(r) }))
	}
	return out.String()
}

// shapeOf writes a table in every way that there is.
func shapeOf(t *testing.T, table func() Printable) string {
	t.Helper()
	var object, rows, others bytes.Buffer
	if err := errors.Join(table().WriteJSON(&object), table().WriteCSV(&rows), table().WriteMarkdown(&others), table().WriteText(&others, 100), table().WritePage(&others)); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&rows).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintln(len(lines), lines[0], fixture.Shape(t, object.Bytes()))
}

// TestCodesOnlyOfComparisons does the same for two sides and a gate with rules of
// every outcome. The sides are a real result and copies with times that are made up.
func TestCodesOnlyOfComparisons(t *testing.T) {
	side := func(slower float64) (runs []compare.Run) {
		for i := range 5 {
			r := recorded(t, "llm")
			for j := range r.Kernels {
				r.Kernels[j].TotalNS = int64(float64(r.Kernels[j].TotalNS) * slower * (1 + float64(i)/1000))
			}
			runs = append(runs, compare.Run{Name: fmt.Sprint("made-up-", i), Result: r})
		}
		return runs
	}
	made := func() *compare.Comparison {
		c, err := compare.Compare(side(1), side(1.2), compare.Options{})
		if err != nil {
			t.Fatal(err)
		}
		rules, err := compare.ParseRules([]byte("rules: [launches:decode <= 0, kernel:regex:..time < +10%, kernel:regex:..time < +20%]"))
		if err == nil {
			err = c.Apply(rules)
		}
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	want := made()
	// Names of rows are those of kernels, with the words and the grid that tell them apart.
	for place, text := range fixture.OwnWords(t, marshal(t, want), marshal(t, side(1)), "name", "was") {
		if !strings.HasPrefix(place, ".gate.") { // its rules are the user's
			t.Errorf("%s holds the text %q", place, text)
		}
	}
	before, rows := marshal(t, want), shapeOf(t, func() Printable { return CompareRowView.Table(want.Rows) })
	sections := len(CompareSections(want))
	outcomes := map[compare.Outcome]bool{}
	for _, r := range want.Gate.Rules {
		for _, c := range r.Checks {
			outcomes[c.Outcome] = true
		}
	}
	if len(outcomes) != 3 {
		t.Fatalf("the rules have the outcomes %v", outcomes)
	}
	defer message.CodesOnly()()
	c := made()
	if !bytes.Equal(marshal(t, c), before) {
		t.Error("the comparison depends on words")
	}
	if got := shapeOf(t, func() Printable { return CompareRowView.Table(c.Rows) }); got != rows {
		t.Errorf("rows depend on words: %s, with words %s", got, rows)
	}
	if got := len(CompareSections(c)); got != sections || CompareTitle(c) == "" || CompareHead(c) == "" {
		t.Errorf("%d sections, with words %d", got, sections)
	}
	text := func(w io.Writer, c *compare.Comparison) error {
		return CompareText(w, c, CompareOptions{Width: 100, All: true})
	}
	for i, write := range []func(io.Writer, *compare.Comparison) error{text, CompareMarkdown, GateJUnit, GateGitHub, GateGitLab} {
		var b bytes.Buffer
		if err := write(&b, c); err != nil || b.Len() == 0 {
			t.Errorf("renderer %d: %d bytes, %v", i, b.Len(), err)
		}
	}
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
