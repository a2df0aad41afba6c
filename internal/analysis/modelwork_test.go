package analysis

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/deepprof/deepprof/internal/flops"
)

const smallLlama = `{"model_type":"llama","vocab_size":32000,"hidden_size":1024,"intermediate_size":2816,"num_hidden_layers":4,"num_attention_heads":8,"num_key_value_heads":2}`

func writeConfig(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, []byte(smallLlama), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func withModel(t *testing.T, in *Input, shape flops.Shape, regions ModelRegions) {
	t.Helper()
	if err := in.Add(writeConfig(t)); err != nil {
		t.Fatal(err)
	}
	if err := in.CountModel(shape, regions); err != nil {
		t.Fatal(err)
	}
}

// A config.json beside a timeline gives MFU and MBU of its prefill and decode.
func TestModelOfAProgram(t *testing.T) {
	in := Input{}
	for _, path := range []string{llmTimeline, llmCounters} {
		if err := in.Add(unpacked(t, path)); err != nil {
			t.Fatal(err)
		}
	}
	shape := flops.Shape{Prompt: 512, New: 8, Batch: 2}
	withModel(t, &in, shape, ModelRegions{})
	r, err := Analyze(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"prefill", "decode"} {
		s := stageNamed(t, r, name)
		want, _ := in.counted.Stage(name)
		if s.FLOPs == nil || *s.FLOPs != float64(want.FLOPs) || s.Bytes == nil || *s.Bytes != float64(want.Bytes.Total) {
			t.Fatalf("%s: %+v, want %d FLOPs and %d bytes", name, s, want.FLOPs, want.Bytes.Total)
		}
		for what, u := range map[string]Utilization{"flops": s.MFU[0], "bytes": s.MBU[0]} {
			work := map[string]float64{"flops": *s.FLOPs, "bytes": *s.Bytes}[what]
			if u.Method != "analytic" || u.Value == nil || math.Abs(*u.Value-work/u.Seconds/u.Peak.Value) > 1e-12 || u.Seconds != *s.NsysMS/1e3 {
				t.Errorf("%s, %s: %+v", name, what, u)
			}
		}
	}
	if r.Workload.Model == nil || r.Workload.Model.Family != "llama" || len(r.Method.Assumptions) < 3 {
		t.Errorf("%+v, %+v", r.Workload.Model, r.Method.Assumptions)
	}
	found := false
	for _, f := range r.Source.Files {
		found = found || f.Path == "config.json"
	}
	if !found {
		t.Errorf("files %+v", r.Source.Files)
	}
}

// A config whose work fits no region of the timeline is an error that names it.
func TestModelNotUsed(t *testing.T) {
	in := Input{}
	if err := in.Add(unpacked(t, "../nsys/testdata/exports/multi_node.sqlite.gz")); err != nil {
		t.Fatal(err)
	}
	withModel(t, &in, flops.Shape{Prompt: 512, New: 8}, ModelRegions{})
	_, err := Analyze(context.Background(), in)
	var unused *UnusedError
	if !errors.As(err, &unused) || unused.Path != in.Model || len(unused.Stages) == 0 {
		t.Errorf("%v", err)
	}
	var alone Input
	if err := alone.Add(writeConfig(t)); err != nil {
		t.Fatal(err)
	}
	if err := alone.Add(writeConfig(t)); err == nil {
		t.Error("two configs were taken")
	}
	alone.Timelines = in.Timelines
	if _, err := Analyze(context.Background(), alone); err == nil {
		t.Error("a config without a shape was taken")
	}
}

// The work goes to the regions that hold it: a range of decode holds a whole
// generation or one step, and generate holds both stages.
func TestModelRegions(t *testing.T) {
	type stages map[string]int // passes by name
	const steps = 8
	for _, c := range []struct {
		name    string
		stages  stages
		regions ModelRegions
		prefill string
		decode  string
		share   float64 // of the decode of a generation
		warns   bool
	}{
		{"whole", stages{"prefill": 3, "decode": 3}, ModelRegions{}, "prefill", "decode", 1, false},
		{"steps", stages{"prefill": 3, "decode": 3 * steps}, ModelRegions{}, "prefill", "decode", 1. / steps, false},
		{"steps of one generation", stages{"decode": steps}, ModelRegions{}, "", "decode", 1. / steps, false},
		{"near names", stages{"my_prefill": 1, "Decode loop": 1, "load": 1}, ModelRegions{}, "my_prefill", "Decode loop", 1, false},
		{"named", stages{"a": 2, "b": 2, "prefill": 7}, ModelRegions{"a", "b"}, "a", "b", 1, false},
		{"other steps", stages{"prefill": 3, "decode": 10}, ModelRegions{}, "prefill", "", 0, true},
	} {
		a := analyzerWith(Input{})
		for name, passes := range c.stages {
			a.res.Stages = append(a.res.Stages, Stage{Name: name, Passes: passes})
		}
		withModel(t, &a.in, flops.Shape{Prompt: 512, New: steps + 1}, c.regions)
		work := map[string]StageWork{}
		if err := a.utilizer().countedWork(work); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		p, _ := a.in.counted.Stage("prefill")
		d, _ := a.in.counted.Stage("decode")
		want := map[string]float64{}
		if c.prefill != "" {
			want[c.prefill] = float64(p.FLOPs)
		}
		if c.decode != "" {
			want[c.decode] = float64(d.FLOPs) * c.share
		}
		if len(work) != len(want) || (len(a.notes.warnings) > 0) != c.warns {
			t.Errorf("%s: %+v, %+v", c.name, work, a.notes.warnings)
		}
		for name, n := range want {
			if math.Abs(work[name].FLOPs-n) > 1 || work[name].DType != "bf16" {
				t.Errorf("%s: %s has %+v, want %.0f FLOPs", c.name, name, work[name], n)
			}
		}
	}
	a := analyzerWith(Input{})
	a.res.Stages = []Stage{{Name: "generate", Passes: 2}, {Name: "load", Passes: 1}}
	withModel(t, &a.in, flops.Shape{Prompt: 512, New: 9}, ModelRegions{})
	work := map[string]StageWork{}
	if err := a.utilizer().countedWork(work); err != nil || len(work) != 1 {
		t.Fatalf("%v, %+v", err, work)
	}
	p, _ := a.in.counted.Stage("prefill")
	d, _ := a.in.counted.Stage("decode")
	if work["generate"].FLOPs != float64(p.FLOPs+d.FLOPs) || work["generate"].Bytes != float64(p.Bytes.Total+d.Bytes.Total) {
		t.Errorf("%+v", work)
	}
}

// What is quantized with its activations is held against the peak of that type.
func TestProductsOfQuantized(t *testing.T) {
	r := &flops.Report{Model: flops.Identity{Products: "fp8"}, Stages: flops.Stages{{Name: "prefill", FLOPs: 1}}}
	if w := fromFLOPs(r, "bf16"); w[0].DType != "fp8" {
		t.Errorf("%+v", w)
	}
}
