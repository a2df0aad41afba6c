package pipeline

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
)

func TestStateOf(t *testing.T) {
	for _, c := range []struct {
		kind   capture.Kind
		usable bool
		want   runs.State
	}{
		{capture.Captured, true, runs.StateDone},
		{capture.MissingData, true, runs.StateDone},
		{capture.MissingData, false, runs.StateFailed},
		{capture.TimedOut, true, runs.StateFailed},
		{capture.Stalled, true, runs.StateFailed},
		{capture.HungCollective, true, runs.StateFailed},
		{capture.Interrupted, true, runs.StateInterrupted},
		{capture.Permission, false, runs.StateFailed},
	} {
		o := capture.Outcome{Kind: c.kind, Usable: c.usable}
		if got := o.State(); got != c.want {
			t.Errorf("%s, usable %v: %s, want %s", c.kind, c.usable, got, c.want)
		}
	}
}

func TestUntilInterrupted(t *testing.T) {
	keys := make(chan os.Signal, 1)
	if err := tool.UntilInterrupted(context.Background(), keys, func(context.Context) error { return nil }); err != nil {
		t.Errorf("undisturbed: %v", err)
	}
	err := tool.UntilInterrupted(context.Background(), keys, func(ctx context.Context) error {
		keys <- os.Interrupt
		<-ctx.Done()
		return errors.New("something broke")
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if err := tool.UntilInterrupted(gone, keys, func(context.Context) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("context ended: %v", err)
	}
}

// TestInterruptBetweenSteps: the next step does not start, and a resumed run
// does it.
func TestInterruptBetweenSteps(t *testing.T) {
	started := func(context.Context, *job) (capture.Outcome, error) {
		t.Error("the step was started")
		return capture.Outcome{}, nil
	}
	list := []step{
		{name: plan.StepUnprofiled, enabled: func(*plan.Plan) bool { return false }, run: started},
		{name: plan.StepNsys, enabled: always, run: started},
	}
	store, err := runs.Create(t.TempDir(), runs.CreateOptions{Steps: planned(list)})
	if err != nil {
		t.Fatal(err)
	}
	keys := make(chan os.Signal, 1)
	keys <- os.Interrupt
	j := &job{Options: Options{Interrupts: keys, Say: func(string) {}}, plan: &plan.Plan{}, steps: list, store: store, display: &display{}}
	s, err := (&execution{job: j, summary: &Summary{}}).run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	m := store.Manifest()
	if m.Status != runs.StatusInterrupted || s.Status != runs.StatusInterrupted || m.Step(plan.StepNsys).State != runs.StatePending {
		t.Errorf("run %s (%s), nsys %s", m.Status, s.Status, m.Step(plan.StepNsys).State)
	}
}

// TestInterruptReport: one interrupt ends a step that starts no workload, and
// the run says so.
func TestInterruptReport(t *testing.T) {
	keys := make(chan os.Signal, 1)
	list := []step{{name: plan.StepReport, enabled: always, quick: true, run: func(ctx context.Context, _ *job) (capture.Outcome, error) {
		keys <- os.Interrupt
		<-ctx.Done()
		return capture.Outcome{}, ctx.Err()
	}}}
	store, err := runs.Create(t.TempDir(), runs.CreateOptions{Steps: planned(list)})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.WriteFile("ncu/run.ncu-rep", []byte("x")); err != nil {
		t.Fatal(err)
	}
	j := &job{Options: Options{Interrupts: keys, Say: func(string) {}}, plan: &plan.Plan{}, steps: list, store: store, display: &display{}}
	s, err := (&execution{job: j, summary: &Summary{}}).run(context.Background())
	if err != nil || s.Status != runs.StatusInterrupted || len(s.Steps) != 1 || s.Steps[0].State != runs.StateInterrupted {
		t.Errorf("%+v, %v", s, err)
	}
}
