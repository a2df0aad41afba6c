package report

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
)

// TestCodesOnly replaces every message by its code: results stay as they are to
// the byte, and every renderer still works.
func TestCodesOnly(t *testing.T) {
	before := map[string][]byte{}
	for name := range captures {
		before[name] = analyzeCaptures(t, name)
	}
	defer message.CodesOnly()()
	for name, want := range before {
		if got := analyzeCaptures(t, name); !bytes.Equal(got, want) {
			t.Errorf("the result of %s depends on words", name)
		}
	}
	for name, r := range cases(t) {
		for _, p := range Pages() {
			var b bytes.Buffer
			if err := p.Write(&b, r); err != nil {
				t.Errorf("%s of %s: %v", p.Name, name, err)
			}
			checkMarkdown(t, b.String())
		}
		var b bytes.Buffer
		if err := Summary(&b, r, SummaryOptions{}); err != nil || b.Len() == 0 {
			t.Errorf("summary of %s: %v", name, err)
		}
	}
	r := &analysis.Result{}
	if err := json.Unmarshal(before["toy"], r); err != nil {
		t.Fatal(err)
	}
	if text := page(t, WriteReport, r); !bytes.Contains([]byte(text), []byte(analysis.NoBaseline)) {
		t.Error("a missing value does not show as its code")
	}
}
