package analysis

import "testing"

// Measures and kernels that both runs have are held against each other; others are
// left out. The numbers are synthetic.
func TestHoldAgainst(t *testing.T) {
	value := 0.25
	kernel := func(id, name string, grid int64, median float64) Kernel {
		return Kernel{ID: id, Name: name, Grid: [3]int64{grid, 1, 1}, Calls: 2, TotalNS: int64(2 * median), MedianNS: median}
	}
	base := &Result{Stages: []Stage{{Name: "decode", MBU: []Utilization{{}, {Value: &value}}}}, Kernels: []Kernel{kernel("a", "gemm", 1, 100), kernel("b", "gemm", 2, 400), kernel("c", "gone", 1, 5)}}
	base.Totals.Aggregates = []Aggregate{{Name: "ttft_ms", P50: 10}, {Name: "gone_ms", P50: 1}}
	r := &Result{Kernels: []Kernel{kernel("x", "gemm", 2, 300), kernel("y", "new", 1, 7)}}
	r.Totals.Aggregates = []Aggregate{{Name: "ttft_ms", P50: 12}, {Name: "new_ms", P50: 3}}
	r.HoldAgainst("before", base)
	b := r.Baseline
	if len(b.Measures) != 1 || b.Measures[0].Name != "ttft_ms" || b.Measures[0].Value != 10 || b.Measures[0].Change < 0.199 || b.Measures[0].Change > 0.201 {
		t.Errorf("measures: %+v", b.Measures)
	}
	if len(b.Kernels) != 1 || b.Kernels[0] != (BaselineKernel{Kernel: "x", Calls: 2, TotalNS: 800, MedianNS: 400, Change: -0.25}) {
		t.Errorf("kernels: %+v", b.Kernels)
	}
	if len(b.Uses) != 1 || b.Uses[0] != (BaselineUse{"mbu", "decode", 0.25}) {
		t.Errorf("uses: %+v", b.Uses)
	}
}
