package html

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/deepprof/deepprof/internal/analysis"
)

// Operators show what holds them back and lead to their main kernel. The links of
// the sample are synthetic.
func TestOperators(t *testing.T) {
	p := open(t, sample())
	for row, want := range map[string]string{
		"aten::mm":     "tensor pipe (bf16) (96 %; 96 % counted)",
		"aten::linear": "tensor pipe (bf16)",
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
	r.Operators = append(r.Operators, analysis.Operator{Name: "aten::empty", Calls: 7}, analysis.Operator{Name: "aten::view", Calls: 9})
	p = open(t, r)
	if got := eval[string](p, `[...document.querySelectorAll("#operators tbody tr")].map((r) => (r.checkVisibility() ? "" : "folded ") + r.querySelector(".mono").textContent).join(", ")`); got != "aten::mm, aten::linear, folded aten::empty, folded aten::view" {
		t.Errorf("operators: %s", got)
	}
	if got := p.text("#operators thead"); strings.Contains(got, "Limiter") || strings.Contains(got, "Main kernel") {
		t.Errorf("columns without a value: %s", got)
	}
}

// However long the names are, a row has three lines at most; the whole names are
// in the titles. A column that would say "not known" in every row is left out.
func TestOperatorRowsAreLow(t *testing.T) {
	r := sample()
	r.Kernels[0].Short = "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_cga1x1x1_kernel0_0"
	r.Kernels[0].Name = r.Kernels[0].Short
	r.Operators[0].Limiter.Share, r.Operators[0].Limiter.Coverage = 0.878, 0.994
	r.Operators[1].Name = "aten::_scaled_dot_product_cudnn_attention_for_more_than_anybody_needs"
	r.Operators[1].Links[0].By = "aten::_scaled_dot_product_cudnn_attention"
	p := open(t, r)
	p.do(chromedp.EmulateViewport(1280, 900))
	const rows = `[...document.querySelectorAll("#operators tbody tr")]`
	if high := eval[[]string](p, rows+`.filter(e => e.getBoundingClientRect().height > 66).map(e => e.innerText)`); len(high) != 0 {
		t.Errorf("high rows: %q", high)
	}
	if eval[string](p, rows+`[1].querySelector(".mono").title`) != r.Operators[1].Name || eval[string](p, rows+`[1].querySelector("a").title`) != r.Kernels[0].Name {
		t.Error("the whole names are not in the titles")
	}

	for i := range r.Operators {
		r.Operators[i].Limiter = &analysis.OperatorLimiter{Why: says("no counters were taken of any kernel")}
	}
	p = open(t, r)
	if got := p.text("#operators"); strings.Contains(got, "Limiter") || !strings.Contains(got, "Main kernel") || !strings.Contains(got, "no counters were taken of any kernel.") {
		t.Errorf("no limiter is known: %s", got)
	}
}
