package pipeline

import (
	"context"
	"testing"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
)

// TestAnnotationBlamed: annotation is turned off, and named as the cause, only
// where the step goes well without it.
func TestAnnotationBlamed(t *testing.T) {
	good := capture.Outcome{Kind: capture.Captured, Usable: true}
	empty := capture.Outcome{Kind: capture.MissingData}
	failed := capture.Outcome{Kind: capture.WorkloadFailed}
	for _, c := range []struct {
		name          string
		with, without capture.Outcome
		got           bool // annotation got into a process
		takes         int
		off           bool
	}{
		{"good", good, good, true, 1, false},
		{"fails with it", failed, good, false, 2, true},
		{"captures nothing with it", empty, good, true, 2, true},
		{"captures nothing either way", empty, empty, true, 2, false},
		{"uses neither torch nor CUDA", empty, empty, false, 1, false},
		{"fails either way", failed, failed, false, 2, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			store, err := runs.Create(t.TempDir(), runs.CreateOptions{Steps: []runs.Step{{Name: plan.StepUnprofiled}, {Name: plan.StepNsys}}})
			if err != nil {
				t.Fatal(err)
			}
			if err := store.StartStep(plan.StepUnprofiled); err != nil {
				t.Fatal(err)
			}
			if err := store.EndStep(plan.StepUnprofiled, runs.StateDone, fact.Fact{}); err != nil {
				t.Fatal(err)
			}
			if err := store.StartStep(plan.StepNsys); err != nil {
				t.Fatal(err)
			}
			p := &plan.Plan{}
			p.Pipeline.Annotate = "modules"
			p.Pipeline.Workload.Command = []string{"/bin/true"}
			j := &job{Options: Options{Say: func(string) {}}, plan: p, store: store, display: &display{show: func(string) {}}}
			takes := 0
			_, err = annotated(context.Background(), j, plan.StepNsys, func() (capture.Outcome, error) {
				if takes++; takes == 1 {
					if c.got {
						if err := store.WriteFile(runs.AnnotationOf(plan.StepNsys)+"/7.jsonl", []byte("{}\n")); err != nil {
							t.Error(err)
						}
					}
					return c.with, nil
				}
				return c.without, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if off := exists(store.Path(runs.AnnotateOff)); takes != c.takes || off != c.off {
				t.Errorf("taken %d times, annotation off: %v", takes, off)
			}
		})
	}
}
