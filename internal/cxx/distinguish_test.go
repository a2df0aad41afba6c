package cxx

import (
	"slices"
	"testing"
)

func TestDistinguish(t *testing.T) {
	got := Distinguish([]string{
		"void at::native::elementwise_kernel<(int)128, (int)4, at::native::BinaryFunctor<float, at::native::MulFunctor<float>>>(int, T3)",
		"void at::native::elementwise_kernel<(int)128, (int)2, at::native::BinaryFunctor<c10::BFloat16, at::native::MulFunctor<float>>>(int, T3)",
		"gemm_tile",
		"gemm_tile",
		"void f<double>()",
	})
	if got[0] == got[1] {
		t.Errorf("two kernels share %q", got[0])
	}
	if want := []string{"gemm_tile", "gemm_tile", Short("void f<double>()")}; !slices.Equal(got[2:], want) {
		t.Errorf("got %q, want %q: only what is ambiguous gets more words", got[2:], want)
	}
}
