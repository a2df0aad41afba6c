package runs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// CapturedAt is when the first capture of a recording was made.
func (m *Manifest) CapturedAt() time.Time {
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

// Play takes a step over from a recording: its files, and what the manifest there
// says of it.
func (r *Run) Play(ctx context.Context, from *Run, s Step) error {
	last := map[string]int{} // an earlier attempt may have had a file of the same name
	for i, a := range s.Attempts {
		for _, f := range a.Files {
			last[f.Path] = i
		}
	}
	for i, a := range s.Attempts {
		var files []File
		for _, f := range a.Files {
			if last[f.Path] != i {
				continue
			}
			made, err := r.playFile(ctx, from, f)
			if err != nil {
				return fmt.Errorf("play %s: %w", s.Name, err)
			}
			files = append(files, made)
		}
		s.Attempts[i].Files = files
	}
	return r.Update(func(m *Manifest) error {
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
func (r *Run) playFile(ctx context.Context, from *Run, f File) (File, error) {
	if !f.Omitted.IsZero() {
		return f, nil
	}
	if err := copyNew(r.Path(f.Path), from.Path(f.Path)); err != nil && !errors.Is(err, os.ErrExist) {
		return f, err
	}
	made, err := r.HashFiles(ctx, f.Path)
	if err != nil {
		return f, err
	}
	if made[0].SHA256 != f.SHA256 {
		return f, fmt.Errorf("%s is not the file that was recorded", f.Path)
	}
	return made[0], nil
}

// copyNew copies a file to a place where none is.
func copyNew(to, from string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	return errors.Join(copyFile(out, from), out.Close())
}
