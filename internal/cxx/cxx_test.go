package cxx

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// Names from captures of PyTorch 2.11 and plain CUDA on an H200, as Nsight
// Systems and Nsight Compute write them, and as the Itanium demangler does.
var shortNames = []struct{ name, full, short string }{
	{"plain", "scale(int, float, float *)", "scale"},
	{"mangled", "_Z5saxpyifPKfPf", "saxpy"},
	{"mangled template", "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_",
		"vectorized_elementwise_kernel<FillFunctor>"},
	{"literal argument", "void gemm_tile<(int)32>(int, const float *, const float *, float *)", "gemm_tile<32>"},
	{"plain arguments", "void work<float, (int)8>(int, const T1 *, T1 *, int)", "work<float, 8>"},
	{"functor", "void at::native::vectorized_elementwise_kernel<(int)4, at::native::CUDAFunctor_add<float>, std::array<char *, (unsigned long)3>>(int, T2, T3)",
		"vectorized_elementwise_kernel<CUDAFunctor_add>"},
	{"functor, other demangler", "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
		"vectorized_elementwise_kernel<CUDAFunctor_add>"},
	{"wrapped functor", "void at::native::vectorized_elementwise_kernel<(int)4, at::native::AUnaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float>>, std::array<char *, (unsigned long)2>>(int, T2, T3)",
		"vectorized_elementwise_kernel<MulFunctor>"},
	{"lambda in a helper", "void at::native::elementwise_kernel<(int)128, (int)2, void at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float>>>(at::TensorIteratorBase &, const T1 &)::[lambda(int) (instance 1)]>(int, T3)",
		"elementwise_kernel<MulFunctor>"},
	{"lambda", "void at::native::vectorized_elementwise_kernel<(int)8, at::native::<unnamed>::silu_kernel(at::TensorIteratorBase &)::[lambda() (instance 1)]::operator ()() const::[lambda() (instance 6)]::operator ()() const::[lambda(c10::BFloat16) (instance 1)], std::array<char *, (unsigned long)2>>(int, T2, T3)",
		"vectorized_elementwise_kernel<silu_kernel>"},
	{"reduction", "void at::native::reduce_kernel<(int)512, (int)1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float, float>, unsigned int, float, (int)4, (int)4>>(T3)",
		"reduce_kernel<MeanOps>"},
	{"unnamed namespace", "void at::native::<unnamed>::CatArrayBatchedCopy<at::native::<unnamed>::OpaqueType<(unsigned int)4>, unsigned int, (int)3, (int)64, (int)64>(T1 *)",
		"CatArrayBatchedCopy<OpaqueType>"},
	{"anonymous namespace", "void (anonymous namespace)::k(int)", "k"},
	{"number format only", "void at::native::<unnamed>::indexSelectSmallIndex<c10::BFloat16, long, unsigned int, (int)2, (int)2, (int)-2>(int)",
		"indexSelectSmallIndex<BFloat16>"},
	{"vague base", "std::enable_if<!(true), void>::type internal::gemvx::kernel<int, int, float, (bool)0, cublasGemvParamsEx<int>>(T8)",
		"gemvx::kernel<cublasGemvParamsEx>"},
	{"cutlass", "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>(T1::Params)", "cutlass_80_simt_sgemm_128x32_8x5_nn_align1"},
	{"nvjet", "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_splitK_TNT", "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_splitK_TNT"},
	{"operator", "a::operator<<(int)", "operator<<"},
	{"call operator", "a::b::operator()(int) const", "b::operator()"},
	{"lambda in a call operator", "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::func_wrapper_t<float, at::native::sum_functor<float, float, float>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, float, 4> >(at::native::ReduceOp<float, at::native::func_wrapper_t<float, at::native::sum_functor<float, float, float>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, float, 4>)",
		"reduce_kernel<sum_functor>"},
	{"many plain arguments", "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true, false>(float*, float const*, int)",
		"softmax_warp_forward<float, 10, true, false>"},
	{"too many plain arguments", "void k<1000000, 2000000, 3000000, 4000000, 5000000>()", "k<1000000, 2000000, 3000000, …>"},
	{"deduced return type", "decltype(auto) ns::f<int>(int)", "f<int>"},
	{"computed return type", "decltype ((g)(h())) ns::f<int>(int)", "f<int>"},
	{"returns a function", "int (*g<int>(int))(float)", "g<int>"},
	{"lambda itself", "main::{lambda(int)#1}::operator()(int) const", "main::{lambda#1}"},
	{"lambda itself, CUDA compiler", "main::[lambda(int) (instance 2)]::operator ()(int) const", "main::{lambda#2}"},
	{"namespace", "at::native::", "at::native::"},
	{"not C++", "range", "range"},
	{"unbalanced", "a<b", "a<b"},
	{"empty", "", ""},
	{"control characters", "a\nb\x00c", "a b c"},
}

func TestShort(t *testing.T) {
	for _, tt := range shortNames {
		t.Run(tt.name, func(t *testing.T) {
			if got := Short(tt.full); got != tt.short {
				t.Errorf("got %q, want %q", got, tt.short)
			}
		})
	}
}

func TestDemangle(t *testing.T) {
	for in, want := range map[string]string{
		"_Z5saxpyifPKfPf": "saxpy(int, float, float const*, float*)",
		"saxpy(int)":      "saxpy(int)",
		"_Zbroken":        "_Zbroken",
		"":                "",
	} {
		if got := Demangle(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestShortIsBounded(t *testing.T) {
	for _, s := range []string{strings.Repeat("a<", 30000), strings.Repeat("a::", 20000), strings.Repeat("x", 1<<20),
		"k<" + strings.Repeat("f<", 1000) + "int" + strings.Repeat(">", 1001), strings.Repeat("(", 50000), strings.Repeat("é", 500)} {
		if got := Short(s); utf8.RuneCountInString(got) > maxShort {
			t.Errorf("%d runes from %.20q", utf8.RuneCountInString(got), s)
		}
	}
}

func FuzzShort(f *testing.F) {
	for _, tt := range shortNames {
		f.Add(tt.full)
	}
	f.Fuzz(func(t *testing.T, name string) {
		s := Short(name)
		if !utf8.ValidString(s) || utf8.RuneCountInString(s) > maxShort || strings.ContainsAny(s, "\n\x00") {
			t.Errorf("%q gives %q", name, s)
		}
	})
}
