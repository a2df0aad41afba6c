package analysis

import (
	"path/filepath"

	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/timeline"
	"github.com/deepprof/deepprof/internal/workload"
)

// defaultScope takes what the program is about where nobody named regions.
func (a *analyzer) defaultScope() {
	if !a.in.DefaultScope {
		return
	}
	main := a.tl.at.MainRegions()
	if len(main) == 0 {
		return
	}
	in := a.tl.at.InRegions(main)
	s := &scoped{regions: main, selects: func(nvtx.State) bool { return true }, kernels: make([]bool, len(a.tl.t.Kernels)), match: func(op timeline.Op) bool { return in[a.tl.at.OpPlace(op)] }}
	if a.tl.mark(s) == 0 {
		return
	}
	a.tl.setWindow(s)
	a.tl.scope = s
}

// detectPhases gives a timeline without any range those of what repeats in it. A
// damaged one may have lost its own.
func (a *analyzer) detectPhases(t *timeline.Timeline) *timeline.Timeline {
	if !a.in.DefaultScope || len(t.Ranges) > 0 || len(a.in.Include) > 0 || len(t.Damage) > 0 {
		return t
	}
	made, p := t.WithPhases()
	if p.Period > 0 {
		a.notes.add(Note{Fact: p.Fact()})
	}
	return made
}

// Sources of a region.
const (
	sourceProgram  = "program"
	sourceInjected = "injected"
	sourceDetected = "detected"
)

func (a *analyzer) sourceOf(r *timeline.Region) string {
	switch {
	case r.Domain == timeline.DetectedDomain:
		return sourceDetected
	case a.injected()(r.Path):
		return sourceInjected
	}
	return sourceProgram
}

// injected tells by the path of a region whether deepprof opened it in the run
// under nsys; never without a run.
func (a *analyzer) injected() func(path string) bool {
	if a.isInjected == nil {
		var told workload.Annotated
		if a.in.Run != "" {
			var err error
			if told, err = workload.ReadAnnotated(filepath.Join(a.in.Run, filepath.FromSlash(annotationFolder))); err != nil {
				a.notes.unreadable(err)
			}
		}
		a.isInjected = told.Injected()
	}
	return a.isInjected
}
