package flops

import (
	"strings"
	"testing"
)

// small are models of each kind of architecture with few layers, as
// scripts/validate/flops runs them.
var small = map[string]string{
	"llama": `{"model_type":"llama","vocab_size":32000,"hidden_size":1024,"intermediate_size":2816,"num_hidden_layers":4,"num_attention_heads":8,
		"num_key_value_heads":2}`,
	"qwen2": `{"model_type":"qwen2","vocab_size":32000,"hidden_size":896,"intermediate_size":4864,"num_hidden_layers":4,"num_attention_heads":14,
		"num_key_value_heads":2,"tie_word_embeddings":true}`,
	"qwen3_moe": `{"model_type":"qwen3_moe","vocab_size":32000,"hidden_size":1024,"intermediate_size":2048,"moe_intermediate_size":384,
		"num_hidden_layers":4,"num_attention_heads":16,"num_key_value_heads":4,"head_dim":128,"num_experts":16,"num_experts_per_tok":4}`,
	"mixtral": `{"model_type":"mixtral","vocab_size":32000,"hidden_size":1024,"intermediate_size":2816,"num_hidden_layers":4,
		"num_attention_heads":8,"num_key_value_heads":2,"num_local_experts":8,"num_experts_per_tok":2}`,
	"deepseek_v2": `{"model_type":"deepseek_v2","vocab_size":32000,"hidden_size":1024,"intermediate_size":2816,"moe_intermediate_size":384,
		"num_hidden_layers":4,"num_attention_heads":8,"num_key_value_heads":8,"n_shared_experts":2,"n_routed_experts":16,"num_experts_per_tok":4,
		"first_k_dense_replace":1,"q_lora_rank":null,"kv_lora_rank":256,"qk_nope_head_dim":64,"qk_rope_head_dim":32,"v_head_dim":64}`,
	"deepseek_v3": `{"model_type":"deepseek_v3","vocab_size":32000,"hidden_size":1024,"intermediate_size":2816,"moe_intermediate_size":384,
		"num_hidden_layers":4,"num_attention_heads":8,"num_key_value_heads":8,"n_shared_experts":1,"n_routed_experts":16,"num_experts_per_tok":4,
		"first_k_dense_replace":1,"q_lora_rank":384,"kv_lora_rank":256,"qk_nope_head_dim":64,"qk_rope_head_dim":32,"v_head_dim":64}`,
	"deepseek_ocr2": `{"model_type":"deepseek_ocr2",
		"vision_config":{"sam_config":{"hidden_size":768,"num_hidden_layers":4,"num_attention_heads":12,"image_size":1024,"patch_size":16,
			"global_attn_indexes":[3]},
			"encoder_config":{"hidden_size":896,"intermediate_size":4864,"num_hidden_layers":4,"num_attention_heads":14,"num_key_value_heads":2}},
		"text_config":{"vocab_size":129280,"hidden_size":1280,"intermediate_size":6848,"num_hidden_layers":4,"num_attention_heads":10,
			"num_key_value_heads":10,"n_routed_experts":64,"n_shared_experts":2,"num_experts_per_tok":6,"moe_intermediate_size":896,
			"mlp_layer_types":["dense","sparse","sparse","sparse"]}}`,
	"llava": `{"model_type":"llava","image_token_index":31999,
		"vision_config":{"model_type":"clip_vision_model","hidden_size":1024,"intermediate_size":4096,"num_hidden_layers":8,
			"num_attention_heads":16,"image_size":336,"patch_size":14},
		"text_config":{"model_type":"llama","vocab_size":32000,"hidden_size":2048,"intermediate_size":5504,"num_hidden_layers":8,
			"num_attention_heads":16,"num_key_value_heads":16}}`,
}

// TestTorch holds the counts against what FlopCounterMode of torch 2.11 gave
// over the modules of transformers 5.17 on a GPU, in bf16 with sdpa, for random
// weights: workload/flops_check.json of scripts/validate/flops. Every one is met
// exactly.
func TestTorch(t *testing.T) {
	text := Shape{Batch: 2, Prompt: 512, New: 5}
	static := text
	static.CacheLength = 517
	for _, c := range []struct {
		config string
		shape  Shape
		want   map[string]int64
	}{
		{"llama", text, map[string]int64{"prefill": 101062868992, "decode": 1313145344}},
		{"llama", static, map[string]int64{"prefill": 101062868992, "decode": 1313473024}},
		{"qwen2", text, map[string]int64{"prefill": 129769046016, "decode": 1471963392}},
		{"qwen3_moe", text, map[string]int64{"prefill": 99049603072, "decode": 1297744384}},
		{"mixtral", text, map[string]int64{"prefill": 171996938240, "decode": 1867317760}},
		{"deepseek_v2", text, map[string]int64{"prefill": 82104565760, "decode": 9780011136}},
		{"deepseek_v3", text, map[string]int64{"prefill": 74051502080, "decode": 9717096576}},
		{"deepseek_ocr2", Shape{Batch: 1, Prompt: 16, New: 5, Images: 1, ImageSize: 1024}, map[string]int64{
			"prefill": 462104721536, "sam": 320941793280, "clip": 64827195392, "projector": 587202560, "decode": 2429051392}},
		{"llava", Shape{Batch: 2, Prompt: 16, New: 5, Images: 1, ImageSize: 336}, map[string]int64{
			"prefill": 1274679535616, "clip": 255536988160, "projector": 14495514624, "decode": 7836271104}},
	} {
		m, err := Parse(strings.NewReader(small[c.config]))
		if err != nil {
			t.Fatal(err)
		}
		r := count(t, m, c.shape)
		equal(t, c.config+": stages", int64(len(r.Stages)), int64(len(c.want)))
		for name, want := range c.want {
			equal(t, c.config+" "+name, stage(t, r, name).Torch, want)
		}
	}
}

// TestTorchSteps: each step expands the whole context anew. flops_per_step and
// kv_b_proj of the first layer are from the same passes.
func TestTorchSteps(t *testing.T) {
	for name, want := range map[string][]int64{
		"deepseek_v2": {2438680608, 2442895392, 2447110176, 2451324960},
		"deepseek_v3": {2422951968, 2427166752, 2431381536, 2435596320},
	} {
		m, err := Parse(strings.NewReader(small[name]))
		if err != nil {
			t.Fatal(err)
		}
		r := count(t, m, Shape{Batch: 2, Prompt: 512, New: 5})
		d := stage(t, r, "decode")
		for i, w := range want {
			equal(t, name+" step", d.Growth[i].Torch, w)
		}
		equal(t, name+" kv_b_proj, prefill", component(t, stage(t, r, "prefill"), Expansion).Torch, 4*536870912)
		equal(t, name+" kv_b_proj, decode", component(t, d, Expansion).Torch, 4*2157969408)
	}
}

// TestLatentBytes: the cache is the latent; a step reads all of it, writes the
// keys and values that come out, and reads them.
func TestLatentBytes(t *testing.T) {
	const B, S, L, H, heads, rank, rope, nope, v = 2, 512, 4, 1024, 8, 256, 32, 64, 64
	const contexts = 513 + 514 + 515 + 516
	m, err := Parse(strings.NewReader(small["deepseek_v2"]))
	if err != nil {
		t.Fatal(err)
	}
	r := count(t, m, Shape{Batch: B, Prompt: S, New: 5})
	d, p := stage(t, r, "decode"), stage(t, r, "prefill")
	equal(t, "cache of a token", r.Cache.BytesPerToken, 2*L*(rank+rope))
	equal(t, "expanded", r.Cache.ExpandedBytesPerToken, 2*L*heads*(nope+rope+v))
	equal(t, "at the end", r.Cache.EndBytes, 2*L*B*(S+4)*(rank+rope))
	equal(t, "decode reads", d.Bytes.CacheRead, 2*L*B*contexts*(rank+rope))
	equal(t, "decode writes", d.Bytes.CacheWrite, 2*L*B*4*(rank+rope))
	equal(t, "prefill reads", p.Bytes.CacheRead, 2*L*B*S*(rank+rope))
	longer := stage(t, count(t, m, Shape{Batch: B, Prompt: S + 1, New: 5}), "decode")
	equal(t, "activations of one more key in 4 steps", longer.Bytes.Activations-d.Bytes.Activations,
		2*4*L*B*heads*((nope+v)+(nope+rope+v)))
	equal(t, "weights do not grow", longer.Bytes.Weights, d.Bytes.Weights)
	// A static cache is expanded whole, its free end as well.
	static := stage(t, count(t, m, Shape{Batch: B, Prompt: S, New: 5, CacheLength: 600}), "decode")
	e := component(t, static, Expansion)
	equal(t, "static, needed", e.FLOPs, L*B*2*rank*heads*(nope+v)*contexts)
	equal(t, "static, torch", e.Torch, L*B*2*rank*heads*(nope+v)*4*600)
}
