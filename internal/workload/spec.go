// Package workload owns the programs that ship with deepprof as the rest of it
// sees them: what they are told (spec.json), with which interpreter they run,
// and what they leave behind (metrics.json, operators.json, flops.json,
// error.json). It starts nothing but a question to the interpreter.
//
// Launchers of several processes (srun, torchrun, mpirun) take 400 lines, the checks
// of inputs 280, annotation 190; the rest reads and judges the files of sessions.
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

// Spec is what a program is told. Sections have the keys of the configuration,
// and null where that says null.
type Spec struct {
	Schema        int           `json:"schema"`
	Stage         string        `json:"stage"`
	Out           string        `json:"out"`          // absolute; where the program writes
	Device        string        `json:"device"`       // cuda:0, whichever GPU that is, or cpu
	DeviceAsked   string        `json:"device_asked"` // as the configuration says it, for messages
	Kind          string        `json:"kind"`
	Mode          string        `json:"mode"`
	Model         Model         `json:"model"`
	Infer         Infer         `json:"infer"`
	Dataset       Dataset       `json:"dataset"`
	NVTX          NVTX          `json:"nvtx"`
	TorchProfiler TorchProfiler `json:"torch_profiler"`
	Predictions   bool          `json:"predictions"`
	// Then is a session under torch.profiler that follows in the same process, with
	// the model that is loaded and warm. Only a timed session has one.
	Then *Spec `json:"then,omitempty"`
}

// Model is the section of the same name.
type Model struct {
	Name               string            `json:"name"`
	Kind               string            `json:"kind"`
	Path               *string           `json:"path"`
	Config             any               `json:"config"` // a mapping, the path of a file, or null
	DType              string            `json:"dtype"`
	AttnImplementation string            `json:"attn_implementation"`
	ImageSize          *int              `json:"image_size"`
	TrustRemoteCode    bool              `json:"trust_remote_code"`
	StageHooks         map[string]string `json:"stage_hooks"`
}

// Infer is the section of the same name.
type Infer struct {
	BatchSize    int     `json:"batch_size"`
	PromptLength int     `json:"prompt_length"`
	Prompt       *string `json:"prompt"`
	MaxNewTokens int     `json:"max_new_tokens"`
	IgnoreEOS    bool    `json:"ignore_eos"`
	DoSample     bool    `json:"do_sample"`
	Temperature  float64 `json:"temperature"`
	TopK         int     `json:"top_k"`
	TopP         float64 `json:"top_p"`
	Seed         int     `json:"seed"`
	KVCache      string  `json:"kv_cache"`
	Compile      bool    `json:"compile"`
	CUDAGraphs   bool    `json:"cuda_graphs"`
	Warmup       int     `json:"warmup"`
	// at most so many in a pass of the warm-up; absent is no limit
	WarmTokens *int `json:"warm_tokens,omitempty"`
	Repeats    int  `json:"repeats"`
}

// Dataset is the section of the same name.
type Dataset struct {
	Name             string    `json:"name"`
	Root             *string   `json:"root"`
	SubsetFilelist   *string   `json:"subset_filelist"`
	FallbackPatterns []string  `json:"fallback_patterns"`
	Synthetic        Synthetic `json:"synthetic"`
	Sampling         Sampling  `json:"sampling"`
}

// Synthetic describes generated inputs.
type Synthetic struct {
	NumSamples int `json:"num_samples"`
}

// Sampling says which samples are run.
type Sampling struct {
	NumEpochs          int  `json:"num_epochs"`
	NumSamplesPerEpoch *int `json:"num_samples_per_epoch"`
	Randomize          bool `json:"randomize"`
	Seed               *int `json:"seed"`
}

// NVTX is the section of the same name.
type NVTX struct {
	Sync bool `json:"sync"`
}

// TorchProfiler is pipeline.torch_profiler.
type TorchProfiler struct {
	Enable            bool     `json:"enable"`
	Activities        []string `json:"activities"`
	RecordShapes      bool     `json:"record_shapes"`
	ProfileMemory     bool     `json:"profile_memory"`
	WithStack         bool     `json:"with_stack"`
	GroupByInputShape bool     `json:"group_by_input_shape"`
	RepMaxNewTokens   int      `json:"rep_max_new_tokens"`
	ChromeTrace       bool     `json:"chrome_trace"`
	TimeoutS          *float64 `json:"timeout_s"`
}

// Places are the folders and the interpreter of one stage.
type Places struct {
	Python  string // the interpreter
	Program string // where the programs are unpacked
	Out     string // where the stage writes, absolute
	Start   string // that relative paths of the configuration begin in
}

// Env is what every program gets on top of the environment of the workload:
// its words as they are said, and no compiled files in the run. Those of torch
// go elsewhere once the program has begun (session/compiled.py).
var Env = []string{"PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1"}

// Build is what a stage tells its program and how it starts it: the spec, the
// command, and the variables on top of the environment of the workload.
func Build(p *plan.Plan, stage string, at Places) (spec Spec, argv, env []string, err error) {
	mode, ok := modes[stage]
	if !ok {
		return Spec{}, nil, nil, fmt.Errorf("build workload: %q is not a stage that runs one", stage)
	}
	if !Shipped(p) {
		return Spec{}, nil, nil, fmt.Errorf("build workload: %q is not a workload that ships with deepprof", p.Pipeline.Workload.Kind)
	}
	spec = Spec{
		Schema: Schema, Stage: stage, Out: at.Out, Device: "cuda:0", DeviceAsked: p.Device, Kind: p.Pipeline.Workload.Kind, Mode: mode,
		Model: modelOf(p.Model, at.Start), Infer: Infer{
			BatchSize: p.Infer.BatchSize, PromptLength: p.Infer.PromptLength, Prompt: given(p.Infer.Prompt), MaxNewTokens: p.Infer.MaxNewTokens,
			IgnoreEOS: p.Infer.IgnoreEOS, DoSample: p.Infer.DoSample, Temperature: p.Infer.Temperature, TopK: p.Infer.TopK, TopP: p.Infer.TopP,
			Seed: p.Infer.Seed, KVCache: p.Infer.KVCache, Compile: p.Infer.Compile, CUDAGraphs: p.Infer.CUDAGraphs, Warmup: p.Infer.Warmup, Repeats: p.Infer.Repeats,
		},
		Dataset: datasetOf(p.Dataset, at.Start), NVTX: NVTX{Sync: p.NVTX.Sync}, TorchProfiler: profilerOf(p.Pipeline.TorchProfiler),
		Predictions: stage == plan.StepDirectInference && p.Pipeline.DirectInference.Predictions,
	}
	if p.Device == "cpu" {
		spec.Device = "cpu"
	}
	for _, c := range changes(p, stage) {
		c.apply(&spec)
	}
	argv = []string{at.Python, filepath.Join(at.Program, "main.py"), "--spec", filepath.Join(at.Out, runs.SpecName)}
	return spec, argv, slices.Clone(Env), nil
}

// Shipped tells whether the workload of a plan is a program of deepprof's own.
func Shipped(p *plan.Plan) bool {
	return slices.Contains([]string{plan.WorkloadLLM, plan.WorkloadVLM, plan.WorkloadResNet}, p.Pipeline.Workload.Kind)
}

// modelOf makes paths absolute: a session runs in the folder of the workload.
func modelOf(m plan.Model, start string) Model {
	out := Model{
		Name: m.Name, Kind: m.Kind, Path: given(abs(m.Path, start)), DType: m.DType, AttnImplementation: m.AttnImplementation,
		StageHooks: m.StageHooks, TrustRemoteCode: m.TrustRemoteCode,
	}
	switch {
	case m.Config.File != "":
		out.Config = abs(m.Config.File, start)
	case m.Config.Values != nil:
		out.Config = m.Config.Values
	}
	if m.ImageSize > 0 {
		out.ImageSize = &m.ImageSize
	}
	if out.StageHooks == nil {
		out.StageHooks = map[string]string{}
	}
	return out
}

// datasetOf makes paths absolute, as modelOf does.
func datasetOf(d plan.Dataset, start string) Dataset {
	out := Dataset{
		Name: d.Name, Root: given(abs(d.Root, start)), SubsetFilelist: given(abs(d.SubsetFilelist, start)),
		FallbackPatterns: append([]string{}, d.FallbackPatterns...), Synthetic: Synthetic{NumSamples: d.Synthetic.NumSamples},
		Sampling: Sampling{NumEpochs: d.Sampling.NumEpochs, Randomize: d.Sampling.Randomize, Seed: d.Sampling.Seed},
	}
	if n := d.Sampling.NumSamplesPerEpoch; n > 0 {
		out.Sampling.NumSamplesPerEpoch = &n
	}
	return out
}

// profilerOf leaves the time limit out where there is none.
func profilerOf(t plan.TorchProfiler) TorchProfiler {
	out := TorchProfiler{
		Enable: t.Enable, Activities: append([]string{}, t.Activities...), RecordShapes: t.RecordShapes, ProfileMemory: t.ProfileMemory,
		WithStack: t.WithStack, GroupByInputShape: t.GroupByInputShape, RepMaxNewTokens: t.RepMaxNewTokens, ChromeTrace: t.ChromeTrace,
	}
	if t.Timeout > 0 {
		out.TimeoutS = new(t.Timeout.Seconds())
	}
	return out
}

// given is null for a value that the configuration leaves at null.
func given(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// abs leaves "" as it is: it means that there is no such file.
func abs(path, start string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(start, path)
}

// SeedOf is the seed that sessions shuffled with by their specs, which runs of
// schema 1 store nowhere else; nil where there is none.
func SeedOf(specs []string) *int {
	for _, path := range specs {
		var spec Spec
		if data, err := os.ReadFile(path); err == nil && json.Unmarshal(data, &spec) == nil && spec.Dataset.Sampling.Seed != nil {
			return spec.Dataset.Sampling.Seed
		}
	}
	return nil
}

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
