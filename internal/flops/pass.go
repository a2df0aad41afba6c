package flops

import (
	"errors"
	"fmt"
	"math"
)

// Sequences are those of a batch that are alike: each adds New tokens to the
// Cached ones that it has in the cache.
type Sequences struct {
	N      int64
	New    int64 // at least 1: of a prompt, or the one token of decode
	Cached int64
	Logits int64 // of the new tokens, those that the head runs over; 1 for a prompt
}

// Pass counts one forward pass over sequences of several kinds, as a serving engine
// runs prompts beside sequences that decode. All of them share the weights, which
// are read once. Of learned positions in a batch of several kinds only one row is
// counted, so that bytes stay the least.
func (m *Model) Pass(dtype string, of ...Sequences) (Stage, error) {
	var out Stage
	var tokens, logits int64
	s := Shape{DType: dtype, Prompt: 1}
	for _, q := range of {
		if q.N < 1 || q.New < 1 || q.Cached < 0 || q.Logits < 0 || q.Logits > q.New {
			return Stage{}, fmt.Errorf("count FLOPs: %d sequences of %d new tokens, %d cached, %d through the head: no such batch", q.N, q.New, q.Cached, q.Logits)
		}
		var err error
		s.Batch, s.Prompt = q.N, sum(q.Cached, q.New)
		if s, err = s.check(m); err != nil {
			return Stage{}, err
		}
		t := &tally{dense: denseBytes(s.DType), reads: q.Cached > 0}
		m.text.pass(t, s, q.New, s.ofPass(q.New, sum(q.Cached, 1)))
		m.text.logits(t, mul(q.N, q.Logits))
		out.join(t.stage("", s.DType, m.cacheType(s)))
		tokens, logits = sum(tokens, mul(q.N, q.New)), sum(logits, mul(q.N, q.Logits))
	}
	if len(of) == 0 {
		return Stage{}, errors.New("count FLOPs: an empty batch")
	}
	if len(of) > 1 {
		t := &tally{dense: denseBytes(s.DType)}
		s.Batch = tokens
		m.text.pass(t, s, 1, s.ofSteps(1, 1))
		m.text.logits(t, logits)
		out.Bytes.Weights = int64(math.Min(math.Round(t.weights), huge))
	}
	out.Passes, out.Tokens = 1, tokens
	b := &out.Bytes
	b.Total = sum(b.Weights, b.CacheRead, b.CacheWrite, b.Activations)
	if out.Torch >= huge/2 || b.Total < 0 {
		return Stage{}, errors.New("count FLOPs: the batch is too large to count")
	}
	return out, nil
}

// join adds the work of another stage, but for Bytes.Total.
func (s *Stage) join(o Stage) {
	t := tally{parts: s.Components}
	for _, c := range o.Components {
		t.add(c.Name, c.FLOPs, c.Torch)
	}
	s.Components, s.FLOPs, s.Torch = t.parts, sum(s.FLOPs, o.FLOPs), sum(s.Torch, o.Torch)
	s.Bytes.Weights, s.Bytes.Activations = sum(s.Bytes.Weights, o.Bytes.Weights), sum(s.Bytes.Activations, o.Bytes.Activations)
	s.Bytes.CacheRead, s.Bytes.CacheWrite = sum(s.Bytes.CacheRead, o.Bytes.CacheRead), sum(s.Bytes.CacheWrite, o.Bytes.CacheWrite)
}
