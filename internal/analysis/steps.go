package analysis

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/timeline"
)

// StepTimes tells how the steps of the timeline differ.
type StepTimes struct {
	Groups []StepTime  `json:"groups"`
	Strip  *LayerStrip `json:"strip,omitempty"` // absent where no layer is known
}

// StepTime is the distribution of the steps of a stage, or of one kind and batch
// size of a serving engine.
type StepTime struct {
	timeline.StepGroup
	Histogram *Histogram `json:"histogram,omitempty"` // of the durations; absent for a handful
}

// A LayerStrip is the GPU time of each layer in each step, so that those that took
// longer than usual stand out.
type LayerStrip struct {
	Layers  []string      `json:"layers"`
	Columns []StripColumn `json:"columns"`
	// NS is the GPU time by layer, then column: that of one step, the longest where a
	// column has several.
	NS [][]int64 `json:"cells"`
	// Percent is NS of the median of its layer in the columns of the same group; 0
	// without one.
	Percent  [][]int        `json:"percent"`
	Outliers []StripOutlier `json:"outliers,omitempty"` // those that exceed the median by most time first
}

// A StripColumn is a step, or several in a row where there are many.
type StripColumn struct {
	First int    `json:"first"` // number of the step
	Last  int    `json:"last"`
	Group string `json:"group"` // as StepGroup.Stage, of the first
	// From when to when the timeline shows it, from Overview.StartNS.
	StartNS int64 `json:"start_ns"`
	EndNS   int64 `json:"end_ns"`
}

// A StripOutlier is a layer that took longer in a step than it usually does.
type StripOutlier struct {
	Layer    int   `json:"layer"`  // index of Layers
	Column   int   `json:"column"` // index of Columns
	NS       int64 `json:"ns"`
	MedianNS int64 `json:"median_ns"`
}

const (
	maxStripColumns = 400
	maxStripLayers  = 256
	maxOutliers     = 10
	// An outlier takes half as long again as the median of its layer, and at least
	// outlierNS more: shorter differences are those of single launches.
	outlierRatio = 1.5
	outlierNS    = 5_000
)

// findSteps finds the steps of the timeline and the layers in them; nil without any.
func (tr *timelineReader) findSteps() *StepTimes {
	s := tr.tl.tape.StepLayers(tr.tl.at, tr.tl.recalled)
	if s == nil || len(s.Steps) == 0 {
		return nil
	}
	tr.tl.steps = s
	return &StepTimes{Groups: stepTimes(s.Steps), Strip: newStrip(s, tr.tl.lo)}
}

// stepRows are the steps of the timeline.
func (tl *timed) stepRows() []timeline.StepRow { return tl.tape.Steps }

// stepTimes are the distributions of the groups of steps.
func stepTimes(steps []timeline.StepRow) []StepTime {
	times := map[string][]int64{}
	for i := range steps {
		g := steps[i].Group()
		times[g] = append(times[g], steps[i].StepNS)
	}
	var out []StepTime
	for _, g := range timeline.GroupSteps(steps) {
		out = append(out, StepTime{StepGroup: g, Histogram: histogram(timeline.SampleOf(times[g.Stage]))})
	}
	return out
}

// newStrip sums the pieces by layer and step; nil where there is nothing to compare.
// Origin is the start of the overview.
func newStrip(s *timeline.StepLayers, origin int64) *LayerStrip {
	if len(s.Layers) == 0 || len(s.Layers) > maxStripLayers || len(s.Steps) < 2 {
		return nil
	}
	sums := make([][]int64, len(s.Layers))
	for l := range sums {
		sums[l] = make([]int64, len(s.Steps))
	}
	for _, pieces := range s.Queues {
		piece := pieces.Reader()
		for i := range pieces.Len() {
			if p := piece(i); p.Step >= 0 {
				sums[p.Layer][p.Step] += p.NS
			}
		}
	}
	strip := &LayerStrip{Layers: s.Layers}
	wide := (len(s.Steps) + maxStripColumns - 1) / maxStripColumns
	for first := 0; first < len(s.Steps); first += wide {
		last := min(first+wide, len(s.Steps)) - 1
		strip.Columns = append(strip.Columns, StripColumn{First: s.Steps[first].Step, Last: s.Steps[last].Step, Group: s.Steps[first].Group(),
			StartNS: s.Steps[first].StartNS - origin, EndNS: s.Steps[last].StartNS + s.Steps[last].StepNS - origin})
	}
	for l := range sums {
		row := make([]int64, 0, len(strip.Columns))
		for part := range slices.Chunk(sums[l], wide) {
			row = append(row, slices.Max(part))
		}
		strip.NS = append(strip.NS, row)
		strip.Percent = append(strip.Percent, strip.compare(l, row))
	}
	slices.SortStableFunc(strip.Outliers, func(x, y StripOutlier) int { return cmp.Compare(y.NS-y.MedianNS, x.NS-x.MedianNS) })
	strip.Outliers = strip.Outliers[:min(len(strip.Outliers), maxOutliers)]
	return strip
}

// compare holds the cells of a layer against the median of their group, and notes
// those that exceed it.
func (s *LayerStrip) compare(layer int, row []int64) []int {
	groups := map[string][]int64{}
	for i, ns := range row {
		if ns > 0 {
			groups[s.Columns[i].Group] = append(groups[s.Columns[i].Group], ns)
		}
	}
	medians := map[string]int64{}
	for name, g := range groups {
		medians[name] = median(g)
	}
	percent := make([]int, len(row))
	for i, ns := range row {
		g := groups[s.Columns[i].Group]
		if ns == 0 || len(g) < 2 {
			continue
		}
		usual := medians[s.Columns[i].Group]
		percent[i] = int(math.Round(100 * float64(ns) / float64(usual)))
		if float64(ns) >= outlierRatio*float64(usual) && ns-usual >= outlierNS {
			s.Outliers = append(s.Outliers, StripOutlier{Layer: layer, Column: i, NS: ns, MedianNS: usual})
		}
	}
	return percent
}

// stepLanes are a lane of steps, and of layers for each queue that ran their kernels.
func (tl *timed) stepLanes() (list []*lane) {
	if tl.steps == nil {
		return nil
	}
	s := tl.steps
	model := fact.Stored{Fact: fact.New(groupModel)}
	steps := &lane{Lane: Lane{Kind: "step", Label: fact.Stored{Fact: fact.New(laneSteps)}, Group: model}, order: [4]int64{2}}
	steps.laneEvents = listed(len(s.Steps), func(i int) moment { return forward(s.Steps[i].StartNS, s.Steps[i].StartNS+s.Steps[i].StepNS) },
		func(i int) uint32 { return uint32(i) },
		func(i uint32) title { return title{name: s.Steps[i].Group() + " " + strconv.Itoa(s.Steps[i].Step)} })
	for i := range s.Steps {
		steps.busy += max(0, s.Steps[i].StepNS)
	}
	list = append(list, steps)
	turn := map[uint32]int64{} // of queues, by their first kernel
	for i := range tl.tape.Kinds {
		k := &tl.tape.Kinds[i]
		if _, known := turn[k.Queue]; !known && k.Kind == timeline.OpKernel {
			turn[k.Queue] = int64(len(turn))
		}
	}
	for q, pieces := range s.Queues {
		queue := &tl.t.Queues[q]
		l := &lane{Lane: Lane{Kind: "layer", Label: streamLabel(laneLayers, queue), Group: model}, of: streamLabel(laneStream, queue).Fact, order: [4]int64{2, 1, turn[q]}}
		piece := pieces.Reader()
		l.laneEvents = listed(pieces.Len(), func(i int) moment { p := piece(i); return forward(p.Start, p.End) },
			func(i int) uint32 { return uint32(piece(i).Layer) },
			func(layer uint32) title { return title{name: s.Layers[layer]} })
		for i := range pieces.Len() {
			p := piece(i)
			l.busy += p.End - p.Start
		}
		list = append(list, l)
	}
	return list
}
