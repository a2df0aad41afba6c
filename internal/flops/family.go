package flops

import "strings"

// family is what a model_type says that its config.json does not. The zero
// value is that of Llama: no biases, a gated MLP, RMS norms, an untied head.
type family struct {
	qkvBias   bool // query, key and value always have a bias
	outBias   bool // so has the output of attention
	plainMLP  bool // up and down alone, no gate
	mlpBias   bool
	layerNorm bool  // norms have a bias beside their weight
	norms     int64 // in each layer, 0 for 2
	headNorm  bool  // queries and keys are normed, one weight a head dimension
	wideNorm  bool  // queries and keys are normed over all heads
	learned   bool  // positions are an embedding, and nothing is rotated
	latent    bool  // multi-head latent attention
	window    func(o *object, layer int64) bool
	defaults  map[string]any // of transformers, for keys that files leave out
}

func everyLayer(*object, int64) bool { return true }

// upperLayers: Qwen's windows are off unless asked for, and begin at a layer.
func upperLayers(o *object, layer int64) bool {
	return o.flag("use_sliding_window", false) && layer >= o.size("max_window_layers", 28)
}

// ifAsked: windows are off unless asked for, and then in every layer.
func ifAsked(o *object, _ int64) bool { return o.flag("use_sliding_window", false) }

func evenLayers(_ *object, layer int64) bool { return layer%2 == 0 }

// patternLayers: every layer but each n-th has a window.
func patternLayers(o *object, layer int64) bool {
	n := o.size("sliding_window_pattern", 6)
	return n > 0 && (layer+1)%n != 0
}

type values = map[string]any

// families are the model types that are counted exactly. Others are counted as
// Llama is, and the report says so.
var families = map[string]family{
	"llama":     {},
	"mistral":   {window: everyLayer, defaults: values{"num_key_value_heads": 8}},
	"mixtral":   {window: everyLayer, defaults: values{"num_key_value_heads": 8, "num_local_experts": 8, "num_experts_per_tok": 2}},
	"phi3":      {window: everyLayer},
	"granite":   {},
	"qwen2":     {qkvBias: true, window: upperLayers},
	"qwen2_moe": {qkvBias: true, window: upperLayers, defaults: values{"num_experts": 60, "num_experts_per_tok": 4, "moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632}},
	"qwen3":     {headNorm: true, window: upperLayers, defaults: values{"head_dim": 128}},
	"qwen3_moe": {headNorm: true, window: ifAsked, defaults: values{"num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768}},
	"olmo2":     {wideNorm: true},
	"gemma":     {defaults: values{"head_dim": 256, "tie_word_embeddings": true}},
	"gemma2":    {norms: 4, window: evenLayers, defaults: values{"head_dim": 256, "tie_word_embeddings": true, "sliding_window": 4096}},
	"gemma3":    {norms: 4, headNorm: true, window: patternLayers, defaults: values{"head_dim": 256, "tie_word_embeddings": true, "sliding_window": 4096}},
	"gpt2":      {qkvBias: true, outBias: true, plainMLP: true, mlpBias: true, layerNorm: true, learned: true, defaults: values{"tie_word_embeddings": true}},
	"gpt_neox":  {qkvBias: true, outBias: true, plainMLP: true, mlpBias: true, layerNorm: true},
	"deepseek_v2": {latent: true, defaults: values{"q_lora_rank": 1536, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128,
		"n_routed_experts": 64, "n_shared_experts": 2, "moe_intermediate_size": 1407, "first_k_dense_replace": 0}},
	"deepseek_v3": {latent: true, defaults: values{"q_lora_rank": 1536, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128,
		"n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "first_k_dense_replace": 3}},
	"deepseek_ocr2": {defaults: values{"n_routed_experts": 64, "n_shared_experts": 2, "moe_intermediate_size": 1407}},
}

// aliases are model types that are built like another.
var aliases = map[string]string{"kimi_k2": "deepseek_v3", "smollm": "llama", "ministral": "mistral"}

// familyOf finds what is known of a model_type. The text part of a larger
// model carries its name with _text behind.
func familyOf(modelType string) (family, bool) {
	name := strings.TrimSuffix(modelType, "_text")
	if other, ok := aliases[name]; ok {
		name = other
	}
	f, ok := families[name]
	return f, ok
}
