package show

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/timeline"
	"github.com/deepprof/deepprof/internal/workload"
)

// TestLayerWork holds the work of a module against the peak of an H200. The timeline
// is real; the work is the one of its config (2048 x 2048, one token), as annotation
// would have noted it for 31 calls, of which the timeline has three.
func TestLayerWork(t *testing.T) {
	path := filepath.Join("..", "nsys", "testdata", "exports", "python.sqlite.gz")
	var in analysis.Input
	if err := in.Add(path); err != nil {
		t.Fatal(err)
	}
	res, err := analysis.Analyze(context.Background(), in)
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
	w := layerWork{res: res, work: told.Work(), instances: map[string]int64{}, replayed: map[string]bool{}}
	for _, r := range rows.Rows {
		w.instances[r.Path] = r.Instances
	}
	seen := 0
	for _, l := range timeline.Layers(rows.Rows, true) {
		flops, mfu := w.of(&l)
		if l.Layer != "LlamaForCausalLM.model.layers.0.self_attn.q_proj" {
			if flops != nil || mfu != nil {
				t.Errorf("%s: work that nobody noted", l.Layer)
			}
			continue
		}
		seen++
		want := 3 * 2 * 2048.0 * 2048
		if flops == nil || *flops != want || mfu == nil || math.Abs(*mfu-want/float64(l.NS)*1e9/989.5e12) > 1e-5 {
			t.Errorf("%s: %v FLOPs, MFU %v in %d ns", l.Layer, flops, mfu, l.NS)
		}
		w.replayed[l.Paths()[0]] = true
		if flops, mfu := w.of(&l); flops != nil || mfu != nil {
			t.Errorf("%s: how often a graph ran it is not known", l.Layer)
		}
	}
	if seen != 1 {
		t.Errorf("%d rows of q_proj", seen)
	}
}
