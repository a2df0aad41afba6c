package analysis

import (
	"math"
	"testing"

	"github.com/deepprof/deepprof/internal/engine"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/flops"
	"github.com/deepprof/deepprof/internal/timeline"
)

func llama8B(t *testing.T) *flops.Model {
	t.Helper()
	m, err := flops.ParseMap(map[string]any{
		"model_type": "llama", "vocab_size": 128256, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
		"num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "tie_word_embeddings": false,
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestBytesOfStaticCache counts the places that an engine reads: on an H200 decode
// steps of batch 62 to 64 read 21.41 GB by samples, 5.9 % more than the used
// places of the cache explain.
func TestBytesOfStaticCache(t *testing.T) {
	c := StepClass{Kind: engine.Decode, Steps: 1, compositions: map[engine.Step]int{{Kind: engine.Decode, Generation: 64, GenerationTokens: 64}: 1}}
	w := stepCounter{model: llama8B(t), dtype: "bf16", context: 580}
	if why := w.count(&c); why != nil || c.CacheRead != 0 {
		t.Fatalf("%+v: %v", c, why)
	}
	used, work := c.Bytes, c.FLOPs
	w.read = 704
	if why := w.count(&c); why != nil || c.CacheRead != 704 || c.Context != 580 {
		t.Fatalf("%+v: %v", c, why)
	}
	place := 2.0 * 32 * 8 * 128 * 2 // keys and values, layers, heads, size, bf16
	if got, want := c.Bytes-used, 64*(704-580)*place; got != want || c.FLOPs != work {
		t.Errorf("%.0f bytes and %.0f FLOPs more, want %.0f and none", got, c.FLOPs-work, want)
	}
	if sampled := 21.41e9; math.Abs(sampled/c.Bytes-1) > 0.05 || math.Abs(sampled/used-1) < 0.05 {
		t.Errorf("%.2f GB with all places, %.2f GB with those that are used", c.Bytes/1e9, used/1e9)
	}
	w.read = 512
	if w.count(&c); c.Bytes != used {
		t.Errorf("fewer places than are used change the bytes: %v", c.Bytes)
	}
}

// TestMixedSteps holds two steps with prompts and decode, of one class, against the
// peaks, by FLOPs and bytes that are counted by hand: an engine that runs all in one
// pass reads the weights once, the shipped one for each prompt and for decode.
func TestMixedSteps(t *testing.T) {
	const L, H, I, V, kv, hd, parameters = 32, 4096, 14336, 128256, 8, 128, 8030261248
	const keys = 600 // of a sequence that decodes
	const perToken, pair = L * 2 * (2*H*H + 2*H*kv*hd + 3*H*I), L * 2 * 2 * H
	flop := func(tokens, pairs, logits float64) float64 { return tokens*perToken + pairs*pair + logits*2*H*V }
	// One prompt of 512 tokens and 7 sequences; two of 500 and 501, and 6 sequences.
	first := flop(519, 512*513/2+7*keys, 8) + hd*(512+1)
	second := flop(1007, 500*501/2+501*502/2+6*keys, 8) + hd*(500+501+1)
	const layer = 2*H + 2*(H+kv*hd) + 2*H + 3*(H+I) + 2*H
	moved := func(tokens, keys, passes float64) float64 {
		weights := passes*(parameters-V*H) + tokens*H
		return 2 * (weights + L*2*kv*hd*(keys+tokens) + tokens*(2*H+L*layer) + 8*(H+V))
	}
	for _, c := range []struct {
		engine        string
		first, second float64 // passes
	}{{engine.VLLM, 1, 1}, {engine.LLMServer, 2, 3}} {
		a := analyzerWith(Input{})
		a.res.Environment.GPUs = []GPU{{Peaks: []Peak{{ID: "tensor_bf16", Value: 1e15}, {ID: levelDRAM, Value: 4e12}}}}
		classes := classSteps([]timeline.StepRow{
			step(t, "execute_context_1(512)_generation_7(7)", 30e6, 20e6, 0), step(t, "execute_context_2(1001)_generation_6(6)", 50e6, 30e6, 0),
		})
		if len(classes) != 1 || classes[0].Kind != engine.Mixed || classes[0].Steps != 2 {
			t.Fatalf("%+v", classes)
		}
		got := &classes[0]
		a.utilizer().stepWork(got, &stepCounter{model: llama8B(t), dtype: "bf16", context: keys, promptsAlone: engine.Find(c.engine, nil).PromptsAlone})
		wantFLOPs, wantBytes := (first+second)/2, (moved(519, 512+7*keys, c.first)+moved(1007, 1001+6*keys, c.second))/2
		if got.FLOPs != wantFLOPs || got.Bytes != wantBytes || got.Context != keys {
			t.Errorf("%s: %.0f FLOPs, %.0f bytes, want %.0f, %.0f: %+v", c.engine, got.FLOPs, got.Bytes, wantFLOPs, wantBytes, got)
		}
		if got.MFU == nil || got.MFU.Value == nil || math.Abs(*got.MFU.Value-wantFLOPs/0.04/1e15) > 1e-12 || math.Abs(*got.MBU.Value-wantBytes/0.04/4e12) > 1e-12 {
			t.Errorf("%s: MFU %+v, MBU %+v", c.engine, got.MFU, got.MBU)
		}
		// Two prompts of a step may differ in length: both are at least.
		if !got.MFU.AtLeast || !got.MBU.AtLeast || !hasFact(got.MFU.Why, codePromptsAlike) || hasFact(got.MFU.Why, codePromptsInCache) != (c.engine == engine.VLLM) || got.Roof != "flops" {
			t.Errorf("%s: %+v, roof %s", c.engine, got.MFU, got.Roof)
		}
	}
}

// TestStepWorkAbsent: what names do not tell is absent, with the reason; what needs
// no context of decode is there without one.
func TestStepWorkAbsent(t *testing.T) {
	whole := &stepCounter{model: llama8B(t), dtype: "bf16", context: 600}
	for _, c := range []struct {
		name string
		w    *stepCounter
		why  fact.Code // "" where there is a value
	}{
		{"step[MIXED bs=8 toks=519]", whole, codeStepUntold},
		{"[Executor] _forward_step 3: 1 ctx reqs, 7 gen reqs", whole, codeStepUntold},
		{"[Executor] _forward_step 3: 1 ctx reqs, 512 ctx tokens, 7 gen reqs", whole, ""},
		{"[Executor] _forward_step 3: 0 ctx reqs, 7 gen reqs", whole, ""},
		{"scheduler.run_batch", whole, codeStepUntold},
		{"execute_context_1(512)_generation_7(7)", &stepCounter{}, codeStepNoConfig},
		{"execute_context_1(512)_generation_7(7)", &stepCounter{model: whole.model, dtype: "bf16"}, codeStepNoContext},
		{"execute_context_1(512)_generation_0(0)", &stepCounter{model: whole.model, dtype: "bf16"}, ""},
		{"execute_context_0(0)_generation_7(14)", whole, ""}, // two tokens each
	} {
		a := analyzerWith(Input{})
		a.res.Environment.GPUs = []GPU{{Peaks: []Peak{{ID: "tensor_bf16", Value: 1e15}, {ID: levelDRAM, Value: 4e12}}}}
		got := &classSteps([]timeline.StepRow{step(t, c.name, 30e6, 20e6, 0)})[0]
		a.utilizer().stepWork(got, c.w)
		for what, u := range map[string]*Utilization{"MFU": got.MFU, "MBU": got.MBU} {
			if u == nil || (u.Value == nil) != (c.why != "") || c.why != "" && !hasFact(u.Why, c.why) {
				t.Errorf("%s: %s %+v, want %q", c.name, what, u, c.why)
			}
		}
	}
}

// TestMixedAgainstSamples holds the bytes that are counted for a step against the DRAM
// reads that nsys sampled in it on an H200: 7 sequences of about 580 keys beside a
// prompt of 512 tokens, in two passes. Weights that were counted once would be half.
func TestMixedAgainstSamples(t *testing.T) {
	r := analyzeFiles(t, "../nsys/testdata/exports/server_window.sqlite.gz")
	a := analyzerWith(Input{})
	a.res.Environment = r.Environment
	tested := 0
	for i := range r.Serving.Steps {
		c := &r.Serving.Steps[i]
		a.utilizer().stepWork(c, &stepCounter{model: llama8B(t), dtype: "bf16", context: 580, read: 704, promptsAlone: true})
		if c.MBU == nil || c.MBU.Value == nil || c.MBU.AtLeast || c.MFU.Value == nil {
			t.Errorf("%s of batch %d: %+v", c.Kind, c.BatchMin, c.MBU)
			continue
		}
		for _, m := range c.Sampled {
			if m.Metric == "dram_read" {
				tested++
				if math.Abs(*c.MBU.Value-m.Mean) > m.Error {
					t.Errorf("%s of batch %d: MBU %.3f, sampled %.3f ± %.3f", c.Kind, c.BatchMin, *c.MBU.Value, m.Mean, m.Error)
				}
			}
		}
	}
	if tested != 3 {
		t.Errorf("%d kinds of steps have samples", tested)
	}
}
