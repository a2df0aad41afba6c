package pipeline

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
)

// An execution does the steps of a run, one after the other.
type execution struct {
	job     *job
	summary *Summary
	kept    []string // steps that stand as they are
	resumed bool

	interrupted bool // between steps
}

// run does every step and ends the run.
func (e *execution) run(ctx context.Context) (*Summary, error) {
	for _, s := range e.job.steps {
		if slices.Contains(e.kept, s.name) {
			if !s.quiet {
				e.job.tell(stepKept, fact.Name("step", s.name))
			}
			continue
		}
		if err := e.step(ctx, s); err != nil {
			e.summary.Status = runs.StatusFailed
			return e.summary, errors.Join(err, e.job.store.Finish(runs.StatusFailed, errorFact(err)))
		}
	}
	return e.summary, e.finish()
}

// finish ends the run as its steps ended.
func (e *execution) finish() error {
	status, reason := statusOf(e.summary.Steps)
	if e.interrupted && status != runs.StatusInterrupted {
		status, reason = runs.StatusInterrupted, fact.New(betweenSteps)
	}
	e.summary.Status, e.summary.Captured = status, captured(e.job.store.Dir())
	return e.job.store.Finish(status, reason)
}

// step does one step and records what came of it. The error is that of the
// record: a step that failed is a result.
func (e *execution) step(ctx context.Context, s step) error {
	result := StepResult{Name: s.name}
	select {
	case <-e.job.Interrupts: // since the step before ended
		e.interrupted = true
	default:
	}
	enabled := s.enabled(e.job.plan)
	if enabled && (e.interrupted || e.stopped()) { // still to be done: it stays pending
		result.State, result.Reason = runs.StateSkipped, fact.New(runInterrupted)
		e.summary.Steps = append(e.summary.Steps, result)
		return nil
	}
	if reason := e.skips(s, enabled); !reason.IsZero() {
		result.State, result.Reason = runs.StateSkipped, reason
		if enabled || !s.quiet && !s.extra {
			e.summary.Steps = append(e.summary.Steps, result)
		}
		return e.job.store.SkipStep(s.name, reason)
	}
	if e.resumed {
		kept, err := keptRanks(ctx, e.job, s)
		if err == nil && kept == nil {
			err = e.setAside(s)
		}
		if err != nil {
			return err
		}
		if kept != nil {
			s.run = kept
		}
	}
	if err := e.job.store.StartStep(s.name); err != nil {
		return err
	}
	e.job.display.start(s, e.job.steps, e.job.plan, e.job.unprofiledTime())
	if !s.quiet {
		e.job.tell(stepStarted, fact.Name("step", s.name))
	}
	start := time.Now()
	made, err := e.do(ctx, s)
	result.Seconds = time.Since(start).Seconds()
	result.Outcome = judged(ctx, made.Outcome, err)
	if result.State = result.Outcome.State(); result.State != runs.StateDone {
		result.Reason = verdictFact(result.Outcome)
	}
	if made.result != nil {
		e.summary.Result = made.result
	}
	e.summary.Steps = append(e.summary.Steps, result)
	if !s.quiet || result.State != runs.StateDone {
		e.job.tell(stepEnded, fact.Name("step", s.name), fact.Name("kind", string(result.Outcome.Kind)), fact.Seconds("time", result.Seconds))
	}
	if err := capture.StoreVerdict(e.job.store, s.name, result.Outcome); err != nil {
		return err
	}
	return e.job.store.EndStep(s.name, result.State, result.Reason)
}

// do runs a step, one that starts no workload until the first interrupt.
func (e *execution) do(ctx context.Context, s step) (made made, err error) {
	if !s.quick {
		if smi, err := e.job.finder.Find(ctx, tool.Spec{Name: tool.NvidiaSMI}); err == nil && s.name != plan.StepRepeats { // whose runs sample themselves
			defer capture.SampleConditions(ctx, smi, e.job.store, s.name)()
		}
		return s.run(ctx, e.job)
	}
	err = untilInterrupted(ctx, e.job.Interrupts, func(ctx context.Context) error {
		made, err = s.run(ctx, e.job)
		return err
	})
	return made, err
}

// judged is the outcome of a step whose error, where there is one, decides.
func judged(ctx context.Context, o capture.Outcome, err error) capture.Outcome {
	switch {
	case ctx.Err() != nil, errors.Is(err, context.Canceled): // whatever it broke
		return capture.Outcome{Kind: capture.Interrupted, What: fact.New(capture.StoppedBySignal), Usable: o.Usable, Reports: o.Reports}
	case runs.IsDiskFull(err):
		return capture.Outcome{Kind: capture.DiskFull, What: errorFact(err), Cause: fact.New(capture.CauseFull)}
	case errors.Is(err, runs.ErrGone):
		return capture.Outcome{Kind: capture.RunRemoved, What: errorFact(err), Cause: capture.RunRemoved.Cause()}
	case err != nil:
		return capture.Outcome{Kind: capture.Unknown, What: errorFact(err)}
	}
	return o
}

// skips says why a step is not done; zero where it is.
func (e *execution) skips(s step, enabled bool) fact.Fact {
	switch {
	case !enabled:
		return fact.New(stepOff)
	case e.unproven():
		return fact.New(stepUnproven)
	case (s.name == plan.StepReport || s.name == plan.StepFirstAnswer) && !captured(e.job.store.Dir()):
		return fact.New(stepNothing)
	}
	return fact.Fact{}
}

// stopped tells that a step was interrupted.
func (e *execution) stopped() bool {
	return slices.ContainsFunc(e.summary.Steps, func(r StepResult) bool { return r.State == runs.StateInterrupted })
}

// unproven tells that the workload cannot run at all.
func (e *execution) unproven() bool {
	return slices.ContainsFunc(e.summary.Steps, func(r StepResult) bool {
		return r.State == runs.StateFailed && slices.ContainsFunc(e.job.steps, func(s step) bool { return s.name == r.Name && s.proves })
	})
}

// statusOf is how a run stands by its steps, and why.
func statusOf(list []StepResult) (status runs.Status, reason fact.Fact) {
	status = runs.StatusDone
	for _, s := range list {
		switch s.State {
		case runs.StateInterrupted:
			return runs.StatusInterrupted, s.Reason
		case runs.StateFailed:
			if status == runs.StatusDone {
				status, reason = runs.StatusFailed, ofStep(s.Name, s.Reason)
			}
		}
	}
	return status, reason
}

// setAside keeps what earlier attempts of a step left, out of the way.
func (e *execution) setAside(s step) error {
	asides, err := e.job.store.SetAsideStep(s.name, s.folders(e.job.plan), s.makes.files)
	for _, aside := range asides {
		e.job.tell(stepAside, fact.Name("step", s.name), fact.File("dir", e.job.store.Path(aside)))
	}
	return err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
