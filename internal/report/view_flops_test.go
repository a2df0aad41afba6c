package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/flops"
	"github.com/deepprof/deepprof/internal/message"
)

// unknownModel is a count with a warning and assumptions.
func unknownModel(t *testing.T) *flops.Report {
	t.Helper()
	m, err := flops.ParseMap(map[string]any{"model_type": "newmodel", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100, "wild_gate": true})
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.Count(flops.Shape{Prompt: 8, New: 2})
	if err != nil || len(r.Warnings) == 0 || len(r.Assumptions) == 0 {
		t.Fatalf("%v, %+v", err, r)
	}
	return &r
}

// What a count rests on and what it lacks stands in every format, once.
func TestFLOPsNotes(t *testing.T) {
	r := unknownModel(t)
	facts := append(append([]fact.Fact{}, r.Warnings...), r.Assumptions...)
	var text, md, asJSON, asCSV bytes.Buffer
	terminal := FLOPs(r)
	if err := terminal.WriteText(&text, 0); err != nil {
		t.Fatal(err)
	}
	foot := strings.Join(terminal.Footnotes(), "\n")
	for _, f := range []func() error{func() error { return FLOPs(r).WriteMarkdown(&md) }, func() error { return FLOPs(r).WriteJSON(&asJSON) }, func() error { return FLOPs(r).WriteCSV(&asCSV) }} {
		if err := f(); err != nil {
			t.Fatal(err)
		}
	}
	var object struct {
		Warnings []string
		Notes    []struct {
			Kind string
			fact.Fact
		}
	}
	if err := json.Unmarshal(asJSON.Bytes(), &object); err != nil || len(object.Warnings) != len(r.Warnings) || len(object.Notes) != len(facts) {
		t.Fatalf("%v: %+v", err, object)
	}
	rows, err := csv.NewReader(&asCSV).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	rows = rows[len(rows)-len(facts):]
	for i, f := range facts {
		said := message.Text(f)
		if strings.Count(foot, said) != 1 || strings.Count(md.String(), prose(said)) != 1 {
			t.Errorf("%q is not told once", said)
		}
		kind := "warning"
		if i >= len(r.Warnings) {
			kind = "assumption"
		}
		if n := object.Notes[i]; n.Kind != kind || !n.Equal(f) {
			t.Errorf("note %+v, want %s %+v", n, kind, f)
		}
		if row := rows[i]; row[0] != kind || row[1] != string(f.Code) || row[2] != "" || row[len(row)-1] != said {
			t.Errorf("row %q", row)
		}
	}
}
