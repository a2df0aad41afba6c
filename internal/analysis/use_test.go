package analysis

import (
	"math"
	"testing"
)

// A layer of three kernels, one of which was not counted: amounts are those of the
// counted launches times how often they came, and rates are over their time alone.
func TestUseOfLaunches(t *testing.T) {
	bytes := func(n float64) *float64 { return &n }
	block := [3]int64{128, 1, 1}
	r := &Result{Kernels: []Kernel{
		{Name: "gemm", Grid: [3]int64{8, 1, 1}, Block: block, Calls: 9, Limiter: Limiter{Kind: limitDRAM}, Counted: &Counted{Work: &Work{FLOPs: map[string]float64{"tensor_bf16": 2e9, "fp32": 10}, Bytes: bytes(1e6)}}},
		{Name: "gemm", Grid: [3]int64{2, 1, 1}, Block: block, Calls: 9, Limiter: Limiter{Kind: limitL2}, Counted: &Counted{Work: &Work{Bytes: bytes(5e6)}}},
		{Name: "other", Grid: [3]int64{1, 1, 1}, Block: block, Calls: 9},
	}}
	r.Environment.GPUs = []GPU{{Name: "a GPU without a data sheet", Peaks: []Peak{{ID: "tensor_bf16", Value: 1e15}, {ID: levelDRAM, Value: 4e12}}}}
	use := r.Uses()
	u := use([]LaunchSum{
		{Name: "gemm", Grid: [3]int64{8, 1, 1}, Block: block, Calls: 10, NS: 60_000},
		{Name: "gemm", Grid: [3]int64{2, 1, 1}, Block: block, Calls: 2, NS: 20_000},
		{Name: "other", Grid: [3]int64{1, 1, 1}, Block: block, Calls: 1, NS: 20_000},
	})
	near := func(what string, got *float64, want float64) {
		t.Helper()
		if got == nil || math.Abs(*got-want) > 1e-9*want {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	near("FLOPs", u.FLOPs, 2e10)
	near("bytes", u.Bytes, 2e7)
	near("HFU", u.HFU, 2e10/60e-6/1e15)
	near("MBU", u.MBU, 2e7/80e-6/4e12)
	near("coverage", u.Coverage, 0.8)
	if u.Limiter != limitDRAM {
		t.Errorf("limiter %s", u.Limiter)
	}
	few := use([]LaunchSum{
		{Name: "gemm", Grid: [3]int64{8, 1, 1}, Block: block, Calls: 1, NS: 10},
		{Name: "other", Grid: [3]int64{1, 1, 1}, Block: block, Calls: 1, NS: 90},
	})
	if few.Bytes != nil || few.HFU != nil || few.MBU != nil || few.Limiter != limitDRAM || *few.Coverage != 0.1 {
		t.Errorf("of a tenth that was counted: %+v", few)
	}
	if none := use([]LaunchSum{{Name: "gemm", Grid: [3]int64{3, 1, 1}, Block: block, Calls: 1, NS: 10}}); none != (Use{}) {
		t.Errorf("of another grid: %+v", none)
	}
	if much := use([]LaunchSum{{Name: "gemm", Grid: [3]int64{8, 1, 1}, Block: block, Calls: 10, NS: 10}}); much.HFU != nil || much.MBU != nil {
		t.Errorf("more than the GPU can do: %+v", much)
	}
}
