package cxx

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const (
	cutlassGemm = "void cutlass::Kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int, int>, cutlass::gemm::collective::CollectiveMma<" +
		"cutlass::gemm::MainloopSm90TmaGmmaWarpSpecialized<4, cute::tuple<cute::C<2>, cute::C<1>, cute::C<1> > >, " +
		"cute::tuple<cute::C<%d>, cute::C<%d>, cute::C<64> >, cutlass::%s> > >(T1::Params)"
	flashForward = "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<(int)%d, (int)128, (int)32, (int)4, (bool)0, cutlass::bfloat16_t, " +
		"Flash_kernel_traits<(int)%[1]d, (int)128>>, (bool)%d, (bool)1>(Flash_fwd_params)"
	impl = "void at::native::elementwise_kernel<(int)128, (int)%d, void at::native::%s<at::native::BinaryFunctor<%s, at::native::binary_internal::MulFunctor<float>>>" +
		"(at::TensorIteratorBase &, const T1 &)::[lambda(int) (instance 1)]>(int, T3)"
	elementwise = "void at::native::elementwise_kernel<(int)128, (int)%d, at::native::BinaryFunctor<%s, at::native::MulFunctor<float>>>(int, T3)"
)

func TestDistinguish(t *testing.T) {
	for _, tt := range []struct {
		name        string
		names, want []string
	}{
		{"tile and type",
			[]string{fmt.Sprintf(cutlassGemm, 128, 256, "bfloat16_t"), fmt.Sprintf(cutlassGemm, 64, 64, "half_t")},
			[]string{"cutlass::Kernel<CollectiveMma> [128 256 bfloat16_t]", "cutlass::Kernel<CollectiveMma> [64 64 half_t]"}},
		{"head dimension, not flags",
			[]string{fmt.Sprintf(flashForward, 128, 0), fmt.Sprintf(flashForward, 64, 1)},
			[]string{"flash_fwd_kernel<Flash_fwd_kernel_traits> [128]", "flash_fwd_kernel<Flash_fwd_kernel_traits> [64]"}},
		{"flags where nothing else differs",
			[]string{fmt.Sprintf(flashForward, 64, 0), fmt.Sprintf(flashForward, 64, 1), fmt.Sprintf(flashForward, 128, 1)},
			[]string{"flash_fwd_kernel<Flash_fwd_kernel_traits> [64 0]", "flash_fwd_kernel<Flash_fwd_kernel_traits> [64 1]",
				"flash_fwd_kernel<Flash_fwd_kernel_traits> [128 1]"}},
		{"no namespaces",
			[]string{fmt.Sprintf(elementwise, 4, "float"), fmt.Sprintf(elementwise, 2, "c10::BFloat16")},
			[]string{"elementwise_kernel<MulFunctor> [4 float]", "elementwise_kernel<MulFunctor> [2 BFloat16]"}},
		{"no helper of a library that tells nothing more",
			[]string{fmt.Sprintf(impl, 4, "gpu_kernel_impl_nocast", "c10::BFloat16"), fmt.Sprintf(impl, 2, "gpu_kernel_impl_nocast", "float"), fmt.Sprintf(impl, 4, "gpu_kernel_impl", "float")},
			[]string{"elementwise_kernel<MulFunctor> [4 BFloat16]", "elementwise_kernel<MulFunctor> [2 float]", "elementwise_kernel<MulFunctor> [4 float]"}},
		{"a helper that does",
			[]string{fmt.Sprintf(impl, 4, "gpu_kernel_impl_nocast", "float"), fmt.Sprintf(impl, 4, "gpu_kernel_impl", "float")},
			[]string{"elementwise_kernel<MulFunctor> [gpu_kernel_impl_nocast]", "elementwise_kernel<MulFunctor> [gpu_kernel_impl]"}},
		{"different builds",
			[]string{"void a::f<g<float, 2>, b::X>(int)", "void a::f<g<double>, b::X, b::Y>(int)"},
			[]string{"f<g> [float 2]", "f<g> [double Y]"}},
		{"parameters", []string{"f(int)", "f(float)"}, []string{"f [int]", "f [float]"}},
		{"no words", []string{"f(int*)", "f(int&)", "f(int)"}, []string{"f", "f [#2]", "f [#3]"}},
		{"only what is ambiguous",
			[]string{"gemm_tile", "gemm_tile", "void f<double>()"},
			[]string{"gemm_tile", "gemm_tile", Short("void f<double>()")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Distinguish(tt.names); !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// TestDistinguishMany: different names never share a row, however alike.
func TestDistinguishMany(t *testing.T) {
	var names []string
	for i := range 300 {
		names = append(names, fmt.Sprintf(cutlassGemm, 1<<(i%7), i/7, []string{"half_t", "float", "double"}[i%3]))
	}
	names = append(names, strings.Repeat("k<", 40000), strings.Repeat("k<", 40001))
	seen := map[string]bool{}
	for _, s := range Distinguish(names) {
		if seen[s] {
			t.Fatalf("two kernels share %q", s)
		}
		seen[s] = true
	}
}
