package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/show"
)

// TestRawCSV: --raw reaches the table behind the answer of a view.
func TestRawCSV(t *testing.T) {
	formula := "=1+1"
	for raw, want := range map[bool]string{false: "'=1+1", true: "=1+1"} {
		table := &report.Table[string]{Rows: func(yield func(*string) bool) { yield(&formula) }}
		table.Columns = []report.Column[string]{{Key: "name", Value: func(s *string) any { return *s }}}
		var out bytes.Buffer
		o := output{csv: true, raw: raw}
		if err := o.answer(streams{&out, io.Discard}, &show.Answer{Printable: table}); err != nil {
			t.Fatal(err)
		}
		if lines := strings.Fields(out.String()); len(lines) != 2 || lines[1] != want {
			t.Errorf("raw %v: %q", raw, lines)
		}
	}
}
