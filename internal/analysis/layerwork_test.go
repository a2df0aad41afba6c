package analysis

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/timeline"
	"github.com/deepprof/deepprof/internal/workload"
)

// TestLayerWork holds the work of a module against the peak of an H200. The timeline
// is real; the work is the one of its config (2048 x 2048, one token), as annotation
// would have noted it for 31 calls, of which the timeline has three.
func TestLayerWork(t *testing.T) {
	path := filepath.Join("..", "nsys", "testdata", "exports", "python.sqlite.gz")
	var in Input
	if err := in.Add(path); err != nil {
		t.Fatal(err)
	}
	res, err := Analyze(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	f, err := nsys.Open(context.Background(), path, nsys.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := f.RegionRows(context.Background(), timeline.Query{})
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"decode", "step", "LlamaForCausalLM", "model", "layers.0", "self_attn", "q_proj"}
	told := workload.Annotated{Processes: []workload.AnnotatedProcess{{Work: []workload.ModuleWork{
		{Path: workload.AnnotatedPath{Names: names}, FLOPs: 31 * 2 * 2048 * 2048, Calls: 31, DType: "torch.bfloat16"},
	}}}}
	w := layerWork{res: res, work: told.Work(), compiled: told.Compiled(), instances: map[string]int64{}}
	for _, r := range rows.Rows {
		w.instances[r.Path] = r.Instances
	}
	seen := 0
	for _, l := range timeline.Layers(rows.Rows, true) {
		use := w.of(&l)
		if l.Layer != "LlamaForCausalLM.model.layers.0.self_attn.q_proj" {
			if use.FLOPs != nil || use.MFU != nil || use.Why == "" {
				t.Errorf("%s: work that nobody noted, %+v", l.Layer, use)
			}
			continue
		}
		seen++
		want := 3 * 2 * 2048.0 * 2048
		if use.FLOPs == nil || *use.FLOPs != want || use.MFU == nil || math.Abs(*use.MFU-want/float64(l.NS)*1e9/989.5e12) > 1e-5 {
			t.Errorf("%s: %+v in %d ns", l.Layer, use, l.NS)
		}
		w.replays = map[string][]float64{l.Paths()[0]: {2}}
		if use := w.of(&l); use.FLOPs != nil || use.MFU != nil || use.Why != mfuGraphs {
			t.Errorf("%s: a graph replayed what no capture tells of, %+v", l.Layer, use)
		}
	}
	if seen != 1 {
		t.Errorf("%d rows of q_proj", seen)
	}
}

// A row of several modules, of which one has no product, says so: that none was seen
// would not be true of the others.
func TestLayerWorkOfSome(t *testing.T) {
	known := map[string][]workload.ModuleWork{"m/0": {{FLOPs: 8, Calls: 1, DType: "torch.bfloat16"}}}
	for _, c := range []struct {
		name  string
		paths []string
		want  string
	}{
		{"a product and none", []string{"m/0", "m/1"}, mfuSome},
		{"none and a product", []string{"m/1", "m/0"}, mfuSome},
		{"none", []string{"m/1", "m/2"}, mfuNoProducts},
		{"a product", []string{"m/0"}, mfuPeak}, // without a result no peak is known
	} {
		w := layerWork{work: func(path string) []workload.ModuleWork { return known[path] }, compiled: func(string) bool { return false },
			instances: map[string]int64{"m/0": 1, "m/1": 1, "m/2": 1}}
		if use := w.ofPaths(c.paths, 1000); use.Why != c.want {
			t.Errorf("%s: %+v, want %s", c.name, use, c.want)
		}
	}
}

func TestReplayedWork(t *testing.T) {
	for _, c := range []struct {
		captured, replays []float64
		inOrder, known    bool
		want              float64
	}{
		{nil, nil, true, true, 0},
		{[]float64{8}, nil, true, true, 0}, // captured, not replayed in this file
		{[]float64{8}, []float64{31}, true, true, 248},
		{[]float64{8, 8}, []float64{10}, false, true, 80}, // alike in two processes
		{[]float64{8, 16}, []float64{1, 10}, true, true, 168},
		{[]float64{8, 16}, []float64{1, 10}, false, false, 0},
		{[]float64{8, 16}, []float64{10}, true, false, 0},
		{nil, []float64{10}, true, false, 0},
	} {
		if got, known := replayedWork(c.captured, c.replays, c.inOrder); got != c.want || known != c.known {
			t.Errorf("%v replayed %v: %v, %v", c.captured, c.replays, got, known)
		}
	}
}
