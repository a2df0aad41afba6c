package analysis

import (
	"math"
	"slices"
	"strings"
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
	// Regions of the steps fall together by kind; the steps themselves have theirs by
	// kind and batch size.
	paths := map[string]SampledRegion{}
	for _, g := range r.Sampled {
		paths[g.Path] = g
	}
	if g := paths["mixed/Llama"]; g.Instances != 1 || g.SpanNS < 30e6 || len(g.Metrics) != 6 || g.Metrics[0].Samples < 300 || len(paths) != len(r.Sampled) {
		t.Errorf("sampled regions: %+v", r.Sampled)
	}
	for path := range paths {
		if path != "mixed/Llama" && !strings.HasPrefix(path, "mixed/Llama/") {
			t.Errorf("sampled region %s", path)
		}
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

// TestStagesOfAServerAreKindsOfSteps: names of steps tell every batch and every length
// of a prompt apart, so that a server would have as many stages as steps.
func TestStagesOfAServerAreKindsOfSteps(t *testing.T) {
	in, err := fromFiles(unpacked(t, "../nsys/testdata/exports/server_window.sqlite.gz"))
	if err != nil {
		t.Fatal(err)
	}
	in.DefaultScope = true
	r := analyzed(t, in)
	if len(r.Stages) != 2 || r.Scope == nil || len(r.Scope.Regions) != 3 {
		t.Fatalf("stages %+v, scope %+v", r.Stages, r.Scope)
	}
	for _, want := range []struct {
		kind   engine.StepKind
		passes int
	}{{engine.Decode, 2}, {engine.Mixed, 1}} {
		at := slices.IndexFunc(r.Stages, func(s Stage) bool { return s.Name == string(want.kind) })
		if at < 0 || r.Stages[at].Passes != want.passes || !r.Stages[at].Steps {
			t.Errorf("%s: %+v", want.kind, r.Stages)
			continue
		}
		var steps int64
		for _, c := range r.Serving.Steps {
			if c.Kind == want.kind {
				steps += int64(math.Round(c.Time.Mean * float64(c.Steps)))
			}
		}
		if wall := r.Stages[at].Split.WallNS; wall != steps {
			t.Errorf("%s takes %d ns, its steps %d", want.kind, wall, steps)
		}
		if f := findingNamed(r, "launch-bound-"+string(want.kind)); f != nil && want.passes > 1 && f.Number("steps") != float64(want.passes) {
			t.Errorf("%+v", f)
		}
	}
	if names := r.Scope.Names(); !slices.Equal(names, []string{"decode", "mixed"}) {
		t.Errorf("the scope is named %q", names)
	}
}
