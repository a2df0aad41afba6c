package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
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
// returns the new folder, "" where there was nothing to move.
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
	n := 1
	for _, e := range entries {
		switch name := e.Name(); {
		case leftover.MatchString(name):
			if err := os.RemoveAll(filepath.Join(r.Path(folder), name)); err != nil {
				return "", fmt.Errorf("set aside %s: %w", folder, err)
			}
		case e.IsDir() && asideName.MatchString(name):
			n++
		default:
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "", nil
	}
	aside := path.Join(folder, fmt.Sprintf("attempt-%d", n))
	for exists(r.Path(aside)) {
		n++
		aside = path.Join(folder, fmt.Sprintf("attempt-%d", n))
	}
	return aside, r.moveAside(step, folder, aside, names)
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

// Move gives files of a step other names, in the manifest too. What is not
// there is passed over.
// Paths are relative to the run, with slashes; folders are made as needed.
func (r *Run) Move(step string, to map[string]string) error {
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
func (r *Run) SetAsideStep(step string, folders, files []string) (asides []string, err error) {
	if len(folders) == 0 {
		return nil, nil
	}
	moves := map[string]string{}
	for _, file := range files {
		moves[file] = folders[0] + "/" + file
	}
	if err := r.Move(step, moves); err != nil {
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
	to := ""
	for n := 1; ; n++ {
		to = fmt.Sprintf("report/attempt-%d", n)
		if _, err := os.Stat(r.Path(to)); err != nil {
			break
		}
	}
	moves := map[string]string{}
	for _, f := range s.Files() {
		moves[f.Path] = to + "/" + f.Path
	}
	return r.Move(step, moves)
}
