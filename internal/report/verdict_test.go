package report

import (
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/message"
)

// TestVerdictIsShort holds what every report begins with to one sentence of 20 words.
func TestVerdictIsShort(t *testing.T) {
	for name, r := range cases(t) {
		text := message.Text(r.Verdict())
		if n := len(strings.Fields(strings.ReplaceAll(text, "\u00a0", " "))); n == 0 || n > 20 {
			t.Errorf("%s: %d words: %s", name, n, text)
		}
	}
}
