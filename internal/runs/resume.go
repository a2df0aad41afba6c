package runs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// ResumePlan says where a run goes on.
type ResumePlan struct {
	Kept     []string  `json:"kept"`                // steps that stand as they are
	LastGood string    `json:"last_good,omitempty"` // last step done with its files intact
	Next     string    `json:"next,omitempty"`      // first step to run; empty: nothing is left to do
	Redo     []string  `json:"redo"`                // Next and everything after it
	Problems []Warning `json:"problems,omitempty"`  // files of a done step that cannot be trusted
}

// PlanResume checks the files of every finished step against size and hash and
// returns the first step that must run again. Steps stand on those before
// them, so everything after it runs again too.
func PlanResume(ctx context.Context, r *Run) (ResumePlan, error) {
	m := r.Manifest()
	p := planResume(&m, r.liveness, func(f File) string { return contentProblem(ctx, r, f) })
	return p, ctx.Err()
}

func planResume(m *Manifest, l Liveness, problem func(File) string) ResumePlan {
	p := ResumePlan{Kept: []string{}, Redo: []string{}}
	for i := range m.Steps {
		s := &m.Steps[i]
		if p.Next != "" {
			p.Redo = append(p.Redo, s.Name)
			continue
		}
		bad := stepProblems(s, problem)
		p.Problems = append(p.Problems, bad...)
		state := s.seen(l, m.Status)
		if len(bad) > 0 || (state != StateDone && state != StateSkipped) {
			p.Next = s.Name
			p.Redo = append(p.Redo, s.Name)
			continue
		}
		p.Kept = append(p.Kept, s.Name)
		if state == StateDone {
			p.LastGood = s.Name
		}
	}
	return p
}

func stepProblems(s *Step, problem func(File) string) []Warning {
	if s.State != StateDone {
		return nil
	}
	var bad []Warning
	for _, f := range s.Files() {
		if text := problem(f); text != "" {
			bad = append(bad, Warning{Path: f.Path, Text: text})
		}
	}
	return bad
}

// Verify compares every file that a step stands on with its recorded size and
// hash, and names those that differ. What packing left out is not there to be
// compared.
func Verify(ctx context.Context, r *Run) ([]Warning, error) {
	m := r.Manifest()
	var bad []Warning
	for i := range m.Steps {
		bad = append(bad, stepProblems(&m.Steps[i], func(f File) string {
			if f.Omitted != "" {
				return ""
			}
			return contentProblem(ctx, r, f)
		})...)
	}
	return bad, ctx.Err()
}

func contentProblem(ctx context.Context, r *Run, f File) string {
	if text := sizeProblem(r, f); text != "" {
		return text
	}
	root, err := os.OpenRoot(r.dir)
	if err != nil {
		return err.Error()
	}
	defer root.Close()
	file, err := root.Open(filepath.FromSlash(f.Path))
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, readerCtx{ctx, file}); err != nil {
		return err.Error()
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != f.SHA256 {
		return fmt.Sprintf("its content changed since it was recorded (sha256 %.12s, recorded %.12s)", got, f.SHA256)
	}
	return ""
}
