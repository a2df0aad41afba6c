package workload

import (
	"strconv"

	"github.com/deepprof/deepprof/internal/plan"
)

// A Deviation is a setting that a stage does not use as it is configured.
type Deviation struct {
	Stage      string `json:"stage"`
	Key        string `json:"key"`
	Configured string `json:"configured"`
	Used       string `json:"used"`
	Why        string `json:"why"`
}

// change is a deviation with its effect on the spec.
type change struct {
	Deviation
	apply func(*Spec)
}

// Deviations are what the stages change of the configuration, for the report.
func Deviations(p *plan.Plan, stages ...string) []Deviation {
	var out []Deviation
	for _, stage := range stages {
		for _, c := range changes(p, stage) {
			out = append(out, c.Deviation)
		}
	}
	return out
}

// changes are what a stage requires to be different. Timed stages run as
// configured.
func changes(p *plan.Plan, stage string) []change {
	mode := modes[stage]
	if mode == "" || mode == ModeTime {
		return nil
	}
	var out []change
	add := func(key, configured, used, why string, apply func(*Spec)) {
		if configured == used {
			return
		}
		if apply == nil {
			apply = func(*Spec) {}
		}
		out = append(out, change{Deviation{stage, key, configured, used, why}, apply})
	}
	s, t := p.Dataset.Sampling, p.Pipeline.TorchProfiler
	const one, few = 1, "one pass shows every launch, and a profiled pass costs many times a clean one"
	if s.NumSamplesPerEpoch == 0 {
		add("dataset.sampling.num_samples_per_epoch", "null", "1", "of all samples the first one stands for the rest; a number in the configuration is kept",
			func(spec *Spec) { n := one; spec.Dataset.Sampling.NumSamplesPerEpoch = &n })
	}
	repeats := strconv.Itoa(p.Infer.Repeats)
	if mode == ModeProfile {
		add("infer.repeats", repeats, "1", few+"; nsys and ncu must see the same launches", func(spec *Spec) { spec.Infer.Repeats = one })
		add("pipeline.torch_profiler.enable", strconv.FormatBool(t.Enable), "false", "CUPTI serves one profiler in a process; torch.profiler has a pass of its own",
			func(spec *Spec) { spec.TorchProfiler.Enable = false })
		add("pipeline.static_analysis.torch_flop_counter", strconv.FormatBool(p.Pipeline.StaticAnalysis.TorchFlopCounter), "false",
			"counting changes the operators that run; it has a pass of its own", nil)
		add("pipeline.direct_inference.predictions", strconv.FormatBool(p.Pipeline.DirectInference.Enable && p.Pipeline.DirectInference.Predictions), "false",
			"writing predictions is not part of what is profiled", nil)
		return out
	}
	add("infer.repeats", repeats, "1", few, func(spec *Spec) { spec.Infer.Repeats = one })
	add("dataset.sampling.num_epochs", strconv.Itoa(s.NumEpochs), "1", few, func(spec *Spec) { spec.Dataset.Sampling.NumEpochs = one })
	if s.NumSamplesPerEpoch > 0 {
		add("dataset.sampling.num_samples_per_epoch", strconv.Itoa(s.NumSamplesPerEpoch), "1", few,
			func(spec *Spec) { n := one; spec.Dataset.Sampling.NumSamplesPerEpoch = &n })
	}
	if mode == ModeTorchProfiler && t.RepMaxNewTokens < p.Infer.MaxNewTokens {
		add("infer.max_new_tokens", strconv.Itoa(p.Infer.MaxNewTokens), strconv.Itoa(t.RepMaxNewTokens), "pipeline.torch_profiler.rep_max_new_tokens bounds the pass",
			func(spec *Spec) { spec.Infer.MaxNewTokens = t.RepMaxNewTokens })
	}
	if mode == ModeFlops {
		add("infer.cuda_graphs", strconv.FormatBool(p.Infer.CUDAGraphs), "false", "a replayed graph has no operators to count", func(spec *Spec) { spec.Infer.CUDAGraphs = false })
		add("infer.compile", strconv.FormatBool(p.Infer.Compile), "false", "fused operators are not counted", func(spec *Spec) { spec.Infer.Compile = false })
	}
	return out
}
