package analysis

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/timeline"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/workload"
)

// annotatedRun is a run directory around the recorded toy program, with the side
// files of processes by their number: synthetic, as the toy is no Python program.
func annotatedRun(t *testing.T, side map[string]string, steps ...runs.Step) string {
	t.Helper()
	dir := toyRun(t, "1", "0.1")
	write := func(name string, data []byte) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for pid, lines := range side {
		write(annotationFolder+"/"+pid+".jsonl", []byte(lines))
	}
	p := &plan.Plan{}
	p.Pipeline.Annotate = "auto"
	stored, err := plan.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	write(runs.PlanName, stored)
	m, err := json.Marshal(runs.Manifest{Schema: 2, ID: "20260101T000007Z-1-000000000007", Status: runs.StatusDone, Created: time.Unix(1e9, 0).UTC(), Steps: append(steps, runs.Step{Name: plan.StepNsys, State: runs.StateDone})})
	if err != nil {
		t.Fatal(err)
	}
	write("run.json", m)
	return dir
}

func timedStep(name string, seconds ...float64) runs.Step {
	s := runs.Step{Name: name, State: runs.StateDone}
	for _, x := range seconds {
		s.Attempts = append(s.Attempts, runs.Attempt{Seconds: &x, Outcome: &runs.Outcome{Kind: "captured", Usable: true}})
	}
	return s
}

func factOf(facts []fact.Fact, code fact.Code) (fact.Fact, bool) {
	i := slices.IndexFunc(facts, func(f fact.Fact) bool { return f.Code == code })
	if i < 0 {
		return fact.Fact{}, false
	}
	return facts[i], true
}

func TestAnnotationFacts(t *testing.T) {
	on := `{"on":"auto"}` + "\n" + `{"range":["prefill"]}` + "\n" + `{"range":["prefill","mlp"]}` + "\n" + `{"step":0,"stage":"prefill","batch":1}` + "\n"
	for _, c := range []struct {
		name  string
		side  map[string]string
		steps []runs.Step
		want  map[fact.Code]map[string]float64
	}{
		{"one process", map[string]string{"7": on}, nil, map[fact.Code]map[string]float64{annotatedProcess: {"regions": 2, "steps": 1}}},
		{"cut off", map[string]string{"7": on + `{"limited":30000,"depth":4}` + "\n"}, nil, map[fact.Code]map[string]float64{annotatedProcess: {"regions": 2}, annotationLimited: {"depth": 4}}},
		{"no NVTX", map[string]string{"7": `{"off":"no-nvtx"}`}, nil, map[fact.Code]map[string]float64{annotationNoNVTX: nil}},
		{"failed inside", map[string]string{"7": `{"off":"error","error":"x"}`}, nil, map[fact.Code]map[string]float64{annotationError: nil}},
		{"nobody imported torch", nil, nil, map[fact.Code]map[string]float64{annotationNothing: nil}},
		{"cost", map[string]string{"7": on}, []runs.Step{timedStep(plan.StepUnprofiled, 10, 10.2, 9.8), timedStep(plan.StepAnnotateCost, 11, 11.1, 10.9)},
			map[fact.Code]map[string]float64{annotatedProcess: nil, annotationCost: {"cost": 1e9, "n": 3, "without_high": 10.2e9}}},
		{"cost in the noise", map[string]string{"7": on}, []runs.Step{timedStep(plan.StepUnprofiled, 10, 11), timedStep(plan.StepAnnotateCost, 10.5, 11.5)},
			map[fact.Code]map[string]float64{annotatedProcess: nil, annotationInNoise: {"n": 2}}},
		{"one run has no noise to tell", map[string]string{"7": on}, []runs.Step{timedStep(plan.StepUnprofiled, 10), timedStep(plan.StepAnnotateCost, 11)},
			map[fact.Code]map[string]float64{annotatedProcess: nil, annotationCostOnce: {"with": 11e9}}},
		{"cost without a time", map[string]string{"7": on}, []runs.Step{timedStep(plan.StepAnnotateCost, 11)},
			map[fact.Code]map[string]float64{annotatedProcess: nil, annotationNoCost: nil}},
	} {
		facts, err := AnnotationFacts(annotatedRun(t, c.side, c.steps...))
		if err != nil || len(facts) != len(c.want) {
			t.Errorf("%s: %v, %v", c.name, facts, err)
		}
		for code, numbers := range c.want {
			f, ok := factOf(facts, code)
			if !ok {
				t.Errorf("%s: no %s", c.name, code)
			}
			for key, want := range numbers {
				if got := f.Number(key); got < want*0.999999 || got > want*1.000001 {
					t.Errorf("%s: %s %s is %v, want %v", c.name, code, key, got, want)
				}
			}
		}
	}
	if facts, err := AnnotationFacts(toyRun(t, "1", "0.1")); len(facts) != 0 || err != nil {
		t.Errorf("a run without annotation: %v, %v", facts, err)
	}
}

func TestResultTellsOfAnnotation(t *testing.T) {
	dir := annotatedRun(t, map[string]string{"7": `{"on":"auto"}` + "\n" + `{"range":["prefill"]}` + "\n"})
	in, err := FromRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := analyzed(t, in)
	var facts []fact.Fact
	for _, n := range r.Method.Annotation {
		facts = append(facts, n.Fact)
	}
	f, ok := factOf(facts, annotatedRanges)
	if want := regionAt(t, r, "prefill").Instances; !ok || int64(f.Number("n")) != want || f.Number("of") <= float64(want) {
		t.Errorf("%v, want %d ranges", facts, want)
	}
}

// A process that ran kernels of PyTorch and left no side file was not annotated:
// synthetic, process 1 of the scene.
func TestProcessesThatAnnotationDidNotReach(t *testing.T) {
	s := repeating()
	plain := s.timeline()
	for i := range s.kernels[:5] {
		s.kernels[i].name = "void at::native::vectorized_elementwise_kernel<4>"
	}
	torch := s.timeline()
	told := func(pids ...int) (a workload.Annotated) {
		for _, pid := range pids {
			a.Processes = append(a.Processes, workload.AnnotatedProcess{PID: pid})
		}
		return a
	}
	left := func(t *timeline.Timeline, told workload.Annotated) []fact.Fact {
		at := t.Attribute()
		return keptOut(t, at.Tape(at, nil).Kinds, told)
	}
	if facts := left(torch, told()); len(facts) != 1 || facts[0].Code != annotationKeptOut || facts[0].Text("pid") != "1" || facts[0].Number("launches") != 5 {
		t.Errorf("no side file: %v", facts)
	}
	for name, facts := range map[string][]fact.Fact{
		"annotated": left(torch, told(1)), "numbers of another namespace": left(torch, told(4711)), "no PyTorch": left(plain, told()),
	} {
		if len(facts) != 0 {
			t.Errorf("%s: %v", name, facts)
		}
	}
}

// A forked worker leaves a side file, and nothing in the timeline: synthetic, process
// 1 of the scene and a process 2 beside it.
func TestAnnotatedProcessesThatAreNotTraced(t *testing.T) {
	tl := repeating().timeline()
	opened := func(pid int) workload.AnnotatedProcess {
		return workload.AnnotatedProcess{PID: pid, Paths: []workload.AnnotatedPath{{Names: []string{"prefill"}}}}
	}
	idle := workload.AnnotatedProcess{PID: 3} // imported torch, called no module
	for name, c := range map[string]struct {
		told []workload.AnnotatedProcess
		want []int
	}{
		"forked":                       {[]workload.AnnotatedProcess{opened(1), opened(2), idle}, []int{2}},
		"traced":                       {[]workload.AnnotatedProcess{opened(1)}, nil},
		"numbers of another namespace": {[]workload.AnnotatedProcess{opened(4711)}, nil},
	} {
		if got := untraced(tl, workload.Annotated{Processes: c.told}); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
