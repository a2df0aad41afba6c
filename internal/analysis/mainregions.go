package analysis

import (
	"path/filepath"

	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/timeline"
	"github.com/deepprof/deepprof/internal/workload"
)

// defaultScope takes what the program is about where nobody named regions.
func (tr *timelineReader) defaultScope() {
	if !tr.in.DefaultScope {
		return
	}
	main := tr.tl.at.MainRegions()
	if len(main) == 0 {
		return
	}
	s := &scoped{regions: main, selects: func(nvtx.State) bool { return true }, places: tr.tl.at.InRegions(main)}
	if tr.tl.launchedIn(s) == 0 {
		return
	}
	tr.tl.setWindow(s)
	tr.tl.scope = s
}

// detectPhases gives a timeline without any range those of what repeats in it. A
// damaged one may have lost its own.
func (tr *timelineReader) detectPhases(t *timeline.Timeline) (*timeline.Timeline, timeline.Phases) {
	if !tr.in.DefaultScope || len(t.Ranges) > 0 || len(tr.in.Include) > 0 || len(t.Damage) > 0 {
		return t, timeline.Phases{}
	}
	return t.WithPhases()
}

// Sources of a region.
const (
	sourceProgram  = "program"
	sourceInjected = "injected"
	sourceDetected = "detected"
)

// sourceOf goes by the path: a program that opens a range of the same path as deepprof
// did is not told apart.
func (tr *timelineReader) sourceOf(r *timeline.Region) string {
	switch {
	case r.Domain == timeline.DetectedDomain:
		return sourceDetected
	case tr.injected()(r.Path):
		return sourceInjected
	}
	return sourceProgram
}

// injected tells by the path of a region whether deepprof opened it in the run
// under nsys; never without a run.
func (tr *timelineReader) injected() func(path string) bool {
	if tr.isInjected == nil {
		var told workload.Annotated
		if tr.in.Run != "" {
			var err error
			if told, err = workload.ReadAnnotated(filepath.Join(tr.in.Run, filepath.FromSlash(annotationFolder))); err != nil {
				tr.notes.unreadable(err)
			}
		}
		tr.isInjected = told.Injected()
	}
	return tr.isInjected
}
