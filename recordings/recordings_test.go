package recordings

import "testing"

// What is bundled makes every binary larger.
func TestSize(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		most int
	}{"llm-h200": {LLM, 4 << 20}, "llm-graphs-h200": {LLMGraphs, 3 << 20}, "eager baseline": {Eager, 1 << 20}, "graphs baseline": {Graphs, 1 << 20}} {
		if n := len(c.data); n < 100<<10 || n > c.most {
			t.Errorf("%s has %d bytes; it may have %d", name, n, c.most)
		}
	}
}
