// Package plan owns the typed form of a run's configuration: what each key
// means, which values it takes, and which values contradict each other.
//
// Decode turns a composed and resolved tree into a Plan and reports everything
// that is wrong with it at once. It supplies no defaults: those are in the
// YAML tree of package conf, and a key that the tree lacks is a problem.
//
// The struct tags drive the decoder and docs/configuration.md:
//
//	key    name of the key in its mapping
//	oneof  values that a string, or each element of a list, may have
//	form   what a string looks like; a rule checks it
//	min, max, above   bounds of a number; above excludes the bound itself
//	null   null is allowed, decodes to the zero value, and means this
//	absent the key is newer than stored runs and users' files: where it is missing it has its zero value, which means this
//	digits an integer stands for the string of its digits
//	split  a string is taken as a list, cut at this character
//
// The decoder with its error messages takes 800 lines, rules about values that contradict
// each other or that the tools refuse 700, the structs 600; the rest stores plans and
// reads the keys of earlier versions.
package plan

import "time"

//go:generate go test -run TestConfigurationPageIsFresh . -update

// Plan is everything that a run needs to know before it starts.
type Plan struct {
	// Device is the GPU that the workload sees, by index or UUID; all is whatever CUDA_VISIBLE_DEVICES shows already.
	Device string `key:"device" form:"cuda:N, GPU-..., MIG-..., cpu or all"`
	// Infer says how a shipped workload runs its model.
	Infer Infer `key:"infer"`
	// NVTX says how the shipped workloads place their ranges.
	NVTX NVTX `key:"nvtx"`
	// Dataset is where the inputs come from.
	Dataset Dataset `key:"dataset"`
	// Model is what a shipped workload loads.
	Model Model `key:"model"`
	// Pipeline holds the steps of the run.
	Pipeline Pipeline `key:"pipeline"`
}

// Infer says how a shipped workload runs its model.
type Infer struct {
	// BatchSize is the number of samples in one pass.
	BatchSize int `key:"batch_size" min:"1"`
	// PromptLength is the number of tokens in a generated prompt.
	PromptLength int `key:"prompt_length" min:"1"`
	// Prompt is the instruction given with each input.
	Prompt string `key:"prompt" null:"random tokens of prompt_length"`
	// MaxNewTokens is the number of tokens to decode.
	MaxNewTokens int `key:"max_new_tokens" min:"1"`
	// IgnoreEOS keeps decoding to max_new_tokens past the end-of-text token.
	IgnoreEOS bool `key:"ignore_eos"`
	// DoSample draws the next token instead of taking the likeliest.
	DoSample bool `key:"do_sample"`
	// Temperature divides the logits before sampling.
	Temperature float64 `key:"temperature" min:"0"`
	// TopK keeps the K likeliest tokens before sampling; 0 keeps all.
	TopK int `key:"top_k" min:"0"`
	// TopP keeps the likeliest tokens up to this probability before sampling; 1 keeps all.
	TopP float64 `key:"top_p" above:"0" max:"1"`
	// Seed starts the random numbers of weights, prompts and token sampling.
	Seed int `key:"seed" min:"0"`
	// KVCache is the kind of key-value cache.
	KVCache string `key:"kv_cache" oneof:"dynamic,static"`
	// Compile passes the model through torch.compile.
	Compile bool `key:"compile"`
	// CUDAGraphs captures the decode step once and replays it.
	CUDAGraphs bool `key:"cuda_graphs"`
	// Warmup is the number of passes before the first range.
	Warmup int `key:"warmup" min:"0"`
	// Repeats is the number of measured passes over each sample.
	Repeats int `key:"repeats" min:"1"`
}

// NVTX says how the shipped workloads place their ranges.
type NVTX struct {
	// Sync waits for the device before a range closes.
	Sync bool `key:"sync"`
}

// Dataset is where the inputs come from.
type Dataset struct {
	// Name identifies the dataset in reports.
	Name string `key:"name"`
	// Root is the folder of the files.
	Root string `key:"root" null:"inputs are generated"`
	// SubsetFilelist is a text file with one path a line, relative to root or absolute.
	SubsetFilelist string `key:"subset_filelist" null:"fallback_patterns choose the files"`
	// FallbackPatterns are globs relative to root, used when there is no list.
	FallbackPatterns []string `key:"fallback_patterns"`
	// Synthetic describes generated inputs.
	Synthetic Synthetic `key:"synthetic"`
	// Sampling says which samples are run, and how often.
	Sampling Sampling `key:"sampling"`
}

// Synthetic describes generated inputs.
type Synthetic struct {
	// NumSamples is the number of different inputs.
	NumSamples int `key:"num_samples" min:"1"`
}

// Sampling says which samples are run, and how often.
type Sampling struct {
	// NumEpochs is the number of passes over the chosen samples.
	NumEpochs int `key:"num_epochs" min:"1"`
	// NumSamplesPerEpoch is the number of samples in each pass.
	NumSamplesPerEpoch int `key:"num_samples_per_epoch" min:"1" null:"all samples"`
	// Randomize shuffles the samples of each epoch.
	Randomize bool `key:"randomize"`
	// Seed makes the shuffle repeatable.
	Seed *int `key:"seed" min:"0" null:"a fresh seed, recorded in the run"`
}

// The kinds of model.
const (
	ModelCausalLM  = "causal_lm"
	ModelImageText = "image_text"
	ModelResNet    = "resnet"
	ModelNone      = "none"
)

// Model is what a shipped workload loads.
type Model struct {
	// Name identifies the model in reports.
	Name string `key:"name"`
	// Kind is what the model does, and so which workload can run it.
	Kind string `key:"kind" oneof:"causal_lm,image_text,resnet,none"`
	// Path is a local folder with weights and config.json.
	Path string `key:"path" null:"built from config with random weights"`
	// Config is what to build with random weights: a mapping in the form of config.json, or the path of such a file.
	Config ModelConfig `key:"config" null:"that of path"`
	// DType is the type of weights and activations.
	DType string `key:"dtype" oneof:"bf16,fp16,fp32"`
	// AttnImplementation is transformers' name of the attention to use.
	AttnImplementation string `key:"attn_implementation" oneof:"sdpa,eager,flash_attention_2,flash_attention_3,flex_attention"`
	// ImageSize is the edge of the square input image in pixels.
	ImageSize int `key:"image_size" min:"1" null:"no images, or the processor of path decides"`
	// TrustRemoteCode lets transformers run the Python code that lies in the folder of path.
	TrustRemoteCode bool `key:"trust_remote_code" absent:"no code of the checkpoint is run"`
	// StageHooks maps a label to the path of a module; each becomes a range inside prefill and decode.
	StageHooks map[string]string `key:"stage_hooks"`
}

// ModelConfig is a model's architecture: a file or values, not both; neither
// where the configuration says null.
type ModelConfig struct {
	// File is the path of a config.json; "" where the values are given.
	File string
	// Values are the fields of a config.json; nil where a file is given. They hold nil, bool, int64, float64,
	// string, []any and map[string]any.
	Values map[string]any
}

// given tells whether the configuration names an architecture.
func (c ModelConfig) given() bool { return c.File != "" || c.Values != nil }

// Pipeline holds the steps of the run.
type Pipeline struct {
	// Workload is the program to profile.
	Workload Workload `key:"workload"`
	// Unprofiled runs the workload without any profiler: the time that overhead is measured against.
	Unprofiled Unprofiled `key:"unprofiled"`
	// DirectInference runs the workload unprofiled for its predictions.
	DirectInference DirectInference `key:"direct_inference"`
	// TorchProfiler runs the workload once under torch.profiler.
	TorchProfiler TorchProfiler `key:"torch_profiler"`
	// StaticAnalysis derives FLOPs and bytes from the model's config.
	StaticAnalysis StaticAnalysis `key:"static_analysis"`
	// Annotate says which ranges are opened in a Python program that imports torch, without a change of the program.
	Annotate string `key:"annotate" oneof:"none,auto,stages,modules" absent:"none"`
	// AnnotateDepth is how deep modules are annotated; 0 is all of them.
	AnnotateDepth int `key:"annotate_depth" absent:"all of them" min:"0"`
	// AnnotateLimit is how many ranges one pass may open before deeper modules are left out.
	AnnotateLimit int `key:"annotate_limit" absent:"20000" min:"0"`
	// AnnotateCost runs the workload once more, annotated and unprofiled, to measure what annotation costs.
	AnnotateCost bool `key:"annotate_cost" absent:"false"`
	// Server says how a server is profiled, of workload kind server only.
	Server Server `key:"server" absent:"the workload is no server"`
	// Repeats is how many processes measure: the unprofiled run and the timeline are made this often, each time in new ones.
	Repeats int `key:"repeats" absent:"1" min:"1" max:"100"`
	// Ranks chooses the ranks of a job that nsys is put in front of, where the command begins with torchrun, mpirun, mpiexec or srun.
	Ranks []string `key:"ranks" split:"," digits:"yes" form:"all, one-per-node, or a list of ranks" absent:"all"`
	// Nsys captures the timeline with Nsight Systems.
	Nsys Nsys `key:"nsys"`
	// Ncu counts chosen launches with Nsight Compute.
	Ncu Ncu `key:"ncu"`
	// Regions says what the region reports show.
	Regions Regions `key:"regions"`
	// Supervision says when a process is given up or tried again.
	Supervision Supervision `key:"supervision"`
}

// The kinds of workload.
const (
	WorkloadLLM     = "llm"
	WorkloadVLM     = "vlm"
	WorkloadResNet  = "resnet"
	WorkloadCommand = "command"
	WorkloadServer  = "server"
)

// Workload is the program to profile.
type Workload struct {
	// Kind is a program that ships with deepprof, a command, or a server.
	Kind string `key:"kind" oneof:"llm,vlm,resnet,command,server"`
	// Python is the interpreter of the shipped programs: a name to look up in PATH, or a path.
	Python string `key:"python"`
	// Command is the program and its arguments, of kind command and server only.
	Command []string `key:"command"`
	// Cwd is the working directory of the program.
	Cwd string `key:"cwd" null:"where deepprof was started"`
	// Chdir runs the program in the folder of the run; relative paths in its arguments then begin there.
	Chdir bool `key:"chdir" null:"false" absent:"false"`
	// Env holds variables on top of deepprof's own environment, with those of hydra.job.env_set.
	Env map[string]string `key:"env"`
	// PassEnv names variables that look like secrets and that the workload gets under nsys all the same; nsys stores them in its report.
	PassEnv []string `key:"pass_env" absent:"none"`
}

// Unprofiled runs the workload without any profiler: the time that overhead is measured against.
type Unprofiled struct {
	// Enable turns the step on.
	Enable bool `key:"enable"`
	// Repeats is the number of runs of the whole program.
	Repeats int `key:"repeats" min:"1"`
	// OverheadLimit is the share of the unprofiled time (0.25 is 25 %) above which the report advises a lighter preset.
	OverheadLimit float64 `key:"overhead_limit" above:"0"`
	// Timeout ends the step after this many seconds.
	Timeout time.Duration `key:"timeout_s" above:"0" null:"no limit"`
}

// DirectInference runs the workload unprofiled for its predictions.
type DirectInference struct {
	// Enable turns the step on.
	Enable bool `key:"enable"`
	// Predictions writes predictions.jsonl.
	Predictions bool `key:"predictions"`
	// Timeout ends the step after this many seconds.
	Timeout time.Duration `key:"timeout_s" above:"0" null:"no limit"`
}

// TorchProfiler runs the workload once under torch.profiler.
type TorchProfiler struct {
	// Enable turns the step on.
	Enable bool `key:"enable"`
	// Activities are what torch.profiler records.
	Activities []string `key:"activities" oneof:"cpu,cuda" split:","`
	// RecordShapes records the input shapes of operators.
	RecordShapes bool `key:"record_shapes"`
	// ProfileMemory records allocations.
	ProfileMemory bool `key:"profile_memory"`
	// WithStack records Python stacks.
	WithStack bool `key:"with_stack"`
	// GroupByInputShape makes a row for each operator and shape.
	GroupByInputShape bool `key:"group_by_input_shape"`
	// RepMaxNewTokens is the number of tokens to decode under the profiler, at most infer.max_new_tokens.
	RepMaxNewTokens int `key:"rep_max_new_tokens" min:"1"`
	// ChromeTrace writes trace.json.
	ChromeTrace bool `key:"chrome_trace"`
	// Timeout ends the step after this many seconds.
	Timeout time.Duration `key:"timeout_s" above:"0" null:"no limit"`
}

// StaticAnalysis derives FLOPs and bytes from the model's config.
type StaticAnalysis struct {
	// Enable turns the step on.
	Enable bool `key:"enable"`
	// TorchFlopCounter counts again with torch's FlopCounterMode in a pass of its own.
	TorchFlopCounter bool `key:"torch_flop_counter"`
}

// Regions says what the region reports show.
type Regions struct {
	// KernelInclude are the kernels to show: names, or regex:...; empty means all.
	KernelInclude []string `key:"kernel_include"`
	// KernelExclude are the kernels to leave out, in the same form; applied first.
	KernelExclude []string `key:"kernel_exclude"`
	// Aggregate adds a section over all processes and devices.
	Aggregate bool `key:"aggregate"`
}

// Supervision says when a process is given up or tried again.
type Supervision struct {
	// Stall is the number of seconds without any sign of life after which a process counts as hung.
	Stall time.Duration `key:"stall_s" above:"0" null:"never"`
	// Retries is the number of further attempts after an error that is known to pass.
	Retries int `key:"retries" min:"0" max:"10"`
	// Backoff is the number of seconds before the first further attempt; it doubles with each.
	Backoff time.Duration `key:"backoff_s" min:"0"`
	// StopGrace is the number of seconds that a profiler gets to write its report once asked to stop.
	StopGrace time.Duration `key:"stop_grace_s" above:"0"`
}
