package runs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

var (
	asideName = regexp.MustCompile(`^attempt-\d+$`)
	// leftover matches what a process that was killed leaves half written.
	leftover = regexp.MustCompile(`^\.(?:export|deepprof|tmp)-`)
)

// SweepFolder removes what processes that were killed left half written in a
// folder of the run.
// Errors are not told: the next attempt fails on them itself if they matter.
func (r *Run) SweepFolder(folder string) {
	entries, _ := os.ReadDir(r.Path(folder))
	for _, e := range entries {
		if leftover.MatchString(e.Name()) {
			_ = os.RemoveAll(filepath.Join(r.Path(folder), e.Name()))
		}
	}
}

// SetAside moves what earlier attempts of a step left in a folder of the run
// into a folder attempt-N below it, before the step is done again: if that
// fails, what there was is still there. The manifest follows the files. It
// returns the new folder, "" if there was nothing to move.
// folder is relative to the run, with slashes. After an error some files may have moved while
// the manifest still has their old paths.
func (r *Run) SetAside(step, folder string) (string, error) {
	if !localPath(folder) {
		return "", fmt.Errorf("set aside %q: the path leaves the run directory", folder)
	}
	entries, err := os.ReadDir(r.Path(folder))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("set aside %s: %w", folder, err)
	}
	var names []string
	for _, e := range entries {
		switch name := e.Name(); {
		case leftover.MatchString(name):
			if err := os.RemoveAll(filepath.Join(r.Path(folder), name)); err != nil {
				return "", fmt.Errorf("set aside %s: %w", folder, err)
			}
		case e.IsDir() && asideName.MatchString(name):
		default:
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "", nil
	}
	aside := r.freeAside(folder)
	return aside, r.moveAside(step, folder, aside, names)
}

// freeAside is the first folder attempt-N below folder that is not there.
func (r *Run) freeAside(folder string) string {
	for n := 1; ; n++ {
		if aside := fmt.Sprintf("%s/attempt-%d", folder, n); !r.Has(aside) {
			return aside
		}
	}
}

// Files are moved one by one; a move that fails leaves the others where they are.
func (r *Run) moveAside(step, folder, aside string, names []string) error {
	if err := os.Mkdir(r.Path(aside), 0o755); err != nil {
		return fmt.Errorf("set aside %s: %w", folder, err)
	}
	for _, name := range names {
		if err := os.Rename(filepath.Join(r.Path(folder), name), filepath.Join(r.Path(aside), name)); err != nil {
			return fmt.Errorf("set aside %s: %w", folder, err)
		}
	}
	return r.updateStep(step, func(s *Step) error {
		for i := range s.Attempts {
			files := s.Attempts[i].Files
			for j := range files {
				rest, ok := strings.CutPrefix(files[j].Path, folder+"/")
				if first, _, _ := strings.Cut(rest, "/"); ok && !asideName.MatchString(first) {
					files[j].Path = aside + "/" + rest
				}
			}
		}
		return nil
	})
}

// move gives files of a step other names, in the manifest too. What is not
// there is passed over.
// Paths are relative to the run, with slashes; folders are made as needed.
// Moves are made in no fixed order, so none may need another.
func (r *Run) move(step string, to map[string]string) error {
	for from, name := range to {
		if !localPath(from) || !localPath(name) {
			return fmt.Errorf("move %q to %q: the path leaves the run directory", from, name)
		}
		err := os.MkdirAll(filepath.Dir(r.Path(name)), 0o755)
		if err == nil {
			err = os.Rename(r.Path(from), r.Path(name))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("move %s: %w", from, err)
		}
	}
	return r.updateStep(step, func(s *Step) error {
		for i := range s.Attempts {
			for j, f := range s.Attempts[i].Files {
				if name := to[f.Path]; name != "" {
					s.Attempts[i].Files[j].Path = name
				}
			}
		}
		return nil
	})
}

// exists does not follow links.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// SetAsideStep keeps what earlier attempts of a step left in its folders, out of the
// way; it returns where that lies. Its files outside go into its first folder
// before: the choice of launches stays with the counters that were taken by it.
// What was set aside before an error comes back with it.
func (r *Run) SetAsideStep(step string, folders, files []string) (asides []string, err error) {
	if len(folders) == 0 {
		return nil, nil
	}
	moves := map[string]string{}
	for _, file := range files {
		moves[file] = folders[0] + "/" + file
	}
	if err := r.move(step, moves); err != nil {
		return nil, err
	}
	for _, folder := range folders {
		aside, err := r.SetAside(step, folder)
		if err != nil {
			return asides, err
		}
		if aside != "" {
			asides = append(asides, aside)
		}
	}
	return asides, nil
}

// SetAsideReports moves what an earlier analysis wrote as a step out of the way, so
// that it does not pass for one of what is captured now.
func (r *Run) SetAsideReports(step string) error {
	m := r.Manifest()
	s := m.Step(step)
	if s == nil {
		return nil
	}
	to := r.freeAside("report")
	moves := map[string]string{}
	for _, f := range s.Files() {
		moves[f.Path] = to + "/" + f.Path
	}
	return r.move(step, moves)
}

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
// It changes the attempts of s in place, so s must be a copy. A file whose hash differs is an
// error.
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
