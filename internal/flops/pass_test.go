package flops

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPassMixed counts by hand what Llama 3.1 8B does for a prompt of 512 tokens and
// 7 sequences that decode, each of which sees 600 keys.
func TestPassMixed(t *testing.T) {
	const L, H, I, V, heads, kv, hd, parameters = 32, 4096, 14336, 128256, 32, 8, 128, 8030261248
	const tokens, prompt, decode, keys = 519, 512, 7, 600
	m := model(t, "Llama-3.1-8B")
	got, err := m.Pass("bf16", Sequences{N: 1, New: prompt, Logits: 1}, Sequences{N: decode, New: 1, Cached: keys - 1, Logits: 1})
	if err != nil {
		t.Fatal(err)
	}
	const perToken = L * 2 * (H*H + 2*H*kv*hd + H*H + 3*H*I)
	const pairs = L * 2 * 2 * heads * hd * (prompt*(prompt+1)/2 + decode*keys)
	equal(t, "scores", component(t, got, Scores).FLOPs, pairs)
	equal(t, "head", component(t, got, Head).FLOPs, (1+decode)*2*H*V)
	equal(t, "FLOPs", got.FLOPs, tokens*perToken+pairs+(1+decode)*2*H*V+hd*(prompt+1))
	// Every weight is read once; of the embedding a row a token.
	equal(t, "weights", got.Bytes.Weights, 2*(parameters-V*H+tokens*H))
	equal(t, "cache read", got.Bytes.CacheRead, 2*L*2*kv*hd*(prompt+decode*keys))
	equal(t, "cache write", got.Bytes.CacheWrite, 2*L*2*kv*hd*tokens)
	const layer = 2*H + 2*(H+kv*hd) + 2*H + 3*(H+I) + 2*heads*hd
	equal(t, "activations", got.Bytes.Activations, 2*(tokens*(2*H+L*layer)+(1+decode)*(H+V)))
	equal(t, "bytes", got.Bytes.Total, got.Bytes.Weights+got.Bytes.CacheRead+got.Bytes.CacheWrite+got.Bytes.Activations)
	equal(t, "tokens", got.Tokens, tokens)
}

// TestPassIsAStage: of sequences of one kind a pass is what Count has for prefill,
// and for the first token of decode; in every kind of model. Together they cost no
// more than apart, and the same FLOPs.
func TestPassIsAStage(t *testing.T) {
	paths, err := filepath.Glob("testdata/models/real/*.json")
	if err != nil || len(paths) < 50 {
		t.Fatalf("%d models: %v", len(paths), err)
	}
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Parse(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		r := count(t, m, Shape{Batch: 3, Prompt: 300, New: 2})
		prompts, decode := Sequences{N: 3, New: 300, Logits: 1}, Sequences{N: 3, New: 1, Cached: 300, Logits: 1}
		var apart, bytes int64
		for name, q := range map[string]Sequences{"prefill": prompts, "decode": decode} {
			want := stage(t, r, name)
			got, err := m.Pass(r.Shape.DType, q)
			if err != nil || got.FLOPs != want.FLOPs || got.Torch != want.Torch || got.Bytes != want.Bytes {
				t.Errorf("%s: %s is %+v (%v), want %+v", path, name, got, err, want)
			}
			apart, bytes = apart+got.FLOPs, bytes+got.Bytes.Total
		}
		both, err := m.Pass(r.Shape.DType, prompts, decode)
		if err != nil || both.FLOPs != apart || both.Bytes.Total >= bytes {
			t.Errorf("%s: both are %d FLOPs, %d bytes (%v); apart %d, %d", path, both.FLOPs, both.Bytes.Total, err, apart, bytes)
		}
	}
}

func TestPassRefuses(t *testing.T) {
	m := model(t, "Llama-3.1-8B")
	for _, q := range [][]Sequences{nil, {{N: 0, New: 1}}, {{N: 1}}, {{N: 1, New: 1, Cached: -1}}, {{N: 1, New: 1, Logits: 2}}, {{N: 1 << 39, New: 1 << 39, Logits: 1}}} {
		if _, err := m.Pass("bf16", q...); err == nil {
			t.Errorf("%+v is counted", q)
		}
	}
}
