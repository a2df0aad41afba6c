package timeline

import (
	"github.com/deepprof/deepprof/internal/engine"
	"github.com/deepprof/deepprof/internal/nvtx"
)

// A StepClassKey is a kind of step of a serving engine and the batch sizes that
// are counted together; -1 where the names of steps do not tell them.
type StepClassKey struct {
	Kind               engine.StepKind
	BatchMin, BatchMax int
}

// classOfStep is the class that a step is counted in.
func classOfStep(s engine.Step) StepClassKey {
	if n := s.Batch(); n >= 0 {
		lo, hi := batchClass(n)
		return StepClassKey{s.Kind, lo, hi}
	}
	return StepClassKey{s.Kind, -1, -1}
}

// Class is the class that a step is counted in.
func (s *StepRow) Class() StepClassKey { return classOfStep(s.Composition) }

// A StepWork is the GPU time of one kernel in one layer of one class of steps.
type StepWork struct {
	StepClassKey
	Layer    string // place in the model, as in LayerRow; "" for work in no module
	Function uint32 // index into Timeline.Functions
	Launches int64
	NS       int64
}

// StepWork divides the GPU time of the steps of a serving engine. Captured is the
// attribution in which work of CUDA graphs stands where it was captured, as the tape was made
// with; it tells their layers.
// Rows come in the order of their first kernel. Work in no step is left out.
func (t *Tape) StepWork(launched, captured *Attribution) []StepWork {
	steps, layers := launched.PlaceSteps(), layersOfPlaces(captured, false)
	type key struct {
		class    StepClassKey
		layer    string
		function uint32
	}
	sums := map[key]*StepWork{}
	var out []*StepWork
	for i := range t.Kinds {
		kind := &t.Kinds[i]
		step, ok := steps[kind.Place]
		if !ok || kind.Kind != OpKernel {
			continue
		}
		class := classOfStep(step)
		k := key{class, layers[kind.Captured], kind.Function}
		s := sums[k]
		if s == nil {
			s = &StepWork{StepClassKey: class, Layer: k.layer, Function: k.function}
			sums[k] = s
			out = append(out, s)
		}
		s.Launches, s.NS = s.Launches+kind.Launches, s.NS+kind.NS
	}
	rows := make([]StepWork, len(out))
	for i, s := range out {
		rows[i] = *s
	}
	return rows
}

// PlaceSteps gives the step of a serving engine around each place that has one.
// Of steps inside each other the region that was found last counts, the inner one.
func (a *Attribution) PlaceSteps() map[uint32]engine.Step {
	out := map[uint32]engine.Step{}
	for place, p := range a.Places() {
		for _, id := range p.All {
			if s, ok := engine.ParseStep(a.nodeName(id)); ok {
				out[uint32(place)] = s
			}
		}
	}
	return out
}

// layersOfPlaces gives the place in the model of each place: what is below the
// step, or below the outermost range where that is one of capture. With each, every
// module has a place of its own.
func layersOfPlaces(a *Attribution, each bool) map[uint32]string {
	out := map[uint32]string{}
	for place, p := range a.Places() {
		longest := ""
		for _, id := range p.Own {
			if path := a.Path(id); len(path) > len(longest) {
				longest = path
			}
		}
		if longest == "" {
			continue
		}
		parts := nvtx.SplitPath(longest)
		from := 1
		for i, part := range parts {
			if _, ok := engine.ParseStep(part); ok {
				from = i + 1
			}
		}
		out[uint32(place)] = layerOf(parts[from:], each)
	}
	return out
}
