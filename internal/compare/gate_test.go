package compare

import (
	"strings"
	"testing"
)

func TestParseRule(t *testing.T) {
	for text, want := range map[string]Rule{
		"stage:decode.time < +3%":            {kind: Stage, metric: Time, name: "decode", op: "<", limit: 0.03, relative: true},
		"mfu:prefill > -2%":                  {kind: MFU, name: "prefill", op: ">", limit: -0.02, relative: true},
		"launches:decode <= 0":               {kind: Stage, metric: Launches, name: "decode", op: "<=", limit: 0},
		"total.time<=+1.5ms":                 {kind: Total, metric: Time, op: "<=", limit: 1.5e6},
		"kernel:k<int>.launch_time >= -10 %": {kind: Kernel, metric: LaunchTime, name: "k<int>", op: ">=", limit: -0.1, relative: true},
		"layer:decode/a.*.b.time < +5%":      {kind: Layer, metric: Time, name: "decode/a.*.b", op: "<", limit: 0.05, relative: true},
	} {
		got, err := parseRule(text)
		want.Text = text
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	got, err := parseRule("kernel:regex:gemm.*.time < +10%")
	if err != nil || got.pattern == nil || got.pattern.String() != "gemm.*" || got.metric != Time {
		t.Errorf("%+v, %v", got, err)
	}
}

// A typo names what was probably meant.
func TestWrongRules(t *testing.T) {
	for text, hint := range map[string]string{
		"stgae:decode.time < +3%":  "stage",
		"stage:decode.tmie < +3%":  "time",
		"stage:decode < +3%":       "last dot",
		"stage:decode.time":        "form",
		"stage:decode.time < fast": "form",
		"kernel:regex:(.time < 3%": "regular expression",
		"launches:decode < 1ms":    "no time",
		"":                         "form",
	} {
		if _, err := parseRule(text); err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("%q: %v", text, err)
		}
	}
	c := mustCompare(t, []Run{{Result: llm(t)}}, []Run{{Result: llm(t)}})
	rule, err := parseRule("stage:decdoe.time < +3%")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Apply([]Rule{rule}); err == nil || !strings.Contains(err.Error(), "decode") {
		t.Error(err)
	}
}

func TestGate(t *testing.T) {
	base, slow := synthetic(t, 1, 5, 0.002, 1), synthetic(t, 2, 5, 0.002, 1.2)
	c := mustCompare(t, base, slow)
	single := mustCompare(t, base[:1], slow[:1])
	for _, g := range []struct {
		on   *Comparison
		rule string
		want Outcome
	}{
		{c, "stage:decode.time < +3%", Pass},
		{c, "stage:decode.time > +3%", Fail},
		{c, "stage:decode.time < 0%", Unknown}, // the interval holds 0
		{c, "launches:decode <= 0", Pass},
		{c, "launches:decode < 0", Fail},
		{c, "stage:decode.time < +5s", Pass},
		{c, "kernel:regex:..time < +10%", Fail}, // one of them is 20 % slower
		{single, "stage:decode.time < +300%", Unknown},
		{single, "launches:decode <= 0", Pass},
	} {
		rule, err := parseRule(g.rule)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.on.Apply([]Rule{rule}); err != nil {
			t.Fatal(err)
		}
		if g.on.Gate.Outcome != g.want {
			t.Errorf("%s: %+v", g.rule, g.on.Gate)
		}
	}
}

func TestParseRules(t *testing.T) {
	rules, err := ParseRules([]byte("rules:\n  - stage:decode.time < +3%\n  - rule: mfu:prefill > -2%\n    name: use of the GPU\n"))
	if err != nil || len(rules) != 2 || rules[1].Name != "use of the GPU" {
		t.Errorf("%+v, %v", rules, err)
	}
	for _, text := range []string{"", "rules: []", "rule:\n  - a", "rules:\n  - {rule: 'total.time < 1%', nmae: x}", "rules:\n  - total.tmie < 1%"} {
		if _, err := ParseRules([]byte(text)); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}
