package flops

import (
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
)

// encoder is one vision tower: a picture goes in, features come out. Sizes are elements, and
// all is counted for one picture.
type encoder struct {
	label  string // of the stage, as the shipped models call their hooks
	module string // path of the module in transformers' model
	side   int64  // pixels of the square input
	patch  conv
	blocks []block
	convs  []conv // after the blocks: neck and downsampling
	other  int64  // embeddings and norms
	pooled []linear
	head   int64 // width of the attention that pools; 0 for none
	rotary int64
	tokens int64 // features that one picture gives
}

// block is a layer of an encoder over a fixed number of tokens.
type block struct {
	rows        int64 // that the projections see, padding included
	groups, per int64 // windows, and tokens in each
	plain       int64 // rows of the MLP
	heads, dim  int64
	qkv, out    []linear
	relative    int64 // keys along an axis, where positions are relative
	relParams   int64
	mlp         []linear
	norms       int64
}

// conv is a convolution that gives cells positions.
type conv struct {
	in, out, kernel int64
	cells           int64
	bias            bool
	norm            int64 // parameters of the norm behind it
}

// params include the norm behind it.
func (c conv) params() int64 {
	n := mul(c.in, c.out, c.kernel, c.kernel)
	if c.bias {
		n = sum(n, c.out)
	}
	return sum(n, c.norm)
}

// params are those of the whole tower.
func (e encoder) params() int64 {
	n := sum(e.patch.params(), e.other, params(e.pooled))
	for _, b := range e.blocks {
		n = sum(n, params(b.qkv), params(b.out), params(b.mlp), b.norms, b.relParams)
	}
	for _, c := range e.convs {
		n = sum(n, c.params())
	}
	return n
}

// projector maps features to the width of the text.
type projector struct {
	module string
	layers []linear
	norm   int64 // parameters
	tokens int64 // features of one picture
}

// params are those of the matrices and of the norm.
func (p projector) params() int64 { return sum(params(p.layers), p.norm) }

// readVision reads what stands before the language model. An encoder that is
// not known is left out, and the report says so.
func (m *Model) readVision(root, text *object) {
	v := root.child("vision_config")
	if v == nil || m.text == nil || v == text {
		return
	}
	const tower = "model.vision_tower"
	if v.child("sam_config") != nil || m.Type == "deepseek_ocr2" {
		m.readOCR2(v)
		return
	}
	switch kind := v.text("model_type", ""); kind {
	case "clip_vision_model":
		m.vision = append(m.vision, readCLIP(v, tower))
	case "siglip_vision_model":
		m.vision = append(m.vision, readSigLIP(v, tower))
	case "sam_vision_model":
		m.vision = append(m.vision, readSAM(v, tower))
	default:
		m.warn(fact.New(VisionUnknown, fact.Name("type", kind)))
		return
	}
	m.readProjector(root, v)
}

// readProjector reads what leads from the tower to the text. Where it is not
// known the tower is not counted either: how many tokens a picture takes would
// be a guess.
func (m *Model) readProjector(root, v *object) {
	width, hidden, e := v.size("hidden_size", 0), m.text.hidden, &m.vision[len(m.vision)-1]
	p := &projector{module: "model.multi_modal_projector", tokens: e.tokens}
	switch m.Type {
	case "llava":
		features := int64(1)
		if list, ok := root.values["vision_feature_layer"].([]any); ok && len(list) > 1 { // it may be a single number
			features = int64(len(list))
		}
		if e.label == "clip" && root.text("vision_feature_select_strategy", "default") == "full" {
			p.tokens++
		}
		bias := root.flag("multimodal_projector_bias", true)
		p.layers = []linear{lin(mul(width, features), hidden, bias), lin(hidden, hidden, bias)}
	case "paligemma":
		p.layers = []linear{lin(width, hidden, true)}
	case "gemma3":
		p.tokens = root.size("mm_tokens_per_image", 256)
		p.layers, p.norm = []linear{lin(width, hidden, false)}, width
	default:
		m.vision = nil
		m.warn(fact.New(ProjectorUnknown, fact.Name("type", m.Type)))
		return
	}
	m.projector = p
}

// towerLayers is the number of layers of a tower; 0 where it is more than can be walked, which
// is an error.
func towerLayers(o *object) int64 {
	n := o.need("num_hidden_layers")
	if n > maxLayers {
		o.bad("num_hidden_layers", "%d is more than %d", n, maxLayers)
		return 0
	}
	return n
}

// lin is a matrix of a tower. It has no name, because none is quantized.
func lin(in, out int64, bias bool) linear { return linear{in: in, out: out, bias: bias} }

// vit gives the blocks of a plain vision transformer.
func vit(o *object, tokens int64) []block {
	hidden, heads := o.need("hidden_size"), max(1, o.need("num_attention_heads"))
	inner, n := o.need("intermediate_size"), towerLayers(o)
	same := lin(hidden, hidden, true)
	b := block{
		rows: tokens, groups: 1, per: tokens, plain: tokens, heads: heads, dim: hidden / heads,
		qkv: []linear{same, same, same}, out: []linear{same},
		mlp: []linear{lin(hidden, inner, true), lin(inner, hidden, true)}, norms: mul(4, hidden),
	}
	return slices.Repeat([]block{b}, int(n))
}

// grid is the number of patches along an edge.
func grid(o *object, defSide, defPatch int64) (side, edge, patch int64) {
	side, patch = o.square("image_size", defSide), max(1, o.square("patch_size", defPatch))
	return side, side / patch, patch
}

// readCLIP: patches, a class token and a learned position for each.
func readCLIP(o *object, module string) encoder {
	o.defaults = values{"image_size": 224, "patch_size": 32}
	side, edge, patch := grid(o, 224, 32)
	n, hidden := mul(edge, edge), o.need("hidden_size")
	return encoder{
		label: "clip", module: module, side: side, tokens: n,
		patch:  conv{in: o.size("num_channels", 3), out: hidden, kernel: patch, cells: n},
		blocks: vit(o, n+1),
		other:  mul(hidden, sum(1, n+1, 4)), // class, positions, two norms
	}
}

// readSigLIP: as CLIP without a class token; a head may pool the patches.
func readSigLIP(o *object, module string) encoder {
	o.defaults = values{"image_size": 224, "patch_size": 16}
	side, edge, patch := grid(o, 224, 16)
	n, hidden := mul(edge, edge), o.need("hidden_size")
	e := encoder{
		label: "siglip", module: module, side: side, tokens: n,
		patch:  conv{in: o.size("num_channels", 3), out: hidden, kernel: patch, cells: n, bias: true},
		blocks: vit(o, n),
		other:  mul(hidden, sum(n, 2)),
	}
	if o.flag("vision_use_head", true) {
		inner := o.need("intermediate_size")
		same := lin(hidden, hidden, true)
		e.pooled = []linear{same, same, same, same, lin(hidden, inner, true), lin(inner, hidden, true)}
		e.head = hidden
		e.other = sum(e.other, mul(3, hidden)) // probe and norm
	}
	return e
}

// readSAM is the encoder of Segment Anything: most layers attend within
// windows, into which the picture is padded, some over all patches; positions
// are relative; a neck of two convolutions ends it.
func readSAM(o *object, module string) encoder {
	o.defaults = values{"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "output_channels": 256}
	side, edge, patch := grid(o, 1024, 16)
	hidden, heads := o.need("hidden_size"), max(1, o.need("num_attention_heads"))
	inner := o.size("mlp_dim", int64(o.number("mlp_ratio", 4)*float64(hidden)))
	n, window := towerLayers(o), o.size("window_size", 14)
	global := []int64{2, 5, 8, 11}
	if o.has("global_attn_indexes") {
		global = o.sizes("global_attn_indexes")
	}
	cells, neck := mul(edge, edge), o.need("output_channels")
	e := encoder{
		label: "sam", module: module, side: side, tokens: cells,
		patch: conv{in: o.size("num_channels", 3), out: hidden, kernel: patch, cells: cells, bias: true},
		convs: []conv{
			{in: hidden, out: neck, kernel: 1, cells: cells, norm: mul(2, neck)},
			{in: neck, out: neck, kernel: 3, cells: cells, norm: mul(2, neck)},
		},
	}
	if o.flag("use_abs_pos", true) {
		e.other = mul(cells, hidden)
	}
	relative := o.flag("use_rel_pos", true)
	for i := range n {
		b := block{
			rows: cells, groups: 1, per: cells, plain: cells, heads: heads, dim: hidden / heads,
			qkv: []linear{lin(hidden, mul(3, hidden), o.flag("qkv_bias", true))}, out: []linear{lin(hidden, hidden, true)},
			mlp: []linear{lin(hidden, inner, true), lin(inner, hidden, true)}, norms: mul(4, hidden),
		}
		span := edge
		if window > 0 && !slices.Contains(global, i) {
			along := (edge + window - 1) / window
			b.groups, b.per, span = mul(along, along), mul(window, window), window
			b.rows = mul(b.groups, b.per)
		}
		if relative {
			b.relative, b.relParams = span, mul(2, 2*span-1, b.dim)
		}
		e.blocks = append(e.blocks, b)
	}
	return e
}

// readOCR2 is the tower of DeepSeek-OCR 2: SAM with two more convolutions,
// then a decoder-like encoder over the patches and as many learned queries,
// whose features alone go on, through one matrix.
func (m *Model) readOCR2(v *object) {
	sam, enc := v.section("sam_config"), v.section("encoder_config")
	s := readSAM(sam, "model.vision_tower.sam_encoder")
	down := sam.sizes("downsample_channels")
	if down == nil {
		down = []int64{512, 896}
	}
	edge, in := s.side/max(1, s.patch.kernel), s.convs[1].out
	for _, out := range down {
		edge = (edge + 1) / 2
		s.convs = append(s.convs, conv{in: in, out: out, kernel: 3, cells: mul(edge, edge)})
		in = out
	}
	s.tokens = mul(edge, edge)
	m.vision = append(m.vision, s)

	enc.defaults = values{"hidden_size": 4096, "intermediate_size": 22016, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32}
	hidden := enc.need("hidden_size")
	queries := int64(256)
	if s.tokens <= 144 {
		queries = 144
	}
	a := readAttention(enc, family{qkvBias: always}, hidden)
	mlp := mlpOf("", hidden, enc.need("intermediate_size"), false, false)
	rows := sum(s.tokens, queries)
	b := block{
		rows: rows, groups: 1, per: rows, plain: rows, heads: a.heads, dim: a.qk,
		qkv: a.projections[:3], out: a.projections[3:], mlp: mlp, norms: mul(2, hidden),
	}
	e := encoder{
		label: "clip", module: "model.vision_tower.vision_encoder", side: s.side, tokens: queries, rotary: a.qk,
		other: sum(hidden, mul(144+256, hidden)), // norm, queries of both resolutions
	}
	e.blocks = slices.Repeat([]block{b}, int(towerLayers(enc)))
	m.vision = append(m.vision, e)
	m.projector = &projector{module: "model.multi_modal_projector", tokens: queries, layers: []linear{lin(hidden, m.text.hidden, true)}}
	m.extra, m.imageMark = m.text.hidden, 1 // the separator behind an image
}

// ImageTokens is how many tokens of the prompt one picture takes; 0 for a model
// of text, or one whose encoder is not known.
func (m *Model) ImageTokens() int64 {
	if m.projector == nil {
		return 0
	}
	return sum(m.projector.tokens, m.imageMark)
}

// ImageTokensAt is ImageTokens for pictures of another size, in pixels along an edge; 0 is
// that of the config. A size that the model cannot take gives that of the config, too: Count
// refuses it.
func (m *Model) ImageTokensAt(side int64) int64 {
	at, err := m.resized(side)
	if err != nil {
		return m.ImageTokens()
	}
	return at.ImageTokens()
}
