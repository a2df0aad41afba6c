package pipeline

import (
	"context"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/report/folder"
	"github.com/deepprof/deepprof/internal/runs"
)

// TestFirstAnswer: the timeline alone gives a whole report that says what it
// lacks; the report at the end replaces it, and the manifest vouches for that one.
func TestFirstAnswer(t *testing.T) {
	j, _ := counting(t, func(*plan.Pipeline) {})
	var said []string
	j.Say = func(line string) { said = append(said, line) }
	step := func(name string, run func(context.Context, *job) (made, error)) *analysis.Result {
		t.Helper()
		if err := j.store.StartStep(name); err != nil {
			t.Fatal(err)
		}
		m, err := run(context.Background(), j)
		if err != nil || m.result == nil {
			t.Fatalf("%+v, %v", m, err)
		}
		if err := j.store.EndStep(name, runs.StateDone, fact.Fact{}); err != nil {
			t.Fatal(err)
		}
		if !exists(j.store.Path(folder.PageFile)) {
			t.Error("there is no page")
		}
		if bad, err := runs.Verify(context.Background(), j.store); err != nil || len(bad) > 0 {
			t.Errorf("%v, %v", bad, err)
		}
		return m.result
	}
	first := step(plan.StepFirstAnswer, firstAnswer)
	if !first.Preliminary || len(first.FirstNotes()) == 0 || !first.FirstNotes()[0].Is(analysis.Preliminary) {
		t.Errorf("first notes %+v", first.FirstNotes())
	}
	if len(said) < 2 || !strings.Contains(said[0], folder.PageFile) {
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
	if err != nil || m.result != nil || m.What.Code != noFirstAnswer {
		t.Errorf("%+v, %v", m, err)
	}
}
