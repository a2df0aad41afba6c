package nsys

import (
	"context"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/timeline"
)

// TestPythonSamples reads three decode steps of a Llama on an H200 that nsys 2025.3
// sampled. The file is cut to them: the range of decode as well, and paths of the
// program were changed.
func TestPythonSamples(t *testing.T) {
	f := openExport(t, "python")
	tl, err := f.Timeline(context.Background(), Everything)
	if err != nil {
		t.Fatal(err)
	}
	if len(tl.PythonSamples) != 165 || len(tl.Marks) != 0 {
		t.Fatalf("%d samples, %d marks", len(tl.PythonSamples), len(tl.Marks))
	}
	for _, stack := range tl.PythonStacks {
		if len(stack) == 0 || len(stack) > maxFrames || tl.Name(stack[0].Function) == "" || stack[0].Line < 1 {
			t.Errorf("stack %+v", stack)
		}
	}
	rows, err := f.GapGroups(context.Background(), timeline.Query{WholeDevices: true})
	if err != nil {
		t.Fatal(err)
	}
	first := rows.Rows[0]
	if first.Cause != "host" || len(first.Python) == 0 {
		t.Fatalf("%+v", first)
	}
	// Counted with SQL: this line was seen in 147 of the 165 samples, always while
	// no kernel ran.
	if p := first.Python[0]; p.Function != "sdpa_attention_forward" || p.Line != 158 || p.Samples != 147 ||
		p.Name() != "sdpa_attention_forward (transformers/integrations/sdpa_attention.py:158)" {
		t.Errorf("%+v", p)
	}
	for _, row := range rows.Rows {
		for _, p := range row.Python {
			if p.Name() == "" || p.Function == "call" {
				t.Errorf("%+v: the code of the annotation is not what ran", p)
			}
		}
	}
}

// TestPythonWithoutFrames: an export without --include-json has the moments alone.
func TestPythonWithoutFrames(t *testing.T) {
	f := openExport(t, "python_plain")
	rows, err := f.GapGroups(context.Background(), timeline.Query{WholeDevices: true})
	if err != nil {
		t.Fatal(err)
	}
	told := false
	for _, w := range rows.Warnings {
		told = told || w.Equal(fact.New(timeline.CodePythonBare, fact.Count("n", 165)))
	}
	if !told || rows.Rows[0].Python != nil {
		t.Errorf("%+v: %+v", rows.Warnings, rows.Rows[0])
	}
}
