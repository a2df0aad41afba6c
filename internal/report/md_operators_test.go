package report

import (
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
)

// linkedSample has synthetic links from operators to kernels.
func linkedSample() *analysis.Result {
	r := sample()
	gemm := analysis.OperatorKernel{Kernel: "k1", Name: "cutlass_80_wmma", Calls: 160, US: 6000, By: "aten::mm"}
	own := gemm
	own.Own, own.By = true, ""
	r.Operators = []analysis.Operator{
		{Name: "aten::linear", Calls: 160, TotalDeviceUS: 6400, Links: []analysis.OperatorKernel{gemm}, Why: says("it launches nothing itself: it runs cutlass_80_wmma through aten::mm"),
			Limiter: &analysis.OperatorLimiter{Kind: "compute", Units: []string{"tensor_bf16"}, Share: 0.9375, Coverage: 0.96}},
		{Name: "aten::mm", Calls: 160, SelfDeviceUS: 6400, TotalDeviceUS: 6400, Links: []analysis.OperatorKernel{own, {Name: "other|kernel", Calls: 1, US: 400, Own: true}},
			Limiter: &analysis.OperatorLimiter{Kind: "compute", Units: []string{"tensor_bf16"}, Share: 0.9375, Coverage: 1}},
		{Name: "aten::sum", Calls: 1, SelfDeviceUS: 90, TotalDeviceUS: 90, Links: []analysis.OperatorKernel{{Name: "reduce|kernel", Calls: 1, US: 90, Own: true}},
			Limiter: &analysis.OperatorLimiter{Kind: "small", Share: 1, Coverage: 1}},
		{Name: "aten::copy_", Calls: 1, SelfDeviceUS: 7, TotalDeviceUS: 7, Links: []analysis.OperatorKernel{{Name: "Memcpy DtoH", Calls: 1, US: 7, Own: true}},
			Limiter: &analysis.OperatorLimiter{Why: says("its device time is copies or fills, which have no limiter")}},
		{Name: "aten::lost", Calls: 1, SelfDeviceUS: 5, TotalDeviceUS: 5},
		{Name: "aten::view", Calls: 9, Why: says("it only describes memory anew; no kernel runs")},
	}
	return r
}

func TestLinkedOperators(t *testing.T) {
	r := linkedSample()
	main := newNames(r).of(0)
	text := page(t, WriteOperators, r)
	rows := map[string]string{}
	for line := range strings.Lines(text) {
		if _, rest, ok := strings.Cut(line, "`aten::"); ok {
			name, _, _ := strings.Cut(rest, "`")
			rows[name] = line
		}
	}
	for name, want := range map[string][]string{
		"linear": {"| tensor pipe (bf16) (94 %; 96 % counted) ", "| `" + main + "` | `aten::mm` |"},
		"mm":     {"| tensor pipe (bf16) (94 %) ", "| `" + main + "` "},
		"sum":    {"| too little work ", "<code>reduce&#124;kernel</code>"},
		"copy_":  {"| n/a[^", "| `Memcpy DtoH` "},
		"lost":   {"| n/a[^"},
		"view":   {"it only describes memory anew"},
	} {
		for _, w := range want {
			if !strings.Contains(rows[name], w) {
				t.Errorf("%s lacks %q: %s", name, w, rows[name])
			}
		}
	}
	for _, w := range []string{"Main kernel", "| Limiter[^", "No verdict on the limiter: its device time is copies", "The torch profiler linked no kernel to it.", "What holds back more of the time of an operator's kernels"} {
		if !strings.Contains(text, w) {
			t.Errorf("the page lacks %q:\n%s", w, text)
		}
	}
	if strings.Count(rows["mm"], "`aten::") > 1 {
		t.Errorf("own kernels: %s", rows["mm"])
	}
}

// Where no kernel was counted the column gives way to the reason, and the kernels
// stay.
func TestLinkedOperatorsWithoutCounters(t *testing.T) {
	r := linkedSample()
	for i := range r.Operators {
		if r.Operators[i].Limiter != nil {
			r.Operators[i].Limiter = &analysis.OperatorLimiter{Why: says("no counters were taken of any kernel")}
		}
	}
	text := page(t, WriteOperators, r)
	if strings.Contains(text, "| Limiter") || !strings.Contains(text, "Limiter: n/a[^") || !strings.Contains(text, "of aten::linear: no counters were taken of any kernel.") || !strings.Contains(text, "Main kernel") {
		t.Error(text)
	}
	for i := range r.Operators {
		o := &r.Operators[i]
		o.Limiter, o.Links = nil, nil
	}
	r.Missing = append(r.Missing, analysis.Note{Fact: fact.New(analysis.OperatorKernels)})
	text = page(t, WriteOperators, r)
	if strings.Contains(text, "Main kernel") || !strings.Contains(text, "Limiter: n/a[^") || !strings.Contains(strings.ToLower(text), "which kernels an operator launched") {
		t.Error(text)
	}
}

func TestShowLinkedOperators(t *testing.T) {
	r := linkedSample()
	var text, csv strings.Builder
	if err := Operators(r).WriteText(&text, 200); err != nil {
		t.Fatal(err)
	}
	for _, w := range []string{"main kernel", "tensor pipe (bf16)", "aten::linear  cutlass_80_w", "Memcpy DtoH"} {
		if !strings.Contains(text.String(), w) {
			t.Errorf("the table lacks %q:\n%s", w, text.String())
		}
	}
	if err := Operators(r).WriteCSV(&csv); err != nil {
		t.Fatal(err)
	}
	for _, w := range []string{"limiter_share", "limiter_coverage", "main_kernel", "through", "0.9375,0.96,aten::linear,"} {
		if !strings.Contains(csv.String(), w) {
			t.Errorf("the CSV lacks %q:\n%s", w, csv.String())
		}
	}
}
