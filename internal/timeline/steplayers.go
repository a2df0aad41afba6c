package timeline

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"

	"github.com/deepprof/deepprof/internal/engine"
)

// StepLayers are the steps of a timeline and the work of each layer in them.
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

// StepLayers finds the steps of a timeline and the layers of their kernels;
// nil where it has no step. Launched is the attribution of t. Recalled is that of
// the timeline in which work of CUDA graphs stands where it was captured; its
// kernels are those of t in the same order.
func (t *Timeline) StepLayers(launched, recalled *Attribution) *StepLayers {
	any := false
	for i := 0; i < len(t.Ranges) && !any; i++ {
		any = t.isStep(launched, i)
	}
	if !any { // most timelines: RangeRows takes long
		return nil
	}
	out := &StepLayers{Steps: Steps(t.RangeRows(Query{}).Rows)}
	numbers := out.stepNumbers(launched)
	places := layersOfPlaces(recalled, true)
	for place, layer := range places {
		if cut := firstIndex.FindString(layer); cut != "" {
			places[place] = cut
		}
	}
	layers := map[string]int{}
	open := make([]int, len(t.Queues)) // the last piece of each queue, from 1
	for _, i := range t.kernelsByStart() {
		layer, ok := places[recalled.KernelPlace(i)]
		if !ok || layer == "" {
			continue
		}
		at, ok := layers[layer]
		if !ok {
			at = len(out.Layers)
			layers[layer] = at
			out.Layers = append(out.Layers, layer)
		}
		out.add(&t.Kernels[i], open, at, launched.stepAround(launched.KernelLaunch(i), numbers))
	}
	return out
}

func (s *StepLayers) add(k *Kernel, open []int, layer, step int) {
	if last := open[k.Queue]; last > 0 {
		if p := &s.Pieces[last-1]; p.Layer == layer && p.Step == step {
			p.End = max(p.End, k.End)
			p.NS += max(0, k.Duration())
			return
		}
	}
	s.Pieces = append(s.Pieces, LayerPiece{Step: step, Layer: layer, Queue: k.Queue, Start: k.Start, End: max(k.Start, k.End), NS: max(0, k.Duration())})
	open[k.Queue] = len(s.Pieces)
}

// isStep tells whether a range is a step, as Steps does.
func (t *Timeline) isStep(a *Attribution, i int) bool {
	name := t.Name(t.Ranges[i].Name)
	if _, known := engine.ParseStep(name); known {
		return true
	}
	node := a.RangeNode(i)
	return stepName.MatchString(name) && node > 0 && a.nodes[node].depth > 0
}

// stepNumbers are the numbers of the ranges that are steps.
func (s *StepLayers) stepNumbers(a *Attribution) map[uint32]int {
	starts := make(map[int64]int, len(s.Steps))
	for n := range s.Steps {
		starts[s.Steps[n].StartNS] = n
	}
	numbers := make(map[uint32]int, len(s.Steps))
	for i := range a.t.Ranges {
		if n, ok := starts[a.t.Ranges[i].Start]; ok && a.t.isStep(a, i) {
			numbers[uint32(i)] = n
		}
	}
	return numbers
}

// stepAround is the step around a call, -1 for none.
func (a *Attribution) stepAround(call uint32, numbers map[uint32]int) int {
	step := -1
	a.RangesAround(call, func(r uint32) {
		if n, ok := numbers[r]; ok {
			step = n
		}
	})
	return step
}

func (t *Timeline) kernelsByStart() []int {
	order := make([]int, len(t.Kernels))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(t.Kernels[x].Start, t.Kernels[y].Start) })
	return order
}

// Title names a step for a reader: what it computes, and its number.
func (s *StepRow) Title() string { return s.Group() + ", step " + strconv.Itoa(s.Step) }

// Group is the name under which GroupSteps counts a step.
func (s *StepRow) Group() string {
	if s.Kind != "" {
		return s.class()
	}
	return s.Stage
}
