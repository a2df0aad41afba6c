package analysis

import (
	"cmp"
	"slices"
)

// A Typical is a step or a pass in the timeline, from Overview.StartNS.
type Typical struct {
	Kind    string `json:"kind"` // step, pass
	StartNS int64  `json:"start_ns"`
	EndNS   int64  `json:"end_ns"`
}

// findTypical finds for each stage what stands for the rest of it in the timeline.
func (tr *timelineReader) findTypical() {
	for i := range tr.made.Stages {
		s := &tr.made.Stages[i]
		kind, spans := "step", tr.tl.stepsOf(s.Name)
		if len(spans) == 0 {
			kind, spans = "pass", tr.tl.passesOf(s)
		}
		if m, ok := typical(spans); ok {
			s.Typical = &Typical{kind, m.start - tr.tl.lo, m.end - tr.tl.lo}
		}
	}
}

// stepsOf are the steps of a stage, those of the scope where there is one.
func (tl *timed) stepsOf(stage string) (spans []moment) {
	if tl.steps == nil {
		return nil
	}
	scope := tl.scopeSpan()
	for _, row := range tl.steps.Steps {
		inside := scope == (moment{}) || row.StartNS >= scope.start && row.StartNS < scope.end
		if row.Stage == stage && inside && row.StepNS > 0 {
			spans = append(spans, forward(row.StartNS, row.StartNS+row.StepNS))
		}
	}
	return spans
}

// passesOf are the instances of a stage's regions, each until its last work has ended.
func (tl *timed) passesOf(s *Stage) (spans []moment) {
	for _, id := range s.ids {
		tl.eachOf(id, workKey{-1, -1}, func(r *instance) {
			m := forward(r.start, r.end)
			if s.async() && int(r.number) < len(tl.own.spans) {
				m.end = max(m.end, tl.own.spans[r.number].end)
			}
			if m.end > m.start {
				spans = append(spans, m)
			}
		})
	}
	return spans
}

// typical is the span whose length is nearest to the median, the first of several;
// false without spans.
func typical(spans []moment) (moment, bool) {
	if len(spans) == 0 {
		return moment{}, false
	}
	lengths := make([]int64, len(spans))
	for i, m := range spans {
		lengths[i] = m.end - m.start
	}
	usual := median(lengths)
	far := func(m moment) int64 { return abs(m.end - m.start - usual) }
	return slices.MinFunc(spans, func(x, y moment) int {
		return cmp.Or(cmp.Compare(far(x), far(y)), cmp.Compare(x.start, y.start))
	}), true
}
