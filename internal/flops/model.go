package flops

import (
	"cmp"
	"fmt"
	"maps"

	"github.com/deepprof/deepprof/internal/fact"
)

// A Model is the arithmetic of one architecture.
type Model struct {
	Type string // model_type of the config

	text      *decoder
	vision    []encoder // in the order in which they run
	projector *projector
	extra     int64  // parameters that no matrix product uses, beside those of the parts
	imageMark int64  // tokens that an image adds beside its features
	dtype     string // that the config names; "" for none
	kvType    string // of a quantized cache; "" where it has the type of the activations
	quant     *quantization

	raw         map[string]any // the config
	assumptions []fact.Fact
	warnings    []fact.Fact
}

// linear is a matrix of weights that each row of the input is multiplied with. in and out are
// elements of a row.
type linear struct {
	name    string // of the module inside its layer, as Llama names it; "" for vision
	in, out int64
	bias    bool
	store   *scheme // how the weights are kept; nil for the type of the activations
}

// params are elements, quantized or not.
func (l linear) params() int64 {
	n := mul(l.in, l.out)
	if l.bias {
		n = sum(n, l.out)
	}
	return n
}

// bytes is what the weights take where an element that is not quantized takes
// dense bytes.
func (l linear) bytes(dense float64) float64 {
	if l.store == nil {
		return float64(l.params()) * dense
	}
	bias := 0.0
	if l.bias {
		bias = float64(l.out) * dense
	}
	return l.store.bytes(l.in, l.out) + bias
}

// params adds up matrices.
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
	embed         int64 // width of the embedding; that of the layers but for a few models
	positions     int64 // rows of a learned position embedding
	rotary        int64 // dimensions that are rotated; 0 where none are
	rotaries      int64 // tables of frequencies that a pass makes
	perLayer      int64 // width of a second embedding, of perLayerRows rows
	perLayerRows  int64
	layers        []layer
	once          []linear // run once a pass for each token, beside the layers
	norm          int64    // parameters of the last norm
	other         int64    // parameters that no matrix product uses
	tied          bool
	headBias      bool
	headStore     *scheme
}

// layer is one block of the decoder: attention or a recurrence, then an MLP, experts or
// neither.
type layer struct {
	attention *attention // or recurrent
	recurrent *recurrent
	span      span
	mlp       []linear
	moe       *moe     // instead of mlp
	side      []linear // further products of the layer
	again     []linear // products with weights that are counted elsewhere, or with none
	norms     int64
}

// A span is how far back a query of a layer sees: all keys, the last window, or
// those since the last multiple of window. The zero value sees all.
type span struct {
	window int64 // 0 for all
	chunk  bool
}

// pairs is the number of pairs of a query and a key for n queries, the first of
// which has first keys before and with it.
func (s span) pairs(n, first int64) int64 {
	if s.chunk && s.window > 0 {
		return chunked(first+n-1, s.window) - chunked(first-1, s.window)
	}
	return triangle(n, first, s.window)
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
	f, known := m.familyOf(text, cmp.Or(text.text("model_type", ""), m.Type))
	text.flatten(f.nested...)
	text.defaults = f.defaults
	if text != root {
		for _, key := range []string{"tie_word_embeddings", "vocab_size"} { // the outer one counts for the whole model
			if v, ok := root.values[key]; ok && v != nil && text.values[key] == nil {
				text.defaults = maps.Clone(text.defaults)
				if text.defaults == nil {
					text.defaults = values{}
				}
				text.defaults[key] = v
			}
		}
	}
	m.readTypes(root, text)
	m.text = readDecoder(text, f)
	if len(root.wrong) > 0 || len(root.missing) > 0 {
		return
	}
	m.readVision(root, text)
	m.readQuantization(root, text)
	m.checkFields(root, text, known)
}

// familyOf finds the row of a type, and whether it is known. One that is not is counted like
// the family whose fields it has, and the report says so.
func (m *Model) familyOf(text *object, modelType string) (family, bool) {
	f, known := familyOf(modelType)
	if known {
		return f, true
	}
	as := "llama"
	if text.has("kv_lora_rank") {
		as, f = "deepseek_v3", family{latent: true}
	}
	m.warn(fact.New(FamilyUnknown, fact.Name("type", modelType), fact.Name("as", as)))
	return f, false
}

// flatten takes the fields of nested mappings for fields of this one, whose own go first.
// The values that the object was made of stay as they are.
func (o *object) flatten(keys ...string) {
	for _, key := range keys {
		c := o.child(key)
		if c == nil {
			continue
		}
		all := maps.Clone(c.values)
		maps.Copy(all, o.values)
		o.values = all
	}
}

// readTypes takes the data type that the weights were saved in.
func (m *Model) readTypes(root, text *object) {
	for _, o := range []*object{root, text} {
		for _, key := range []string{"dtype", "torch_dtype"} {
			if short := shortType(fmt.Sprint(o.values[key])); bits[short] > 0 && m.dtype == "" {
				m.dtype = short
			}
		}
	}
}

// readDecoder reads all layers, since families mix kinds of them. Where something is
// missing, it stops after the first layer that says so.
func readDecoder(o *object, f family) *decoder {
	d := &decoder{
		vocab: o.need("vocab_size"), hidden: o.need("hidden_size", "n_embd", "d_model", "n_embed"),
		tied: o.flag("tie_word_embeddings", false), headBias: f.headBias.of(o, false), rotaries: max(1, f.rotaries),
	}
	for _, key := range f.unused {
		o.note(key)
	}
	d.embed = d.hidden
	n := o.need("num_hidden_layers", "n_layer", "n_layers", "num_layers")
	if n < 1 || n > maxLayers {
		o.bad("num_hidden_layers", "%d is not between 1 and %d", n, maxLayers)
		return d
	}
	d.norm = f.norm.params(d.hidden)
	spans, sparse := spanLayers(o, f, n), sparseLayers(o, f, n)
	for i := range n {
		l := layer{span: spans(i), norms: mul(f.normCount(o), f.norm.params(d.hidden))}
		if l.recurrent = f.recurrent(o, i, d.hidden); l.recurrent == nil {
			l.attention = new(readAttention(o, f, d.hidden))
		}
		if sparse(i) {
			l.moe = readMoE(o, f, d.hidden)
		} else if !f.noMLP {
			l.mlp = readMLP(o, f, d.hidden, i)
		}
		d.layers = append(d.layers, l)
		if len(o.root().wrong) > 0 || len(o.root().missing) > 0 {
			return d // one layer names what is missing
		}
	}
	readPositions(o, f, d)
	if f.adjust != nil {
		f.adjust(o, d)
	}
	return d
}

// readPositions needs the layers, whose heads are rotated.
func readPositions(o *object, f family, d *decoder) {
	switch {
	case f.positions == learned:
		d.positions = sum(o.need("max_position_embeddings", "n_positions"), f.positionOffset)
	case f.positions == rotated:
		d.rotary = rotaryDim(o, f, d)
	}
}

// rotaryDim: transformers multiplies positions with the frequencies of half
// these dimensions, a product that torch counts.
func rotaryDim(o *object, f family, d *decoder) int64 {
	if f.latent {
		return o.size("qk_rope_head_dim", 64)
	}
	dim := int64(0)
	for _, l := range d.layers {
		if l.attention != nil {
			dim = l.attention.qk
		}
	}
	from := o
	if c := o.child("rope_parameters"); c != nil && c.has("partial_rotary_factor") {
		from = c
	}
	share := from.number("partial_rotary_factor", o.number("rotary_pct", 1))
	if share < 0 || share > 1 {
		o.bad("partial_rotary_factor", "%v is not between 0 and 1", share)
		share = 1
	}
	return int64(share * float64(dim))
}

// readMLP takes the size that a key gives for the layer, under any name that families
// use; a plain MLP without one is four times as wide as the layer.
func readMLP(o *object, f family, hidden, layer int64) []linear {
	size := int64(0)
	if key := o.first("intermediate_size_mlp", "intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size", "block_ff_dim"); key != "" {
		size = o.sizeAt(key, layer)
	} else if f.plainMLP {
		size = mul(o.sizeOf(4, "expansion_ratio"), hidden)
	} else {
		size = o.need("intermediate_size")
	}
	return mlpOf("mlp", hidden, size, f.mlpBias.of(o, o.flag("mlp_bias", false)), f.plainMLP)
}

// mlpOf is a gate, up and down, or up and down alone.
func mlpOf(name string, hidden, size int64, bias, plain bool) []linear {
	out := []linear{
		{name: name + ".gate_proj", in: hidden, out: size, bias: bias},
		{name: name + ".up_proj", in: hidden, out: size, bias: bias},
		{name: name + ".down_proj", in: size, out: hidden, bias: bias},
	}
	if plain {
		return out[1:]
	}
	return out
}

// spanLayers gives the span of each layer.
func spanLayers(o *object, f family, n int64) func(int64) span {
	types := o.names("layer_types", n)
	var window, chunk int64
	if types != nil || f.window != nil { // else nothing says which layers have it
		window = o.sizeOf(0, "sliding_window", "sliding_window_size")
	}
	if types != nil || f.chunks != nil {
		chunk = o.size("attention_chunk_size", 0)
	}
	return func(i int64) span {
		kind := ""
		switch {
		case types != nil:
			kind = types[i]
		case f.window != nil && f.window(o, i):
			kind = "sliding_attention"
		case f.chunks != nil && f.chunks(o, i):
			kind = "chunked_attention"
		}
		switch kind {
		case "sliding_attention":
			return span{window: window}
		case "chunked_attention":
			return span{window: chunk, chunk: true}
		}
		return span{}
	}
}

// Parameters is the number of trainable parameters; a tied head counts once.
func (m *Model) Parameters() int64 {
	n := m.extra
	if m.text != nil {
		n = sum(n, m.text.params(false))
	}
	for _, e := range m.vision {
		n = sum(n, e.params())
	}
	if m.projector != nil {
		n = sum(n, m.projector.params())
	}
	return n
}

// activeParameters is the number that a token of text passes through: with
// experts only those chosen for it, and no vision.
func (m *Model) activeParameters() int64 { return m.text.params(true) }

// headLinear is the product that makes logits; its weights are those of the
// embedding where they are tied.
func (d *decoder) headLinear() linear {
	return linear{name: headName, in: d.embed, out: d.vocab, bias: d.headBias, store: d.headStore}
}

// plain is the parameters that are never quantized and belong to no layer: the
// embeddings, the last norm, and the head's bias where its weights are tied.
func (d *decoder) plain() int64 {
	n := sum(mul(d.vocab, d.embed), mul(d.positions, d.hidden), mul(d.perLayerRows, d.perLayer), d.norm, d.other)
	if d.tied && d.headBias {
		n = sum(n, d.vocab)
	}
	return n
}

// params counts all parameters, or those that a token passes through.
func (d *decoder) params(active bool) int64 {
	n := sum(d.plain(), params(d.once))
	if !d.tied {
		n = sum(n, d.headLinear().params())
	}
	for _, l := range d.layers {
		n = sum(n, l.plain())
		l.linears(func(x linear, copies, used int64) {
			if active {
				copies = used
			}
			n = sum(n, mul(copies, x.params()))
		})
	}
	return n
}

// plain is the parameters of a layer beside its matrices.
func (l layer) plain() int64 {
	n := l.norms
	if l.attention != nil {
		n = sum(n, l.attention.norms)
	}
	if l.recurrent != nil {
		n = sum(n, l.recurrent.params())
	}
	if l.moe != nil {
		n = sum(n, l.moe.other)
	}
	return n
}

// linears walks the matrices of a layer with the number of copies of each, and
// of those that a token uses.
func (l layer) linears(visit func(x linear, copies, used int64)) {
	l.edit(func(x *linear, copies, used int64) { visit(*x, copies, used) })
}

// edit is linears for a change of the matrices.
func (l *layer) edit(visit func(x *linear, copies, used int64)) {
	all := func(list []linear, copies, used int64) {
		for i := range list {
			visit(&list[i], copies, used)
		}
	}
	if a := l.attention; a != nil {
		all(a.projections, 1, 1)
		if a.expand != nil {
			visit(a.expand, 1, 1)
		}
	}
	if l.recurrent != nil {
		all(l.recurrent.projections, 1, 1)
	}
	all(l.mlp, 1, 1)
	all(l.side, 1, 1)
	if x := l.moe; x != nil {
		visit(&x.router, 1, 1)
		all(x.expert, x.experts, x.active)
		all(x.shared, 1, 1)
	}
}

// weightBytes is what all weights take, where an element that is not quantized
// takes dense bytes.
func (m *Model) weightBytes(dense float64) float64 {
	d := m.text
	rest := m.Parameters() - d.params(false)
	n := float64(sum(rest, d.plain())) * dense
	for _, x := range d.once {
		n += x.bytes(dense)
	}
	if !d.tied {
		n += d.headLinear().bytes(dense)
	}
	for _, l := range d.layers {
		n += float64(l.plain()) * dense
		l.linears(func(x linear, copies, _ int64) { n += float64(copies) * x.bytes(dense) })
	}
	return n
}
