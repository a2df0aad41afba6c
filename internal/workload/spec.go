// Package workload owns the programs that ship with deepprof as the rest of it
// sees them: what they are told (spec.json), with which interpreter they run,
// and what they leave behind (metrics.json, operators.json, flops.json,
// error.json). It starts nothing but a question to the interpreter.
//
// Launchers of several processes (srun, torchrun, mpirun) take 470 lines, annotation 380,
// the checks of inputs 290; the rest tells sessions what to do, and reads and judges what
// they leave.
package workload

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
)

// Schema is the version of every file that passes between Go and Python.
const Schema = 1

// The modes of a program.
const (
	ModeTime          = "time"
	ModeProfile       = "profile"
	ModeTorchProfiler = "torch_profiler"
	ModeFlops         = "flops"
)

var modes = map[string]string{
	plan.StepUnprofiled: ModeTime, plan.StepDirectInference: ModeTime, plan.StepTorchProfiler: ModeTorchProfiler,
	plan.StepTorchFlops: ModeFlops, plan.StepNsys: ModeProfile, plan.StepNcu: ModeProfile,
}

// ModeOf is the mode of a program in a step; "" where the step runs none.
func ModeOf(step string) string { return modes[step] }

// Spec is what a program is told. Sections are those of the plan, by the keys of the
// configuration, and with null where that says null: see plan.Section.
type Spec struct {
	Schema        int            `json:"schema"`
	Step          string         `json:"stage"`
	Out           string         `json:"out"`          // absolute; where the program writes
	Device        string         `json:"device"`       // cuda:0, whichever GPU that is, or cpu
	DeviceAsked   string         `json:"device_asked"` // as the configuration says it, for messages
	Kind          string         `json:"kind"`
	Mode          string         `json:"mode"`
	Model         map[string]any `json:"model"` // with absolute paths
	Infer         map[string]any `json:"infer"` // with warm_tokens where a pass of the warm-up is bounded
	Dataset       map[string]any `json:"dataset"`
	NVTX          map[string]any `json:"nvtx"`
	TorchProfiler map[string]any `json:"torch_profiler"`
	Predictions   bool           `json:"predictions"`
	// Then is a session under torch.profiler that follows in the same process, with
	// the model that is loaded and warm. Only a timed session has one.
	Then *Spec `json:"then,omitempty"`
}

// Places are the folders and the interpreter of one step.
type Places struct {
	Python  string // the interpreter
	Program string // where the programs are unpacked
	Out     string // where the step writes, absolute
	Start   string // that relative paths of the configuration begin in
}

// Env is what every program gets on top of the environment of the workload:
// its words as they are said, and no compiled files in the run. Those of torch
// go elsewhere once the program has begun (session/compiled.py).
var Env = []string{"PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1"}

// Build is what a step tells its program and how it starts it: the spec and the
// command. The plan stays as it is.
func Build(p *plan.Plan, step string, at Places) (spec Spec, argv []string, err error) {
	mode, ok := modes[step]
	if !ok {
		return Spec{}, nil, fmt.Errorf("build workload: %q is not a step that runs one", step)
	}
	if !Shipped(p) {
		return Spec{}, nil, fmt.Errorf("build workload: %q is not a workload that ships with deepprof", p.Pipeline.Workload.Kind)
	}
	own := *p
	// A session runs in the folder of the workload.
	for _, path := range []*string{&own.Model.Path, &own.Model.Config.File, &own.Dataset.Root, &own.Dataset.SubsetFilelist} {
		*path = Abs(*path, at.Start)
	}
	for _, c := range changes(p, step) {
		c.apply(&own)
	}
	spec = Spec{
		Schema: Schema, Step: step, Out: at.Out, Device: "cuda:0", DeviceAsked: p.Device, Kind: p.Pipeline.Workload.Kind, Mode: mode,
		Model: plan.Section(&own.Model), Infer: plan.Section(&own.Infer), Dataset: plan.Section(&own.Dataset), NVTX: plan.Section(&own.NVTX),
		TorchProfiler: plan.Section(&own.Pipeline.TorchProfiler), Predictions: step == plan.StepDirectInference && p.Pipeline.DirectInference.Predictions,
	}
	if p.Device == "cpu" {
		spec.Device = "cpu"
	}
	if step == plan.StepNcu && BriefWarmup(p) {
		spec.Infer["warm_tokens"] = briefTokens
	}
	return spec, []string{at.Python, filepath.Join(at.Program, "main.py"), "--spec", filepath.Join(at.Out, runs.SpecName)}, nil
}

// Shipped tells whether the workload of a plan is a program of deepprof's own.
func Shipped(p *plan.Plan) bool {
	return slices.Contains([]string{plan.WorkloadLLM, plan.WorkloadVLM, plan.WorkloadResNet}, p.Pipeline.Workload.Kind)
}

// Abs leaves "" as it is: it means that there is no such file.
func Abs(path, start string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(start, path)
}

// SeedOf is the seed that sessions shuffled with by their specs, which runs of
// schema 1 store nowhere else; nil where there is none.
func SeedOf(specs []string) *int {
	for _, path := range specs {
		var spec struct {
			Dataset struct{ Sampling struct{ Seed *int } }
		}
		if data, err := os.ReadFile(path); err == nil && json.Unmarshal(data, &spec) == nil && spec.Dataset.Sampling.Seed != nil {
			return spec.Dataset.Sampling.Seed
		}
	}
	return nil
}

// A Deviation is a setting that a step does not use as it is configured.
type Deviation struct {
	Stage      string          `json:"stage"`
	Key        string          `json:"key"`
	Configured string          `json:"configured"`
	Used       string          `json:"used"`
	Why        fact.StoredList `json:"why"`
}

// Why a step needs a setting to be different.
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

// reasons are facts without parameters.
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

// change is a deviation with its effect on the plan that a session is told.
type change struct {
	Deviation
	apply func(*plan.Plan)
}

// Deviations are what a step changes of the configuration, for the report.
func Deviations(p *plan.Plan, step string) []Deviation {
	var out []Deviation
	for _, c := range changes(p, step) {
		out = append(out, c.Deviation)
	}
	return out
}

// changes are what a step requires to be different. Timed steps run as
// configured.
func changes(p *plan.Plan, step string) []change {
	mode := modes[step]
	if mode == "" || mode == ModeTime {
		return nil
	}
	var out []change
	add := func(key, configured, used string, apply func(*plan.Plan), why ...fact.Code) {
		if configured != used {
			out = append(out, change{Deviation{step, key, configured, used, reasons(why)}, apply})
		}
	}
	s, t := p.Dataset.Sampling, p.Pipeline.TorchProfiler
	oneSample := func(p *plan.Plan) { p.Dataset.Sampling.NumSamplesPerEpoch = 1 }
	onceEach := func(p *plan.Plan) { p.Infer.Repeats = 1 }
	if s.NumSamplesPerEpoch == 0 {
		add("dataset.sampling.num_samples_per_epoch", "null", "1", oneSample, firstSample)
	}
	repeats := strconv.Itoa(p.Infer.Repeats)
	if step == plan.StepNcu && BriefWarmup(p) {
		add("infer.warmup", strconv.Itoa(p.Infer.Warmup), fmt.Sprintf("1 pass, %d tokens", briefTokens), func(p *plan.Plan) { p.Infer.Warmup = 1 }, briefWarmup)
	}
	if mode == ModeProfile {
		add("infer.repeats", repeats, "1", onceEach, onePass, sameLaunches)
		add("pipeline.torch_profiler.enable", strconv.FormatBool(t.Enable), "false", func(p *plan.Plan) { p.Pipeline.TorchProfiler.Enable = false }, oneProfiler)
		// These two have steps of their own: no session is told of them.
		add("pipeline.static_analysis.torch_flop_counter", strconv.FormatBool(p.Pipeline.StaticAnalysis.TorchFlopCounter), "false", func(*plan.Plan) {}, countedApart)
		add("pipeline.direct_inference.predictions", strconv.FormatBool(p.Pipeline.DirectInference.Enable && p.Pipeline.DirectInference.Predictions), "false", func(*plan.Plan) {}, notProfiled)
		return out
	}
	add("infer.repeats", repeats, "1", onceEach, onePass)
	add("dataset.sampling.num_epochs", strconv.Itoa(s.NumEpochs), "1", func(p *plan.Plan) { p.Dataset.Sampling.NumEpochs = 1 }, onePass)
	if s.NumSamplesPerEpoch > 0 {
		add("dataset.sampling.num_samples_per_epoch", strconv.Itoa(s.NumSamplesPerEpoch), "1", oneSample, onePass)
	}
	if mode == ModeTorchProfiler && t.RepMaxNewTokens < p.Infer.MaxNewTokens {
		add("infer.max_new_tokens", strconv.Itoa(p.Infer.MaxNewTokens), strconv.Itoa(t.RepMaxNewTokens), func(p *plan.Plan) { p.Infer.MaxNewTokens = t.RepMaxNewTokens }, boundedTokens)
	}
	if mode == ModeFlops {
		add("infer.cuda_graphs", strconv.FormatBool(p.Infer.CUDAGraphs), "false", func(p *plan.Plan) { p.Infer.CUDAGraphs = false }, graphUncounted)
		add("infer.compile", strconv.FormatBool(p.Infer.Compile), "false", func(p *plan.Plan) { p.Infer.Compile = false }, fusedUncounted)
	}
	return out
}
