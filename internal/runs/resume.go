package runs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/plan"
)

// ResumePlan says where a run goes on.
type ResumePlan struct {
	// Kept and Redo are in the order of the pipeline and never nil.
	Kept     []string `json:"kept"`                // steps that stand as they are
	LastGood string   `json:"last_good,omitempty"` // last step done with its files intact
	// first step to run; empty: nothing is left to do
	Next     string    `json:"next,omitempty"`
	Redo     []string  `json:"redo"`               // Next and every other step to run
	Problems []Warning `json:"problems,omitempty"` // files of a done step that cannot be trusted
}

// PlanResume checks the files of every finished step against size and hash and
// returns what must run again: a step that is not done, or whose files are not
// what it left, and every step that needs one of these.
// It reads every file of every step that is done. It changes nothing.
// The error is only that of ctx.
func PlanResume(ctx context.Context, r *Run) (ResumePlan, error) {
	m := r.Manifest()
	p := planResume(&m, r.liveness, func(f File) fact.Fact { return contentProblem(ctx, r, f) })
	return p, ctx.Err()
}

// Steps are visited in order, and a step needs only steps before it.
func planResume(m *Manifest, l ownerState, problem func(File) fact.Fact) ResumePlan {
	p := ResumePlan{Kept: []string{}, Redo: []string{}}
	for i := range m.Steps {
		s := &m.Steps[i]
		bad := stepProblems(s, problem)
		state := s.seen(l, m.Status)
		needed := slices.ContainsFunc(s.Needs, func(name string) bool { return slices.Contains(p.Redo, name) })
		if needed || len(bad) > 0 || (state != StateDone && state != StateSkipped) {
			p.Redo = append(p.Redo, s.Name)
			if !needed {
				p.Problems = append(p.Problems, bad...)
			}
			continue
		}
		p.Kept = append(p.Kept, s.Name)
		if state == StateDone {
			p.LastGood = s.Name
		}
	}
	if len(p.Redo) > 0 {
		p.Next = p.Redo[0]
	}
	return p
}

// stepProblems looks at steps that are done; others run again anyway.
func stepProblems(s *Step, problem func(File) fact.Fact) []Warning {
	if s.State != StateDone {
		return nil
	}
	var bad []Warning
	for _, f := range s.Files() {
		if why := problem(f); !why.IsZero() {
			bad = append(bad, Warning{Path: f.Path, Why: why})
		}
	}
	return bad
}

// Verify compares every file that a step stands on with its recorded size and
// hash, and names those that differ. What packing left out is not there to be
// compared.
// Only steps that are done are checked. An error is only that of ctx.
func Verify(ctx context.Context, r *Run) ([]Warning, error) {
	m := r.Manifest()
	var bad []Warning
	for i := range m.Steps {
		bad = append(bad, stepProblems(&m.Steps[i], func(f File) fact.Fact {
			if !f.Omitted.IsZero() {
				return fact.Fact{}
			}
			return contentProblem(ctx, r, f)
		})...)
	}
	return bad, ctx.Err()
}

// contentProblem is zero for a file with its recorded size and hash. It reads inside the
// run only, whatever links there are.
func contentProblem(ctx context.Context, r *Run, f File) fact.Fact {
	if why := sizeProblem(r, f); !why.IsZero() {
		return why
	}
	file, err := os.OpenInRoot(r.dir, filepath.FromSlash(f.Path))
	if err != nil {
		return fact.New(fileNotRead, fact.Error("error", err))
	}
	defer file.Close()
	_, got, err := hash(ctx, file)
	switch {
	case err != nil:
		return fact.New(fileNotRead, fact.Error("error", err))
	case got != f.SHA256:
		return fact.New(fileChanged, fact.Name("sha256", got[:12]), fact.Name("recorded", f.SHA256[:min(12, len(f.SHA256))]))
	}
	return fact.Fact{}
}

// FindResumable finds the run that a person means by ref, if it can go on: a pack and a
// recording that was played cannot. A run of schema 1 stores no plan: p is made of its
// configuration, with warnings about that; nil for a run that stores its own.
// Nothing is changed.
func FindResumable(root, ref string) (dir string, p *plan.Plan, warnings []string, err error) {
	if dir, err = Resolve(root, ref); err != nil {
		return "", nil, nil, err
	}
	if st, err := os.Stat(dir); err == nil && !st.IsDir() {
		return "", nil, nil, fmt.Errorf("runs resume %s: a packed run is a copy and cannot go on; resume the run that it was made of", ref)
	}
	if m, err := ReadManifest(dir); err == nil && m.Recorded != nil {
		return "", nil, nil, fmt.Errorf("runs resume %s: a recording that was played cannot go on; 'deepprof run' captures anew, 'deepprof analyze %s' reports on this one", ref, ref)
	}
	if exists(filepath.Join(dir, PlanName)) {
		return dir, nil, nil, nil
	}
	if _, err := os.Stat(filepath.Join(dir, ConfigName)); err != nil {
		return "", nil, nil, fmt.Errorf("runs resume: a run goes on by the configuration that it was started with, and %w; start a new one", err)
	}
	if p, warnings, err = plan.OfFile(dir, ConfigName); err != nil {
		return "", nil, nil, fmt.Errorf("runs resume: %w", err)
	}
	return dir, p, warnings, nil
}
