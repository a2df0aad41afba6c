package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

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
	made := recordedAt(recording)
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

// recordedAt is when the first capture of a recording was made.
func recordedAt(m runs.Manifest) time.Time {
	at := m.Created
	if m.Recorded != nil {
		return *m.Recorded
	}
	for _, s := range m.Steps {
		if s.Started != nil && s.Started.Before(at) {
			at = *s.Started
		}
	}
	return at
}

// playStep takes one step over from a recording.
func playStep(ctx context.Context, j *job, from *runs.Run, s runs.Step) (StepResult, error) {
	result := StepResult{Name: s.Name, State: s.State, Reason: s.Reason.Fact, Seconds: -1, Recorded: true}
	var took []fact.Param
	if s.Seconds != nil {
		result.Seconds = *s.Seconds
		took = append(took, fact.Seconds("time", *s.Seconds))
	}
	last := map[string]int{} // an earlier attempt may have had a file of the same name
	for i, a := range s.Attempts {
		for _, f := range a.Files {
			last[f.Path] = i
		}
	}
	for i, a := range s.Attempts {
		var files []runs.File
		for _, f := range a.Files {
			if last[f.Path] != i {
				continue
			}
			made, err := playFile(ctx, j.store, from, f)
			if err != nil {
				return result, fmt.Errorf("play %s: %w", s.Name, err)
			}
			files = append(files, made)
		}
		s.Attempts[i].Files = files
		if a.Outcome != nil {
			result.Outcome = capture.FromStored(*a.Outcome)
		}
	}
	if s.Name != plan.StepProvenance && s.State != runs.StateSkipped {
		j.tell(stepRecorded, append(took, fact.Name("step", s.Name), fact.Name("kind", string(result.Outcome.Kind)))...)
	}
	return result, j.store.Update(func(m *runs.Manifest) error {
		to := m.Step(s.Name)
		if to == nil {
			return fmt.Errorf("play %s: the run has no such step", s.Name)
		}
		*to = s
		return nil
	})
}

// playFile takes one file over from a recording. Steps share some; the hash tells
// whether it is the same.
func playFile(ctx context.Context, store, from *runs.Run, f runs.File) (runs.File, error) {
	if !f.Omitted.IsZero() {
		return f, nil
	}
	if err := copyFile(store.Path(f.Path), from.Path(f.Path)); err != nil && !errors.Is(err, os.ErrExist) {
		return f, err
	}
	made, err := store.HashFiles(ctx, f.Path)
	if err != nil {
		return f, err
	}
	if made[0].SHA256 != f.SHA256 {
		return f, fmt.Errorf("%s is not the file that was recorded", f.Path)
	}
	return made[0], nil
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
