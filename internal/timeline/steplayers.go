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

// StepRows are the steps of a timeline, whose attribution is launched.
func (t *Timeline) StepRows(launched *Attribution) []StepRow {
	any := false
	for i := 0; i < len(t.Ranges) && !any; i++ {
		any = t.isStep(launched, i)
	}
	if !any { // most timelines: to measure takes long
		return nil
	}
	return Steps(launched.rangeRows(Query{}, func(i int) bool { return t.isStep(launched, i) }).Rows)
}

// StepLayers finds the steps of a timeline and the layers of their kernels;
// nil where it has no step. Launched is the attribution of t. Recalled is that of
// the timeline in which work of CUDA graphs stands where it was captured; its
// kernels are those of t in the same order.
func (t *Timeline) StepLayers(launched, recalled *Attribution) *StepLayers {
	steps := t.StepRows(launched)
	if len(steps) == 0 {
		return nil
	}
	out := &StepLayers{Steps: steps}
	numbers := out.stepNumbers(launched)
	places := make([]string, len(recalled.Places()))
	for place, layer := range layersOfPlaces(recalled, true) {
		places[place] = cmp.Or(firstIndex.FindString(layer), layer)
	}
	layers := make([]int, len(recalled.Places())) // by place, from 1; 0 is not yet
	open := make([]int, len(t.Queues))            // the last piece of each queue, from 1
	finder := stepFinder{a: launched, numbers: numbers}
	add := func(i int, place uint32) {
		if layers[place] == 0 {
			layers[place] = out.layerNumber(places[place]) + 1
		}
		out.add(&t.Kernels[i], open, layers[place]-1, finder.around(launched.KernelLaunch(i)))
	}
	if t.inOrder(OpKernel, len(t.Kernels)) {
		recalled.EachPlace(func(from, to int, place uint32) {
			for ; places[place] != "" && from < to; from++ {
				add(from, place)
			}
		})
		return out
	}
	order := upTo(len(t.Kernels))
	SortByStart(order, func(i uint32) int64 { return t.Kernels[i].Start })
	for _, i := range order {
		if place := recalled.KernelPlace(int(i)); places[place] != "" {
			add(int(i), place)
		}
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
	r := &t.Ranges[i]
	name := t.Name(r.Name)
	if _, known := engine.ParseStep(name); known {
		return true
	}
	if slices.Contains(detectedSteps, name) && t.Name(t.Domains[r.Domain].Name) == DetectedDomain {
		return true
	}
	node := a.RangeNode(i)
	return stepName.MatchString(name) && node > 0
}

// stepNumbers are the numbers of the ranges that are steps.
// Steps that start at the same moment share the number of the last of them.
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

// A stepFinder finds the step around calls. Those between the same ranges follow each
// other.
type stepFinder struct {
	a       *Attribution
	numbers map[uint32]int // of the ranges that are steps
	state   uint64         // of the last call
	step    int            // around it
	known   bool           // there was one
}

// around is the step around a call, -1 for none.
func (f *stepFinder) around(call uint32) int {
	if call == None {
		return -1
	}
	if state := f.a.state(call); !f.known || state != f.state {
		f.state, f.known, f.step = state, true, -1
		f.a.RangesAround(call, func(r uint32) {
			if n, ok := f.numbers[r]; ok {
				f.step = n
			}
		})
	}
	return f.step
}

// KernelStep gives the step around the launch of a kernel, as an index of Steps; -1
// for none. It is fastest for kernels in the order of their launches.
func (s *StepLayers) KernelStep(launched *Attribution) func(kernel int) int {
	f := stepFinder{a: launched, numbers: s.stepNumbers(launched)}
	return func(kernel int) int { return f.around(launched.KernelLaunch(kernel)) }
}

// Group is the name under which GroupSteps counts a step.
func (s *StepRow) Group() string {
	if s.Kind != "" {
		return s.class()
	}
	return s.Stage
}
