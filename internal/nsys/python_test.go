package nsys

import (
	"context"
	"strings"
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

// TestPythonOfEachGap: the gaps one by one, all or the longest, have the samples and
// modules that the groups of them have.
func TestPythonOfEachGap(t *testing.T) {
	f := openExport(t, "python")
	ctx := context.Background()
	groups, err := f.GapGroups(ctx, timeline.Query{WholeDevices: true})
	if err != nil {
		t.Fatal(err)
	}
	var want int64
	for _, g := range groups.Rows {
		for _, p := range g.Python {
			want += p.Samples
		}
	}
	for _, top := range []int{0, 10000} {
		gaps, err := f.StreamGaps(ctx, timeline.Query{WholeDevices: true, Top: top})
		if err != nil {
			t.Fatal(err)
		}
		var got int64
		hosts, first := 0, true
		for r := range gaps.Rows {
			if first && (len(r.Python) == 0 || r.Python[0].Function != "sdpa_attention_forward") {
				t.Errorf("longest gap: %+v", r)
			}
			first = false
			for _, p := range r.Python {
				got += p.Samples
			}
			if strings.HasPrefix(r.Host, "decode/step/LlamaForCausalLM") {
				hosts++
			}
		}
		if got != want || want == 0 || hosts == 0 {
			t.Errorf("top %d: %d samples, want %d; %d gaps with a module", top, got, want, hosts)
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
