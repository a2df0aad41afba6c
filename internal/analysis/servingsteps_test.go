package analysis

import (
	"math"
	"testing"

	"github.com/deepprof/deepprof/internal/engine"
)

// TestServerWindow analyzes three steps of the shipped server on an H200, cut out of
// a window of a session with sampled counters: a decode of 7 sequences, a step of 7
// with a prompt of 512 tokens, a decode of 8. Decode is a CUDA graph that was
// captured before the window.
func TestServerWindow(t *testing.T) {
	r := analyzeFiles(t, "../nsys/testdata/exports/server_window.sqlite.gz")
	s := r.Serving
	if s == nil || len(s.Steps) != 3 {
		t.Fatalf("serving %+v", s)
	}
	var gpu int64
	for _, c := range s.Steps {
		var kernels, layers int64
		for _, k := range c.Kernels {
			kernels += k.NS
		}
		for _, l := range c.Layers {
			layers += l.NS
		}
		whole := int64(math.Round(c.GPU.Mean * float64(c.Steps)))
		if kernels > whole || float64(kernels) < 0.9*float64(whole) { // of 20 kernels
			t.Errorf("%s: kernels of %d ns, steps of %d", c.Kind, kernels, whole)
		}
		if c.Kind == engine.Mixed && (layers != whole || len(c.Layers) < 10) {
			t.Errorf("layers of %d ns, the step has %d: %+v", layers, whole, c.Layers)
		}
		if c.Kind == engine.Decode && c.Layers != nil {
			t.Errorf("layers without the window over the capture: %+v", c.Layers)
		}
		if len(c.Sampled) != 6 || c.Sampled[0].Samples < 90 {
			t.Errorf("%s: sampled %+v", c.Kind, c.Sampled)
		}
		gpu += whole
	}
	if gpu != 39190789 { // of all kernels in the file, by SQL
		t.Errorf("steps have %d ns of GPU time", gpu)
	}
	steps, tokens := 0, int64(0)
	for _, at := range s.OverTime {
		steps, tokens = steps+at.Steps, tokens+at.PromptTokens+at.DecodeTokens
		if at.BusyShare <= 0 || at.BusyShare > 1 {
			t.Errorf("%+v", at)
		}
	}
	if steps != 3 || tokens != 7+512+7+8 {
		t.Errorf("over time: %d steps of %d tokens: %+v", steps, tokens, s.OverTime)
	}
}
