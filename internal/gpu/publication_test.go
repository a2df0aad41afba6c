package gpu_test

import (
	"testing"

	"github.com/deepprof/deepprof/internal/gpu"
	"github.com/deepprof/deepprof/internal/message"
)

// Every publication that a peak is from has a title.
func TestPublicationsHaveTitles(t *testing.T) {
	for _, id := range gpu.Publications() {
		if message.Label("publication", id) == id {
			t.Errorf("%s has no title", id)
		}
	}
}
