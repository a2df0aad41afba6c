package runs

import (
	"path"

	"github.com/deepprof/deepprof/internal/plan"
)

// Timeline is the export of the timeline that a run holds, of several ranks that
// of the lowest; "" where there is none, or where there are several ranges and
// nothing says which is meant.
func (r *Run) Timeline() string {
	if of := r.RankTimeline(); of != nil {
		return of.Path
	}
	m := r.Manifest()
	s, found := m.Step(plan.StepNsys), ""
	if s == nil {
		return ""
	}
	for _, f := range s.Files() {
		switch {
		case path.Ext(f.Path) != ".sqlite":
		case found != "":
			return ""
		default:
			found = f.Path
		}
	}
	return found
}

// RankTimeline is the timeline of the lowest rank; nil where there are no ranks.
func (r *Run) RankTimeline() *File {
	m := r.Manifest()
	s := m.Step(plan.StepNsys)
	if s == nil {
		return nil
	}
	var found *File
	for _, f := range s.Files() {
		if f.Of == nil || f.Of.Rank == nil || path.Ext(f.Path) != ".sqlite" {
			continue
		}
		if found == nil || f.Of.Compare(*found.Of) < 0 {
			found = &f
		}
	}
	return found
}
