package ncurep

import (
	"strconv"
	"strings"
	"testing"
)

// The rules in a report are those on the details page that ncu prints of it,
// with their estimated speedups.
func TestRulesEqualTheDetailsPage(t *testing.T) {
	rep := readBytes(t, fixture(t, "toy_nest.ncu-rep"), Options{Rules: true})
	page, err := ReadCSVFile("testdata/details.2024.1.csv")
	if err != nil {
		t.Fatal(err)
	}
	type finding struct{ rule, kind, speedup, text string }
	collect := func(rules []RuleResult) map[finding]bool {
		out := map[finding]bool{}
		for _, r := range rules {
			for _, m := range r.Messages {
				f := finding{rule: r.Identifier, kind: m.Type.String(), text: strings.Join(strings.Fields(m.Plain()), " ")}
				if m.Speedup != nil {
					f.speedup = m.Speedup.Type.String() + " " + strconv.FormatFloat(m.Speedup.Value, 'f', 1, 64)
				}
				if m.Text != "" {
					out[f] = true
				}
			}
		}
		return out
	}
	ours, theirs := collect(rep.Results[0].Rules), collect(page.Results[0].Rules)
	speedups := 0
	for f := range theirs {
		if f.speedup != "" {
			speedups++
		}
		if !ours[f] {
			t.Errorf("only on the page: %+v", f)
		}
	}
	for f := range ours {
		if !theirs[f] {
			t.Errorf("only in the report: %+v", f)
		}
	}
	if len(theirs) < 2 || speedups == 0 {
		t.Errorf("%d findings, %d speedups on the page", len(theirs), speedups)
	}
}

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"see @section:A:the A section@ now": "see the A section now",
		"read @url:Guide:https://x.y/z#a@.": "read Guide (https://x.y/z#a).",
		"mail me@example.org or @ nobody @": "mail me@example.org or @ nobody @",
		"@section:A:x@@url:b:c@":            "xb (c)",
		"":                                  "",
	} {
		if got := (&RuleMessage{Text: in}).Plain(); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
