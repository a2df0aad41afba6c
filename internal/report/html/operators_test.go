package html

import (
	"strings"
	"testing"
)

// Operators show what holds them back and lead to their main kernel. The links of
// the sample are synthetic.
func TestOperators(t *testing.T) {
	p := open(t, sample())
	for row, want := range map[string]string{
		"aten::mm":     "tensor pipe (bf16) (95.7",
		"aten::linear": "through aten::mm",
	} {
		got := eval[string](p, `[...document.querySelectorAll("#operators tbody tr")].find((r) => r.querySelector(".mono")?.textContent === "`+row+`")?.innerText ?? ""`)
		if got = strings.ReplaceAll(got, "\u00a0", " "); !strings.Contains(strings.Join(strings.Fields(got), " "), want) {
			t.Errorf("%s: %q, want %q", row, got, want)
		}
	}
	p.click("#operators a.kernel-link")
	p.wait(`location.hash.includes("k-gemm")`)

	r := sample()
	for i := range r.Operators {
		r.Operators[i].Links, r.Operators[i].Limiter = nil, nil
	}
	p = open(t, r)
	if got := p.text("#operators thead"); strings.Contains(got, "Limiter") || strings.Contains(got, "Main kernel") {
		t.Errorf("columns without a value: %s", got)
	}
}
