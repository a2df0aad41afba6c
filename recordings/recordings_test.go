package recordings

import "testing"

// What is bundled makes every binary larger.
func TestSize(t *testing.T) {
	if n := len(LLM); n < 100<<10 || n > 4<<20 {
		t.Errorf("the recording has %d bytes; it may have 4 MiB", n)
	}
}
