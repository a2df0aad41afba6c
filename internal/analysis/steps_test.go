package analysis

import (
	"testing"

	"github.com/deepprof/deepprof/internal/timeline"
)

// A layer that takes twice as long in one step stands out; steps of another kind are
// compared among themselves. The numbers are synthetic.
func TestStripOutliers(t *testing.T) {
	s := &timeline.StepLayers{Layers: []string{"model.layers.0", "model.layers.1"}}
	pieces := []*timeline.LayerPieces{timeline.NewLayerPieces(nil), timeline.NewLayerPieces(nil)} // of two queues
	for i := range 8 {
		stage := "decode"
		if i == 7 {
			stage = "prefill"
		}
		s.Steps = append(s.Steps, timeline.StepRow{Stage: stage, Step: i, StartNS: 1000 + int64(i)*100_000, StepNS: 90_000})
		for layer := range s.Layers {
			ns := int64(20_000)
			switch {
			case stage == "prefill":
				ns = 80_000
			case i == 5 && layer == 1:
				ns = 44_000
			}
			pieces[layer].Add(timeline.LayerPiece{Step: i, Layer: layer, NS: ns / 2})
			pieces[1-layer].Add(timeline.LayerPiece{Step: i, Layer: layer, NS: ns / 2})
		}
	}
	pieces[0].Add(timeline.LayerPiece{Step: -1, Layer: 0, NS: 1e9}) // of no step
	finishPieces(s, pieces...)
	strip := newStrip(s, 1000)
	if len(strip.Outliers) != 1 {
		t.Fatalf("%+v", strip.Outliers)
	}
	if o := strip.Outliers[0]; o != (StripOutlier{Layer: 1, Column: 5, NS: 44_000, MedianNS: 20_000}) {
		t.Errorf("%+v", o)
	}
	if strip.Percent[1][5] != 220 || strip.Percent[0][5] != 100 || strip.Percent[0][7] != 0 || strip.NS[0][7] != 80_000 {
		t.Errorf("%v of %v", strip.Percent, strip.NS)
	}
	if c := strip.Columns[5]; c.First != 5 || c.Last != 5 || c.StartNS != 500_000 || c.EndNS != 590_000 {
		t.Errorf("%+v", c)
	}
}

// finishPieces gives steps the pieces of their queues.
func finishPieces(s *timeline.StepLayers, pieces ...*timeline.LayerPieces) {
	s.Queues = map[uint32]*timeline.LayerPieces{}
	for queue, p := range pieces {
		p.Finish()
		s.Queues[uint32(queue)] = p
	}
}

// Many steps share columns, which show the longest.
func TestStripOfManySteps(t *testing.T) {
	s, pieces := &timeline.StepLayers{Layers: []string{"a"}}, timeline.NewLayerPieces(nil)
	for i := range 3*maxStripColumns - 1 {
		s.Steps = append(s.Steps, timeline.StepRow{Stage: "decode", Step: i})
		pieces.Add(timeline.LayerPiece{Step: i, NS: int64(10_000 + i)})
	}
	finishPieces(s, pieces)
	strip := newStrip(s, 0)
	if n := len(strip.Columns); n != maxStripColumns || strip.Columns[1].First != 3 || strip.Columns[1].Last != 5 || strip.NS[0][1] != 10_005 {
		t.Errorf("%d columns, %+v of %d ns", n, strip.Columns[1], strip.NS[0][1])
	}
}
