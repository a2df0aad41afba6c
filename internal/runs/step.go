package runs

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/plan"
)

// formerNames are the names of steps and of their folders in runs of schema 1.
var formerNames = map[string]string{"baseline": plan.StepUnprofiled, "direct": plan.StepDirectInference, "flops": plan.StepTorchFlops}

// StepName is the name of a step, or of the folder of its session, as this
// version calls it.
func StepName(name string) string { return cmp.Or(formerNames[name], name) }

// Result is how an attempt ended.
type Result struct {
	ExitCode *int   // nil: never started, or killed by Signal
	Signal   string // name of the signal that ended the command
	Outcome  Outcome
	Files    []File // from HashFiles
}

// StartStep marks a step as running, adding it if the run did not plan it. A
// step that is started again keeps its earlier attempts.
func (r *Run) StartStep(name string) error {
	return r.Update(func(m *Manifest) error {
		s := m.stepOrNew(name)
		s.State, s.Reason, s.Started, s.Seconds = StateRunning, fact.Stored{}, new(time.Now().UTC()), nil
		return nil
	})
}

// stepOrNew is Step for one that is added at the end if there is none.
func (m *Manifest) stepOrNew(name string) *Step {
	if s := m.Step(name); s != nil {
		return s
	}
	m.Steps = append(m.Steps, Step{Name: name})
	return &m.Steps[len(m.Steps)-1]
}

// StartAttempt records that a command is about to start, so that a crash leaves
// a trace of what was under way.
func (r *Run) StartAttempt(step, dir string, command ...string) error {
	return r.updateStep(step, func(s *Step) error {
		s.Attempts = append(s.Attempts, Attempt{Command: command, Dir: dir, Started: time.Now().UTC()})
		return nil
	})
}

// EndAttempt completes the attempt that StartAttempt began.
func (r *Run) EndAttempt(step string, res Result) error {
	return r.updateStep(step, func(s *Step) error {
		a := s.Last()
		if a == nil || a.Outcome != nil {
			return fmt.Errorf("end attempt of step %s: none is under way", step)
		}
		a.Seconds, a.ExitCode, a.Signal, a.Files = new(time.Since(a.Started).Seconds()), res.ExitCode, res.Signal, res.Files
		a.Outcome = &res.Outcome
		return nil
	})
}

// EndStep sets the final state of a step. An attempt still under way is
// closed with it.
func (r *Run) EndStep(name string, state State, reason fact.Fact) error {
	return r.updateStep(name, func(s *Step) error {
		s.end(state, reason)
		return nil
	})
}

// SkipStep records that a step will not run, and why.
func (r *Run) SkipStep(name string, reason fact.Fact) error {
	return r.Update(func(m *Manifest) error {
		s := m.stepOrNew(name)
		s.State, s.Reason = StateSkipped, fact.Stored{Fact: reason}
		return nil
	})
}

// Finish ends the run and releases its lock. Steps still running take the
// state that belongs to status. The lock is released also when the last write
// fails; the run then reads as interrupted.
func (r *Run) Finish(status Status, reason fact.Fact) error {
	err := r.Update(func(m *Manifest) error {
		if status == StatusRunning {
			return errors.New("finish run: running is not an end")
		}
		left := StateInterrupted
		if status == StatusFailed {
			left = StateFailed
		}
		for i := range m.Steps {
			if m.Steps[i].State == StateRunning {
				m.Steps[i].end(left, reason)
			}
		}
		m.Status, m.Reason, m.Finished = status, fact.Stored{Fact: reason}, new(time.Now().UTC())
		return nil
	})
	os.Remove(r.Path(reserveName))
	r.mu.Lock()
	if err == nil {
		r.liveness = ownerDead
	}
	r.mu.Unlock()
	err = errors.Join(err, r.Close())
	enterIndex(r.dir)
	return err
}

// Abandon gives a reopened run back as it was before. Status and owner are those of
// before; the run can be resumed again.
func (r *Run) Abandon(before Manifest) error {
	err := r.Update(func(m *Manifest) error { *m = before; return nil })
	os.Remove(r.Path(reserveName))
	return errors.Join(err, r.Close())
}

// updateStep is Update for one step that the run must have.
func (r *Run) updateStep(name string, change func(*Step) error) error {
	return r.Update(func(m *Manifest) error {
		s := m.Step(name)
		if s == nil {
			return fmt.Errorf("update step %q: the run has no such step", name)
		}
		return change(s)
	})
}

// end closes a step, and an attempt that nobody closed with the same outcome.
// Seconds count from the last start of the step.
func (s *Step) end(state State, reason fact.Fact) {
	s.State, s.Reason = state, fact.Stored{Fact: reason}
	if s.Started != nil {
		s.Seconds = new(time.Since(*s.Started).Seconds())
	}
	if a := s.Last(); a != nil && a.Outcome == nil {
		a.Outcome = &Outcome{Kind: string(state), Usable: state == StateDone, Text: reason}
	}
}

// HashFiles describes files of the run for the manifest, after it has removed the
// secrets that the run knows. A folder stands for every plain file below it.
func (r *Run) HashFiles(ctx context.Context, rels ...string) ([]File, error) {
	var files []File
	if r.gone() {
		return nil, fmt.Errorf("hash files of %s: %w", r.dir, ErrGone)
	}
	for _, rel := range rels {
		if !localPath(rel) {
			return files, fmt.Errorf("hash %q: the path leaves the run directory", rel)
		}
		paths, err := plainFiles(r.Path(rel))
		if err != nil {
			return files, fmt.Errorf("hash %s: %w", rel, err)
		}
		for _, p := range paths {
			name, err := filepath.Rel(r.dir, p)
			if err != nil {
				return files, fmt.Errorf("hash %s: %w", p, err)
			}
			if r.writable() {
				if _, err := r.secrets.CleanFile(p); err != nil {
					return files, err
				}
			}
			f, err := hashFile(ctx, p)
			if err != nil {
				return files, fmt.Errorf("hash %s: %w", p, err)
			}
			f.Path = filepath.ToSlash(name)
			files = append(files, f)
		}
	}
	return files, nil
}

// plainFiles lists the plain files at or below path, in order of name. Links,
// pipes and the store's own temporary files are not among them.
func plainFiles(path string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(path, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Type().IsRegular() && !internalName(d.Name()) {
			out = append(out, p)
		}
		return nil
	})
	return out, err
}

// internalName tells the files of the store itself, which are in no manifest and no pack.
func internalName(name string) bool {
	return name == lockName || name == reserveName || name == PrivateName || strings.HasPrefix(name, tempPrefix)
}

// hashFile follows links; the path in the answer is the one given.
func hashFile(ctx context.Context, path string) (File, error) {
	f, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	n, sum, err := hash(ctx, f)
	if err != nil {
		return File{}, err
	}
	return File{Path: path, Size: n, SHA256: sum}, nil
}

// hash reads to the end: how many bytes there are, and their SHA-256 as File has it.
func hash(ctx context.Context, r io.Reader) (n int64, sum string, err error) {
	h := sha256.New()
	n, err = io.Copy(h, readerCtx{ctx, r})
	return n, hex.EncodeToString(h.Sum(nil)), err
}

// readerCtx stops a long copy when the context ends.
type readerCtx struct {
	ctx context.Context
	r   io.Reader
}

// Read ends a long copy soon after the context does.
func (r readerCtx) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// AddFiles adds files of the run to those of the last attempt of a step.
func (r *Run) AddFiles(ctx context.Context, name string, paths ...string) error {
	files, err := r.HashFiles(context.WithoutCancel(ctx), paths...)
	if err != nil {
		return err
	}
	return r.Update(func(m *Manifest) error {
		if last := m.Step(name).Last(); last != nil {
			last.Files = append(last.Files, files...)
		}
		return nil
	})
}

// Within gives paths by their place in the run; those outside are left out.
func (r *Run) Within(paths ...string) []string {
	var out []string
	for _, path := range paths {
		abs, err := filepath.Abs(path)
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(r.Dir(), abs); err == nil && filepath.IsLocal(rel) {
			out = append(out, filepath.ToSlash(rel))
		}
	}
	return out
}

// WriteBy has a file of the run written, whole or not at all.
func (r *Run) WriteBy(name string, write func(io.Writer) error) error {
	path := r.Path(name)
	err := os.MkdirAll(filepath.Dir(path), 0o777)
	if err == nil {
		err = writeAtomic(path, write)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// Publish copies files of the session of a step to the folder of the workload itself,
// as far as they are there.
func (r *Run) Publish(ctx context.Context, step string, names ...string) error {
	for _, rel := range r.Present(SessionFolder(step), names...) {
		text, err := os.ReadFile(r.Path(rel))
		if err != nil {
			return fmt.Errorf("copy %s: %w", rel, err)
		}
		to := WorkloadFolder + "/" + path.Base(rel)
		if err := errors.Join(r.WriteFile(to, text), r.AddFiles(ctx, step, to)); err != nil {
			return err
		}
	}
	return nil
}

// FilesIn lists the files that lie in a folder of the run, not those of folders in it;
// none if it is not there.
func (r *Run) FilesIn(folder string) []string {
	entries, _ := os.ReadDir(r.Path(folder))
	var files []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			files = append(files, path.Join(folder, e.Name()))
		}
	}
	return files
}
