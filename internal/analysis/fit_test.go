package analysis

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
)

const (
	graphCounters = "../ncurep/testdata/graph_node.ncu-rep.zst"
	graphTimeline = "../nsys/testdata/exports/graph_node.sqlite.gz"
	toyRanges     = "../ncurep/testdata/toy_range.ncu-rep.zst"
)

func warned(r *Result, code fact.Code) *Note {
	for i := range r.Warnings {
		if r.Warnings[i].Is(code) {
			return &r.Warnings[i]
		}
	}
	return nil
}

// TestOtherProgram: counters of another program stand by themselves.
func TestOtherProgram(t *testing.T) {
	r := analyzed(t, Input{Timelines: []string{unpacked(t, toyTimeline)}, Counters: []string{unpacked(t, graphCounters)}})
	if len(r.Warnings) == 0 || !r.Warnings[0].Is(programsDiffer) || r.Warnings[0].Text("timeline") != "./toy" || r.Warnings[0].Text("counters") != "python3 graph.py" {
		t.Fatalf("warnings %v", r.Warnings)
	}
	if first := r.FirstNotes(); len(first) != 1 || !first[0].Is(programsDiffer) {
		t.Errorf("first %v", first)
	}
	alone := 0
	for _, k := range r.Kernels {
		if k.Calls > 0 && k.Counted != nil {
			t.Errorf("%s has a time and counters", k.ID)
		}
		if k.Calls == 0 && k.Counted != nil {
			alone++
		}
	}
	if alone != 2 {
		t.Errorf("%d kernels with counters of their own", alone)
	}
	for _, g := range r.Regions {
		if g.Counters != nil {
			t.Errorf("region %s has counters of another program", g.Path)
		}
	}
}

// TestTimelinesOfOtherPrograms: the first lines say so, also of a third; ranks that
// their names tell apart belong together whatever they ran.
func TestTimelinesOfOtherPrograms(t *testing.T) {
	toy, graph := unpacked(t, toyTimeline), unpacked(t, graphTimeline)
	r := analyzed(t, Input{Timelines: []string{toy, graph}})
	first := r.FirstNotes()
	if len(first) != 1 || !first[0].Is(timelinesDiffer) || first[0].Text("program") != "./toy" || len(r.Unrelated()) != 1 {
		t.Fatalf("first %v", first)
	}
	if r := analyzed(t, Input{Timelines: []string{toy, copied(t, toy, "again.sqlite")}}); len(r.Unrelated()) != 0 {
		t.Errorf("one program: %v", r.Unrelated())
	}
	if r := analyzed(t, Input{Timelines: []string{copied(t, toy, "rank0.sqlite"), copied(t, graph, "rank1.sqlite")}}); len(r.Unrelated()) != 0 {
		t.Errorf("ranks of a job: %v", r.Unrelated())
	}
}

func copied(t *testing.T, path, name string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestForeignKernelsAreNotTheTimeline: a second report of another program is not
// held against the kernels of the first one, and ranges count no kernels.
func TestForeignKernelsAreNotTheTimeline(t *testing.T) {
	graph := unpacked(t, graphCounters)
	r := analyzed(t, Input{Timelines: []string{unpacked(t, toyTimeline)}, Counters: []string{graph, copied(t, graph, "again.ncu-rep")}})
	for _, n := range r.warningsOf(programsDiffer) {
		if n.Number("n") != 0 || n.Number("of") != 2 {
			t.Errorf("%s: the timeline is said to have %v of %v kernels", n.File, n.Number("n"), n.Number("of"))
		}
	}
	r = analyzed(t, Input{Timelines: []string{unpacked(t, graphTimeline)}, Counters: []string{unpacked(t, toyRanges)}})
	if n := warned(r, programsDiffer); n == nil || n.Number("of") != 0 {
		t.Errorf("a report of ranges alone: %v", n)
	}
}

// TestOtherArguments: counters of fewer tokens join by kernel, grid and block, and
// the rest is listed.
func TestOtherArguments(t *testing.T) {
	r := analyzed(t, Input{Timelines: []string{unpacked(t, llmTimeline)}, Counters: []string{unpacked(t, llmCounters)}})
	if warned(r, argumentsDiffer) == nil || warned(r, programsDiffer) != nil {
		t.Errorf("warnings %v", r.Warnings)
	}
	untimed, timed := 0, 0
	for _, k := range r.Kernels {
		switch {
		case k.Counted != nil && k.Calls == 0:
			untimed++
		case k.Counted != nil:
			timed++
		}
	}
	if timed == 0 {
		t.Error("nothing was joined")
	}
	switch n := warned(r, countersElsewhere); {
	case untimed == 0 && n != nil, untimed > 0 && (n == nil || n.Number("n") != float64(untimed)):
		t.Errorf("%d kernels are not in the timeline, listed %v", untimed, n)
	}
	same := analyzed(t, Input{Timelines: []string{unpacked(t, toyTimeline)}, Counters: []string{unpacked(t, toyCounters)}})
	if warned(same, argumentsDiffer) != nil || warned(same, programsDiffer) != nil || warned(same, countersElsewhere) != nil {
		t.Errorf("one program: warnings %v", same.Warnings)
	}
}

func TestComparePrograms(t *testing.T) {
	python := func(processes []string, command ...string) *program { return &program{command, processes} }
	py := []string{"python"}
	for _, c := range []struct {
		name           string
		counted, timed *program
		shared, same   float64
		want           fit
	}{
		{"equal", python(py, "python3", "a.py", "4"), python(py, "python3", "/x/a.py", "4"), 1, 1, fits},
		{"fewer tokens", python(py, "python3", "a.py", "2"), python(py, "python3", "a.py", "4"), 0.2, 1, otherArguments},
		{"another script", python(py, "python3", "b.py"), python(py, "python3", "a.py"), 0.2, 0.5, otherProgram},
		{"another binary that shares kernels", &program{[]string{"./b"}, []string{"b"}}, &program{[]string{"./a"}, []string{"a"}}, 1, 1, otherProgram},
		{"a process that renamed itself", python(py, "vllm", "serve"), &program{[]string{"/usr/bin/vllm", "serve"}, []string{"VLLM::EngineCore"}}, 1, 1, fits},
		{"no names, other kernels", &program{}, &program{[]string{"./a"}, []string{"a"}}, 0, 0, otherProgram},
		{"no names, its kernels", &program{}, &program{[]string{"./a"}, []string{"a"}}, 1, 1, fits},
	} {
		if got := c.counted.compare(c.timed, c.shared, c.same); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestTruncatedInputs: an analysis of cut files says first what is lost, or gives
// the numbers of the whole.
func TestTruncatedInputs(t *testing.T) {
	timeline, counters := unpacked(t, toyTimeline), unpacked(t, "../ncurep/testdata/toy_nest.ncu-rep.zst")
	whole := analyzed(t, Input{Timelines: []string{timeline}, Counters: []string{counters}})
	if len(whole.Incomplete()) > 0 {
		t.Fatalf("whole files lack %v", whole.Incomplete())
	}
	for _, cut := range []string{timeline, counters} {
		data, err := os.ReadFile(cut)
		if err != nil {
			t.Fatal(err)
		}
		for at := 1; at < 8; at++ {
			path := filepath.Join(t.TempDir(), filepath.Base(cut))
			if err := os.WriteFile(path, data[:len(data)*at/8], 0o600); err != nil {
				t.Fatal(err)
			}
			in := Input{Timelines: []string{path}, Counters: []string{counters}}
			if cut == counters {
				in = Input{Timelines: []string{timeline}, Counters: []string{path}}
			}
			r, err := Analyze(context.Background(), in)
			if err != nil {
				t.Errorf("%s cut at %d of 8: %v", cut, at, err)
				continue
			}
			if len(r.Incomplete()) == 0 || !r.Warnings[0].Is(inputLost, inputUnreadable) {
				t.Errorf("%s cut at %d of 8 says nothing first: %v", cut, at, r.Warnings)
			}
		}
	}
}
