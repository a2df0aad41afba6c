package message

import (
	"testing"

	"github.com/deepprof/deepprof/internal/flops"
)

// Everything that a count of a model states has words.
func TestModelWords(t *testing.T) {
	for _, code := range flops.Codes {
		if !Known(code) {
			t.Errorf("%s has no words", code)
		}
	}
	if len(modelWords) != len(flops.Codes) {
		t.Errorf("%d words for %d codes", len(modelWords), len(flops.Codes))
	}
}
