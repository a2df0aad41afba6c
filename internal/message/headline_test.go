package message

import (
	"regexp"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
)

// TestVerdictsAreShort fills every verdict with the longest that its parameters can
// be: every label of their kinds, a time of minutes, and a name of many words.
func TestVerdictsAreShort(t *testing.T) {
	const long = "a range that its program gave more words than a sentence has room for"
	minutes := fact.NS("", 116e9).Value
	labelsOf := func(domain string) (out []fact.Value) {
		for _, table := range labels {
			for id := range table[domain] {
				out = append(out, fact.ID("", domain, id).Value)
			}
		}
		return out
	}
	share := fact.Share("", 0.8888).Value
	names := []fact.Value{fact.Stage("", "decode").Value, fact.Stage("", "").Value, fact.Region("", long).Value}
	values := map[string][]fact.Value{
		"stage": names, "kernel": names, "region": names, "process": names, "category": {fact.Name("", "Normalization and softmax of attention").Value},
		"rank": {fact.Count("", 1023).Value}, "share": {share}, "busy": {share}, "kind": labelsOf("limits"), "limits": labelsOf("limits"), "cause": labelsOf("idle"),
		"ns": {minutes}, "gain": {minutes}, "of": {minutes}, "period": {minutes}, "ttft": {minutes}, "token": {minutes}, "total": {minutes},
	}
	key := regexp.MustCompile(`\{(\w+)\}`)
	for code, w := range headlineWords {
		cases := []fact.Params{{}}
		for _, m := range key.FindAllStringSubmatch(w.Text, -1) {
			if len(values[m[1]]) == 0 {
				t.Fatalf("%s: no values of %s are known here", code, m[1])
			}
			var next []fact.Params
			for _, before := range cases {
				for _, v := range values[m[1]] {
					params := fact.Params{m[1]: v}
					for k, x := range before {
						params[k] = x
					}
					next = append(next, params)
				}
			}
			cases = next
		}
		for _, p := range cases {
			if _, both := p["rank"]; both {
				delete(p, "process")
			}
			if _, both := p["kernel"]; both {
				delete(p, "region")
			}
			text := Headline(fact.Fact{Code: code, Params: p})
			if n := len(strings.Fields(text)); n == 0 || n > 20 || !strings.HasSuffix(text, ".") || strings.Contains(text, "{") {
				t.Errorf("%s: %d words: %s", code, n, text)
			}
		}
	}
}
