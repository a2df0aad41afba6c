package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
)

// Replay runs the pipeline over a recorded run: the stages that need a GPU take
// what the recording holds, with its commands, outcomes and times, and what
// follows them is computed now. Every page says that it was recorded.
func Replay(ctx context.Context, from *runs.Run, o Options) (*Summary, error) {
	r := &run{Options: o, summary: &Summary{Recorded: true}, recorded: true}
	r.list = []stageOf{{"report", true, r.report}}
	recorded := from.Manifest()
	parent, auto := plan.SplitRunDir(r.Dir)
	create := runs.CreateOptions{Version: r.Version, Command: r.Argv, Label: recorded.Label, Setting: "--output DIR"}
	for _, s := range recorded.Steps {
		create.Steps = append(create.Steps, s.Name)
	}
	if !slices.Contains(create.Steps, "report") {
		create.Steps = append(create.Steps, "report")
	}
	if !auto {
		create.Dir = parent
	}
	var err error
	if r.store, err = runs.Create(parent, create); err != nil {
		return nil, err
	}
	r.dir = r.store.Dir()
	r.summary.Dir = r.store.Dir()
	r.Say("run: " + r.store.Dir())
	made := recordedAt(recorded)
	if err := r.store.Update(func(m *runs.Manifest) error { m.Recorded = &made; return nil }); err != nil {
		return nil, err
	}
	for _, s := range recorded.Steps {
		if s.Name == "report" {
			continue
		}
		if err := r.play(ctx, from, s); err != nil {
			r.summary.Status = runs.StatusFailed
			return r.summary, errors.Join(err, r.store.Finish(runs.StatusFailed, err.Error()))
		}
	}
	if err := r.stage(ctx, r.list[0].name, r.list[0].enable, r.list[0].do); err != nil {
		r.summary.Status = runs.StatusFailed
		return r.summary, errors.Join(err, r.store.Finish(runs.StatusFailed, err.Error()))
	}
	return r.summary, r.finish()
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

// play takes one stage over from a recording.
func (r *run) play(ctx context.Context, from *runs.Run, s runs.Step) error {
	result := StageResult{Name: s.Name, State: s.State, Reason: s.Reason, Seconds: -1, Recorded: true}
	took := ""
	if s.Seconds != nil {
		result.Seconds = *s.Seconds
		took = fmt.Sprintf(", %.1f s", *s.Seconds)
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
			made, err := r.copy(ctx, from, f)
			if err != nil {
				return fmt.Errorf("play %s: %w", s.Name, err)
			}
			files = append(files, made)
		}
		s.Attempts[i].Files = files
		if a.Outcome != nil {
			result.Outcome = played(*a.Outcome)
		}
	}
	r.summary.Stages = append(r.summary.Stages, result)
	if s.Name != "provenance" && s.State != runs.StateSkipped {
		r.Say(fmt.Sprintf("%s: recorded: %s%s", s.Name, result.Outcome.Kind, took))
	}
	return r.store.Update(func(m *runs.Manifest) error {
		to := m.Step(s.Name)
		if to == nil {
			return fmt.Errorf("play %s: the run has no such stage", s.Name)
		}
		*to = s
		return nil
	})
}

// copy takes one file over from a recording. Stages share some; the hash tells
// whether it is the same.
func (r *run) copy(ctx context.Context, from *runs.Run, f runs.File) (runs.File, error) {
	if f.Omitted != "" {
		return f, nil
	}
	if err := copyFile(r.store.Path(f.Path), from.Path(f.Path)); err != nil && !errors.Is(err, os.ErrExist) {
		return f, err
	}
	made, err := r.store.HashFiles(ctx, f.Path)
	if err != nil {
		return f, err
	}
	if made[0].SHA256 != f.SHA256 {
		return f, fmt.Errorf("%s is not the file that was recorded", f.Path)
	}
	return made[0], nil
}

// played translates the verdict of a manifest back.
func played(o runs.Outcome) capture.Outcome {
	out := capture.Outcome{Kind: capture.Kind(o.Kind), Usable: o.Usable, What: o.Text, Evidence: o.Evidence, Cause: o.Cause, Next: o.Next}
	for _, w := range o.Warnings {
		out.Warnings = append(out.Warnings, capture.Warning{ID: w.Code, Text: w.Text, Next: w.Next})
	}
	return out
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
