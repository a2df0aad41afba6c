package report

import (
	"io"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
)

func at(x float64) *float64 { return &x }

// sample is a small result with every part filled: two stages, of which decode
// waits for launches.
func sample() *analysis.Result {
	r := underived()
	r.Derive()
	return r
}

func underived() *analysis.Result {
	peak := analysis.Peak{ID: "tensor_bf16", Value: 836.6e12, Unit: "flop/s", ClockHz: 1.59e9, Measured: true, Basis: says("ncu at its clock")}
	dram := analysis.Peak{ID: "dram", Value: 4.8e12, Unit: "byte/s", Measured: true, Basis: says("ncu")}
	table := analysis.Peak{ID: "tensor_fp8", Value: 1979e12, Unit: "flop/s", ClockHz: 1.83e9, Basis: says("NVIDIA H200 data sheet")}
	gemm := analysis.Kernel{
		ID: "k1", Name: "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8>(T1::Params)", Short: "cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8",
		Grid: [3]int64{64, 2, 1}, Block: [3]int64{32, 1, 1}, Category: "gemm", Calls: 160, TotalNS: 6_400_000, MeanNS: 40_000, MedianNS: 39_900, MinNS: 38_000, MaxNS: 45_000, Share: 0.64,
		Stages: []analysis.StageTime{{Stage: "decode", Calls: 160, NS: 6_400_000}}, Registers: 80, DynamicShared: 49152, Waves: 0.48,
		Reason:  said("64.0 % of the GPU time of decode; the launch at the median"),
		Counted: &analysis.Counted{Report: "ncu/run.ncu-rep", Launch: 3, DurationNS: 41_000, ClockHz: 1.59e9, Passes: 38, Verified: true, Rules: []analysis.RuleWords{{Rule: "SOLBottleneck", Title: "Small Grid", Text: "This kernel grid is too small to fill the available resources on this device.", Kind: "optimization", Speedup: at(47.2)}, {Rule: "X", Text: "fine", Kind: "ok"}}},
		Limiter: analysis.Limiter{Kind: "small", Level: at(0.48), Why: facts("128 blocks fill less than one wave of 132 SMs"), Evidence: []analysis.Evidence{{Metric: "launch__waves_per_multiprocessor", Value: 0.48, Threshold: says("less than 1")}}},
		Point:   []analysis.Point{{Kernel: "k1", DType: "tensor_bf16", Memory: "dram", Intensity: 1.98, FLOPS: 3.1e12, Attained: 0.327, NS: 6_400_000}},
	}
	norm := analysis.Kernel{
		ID: "k2", Name: "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, true>(int, float, const T1 *)", Short: "vectorized_layer_norm_kernel",
		Grid: [3]int64{256, 1, 1}, Block: [3]int64{32, 4, 1}, Category: "norm", Calls: 170, TotalNS: 2_600_000, MeanNS: 15_294.1, MedianNS: 15_000, MinNS: 14_000, MaxNS: 21_000, Share: 0.26,
		Reason: said("left out: coverage of 95 % was reached"), Limiter: analysis.Limiter{Why: facts("no launch of it was counted"), Need: says("the section SpeedOfLight of one launch")},
	}
	add := analysis.Kernel{
		ID: "k3", Name: "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>>(int, T2, T3)", Short: "vectorized_elementwise_kernel",
		Grid: [3]int64{1024, 1, 1}, Block: [3]int64{128, 1, 1}, Category: "elementwise", Calls: 10, TotalNS: 1_000_000, MeanNS: 100_000, MedianNS: 100_000, MinNS: 99_000, MaxNS: 101_000, Share: 0.1,
		Counted: &analysis.Counted{Report: "ncu/run.ncu-rep", Launch: 4, Verified: true},
		Limiter: analysis.Limiter{Kind: "dram", Units: []string{"dram"}, Level: at(0.9), Why: facts("4.3 TB/s of 4.8 TB/s"), Evidence: []analysis.Evidence{{Metric: "dram__bytes.sum.per_second", Value: 4.3e12, Unit: "byte/s", Threshold: says("at least 80 % of the peak")}}},
	}
	prefill := analysis.Split{WallNS: 10_000_000, BusyNS: 6_666_667, IdleNS: 3_333_333,
		Busy: []analysis.TimePart{{ID: "gemm", Label: "GEMM", NS: 4_444_445}, {ID: "norm", Label: "normalisation", NS: 2_222_222}},
		Idle: []analysis.TimePart{{ID: "launch", NS: 1_111_111}, {ID: "python", NS: 1_111_111}, {ID: "sync", NS: 1_111_111}}}
	decode := analysis.Split{WallNS: 80_000_000, BusyNS: 8_000_000, IdleNS: 72_000_000, LaunchBound: true, LaunchNS: 70_000_000,
		Busy: []analysis.TimePart{{ID: "gemm", Label: "GEMM", NS: 7_990_000}, {ID: "sampling", Label: "sampling", NS: 10_000}},
		Idle: []analysis.TimePart{{ID: "python", NS: 60_000_000}, {ID: "launch", NS: 10_000_000}, {ID: "sync", NS: 2_000_000}}}
	return &analysis.Result{
		Schema: analysis.Schema, Version: "0.5.0",
		Source: analysis.Source{Run: "20261115T040110Z-4711-9f86d081884c", Created: "2026-11-15T04:01:10Z", Status: "done", Files: []analysis.File{{Path: "nsys/run.sqlite", Kind: "timeline", Bytes: 1_234_567, SHA256: "ab12"}}},
		Environment: analysis.Environment{GPUs: []analysis.GPU{{Name: "NVIDIA H200", Chip: "GH100", Compute: "9.0", SMs: 132, MemoryBytes: 150_754_820_096, Peaks: []analysis.Peak{peak, dram, table}}},
			Driver: "580.159", CUDA: "13.0", Nsys: "2025.3.1", Ncu: "2025.3.1", Software: []analysis.Fact{{Name: "PyTorch", Value: "2.11"}}},
		Workload: analysis.Workload{Kind: "llm", Model: &analysis.Model{Name: "llama_small", Family: "llama", Parameters: 1_236_000_000, WeightsBytes: 2_472_000_000, Layers: 8, DType: "bf16", Attention: "sdpa"},
			Shape: []analysis.Fact{{Name: "batch_size", Value: "2"}, {Name: "prompt_length", Value: "128"}}},
		Totals: analysis.Totals{WallNS: 90_000_000, GPUSpanNS: 89_000_000, BusyNS: 14_666_667, KernelNS: 10_000_000, CopyNS: 120_000, Launches: 340, KernelNames: 3, Copies: 12, CopyBytes: 4_096_000,
			Aggregates: []analysis.Aggregate{{Name: "prefill_ms", Unit: "ms", N: 5, Mean: 8.1234, Std: 0.02, Min: 8.1, P50: 8.12, P90: 8.15, P99: 8.16, Max: 8.16}, {Name: "tokens_per_s", Unit: "tokens/s", N: 5, Mean: 412.3, Std: 3, Min: 409, P50: 412, P90: 416, P99: 416, Max: 416}}},
		Stages: []analysis.Stage{
			{Name: "prefill", Region: "prefill", CleanMS: at(8.1234), CleanStdMS: at(0.02), NsysMS: at(10), Overhead: at(0.231), Passes: 1, Split: prefill,
				MFU: []analysis.Utilization{{Method: "analytic", Value: at(0.41), Achieved: 343e12, Peak: peak, Seconds: 0.0081234}},
				HFU: []analysis.Utilization{{Method: "counters", Value: at(0.405), Achieved: 338e12, Peak: peak, Seconds: 0.0081234, Coverage: at(0.962)}},
				MBU: []analysis.Utilization{{Method: "analytic", Peak: dram, Why: facts("the bytes of this model are not known")}}, FLOPs: at(2.79e12)},
			{Name: "decode", Region: "decode", CleanMS: at(70), CleanStdMS: at(1), NsysMS: at(80), Overhead: at(0.143), Passes: 1, TokensPS: at(412.3), Split: decode, LaunchGain: &analysis.Bound{NS: 70_000_000, OfNS: 80_000_000, Times: "nsys"},
				MFU: []analysis.Utilization{{Method: "analytic", Value: at(0.0012), Achieved: 1e12, Peak: peak, Seconds: 0.07}}},
		},
		Regions: []analysis.Region{
			{Path: "decode", Name: "decode", Parent: -1, Instances: 1, WallNS: 80_000_000, ProjectedNS: 79_000_000, Kernels: 160, KernelNS: 6_400_000, SelfKernels: 0, Split: decode, Top: []analysis.RegionKernel{{Kernel: 0, Calls: 160, NS: 6_400_000}},
				Counters: &analysis.RegionCounters{Method: "kernel", Coverage: 0.982, Metrics: []analysis.RegionMetric{{Name: "dram__bytes.sum", Unit: "byte", Value: 1.9e10, How: "sum"}}}},
			{Path: "decode/step", Name: "step", Parent: 0, Depth: 1, Instances: 8, WallNS: 79_000_000, ProjectedNS: 78_000_000, Kernels: 160, KernelNS: 6_400_000, SelfKernels: 160, SelfNS: 6_400_000, Split: decode, Why: said("no launch of it was counted")},
			{Path: "prefill", Name: "prefill", Parent: -1, Instances: 1, WallNS: 10_000_000, ProjectedNS: 9_000_000, Kernels: 20, KernelNS: 2_600_000, SelfKernels: 20, SelfNS: 2_600_000, Split: prefill, Top: []analysis.RegionKernel{{Kernel: 2, Calls: 10, NS: 1_000_000}, {Kernel: 1, Calls: 10, NS: 1_600_000}}},
		},
		Kernels: []analysis.Kernel{gemm, norm, add},
		Categories: []analysis.CategoryTime{{ID: "gemm", Label: "GEMM", NS: 6_400_000, Calls: 160, Share: 0.64}, {ID: "norm", Label: "normalisation", NS: 2_600_000, Calls: 170, Share: 0.26},
			{ID: "elementwise", Label: "elementwise", NS: 1_000_000, Calls: 10, Share: 0.1}},
		Operators: []analysis.Operator{{Name: "aten::linear", Calls: 160, SelfCPUUS: 900, TotalCPUUS: 4000, TotalDeviceUS: 6400, Kernels: []string{"k1"}}, {Name: "aten::mm", Calls: 160, SelfCPUUS: 2900, TotalCPUUS: 3000, SelfDeviceUS: 6400, TotalDeviceUS: 6400, Kernels: []string{"k1"}},
			{Name: "aten::view", Calls: 999, SelfCPUUS: 100, TotalCPUUS: 100, Why: says("it changes the shape alone and launches no kernel")}},
		Roofline: analysis.Roofline{Roofs: []analysis.Peak{peak, dram, table}, Points: gemm.Point},
		Opportunities: []analysis.Opportunity{{ID: "gaps-decode", Kind: "gaps", Title: says("Capture decode in a CUDA graph"), Stage: "decode", Seconds: 0.07, Speedup: 4.5, StageGain: at(0.875), Evidence: []analysis.Evidence{{Of: says("idle time before launches"), Value: 0.07, Unit: "s"}},
			Assumes: facts("the GPU never waits for a launch"), How: facts("capture one step with torch.cuda.graph")}},
		Findings: []analysis.Finding{{ID: "launch-bound", Weight: "high", Fact: says("decode is launch-bound: the GPU idles 90.0 % of its time")},
			{ID: "gemm", Weight: "medium", Fact: says("cutlass_80_wmma takes 64.0 % of kernel time")}},
		Method: analysis.Method{Commands: []analysis.StageCommand{{Stage: "nsys", Command: "nsys profile -t cuda,nvtx python main.py", Seconds: 12.34, Outcome: "ok"}},
			Deviations: []analysis.Deviation{{Key: "dataset.sampling.epochs", Configured: "3", Used: "1", Why: facts("one pass is enough under a profiler")}},
			Ladder: []analysis.Note{
				{Fact: fact.New(analysis.ReplayMode, fact.Name("mode", "range"), fact.Vendor("reason", "PyTorch calls cudaStreamSynchronize inside the range"))},
				{Fact: fact.New(analysis.ReplayMode, fact.Name("mode", "kernel"), fact.Vendor("reason", "used"))},
			},
			Picked: &analysis.Picked{Groups: 40, Chosen: 12, Counted: 12, Coverage: 0.962, CoverageAll: 0.91, LeftOut: []analysis.Note{{Fact: fact.New(analysis.LeftOut, fact.Because("reason", fact.New("waits-for-peer")), fact.Count("launches", 3), fact.Share("share", 0.021), fact.Because("kernels", fact.New(analysis.KernelShare, fact.Kernel("kernel", "ncclDevKernel_AllReduce"), fact.Share("share", 0.012))))}}, CutOff: []analysis.Note{{Fact: fact.New(analysis.LeftOut, fact.Because("reason", fact.New("limit-top-n", fact.Count("n", 12))), fact.Count("launches", 40), fact.Share("share", 0.021), fact.Because("kernels", fact.New(analysis.KernelShare, fact.Kernel("kernel", "small"), fact.Share("share", 0.012))))}}, PredictedSec: 30, ActualSec: 28},
			Clock:  says("the base clock that ncu locks")},
		Warnings: []analysis.Note{{Fact: fact.New(analysis.ClockDamaged)}},
	}
}

// timelineOnly has no counters, no clean run and no operators.
func timelineOnly() *analysis.Result {
	r := sample()
	r.Totals.Aggregates, r.Operators, r.Opportunities = nil, nil, nil
	r.Environment.Ncu, r.Workload = "", analysis.Workload{}
	for i := range r.Stages {
		s := &r.Stages[i]
		s.CleanMS, s.CleanStdMS, s.Overhead, s.TokensPS, s.MFU, s.MBU, s.FLOPs = nil, nil, nil, nil, nil, nil, nil
	}
	for i := range r.Kernels {
		k := &r.Kernels[i]
		k.Counted, k.Point, k.Reason = nil, nil, said("")
		k.Limiter = analysis.Limiter{Why: facts("no counters were taken"), Need: says("a report of ncu with the section SpeedOfLight")}
	}
	for i := range r.Regions {
		r.Regions[i].Counters, r.Regions[i].Why = nil, said("no counters were taken")
	}
	r.Roofline = analysis.Roofline{Why: says("a roofline needs counters")}
	r.Method = analysis.Method{}
	r.Missing = []analysis.Note{{Fact: fact.New(analysis.NoCounters)}, {Fact: fact.New(analysis.NoBaseline)}}
	return r
}

// countersOnly has the launches that ncu counted and nothing around them.
func countersOnly() *analysis.Result {
	r := sample()
	r.Stages, r.Regions, r.Operators, r.Findings, r.Opportunities = nil, nil, nil, nil, nil
	r.Totals = analysis.Totals{KernelNS: r.Totals.KernelNS, Launches: 3, KernelNames: 3}
	r.Environment.Nsys, r.Method.Picked, r.Method.Commands = "", nil, nil
	r.Missing = []analysis.Note{{Fact: fact.New(analysis.NoTimeline, fact.IDs("unknown", "quantity", []string{"times"}))}}
	return r
}

// said is a reason in the words of an earlier version.
func said(text string) *fact.Fact {
	f := fact.New(fact.Text, fact.Vendor("text", text))
	return &f
}

// regionPage writes the report of one region.
func regionPage(w io.Writer, r *analysis.Result, index int) error {
	r.Derive()
	return writeRegion(w, r, newNames(r), index)
}
