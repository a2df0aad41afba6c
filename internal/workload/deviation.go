package workload

import (
	"fmt"
	"strconv"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/plan"
)

// A Deviation is a setting that a stage does not use as it is configured.
type Deviation struct {
	Stage      string          `json:"stage"`
	Key        string          `json:"key"`
	Configured string          `json:"configured"`
	Used       string          `json:"used"`
	Why        fact.StoredList `json:"why"`
}

// Why a stage needs a setting to be different.
const (
	firstSample    fact.Code = "deviates-first-sample"
	onePass        fact.Code = "deviates-one-pass"
	sameLaunches   fact.Code = "deviates-same-launches"
	oneProfiler    fact.Code = "deviates-one-profiler"
	countedApart   fact.Code = "deviates-counted-apart"
	notProfiled    fact.Code = "deviates-not-profiled"
	boundedTokens  fact.Code = "deviates-bounded-tokens"
	briefWarmup    fact.Code = "deviates-brief-warmup"
	graphUncounted fact.Code = "deviates-graph-uncounted"
	fusedUncounted fact.Code = "deviates-fused-uncounted"
)

func reasons(codes []fact.Code) fact.StoredList {
	out := make(fact.StoredList, len(codes))
	for i, c := range codes {
		out[i] = fact.New(c)
	}
	return out
}

// briefTokens are enough to run every part of a model once: a prefill, and two
// steps with a cache.
const briefTokens = 3

// BriefWarmup tells that a session warms up briefly under ncu, which takes the
// longer for a launch the more launches came before. It must not shift what is
// counted: launches are chosen inside ranges that the warm-up does not open, and
// a compiler has shapes to see first.
func BriefWarmup(p *plan.Plan) bool {
	n := p.Pipeline.Ncu
	return Shipped(p) && p.Pipeline.Nsys.Enable && n.Pick.Enable && len(n.CLI.NVTXInclude) > 0 && p.Infer.Warmup > 0 && !p.Infer.Compile
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
	add := func(key, configured, used string, apply func(*Spec), why ...fact.Code) {
		if configured == used {
			return
		}
		if apply == nil {
			apply = func(*Spec) {}
		}
		out = append(out, change{Deviation{stage, key, configured, used, reasons(why)}, apply})
	}
	s, t := p.Dataset.Sampling, p.Pipeline.TorchProfiler
	const one = 1
	if s.NumSamplesPerEpoch == 0 {
		add("dataset.sampling.num_samples_per_epoch", "null", "1", func(spec *Spec) { n := one; spec.Dataset.Sampling.NumSamplesPerEpoch = &n }, firstSample)
	}
	repeats := strconv.Itoa(p.Infer.Repeats)
	if stage == plan.StepNcu && BriefWarmup(p) {
		add("infer.warmup", strconv.Itoa(p.Infer.Warmup), fmt.Sprintf("1 pass, %d tokens", briefTokens), func(spec *Spec) {
			spec.Infer.Warmup, spec.Infer.WarmTokens = one, new(briefTokens)
		}, briefWarmup)
	}
	if mode == ModeProfile {
		add("infer.repeats", repeats, "1", func(spec *Spec) { spec.Infer.Repeats = one }, onePass, sameLaunches)
		add("pipeline.torch_profiler.enable", strconv.FormatBool(t.Enable), "false", func(spec *Spec) { spec.TorchProfiler.Enable = false }, oneProfiler)
		add("pipeline.static_analysis.torch_flop_counter", strconv.FormatBool(p.Pipeline.StaticAnalysis.TorchFlopCounter), "false", nil, countedApart)
		add("pipeline.direct_inference.predictions", strconv.FormatBool(p.Pipeline.DirectInference.Enable && p.Pipeline.DirectInference.Predictions), "false", nil, notProfiled)
		return out
	}
	add("infer.repeats", repeats, "1", func(spec *Spec) { spec.Infer.Repeats = one }, onePass)
	add("dataset.sampling.num_epochs", strconv.Itoa(s.NumEpochs), "1", func(spec *Spec) { spec.Dataset.Sampling.NumEpochs = one }, onePass)
	if s.NumSamplesPerEpoch > 0 {
		add("dataset.sampling.num_samples_per_epoch", strconv.Itoa(s.NumSamplesPerEpoch), "1", func(spec *Spec) { n := one; spec.Dataset.Sampling.NumSamplesPerEpoch = &n }, onePass)
	}
	if mode == ModeTorchProfiler && t.RepMaxNewTokens < p.Infer.MaxNewTokens {
		add("infer.max_new_tokens", strconv.Itoa(p.Infer.MaxNewTokens), strconv.Itoa(t.RepMaxNewTokens), func(spec *Spec) { spec.Infer.MaxNewTokens = t.RepMaxNewTokens }, boundedTokens)
	}
	if mode == ModeFlops {
		add("infer.cuda_graphs", strconv.FormatBool(p.Infer.CUDAGraphs), "false", func(spec *Spec) { spec.Infer.CUDAGraphs = false }, graphUncounted)
		add("infer.compile", strconv.FormatBool(p.Infer.Compile), "false", func(spec *Spec) { spec.Infer.Compile = false }, fusedUncounted)
	}
	return out
}
