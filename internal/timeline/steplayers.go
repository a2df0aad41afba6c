package timeline

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/deepprof/deepprof/internal/engine"
)

// StepLayers are the steps of a timeline and the work of each layer in them.
// Pieces come by the start of their first kernel. Work in no layer has none.
type StepLayers struct {
	Steps  []StepRow // by start, numbered from 0
	Layers []string  // by their place in the first step that has them
	Pieces []LayerPiece
}

// A LayerPiece is work of one layer that no other of the same queue interrupts.
type LayerPiece struct {
	Step       int // index of Steps; -1 for work in no step
	Layer      int // index of Layers
	Queue      uint32
	Start, End int64
	NS         int64 // GPU time of its kernels
}

// firstIndex ends the name of a layer: "model.layers.3" of "model.layers.3.mlp".
var firstIndex = regexp.MustCompile(`^.*?\.\d+`)

// stepRows are the steps of a timeline.
func (a *Attribution) stepRows() []StepRow {
	steps, any := make([]bool, len(a.nodes)), false
	for id := range steps {
		steps[id] = a.isStep(uint32(id))
		any = any || steps[id]
	}
	if !any { // most timelines: to measure takes long
		return nil
	}
	return Steps(a.rangeRows(Query{}, func(i int) bool { return steps[a.rangeNode[i]] }).Rows)
}

// isStep tells whether the ranges of a region are steps, as Steps does.
func (a *Attribution) isStep(region uint32) bool {
	if region == 0 {
		return false
	}
	name := a.nodeName(region)
	if _, known := engine.ParseStep(name); known {
		return true
	}
	return stepName.MatchString(name) || slices.Contains(detectedSteps, name) && a.nodeDomain(region) == DetectedDomain
}

// StepLayers finds the layers of the kernels of a tape and the steps that they are in; nil
// where it has no step. Recalled is the attribution that tells where work of CUDA graphs was
// captured, as the tape was made with.
func (t *Tape) StepLayers(a, recalled *Attribution) *StepLayers {
	if len(t.Steps) == 0 {
		return nil
	}
	out := &StepLayers{Steps: t.Steps}
	names := layersOfPlaces(recalled, true)
	layers := make([]string, len(t.Kinds)) // by kind
	for i := range t.Kinds {
		if k := &t.Kinds[i]; k.Kind == OpKernel {
			layer := names[k.Captured]
			layers[i] = cmp.Or(firstIndex.FindString(layer), layer)
		}
	}
	numbers := make([]int, len(t.Kinds)) // of layers, by kind, from 1; 0 is not yet
	open := make([]int, len(a.t.Queues)) // the last piece of each queue, from 1
	step := t.StepOf(a)
	for w := t.Work(); w.Next(); {
		kind := w.Kind()
		if layers[kind] == "" {
			continue
		}
		if numbers[kind] == 0 {
			numbers[kind] = out.layerNumber(layers[kind]) + 1
		}
		out.add(w, open, numbers[kind]-1, step(w))
	}
	return out
}

// layerNumber is the index of a layer, which is added where it is new.
func (s *StepLayers) layerNumber(layer string) int {
	at := slices.Index(s.Layers, layer)
	if at < 0 {
		at = len(s.Layers)
		s.Layers = append(s.Layers, layer)
	}
	return at
}

func (s *StepLayers) add(w *WorkReader, open []int, layer, step int) {
	start, end := w.Span()
	queue := w.Of().Queue
	if last := open[queue]; last > 0 {
		if p := &s.Pieces[last-1]; p.Layer == layer && p.Step == step {
			p.End = max(p.End, end)
			p.NS += max(0, Since(start, end))
			return
		}
	}
	s.Pieces = append(s.Pieces, LayerPiece{Step: step, Layer: layer, Queue: queue, Start: start, End: max(start, end), NS: max(0, Since(start, end))})
	open[queue] = len(s.Pieces)
}

// StepOf tells of work, piece after piece, the step around its launch, as an index of Steps; -1
// for none. Steps that start at the same moment share the number of the last of them.
func (t *Tape) StepOf(a *Attribution) func(*WorkReader) int {
	starts := make(map[int64]int, len(t.Steps))
	for n := range t.Steps {
		starts[t.Steps[n].StartNS] = n
	}
	steps := make([]bool, len(a.nodes)) // regions of steps
	for id := range steps {
		steps[id] = a.isStep(uint32(id))
	}
	ranges := t.Ranges()
	around := t.AroundWork(func(r uint32) bool { return steps[ranges.Region(r)] })
	turn, step := -1, -1
	return func(w *WorkReader) int {
		if at := w.Turn(); at != turn {
			turn, step = at, -1
			for _, r := range around(w) {
				start, _ := ranges.Span(r)
				if n, ok := starts[start]; ok {
					step = n
				}
			}
		}
		return step
	}
}

// Group is the name under which GroupSteps counts a step.
func (s *StepRow) Group() string {
	if s.Kind != "" {
		return s.class()
	}
	return s.Stage
}
