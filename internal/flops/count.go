package flops

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Shape is what a session runs.
type Shape struct {
	Batch  int64 `json:"batch"`  // sequences at a time; 0 for 1
	Prompt int64 `json:"prompt"` // tokens of text in each
	// New is the number of tokens to generate. The first comes out of prefill,
	// so that decode runs New-1 passes.
	New int64 `json:"new"`
	// DType is the type of activations, and of weights and cache that are not
	// quantized; "" for that of the config, or bf16.
	DType string `json:"dtype"`
	// CacheDType is the type of the cache; "" for that of the config, or DType.
	CacheDType string `json:"cache_dtype,omitempty"`
	// Latent is how decode runs latent attention: Expanded or Absorbed; "" is
	// Expanded, as transformers does.
	Latent string `json:"latent,omitempty"`
	// Images is the number of pictures in each sequence. Their tokens come on
	// top of Prompt.
	Images    int64 `json:"images,omitempty"`
	ImageSize int64 `json:"image_size,omitempty"` // pixels along an edge; 0 for that of the config
	// CacheLength is the length of a static cache, which torch counts in full;
	// 0 for a cache that grows.
	CacheLength int64 `json:"cache_length,omitempty"`
	// AllLogits: the head runs over the whole prompt, not over its last token
	// alone.
	AllLogits bool `json:"all_logits,omitempty"`
}

// Ways to run latent attention in decode.
const (
	Expanded = "expanded" // keys and values of the whole context are made anew
	Absorbed = "absorbed" // the query is multiplied with kv_b_proj instead
)

// Steps is the number of decode passes; 0 where nothing, or one token, is generated.
func (s Shape) Steps() int64 { return max(0, s.New-1) }

// bits of one element, by every name that configs use.
var bits = map[string]int64{
	"bf16": 16, "fp16": 16, "fp32": 32, "bfloat16": 16, "float16": 16, "float32": 32,
	"fp8": 8, "int8": 8, "fp4": 4, "int4": 4,
}

// shortTypes are the names of types in reports, by those of torch; others stay.
var shortTypes = map[string]string{"bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float32": "fp32", "float": "fp32"}

// shortType is the name that is shown for a type.
func shortType(name string) string {
	name = strings.TrimPrefix(name, "torch.")
	if short, ok := shortTypes[name]; ok {
		return short
	}
	return name
}

// denseBytes is what an element of a type takes, 0 for a type that is not known; check refuses
// those.
func denseBytes(dtype string) float64 { return float64(bits[dtype]) / 8 }

// cacheType is the type that keys and values are kept in.
func (m *Model) cacheType(s Shape) string { return cmp.Or(s.CacheDType, m.kvType, s.DType) }

// maxTokens bounds the tokens of a shape.
const maxTokens = 1 << 40

// check fills in the defaults of a shape and says what of it cannot be for the model. The copy that
// it returns is the one to count.
func (s Shape) check(m *Model) (Shape, error) {
	if s.Batch == 0 {
		s.Batch = 1
	}
	if s.DType == "" {
		s.DType = cmp.Or(m.dtype, "bf16")
	}
	for _, kind := range []string{s.DType, m.cacheType(s)} {
		if bits[kind] == 0 {
			return s, fmt.Errorf("count FLOPs: dtype %q is not known; want bf16, fp16, fp32, fp8, int8 or int4", kind)
		}
	}
	if s.Latent != "" && s.Latent != Expanded && s.Latent != Absorbed {
		return s, fmt.Errorf("count FLOPs: latent attention %q is not known; want %s or %s", s.Latent, Expanded, Absorbed)
	}
	for name, v := range map[string]int64{"batch": s.Batch, "prompt": s.Prompt, "new": s.New, "images": s.Images, "image size": s.ImageSize, "cache length": s.CacheLength} {
		if v < 0 || v > maxTokens {
			return s, fmt.Errorf("count FLOPs: %s %d is not between 0 and %d", name, v, int64(maxTokens))
		}
	}
	if s.Prompt == 0 && s.Images == 0 {
		return s, errors.New("count FLOPs: an empty prompt; give a prompt length of at least 1")
	}
	if s.Images > 0 && m.ImageTokens() == 0 {
		return s, fmt.Errorf("count FLOPs: model_type %q takes no images that could be counted", m.Type)
	}
	return s, nil
}

// Components of a stage, as reports name them. Of a stage each is there once, and those
// without work are left out.
const (
	Projections = "attention projections"
	Expansion   = "latent expansion"
	Absorption  = "latent absorption"
	Scores      = "attention scores"
	Convolution = "convolution"
	StateUpdate = "state update"
	MLP         = "mlp"
	Side        = "side projections"
	Router      = "router"
	Experts     = "experts"
	Shared      = "shared experts"
	Head        = "head"
	Rotary      = "rotary frequencies"
	Patches     = "patch embedding"
	Neck        = "neck"
	Pooling     = "pooling head"
	Projector   = "projector"
)

// tally collects what a part of a pass does. Elements become bytes in stage, which knows
// their types.
type tally struct {
	parts   []Component // in the order in which they were first added
	dense   float64     // bytes of a weight that is not quantized
	weights float64     // bytes read
	active  int64       // elements of activations read and written
	spread  int64       // those of them that grow with the context
	kvRead  int64       // elements of keys and values out of the cache
	kvWrite int64       // and into it
	state   int64       // elements of recurrent states that a pass leaves behind
	reads   bool        // a pass begins with states of an earlier one
}

// add takes FLOPs that are needed, and what torch counts. A component without any is
// left out.
func (t *tally) add(name string, needed, full int64) {
	for i := range t.parts {
		if t.parts[i].Name == name {
			t.parts[i].FLOPs, t.parts[i].Torch = sum(t.parts[i].FLOPs, needed), sum(t.parts[i].Torch, full)
			return
		}
	}
	if full > 0 || needed > 0 {
		t.parts = append(t.parts, Component{Name: name, FLOPs: needed, Torch: full})
	}
}

// needed takes FLOPs that torch counts as well.
func (t *tally) needed(name string, n int64) { t.add(name, n, n) }

// matrix multiplies rows with weights.
func (t *tally) matrix(name string, rows int64, list ...linear) {
	for _, l := range list {
		t.needed(name, mul(2, rows, l.in, l.out))
		t.active = sum(t.active, mul(rows, sum(l.in, l.out)))
		t.weights += l.bytes(t.dense)
	}
}

// plain reads parameters that no matrix product uses; they are never quantized.
func (t *tally) plain(n int64) { t.weights += float64(n) * t.dense }

// pairs multiplies queries with keys and probabilities with values.
func (t *tally) pairs(heads, qk, v, needed, full int64) {
	per := mul(2, heads, sum(qk, v))
	t.add(Scores, mul(per, needed), mul(per, full))
}

// conv adds a convolution over a batch of pictures; its weights are never quantized.
func (t *tally) conv(name string, batch int64, c conv) {
	t.needed(name, mul(2, batch, c.cells, c.kernel, c.kernel, c.in, c.out))
	t.active = sum(t.active, mul(batch, c.cells, sum(c.in, c.out)))
	t.plain(c.params())
}

// A reach is how far the queries of one sequence see in a layer. pairs are of a
// query and a key, keys those that a pass takes out of the cache, summed over
// the passes; full is what the kernels are handed.
type reach struct{ pairs, fullPairs, keys, fullKeys int64 }

// ofPass is the reach of one pass of rows new tokens, the first of which sees
// first keys.
func (s Shape) ofPass(rows, first int64) func(span) reach {
	if rows == 1 {
		return s.ofSteps(1, first)
	}
	last := first + rows - 1
	return func(p span) reach {
		r := reach{pairs: p.pairs(rows, first), fullPairs: mul(rows, last), keys: last}
		if p.window > 0 && !p.chunk {
			r.keys = min(last, sum(p.window, rows-1))
		}
		// Attention over a prompt leaves out the free end of a static cache;
		// what lies before attention is handed all of it.
		r.fullKeys = max(last, s.CacheLength)
		return r
	}
}

// ofSteps is the reach of steps passes of one token, the first of which sees
// first keys. Numbers are summed over the passes.
func (s Shape) ofSteps(steps, first int64) func(span) reach {
	return func(p span) reach {
		n := p.pairs(steps, first)
		full := triangle(steps, first, p.window) // transformers keeps a whole chunk
		if s.CacheLength > 0 {
			full = mul(steps, s.CacheLength)
		}
		return reach{pairs: n, fullPairs: full, keys: n, fullKeys: full}
	}
}

// pass is one forward pass of the decoder over rows new tokens in each of
// batch sequences.
func (d *decoder) pass(t *tally, s Shape, rows int64, of func(span) reach) {
	tokens := mul(s.Batch, rows)
	t.active = sum(t.active, mul(2, tokens, d.embed))
	if !d.tied { // the head reads a tied matrix whole
		t.plain(mul(min(tokens, d.vocab), d.embed))
	}
	t.plain(sum(mul(min(rows, d.positions), d.hidden), mul(min(tokens, d.perLayerRows), d.perLayer), d.norm, d.other))
	t.matrix(Side, tokens, d.once...)
	if d.rotary > 0 {
		t.needed(Rotary, mul(2, d.rotary/2, rows, d.rotaries))
	}
	for _, l := range d.layers {
		if a := l.attention; a != nil {
			t.matrix(Projections, tokens, a.projections...)
			t.attend(a, s, rows, of(l.span))
			if !a.borrowed {
				t.kvWrite = sum(t.kvWrite, mul(tokens, a.cached))
			}
			t.plain(a.norms)
		} else {
			l.recurrent.pass(t, s.Batch, rows)
		}
		t.plain(l.norms)
		t.matrix(MLP, tokens, l.mlp...)
		t.matrix(Side, tokens, l.side...)
		for _, x := range l.again {
			t.needed(Side, mul(2, tokens, x.in, x.out))
		}
		if l.moe != nil {
			l.moe.pass(t, tokens)
		}
	}
}

// logits runs the head over rows tokens of the whole batch; a tied head reads the embedding.
func (d *decoder) logits(t *tally, rows int64) {
	t.matrix(Head, rows, d.headLinear())
}

// pass is one picture of each sequence through a tower: all tokens see each other, so
// that both counts are the same.
func (e encoder) pass(t *tally, batch int64) {
	if e.patch.out > 0 {
		t.conv(Patches, batch, e.patch)
	}
	t.plain(e.other)
	if e.rotary > 0 {
		t.needed(Rotary, mul(2, e.rotary/2, e.blocks[0].rows))
	}
	for _, b := range e.blocks {
		rows := mul(batch, b.rows)
		t.matrix(Projections, rows, b.qkv...)
		t.matrix(Projections, rows, b.out...)
		pairs := mul(batch, b.groups, b.per, b.per)
		t.pairs(b.heads, b.dim, b.dim, pairs, pairs)
		if b.relative > 0 { // each query with the offsets along both axes
			t.needed(Scores, mul(2, 2, rows, b.heads, b.dim, b.relative))
		}
		t.active = sum(t.active, mul(2, rows, b.heads, b.dim))
		t.matrix(MLP, mul(batch, b.plain), b.mlp...)
		t.plain(sum(b.norms, b.relParams))
	}
	for _, c := range e.convs {
		t.conv(Neck, batch, c)
	}
	if e.head > 0 { // one query over all tokens
		t.matrix(Pooling, batch, e.pooled[0])
		t.matrix(Pooling, mul(batch, e.tokens), e.pooled[1], e.pooled[2])
		t.needed(Pooling, mul(4, batch, e.tokens, e.head))
		t.matrix(Pooling, batch, e.pooled[3:]...)
	}
}

// Count derives what a session computes and moves. The error says what of the
// shape cannot be.
func (m *Model) Count(s Shape) (Report, error) {
	taken := s.DType == ""
	s, err := s.check(m)
	if err != nil {
		return Report{}, err
	}
	at, err := m.resized(s.ImageSize)
	if err != nil {
		return Report{}, err
	}
	r := Report{Schema: Schema, Model: m.identity(s), Shape: shape{Shape: s}, Assumptions: append(slices.Clone(m.assumptions), m.standing(s)...), Warnings: slices.Clone(m.warnings)}
	if taken {
		r.Assumptions = append(r.Assumptions, m.typeTaken(s.DType))
	}
	total := s.Prompt + mul(s.Images, at.ImageTokens())
	if s.CacheLength > 0 && s.CacheLength < total+s.Steps() {
		return Report{}, fmt.Errorf("count FLOPs: a static cache of %d tokens does not hold %d of prompt and %d of decode", s.CacheLength, total, s.Steps())
	}
	r.Shape.Tokens = total
	prefill := &tally{dense: denseBytes(s.DType)}
	r.Stages = append(r.Stages, Stage{Name: "prefill"})
	if s.Images > 0 {
		r.Stages = append(r.Stages, at.visionStages(s, prefill)...)
	}
	m.text.pass(prefill, s, total, s.ofPass(total, 1))
	rows := s.Batch
	if s.AllLogits {
		rows = mul(s.Batch, total)
	}
	m.text.logits(prefill, rows)
	r.Stages[0] = prefill.stage("prefill", s.DType, m.cacheType(s))
	r.Stages[0].Tokens = mul(s.Batch, total)
	r.Stages[0].Passes = 1
	if s.Steps() > 0 {
		r.Stages = append(r.Stages, m.decode(s, total))
	}
	r.Cache = m.cache(s, total)
	for _, stage := range r.Stages {
		if stage.Torch >= huge/2 || stage.Bytes.Total < 0 {
			return Report{}, errors.New("count FLOPs: the shape is too large to count")
		}
	}
	return r, nil
}

// visionStages counts the towers and the projector, each on its own and as a
// component of prefill.
func (m *Model) visionStages(s Shape, whole *tally) []Stage {
	var out []Stage
	images := mul(s.Batch, s.Images)
	part := func(name, component, module string, do func(*tally)) {
		t := &tally{dense: whole.dense}
		do(t)
		stage := t.stage(name, s.DType, s.DType)
		stage.Within, stage.Module, stage.Passes = "prefill", module, 1
		out = append(out, stage)
		whole.add(component, stage.FLOPs, stage.Torch)
		whole.weights += t.weights
		whole.active = sum(whole.active, t.active)
	}
	for _, e := range m.vision {
		part(e.label, "vision: "+e.label, e.module, func(t *tally) { e.pass(t, images) })
		out[len(out)-1].Tokens = mul(images, e.tokens)
	}
	if p := m.projector; p != nil {
		part("projector", Projector, p.module, func(t *tally) { t.matrix(Projector, mul(images, p.tokens), p.layers...) })
		out[len(out)-1].Tokens = mul(images, p.tokens)
	}
	return out
}

// decode sums the passes of one token each. All but what grows with the
// context is alike in them, so that one pass is counted and multiplied. The shape has at
// least one.
func (m *Model) decode(s Shape, prompt int64) Stage {
	steps := s.Steps()
	over := func(passes, first int64) *tally {
		t := &tally{dense: denseBytes(s.DType), reads: true}
		m.text.pass(t, s, 1, s.ofSteps(passes, first))
		m.text.logits(t, s.Batch)
		return t
	}
	whole := over(steps, prompt+1)
	for i := range whole.parts {
		if p := &whole.parts[i]; p.Name != Scores && p.Name != Expansion {
			p.FLOPs, p.Torch = mul(p.FLOPs, steps), mul(p.Torch, steps)
		}
	}
	whole.weights, whole.active = whole.weights*float64(steps), mul(whole.active, steps)
	whole.kvWrite, whole.state = mul(whole.kvWrite, steps), mul(whole.state, steps)
	stage := whole.stage("decode", s.DType, m.cacheType(s))
	stage.Tokens, stage.Passes = mul(s.Batch, steps), steps
	stage.MeanContext = float64(prompt) + float64(steps+1)/2
	for _, i := range milestones(steps) {
		at := over(1, prompt+1+i).stage("", s.DType, m.cacheType(s))
		stage.Growth = append(stage.Growth, Growth{Step: i + 1, Context: prompt + 1 + i, FLOPs: at.FLOPs, Torch: at.Torch, Bytes: at.Bytes.Total})
	}
	return stage
}

// milestones, counted from 0, are the passes that the growth of decode is shown at: all of a
// few, else some at even distances with the first and the last.
func milestones(steps int64) []int64 {
	const most = 32
	var out []int64
	for i := range min(steps, most) {
		if steps <= most {
			out = append(out, i)
		} else {
			out = append(out, i*(steps-1)/(most-1))
		}
	}
	return out
}
