package pipeline

import (
	"testing"

	"github.com/deepprof/deepprof/internal/load"
)

// TestBothPassed: counting goes on while the prompt or the step of decode that began
// before the last counted launch has not come to its end.
func TestBothPassed(t *testing.T) {
	for name, test := range map[string]struct {
		tokens [][]int64
		want   bool
	}{
		"nothing came":         {[][]int64{{10, 20}, {}}, false},
		"decode goes on":       {[][]int64{{10, 20, 150}, {}}, false},
		"only a prompt ended":  {[][]int64{{10, 20}, {150}}, false},
		"both":                 {[][]int64{{10, 20, 150}, {150}}, true},
		"a prompt and its own": {[][]int64{{150, 160}}, true},
	} {
		var requests []load.Request
		for _, tokens := range test.tokens {
			requests = append(requests, load.Request{Tokens: tokens})
		}
		if got := bothPassed(requests, 100); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
