package flops

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
)

// quantized is a model of testdata with a quantization_config in place of its
// own.
func quantized(t testing.TB, name, config string) *Model {
	t.Helper()
	text, err := os.ReadFile("testdata/models/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := json.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	var quantization map[string]any
	if err := json.Unmarshal([]byte(config), &quantization); err != nil {
		t.Fatal(err)
	}
	values["quantization_config"] = quantization
	m, err := ParseMap(values)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Llama 3 8B: matrices of the layers, of which each scheme quantizes all; the
// head; norms and one row of the embedding.
const (
	llamaMatrices = 32 * (2*4096*4096 + 2*4096*1024 + 3*4096*14336)
	llamaHead     = 128256 * 4096
	llamaRest     = 65*4096 + 4096
	llamaRows     = 32 * (2*4096 + 2*1024 + 2*14336 + 4096) // outputs of all matrices
)

// TestQuantized: bytes of weights of one decoded token, by hand.
func TestQuantized(t *testing.T) {
	const plain = 2 * (llamaHead + llamaRest)
	for _, c := range []struct {
		name, config string
		want         float64
		products     string
	}{
		{"awq", `{"quant_method":"awq","bits":4,"group_size":128,"zero_point":true,"version":"gemm","modules_to_not_convert":null}`,
			llamaMatrices*(4+20./128)/8 + plain, ""},
		{"gptq", `{"quant_method":"gptq","bits":4,"group_size":128,"desc_act":false,"sym":true}`, llamaMatrices*(4+20./128)/8 + plain, ""},
		{"gptq, act order", `{"quant_method":"gptq","bits":4,"group_size":128,"desc_act":true}`,
			llamaMatrices*(4+20./128)/8 + 4*32*(6*4096+14336) + plain, ""},
		{"fp8 blocks", `{"quant_method":"fp8","activation_scheme":"dynamic","fmt":"e4m3","weight_block_size":[128,128]}`, llamaMatrices*(1+4./16384) + plain, "fp8"},
		{"fp8 tensors", `{"quant_method":"fp8","activation_scheme":"static"}`, llamaMatrices + 8*32*7 + plain, "fp8"},
		{"fbgemm", `{"quant_method":"fbgemm_fp8"}`, llamaMatrices + 4*llamaRows + plain, "fp8"},
		{"bnb 4", `{"quant_method":"bitsandbytes","load_in_4bit":true,"bnb_4bit_quant_type":"nf4"}`, llamaMatrices*(4+32./64)/8 + plain, ""},
		{"bnb 4 double", `{"quant_method":"bitsandbytes","load_in_4bit":true,"bnb_4bit_use_double_quant":true}`, llamaMatrices*(4+(8+32./256)/64)/8 + plain, ""},
		{"bnb 8", `{"load_in_8bit":true}`, llamaMatrices + 4*llamaRows + plain, "int8"},
		{"w4a16", `{"quant_method":"compressed-tensors","format":"pack-quantized","ignore":["lm_head"],"config_groups":{"group_0":{"targets":["Linear"],
			"weights":{"num_bits":4,"type":"int","strategy":"group","group_size":128,"symmetric":true}}}}`, llamaMatrices*(4+16./128)/8 + plain, ""},
		{"w8a8", `{"quant_method":"compressed-tensors","format":"int-quantized","ignore":["re:.*lm_head"],"config_groups":{"group_0":{"targets":["Linear"],
			"weights":{"num_bits":8,"type":"int","strategy":"channel"},"input_activations":{"num_bits":8,"type":"int","dynamic":true}}}}`, llamaMatrices + 2*llamaRows + plain, "int8"},
		{"nvfp4", `{"quant_method":"compressed-tensors","format":"nvfp4-pack-quantized","ignore":["lm_head"],"config_groups":{"group_0":{"targets":["Linear"],
			"weights":{"num_bits":4,"type":"float","strategy":"tensor_group","group_size":16},"input_activations":{"num_bits":4,"type":"float"}}}}`,
			llamaMatrices*(4+8./16)/8 + 8*32*7 + plain, "fp4"},
		{"modelopt", `{"quant_method":"modelopt","quant_algo":"NVFP4","exclude_modules":["lm_head"],"kv_cache_quant_algo":"FP8"}`, llamaMatrices*(4+8./16)/8 + 8*32*7 + plain, "fp4"},
		{"the head as well", `{"quant_method":"compressed-tensors","config_groups":{"group_0":{"targets":["Linear"],"weights":{"num_bits":8,"type":"float","strategy":"channel"}}}}`,
			llamaMatrices + llamaHead + 2*(llamaRows+128256) + 2*llamaRest, ""},
		{"torchao", `{"quant_method":"torchao","quant_type":{"default":{"_type":"Int4WeightOnlyConfig","_data":{"group_size":64}}}}`, llamaMatrices*(4+32./64)/8 + plain, ""},
		{"torchao, activations", `{"quant_method":"torchao","quant_type":"float8_dynamic_activation_float8_weight"}`, llamaMatrices + 4*llamaRows + plain, "fp8"},
		{"two layers left", `{"quant_method":"awq","bits":4,"group_size":128,"modules_to_not_convert":["model.layers.0.mlp","model.layers.31"]}`,
			(llamaMatrices-3*4096*14336-llamaMatrices/32)*(4+20./128)/8 + 2*(3*4096*14336+llamaMatrices/32) + plain, ""},
	} {
		m := quantized(t, "real/Llama-3-8B", c.config)
		r := count(t, m, Shape{Prompt: 512, New: 2})
		if got := float64(stage(t, r, "decode").Bytes.Weights); math.Abs(got-c.want) > 1 {
			t.Errorf("%s: %.0f bytes, want %.0f", c.name, got, c.want)
		}
		if r.Model.Products != c.products || len(r.Warnings) > 0 {
			t.Errorf("%s: products %q, %+v", c.name, r.Model.Products, r.Warnings)
		}
		if !hasCode(r.Assumptions, Quantized) {
			t.Errorf("%s: %+v", c.name, r.Assumptions)
		}
	}
}

func hasCode(list []fact.Fact, code fact.Code) bool {
	for _, f := range list {
		if f.Is(code) {
			return true
		}
	}
	return false
}

// TestQuantizedModels holds whole models against published sizes: the AWQ of
// Llama 3 8B has 5.73 GB and reads 4.7 GB a token, gpt-oss-20b 13.76 GB and
// 3.7 GB.
func TestQuantizedModels(t *testing.T) {
	for _, c := range []struct {
		m          *Model
		all, token float64 // GB
	}{
		{quantized(t, "real/Llama-3-8B", `{"quant_method":"awq","bits":4,"group_size":128}`), 5.73, 4.68},
		{fixture(t, "real/gpt-oss-20b"), 13.76, 3.70},
		{fixture(t, "real/gpt-oss-120b"), 65.25, 5.00},
	} {
		r := count(t, c.m, Shape{Prompt: 512, New: 2})
		got := []float64{float64(r.Model.WeightsBytes) / 1e9, float64(stage(t, r, "decode").Bytes.Weights) / 1e9}
		if math.Abs(got[0]-c.all) > 0.005*c.all || math.Abs(got[1]-c.token) > 0.005*c.token {
			t.Errorf("%s: %.3f GB of weights, %.3f for a token; want %.2f and %.2f", r.Model.Type, got[0], got[1], c.all, c.token)
		}
	}
}

// TestDeepSeekCheckpoint: the published files of DeepSeek-V3, fp8 in blocks of 128 x
// 128, have 688,586,727,753 bytes. They hold a 62nd layer for multi-token
// prediction with an embedding, a head and a matrix of its own.
func TestDeepSeekCheckpoint(t *testing.T) {
	const files, vocab, hidden = 688586727753, 129280, 7168
	m := fixture(t, "real/DeepSeek-V3")
	if !hasCode(m.assumptions, ExtraLayers) {
		t.Errorf("%+v", m.assumptions)
	}
	values := maps.Clone(m.raw)
	values["num_hidden_layers"] = 62
	m, err := ParseMap(values)
	if err != nil {
		t.Fatal(err)
	}
	got := float64(count(t, m, Shape{Prompt: 1}).Model.WeightsBytes) + 2*(2*vocab*hidden+2*hidden*hidden)
	if math.Abs(got/files-1) > 1e-4 {
		t.Errorf("%.0f bytes, want %d", got, int64(files))
	}
}

// TestCacheType: the cache has its own type, the activations theirs.
func TestCacheType(t *testing.T) {
	m := quantized(t, "real/Llama-3-8B", `{"quant_method":"fp8","kv_cache_scheme":{"num_bits":8,"type":"float"}}`)
	r, plain := count(t, m, Shape{Prompt: 64, New: 8}), count(t, fixture(t, "real/Llama-3-8B"), Shape{Prompt: 64, New: 8})
	equal(t, "cache", 2*stage(t, r, "decode").Bytes.CacheRead, stage(t, plain, "decode").Bytes.CacheRead)
	equal(t, "of a token", 2*r.Cache.BytesPerToken, plain.Cache.BytesPerToken)
	equal(t, "activations", stage(t, r, "decode").Bytes.Activations, stage(t, plain, "decode").Bytes.Activations)
	asked := count(t, fixture(t, "real/Llama-3-8B"), Shape{Prompt: 64, New: 8, CacheDType: "fp8"})
	equal(t, "asked for", asked.Cache.BytesPerToken, r.Cache.BytesPerToken)
	if !hasCode(r.Assumptions, CacheType) || !hasCode(asked.Assumptions, CacheType) || hasCode(plain.Assumptions, CacheType) {
		t.Errorf("%+v, %+v", r.Assumptions, asked.Assumptions)
	}
}

// TestTypeTaken: without a type, that of the config counts, else bf16; it is stated.
func TestTypeTaken(t *testing.T) {
	for name, want := range map[string][2]string{"real/gemma-2-9b": {"fp32", "config"}, "real/opt-6.7b": {"fp16", "config"}, "real/gemma-2b": {"bf16", "default"}} {
		r := count(t, fixture(t, name), Shape{Prompt: 8, New: 3})
		if stated := r.Assumptions[len(r.Assumptions)-1]; r.Shape.DType != want[0] || !stated.Is(TypeTaken) || stated.Text("source") != "dtype-source:"+want[1] {
			t.Errorf("%s: %s, %+v", name, r.Shape.DType, stated)
		}
		if d := stage(t, r, "decode"); d.MeanContext != 9.5 || d.Passes != 2 {
			t.Errorf("mean context %v over %d passes", d.MeanContext, d.Passes)
		}
		if asked := count(t, fixture(t, name), Shape{Prompt: 8, DType: "fp8"}); hasCode(asked.Assumptions, TypeTaken) {
			t.Errorf("%+v", asked.Assumptions)
		}
	}
}

// TestQuantizationNotUnderstood: what is not known is named, and counted dense.
func TestQuantizationNotUnderstood(t *testing.T) {
	plain := count(t, fixture(t, "real/Llama-3-8B"), Shape{Prompt: 8})
	for _, config := range []string{
		`{"quant_method":"aqlm","nbits_per_codebook":16}`, `{"quant_method":"compressed-tensors"}`, `{"quant_method":"torchao","quant_type":"autoquant"}`, `{}`,
		`{"quant_method":"compressed-tensors","config_groups":{"a":{"weights":{"strategy":"spiral"}}}}`, `{"quant_method":"modelopt","quant_algo":"W4A8_X"}`,
	} {
		r := count(t, quantized(t, "real/Llama-3-8B", config), Shape{Prompt: 8})
		equal(t, config, r.Model.WeightsBytes, plain.Model.WeightsBytes)
		if len(r.Warnings) != 1 || !r.Warnings[0].Is(QuantizationUnknown) {
			t.Errorf("%s: %+v", config, r.Warnings)
		}
	}
	r := count(t, quantized(t, "real/Llama-3-8B", `{"quant_method":"compressed-tensors","config_groups":{"a":{"targets":["FusedMoE"],"weights":{"num_bits":8,"strategy":"channel"}}}}`), Shape{Prompt: 8})
	if len(r.Warnings) != 1 || !r.Warnings[0].Is(ModulesUnknown) {
		t.Errorf("targets that match nothing: %+v", r.Warnings)
	}
	r = count(t, quantized(t, "real/Llama-3-8B", `{"quant_method":"awq","modules_to_not_convert":["block.wizard","lm_head","model.layers.3.self_attn"]}`), Shape{Prompt: 8})
	if len(r.Warnings) != 1 || !r.Warnings[0].Is(ModulesUnknown) || len(r.Warnings[0].Params["modules"].List) != 1 {
		t.Errorf("%+v", r.Warnings)
	}
}

// TestUnknownFields: a field that may change the work is named, with the family
// that is not known.
func TestUnknownFields(t *testing.T) {
	m, err := ParseMap(map[string]any{"model_type": "newmodel", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100,
		"memory_tokens": 16, "sliding_window": 64, "rms_norm_eps": 1e-5, "use_cache": true, "wild_gate": true})
	if err != nil {
		t.Fatal(err)
	}
	want := fact.New(FieldsUnknown, fact.Names("fields", fact.KindKey, []string{"memory_tokens", "sliding_window", "wild_gate"}))
	if len(m.warnings) != 2 || !m.warnings[0].Is(FamilyUnknown) || !m.warnings[1].Equal(want) {
		t.Errorf("%+v", m.warnings)
	}
}

// TestAbsorbed derives a decode step of DeepSeek-V3 that attends to the latent:
// far less than expanding the context, and the same as expanding for prefill.
func TestAbsorbed(t *testing.T) {
	const S, layers, heads, rank, rope, nope, v = 1000, 61, 128, 512, 64, 128, 128
	m := fixture(t, "real/DeepSeek-V3")
	r, other := count(t, m, Shape{Prompt: S, New: 2, Latent: Absorbed}), count(t, m, Shape{Prompt: S, New: 2})
	d := stage(t, r, "decode")
	equal(t, "absorption", component(t, d, Absorption).FLOPs, layers*2*heads*rank*(nope+v))
	equal(t, "scores", component(t, d, Scores).FLOPs, layers*2*heads*(2*rank+rope)*(S+1))
	equal(t, "prefill", stage(t, r, "prefill").FLOPs, stage(t, other, "prefill").FLOPs)
	equal(t, "cache", d.Bytes.CacheRead, stage(t, other, "decode").Bytes.CacheRead)
	equal(t, "weights", d.Bytes.Weights, stage(t, other, "decode").Bytes.Weights)
	if !hasCode(r.Assumptions, LatentAbsorbed) || hasCode(r.Assumptions, LatentExpanded) || 5*d.FLOPs > stage(t, other, "decode").FLOPs {
		t.Errorf("%d FLOPs, expanded %d; %+v", d.FLOPs, stage(t, other, "decode").FLOPs, r.Assumptions)
	}
	if _, err := m.Count(Shape{Prompt: 1, Latent: "folded"}); err == nil {
		t.Error("an unknown way was taken")
	}
}

// TestState: a model without attention keeps a state of the same size whatever
// the context, read and written in each step.
func TestState(t *testing.T) {
	const layers, inner, state, kernel = 24, 1536, 16, 4
	const bytes = 2 * layers * (inner*state + inner*(kernel-1))
	for _, prompt := range []int64{10, 10000} {
		r := count(t, fixture(t, "real/mamba-130m"), Shape{Batch: 3, Prompt: prompt, New: 6})
		d := stage(t, r, "decode")
		equal(t, "state", r.Cache.StateBytes, 3*bytes)
		equal(t, "at the end", r.Cache.EndBytes, 3*bytes)
		equal(t, "of a token", r.Cache.BytesPerToken, 0)
		equal(t, "reads", d.Bytes.CacheRead, 5*3*bytes)
		equal(t, "writes", d.Bytes.CacheWrite, 5*3*bytes)
		equal(t, "update", component(t, d, StateUpdate).FLOPs, 5*3*layers*5*inner*state)
	}
}

// TestChunks: Llama 4 attends within chunks in three layers of four.
func TestChunks(t *testing.T) {
	for n := range int64(40) {
		want := int64(0)
		for k := range n {
			want += k%7 + 1
		}
		equal(t, "chunked", chunked(n, 7), want)
	}
	const S, chunk, pair = 20000, 8192, 2 * 2 * 40 * 128
	p := component(t, stage(t, count(t, fixture(t, "real/Llama-4-Scout-text"), Shape{Prompt: S}), "prefill"), Scores)
	equal(t, "scores", p.FLOPs, pair*(12*S*(S+1)/2+36*(2*chunk*(chunk+1)/2+(S-2*chunk)*(S-2*chunk+1)/2)))
}
