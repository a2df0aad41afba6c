package flops

import (
	"fmt"
	"slices"
	"strings"
)

// A Model is the arithmetic of one architecture.
type Model struct {
	Type string // model_type of the config

	text      *decoder
	vision    []encoder // in the order in which they run
	projector *projector
	extra     int64 // parameters that no matrix product uses, beside those of the parts
	imageMark int64 // tokens that an image adds beside its features

	raw         map[string]any // the config
	assumptions []string
	warnings    []string
}

// assume records what the config does not say, once.
func (m *Model) assume(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(m.assumptions, text) {
		m.assumptions = append(m.assumptions, text)
	}
}

func (m *Model) warn(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(m.warnings, text) {
		m.warnings = append(m.warnings, text)
	}
}

// linear is a matrix of weights that each row of the input is multiplied with.
type linear struct {
	in, out int64
	bias    bool
}

func (l linear) params() int64 {
	n := mul(l.in, l.out)
	if l.bias {
		n = sum(n, l.out)
	}
	return n
}

func params(list []linear) int64 {
	n := int64(0)
	for _, l := range list {
		n = sum(n, l.params())
	}
	return n
}

// decoder is a causal language model: embedding, layers, norm, head.
type decoder struct {
	vocab, hidden int64
	positions     int64 // rows of a learned position embedding
	rotary        int64 // dimensions that are rotated; 0 where none are
	layers        []layer
	norm          int64 // parameters of the last norm
	tied          bool
	headBias      bool
}

type layer struct {
	attention attention
	window    int64 // keys that a query sees at most; 0 for all
	mlp       []linear
	moe       *moe // instead of mlp
	norms     int64
}

type attention struct {
	kind          string // mha, gqa, mqa, mla
	heads, shared int64  // of queries; of keys and values
	qk, v         int64  // dimensions of a head
	projections   []linear
	norms         int64
	cached        int64 // elements that transformers caches for a token
	// expand makes keys and values out of what is cached, anew in each pass
	// and for the whole context; nil where they are cached themselves.
	expand *linear
}

// expanded is the elements of a token's keys and values, as attention is
// handed them.
func (a attention) expanded() int64 {
	if a.expand == nil {
		return a.cached
	}
	return mul(a.heads, sum(a.qk, a.v))
}

// params leaves the norms out.
func (a attention) params() int64 {
	n := params(a.projections)
	if a.expand != nil {
		n = sum(n, a.expand.params())
	}
	return n
}

type moe struct {
	router          linear
	experts, active int64
	expert          []linear
	shared          []linear // run by every token
}

// build reads a whole config: a language model, or one with a text_config and
// a vision_config inside.
func (m *Model) build(root *object) {
	m.Type = root.text("model_type", "")
	text := root
	for _, key := range []string{"text_config", "llm_config", "language_config"} {
		if c := root.child(key); c != nil {
			text = c
			break
		}
	}
	if len(root.root().wrong) > 0 {
		return
	}
	modelType := text.text("model_type", "")
	if modelType == "" {
		modelType = m.Type
	}
	f, known := familyOf(modelType)
	switch {
	case known:
	case text.has("kv_lora_rank"):
		f = family{latent: true}
		m.assume("model_type %q is not known: counted as DeepSeek's latent attention, from the keys that are there", modelType)
	default:
		m.assume("model_type %q is not known: counted as Llama (gated MLP, RMS norms, biases only where attention_bias or mlp_bias say so), from the keys that are there", modelType)
	}
	text.defaults = f.defaults
	if text != root {
		for _, key := range []string{"tie_word_embeddings", "vocab_size"} { // the outer one counts for the whole model
			if v, ok := root.values[key]; ok && v != nil && text.values[key] == nil {
				text.defaults = withKey(text.defaults, key, v)
			}
		}
	}
	m.text = readDecoder(text, f)
	m.readVision(root, text)
}

func withKey(m map[string]any, key string, v any) map[string]any {
	out := map[string]any{key: v}
	for k, old := range m {
		if _, ok := out[k]; !ok {
			out[k] = old
		}
	}
	return out
}

func readDecoder(o *object, f family) *decoder {
	d := &decoder{
		vocab: o.need("vocab_size"), hidden: o.need("hidden_size", "n_embd", "d_model"),
		tied: o.flag("tie_word_embeddings", false),
	}
	n := o.need("num_hidden_layers", "n_layer", "num_layers")
	if n < 1 || n > maxLayers {
		o.bad("num_hidden_layers", "%d is not between 1 and %d", n, maxLayers)
		return d
	}
	normSize := d.hidden
	if f.layerNorm {
		normSize = mul(2, d.hidden)
	}
	d.norm = normSize
	a := readAttention(o, f, d.hidden)
	if f.learned {
		d.positions = o.need("max_position_embeddings", "n_positions")
	} else {
		d.rotary = rotaryDim(o, f, a)
	}
	dense := readMLP(o, f, d.hidden)
	sparse := readMoE(o, d.hidden)
	isSparse := sparseLayers(o, sparse != nil, n)
	windows := windowLayers(o, f, n)
	for i := range n {
		l := layer{attention: a, window: windows(i), norms: mul(2, normSize)}
		if f.norms > 0 {
			l.norms = mul(f.norms, normSize)
		}
		if isSparse(i) {
			l.moe = sparse
		} else {
			if dense == nil {
				dense = []linear{{in: d.hidden, out: o.need("intermediate_size", "n_inner")}}
			}
			l.mlp = dense
		}
		d.layers = append(d.layers, l)
	}
	return d
}

// rotaryDim: transformers multiplies positions with the frequencies of half
// these dimensions, a product that torch counts.
func rotaryDim(o *object, f family, a attention) int64 {
	if f.latent {
		return o.size("qk_rope_head_dim", 64)
	}
	share := o.number("partial_rotary_factor", o.number("rotary_pct", 1))
	if share < 0 || share > 1 {
		o.bad("partial_rotary_factor", "%v is not between 0 and 1", share)
		share = 1
	}
	return int64(share * float64(a.qk))
}

func readAttention(o *object, f family, hidden int64) attention {
	heads := max(1, o.need("num_attention_heads", "n_head"))
	bias := o.flag("attention_bias", false)
	if f.latent {
		return readLatent(o, hidden, heads, bias)
	}
	shared := o.size("num_key_value_heads", heads)
	if shared < 1 || heads%shared != 0 {
		o.bad("num_key_value_heads", "%d does not divide num_attention_heads, %d", shared, heads)
		shared = heads
	}
	dim := o.size("head_dim", 0)
	if dim == 0 {
		dim = hidden / heads
		if hidden%heads != 0 {
			o.bad("hidden_size", "%d is not a multiple of num_attention_heads, %d, and there is no head_dim", hidden, heads)
		}
	}
	qkv, out := bias || f.qkvBias, bias || f.outBias
	a := attention{
		kind: "gqa", heads: heads, shared: shared, qk: dim, v: dim,
		projections: []linear{
			{in: hidden, out: mul(heads, dim), bias: qkv},
			{in: hidden, out: mul(shared, dim), bias: qkv},
			{in: hidden, out: mul(shared, dim), bias: qkv},
			{in: mul(heads, dim), out: hidden, bias: out},
		},
		cached: mul(2, shared, dim),
	}
	switch {
	case shared == heads:
		a.kind = "mha"
	case shared == 1:
		a.kind = "mqa"
	}
	switch {
	case f.headNorm:
		a.norms = mul(2, dim)
	case f.wideNorm:
		a.norms = sum(mul(heads, dim), mul(shared, dim))
	}
	return a
}

// readLatent is DeepSeek's attention: keys and values come out of a latent of
// kv_lora_rank; a part of each key is rotated and shared by all heads.
// transformers caches the latent and the rotated part, and expands all of it in
// every pass.
func readLatent(o *object, hidden, heads int64, bias bool) attention {
	rank, rope := o.need("kv_lora_rank"), o.need("qk_rope_head_dim")
	nope, v := o.need("qk_nope_head_dim"), o.need("v_head_dim")
	qk := sum(nope, rope)
	a := attention{
		kind: "mla", heads: heads, shared: heads, qk: qk, v: v,
		norms: rank, cached: sum(rank, rope), expand: &linear{in: rank, out: mul(heads, sum(nope, v))},
	}
	if q := o.size("q_lora_rank", 0); q > 0 {
		a.projections = append(a.projections, linear{in: hidden, out: q, bias: bias}, linear{in: q, out: mul(heads, qk)})
		a.norms = sum(a.norms, q)
	} else {
		a.projections = append(a.projections, linear{in: hidden, out: mul(heads, qk)})
	}
	a.projections = append(a.projections,
		linear{in: hidden, out: sum(rank, rope), bias: bias},
		linear{in: mul(heads, v), out: hidden, bias: bias})
	return a
}

func readMLP(o *object, f family, hidden int64) []linear {
	bias := f.mlpBias || o.flag("mlp_bias", false)
	if f.plainMLP {
		size := o.size("intermediate_size", o.size("n_inner", mul(4, hidden)))
		return []linear{{hidden, size, bias}, {size, hidden, bias}}
	}
	if !o.has("intermediate_size") {
		return nil // needed only where a layer has no experts
	}
	return gated(hidden, o.size("intermediate_size", 0), bias)
}

func gated(hidden, size int64, bias bool) []linear {
	return []linear{{hidden, size, bias}, {hidden, size, bias}, {size, hidden, bias}}
}

// readMoE reads the experts under the names that the families give them; nil
// where the model has none.
func readMoE(o *object, hidden int64) *moe {
	var experts int64
	for _, key := range []string{"num_local_experts", "n_routed_experts", "num_experts"} {
		if o.has(key) {
			experts = o.size(key, 0)
			break
		}
	}
	if experts <= 1 {
		return nil
	}
	size := o.size("moe_intermediate_size", 0)
	if size == 0 {
		size = o.need("intermediate_size", "moe_intermediate_size")
	}
	active := o.need("num_experts_per_tok", "moe_topk", "num_experts_per_token")
	if active < 1 || active > experts {
		o.bad("num_experts_per_tok", "%d of %d experts", active, experts)
		active = 1
	}
	x := &moe{router: linear{in: hidden, out: experts}, experts: experts, active: active, expert: gated(hidden, size, false)}
	if n := o.size("n_shared_experts", 0); n > 0 {
		x.shared = gated(hidden, mul(n, size), o.flag("mlp_bias", false))
	}
	if n := o.size("shared_expert_intermediate_size", 0); n > 0 { // Qwen: with a gate of its own
		x.shared = append(gated(hidden, n, false), linear{in: hidden, out: 1})
	}
	return x
}

// sparseLayers tells which layers have experts.
func sparseLayers(o *object, any bool, n int64) func(int64) bool {
	if !any {
		return func(int64) bool { return false }
	}
	if types := o.names("mlp_layer_types", n); types != nil {
		return func(i int64) bool { return types[i] == "sparse" }
	}
	first, freq := o.size("first_k_dense_replace", 0), max(1, o.size("moe_layer_freq", 1))
	step, dense := max(1, o.size("decoder_sparse_step", 1)), o.sizes("mlp_only_layers")
	return func(i int64) bool {
		return i >= first && i%freq == 0 && (i+1)%step == 0 && !slices.Contains(dense, i)
	}
}

// windowLayers gives the window of each layer, 0 for none.
func windowLayers(o *object, f family, n int64) func(int64) int64 {
	if !o.has("sliding_window") {
		return func(int64) int64 { return 0 }
	}
	size := o.size("sliding_window", 0)
	types := o.names("layer_types", n)
	return func(i int64) int64 {
		switch {
		case types != nil && strings.Contains(types[i], "sliding"), types == nil && f.window != nil && f.window(o, i):
			return size
		}
		return 0
	}
}

// Parameters is the number of trainable parameters; a tied head counts once.
func (m *Model) Parameters() int64 {
	n := m.extra
	if m.text != nil {
		n = sum(n, m.text.params())
	}
	for _, e := range m.vision {
		n = sum(n, e.params())
	}
	if m.projector != nil {
		n = sum(n, m.projector.params())
	}
	return n
}

// ActiveParameters is the number that a token of text passes through: with
// experts only those chosen for it, and no vision.
func (m *Model) ActiveParameters() int64 {
	d := m.text
	n := sum(d.embedding(), d.head(), d.norm)
	for _, l := range d.layers {
		n = sum(n, l.fixed())
		if l.moe != nil {
			n = sum(n, mul(l.moe.active, params(l.moe.expert)))
		}
	}
	return n
}

func (d *decoder) embedding() int64 { return mul(sum(d.vocab, d.positions), d.hidden) }

// head is the parameters of the head beside those of a tied embedding.
func (d *decoder) head() int64 {
	n := int64(0)
	if !d.tied {
		n = mul(d.vocab, d.hidden)
	}
	if d.headBias {
		n = sum(n, d.vocab)
	}
	return n
}

func (d *decoder) params() int64 {
	n := sum(d.embedding(), d.head(), d.norm)
	for _, l := range d.layers {
		n = sum(n, l.fixed())
		if l.moe != nil {
			n = sum(n, mul(l.moe.experts, params(l.moe.expert)))
		}
	}
	return n
}

// fixed is the parameters that every token passes through.
func (l layer) fixed() int64 {
	n := sum(l.attention.params(), l.attention.norms, l.norms, params(l.mlp))
	if l.moe != nil {
		n = sum(n, l.moe.router.params(), params(l.moe.shared))
	}
	return n
}
