package analysis

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/gpu"
	"github.com/deepprof/deepprof/internal/ncurep"
)

// synthetic makes a launch of counters that were made up.
func synthetic(values map[string]float64) *launch {
	return &launch{res: &ncurep.Result{Device: 0}, values: values, texts: map[string]string{}}
}

// use gives the counters of a launch that uses so much of each limit, in
// percent.
func use(dram, l2, l1 float64, more map[string]float64) map[string]float64 {
	v := map[string]float64{
		counterDRAM[0]: dram, counterL2[0]: l2, counterL1[0]: l1, counterSM[0]: 20, counterWaves[0]: 20, "gpu__time_duration.sum": 100_000,
		counterIssueActive: 20, counterOccupancy[0]: 90, counterTheoretical[0]: 100,
		"sm__pipe_fma_cycles_active" + ofElapsed: 5,
	}
	for name, x := range more {
		v[name] = x
	}
	return v
}

// Every verdict of docs/limiter.md, on counters that were made up.
func TestDecide(t *testing.T) {
	const tensor = "sm__pipe_tensor_cycles_active" + ofElapsed
	stall := func(reason string) string { return stallPrefix + reason + stallSuffix }
	for _, c := range []struct {
		name         string
		values       map[string]float64
		kind, detail string // detail: the units, or else what the kind is about
		why          fact.Code
	}{
		{"a copy", use(90, 85, 20, nil), limitDRAM, "dram", codeUnitUsed},
		{"L2 under DRAM says nothing of its own", use(62, 95, 20, nil), limitDRAM, "dram", codeUnitUsed},
		{"L2", use(20, 75, 30, nil), limitL2, "l2", codeUnitUsed},
		{"L1 or shared memory", use(5, 20, 85, nil), limitL1, "l1", codeUnitUsed},
		{"tensor pipe with its type", use(30, 50, 70, map[string]float64{
			tensor: 88, "sm__ops_path_tensor_src_bf16_dst_fp32.sum": 1e12, "sm__ops_path_tensor_src_fp16.sum": 1e6,
		}), limitCompute, "tensor_bf16", codeUnitUsed},
		{"a bf16 product of 8192 on an H200, as ncu counted it", use(20.8, 49.2, 94.6, map[string]float64{
			tensor: 93.5, "sm__ops_path_tensor_src_bf16_dst_fp32.sum": 1.1e12,
		}), limitCompute, "tensor_bf16", codeUnitUsed},
		{"L1 far above the tensor pipe", use(20, 40, 95, map[string]float64{tensor: 70}), limitL1, "l1", codeUnitUsed},
		{"tensor pipe, type not counted", use(30, 50, 40, map[string]float64{tensor: 88}), limitCompute, "tensor", codeUnitUsed},
		{"FP32", use(10, 10, 10, map[string]float64{"sm__pipe_fma_cycles_active" + ofElapsed: 75}), limitCompute, "fp32", codeUnitUsed},
		{"FP64", use(10, 10, 10, map[string]float64{"sm__pipe_fp64_cycles_active" + ofElapsed: 75}), limitCompute, "fp64", codeUnitUsed},
		{"INT", use(10, 10, 10, map[string]float64{"sm__pipe_alu_cycles_active" + ofElapsed: 75}), limitCompute, "int", codeUnitUsed},
		{"special functions", use(10, 10, 10, map[string]float64{"sm__inst_executed_pipe_xu" + ofElapsed: 75}), limitCompute, "xu", codeUnitUsed},
		{"DRAM and a pipe", use(70, 70, 10, map[string]float64{tensor: 65}), limitMixed, "dram tensor", codeUnitsReached},
		{"two limits near, none reached", use(55, 40, 52, nil), limitMixed, "dram l1", codeUnitsNear},
		{"one limit near", use(55, 58, 20, nil), limitDRAM, "dram", codeUnitNearest},
		{"less than a wave, and SMs that idle", use(20, 20, 20, map[string]float64{counterWaves[0]: 0.24, counterActiveAvg: 24, counterActiveMax: 100}), limitSmall, "", codeSmallGrid},
		{"less than a wave, and every SM works", use(20, 20, 20, map[string]float64{counterWaves[0]: 0.24, counterActiveAvg: 97, counterActiveMax: 100}), limitLatency, "", codeNoUnitBusy},
		{"atomics in one slice of L2, however small the grid", use(1, 1, 1, map[string]float64{counterWaves[0]: 0.03, counterActiveAvg: 20, counterActiveMax: 100, counterSliceMax: 33, counterSliceAvg: 0.4}), limitL2, unitAtomics, codeBusySlice},
		{"less than a wave, and DRAM reached all the same", use(75, 78, 14, map[string]float64{counterWaves[0]: 0.95}), limitDRAM, "dram", codeUnitUsed},
		{"no longer than its launch", use(20, 20, 20, map[string]float64{"gpu__time_duration.sum": 1500}), limitLaunch, "", codeShortKernel},
		{"occupancy with its limit", use(30, 30, 30, map[string]float64{
			counterTheoretical[0]: 25, counterOccupancy[0]: 22, "launch__occupancy_limit_registers": 2, "launch__occupancy_limit_shared_mem": 8, "launch__occupancy_limit_warps": 8,
		}), limitOccupancy, "registers", codeFewWarps},
		{"latency with its stall", use(30, 30, 30, map[string]float64{
			stall("long_scoreboard"): 12, stall("wait"): 2, stall("selected"): 1, stall("not_selected"): 30,
		}), limitLatency, "long_scoreboard", codeStalled},
		{"low occupancy of warps that would fit is latency", use(30, 30, 30, map[string]float64{counterOccupancy[0]: 20, stall("barrier"): 5}), limitLatency, "barrier", codeStalled},
		{"issue", use(30, 30, 30, map[string]float64{counterIssue[0]: 70}), limitCompute, "issue", codeIssueBusy},
		{"issue as the busiest unit of the SM", use(30, 30, 30, map[string]float64{counterSM[0]: 71, counterIssueActive: 74}), limitCompute, "issue", codeUnitUsed},
		{"issue of active cycles alone is none of all", use(30, 30, 30, map[string]float64{counterIssueActive: 90, stall("wait"): 5}), limitLatency, "wait", codeStalled},
		{"issue near its peak is still latency", use(30, 30, 30, map[string]float64{counterSM[0]: 55, counterIssueActive: 62, stall("wait"): 5}), limitLatency, "wait", codeStalled},
		{"a unit of the SM that is no math pipe", use(10, 10, 10, map[string]float64{counterSM[0]: 95, "sm__inst_executed_pipe_xu" + ofElapsed: 3}), limitCompute, "sm", codeUnitUsed},
		{"half precision under its other name", use(10, 10, 10, map[string]float64{"sm__inst_executed_pipe_fp16" + ofElapsed: 0, "sm__inst_executed_pipe_fma_type_fp16" + ofElapsed: 80}), limitCompute, "fp16", codeUnitUsed},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := decide(synthetic(c.values))
			if detail := cmp.Or(strings.Join(v.Units, " "), v.Detail); v.Kind != c.kind || detail != c.detail || v.Why[0].Code != c.why {
				t.Errorf("got %s (%s): %+v, want %s (%s): %s", v.Kind, detail, v.Why, c.kind, c.detail, c.why)
			}
			if len(v.Evidence) == 0 {
				t.Error("a verdict without evidence")
			}
			for _, e := range v.Evidence {
				if _, ok := c.values[e.Metric]; !ok {
					t.Errorf("evidence %s was not counted", e.Metric)
				}
			}
		})
	}
}

// Shares of active cycles decide nothing: a small grid keeps few L1 caches busy.
func TestL1OfActiveCycles(t *testing.T) {
	basic := func(memory float64, more map[string]float64) map[string]float64 {
		v := use(20, 25, 0, more)
		delete(v, counterL1[0])
		v[counterL1Active], v[counterMemory] = 235, memory
		return v
	}
	if v := decide(synthetic(basic(26, map[string]float64{counterWaves[0]: 0.1, counterActiveAvg: 10, counterActiveMax: 100}))); v.Kind != limitSmall {
		t.Errorf("%+v", v)
	}
	v := decide(synthetic(basic(81, nil)))
	if v.Kind != limitL1 || v.Level == nil || *v.Level != 0.81 || v.Evidence[0].Metric != counterMemory {
		t.Errorf("the busiest memory unit is neither DRAM nor L2: %+v", v)
	}
	v = decide(synthetic(use(20, 25, 104, nil)))
	if v.Kind != limitL1 || *v.Level > 1 || v.Why[0].Number("level") > 1 {
		t.Errorf("more than the peak: %+v", v)
	}
}

// What a unit does besides the bytes of its roofline is told, and a bound is
// given only where every limit was counted.
func TestAttained(t *testing.T) {
	a := analyzerWith(Input{})
	l := synthetic(use(20, 75, 30, map[string]float64{
		"gpu__time_duration.sum": 1e6, counterMemory: 49,
		"derived__lts__lts2xbar_bytes.sum.per_second": 23, "derived__lts__lts2xbar_bytes.sum.peak_sustained": 100, "lts__cycles_elapsed.avg.per_second": 1,
	}))
	k := &Kernel{Limiter: decide(l)}
	a.judgment().place(k, l)
	if k.Limiter.Kind != limitL2 || *k.Attained != 0.75 || k.AttainedOf != "l2" || !hasFact(k.Limiter.Why, codeUnitBusierL2) || k.Limiter.Why[1].Number("share") != 0.23 || !hasFact(k.Limiter.Why, codeRulesDiffer) {
		t.Errorf("%v of %s, %+v", *k.Attained, k.AttainedOf, k.Limiter.Why)
	}
	if k.AttainedMetric != counterL2[0] {
		t.Errorf("the share of L2 is by %q", k.AttainedMetric)
	}
	only := synthetic(map[string]float64{"gpu__time_duration.sum": 1e6, counterDRAM[0]: 30, "dram__bytes.sum.per_second": 1e12})
	k = &Kernel{Limiter: decide(only)}
	if a.judgment().place(k, only); k.Attained != nil {
		t.Errorf("DRAM alone gives a bound: %v", *k.Attained)
	}
}

// ncu stretches short kernels: the timeline decides how long one is.
func TestShortInTheTimeline(t *testing.T) {
	l := synthetic(use(20, 20, 20, map[string]float64{"gpu__time_duration.sum": 3000}))
	if v := decide(l); v.Kind == limitLaunch {
		t.Errorf("3 us count as short: %+v", v)
	}
	l.medianNS = 950
	if v := decide(l); v.Kind != limitLaunch || v.Evidence[0].Value != 950 {
		t.Errorf("%+v", v)
	}
}

// Without the counters there is no verdict, and the section that would tell is
// named.
func TestAbstain(t *testing.T) {
	for _, c := range []struct {
		name   string
		values map[string]float64
		need   string
	}{
		{"nothing", map[string]float64{}, "SpeedOfLight"},
		{"only DRAM", map[string]float64{counterDRAM[0]: 90}, "SpeedOfLight"},
		{"speed of light alone, nothing busy", map[string]float64{counterDRAM[0]: 5, counterL2[0]: 5, counterL1[0]: 5, counterSM[0]: 5, "gpu__time_duration.sum": 9000}, "LaunchStats Occupancy WarpStateStats"},
	} {
		if v := decide(synthetic(c.values)); v.Kind != "" || strings.Join(v.Need.Params["sections"].List, " ") != c.need || len(v.Why) == 0 {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
	// A stall is not known, but that it is latency is.
	if v := decide(synthetic(use(5, 5, 5, nil))); v.Kind != limitLatency || !slices.Equal(v.Need.Params["sections"].List, []string{"WarpStateStats"}) {
		t.Errorf("latency without stalls: %+v", v)
	}
}

// What was looked up by hand in reports of a real H200.
func TestHandChecked(t *testing.T) {
	llm := analyzeFiles(t, llmTimeline, llmCounters)
	toy := analyzeFiles(t, toyTimeline, toyCounters)
	for _, c := range []struct {
		r     *Result
		name  string
		kind  string
		level [2]float64 // where it has one
	}{
		// The projection to the vocabulary reads 131 MB of weights in 36.9 us.
		{llm, "nvjet_sm90_tst_256x8_64x6_2x1_v_bz_TNT", limitDRAM, [2]float64{0.75, 0.76}},
		{llm, "indexSelectSmallIndex", limitSmall, [2]float64{0.007, 0.008}}, // 16 blocks
		{llm, "sdpa_sm80_flash_fprop", limitSmall, [2]float64{0.03, 0.031}},  // 8 blocks
		{toy, "gemm_tile<(int)32>", limitL1, [2]float64{0.85, 0.87}},         // tiles in shared memory
		{toy, "gemm_tile<(int)16>", limitL1, [2]float64{0.88, 0.90}},
		{toy, "saxpy", limitL2, [2]float64{0.70, 0.80}},          // 33 MB lie in the cache
		{toy, "reduce_sum", limitLatency, [2]float64{0.01, 0.1}}, // two blocks on every SM
	} {
		k := kernelNamed(t, c.r, c.name)
		if k.Limiter.Kind != c.kind || k.Limiter.Level == nil || *k.Limiter.Level < c.level[0] || *k.Limiter.Level > c.level[1] {
			t.Errorf("%s: %s at %v, want %s within %v", c.name, k.Limiter.Kind, k.Limiter.Level, c.kind, c.level)
		}
		if len(k.Counted.Rules) == 0 {
			t.Errorf("%s: what NVIDIA's rules say is missing", c.name)
		}
	}
	decode := stageNamed(t, llm, "decode")
	if !decode.Split.LaunchBound || decode.Split.BusyNS*100 > decode.Split.WallNS || decode.Split.LaunchNS < 68e6 || decode.Split.LaunchNS > 69e6 || decode.Split.idle("host") < 435e6 {
		t.Errorf("decode: %+v", decode.Split)
	}
	if llm.Findings[0].ID != "launch-bound-decode" {
		t.Errorf("the first finding is %s", llm.Findings[0].ID)
	}
	if prefill := stageNamed(t, toy, "prefill"); prefill.Split.LaunchBound || prefill.Split.BusyNS*100 < prefill.Split.WallNS*95 {
		t.Errorf("prefill of the toy: %+v", prefill.Split)
	}
}

// Peaks that ncu reports for an H200, against its data sheet.
func TestRoofsOfH200(t *testing.T) {
	r := analyzeFiles(t, toyTimeline, toyCounters)
	want := map[string][2]float64{
		"dram": {4.75e12, 4.85e12}, "fp32": {65e12, 68e12}, "fp64": {32e12, 34e12},
		"tensor_bf16": {1.05e15, 1.08e15}, "tensor_tf32": {0.52e15, 0.54e15}, "tensor_fp8": {2.1e15, 2.16e15}, "tensor_fp64": {65e12, 68e12},
	}
	for _, p := range r.Environment.GPUs[0].Peaks {
		if w, ok := want[p.ID]; ok {
			delete(want, p.ID)
			if p.Value < w[0] || p.Value > w[1] || !p.Measured || p.Basis.IsZero() {
				t.Errorf("%s: %.4g (%v), want within %v", p.ID, p.Value, p.Basis, w)
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("no peak for %v", want)
	}
	// The same without counters comes from tables, marked.
	for _, p := range analyzeFiles(t, toyTimeline).Environment.GPUs[0].Peaks {
		if p.Measured || !p.Basis.Is(basisTable, basisProperties) {
			t.Errorf("%s counts as measured: %v", p.ID, p.Basis)
		}
		if p.ID == "tensor_bf16" && (p.Value < 1.05e15 || p.Value > 1.08e15 || p.ClockHz != 1.98e9) {
			t.Errorf("bf16 from the table: %.4g at %.4g Hz", p.Value, p.ClockHz)
		}
	}
}

// A large bf16 product as ncu would count it on an H200, made up: 8192^3 in
// 1.41 ms. FLOPs of counters and of 2MNK are the same here by construction.
func TestSyntheticGEMM(t *testing.T) {
	const n = 8192.0
	ops := 2 * n * n * n
	seconds := 1.41e-3
	hz := 1.755e9
	values := use(18, 40, 66, map[string]float64{
		"gpu__time_duration.sum": seconds * 1e9, "sm__pipe_tensor_cycles_active" + ofElapsed: ops / seconds / (540672 * hz) * 100,
		"sm__ops_path_tensor_src_bf16_dst_fp32.sum":                                      ops,
		"sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32_sparsity_off.sum":                ops,
		"sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32_sparsity_off.sum.peak_sustained": 540672,
		"sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32_sparsity_on.sum.peak_sustained":  1081344,
		"sm__cycles_elapsed.avg.per_second":                                              hz,
		"dram__bytes_read.sum":                                                           1.2e9, "dram__bytes_write.sum": 0.13e9,
		"dram__bytes.sum.peak_sustained": 1504, "dram__cycles_elapsed.avg.per_second": 3.2e9,
	})
	l := synthetic(values)
	if v := decide(l); v.Kind != limitCompute || !slices.Equal(v.Units, []string{"tensor_bf16"}) {
		t.Errorf("%+v", v)
	}
	d := l.counts()
	if got := d.flops[gpu.TensorBF16]; got != ops {
		t.Errorf("%g FLOPs, want %g: counters per instruction must not count twice", got, ops)
	}
	flops, bytes := l.limits()
	if peak := flops[gpu.TensorBF16].rate; peak != 540672*hz {
		t.Errorf("dense peak %g: that of sparse products must not count", peak)
	}
	least, by := d.bound(flops, bytes)
	if by != string(gpu.TensorBF16) || least/seconds < 0.8 || least/seconds > 0.85 {
		t.Errorf("attains %.3f of %s", least/seconds, by)
	}
}

// Counters per type go before those per instruction, which serve where a type
// has no sum of its own; rates serve where there is no sum at all.
func TestTensorFLOPs(t *testing.T) {
	d := synthetic(map[string]float64{
		"gpu__time_duration.sum":                                          1e6,
		"sm__ops_path_tensor_src_bf16_dst_fp32.sum":                       100,
		"sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32_sparsity_off.sum": 60,
		"sm__ops_path_tensor_op_igmma_src_int8_sparsity_off.sum":          30,
		"sm__ops_path_tensor_op_imma_src_int8_sparsity_off.sum":           12,
		"sm__ops_path_tensor_src_fp64.sum.per_second":                     5000,
		"sm__ops_path_tensor_src_tf32_dst_fp32.sum.per_cycle_elapsed":     2,
		"sm__cycles_elapsed.avg.per_second":                               1e9,
		"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum":             1,
		"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum":             2,
		"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum":             4,
		"smsp__sass_thread_inst_executed_op_hadd_pred_on.sum":             1,
		"smsp__sass_thread_inst_executed_op_hmul_pred_on.sum":             1,
		"smsp__sass_thread_inst_executed_op_hfma_pred_on.sum":             1,
		"smsp__sass_thread_inst_executed_op_dadd_pred_on.sum":             1,
	}).counts()
	for dtype, want := range map[gpu.DType]float64{
		gpu.TensorBF16: 100, gpu.TensorINT8: 42, gpu.TensorFP64: 5, gpu.TensorTF32: 2e6, gpu.FP32: 11, gpu.FP16: 8,
	} {
		if got := d.flops[dtype]; got != want {
			t.Errorf("%s: %g, want %g", dtype, got, want)
		}
	}
	if _, ok := d.flops[gpu.FP64]; ok {
		t.Error("fp64 was counted by a third of its instructions")
	}
	d = synthetic(map[string]float64{
		"gpu__time_duration.sum":          1e6,
		"sm__ops_path_tensor_src_fp8.sum": 100, "sm__ops_path_tensor_src_fp8_sparsity_off.sum": 100,
		"sm__ops_path_tensor_src_fp16.sum": 70, "sm__ops_path_tensor_src_fp16_dst_fp32.sum": 50, "sm__ops_path_tensor_src_fp16_dst_fp16.sum": 20,
		"sm__ops_path_tensor_src_bf16_dst_fp32.sum": 0, "sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32_sparsity_off.sum": 0,
		// Half instructions that only move constants.
		"smsp__sass_thread_inst_executed_op_hadd_pred_on.sum": 0, "smsp__sass_thread_inst_executed_op_hmul_pred_on.sum": 0,
		"smsp__sass_thread_inst_executed_op_hfma_pred_on.sum": 64, "smsp__inst_executed.sum": 1000,
	}).counts()
	if d.flops[gpu.TensorFP8] != 100 || d.flops[gpu.TensorFP16] != 70 || d.flops[gpu.FP16] != 0 {
		t.Errorf("whole and parts count twice, or moves as FLOPs: %v", d.flops)
	}
}
