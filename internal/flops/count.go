package flops

import (
	"errors"
	"fmt"
	"slices"
)

// Shape is what a session runs.
type Shape struct {
	Batch  int64 `json:"batch"`  // sequences at a time; 0 for 1
	Prompt int64 `json:"prompt"` // tokens of text in each
	// New is the number of tokens to generate. The first comes out of prefill,
	// so that decode runs New-1 passes.
	New   int64  `json:"new"`
	DType string `json:"dtype"` // of weights, activations and cache; "" for bf16
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

// Steps is the number of decode passes.
func (s Shape) Steps() int64 { return max(0, s.New-1) }

// bits of one element, by every name that configs use.
var bits = map[string]int64{
	"bf16": 16, "fp16": 16, "fp32": 32, "bfloat16": 16, "float16": 16, "float32": 32,
	"fp8": 8, "int8": 8, "fp4": 4, "int4": 4,
}

// maxTokens bounds the tokens of a shape.
const maxTokens = 1 << 40

func (s Shape) check(m *Model) (Shape, error) {
	if s.Batch == 0 {
		s.Batch = 1
	}
	if s.DType == "" {
		s.DType = "bf16"
	}
	if bits[s.DType] == 0 {
		return s, fmt.Errorf("count FLOPs: dtype %q is not known; want bf16, fp16, fp32, fp8, int8 or int4", s.DType)
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

// Components of a stage.
const (
	Projections = "attention projections"
	Expansion   = "latent expansion"
	Scores      = "attention scores"
	MLP         = "mlp"
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

// tally collects what a part of a pass does.
type tally struct {
	parts   []Component
	weights float64 // elements read
	active  int64   // elements of activations read and written
	spread  int64   // those of them that grow with the context
	kvRead  int64
	kvWrite int64
}

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

// matrix multiplies rows with weights.
func (t *tally) matrix(name string, rows int64, list ...linear) {
	for _, l := range list {
		n := mul(2, rows, l.in, l.out)
		t.add(name, n, n)
		t.active = sum(t.active, mul(rows, sum(l.in, l.out)))
		t.weights += float64(l.params())
	}
}

// pairs multiplies queries with keys and probabilities with values.
func (t *tally) pairs(heads, qk, v, needed, full int64) {
	per := mul(2, heads, sum(qk, v))
	t.add(Scores, mul(per, needed), mul(per, full))
}

func (t *tally) conv(name string, batch int64, c conv) {
	n := mul(2, batch, c.cells, c.kernel, c.kernel, c.in, c.out)
	t.add(name, n, n)
	t.active = sum(t.active, mul(batch, c.cells, sum(c.in, c.out)))
	t.weights += float64(c.params())
}

// reach is how far the queries of one sequence see in a layer. pairs are of a
// query and a key, keys those that a pass takes out of the cache, summed over
// the passes; full is what the kernels are handed.
type reach struct{ pairs, fullPairs, keys, fullKeys int64 }

// ofPass is the reach of one pass of rows new tokens, the first of which sees
// first keys.
func (s Shape) ofPass(rows, first int64) func(window int64) reach {
	if rows == 1 {
		return s.ofSteps(1, first)
	}
	last := first + rows - 1
	return func(window int64) reach {
		r := reach{pairs: triangle(rows, first, window), fullPairs: mul(rows, last), keys: last}
		if window > 0 {
			r.keys = min(last, sum(window, rows-1))
		}
		// Attention over a prompt leaves out the free end of a static cache;
		// what lies before attention is handed all of it.
		r.fullKeys = max(last, s.CacheLength)
		return r
	}
}

// ofSteps is the reach of steps passes of one token, the first of which sees
// first keys.
func (s Shape) ofSteps(steps, first int64) func(window int64) reach {
	return func(window int64) reach {
		n := triangle(steps, first, window)
		full := n
		if s.CacheLength > 0 {
			full = mul(steps, s.CacheLength)
		}
		return reach{pairs: n, fullPairs: full, keys: n, fullKeys: full}
	}
}

// pass is one forward pass of the decoder over rows new tokens in each of
// batch sequences.
func (d *decoder) pass(t *tally, s Shape, rows int64, of func(window int64) reach) {
	tokens := mul(s.Batch, rows)
	t.active = sum(t.active, mul(2, tokens, d.hidden))
	if !d.tied { // the head reads a tied matrix whole
		t.weights += float64(mul(min(tokens, d.vocab), d.hidden))
	}
	t.weights += float64(mul(min(rows, d.positions), d.hidden))
	if d.rotary > 0 {
		n := mul(2, d.rotary/2, rows)
		t.add(Rotary, n, n)
	}
	for _, l := range d.layers {
		a := l.attention
		t.matrix(Projections, tokens, a.projections...)
		t.attend(a, s.Batch, of(l.window))
		t.active = sum(t.active, mul(tokens, a.heads, sum(a.qk, a.v)))
		t.kvWrite = sum(t.kvWrite, mul(tokens, a.cached))
		t.weights += float64(a.norms + l.norms)
		t.matrix(MLP, tokens, l.mlp...)
		if l.moe != nil {
			l.moe.pass(t, tokens)
		}
	}
	t.weights += float64(d.norm)
}

// attend takes keys and values out of the cache, expands them where they are
// cached as a latent, and multiplies queries with them.
func (t *tally) attend(a attention, batch int64, r reach) {
	t.kvRead = sum(t.kvRead, mul(batch, r.keys, a.cached))
	if l := a.expand; l != nil {
		per := mul(2, batch, l.in, l.out)
		t.add(Expansion, mul(per, r.keys), mul(per, r.fullKeys))
		t.spread = sum(t.spread, mul(batch, r.keys, sum(l.out, a.expanded())))
		t.weights += float64(l.params())
	}
	t.pairs(a.heads, a.qk, a.v, mul(batch, r.pairs), mul(batch, r.fullPairs))
}

func (x *moe) pass(t *tally, tokens int64) {
	t.matrix(Router, tokens, x.router)
	t.matrix(Shared, tokens, x.shared...)
	rows := mul(tokens, x.active)
	for _, l := range x.expert {
		n := mul(2, rows, l.in, l.out)
		t.add(Experts, n, n)
		t.active = sum(t.active, mul(rows, sum(l.in, l.out)))
		t.weights += touched(x.experts, x.active, tokens) * float64(l.params())
	}
}

// logits runs the head over rows tokens of the whole batch.
func (d *decoder) logits(t *tally, rows int64) {
	t.matrix(Head, rows, linear{in: d.hidden, out: d.vocab, bias: d.headBias})
}

func (e encoder) pass(t *tally, batch int64) {
	if e.patch.out > 0 {
		t.conv(Patches, batch, e.patch)
	}
	t.weights += float64(e.other)
	if e.rotary > 0 {
		n := mul(2, e.rotary/2, e.blocks[0].rows)
		t.add(Rotary, n, n)
	}
	for _, b := range e.blocks {
		rows := mul(batch, b.rows)
		t.matrix(Projections, rows, b.qkv...)
		t.matrix(Projections, rows, b.out...)
		pairs := mul(batch, b.groups, b.per, b.per)
		t.pairs(b.heads, b.dim, b.dim, pairs, pairs)
		if b.relative > 0 { // each query with the offsets along both axes
			n := mul(2, 2, rows, b.heads, b.dim, b.relative)
			t.add(Scores, n, n)
		}
		t.active = sum(t.active, mul(2, rows, b.heads, b.dim))
		t.matrix(MLP, mul(batch, b.plain), b.mlp...)
		t.weights += float64(b.norms + b.relParams)
	}
	for _, c := range e.convs {
		t.conv(Neck, batch, c)
	}
	if e.head > 0 { // one query over all tokens
		t.matrix(Pooling, batch, e.pooled[0])
		t.matrix(Pooling, mul(batch, e.tokens), e.pooled[1], e.pooled[2])
		n := mul(4, batch, e.tokens, e.head)
		t.add(Pooling, n, n)
		t.matrix(Pooling, batch, e.pooled[3:]...)
	}
}

// Count derives what a session computes and moves. The error says what of the
// shape cannot be.
func (m *Model) Count(s Shape) (Report, error) {
	s, err := s.check(m)
	if err != nil {
		return Report{}, err
	}
	at, err := m.resized(s.ImageSize)
	if err != nil {
		return Report{}, err
	}
	r := Report{Schema: Schema, Model: m.identity(s), Shape: shape{Shape: s}, Assumptions: append([]string{}, m.assumptions...), Warnings: slices.Clone(m.warnings)}
	r.Assumptions = append(r.Assumptions, standing(m)...)
	total := s.Prompt + mul(s.Images, at.ImageTokens())
	if s.CacheLength > 0 && s.CacheLength < total+s.Steps() {
		return Report{}, fmt.Errorf("count FLOPs: a static cache of %d tokens does not hold %d of prompt and %d of decode", s.CacheLength, total, s.Steps())
	}
	r.Shape.Tokens = total
	prefill := &tally{}
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
	r.Stages[0] = prefill.stage("prefill", s.DType)
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
		t := &tally{}
		do(t)
		stage := t.stage(name, s.DType)
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
// context is alike in them.
func (m *Model) decode(s Shape, prompt int64) Stage {
	steps := s.Steps()
	over := func(passes, first int64) *tally {
		t := &tally{}
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
	whole.kvWrite = mul(whole.kvWrite, steps)
	stage := whole.stage("decode", s.DType)
	stage.Tokens, stage.Passes = mul(s.Batch, steps), steps
	for _, i := range milestones(steps) {
		at := over(1, prompt+1+i).stage("", s.DType)
		stage.Growth = append(stage.Growth, Growth{Step: i + 1, Context: prompt + 1 + i, FLOPs: at.FLOPs, Torch: at.Torch, Bytes: at.Bytes.Total})
	}
	return stage
}

// milestones are the passes that the growth of decode is shown at: all of a
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
