package flops

import (
	"strings"
	"testing"
)

// configs are the fields of published models that decide their arithmetic.
var configs = map[string]string{
	"Llama-3.1-8B": `{"model_type":"llama","hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":32,"num_attention_heads":32,
		"num_key_value_heads":8,"vocab_size":128256,"attention_bias":false,"mlp_bias":false,"tie_word_embeddings":false}`,
	"Llama-3.2-1B": `{"model_type":"llama","hidden_size":2048,"intermediate_size":8192,"num_hidden_layers":16,"num_attention_heads":32,
		"num_key_value_heads":8,"head_dim":64,"vocab_size":128256,"tie_word_embeddings":true}`,
	"Qwen2.5-7B": `{"model_type":"qwen2","hidden_size":3584,"intermediate_size":18944,"num_hidden_layers":28,"num_attention_heads":28,
		"num_key_value_heads":4,"vocab_size":152064,"tie_word_embeddings":false,"use_sliding_window":false,"sliding_window":131072,"max_window_layers":28}`,
	"Qwen2.5-0.5B": `{"model_type":"qwen2","hidden_size":896,"intermediate_size":4864,"num_hidden_layers":24,"num_attention_heads":14,
		"num_key_value_heads":2,"vocab_size":151936,"tie_word_embeddings":true}`,
	"Qwen3-8B": `{"model_type":"qwen3","hidden_size":4096,"intermediate_size":12288,"num_hidden_layers":36,"num_attention_heads":32,
		"num_key_value_heads":8,"head_dim":128,"vocab_size":151936,"tie_word_embeddings":false}`,
	"Qwen3-30B-A3B": `{"model_type":"qwen3_moe","hidden_size":2048,"intermediate_size":6144,"moe_intermediate_size":768,"num_hidden_layers":48,
		"num_attention_heads":32,"num_key_value_heads":4,"head_dim":128,"vocab_size":151936,"num_experts":128,"num_experts_per_tok":8,
		"decoder_sparse_step":1,"mlp_only_layers":[],"tie_word_embeddings":false}`,
	"Qwen1.5-MoE-A2.7B": `{"model_type":"qwen2_moe","hidden_size":2048,"intermediate_size":5632,"moe_intermediate_size":1408,
		"shared_expert_intermediate_size":5632,"num_hidden_layers":24,"num_attention_heads":16,"num_key_value_heads":16,"vocab_size":151936,
		"num_experts":60,"num_experts_per_tok":4,"decoder_sparse_step":1,"tie_word_embeddings":false}`,
	"Mixtral-8x7B": `{"model_type":"mixtral","hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":32,"num_attention_heads":32,
		"num_key_value_heads":8,"vocab_size":32000,"num_local_experts":8,"num_experts_per_tok":2,"sliding_window":null,"tie_word_embeddings":false}`,
	"DeepSeek-V2-Lite": `{"model_type":"deepseek_v2","vocab_size":102400,"hidden_size":2048,"intermediate_size":10944,"moe_intermediate_size":1408,
		"num_hidden_layers":27,"num_attention_heads":16,"num_key_value_heads":16,"n_shared_experts":2,"n_routed_experts":64,"num_experts_per_tok":6,
		"first_k_dense_replace":1,"moe_layer_freq":1,"q_lora_rank":null,"kv_lora_rank":512,"qk_nope_head_dim":128,"qk_rope_head_dim":64,
		"v_head_dim":128,"tie_word_embeddings":false}`,
	"DeepSeek-V3": `{"model_type":"deepseek_v3","vocab_size":129280,"hidden_size":7168,"intermediate_size":18432,"moe_intermediate_size":2048,
		"num_hidden_layers":61,"num_attention_heads":128,"num_key_value_heads":128,"n_shared_experts":1,"n_routed_experts":256,"num_experts_per_tok":8,
		"first_k_dense_replace":3,"moe_layer_freq":1,"q_lora_rank":1536,"kv_lora_rank":512,"qk_nope_head_dim":128,"qk_rope_head_dim":64,
		"v_head_dim":128,"tie_word_embeddings":false}`,
	"gemma-2-2b": `{"model_type":"gemma2","hidden_size":2304,"intermediate_size":9216,"num_hidden_layers":26,"num_attention_heads":8,
		"num_key_value_heads":4,"head_dim":256,"vocab_size":256000,"sliding_window":4096}`,
	"Phi-3-mini-4k": `{"model_type":"phi3","hidden_size":3072,"intermediate_size":8192,"num_hidden_layers":32,"num_attention_heads":32,
		"num_key_value_heads":32,"vocab_size":32064,"sliding_window":2047,"tie_word_embeddings":false}`,
	"gemma-2b": `{"model_type":"gemma","hidden_size":2048,"intermediate_size":16384,"num_hidden_layers":18,"num_attention_heads":8,
		"num_key_value_heads":1,"head_dim":256,"vocab_size":256000}`,
	"gemma-3-1b": `{"model_type":"gemma3_text","hidden_size":1152,"intermediate_size":6912,"num_hidden_layers":26,"num_attention_heads":4,
		"num_key_value_heads":1,"head_dim":256,"vocab_size":262144,"sliding_window":512,"sliding_window_pattern":6}`,
	"gemma-3-4b": `{"model_type":"gemma3","mm_tokens_per_image":256,
		"text_config":{"model_type":"gemma3_text","hidden_size":2560,"intermediate_size":10240,"num_hidden_layers":34,"num_attention_heads":8,
			"num_key_value_heads":4,"head_dim":256,"vocab_size":262208,"sliding_window":1024},
		"vision_config":{"model_type":"siglip_vision_model","hidden_size":1152,"intermediate_size":4304,"num_hidden_layers":27,
			"num_attention_heads":16,"image_size":896,"patch_size":14,"vision_use_head":false}}`,
	"pythia-160m": `{"model_type":"gpt_neox","hidden_size":768,"intermediate_size":3072,"num_hidden_layers":12,"num_attention_heads":12,
		"vocab_size":50304,"rotary_pct":0.25,"tie_word_embeddings":false}`,
	"gpt2": `{"model_type":"gpt2","n_embd":768,"n_layer":12,"n_head":12,"n_positions":1024,"n_ctx":1024,"vocab_size":50257}`,
	"llava-1.5-7b": `{"model_type":"llava","image_token_index":32000,"vision_feature_layer":-2,"vision_feature_select_strategy":"default",
		"text_config":{"model_type":"llama","vocab_size":32064,"hidden_size":4096,"intermediate_size":11008,"num_hidden_layers":32,
			"num_attention_heads":32,"num_key_value_heads":32},
		"vision_config":{"model_type":"clip_vision_model","hidden_size":1024,"intermediate_size":4096,"num_hidden_layers":24,
			"num_attention_heads":16,"image_size":336,"patch_size":14,"projection_dim":768}}`,
	"deepseek_ocr2": `{"model_type":"deepseek_ocr2",
		"vision_config":{"sam_config":{"hidden_size":768,"num_hidden_layers":12,"num_attention_heads":12,"image_size":1024,"patch_size":16},
			"encoder_config":{"hidden_size":896,"intermediate_size":4864,"num_hidden_layers":24,"num_attention_heads":14,"num_key_value_heads":2}},
		"text_config":{"vocab_size":129280,"hidden_size":1280,"intermediate_size":6848,"num_hidden_layers":12,"num_attention_heads":10,
			"num_key_value_heads":10,"n_routed_experts":64,"n_shared_experts":2,"num_experts_per_tok":6,"moe_intermediate_size":896,
			"mlp_layer_types":["dense","sparse","sparse","sparse","sparse","sparse","sparse","sparse","sparse","sparse","sparse","sparse"]}}`,
}

func model(t testing.TB, name string) *Model {
	t.Helper()
	m, err := Parse(strings.NewReader(configs[name]))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return m
}

// TestParameters compares with the counts that are published with the weights
// (num_parameters of transformers).
func TestParameters(t *testing.T) {
	for name, want := range map[string]int64{
		"Llama-3.1-8B": 8030261248, "Llama-3.2-1B": 1235814400, "Qwen2.5-7B": 7615616512, "Qwen2.5-0.5B": 494032768,
		"Qwen3-8B": 8190735360, "Qwen3-30B-A3B": 30532122624, "Qwen1.5-MoE-A2.7B": 14315784192, "Mixtral-8x7B": 46702792704,
		"DeepSeek-V2-Lite": 15706484224, "DeepSeek-V3": 671026404352, "gemma-2-2b": 2614341888, "Phi-3-mini-4k": 3821079552,
		"gpt2": 124439808, "pythia-160m": 162322944, "gemma-2b": 2506172416, "gemma-3-1b": 999885952, "gemma-3-4b": 4300079472, "llava-1.5-7b": 7063427072,
	} {
		if got := model(t, name).Parameters(); got != want {
			t.Errorf("%s: %d parameters, want %d (%+d)", name, got, want, got-want)
		}
	}
}
