package pipeline

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
)

// TestFirstAnswer: the timeline alone gives a whole report that says what it
// lacks; the report at the end replaces it, and the manifest vouches for that one.
func TestFirstAnswer(t *testing.T) {
	j, _ := counting(t, func(*plan.Pipeline) {})
	var said []string
	j.Say = func(line string) { said = append(said, line) }
	step := func(name string, run func(context.Context, *job) (capture.Outcome, error)) *analysis.Result {
		t.Helper()
		if err := j.store.StartStep(name); err != nil {
			t.Fatal(err)
		}
		o, err := run(context.Background(), j)
		if err != nil || j.result == nil {
			t.Fatalf("%+v, %v", o, err)
		}
		if err := j.store.EndStep(name, runs.StateDone, fact.Fact{}); err != nil {
			t.Fatal(err)
		}
		if !j.store.Has(runs.PageName) {
			t.Error("there is no page")
		}
		if bad, err := runs.Verify(context.Background(), j.store); err != nil || len(bad) > 0 {
			t.Errorf("%v, %v", bad, err)
		}
		return j.result
	}
	first := step(plan.StepFirstAnswer, firstAnswer)
	if !first.Preliminary || len(first.FirstNotes()) == 0 || !first.FirstNotes()[0].Is(analysis.Preliminary) {
		t.Errorf("first notes %+v", first.FirstNotes())
	}
	if len(said) < 2 || !strings.Contains(said[0], runs.PageName) {
		t.Errorf("said %q", said)
	}
	last := step(plan.StepReport, report)
	if last.Preliminary || len(last.FirstNotes()) > 0 {
		t.Errorf("the report: %+v", last.FirstNotes())
	}
	m := j.store.Manifest()
	if n := len(m.Step(plan.StepFirstAnswer).Files()); n != 0 {
		t.Errorf("%d files are still said to be of the first answer", n)
	}
}

// TestNoFirstAnswer: without a timeline there is nothing to say before the end.
func TestNoFirstAnswer(t *testing.T) {
	store, err := runs.Create(t.TempDir(), runs.CreateOptions{Steps: []runs.Step{{Name: plan.StepNsys}, {Name: plan.StepFirstAnswer}}})
	if err != nil {
		t.Fatal(err)
	}
	j := &job{store: store}
	j.Say = func(line string) { t.Errorf("said %q", line) }
	m, err := firstAnswer(context.Background(), j)
	if err != nil || j.result != nil || m.What.Code != noFirstAnswer {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestInterruptAfterFirstAnswer: Ctrl-C while ncu counts leaves the report of the
// timeline whole, and the run can go on.
func TestInterruptAfterFirstAnswer(t *testing.T) {
	keys := make(chan os.Signal, 1)
	j, dir := counting(t, func(p *plan.Pipeline) { p.Nsys.Enable = true }, `echo "==PROF== Connected to process 4242 (/usr/bin/true)"
trap 'exit 130' INT TERM
touch "$here/asked"
while :; do sleep 0.1; done
`)
	j.Interrupts = keys
	for _, s := range stepsOf(j.plan) {
		if s.name == plan.StepFirstAnswer || s.name == plan.StepNcu || s.name == plan.StepReport {
			j.steps = append(j.steps, s)
		}
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		for !exists(filepath.Join(dir, "asked")) {
			select {
			case <-done:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
		keys <- os.Interrupt
	}()
	s, err := (&execution{job: j, summary: &Summary{}}).run(context.Background())
	if err != nil || s.Status != runs.StatusInterrupted {
		t.Fatalf("%+v, %v", s, err)
	}
	m := j.store.Manifest()
	for name, want := range map[string]runs.State{plan.StepFirstAnswer: runs.StateDone, plan.StepNcu: runs.StateInterrupted, plan.StepReport: runs.StatePending} {
		if got := m.Step(name).State; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	text, err := os.ReadFile(j.store.Path("result.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r analysis.Result
	if err := json.Unmarshal(text, &r); err != nil || len(r.Findings) == 0 || len(r.Stages) == 0 || !r.Preliminary {
		t.Errorf("%d findings, %d stages, preliminary %v: %v", len(r.Findings), len(r.Stages), r.Preliminary, err)
	}
	if len(r.Missing) == 0 || !slices.ContainsFunc(r.Missing, func(n analysis.Note) bool { return n.Is(analysis.CountersAhead) && n.Text("dir") == j.store.Dir() }) {
		t.Errorf("what is missing: %+v", r.Missing)
	}
	for _, name := range []string{runs.PageName, "report.md"} {
		if !j.store.Has(name) {
			t.Errorf("there is no %s", name)
		}
	}
	if bad, err := runs.Verify(context.Background(), j.store); err != nil || len(bad) > 0 {
		t.Errorf("%v, %v", bad, err)
	}
}

// TestWithoutCounters: a run that stops after the timeline says for which stages
// counters would not change the advice.
func TestWithoutCounters(t *testing.T) {
	j, _ := counting(t, func(p *plan.Pipeline) { p.Nsys.Enable, p.Ncu.Enable = true, false })
	if err := j.store.WriteFile("nsys/run.sqlite", recordedTimeline(t, "llm")); err != nil {
		t.Fatal(err)
	}
	if err := j.store.AddFiles(context.Background(), plan.StepNsys, "nsys/run.sqlite"); err != nil {
		t.Fatal(err)
	}
	if err := j.store.SkipStep(plan.StepNcu, fact.New(stepOff)); err != nil {
		t.Fatal(err)
	}
	if err := j.store.StartStep(plan.StepReport); err != nil {
		t.Fatal(err)
	}
	o, err := report(context.Background(), j)
	if err != nil || j.result == nil {
		t.Fatalf("%+v, %v", o, err)
	}
	notes := j.result.FirstNotes()
	if len(notes) != 1 || !notes[0].Is(analysis.CountersKeepAdvice) || !slices.Contains(notes[0].Params["stages"].List, "decode") {
		t.Errorf("first notes %+v", notes)
	}
	if !slices.ContainsFunc(j.result.Missing, func(n analysis.Note) bool { return n.Is(analysis.NoCounters) }) {
		t.Errorf("what is missing: %+v", j.result.Missing)
	}
}

// TestLiveLine shows the step, what it does, what it will take, and what will be
// known then.
func TestLiveLine(t *testing.T) {
	p := &plan.Plan{}
	p.Pipeline.Unprofiled.Enable, p.Pipeline.Nsys.Enable, p.Pipeline.Ncu.Enable = true, true, true
	var shown string
	d := &display{show: func(line string) { shown = line }}
	for _, s := range stepsOf(p) {
		if s.name == plan.StepNsys {
			d.start(s, stepsOf(p), p, 20*time.Second)
			d.line("nsys 3 s")
		}
	}
	for _, want := range []string{"[", "/", "] nsys 3 s", "20s", "where the time goes"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q lacks %q", shown, want)
		}
	}
	if d.now < 2 || d.of <= d.now {
		t.Errorf("step %d of %d", d.now, d.of)
	}
}
