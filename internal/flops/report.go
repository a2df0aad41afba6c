package flops

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"

	"github.com/deepprof/deepprof/internal/fact"
)

// Schema is the version of a Report's JSON.
const Schema = 2

// A Report is what a session computes and moves.
type Report struct {
	Schema int      `json:"schema"`
	Model  Identity `json:"model"`
	Shape  shape    `json:"shape"`
	Stages Stages   `json:"stages"` // prefill, its parts, decode
	Cache  Cache    `json:"cache"`
	// Assumptions say what the numbers rest on, Warnings what they lack.
	Assumptions Facts `json:"assumptions"`
	Warnings    Facts `json:"warnings,omitempty"`
}

// Facts are what is stated of a count. Reports of schema 1 hold sentences, which
// are read as notes.
type Facts []fact.Fact

// UnmarshalJSON reads facts, and sentences of schema 1.
func (f *Facts) UnmarshalJSON(text []byte) error {
	var list []fact.Stored
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	*f = nil
	for _, one := range list {
		if one.Is(fact.Text) {
			one.Code = OtherSource // its parameter is the same
		}
		*f = append(*f, one.Fact)
	}
	return nil
}

// shape is a Shape with what follows from it.
type shape struct {
	Shape
	Tokens int64 `json:"tokens"` // of the prompt, pictures included
}

// Identity is the model.
type Identity struct {
	Type             string `json:"type"`
	Parameters       int64  `json:"parameters"`
	ActiveParameters int64  `json:"active_parameters"` // that a token of text passes through
	WeightsBytes     int64  `json:"weights_bytes"`
	Quantization     string `json:"quantization,omitempty"` // quant_method of the weights
	// Products is the type of most matrix products where weights and
	// activations are quantized; "" is that of the shape.
	Products       string `json:"products,omitempty"`
	Layers         int64  `json:"layers"`
	Hidden         int64  `json:"hidden"`
	Attention      string `json:"attention"` // mha, gqa, mqa or mla; "" where no layer has it
	Experts        int64  `json:"experts,omitempty"`
	ActiveExperts  int64  `json:"active_experts,omitempty"`
	TiedEmbeddings bool   `json:"tied_embeddings"`
	ImageTokens    int64  `json:"image_tokens,omitempty"` // of one picture
}

// A Stage is one part of a session. FLOPs is the headline, Torch what
// FlopCounterMode reports.
type Stage struct {
	Name   string `json:"-"`
	Within string `json:"within,omitempty"` // the stage that it is part of, and counted in
	Module string `json:"module,omitempty"` // path of the module in transformers' model
	Passes int64  `json:"passes"`
	Tokens int64  `json:"tokens"` // new ones, of the whole batch
	// MeanContext is the mean number of keys that a token of decode sees
	// without a window.
	MeanContext float64 `json:"mean_context,omitempty"`
	// FLOPs, Torch and Bytes are of all passes and the whole batch.
	FLOPs      int64       `json:"flops"`
	Torch      int64       `json:"flops_torch"`
	Bytes      Bytes       `json:"bytes"`
	Components []Component `json:"components"`       // they add up to FLOPs and Torch
	Growth     []Growth    `json:"growth,omitempty"` // of decode
}

// Stages are in the order in which they run. In JSON they are an object by
// name, in that order, as in the flops.json that torch's count is kept in.
type Stages []Stage

// MarshalJSON writes the object.
func (s Stages) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, stage := range s {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(stage.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(stage)
		if err != nil {
			return nil, err
		}
		b.Write(append(append(name, ':'), value...))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads the object in its order.
func (s *Stages) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("stages: want an object by stage, got %.20s", text)
	}
	*s = nil
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		var stage Stage
		if err := d.Decode(&stage); err != nil {
			return fmt.Errorf("stages.%v: %w", t, err)
		}
		stage.Name, _ = t.(string)
		*s = append(*s, stage)
	}
	_, err := d.Token()
	return err
}

// Read reads a Report from its JSON: also one of schema 1. The file of torch's own count, which
// has no model, is an error.
func Read(r io.Reader) (*Report, error) {
	var out Report
	if err := json.NewDecoder(io.LimitReader(r, maxConfig)).Decode(&out); err != nil {
		return nil, fmt.Errorf("read FLOPs: %w", err)
	}
	if out.Schema < 1 || out.Schema > Schema || out.Model.Parameters == 0 {
		return nil, fmt.Errorf("read FLOPs: schema %d and %d parameters; this version reads schemas 1 to %d of its own counts", out.Schema, out.Model.Parameters, Schema)
	}
	return &out, nil
}

// A Component is a share of a stage's FLOPs.
type Component struct {
	Name  string `json:"name"`
	FLOPs int64  `json:"flops"`
	Torch int64  `json:"flops_torch"`
}

// Bytes is the least that a stage moves to and from the GPU's memory, each
// matrix product on its own.
type Bytes struct {
	Weights     int64 `json:"weights"`    // with the experts that are expected to be reached
	CacheRead   int64 `json:"cache_read"` // keys and values, and recurrent states
	CacheWrite  int64 `json:"cache_write"`
	Activations int64 `json:"activations"`
	Total       int64 `json:"total"`
}

// Growth is one pass of decode.
type Growth struct {
	Step    int64 `json:"step"`    // from 1
	Context int64 `json:"context"` // keys that its token sees
	FLOPs   int64 `json:"flops"`
	Torch   int64 `json:"flops_torch"`
	Bytes   int64 `json:"bytes"`
}

// Cache is the key-value cache, with the states of recurrent layers. Sizes are bytes in the
// type that the shape, or the config, keeps them in.
type Cache struct {
	BytesPerToken int64 `json:"bytes_per_token"` // of one sequence, as transformers caches it
	// ExpandedBytesPerToken is what caching the keys and values of all heads
	// would take; 0 where that is what is cached.
	ExpandedBytesPerToken int64 `json:"expanded_bytes_per_token,omitempty"`
	// StateBytes are the states of recurrent layers, whatever the context, for
	// the whole batch.
	StateBytes int64 `json:"state_bytes,omitempty"`
	// PrefillBytes and EndBytes are for the whole batch, after prefill and
	// after decode; sliding windows keep no more than the window.
	PrefillBytes int64 `json:"prefill_bytes"`
	EndBytes     int64 `json:"end_bytes"`
}

// Stage finds a stage by its name; false where the session has none of it.
func (r *Report) Stage(name string) (Stage, bool) {
	for _, s := range r.Stages {
		if s.Name == name {
			return s, true
		}
	}
	return Stage{}, false
}

// A Row is one line of the table: a stage, or a component of one.
type Row struct {
	Stage       string  `json:"stage"`
	Component   string  `json:"component"` // "" for the whole stage
	FLOPs       int64   `json:"flops"`
	Share       float64 `json:"share"` // of the stage's FLOPs
	Torch       int64   `json:"flops_torch"`
	Weights     int64   `json:"weights_bytes,omitempty"` // of a whole stage
	Cache       int64   `json:"cache_bytes,omitempty"`
	Activations int64   `json:"activation_bytes,omitempty"`
	PerByte     float64 `json:"flops_per_byte,omitempty"`
	// Note is an assumption or a warning in words, in a row of its own whose
	// Stage is the kind and whose Component is the code; only CSV has such rows.
	Note string `json:"-"`
}

// Rows is the report as a table: each stage, followed by its components. A part of a stage is
// named STAGE/PART, and its work is in the row of the stage as well.
func (r *Report) Rows() []Row {
	var out []Row
	for _, s := range r.Stages {
		name := s.Name
		if s.Within != "" {
			name = s.Within + "/" + s.Name
		}
		row := Row{
			Stage: name, FLOPs: s.FLOPs, Share: 1, Torch: s.Torch, Weights: s.Bytes.Weights,
			Cache: s.Bytes.CacheRead + s.Bytes.CacheWrite, Activations: s.Bytes.Activations,
		}
		if s.Bytes.Total > 0 {
			row.PerByte = float64(s.FLOPs) / float64(s.Bytes.Total)
		}
		out = append(out, row)
		for _, c := range s.Components {
			out = append(out, Row{Stage: name, Component: c.Name, FLOPs: c.FLOPs, Share: float64(c.FLOPs) / float64(max(1, s.FLOPs)), Torch: c.Torch})
		}
	}
	return out
}

// stage turns elements into bytes: activations and states in dtype, keys and values in
// cache.
func (t *tally) stage(name, dtype, cache string) Stage {
	s := Stage{Name: name, Components: t.parts}
	for _, c := range t.parts {
		s.FLOPs, s.Torch = sum(s.FLOPs, c.FLOPs), sum(s.Torch, c.Torch)
	}
	state := bytesOf(t.state, dtype)
	s.Bytes = Bytes{
		Weights: int64(math.Min(math.Round(t.weights), huge)), CacheRead: bytesOf(t.kvRead, cache),
		CacheWrite: sum(bytesOf(t.kvWrite, cache), state), Activations: bytesOf(sum(t.active, t.spread), dtype),
	}
	if t.reads {
		s.Bytes.CacheRead = sum(s.Bytes.CacheRead, state)
	}
	s.Bytes.Total = sum(s.Bytes.Weights, s.Bytes.CacheRead, s.Bytes.CacheWrite, s.Bytes.Activations)
	return s
}

// bytesOf rounds down: types of 4 bits are packed.
func bytesOf(elements int64, dtype string) int64 { return mul(elements, bits[dtype]) / 8 }

// identity takes attention and experts from the last layer that has them: layers of a
// model agree, or lack them.
func (m *Model) identity(s Shape) Identity {
	d := m.text
	id := Identity{
		Type: m.Type, Parameters: m.Parameters(), ActiveParameters: m.activeParameters(), WeightsBytes: int64(math.Round(m.weightBytes(denseBytes(s.DType)))),
		Layers: int64(len(d.layers)), Hidden: d.hidden, TiedEmbeddings: d.tied, ImageTokens: m.ImageTokens(), Products: m.Products(),
	}
	if m.quant != nil {
		id.Quantization = m.quant.method
	}
	for _, l := range d.layers {
		if l.attention != nil {
			id.Attention = l.attention.kind
		}
		if l.moe != nil {
			id.Experts, id.ActiveExperts = l.moe.experts, l.moe.active
		}
	}
	return id
}

// cache is what a session keeps after prefill and at its end; layers that borrow keys
// keep none.
func (m *Model) cache(s Shape, prompt int64) Cache {
	var token, expanded, filled, end, state int64
	for _, l := range m.text.layers {
		a := l.attention
		if a == nil {
			state = sum(state, l.recurrent.state)
			continue
		}
		if a.borrowed {
			continue
		}
		token = sum(token, a.cached)
		if a.expand != nil {
			expanded = sum(expanded, a.expanded())
		}
		keep := func(n int64) int64 {
			if l.span.window > 0 {
				n = min(n, l.span.window)
			}
			if s.CacheLength > 0 {
				n = s.CacheLength
			}
			return mul(s.Batch, n, a.cached)
		}
		filled, end = sum(filled, keep(prompt)), sum(end, keep(prompt+s.Steps()))
	}
	kind := m.cacheType(s)
	fixed := bytesOf(mul(s.Batch, state), s.DType)
	return Cache{
		BytesPerToken: bytesOf(token, kind), ExpandedBytesPerToken: bytesOf(expanded, kind), StateBytes: fixed,
		PrefillBytes: sum(bytesOf(filled, kind), fixed), EndBytes: sum(bytesOf(end, kind), fixed),
	}
}

// resized is the model for pictures of another size; its parameters are not
// those of m.
func (m *Model) resized(side int64) (*Model, error) {
	if side == 0 || len(m.vision) == 0 || m.vision[0].side == side {
		return m, nil
	}
	root := maps.Clone(m.raw)
	v, _ := root["vision_config"].(map[string]any)
	v = maps.Clone(v)
	root["vision_config"] = v
	if m.Type == "deepseek_ocr2" {
		sam, _ := v["sam_config"].(map[string]any)
		if sam = maps.Clone(sam); sam == nil {
			sam = map[string]any{}
		}
		sam["image_size"] = side
		v["sam_config"] = sam
	} else {
		v["image_size"] = side
	}
	out, err := ParseMap(root)
	if err != nil {
		return nil, fmt.Errorf("count FLOPs: image size %d: %w", side, err)
	}
	return out, nil
}
