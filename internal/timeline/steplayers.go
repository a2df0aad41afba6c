package timeline

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/deepprof/deepprof/internal/columns"
	"github.com/deepprof/deepprof/internal/engine"
)

// StepLayers are the steps of a timeline and the work of each layer in them, piece by piece.
// Work in no layer has no piece.
type StepLayers struct {
	Steps  []StepRow // by start, numbered from 0
	Layers []string  // by their place in the first step that has them
	// Queues are the pieces of each queue, in the order of their starts.
	Queues map[uint32]*LayerPieces
}

// LayerPieces are the pieces of a queue.
type LayerPieces struct {
	rows *columns.Table
	last LayerPiece // that is not among them yet
	any  bool       // there is one
}

// Columns of pieces.
const (
	pieceStep = iota
	pieceLayer
	pieceStart
	pieceLength
	pieceNS
	pieceColumns
)

// A LayerPiece is work of one layer that no other of the same queue interrupts.
type LayerPiece struct {
	Step       int // index of Steps; -1 for work in no step
	Layer      int // index of Layers
	Start, End int64
	NS         int64 // GPU time of its kernels
}

// firstIndex ends the name of a layer: "model.layers.3" of "model.layers.3.mlp".
var firstIndex = regexp.MustCompile(`^.*?\.\d+`)

// stepRows are the steps of a timeline.
func (a *Attribution) stepRows() []StepRow {
	steps := a.stepRegions()
	if !slices.Contains(steps, true) { // most timelines: to measure takes long
		return nil
	}
	return Steps(a.rangeRows(Query{}, func(i int) bool { return a.isStep(steps, uint32(i)) }).Rows)
}

// stepRegions tells of each region whether its ranges are steps, as Steps does. The ranges of a
// folded region have names of their own: some of them may be.
func (a *Attribution) stepRegions() []bool {
	steps := make([]bool, len(a.nodes))
	for id := 1; id < len(a.nodes); id++ {
		name := a.nodeName(uint32(id))
		steps[id] = a.nodes[id].key.folded || stepNamed(name) || slices.Contains(detectedSteps, name) && a.nodeDomain(uint32(id)) == DetectedDomain
	}
	return steps
}

// stepNamed tells whether a name is that of a step which the program opened.
func stepNamed(name string) bool {
	_, known := engine.ParseStep(name)
	return known || IsStep(name)
}

// isStep tells whether a range is a step; steps are those of stepRegions.
func (a *Attribution) isStep(steps []bool, r uint32) bool {
	region := a.rangeNode[r]
	return steps[region] && (!a.nodes[region].key.folded || stepNamed(a.t.Name(a.t.Ranges[r].Name)))
}

// StepLayers finds the layers of the kernels of a tape and the steps that they are in; nil
// where it has no step. Recalled is the attribution that tells where work of CUDA graphs was
// captured, as the tape was made with.
func (t *Tape) StepLayers(a, recalled *Attribution) *StepLayers {
	if len(t.Steps) == 0 {
		return nil
	}
	out := &StepLayers{Steps: t.Steps, Queues: map[uint32]*LayerPieces{}}
	names := layersOfPlaces(recalled, true)
	layers := make([]string, len(t.Kinds)) // by kind
	for i := range t.Kinds {
		if k := &t.Kinds[i]; k.Kind == OpKernel {
			layer := names[k.Captured]
			layers[i] = cmp.Or(firstIndex.FindString(layer), layer)
		}
	}
	numbers := make([]int, len(t.Kinds)) // of layers, by kind, from 1; 0 is not yet
	step := t.StepOf(a)
	for w := t.Work(); w.Next(); {
		kind := w.Kind()
		if layers[kind] == "" {
			continue
		}
		if numbers[kind] == 0 {
			numbers[kind] = out.layerNumber(layers[kind]) + 1
		}
		queue := t.Kinds[kind].Queue
		pieces := out.Queues[queue]
		if pieces == nil {
			pieces = NewLayerPieces(t.work.Store())
			out.Queues[queue] = pieces
		}
		start, end := w.Span()
		pieces.Add(LayerPiece{Step: step(w), Layer: numbers[kind] - 1, Start: start, End: end, NS: max(0, Since(start, end))})
	}
	for _, pieces := range out.Queues {
		pieces.Finish()
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

// NewLayerPieces are no pieces yet.
func NewLayerPieces(store *columns.Store) *LayerPieces {
	return &LayerPieces{rows: columns.NewTable(store, pieceColumns)}
}

// Add takes the next work, which joins the piece before where that is of the same layer and step.
// Work that ends before it starts makes no piece longer.
func (p *LayerPieces) Add(work LayerPiece) {
	if p.any && p.last.Layer == work.Layer && p.last.Step == work.Step {
		p.last.End, p.last.NS = max(p.last.End, work.End), p.last.NS+work.NS
		return
	}
	p.put()
	work.End = max(work.Start, work.End)
	p.last, p.any = work, true
}

// Finish comes after the last work.
func (p *LayerPieces) Finish() {
	p.put()
	p.rows.Finish()
}

// put adds the last piece to the others.
func (p *LayerPieces) put() {
	if !p.any {
		return
	}
	p.rows.Set(pieceStep, int64(p.last.Step))
	p.rows.Set(pieceLayer, int64(p.last.Layer))
	p.rows.Set(pieceStart, p.last.Start)
	p.rows.Set(pieceLength, p.last.End-p.last.Start)
	p.rows.Set(pieceNS, p.last.NS)
	p.rows.End()
}

// Len is how many pieces there are.
func (p *LayerPieces) Len() int { return p.rows.Len() }

// Reader gives pieces by their place, fastest one after the other. It is for one goroutine.
func (p *LayerPieces) Reader() func(i int) LayerPiece {
	in := p.rows.Random()
	return func(i int) LayerPiece {
		start := in.Value(pieceStart, i)
		return LayerPiece{
			Step: int(in.Value(pieceStep, i)), Layer: int(in.Value(pieceLayer, i)),
			Start: start, End: start + in.Value(pieceLength, i), NS: in.Value(pieceNS, i),
		}
	}
}

// StepOf tells of work, piece after piece, the step around its launch, as an index of Steps; -1
// for none. Steps that start at the same moment share the number of the last of them.
func (t *Tape) StepOf(a *Attribution) func(*WorkReader) int {
	starts := make(map[int64]int, len(t.Steps))
	for n := range t.Steps {
		starts[t.Steps[n].StartNS] = n
	}
	steps, ranges := a.stepRegions(), t.Ranges()
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
