package nvtx

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// timeline holds the ranges of the program of the recorded H200 session, and
// some with awkward names.
var timeline = []Seen{
	{PushPop, []Range{{Name: "prefill"}}},
	{PushPop, []Range{{Name: "prefill"}, {Name: "attention"}}},
	{PushPop, []Range{{Name: "prefill"}, {Name: "mlp"}}},
	{StartEnd, []Range{{Name: "decode"}}},
	{StartEnd, []Range{{Name: "load"}}},
	{PushPop, []Range{{Name: "step", Domain: "LLM"}}},
	{PushPop, []Range{{Name: "both"}}},
	{StartEnd, []Range{{Name: "both"}}},
	{PushPop, []Range{{Name: "layers[0]/self_attn"}}},
	{PushPop, []Range{{Name: `C:\x`}}},
	{PushPop, []Range{{Name: `D:\`}}},
	{PushPop, []Range{{Name: "read;decode"}}},
	{StartEnd, []Range{{Name: "regex:odd, really"}}},
}

func TestResolve(t *testing.T) {
	for _, tt := range []struct {
		exprs string
		seen  []Seen
		want  []string
	}{
		{"prefill", timeline, []string{"prefill/"}},
		{"decode", timeline, []string{"decode"}},
		{"both", timeline, []string{"both/", "both"}},
		{"prefill;decode", timeline, []string{"prefill/", "decode"}},
		{"LLM@step", timeline, []string{"LLM@step/"}},
		{"prefill/", timeline, []string{"prefill/"}},
		{"prefill/attention", timeline, []string{"prefill/attention"}},
		{"attention", timeline, []string{"attention/"}},
		{"prefill/*/mlp]", timeline, []string{"prefill/*/mlp]"}},
		{"regex:pre.*", timeline, []string{"regex:pre.*/"}},
		{"regex:dec|pre", timeline, []string{"regex:dec|pre/", "regex:dec|pre"}},
		{"decode,load", timeline, []string{"decode,load"}},
		{"layers[0]/self_attn", timeline, []string{`layers\[0\]\/self_attn/`}},
		{`C:\x`, timeline, []string{`C:\x/`}},
		{`D:\`, timeline, []string{`regex:^D:\\$/`}},
		{"regex:odd, really", timeline, []string{`regex:^regex:odd. really$`}},
		{"read;decode", timeline, []string{"read;decode/"}},
		{`read\;decode;prefill`, timeline, []string{"read;decode/", "prefill/"}},
		{"prefill", nil, []string{"prefill/", "prefill"}},
		{"prefill/", nil, []string{"prefill/"}},
		{"LLM@step", nil, []string{"LLM@step/", "LLM@step"}},
		{"<default domain>@prefill", timeline, []string{"prefill/"}},
	} {
		rs, err := Resolve([]string{tt.exprs}, tt.seen)
		if err != nil {
			t.Errorf("%q: %v", tt.exprs, err)
			continue
		}
		if got := Values(rs); !slices.Equal(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.exprs, got, tt.want)
		}
		for _, r := range rs {
			if r.Checked != (tt.seen != nil) || len(r.Styles) != len(r.Values) {
				t.Errorf("%q: %+v", tt.exprs, r)
			}
		}
	}
}

func TestResolveRefuses(t *testing.T) {
	for _, tt := range []struct {
		expr string
		seen []Seen
		want []string
	}{
		{"prefil", timeline, []string{`"prefil" selects no range`, `did you mean "prefill"?`, "prefill/attention", "LLM@step/", "decode"}},
		{"step", timeline, []string{`did you mean "LLM@step"?`}},
		{"decode/", timeline, []string{"selects no range", "decode"}},
		{"Prefill", timeline, []string{`did you mean "prefill"`}},
		{"prefill/attn", timeline, []string{"selects no range"}},
		{"prefill/attentoin", timeline, []string{`"attention"`}},
		{"anything", []Seen{}, []string{"the timeline holds no NVTX ranges"}},
		{"[prefill]", timeline, []string{"column 2"}},
	} {
		_, err := Resolve([]string{tt.expr}, tt.seen)
		if err == nil {
			t.Errorf("%q is accepted", tt.expr)
			continue
		}
		for _, w := range tt.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q: %v\nlacks %q", tt.expr, err, w)
			}
		}
	}
	_, err := Resolve([]string{"nope1;nope2", "[x]"}, timeline)
	for _, w := range []string{"nope1", "nope2", "[x]"} {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("%v lacks %s", err, w)
		}
	}
}

func TestManyRangesListedBriefly(t *testing.T) {
	var seen []Seen
	for i := range 100 {
		seen = append(seen, Seen{PushPop, []Range{{Name: fmt.Sprintf("layer%03d", i)}}})
	}
	_, err := Resolve([]string{"zzz"}, seen)
	if err == nil || !strings.Contains(err.Error(), "and 80 more") || strings.Contains(err.Error(), "layer050") {
		t.Errorf("%v", err)
	}
}

// TestDeepStack would not end if the cost grew with the square of the depth.
func TestDeepStack(t *testing.T) {
	stack := make([]Range, 1_000_000)
	for i := range stack {
		stack[i].Name = "x" + strconv.Itoa(i)
	}
	e, err := Parse("regex:x1/*/x2/*/y]")
	if err != nil {
		t.Fatal(err)
	}
	if e.Match(State{Stacks: [][]Range{stack}}) {
		t.Error("matches")
	}
}
