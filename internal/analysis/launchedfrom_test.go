package analysis

import "testing"

// Kernels of CUDA graphs are in the stage that launches the graph, and every kernel of a
// step tells how many steps launch it. Of the launches of a graph in llm.sqlite none was
// captured in a range.
func TestLaunchedFrom(t *testing.T) {
	in, err := fromFiles(unpacked(t, llmTimeline))
	if err != nil {
		t.Fatal(err)
	}
	in.DefaultScope = false
	r := analyzed(t, in)
	graphs, stepped := 0, 0
	for _, k := range r.Kernels {
		for _, p := range k.Places {
			if p.Stage == "replays" {
				graphs++
			}
		}
		for _, s := range k.Stages {
			var there int64
			for _, p := range k.Places {
				if p.Stage == s.Stage {
					there += p.Calls
				}
			}
			if there != s.Calls && len(k.Places) < maxLaunchPlaces {
				t.Errorf("%s: %d launches of %s have a place there, want %d: %+v", k.Short, there, s.Stage, s.Calls, k.Places)
			}
			if s.Stage != "decode" {
				continue
			}
			stepped++
			if k.Steps == nil || k.Steps.Of != 8 || k.Steps.Steps > 8 || k.Steps.Each*float64(k.Steps.Steps) > float64(k.Calls) {
				t.Errorf("%s of decode: steps %+v", k.Short, k.Steps)
			}
		}
	}
	if graphs == 0 || stepped == 0 {
		t.Errorf("%d kernels of graphs, %d of steps", graphs, stepped)
	}
}
