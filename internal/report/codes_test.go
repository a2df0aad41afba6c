package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/analysis"
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
		for _, p := range pages() {
			var b bytes.Buffer
			if err := p.Write(&b, r); err != nil {
				t.Errorf("%s of %s: %v", p.Name, name, err)
			}
			checkMarkdown(t, b.String())
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
	for _, p := range []func() Printable{func() Printable { return Stages(r) }, func() Printable { return Operators(r) }, func() Printable { return RooflinePoints(r) }} {
		var object, rows bytes.Buffer
		if err := errors.Join(p().WriteJSON(&object), p().WriteCSV(&rows)); err != nil {
			t.Fatal(err)
		}
		lines, err := csv.NewReader(&rows).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		var tree struct{ Rows []map[string]any }
		if err := json.Unmarshal(object.Bytes(), &tree); err != nil {
			t.Fatal(err)
		}
		for _, row := range tree.Rows {
			for key, v := range row {
				if _, ok := v.(string); ok {
					row[key] = ""
				}
			}
		}
		fmt.Fprintln(&out, len(lines), lines[0], tree.Rows)
	}
	return out.String()
}
