package pipeline

import (
	"context"
	"errors"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
)

// Replay runs the pipeline over a recorded run: the steps that need a GPU take
// what the recording holds, with its commands, outcomes and times, and what
// follows them is computed now. Every page says that it was recorded.
func Replay(ctx context.Context, from *runs.Run, o Options) (*Summary, error) {
	o.Plan = &plan.Plan{}
	j, err := newJob(o, "")
	if err != nil {
		return nil, err
	}
	last := table[len(table)-1] // the report, the only step that is done now
	j.steps, j.played = []step{last}, true
	if err := createPlayed(j, from.Manifest(), last); err != nil {
		return nil, err
	}
	e := &execution{job: j, summary: &Summary{Dir: j.store.Dir(), Recorded: true}}
	err = untilInterrupted(ctx, o.Interrupts, func(ctx context.Context) error { return e.play(ctx, from, last.name) })
	switch {
	case errors.Is(err, context.Canceled):
		e.summary.Status = runs.StatusInterrupted
		return e.summary, j.store.Finish(runs.StatusInterrupted, fact.New(whilePlaying))
	case err != nil:
		e.summary.Status = runs.StatusFailed
		return e.summary, errors.Join(err, j.store.Finish(runs.StatusFailed, errorFact(err)))
	}
	return e.run(ctx)
}

// createPlayed makes the run that a recording is played into.
func createPlayed(j *job, recording runs.Manifest, last step) error {
	parent, auto := plan.SplitRunDir(j.Dir)
	o := runs.CreateOptions{Version: j.Version, Command: j.Argv, Label: recording.Label, Start: j.start, Setting: "--output DIR", Steps: recording.Steps}
	if recording.Step(last.name) == nil {
		o.Steps = append(o.Steps, planned([]step{last})...)
	}
	if !auto {
		o.Dir = parent
	}
	var err error
	if j.store, err = runs.Create(parent, o); err != nil {
		return err
	}
	j.tell(runIs, fact.File("dir", j.store.Dir()))
	made := recording.CapturedAt()
	return j.store.Update(func(m *runs.Manifest) error { m.Recorded = &made; return nil })
}

// play takes every step over from a recording but the one that is done now.
func (e *execution) play(ctx context.Context, from *runs.Run, but string) error {
	for _, s := range from.Manifest().Steps {
		if s.Name == but {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		result, err := playStep(ctx, e.job, from, s)
		if err != nil {
			return err
		}
		e.summary.Steps = append(e.summary.Steps, result)
	}
	return nil
}

// playStep takes one step over from a recording.
func playStep(ctx context.Context, j *job, from *runs.Run, s runs.Step) (StepResult, error) {
	result := StepResult{Name: s.Name, State: s.State, Reason: s.Reason.Fact, Seconds: -1, Recorded: true}
	var took []fact.Param
	if s.Seconds != nil {
		result.Seconds = *s.Seconds
		took = append(took, fact.Seconds("time", *s.Seconds))
	}
	if err := j.store.Play(ctx, from, s); err != nil {
		return result, err
	}
	for _, a := range s.Attempts {
		if a.Outcome != nil {
			result.Outcome = capture.FromStored(*a.Outcome)
		}
	}
	if s.Name != plan.StepProvenance && s.State != runs.StateSkipped {
		j.tell(stepRecorded, append(took, fact.Name("step", s.Name), fact.Name("kind", string(result.Outcome.Kind)))...)
	}
	return result, nil
}
