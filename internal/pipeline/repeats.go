package pipeline

import (
	"context"
	"fmt"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
)

// runRepeats makes the unprofiled run and the timeline again in new processes. Each
// repeat is a run of its own within the run, so that everything that reads a run
// reads a repeat.
func runRepeats(ctx context.Context, j *job) (made, error) {
	o := capture.Outcome{Kind: capture.Captured, What: fact.New(repeatsDone), Usable: true}
	for n := 2; n <= j.plan.Pipeline.Repeats; n++ {
		summary, err := j.again(ctx, j.repeat(n))
		if err != nil {
			return made{Outcome: o}, err
		}
		switch summary.Status {
		case runs.StatusDone:
		case runs.StatusInterrupted:
			o.Kind, o.What, o.Usable = capture.Interrupted, fact.New(repeatStopped, fact.Count("n", n)), false
			return made{Outcome: o}, nil
		default:
			o.Kind, o.What, o.Usable = capture.WorkloadFailed, fact.New(repeatFailed, fact.Count("n", n), fact.File("dir", summary.Dir)), false
			return made{Outcome: o}, nil
		}
	}
	return made{Outcome: o}, capture.StoreWork(ctx, j.store, plan.StepRepeats, o)
}

// repeat is the job of the n-th process: what is repeated and nothing else.
func (j *job) repeat(n int) Options {
	p := *j.plan
	p.Pipeline.Repeats, p.Pipeline.Ncu.Enable, p.Pipeline.TorchProfiler.Enable, p.Pipeline.DirectInference.Enable = 1, false, false, false
	p.Pipeline.AnnotateCost, p.Pipeline.StaticAnalysis.TorchFlopCounter = false, false
	o := j.Options
	o.Plan, o.Dir, o.Recording, o.Files = &p, j.store.Path(runs.RepeatDir(n)), "", nil
	head := fmt.Sprintf("repeat %d of %d: ", n, j.plan.Pipeline.Repeats)
	if j.Say != nil {
		o.Say = func(line string) { j.Say(head + line) }
	}
	if j.Progress != nil {
		o.Progress = func(line string) { j.Progress(head + line) }
	}
	return o
}
