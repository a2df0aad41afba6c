package analysis

import (
	"math"
	"testing"

	"github.com/deepprof/deepprof/internal/engine"
	"github.com/deepprof/deepprof/internal/flops"
)

// TestBytesOfStaticCache counts the places that an engine reads: on an H200 decode
// steps of batch 62 to 64 read 21.41 GB by samples, 5.9 % more than the used
// places of the cache explain.
func TestBytesOfStaticCache(t *testing.T) {
	m, err := flops.ParseMap(map[string]any{
		"model_type": "llama", "vocab_size": 128256, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
		"num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "tie_word_embeddings": false,
	})
	if err != nil {
		t.Fatal(err)
	}
	batch := 63.5
	c := StepClass{Kind: engine.Decode, GenerationTokens: &batch}
	if _, ok := c.count(m, "bf16", clientMeans{context: 580}); !ok || c.CacheRead != 0 {
		t.Fatalf("%+v", c)
	}
	used, work := c.Bytes, c.FLOPs
	if _, ok := c.count(m, "bf16", clientMeans{context: 580, read: 704}); !ok || c.CacheRead != 704 || c.Context != 580 {
		t.Fatalf("%+v", c)
	}
	place := 2.0 * 32 * 8 * 128 * 2 // keys and values, layers, heads, size, bf16
	if got, want := c.Bytes-used, 64*(704-580)*place; math.Abs(got/want-1) > 0.01 || c.FLOPs != work {
		t.Errorf("%.0f bytes and %.0f FLOPs more, want %.0f and none", got, c.FLOPs-work, want)
	}
	if sampled := 21.41e9; math.Abs(sampled/c.Bytes-1) > 0.05 || math.Abs(sampled/used-1) < 0.05 {
		t.Errorf("%.2f GB with all places, %.2f GB with those that are used", c.Bytes/1e9, used/1e9)
	}
	if c.count(m, "bf16", clientMeans{context: 580, read: 512}); c.Bytes != used {
		t.Errorf("fewer places than are used change the bytes: %v", c.Bytes)
	}
}
