package flops

import "strings"

// family is what a model_type says that its config.json does not. The zero
// value is that of Llama: biases where attention_bias and mlp_bias ask for them,
// a gated MLP, two RMS norms a layer, rotated positions, an untied head.
type family struct {
	qkvBias, outBias, mlpBias, headBias rule
	plainMLP, noMLP                     bool // up and down alone; none
	norm                                normKind
	norms                               int64                      // in each layer, 0 for 2
	normsBy                             func(o *object) int64      // where the config decides
	attentionNorm                       headParams                 // of queries and keys, and other parameters of attention
	keyHeads                            func(*object, int64) int64 // heads of keys and values
	gatedQuery                          bool                       // queries come with a gate of the same size
	positions                           positionKind
	positionOffset                      int64                     // rows of a learned embedding that no position uses
	latent                              bool                      // multi-head latent attention
	window, chunks                      func(*object, int64) bool // layers with a sliding window, or with chunks
	recurs                              func(*object, int64) bool // layers without attention
	state                               recurrentReader           // those layers
	routerBias, expertBias              bool
	routerOffset                        bool                        // the router adds a parameter to the score of each expert
	oneShared, plainExperts             bool                        // always one shared expert; experts without a gate
	runsAllExperts                      bool                        // see moe.all
	rotaries                            int64                       // tables of rotary frequencies, 0 for 1
	unused                              []string                    // fields of the family that change nothing here
	nested                              []string                    // mappings whose fields count as the model's
	adjust                              func(o *object, d *decoder) // what no other field says
	defaults                            map[string]any              // of transformers, for keys that files leave out
}

// A rule decides on a bias. nil leaves it to attention_bias or mlp_bias.
type rule func(o *object) bool

// always and never are for families whose class of transformers asks no key.
func always(*object) bool { return true }
func never(*object) bool  { return false }

// key asks a key of the config; def is what transformers takes where it is absent.
func key(name string, def bool) rule { return func(o *object) bool { return o.flag(name, def) } }

// of decides by the rule of the family, or else by the key of the config.
func (r rule) of(o *object, otherwise bool) bool {
	if r == nil {
		return otherwise
	}
	return r(o)
}

// A normKind is what a norm has parameters for. Norms take no FLOPs that are counted.
type normKind int

const (
	rms       normKind = iota // a weight
	layerNorm                 // a weight and a bias
	bare                      // nothing
)

// params is the number of parameters of one norm over size elements.
func (k normKind) params(size int64) int64 { return mul([]int64{1, 2, 0}[k], size) }

// normCount is the number of norms in a layer.
func (f family) normCount(o *object) int64 {
	switch {
	case f.normsBy != nil:
		return f.normsBy(o)
	case f.norms > 0:
		return f.norms
	}
	return 2
}

// A positionKind is how a model knows positions: what has parameters, or is computed.
type positionKind int

const (
	rotated positionKind = iota
	learned
	unplaced // biases of the scores, or nothing
)

// recurrent reads the layer i, nil where it has attention.
func (f family) recurrent(o *object, i, hidden int64) *recurrent {
	if f.state == nil || !f.recurs(o, i) {
		return nil
	}
	return f.state(o, hidden)
}

// headParams counts parameters of attention that no matrix product uses.
type headParams func(o *object, heads, shared, dim int64) int64

// A norm of queries and keys over a head, with or without a bias, or over all heads; and a
// sink of attention for each head.
func headNorm(_ *object, _, _, dim int64) int64          { return mul(2, dim) }
func headLayerNorm(_ *object, _, _, dim int64) int64     { return mul(4, dim) }
func wideNorm(_ *object, heads, shared, dim int64) int64 { return mul(sum(heads, shared), dim) }
func sinks(_ *object, heads, _, _ int64) int64           { return heads }

// asked counts p only where a key of the config asks for it.
func asked(name string, def bool, p headParams) headParams {
	return func(o *object, heads, shared, dim int64) int64 {
		if !o.flag(name, def) {
			return 0
		}
		return p(o, heads, shared, dim)
	}
}

// everyLayer is for windows and for recurrences.
func everyLayer(*object, int64) bool { return true }

// upperLayers: Qwen's windows are off unless asked for, and begin at a layer.
func upperLayers(o *object, layer int64) bool {
	first := o.size("max_window_layers", 28)
	return o.flag("use_sliding_window", false) && layer >= first
}

// ifAsked: windows are off unless asked for, and then in every layer.
func ifAsked(o *object, _ int64) bool { return o.flag("use_sliding_window", false) }

// patternLayers: every layer but each n-th has a window. The pattern is a number,
// or letters of which L stands for a window.
func patternLayers(n int64) func(*object, int64) bool {
	return func(o *object, layer int64) bool {
		if s, ok := o.values["sliding_window_pattern"].(string); ok && s != "" {
			o.note("sliding_window_pattern")
			return s[layer%int64(len(s))] == 'L'
		}
		n := o.size("sliding_window_pattern", n)
		return n > 0 && (layer+1)%n != 0
	}
}

// nopeLayers: every layer but each n-th rotates positions, and attends in chunks.
func nopeLayers(o *object, layer int64) bool {
	n := o.size("no_rope_layer_interval", 4)
	return n > 0 && (layer+1)%n != 0
}

// queries is for families in which one head of keys and values may serve all.
func queries(multi bool) func(*object, int64) int64 {
	return func(o *object, heads int64) int64 {
		o.note("multi_query")
		if o.flag("new_decoder_architecture", false) {
			return o.size("num_kv_heads", heads)
		}
		if o.flag("multi_query", multi) {
			return 1
		}
		return heads
	}
}

// falconNorms: one norm, or one for attention and one for the MLP.
func falconNorms(o *object) int64 {
	separate, parallel := o.flag("new_decoder_architecture", false), o.flag("parallel_attn", true)
	n := o.size("num_ln_in_parallel_attn", 0)
	if separate && n == 0 {
		n = 2
	}
	if parallel && n < 2 {
		return 1
	}
	return 2
}

// parallelNorms: attention and MLP read the same norm.
func parallelNorms(name string) func(o *object) int64 {
	return func(o *object) int64 {
		if o.flag(name, false) {
			return 1
		}
		return 2
	}
}

// values are fields by key, as a config has them.
type values = map[string]any

// tied: the head is the embedding.
var tied = values{"tie_word_embeddings": true}

// mambaUnused repeat other fields, or choose kernels.
var mambaUnused = []string{"d_inner", "fused_add_norm", "rms_norm", "ssm_cfg", "pad_vocab_size_multiple"}

// families are the model types that are counted exactly, each held against the
// class of transformers by TestFamilies.
var families = map[string]family{
	"llama":            {},
	"mistral":          {window: everyLayer, defaults: values{"num_key_value_heads": 8}},
	"mixtral":          {window: everyLayer, defaults: values{"num_key_value_heads": 8, "num_local_experts": 8, "num_experts_per_tok": 2}},
	"granite":          {},
	"granitemoe":       {},
	"smollm3":          {defaults: tied},
	"seed_oss":         {qkvBias: key("attention_bias", true), outBias: key("attention_out_bias", false), defaults: values{"head_dim": 128}},
	"arcee":            {plainMLP: true},
	"apertus":          {plainMLP: true, attentionNorm: headNorm, adjust: apertus},
	"ernie4_5":         {qkvBias: key("use_bias", false), outBias: key("use_bias", false), mlpBias: key("use_bias", false), defaults: values{"head_dim": 128, "tie_word_embeddings": true}},
	"ernie4_5_moe":     {qkvBias: key("use_bias", false), outBias: key("use_bias", false), mlpBias: key("use_bias", false), routerOffset: true, defaults: tied},
	"minimax_m2":       {attentionNorm: asked("use_qk_norm", true, wideNorm)},
	"hunyuan_v1_dense": {attentionNorm: headNorm},

	"phi":    {qkvBias: always, outBias: always, mlpBias: always, headBias: always, plainMLP: true, norm: layerNorm, norms: 1, attentionNorm: asked("qk_layernorm", false, headLayerNorm), defaults: values{"partial_rotary_factor": 0.5}},
	"phi3":   {window: everyLayer},
	"phimoe": {headBias: key("lm_head_bias", false), norm: layerNorm, window: everyLayer, defaults: values{"num_local_experts": 16, "num_experts_per_tok": 2}},

	"qwen2":     {qkvBias: always, outBias: never, window: upperLayers},
	"qwen2_moe": {qkvBias: key("qkv_bias", true), outBias: never, window: upperLayers, defaults: values{"num_experts": 60, "num_experts_per_tok": 4, "moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632}},
	"qwen3":     {attentionNorm: headNorm, window: upperLayers, defaults: values{"head_dim": 128}},
	"qwen3_moe": {unused: []string{"max_window_layers"}, attentionNorm: headNorm, window: ifAsked, defaults: values{"num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768}},
	"qwen3_next": {gatedQuery: true, attentionNorm: headNorm, recurs: linearLayers, state: deltaNet, defaults: values{"head_dim": 256, "partial_rotary_factor": 0.25, "num_experts": 512,
		"num_experts_per_tok": 10, "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512, "linear_num_key_heads": 16, "linear_key_head_dim": 128,
		"linear_num_value_heads": 32, "linear_value_head_dim": 128}},

	"olmo":  {norm: bare},
	"olmo2": {attentionNorm: wideNorm},
	"olmo3": {rotaries: 2, attentionNorm: wideNorm, window: patternLayers(4)},
	"olmoe": {attentionNorm: wideNorm, defaults: values{"num_experts": 64, "num_experts_per_tok": 8}},

	"gemma":   {defaults: values{"head_dim": 256, "tie_word_embeddings": true}},
	"gemma2":  {norms: 4, window: patternLayers(2), defaults: values{"head_dim": 256, "tie_word_embeddings": true, "sliding_window": 4096}},
	"gemma3":  {norms: 4, rotaries: 2, attentionNorm: headNorm, window: patternLayers(6), defaults: values{"head_dim": 256, "tie_word_embeddings": true, "sliding_window": 4096}},
	"gemma3n": {norms: 4, rotaries: 2, attentionNorm: headNorm, window: patternLayers(5), adjust: gemma3n, defaults: values{"head_dim": 256, "tie_word_embeddings": true, "sliding_window": 512}},

	"gpt2":        {qkvBias: always, outBias: always, mlpBias: always, plainMLP: true, norm: layerNorm, positions: learned, defaults: tied},
	"gpt_bigcode": {qkvBias: always, outBias: always, mlpBias: always, plainMLP: true, norm: layerNorm, positions: learned, keyHeads: queries(true), defaults: tied},
	"gptj":        {qkvBias: never, outBias: never, mlpBias: always, headBias: always, plainMLP: true, norm: layerNorm, norms: 1, positions: unplaced},
	"gpt_neox":    {qkvBias: key("attention_bias", true), outBias: key("attention_bias", true), mlpBias: always, plainMLP: true, norm: layerNorm, defaults: values{"rotary_pct": 0.25}},
	"opt":         {qkvBias: key("enable_bias", true), outBias: key("enable_bias", true), mlpBias: key("enable_bias", true), plainMLP: true, norm: layerNorm, positions: learned, positionOffset: 2, adjust: opt, defaults: tied},
	"bloom":       {qkvBias: always, outBias: always, mlpBias: always, plainMLP: true, norm: layerNorm, positions: unplaced, adjust: embeddingNorm, defaults: tied},
	"mpt":         {plainMLP: true, positions: unplaced, nested: []string{"attn_config"}, unused: []string{"no_bias"}, defaults: tied},
	"falcon":      {qkvBias: key("bias", false), outBias: key("bias", false), mlpBias: key("bias", false), plainMLP: true, norm: layerNorm, normsBy: falconNorms, keyHeads: queries(true), unused: []string{"alibi"}, defaults: tied},
	"starcoder2":  {qkvBias: key("use_bias", true), outBias: key("use_bias", true), mlpBias: key("use_bias", true), plainMLP: true, norm: layerNorm, window: everyLayer, defaults: tied},
	"stablelm":    {qkvBias: key("use_qkv_bias", false), outBias: never, norm: layerNorm, normsBy: parallelNorms("use_parallel_residual"), defaults: values{"partial_rotary_factor": 0.25}},
	"persimmon":   {qkvBias: always, outBias: always, mlpBias: always, plainMLP: true, norm: layerNorm, attentionNorm: asked("qk_layernorm", true, headLayerNorm), defaults: values{"partial_rotary_factor": 0.5}},
	"nemotron":    {plainMLP: true, norm: layerNorm, defaults: values{"partial_rotary_factor": 0.5}},
	"dbrx":        {nested: []string{"attn_config", "ffn_config"}},
	"cohere":      {norms: 1, attentionNorm: asked("use_qk_norm", false, wideNorm), defaults: tied},
	"cohere2":     {norms: 1, window: patternLayers(4), defaults: values{"tie_word_embeddings": true, "sliding_window": 4096}},

	"glm":      {outBias: never, defaults: values{"head_dim": 128, "partial_rotary_factor": 0.5}},
	"glm4":     {outBias: never, norms: 4, defaults: values{"head_dim": 128, "partial_rotary_factor": 0.5}},
	"glm4_moe": {outBias: never, attentionNorm: asked("use_qk_norm", false, headNorm), defaults: values{"head_dim": 128, "partial_rotary_factor": 0.5}},

	"gpt_oss": {qkvBias: key("attention_bias", true), outBias: key("attention_bias", true), attentionNorm: sinks, routerBias: true, expertBias: true, window: patternLayers(2),
		defaults: values{"head_dim": 64, "num_local_experts": 128, "num_experts_per_tok": 4, "sliding_window": 128}},
	"llama4": {unused: []string{"use_qk_norm"}, oneShared: true, runsAllExperts: true, chunks: nopeLayers, defaults: values{"head_dim": 128, "attention_chunk_size": 8192, "intermediate_size_mlp": 16384, "num_local_experts": 16, "num_experts_per_tok": 1}},

	"deepseek_v2": {latent: true, defaults: values{"q_lora_rank": 1536, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128,
		"n_routed_experts": 64, "n_shared_experts": 2, "moe_intermediate_size": 1407, "first_k_dense_replace": 0}},
	"deepseek_v3": {latent: true, defaults: values{"q_lora_rank": 1536, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128,
		"n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "first_k_dense_replace": 3}},
	"deepseek_ocr2": {defaults: values{"n_routed_experts": 64, "n_shared_experts": 2, "moe_intermediate_size": 1407}},
	"kimi_linear": {unused: []string{"mla_use_nope"}, latent: true, positions: unplaced, recurs: linearLayers, state: kimiDelta, defaults: values{"kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128,
		"num_experts": 256, "num_experts_per_token": 8, "num_shared_experts": 1, "moe_intermediate_size": 1024, "first_k_dense_replace": 1}},

	"mamba":        {noMLP: true, norms: 1, positions: unplaced, recurs: everyLayer, state: mamba(false), unused: mambaUnused, defaults: tied},
	"falcon_mamba": {noMLP: true, norms: 1, positions: unplaced, recurs: everyLayer, state: mamba(false), unused: mambaUnused, defaults: tied},
	"mamba2":       {noMLP: true, norms: 1, positions: unplaced, recurs: everyLayer, state: mamba2, unused: []string{"head_dim"}},
	"jamba":        {positions: unplaced, recurs: outsidePeriod, state: mamba(true), defaults: values{"expert_layer_period": 2, "expert_layer_offset": 1, "num_experts": 16, "num_experts_per_tok": 2, "mamba_expand": 2}},
	"bamba":        {recurs: unlisted("attn_layer_indices"), state: mamba2, defaults: values{"mamba_d_state": 256}},
	"lfm2":         {attentionNorm: headNorm, recurs: unlisted("full_attn_idxs"), state: shortConv, defaults: tied},
}

// aliases are model types that are built like another. They may not be aliases in turn.
var aliases = map[string]string{"kimi_k2": "deepseek_v3", "smollm": "llama", "ministral": "mistral", "RefinedWeb": "falcon", "RefinedWebModel": "falcon"}

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

// embeddingNorm: a norm with a bias behind the embedding.
func embeddingNorm(_ *object, d *decoder) { d.other = mul(2, d.hidden) }

// apertus: the activation has two parameters.
func apertus(_ *object, d *decoder) {
	for i := range d.layers {
		d.layers[i].norms = sum(d.layers[i].norms, 2)
	}
}

// opt: the embedding may be narrower than the layers, with a matrix on each
// side of them, and the last norm is absent where norms come after.
func opt(o *object, d *decoder) {
	if !o.flag("do_layer_norm_before", true) || o.flag("_remove_final_layer_norm", false) {
		d.norm = 0
	}
	if d.embed = o.size("word_embed_proj_dim", d.hidden); d.embed != d.hidden {
		d.once = []linear{{name: "project_in", in: d.embed, out: d.hidden}, {name: "project_out", in: d.hidden, out: d.embed}}
	}
}

// gemma3n: several streams of hidden states with a router between them, a
// low-rank side path, a second embedding that feeds every layer, and last layers
// that use the keys and values of earlier ones.
func gemma3n(o *object, d *decoder) {
	streams, rank, narrow := o.size("altup_num_inputs", 4), o.size("laurel_rank", 64), o.size("hidden_size_per_layer_input", 256)
	d.perLayerRows, d.perLayer = o.size("vocab_size_per_layer_input", 262144), mul(int64(len(d.layers)), narrow)
	d.once = []linear{{name: "per_layer_model_projection", in: d.hidden, out: d.perLayer}}
	for range 2 * (streams - 1) { // in and out
		d.once = append(d.once, linear{name: "altup_projections", in: d.hidden, out: d.hidden})
	}
	d.other = narrow
	shared := int64(len(d.layers)) - o.size("num_kv_shared_layers", 15)
	for i := range d.layers {
		l := &d.layers[i]
		l.side = []linear{
			{name: "laurel.linear_left", in: d.hidden, out: rank}, {name: "laurel.linear_right", in: rank, out: d.hidden},
			{name: "per_layer_input_gate", in: d.hidden, out: narrow}, {name: "per_layer_projection", in: narrow, out: d.hidden},
			{name: "altup.modality_router", in: d.hidden, out: streams},
			{name: "altup.prediction_coefs", in: streams, out: mul(streams, streams)}, {name: "altup.correction_coefs", in: streams, out: streams},
		}
		l.again = []linear{ // the router before and after, and the mix of the streams
			{in: d.hidden, out: streams}, {in: mul(d.hidden, streams), out: streams},
		}
		l.norms = sum(l.norms, mul(4, d.hidden)) // of the side paths, and the scale of the output
		if int64(i) >= shared && shared > 0 {
			a := l.attention
			a.borrowed, a.norms = true, a.qk
			a.projections = []linear{a.projections[0], a.projections[3]}
		}
	}
}
