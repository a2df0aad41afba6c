package analysis

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/cxx"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/workload"
)

// linkedOperators is synthetic: operators.json as a session writes it, made by hand
// around the kernels of the recorded toy program. Its names are spelled as torch
// spells them, its times are chosen so that the answers can be checked in the head.
const linkedOperators = `{"schema":1,"activities":["cpu","cuda"],"operators":[
 {"name":"aten::linear","kind":"operator","calls":4,"cpu_self_us":1,"cpu_total_us":9,"device_self_us":0,"device_total_us":100,
  "kernels":[{"name":"void gemm_tile<32>(int, float const*, float const*, float*)","calls":4,"us":50,"own":false,"by":"aten::mm"},
   {"name":"saxpy(int, float, float const*, float*)","calls":4,"us":30,"own":false,"by":"aten::mm"},{"name":"cudnn_other_kernel","calls":4,"us":20,"own":false,"by":"aten::mm"}]},
 {"name":"aten::mm","kind":"operator","calls":4,"cpu_self_us":5,"cpu_total_us":8,"device_self_us":100,"device_total_us":100,
  "kernels":[{"name":"void gemm_tile<32>(int, float const*, float const*, float*)","calls":4,"us":50,"own":true},
   {"name":"saxpy(int, float, float const*, float*)","calls":4,"us":30,"own":true}],"kernels_more":{"kernels":1,"calls":4,"us":20}},
 {"name":"aten::sum","kind":"operator","calls":1,"cpu_self_us":5,"cpu_total_us":8,"device_self_us":9,"device_total_us":9,
  "kernels":[{"name":"reduce_sum(int, float const*, float*)","calls":1,"us":9,"own":true}]},
 {"name":"aten::copy_","kind":"operator","calls":1,"cpu_self_us":5,"cpu_total_us":8,"device_self_us":7,"device_total_us":7,
  "kernels":[{"name":"Memcpy DtoH (Device -> Pageable)","calls":1,"us":7,"own":true}]},
 {"name":"aten::other","kind":"operator","calls":1,"cpu_self_us":5,"cpu_total_us":8,"device_self_us":6,"device_total_us":6,
  "kernels":[{"name":"void gemm_tile<64>(int, float const*, float const*, float*)","calls":1,"us":6,"own":true}]},
 {"name":"aten::matmul","kind":"operator","calls":1,"cpu_self_us":5,"cpu_total_us":8,"device_self_us":0,"device_total_us":0,"kernels":[]}]}`

func linkedRun(t *testing.T, text string, warnings ...string) *Result {
	t.Helper()
	dir := toyRun(t, "1", "1")
	if err := os.WriteFile(filepath.Join(dir, "workload", "torch_profiler", "operators.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if len(warnings) > 0 {
		manifest := `{"schema":1,"id":"20261116T134255Z-494-b02b994af650","created":"2026-11-16T13:42:55Z","status":"done","stages":[{"name":"torch_profiler","state":"done","attempts":[{"command":["x"],"outcome":{"usable":true,"warnings":["` + strings.Join(warnings, `","`) + `"]}}]}]}`
		if err := os.WriteFile(filepath.Join(dir, "run.json"), []byte(manifest), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in, err := FromRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	return analyzed(t, in)
}

func TestOperatorKernels(t *testing.T) {
	r := linkedRun(t, linkedOperators)
	if hasNote(r.Missing, "operator-kernels") {
		t.Errorf("missing %+v", r.Missing)
	}
	limits := map[string]string{}
	for _, k := range r.Kernels {
		limits[k.Short] = k.Limiter.Kind
	}
	for _, c := range []struct {
		name, label     string
		share, coverage float64
		links           int
		main, by        string
		why             fact.Fact
	}{
		{"aten::linear", limits["gemm_tile<32>"], 0.5, 0.8, 3, "gemm_tile<32>", "aten::mm",
			fact.New(operatorThrough, fact.Kernel("kernel", "gemm_tile<32>"), fact.Name("by", "aten::mm"), fact.Share("share", 0.5), fact.Count("more", 2))},
		{"aten::mm", limits["gemm_tile<32>"], 0.5, 0.8, 2, "gemm_tile<32>", "", fact.Fact{}},
		{"aten::sum", limits["reduce_sum"], 1, 1, 1, "reduce_sum", "", fact.Fact{}},
		{"aten::copy_", "", 0, 0, 1, "Memcpy DtoH", "", fact.Fact{}},
		{"aten::other", "", 0, 0, 1, "gemm_tile<64>", "", fact.Fact{}},
	} {
		o := operatorNamed(t, r, c.name)
		l := o.Limiter
		if l == nil || l.Kind != c.label || !near(l.Share, c.share) || !near(l.Coverage, c.coverage) || l.Why.IsZero() != (l.Kind != "") {
			t.Errorf("%s: limiter %+v, want %q %g of %g", c.name, l, c.label, c.share, c.coverage)
		}
		if len(o.Links) != c.links || o.Links[0].Name != c.main || o.Links[0].By != c.by || !o.Why.Equal(c.why) || len(o.Kernels) != c.links {
			t.Errorf("%s: links %+v, kernels %v, why %v", c.name, o.Links, o.Kernels, o.Why)
		}
	}
	if w := operatorNamed(t, r, "aten::copy_").Limiter.Why; w.Code != codeOpCopies {
		t.Errorf("copies: %+v", w)
	}
	if o := operatorNamed(t, r, "aten::other"); o.Links[0].Kernel != "" || o.Limiter.Why.Code != codeOpNotSeen {
		t.Errorf("a kernel that is not there: %+v %+v", o.Links, o.Limiter)
	}
	if m := operatorNamed(t, r, "aten::mm").LinksMore; m == nil || *m != (OperatorRest{Kernels: 1, Calls: 4, US: 20}) {
		t.Errorf("more: %+v", m)
	}
	if o := operatorNamed(t, r, "aten::matmul"); o.Limiter != nil || o.Links != nil || !o.Why.Is(operatorOtherNames) || len(o.Kernels) == 0 {
		t.Errorf("no device time: %+v", o)
	}
	id := operatorNamed(t, r, "aten::mm").Links[0].Kernel
	if !slices.ContainsFunc(r.Kernels, func(k Kernel) bool { return k.ID == id && k.Short == "gemm_tile<32>" }) {
		t.Errorf("link to %q", id)
	}
}

// Without links the rows stay as they are, and the reason is told.
func TestOperatorsWithoutLinks(t *testing.T) {
	r := linkedRun(t, operatorsText)
	o := operatorNamed(t, r, "aten::linear")
	if o.Limiter != nil || o.Links != nil || !o.Why.Is(operatorCalls) || !hasNote(r.Missing, "operator-kernels") {
		t.Errorf("%+v, missing %+v", o, r.Missing)
	}
}

// What CUPTI calls overhead is no operator. torch hands it the kernels of an operator
// that happens to have its number: on an H200, Activity Buffer Request had 0.928 us.
func TestOverheadIsNoOperator(t *testing.T) {
	r := linkedRun(t, `{"schema":1,"activities":["cpu","cuda"],"operators":[
 {"name":"aten::fill_","kind":"operator","calls":1,"device_self_us":27,"device_total_us":27,"kernels":[{"name":"k","calls":1,"us":27,"own":true}]},
 {"name":"Activity Buffer Request","kind":"operator","calls":1,"device_self_us":0.928,"device_total_us":0.928,"kernels":[]},
 {"name":"UVM Activity Init","kind":"operator","calls":1,"device_self_us":5,"device_total_us":5,"kernels":[]},
 {"name":"k","kind":"kernel","calls":1,"device_self_us":27,"device_total_us":27}]}`)
	if len(r.Operators) != 1 || r.Operators[0].Name != "aten::fill_" || r.Profiled.OperatorUS != 27 || r.Profiled.KernelUS != 27 {
		t.Errorf("operators %+v, profiled %+v", r.Operators, r.Profiled)
	}
}

// A note on kernels without an operator is not said beside the warning that says
// the same with what to do.
func TestKernelsWithoutOperator(t *testing.T) {
	const note = "9 kernels and copies of 90 us in all were launched by no operator"
	for _, c := range []struct {
		kernel       string
		cover, notes bool
	}{{"100", true, false}, {"12", false, true}} {
		r := linkedRun(t, `{"schema":1,"activities":["cpu","cuda"],"notes":["`+note+`"],"unlaunched":{"calls":9,"us":90,"graph_launches":1,"note":"`+note+`"},"operators":[
 {"name":"aten::mm","kind":"operator","calls":1,"device_self_us":10,"device_total_us":10,"kernels":[]},
 {"name":"k","kind":"kernel","calls":10,"device_self_us":`+c.kernel+`,"device_total_us":`+c.kernel+`}]}`, note)
		said := 0
		for _, n := range r.Warnings {
			for _, f := range append([]fact.Fact{n.Fact}, n.Params["what"].Facts...) {
				if f.Text("text") == note {
					said++
				}
			}
		}
		if hasNote(r.Warnings, "operators-cover") != c.cover || (said == 1) != c.notes || said > 1 {
			t.Errorf("kernels of %s us: %+v", c.kernel, r.Warnings)
		}
	}
}

// Names as nsys 2025.3 and torch 2.11 wrote them for the same launches on an H200.
func TestKernelNamesOfTorch(t *testing.T) {
	kernels := []Kernel{
		{Name: "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT"},
		{Name: "void at::native::vectorized_elementwise_kernel<(int)4, at::native::CUDAFunctorOnSelf_add<float>, std::array<char *, (unsigned long)2>>(int, T2, T3)",
			Mangled: "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_21CUDAFunctorOnSelf_addIfEESt5arrayIPcLm2EEEEviT0_T1_"},
		{Name: "void at::native::vectorized_elementwise_kernel<(int)2, at::native::CUDAFunctorOnSelf_add<long>, std::array<char *, (unsigned long)2>>(int, T2, T3)",
			Mangled: "_ZN2at6native29vectorized_elementwise_kernelILi2ENS0_21CUDAFunctorOnSelf_addIlEESt5arrayIPcLm2EEEEviT0_T1_"},
		{Name: "void cudnn::fusion::lean_reduction_kernel<(bool)0, (bool)0, (bool)0>(void *, float *, float *, float *, float *, const float *, float *, float *, float *, float *, float *, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, bool)",
			Mangled: "_ZN5cudnn6fusion21lean_reduction_kernelILb0ELb0ELb0EEEvPvPfS3_S3_S3_PKfS3_S3_S3_S3_S3_jjjjjjjjjjjjjjjjjjjjb"},
		{Name: "void at::native::vectorized_elementwise_kernel<(int)8, at::native::<unnamed>::silu_kernel(at::TensorIteratorBase &)::[lambda() (instance 1)]::operator ()() const::[lambda() (instance 6)]::operator ()() const::[lambda(c10::BFloat16) (instance 1)], std::array<char *, (unsigned long)2>>(int, T2, T3)",
			Mangled: "_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_62_GLOBAL__N__7d4ed096_23_ActivationSiluKernel_cu_751192d7_1559511silu_kernelERNS_18TensorIteratorBaseEENKUlvE_clEvENKUlvE4_clEvEUlN3c108BFloat16EE_St5arrayIPcLm2EEEEviT0_T1_"},
		// No mangled name: the short one decides where it is the only one.
		{Name: "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_tn_align1>(T1::Params)"},
		{Name: "void at::native::vectorized_elementwise_kernel<(int)8, at::native::FillFunctor<c10::BFloat16>, std::array<char *, (unsigned long)1>>(int, T2, T3)"},
	}
	torch := []string{
		"nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT",
		"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctorOnSelf_add<float>, std::array<char*, 2ul> >(int, at::native::CUDAFunctorOnSelf_add<float>, std::array<char*, 2ul>)",
		"void at::native::vectorized_elementwise_kernel<2, at::native::CUDAFunctorOnSelf_add<long>, std::array<char*, 2ul> >(int, at::native::CUDAFunctorOnSelf_add<long>, std::array<char*, 2ul>)",
		"void cudnn::fusion::lean_reduction_kernel<false, false, false>(void*, float*, float*, float*, float*, float const*, float*, float*, float*, float*, float*, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, bool)",
		"void at::native::vectorized_elementwise_kernel<8, at::native::(anonymous namespace)::silu_kernel(at::TensorIteratorBase&)::{lambda()#1}::operator()() const::{lambda()#6}::operator()() const::{lambda(c10::BFloat16)#1}, std::array<char*, 2ul> >(int, at::native::(anonymous namespace)::silu_kernel(at::TensorIteratorBase&)::{lambda()#1}::operator()() const::{lambda()#6}::operator()() const::{lambda(c10::BFloat16)#1}, std::array<char*, 2ul>)",
		"void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_tn_align1>(cutlass_80_simt_sgemm_128x32_8x5_tn_align1::Params)",
		"void at::native::vectorized_elementwise_kernel<8, at::native::FillFunctor<c10::BFloat16>, std::array<char*, 1ul> >(int, at::native::FillFunctor<c10::BFloat16>, std::array<char*, 1ul>)",
	}
	other := "void at::native::vectorized_elementwise_kernel<2, at::native::FillFunctor<long>, std::array<char*, 1ul> >(int, at::native::FillFunctor<long>, std::array<char*, 1ul>)"
	for i := range kernels {
		kernels[i].Short = cxx.Short(kernels[i].Name)
	}
	a := newState(&analyzer{res: &Result{Kernels: kernels}}, nil, counters{})
	linker := func(names ...string) *linker {
		row := workload.Operator{Name: "aten::x"}
		for _, n := range names {
			row.Kernels = append(row.Kernels, workload.OperatorKernel{Name: n, US: 1})
		}
		return a.operators().newLinker([]workload.Operator{row})
	}
	l := linker(torch...)
	for i, name := range torch {
		if got := l.rows(name); len(got) != 1 || got[0] != i {
			t.Errorf("%.90s: rows %v, want %d", name, got, i)
		}
	}
	if got := linker(kernels[2].Mangled).rows(kernels[2].Mangled); len(got) != 1 || got[0] != 2 {
		t.Errorf("a mangled name: %v", got)
	}
	l = linker(torch[6], other)
	for _, name := range []string{torch[6], other} {
		if got := l.rows(name); len(got) != 0 {
			t.Errorf("a short name of two kernels: %v", got)
		}
	}
}

// The time of a name with several grids is divided as it is in the timeline.
func TestLimiterOverGrids(t *testing.T) {
	a := newState(&analyzer{res: &Result{Kernels: []Kernel{
		{ID: "k1", Name: "k", Short: "k", TotalNS: 300, Limiter: Limiter{Kind: limitSmall}},
		{ID: "k2", Name: "k", Short: "k", TotalNS: 600, Limiter: Limiter{Kind: limitDRAM, Units: []string{"dram"}}},
		{ID: "k3", Name: "k", Short: "k", TotalNS: 100},
		{ID: "k4", Name: "k", Short: "k", Untimed: true, Limiter: Limiter{Kind: limitLaunch}},
		{ID: "k5", Name: "late", Short: "late", TotalNS: 50, Limiter: Limiter{Kind: limitLatency}},
	}}}, nil, counters{counted: []*launch{{}}})
	row := workload.Operator{Name: "aten::x", Kernels: []workload.OperatorKernel{{Name: "late", US: 1}, {Name: "k", US: 9}}}
	o := Operator{SelfDeviceUS: 10, TotalDeviceUS: 10}
	a.operators().newLinker([]workload.Operator{row}).link(&o, &row)
	if l := o.Limiter; l.Kind != limitDRAM || !near(l.Share, 0.54) || !near(l.Coverage, 0.91) || o.Links[0].Kernel != "k2" || o.Links[1].Kernel != "k5" {
		t.Errorf("%+v, links %+v", l, o.Links)
	}
}

func near(x, y float64) bool { return math.Abs(x-y) < 1e-9 }

func operatorNamed(t *testing.T, r *Result, name string) *Operator {
	t.Helper()
	for i := range r.Operators {
		if r.Operators[i].Name == name {
			return &r.Operators[i]
		}
	}
	t.Fatalf("no operator %s in %+v", name, r.Operators)
	return nil
}
