package report

import (
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/load"
	"github.com/deepprof/deepprof/internal/message"
)

// TestVerdictIsShort holds what every report begins with to one sentence of 20 words.
func TestVerdictIsShort(t *testing.T) {
	all := cases(t)
	found := func(code fact.Code, params ...fact.Param) *analysis.Result {
		return &analysis.Result{Findings: []analysis.Finding{{Fact: fact.New(code, params...)}}}
	}
	all["ranks"], all["job"] = found("straggler", fact.Count("rank", 2), fact.NS("ns", int64(19.9e6)), fact.Share("share", 0.29)), job()
	all["server steps"] = found("next-token", fact.NS("period", int64(26.6e6)), fact.Share("busy", 0.24))
	all["server clients"] = &analysis.Result{Serving: &analysis.Serving{Windows: []analysis.ServingWindow{{Window: load.Window{Stats: &load.Stats{TTFT: load.Summary{N: 1, P50: 8e6}, TPOT: load.Summary{N: 1, P50: 7e6}}}}}}}
	all["stage of many words"] = found("launch-bound", fact.Stage("stage", "one step of the loop that decodes the next token of every request"), fact.Share("wait_share", 0.9))
	for name, r := range all {
		text := message.Headline(r.Verdict())
		if n := len(strings.Fields(strings.ReplaceAll(text, "\u00a0", " "))); n == 0 || n > 20 {
			t.Errorf("%s: %d words: %s", name, n, text)
		}
	}
}
