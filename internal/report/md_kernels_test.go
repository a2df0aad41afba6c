package report

import (
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/analysis"
)

// TestLongRulesAreCut: a text of NVIDIA's is cut by its length alone, after a whole
// word; where its sentences end plays no part.
func TestLongRulesAreCut(t *testing.T) {
	long := strings.Repeat("Pad. ", ruleText/10) + strings.Repeat("word ", ruleText)
	for text, want := range map[string]string{
		"Few words":   "Few words.",
		"One. Two.":   "One. Two.",
		long:          "word …",
		"Line\nbreak": "Line break.",
	} {
		k := &analysis.Kernel{Counted: &analysis.Counted{Rules: []analysis.RuleWords{{Rule: "R", Text: text, Kind: "optimization"}}}}
		items := countedItems(&analysis.Result{}, k)
		got := items[len(items)-1]
		if !strings.HasSuffix(got, want) || len(got) > ruleText+len("NVIDIA's rule, R: …") {
			t.Errorf("%d bytes, %q; want it to end with %q", len(got), got, want)
		}
	}
}
