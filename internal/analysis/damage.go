package analysis

import (
	"fmt"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/timeline"
)

// A lostError is a timeline of which nothing is left that can be analyzed.
type lostError struct{ err error }

// The error is that of the timeline; Analyze looks for the type to go on without it.
func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

// judgeTimeline refuses a timeline that holds nothing of what it is read for: one
// that lost all its kernels, and one without the regions that were asked for.
func (a *analyzer) judgeTimeline(tl *timed) error {
	for _, lost := range a.in.lost {
		a.notes.use(lost.path, "timeline")
		a.notes.warn(timelineDamaged, fact.Error("error", lost.err))
		a.notes.lose(lost.path, inputUnreadable, fact.Error("error", lost.err))
		a.notes.lackInstead(NoTimeline, fact.New(TimelineLost))
	}
	if tl != nil {
		if err := checkKernels(a.in.timeline(), tl.tape.Kernels+tl.tape.Graphs, tl.t.Damage); err != nil {
			return err
		}
	}
	switch {
	case !a.in.Asked:
	case tl == nil && len(a.in.lost) > 0:
		return a.in.lost[0].err
	case tl == nil:
		return fmt.Errorf("the regions %s are looked for in the timeline: %s cannot be read", strings.Join(a.in.Include, ", "), a.in.timeline())
	case tl.scope == nil:
		return &ScopeError{tl.noScope}
	}
	return nil
}

// checkKernels refuses a timeline that lost all its kernels.
func checkKernels(path string, kernels int, damage []timeline.Damage) error {
	if kernels > 0 || !nsys.KernelsLost(damage) {
		return nil
	}
	return &lostError{fmt.Errorf("read %s: nothing of its kernels could be read: the file is cut or damaged; copy, export or capture it again", path)}
}

// findDamage tells before anything else that a part of the timeline is gone.
func (cn *conclusion) findDamage() {
	switch {
	case cn.tl != nil && len(cn.tl.t.Damage) > 0:
		cn.find("damaged", weightHigh, codeDamaged, fact.Because("damage", cn.tl.t.Damage[0].What))
	case cn.tl == nil && len(cn.in.lost) > 0:
		cn.find("damaged", weightHigh, codeLost)
	}
}
