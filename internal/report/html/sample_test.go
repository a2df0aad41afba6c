package html

import (
	"fmt"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
)

// hostile is a kernel name that would run if it ever became markup.
const hostile = `evil<img src=x onerror="document.title='broken'"></script><script>document.title='broken'</script><!-- & "quoted"` + "\u2028" + `::kernel<int>`

func ptr[T any](v T) *T { return &v }

func peaks() []analysis.Peak {
	const clock = 1.755e9
	return []analysis.Peak{
		{ID: "dram", Value: 4.81e12, Unit: "byte/s", Measured: true, Basis: says("dram__bytes.sum.peak_sustained of this chip")},
		{ID: "l2", Value: 1.15e13, Unit: "byte/s", ClockHz: clock, Measured: true, Basis: says("lts__t_bytes.sum.peak_sustained")},
		{ID: "l1", Value: 2.97e13, Unit: "byte/s", ClockHz: clock, Measured: true, Basis: says("l1tex__t_bytes.sum.peak_sustained")},
		{ID: "tensor_bf16", Value: 9.89e14, Unit: "flop/s", ClockHz: clock, Measured: true, Basis: says("sm__ops_path_tensor peak")},
		{ID: "fp32", Value: 5.93e13, Unit: "flop/s", ClockHz: clock, Measured: false, Basis: says("table of GH100")},
	}
}

// sample is a result in which every part of the page has something to show.
func sample() *analysis.Result {
	r := underived()
	r.Derive()
	return r
}

func underived() *analysis.Result {
	r := &analysis.Result{
		Schema:  analysis.Schema,
		Version: "0.0.0-test",
		Source: analysis.Source{
			Run: "llama-sample", Created: "2026-11-15T06:00:00Z", Status: "done", Recorded: true,
			Files: []analysis.File{{Path: "nsys/timeline.sqlite", Kind: "timeline", Bytes: 8_300_000, SHA256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}},
		},
		Environment: analysis.Environment{
			GPUs:   []analysis.GPU{{Name: "NVIDIA H200", Chip: "GH100", Compute: "9.0", SMs: 132, MemoryBytes: 150_109_880_320, Peaks: peaks()}},
			Driver: "580.159.04", CUDA: "13.0", Nsys: "2025.3.2", Ncu: "2025.3.1", CPU: "Xeon",
			Software: []analysis.Fact{{Name: "torch", Value: "2.9.0"}},
		},
		Workload: analysis.Workload{
			Kind: "llm", Command: []string{"python3", "main.py", "--spec", "spec.json"},
			Model: &analysis.Model{Name: "random-llama-1b", Family: "llama", Parameters: 1_235_814_400, WeightsBytes: 2_471_628_800, Layers: 16, DType: "bf16", Attention: "sdpa", KVCache: "dynamic"},
			Shape: []analysis.Fact{{Name: "batch", Value: "1"}, {Name: "prompt", Value: "512"}, {Name: "new_tokens", Value: "64"}},
		},
		Kernels: sampleKernels(),
		Roofline: analysis.Roofline{
			Roofs: peaks(),
		},
		Operators: []analysis.Operator{
			{Name: "aten::mm", Shapes: "[[512, 2048], [2048, 8192]]", Calls: 112, SelfCPUUS: 1500, TotalCPUUS: 1800, SelfDeviceUS: 9400, TotalDeviceUS: 9400,
				Links:   []analysis.OperatorKernel{{Kernel: "k-gemm", Name: "nvjet_tst", Calls: 112, US: 9000, Own: true}, {Name: "splitKreduce_kernel", Calls: 10, US: 400, Own: true}},
				Limiter: &analysis.OperatorLimiter{Kind: "compute", Units: []string{"tensor_bf16"}, Share: 0.957, Coverage: 0.957}},
			{Name: "aten::linear", Calls: 112, SelfCPUUS: 400, TotalCPUUS: 2600, TotalDeviceUS: 9400, Why: says("it launches nothing itself: it runs nvjet_tst through aten::mm"),
				Links:   []analysis.OperatorKernel{{Kernel: "k-gemm", Name: "nvjet_tst", Calls: 112, US: 9000, By: "aten::mm"}},
				Limiter: &analysis.OperatorLimiter{Kind: "compute", Units: []string{"tensor_bf16"}, Share: 1, Coverage: 1}},
		},
		Opportunities: []analysis.Opportunity{{
			ID: "gaps-decode", Kind: "gaps", Title: says("Remove the gaps between launches in decode"), Stage: "decode", Seconds: 0.31, Speedup: 2.4, StageGain: ptr(0.78),
			Kernels:  []string{"k-gemm"},
			Evidence: []analysis.Evidence{{Of: says("idle in launch calls and Python"), Value: 78, Unit: "%", Threshold: says("more than busy")}},
			Assumes:  facts("every gap can be removed and no kernel gets slower"),
			How:      facts("Capture the decode step in a CUDA graph, or compile it with mode reduce-overhead."),
		}, {
			ID: "roof-copy", Kind: "roofline", Title: says("Bring the copy kernels to the DRAM roof"), Seconds: 0.012, Speedup: 1.03,
			Evidence: []analysis.Evidence{{Metric: "dram__throughput.avg.pct_of_peak_sustained_elapsed", Value: 71, Unit: "%"}}, Assumes: facts("traffic stays the same"), How: facts("Fuse the cast into the producer."),
		}},
		Findings: []analysis.Finding{
			{ID: "launch-bound", Weight: "high", Fact: says("decode is launch-bound: the GPU is idle 78 % of the time because launches come too slowly; CUDA graphs would save at most 310 ms.")},
			{ID: "gemm", Weight: "medium", Fact: says("prefill spends 61 % of its GPU time in matrix multiplication at 78 % of the bf16 tensor roof.")},
			{ID: "hostile", Weight: "low", Fact: says("A kernel is named " + hostile)},
		},
		Method: analysis.Method{
			Commands:    []analysis.StageCommand{{Stage: "nsys", Command: "nsys profile --trace=cuda,nvtx -o timeline python3 main.py", Seconds: 41.2, Outcome: "done"}},
			UnprofiledS: 12.5,
			Deviations:  []analysis.Deviation{{Key: "infer.epochs", Configured: "3", Used: "1", Why: facts("one epoch is enough for a timeline")}},
			Ladder:      []analysis.Note{{Fact: fact.New(analysis.ReplayMode, fact.Name("mode", "kernel"), fact.Vendor("reason", "kernel replay worked"))}},
			Picked:      &analysis.Picked{Groups: 77, Chosen: 26, Counted: 26, Coverage: 0.93, CoverageAll: 0.88, PredictedSec: 120, ActualSec: 98, LeftOut: []analysis.Note{{Fact: fact.New(analysis.LeftOut, fact.Because("reason", fact.New("waits-for-peer")), fact.Count("launches", 3), fact.Share("share", 0.021), fact.Because("kernels", fact.New(analysis.KernelShare, fact.Kernel("kernel", "ncclKernel_AllReduce"), fact.Share("share", 0.012))))}}},
			Clock:       says("locked to base"), Thresholds: facts("a limit is reached at 60 % of its peak"),
		},
		Warnings: []analysis.Note{{Fact: fact.New(analysis.LanesCut, fact.Count("n", 2), fact.Count("of", 9))}},
		Missing:  []analysis.Note{{Fact: fact.New(analysis.NoBaseline)}},
	}
	for _, k := range r.Kernels {
		r.Roofline.Points = append(r.Roofline.Points, k.Point...)
	}
	r.Categories = []analysis.CategoryTime{
		{ID: "gemm", Label: "gemm", NS: 9_400_000, Calls: 112, Share: 0.6},
		{ID: "attention", Label: "Attention", NS: 3_000_000, Calls: 16, Share: 0.2},
		{ID: "elementwise", Label: "Elementwise", NS: 2_000_000, Calls: 640, Share: 0.12},
		{ID: "other", Label: "Other", NS: 1_000_000, Calls: 3, Share: 0.08, Unnamed: []string{hostile}},
	}
	r.Totals = analysis.Totals{
		WallNS: 520_000_000, GPUSpanNS: 500_000_000, BusyNS: 130_000_000, KernelNS: 128_000_000, CopyNS: 2_000_000, Launches: 2454, KernelNames: len(r.Kernels), Copies: 42, CopyBytes: 616_599_824,
		Aggregates: []analysis.Aggregate{{Name: "ttft_ms", Unit: "ms", N: 10, Mean: 21.2, Std: 0.3, Min: 20.9, P50: 21.1, P90: 21.6, P99: 21.9, Max: 22}, {Name: "tokens_per_s", Unit: "1/s", N: 10, Mean: 131, Std: 2, Min: 128, P50: 131, P90: 133, P99: 134, Max: 134}},
	}
	r.Stages = sampleStages()
	r.Regions = sampleRegions()
	r.Overview = sampleOverview()
	return r
}

func sampleSplit(wall, gemm, launch int64) analysis.Split {
	s := analysis.Split{
		WallNS: wall,
		Busy:   []analysis.TimePart{{ID: "gemm", Label: "gemm", NS: gemm}, {ID: "attention", Label: "Attention", NS: gemm / 4}, {ID: "elementwise", Label: "Elementwise", NS: gemm / 5}},
		Idle:   []analysis.TimePart{{ID: "launch", NS: launch}, {ID: "python", NS: launch / 2}, {ID: "sync", NS: launch / 8}},
	}
	for _, p := range s.Busy {
		s.BusyNS += p.NS
	}
	s.IdleNS = wall - s.BusyNS
	rest := s.IdleNS
	for _, p := range s.Idle {
		rest -= p.NS
	}
	s.Idle = append(s.Idle, analysis.TimePart{ID: "none", NS: rest})
	s.LaunchBound = launch > s.BusyNS
	if s.LaunchBound {
		s.LaunchNS = launch + launch/2
	}
	return s
}

func sampleStages() []analysis.Stage {
	p := peaks()
	return []analysis.Stage{
		{
			Name: "prefill", Region: "prefill", CleanMS: ptr(21.2), CleanStdMS: ptr(0.3), NsysMS: ptr(22.1), Overhead: ptr(0.042), Passes: 1,
			Sub: []analysis.SubMS{{Name: "embed", MS: 0.4}}, Split: sampleSplit(22_100_000, 13_000_000, 1_000_000),
			MFU: []analysis.Utilization{
				{Method: "analytic", Value: ptr(0.61), Achieved: 6.03e14, Peak: p[3], Seconds: 0.0212},
			},
			HFU: []analysis.Utilization{{Method: "counters", Value: ptr(0.6), Achieved: 5.95e14, Peak: p[3], Seconds: 0.0212, Coverage: ptr(0.93)}},
			MBU: []analysis.Utilization{{Method: "analytic", Peak: p[0], Contradiction: true, Raw: ptr(1.21), Why: facts("bytes counted twice")}},
		},
		{
			Name: "decode", Region: "decode", CleanMS: ptr(488.0), CleanStdMS: ptr(4.0), NsysMS: ptr(521.0), Overhead: ptr(0.067), Passes: 1, TokensPS: ptr(131.0),
			Split: sampleSplit(498_000_000, 60_000_000, 240_000_000), LaunchGain: &analysis.Bound{NS: 360_000_000, OfNS: 488_000_000, Times: "clean"},
			MBU: []analysis.Utilization{{Method: "analytic", Value: ptr(0.07), Achieved: 3.24e11, Peak: p[0], Seconds: 0.488}},
		},
	}
}

func sampleRegions() []analysis.Region {
	regions := []analysis.Region{
		{Path: "prefill", Name: "prefill", Parent: -1, Instances: 1, WallNS: 22_100_000, ProjectedNS: 21_000_000, Kernels: 400, KernelNS: 18_850_000, SelfKernels: 2, SelfNS: 10_000, Split: sampleSplit(22_100_000, 13_000_000, 1_000_000)},
		{Path: "decode", Name: "decode", Parent: -1, Instances: 1, WallNS: 498_000_000, ProjectedNS: 490_000_000, Kernels: 2000, KernelNS: 87_000_000, Split: sampleSplit(498_000_000, 60_000_000, 240_000_000), Why: &fact.Fact{Code: fact.Text, Params: fact.Params{"text": {Kind: fact.KindVendor, Text: "decode was left out"}}}},
	}
	for i, part := range []string{"attn", "mlp", "lm_head"} {
		ns := int64(6_000_000 / (i + 1))
		regions = append(regions, analysis.Region{
			Path: "prefill/" + part, Name: part, Parent: 0, Depth: 1, Instances: 16, WallNS: ns + 400_000, ProjectedNS: ns, Kernels: 120, KernelNS: ns, SelfKernels: 120, SelfNS: ns, Split: sampleSplit(ns+400_000, ns/2, ns/20),
			Top:      []analysis.RegionKernel{{Kernel: 0, Calls: 40, NS: ns / 2}, {Kernel: 1, Calls: 40, NS: ns / 3}},
			Counters: &analysis.RegionCounters{Method: "kernel", Coverage: 0.93, Metrics: []analysis.RegionMetric{{Name: "dram__bytes.sum", Unit: "byte", Value: 2.4e9, How: "sum"}}},
		})
	}
	return regions
}

func sampleKernels() []analysis.Kernel {
	counted := &analysis.Counted{
		Report: "llm.ncu-rep", Launch: 4, DurationNS: 81_000, ClockHz: 1.755e9, Passes: 38, Verified: true,
		Metrics: []analysis.Metric{
			{Section: "GPU Speed Of Light Throughput", Name: "sm__throughput.avg.pct_of_peak_sustained_elapsed", Label: "Compute (SM) Throughput", Unit: "%", Value: 81.4},
			{Section: "GPU Speed Of Light Throughput", Name: "dram__throughput.avg.pct_of_peak_sustained_elapsed", Label: "DRAM Throughput", Unit: "%", Value: 31.2},
			{Section: "Memory Workload Analysis", Name: "dram__bytes.sum.per_second", Label: "Memory Throughput", Unit: "byte/s", Value: 1.5e12},
			{Section: "Occupancy", Name: "sm__warps_active.avg.pct_of_peak_sustained_active", Label: "Achieved Occupancy", Unit: "%", Value: 18.7},
			{Section: "Launch Statistics", Name: "launch__func_cache_config", Label: "Function Cache Configuration", Text: "CachePreferNone"},
		},
		Rules: []analysis.RuleWords{
			{Rule: "SOLBottleneck", Section: "SpeedOfLight", Title: "High Throughput", Text: "The kernel is utilizing greater than 80.0% of the available compute or memory performance of the device.", Kind: "ok"},
			{Rule: "Occupancy", Section: "Occupancy", Title: "Theoretical Occupancy", Text: "The theoretical occupancy is limited by the number of required registers.", Kind: "optimization", Speedup: ptr(18.6), Local: true},
		},
	}
	return []analysis.Kernel{
		{
			ID: "k-gemm", Name: "nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_TNT", Short: "nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_TNT", Grid: [3]int64{2, 66, 1}, Block: [3]int64{384, 1, 1}, Category: "gemm", Rule: "cublaslt-nvjet",
			Calls: 112, TotalNS: 9_400_000, MeanNS: 83_900, MedianNS: 83_500, MinNS: 80_100, MaxNS: 99_000, Share: 0.6, Registers: 168, DynamicShared: 233_472, Waves: 1,
			Stages:    []analysis.StageTime{{Stage: "prefill", Calls: 100, NS: 9_000_000}, {Stage: "decode", Calls: 12, NS: 400_000}},
			Histogram: &analysis.Histogram{Bounds: []float64{80_000, 84_000, 88_000, 92_000, 96_000, 100_000}, Counts: []int64{71, 30, 8, 2, 1}},
			Reason:    &fact.Fact{Code: fact.Text, Params: fact.Params{"text": {Kind: fact.KindVendor, Text: "most GPU time"}}}, Counted: counted,
			Limiter:  analysis.Limiter{Kind: "compute", Units: []string{"tensor_bf16"}, Level: ptr(0.81), Why: facts("The tensor pipe is busy in 81 % of the cycles and no memory level comes near that."), Evidence: []analysis.Evidence{{Metric: "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", Value: 81.4, Unit: "%", Threshold: says("at least 60 %")}}},
			Attained: ptr(0.79), AttainedOf: "tensor_bf16",
			Point: []analysis.Point{
				{Kernel: "k-gemm", DType: "tensor_bf16", Memory: "dram", Intensity: 512, FLOPS: 7.8e14, Attained: 0.79, NS: 9_400_000},
				{Kernel: "k-gemm", DType: "tensor_bf16", Memory: "l2", Intensity: 170, FLOPS: 7.8e14, Attained: 0.79, NS: 9_400_000},
			},
		},
		{
			ID: "k-attn", Name: "void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>, false>(Flash_fwd_params)", Short: "flash_fwd_kernel<64, 128>", Grid: [3]int64{4, 1, 32}, Block: [3]int64{128, 1, 1}, Category: "attention",
			Calls: 16, TotalNS: 3_000_000, MeanNS: 187_500, MedianNS: 187_000, MinNS: 180_000, MaxNS: 199_000, Share: 0.2, Stages: []analysis.StageTime{{Stage: "prefill", Calls: 16, NS: 3_000_000}},
			Reason: &fact.Fact{Code: fact.Text, Params: fact.Params{"text": {Kind: fact.KindVendor, Text: "second by time"}}}, Counted: counted,
			Limiter: analysis.Limiter{Kind: "latency", Detail: "long_scoreboard", Why: facts("No limit is reached; warps wait for memory.")},
			Point:   []analysis.Point{{Kernel: "k-attn", DType: "tensor_bf16", Memory: "dram", Intensity: 90, FLOPS: 2.1e14, Attained: 0.49, NS: 3_000_000}},
		},
		{
			ID: "k-elem", Name: "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1>>(int, at::native::FillFunctor<float>, std::array<char*, 1>)", Short: "vectorized_elementwise_kernel<4, FillFunctor<float>>", Mangled: "_ZN2at6native29vectorized_elementwise_kernelILi4E", Grid: [3]int64{64, 1, 1}, Block: [3]int64{128, 1, 1}, Category: "elementwise",
			Calls: 640, TotalNS: 2_000_000, MeanNS: 3125, MedianNS: 3000, MinNS: 1800, MaxNS: 9000, Share: 0.12, Stages: []analysis.StageTime{{Stage: "decode", Calls: 640, NS: 2_000_000}},
			Reason:  &fact.Fact{Code: fact.Text, Params: fact.Params{"text": {Kind: fact.KindVendor, Text: "counted for its share"}}},
			Limiter: analysis.Limiter{Kind: "small", Why: facts("Its grid fills less than one wave."), Evidence: []analysis.Evidence{{Metric: "waves", Value: 0.12, Threshold: says("less than 1")}}},
			Point:   []analysis.Point{{Kernel: "k-elem", DType: "fp32", Memory: "dram", Intensity: 0.12, FLOPS: 3.1e10, Attained: 0.05, NS: 2_000_000}},
		},
		{
			ID: "k-evil", Name: hostile, Short: hostile, Grid: [3]int64{1, 1, 1}, Block: [3]int64{32, 1, 1}, Category: "other",
			Calls: 3, TotalNS: 1_000_000, MeanNS: 333_333, MedianNS: 333_333, MinNS: 1, MaxNS: 900_000, Share: 0.08, Reason: &fact.Fact{Code: fact.Text, Params: fact.Params{"text": {Kind: fact.KindVendor, Text: "not chosen: too little time"}}},
			Limiter: analysis.Limiter{Need: says("section SpeedOfLight"), Why: facts("It was not counted.")},
		},
	}
}

func sampleOverview() analysis.Overview {
	o := analysis.Overview{StartNS: 1_000, EndNS: 520_001_000, Names: []string{"prefill", "decode", "step", "nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_TNT", "flash_fwd_kernel<64, 128>", "vectorized_elementwise_kernel<4, FillFunctor<float>>", hostile, "cudaLaunchKernel"}}
	ranges := analysis.Lane{Kind: "nvtx", Label: laneText("NVTX thread 1"), Group: laneText("python3 (1)"), Exact: true, Events: 2, Boxes: []analysis.Box{{Start: 0, Len: 22_000_000, Name: 0}, {Start: 22_000_000, Len: 498_000_000, Name: 1}}}
	steps := analysis.Lane{Kind: "nvtx", Label: laneText("NVTX thread 1"), Group: laneText("python3 (1)"), Depth: 1, Exact: true}
	for i := range int64(64) {
		steps.Boxes = append(steps.Boxes, analysis.Box{Start: 22_000_000 + i*7_700_000, Len: 7_600_000, Name: 2})
	}
	steps.Events = int64(len(steps.Boxes))
	gpu := analysis.Lane{Kind: "kernel", Label: laneText("GPU 0 stream 7"), Group: laneText("GPU 0"), BinNS: 500_000, Events: 2454}
	for i := range int64(40) {
		gpu.Boxes = append(gpu.Boxes, analysis.Box{Start: i * 550_000, Len: 480_000, Name: 3 + int(i%2)})
	}
	for i := range int64(220) {
		gpu.Boxes = append(gpu.Boxes, analysis.Box{Start: 23_000_000 + i*2_250_000, Len: 1_500_000, Name: 3 + int(i%4), Count: 9, Busy: 300_000 + 90_000*(i%7)})
	}
	api := analysis.Lane{Kind: "api", Label: laneText("CUDA calls thread 1"), Group: laneText("python3 (1)"), Exact: true, Events: 2, Boxes: []analysis.Box{{Start: 1_000_000, Len: 200_000, Name: 7}, {Start: 60_000_000, Len: 9_000_000, Name: 7}}}
	o.Lanes = []analysis.Lane{ranges, steps, api, gpu}
	return o
}

// large is a result of the size that 500,000 launches lead to: thousands of
// kernels with counters, regions and operators, and full lanes.
func large() *analysis.Result {
	r := sample()
	base := r.Kernels[0]
	r.Kernels, r.Roofline.Points = nil, nil
	for i := range 6000 {
		k := base
		k.ID = fmt.Sprintf("k%d", i)
		k.Short = fmt.Sprintf("kernel_%04d<%d, float>", i, i%97)
		k.Name = "void deep::" + k.Short + "(float const*, float*, int)"
		k.Calls, k.TotalNS = 83, int64(6000-i)*15_000
		k.Category = r.Categories[i%len(r.Categories)].ID
		c := *base.Counted
		c.Metrics = nil
		for m := range 60 {
			c.Metrics = append(c.Metrics, analysis.Metric{Section: fmt.Sprintf("Section %d", m/10), Name: fmt.Sprintf("sm__metric_%d.avg", m), Label: fmt.Sprintf("Metric %d", m), Unit: "%", Value: float64((i*7919+m*104729)%100000) / 1000})
		}
		k.Counted = &c
		k.Point = []analysis.Point{{Kernel: k.ID, DType: "tensor_bf16", Memory: "dram", Intensity: 1 + float64(i%700), FLOPS: 1e10 * float64(1+i), Attained: 0.4, NS: k.TotalNS}}
		if i < 2000 {
			r.Roofline.Points = append(r.Roofline.Points, k.Point...)
		}
		r.Kernels = append(r.Kernels, k)
	}
	r.Totals.Launches, r.Totals.KernelNames = 500_000, len(r.Kernels)
	for i := range 3000 {
		r.Regions = append(r.Regions, analysis.Region{Path: fmt.Sprintf("decode/step%d", i), Name: fmt.Sprintf("step%d", i), Parent: 1, Depth: 1, Instances: 1, WallNS: 166_000, Kernels: 166, KernelNS: 29_000, Split: sampleSplit(166_000, 20_000, 70_000)})
		r.Operators = append(r.Operators, analysis.Operator{Name: fmt.Sprintf("aten::op%d", i), Calls: int64(i), SelfDeviceUS: float64(i)})
	}
	for lane := range r.Overview.Lanes {
		l := &r.Overview.Lanes[lane]
		l.Boxes, l.Events = nil, 125_000
		for i := range int64(8000) {
			l.Boxes = append(l.Boxes, analysis.Box{Start: i * 65_000, Len: 60_000, Name: int(i % 8), Count: 16, Busy: 20_000 + i%30_000})
		}
	}
	return r
}

// laneText names a lane as results of earlier versions do.
func laneText(s string) fact.Stored { return fact.Stored{Fact: fact.FromText(s)} }
