package plan

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// The gates of a timeline capture.
const (
	CaptureNone            = "none"
	CaptureNVTX            = "nvtx"
	CaptureCUDAProfilerAPI = "cudaProfilerApi"
)

// Nsys captures the timeline with Nsight Systems.
type Nsys struct {
	// Enable turns the step on.
	Enable bool `key:"enable"`
	// Path is the nsys binary.
	Path string `key:"path" null:"found in PATH or the usual install folders"`
	// Trace are the APIs to trace. Which of them exist depends on the version of nsys.
	Trace []string `key:"trace" split:"," oneof:"cuda,cuda-hw,cuda-sw,nvtx,osrt,cublas,cublas-verbose,cudnn,cusparse,cusparse-verbose,cusolver,cusolver-verbose,mpi,ucx,oshmem,openacc,openmp,opengl,opengl-annotations,vulkan,vulkan-annotations,nvvideo,python-gil,syscall"`
	// Sample is the scope of CPU sampling.
	Sample string `key:"sample" oneof:"none,process-tree,system-wide"`
	// CPUCtxSw is the scope of thread scheduling trace.
	CPUCtxSw string `key:"cpuctxsw" oneof:"none,process-tree,system-wide"`
	// CaptureRange is the gate: what starts and ends the capture.
	CaptureRange string `key:"capture_range" oneof:"none,nvtx,cudaProfilerApi"`
	// CaptureRangeEnd is what happens when the gate closes.
	CaptureRangeEnd string `key:"capture_range_end" form:"none, stop, stop-shutdown, repeat, repeat:N or repeat-shutdown:N" null:"left to nsys, which then ends the program"`
	// NVTXCapture is the range that opens the gate.
	NVTXCapture string `key:"nvtx_capture" form:"name, name@domain or name@*" null:"no range"`
	// NVTXDomainInclude are the NVTX domains to keep; empty keeps all; default is the default domain.
	NVTXDomainInclude []string `key:"nvtx_domain_include" split:","`
	// NVTXDomainExclude are the NVTX domains to drop.
	NVTXDomainExclude []string `key:"nvtx_domain_exclude" split:","`
	// NVTXRegisterOnly lets only registered strings open the gate.
	NVTXRegisterOnly bool `key:"nvtx_register_only"`
	// CUDAGraphTrace is the granularity of CUDA graphs: their kernels, or each launch as a whole.
	CUDAGraphTrace string `key:"cuda_graph_trace" oneof:"node,graph"`
	// TraceForkBeforeExec traces forked children that have not called exec.
	TraceForkBeforeExec bool `key:"trace_fork_before_exec"`
	// Wait is what nsys waits for: the program, or also what it leaves behind.
	Wait string `key:"wait" oneof:"primary,all"`
	// GPUMetrics samples counters of the GPU while the timeline is captured; auto does where the user may read counters.
	GPUMetrics string `key:"gpu_metrics" oneof:"auto,on,off" absent:"off"`
	// GPUMetricsHz is the largest rate of sampling; long captures take a lower one.
	GPUMetricsHz int `key:"gpu_metrics_hz" min:"1000" max:"200000" absent:"10000"`
	// PythonSampling looks a thousand times a second what Python executes, so that gaps name the code that the host was in.
	PythonSampling bool `key:"python_sampling" absent:"no samples"`
	// Delay is the number of seconds before capturing starts.
	Delay time.Duration `key:"delay" min:"0"`
	// Duration is the number of seconds to capture.
	Duration time.Duration `key:"duration" above:"0" null:"to the end of the program"`
	// Timeout ends the step after this many seconds.
	Timeout time.Duration `key:"timeout_s" above:"0" null:"no limit"`
	// StatsCSV also writes nsys/summary_*.csv into the run: the tables of nsys stats, made from the timeline.
	StatsCSV bool `key:"stats_csv" absent:"no CSV"`
	// ExtraArgs are further arguments of nsys profile, each written --name=value.
	ExtraArgs []string `key:"extra_args"`
}

// Ncu counts chosen launches with Nsight Compute.
type Ncu struct {
	// Enable turns the step on.
	Enable bool `key:"enable"`
	// Path is the ncu binary.
	Path string `key:"path" null:"found in PATH or the usual install folders"`
	// Pick chooses launches from the timeline: groups of the same kernel, grid and block in the order of their GPU time,
	// until the first of the limits top_n, coverage and budget_s is reached.
	Pick Pick `key:"pick"`
	// Timeout ends each ncu process after this many seconds.
	Timeout time.Duration `key:"timeout_s" above:"0" null:"no limit"`
	// RawCSV also writes ncu/raw.csv into the run: every metric of every counted launch.
	RawCSV bool `key:"raw_csv" absent:"no CSV"`
	// CLI holds what is passed to ncu.
	CLI NcuCLI `key:"ncu_cli"`
}

// Pick is the policy that chooses launches from the timeline.
type Pick struct {
	// Enable turns the choice on; without it, and without a timeline, the filters of ncu_cli decide.
	Enable bool `key:"enable"`
	// TopN is the largest number of groups.
	TopN int `key:"top_n" min:"1"`
	// Coverage is the share of GPU time that is enough.
	Coverage float64 `key:"coverage" above:"0" max:"1"`
	// Budget is the predicted number of seconds of ncu that is enough.
	Budget time.Duration `key:"budget_s" above:"0" null:"no limit"`
	// Alike is the share of a region's counted GPU time for which a launch of about the same duration is counted.
	Alike float64 `key:"alike" above:"0" max:"1" null:"one launch stands for all of its kernel, grid and block"`
	// Slowest also counts the slowest launch of each group.
	Slowest bool `key:"slowest"`
	// Collectives also counts kernels that wait for a peer.
	Collectives bool `key:"collectives"`
}

// The replay modes of ncu, and auto: range, app-range, kernel, whichever works first.
const (
	ReplayAuto        = "auto"
	ReplayKernel      = "kernel"
	ReplayRange       = "range"
	ReplayAppRange    = "app-range"
	ReplayApplication = "application"
)

// NcuCLI holds what is passed to ncu, under ncu's names.
type NcuCLI struct {
	// ReplayMode is how ncu repeats work to collect all counters.
	ReplayMode string `key:"replay_mode" oneof:"auto,kernel,range,app-range,application"`
	// Set is the section set to collect. Names depend on the version of ncu.
	Set string `key:"set" null:"only sections and metrics"`
	// Sections are the sections to collect beside the set, by identifier or regex:...
	Sections []string `key:"sections" split:","`
	// Metrics are the metrics to collect beside set and sections.
	Metrics []string `key:"metrics" split:","`
	// NVTXInclude are the NVTX ranges to count in; empty counts everywhere.
	NVTXInclude []string `key:"nvtx_include" split:";"`
	// NVTXExclude are the NVTX ranges not to count in.
	NVTXExclude []string `key:"nvtx_exclude" split:";"`
	// KernelName is the kernel to count.
	KernelName string `key:"kernel_name" form:"an exact name or regex:..." null:"all kernels"`
	// KernelNameBase is the form of the name that kernel_name and kernel_id are compared with.
	KernelNameBase string `key:"kernel_name_base" oneof:"function,demangled,mangled"`
	// KernelID is the launch to count; parts left empty match everything.
	KernelID string `key:"kernel_id" form:"context:stream:[operator:]name:invocation" null:"not used"`
	// LaunchSkip is the number of matching launches to skip.
	LaunchSkip int `key:"launch_skip" min:"0"`
	// LaunchCount is the number of matching launches to count.
	LaunchCount int `key:"launch_count" min:"1" null:"all of them"`
	// FilterMode is what skip and count apply to; auto is per-launch-config where ncu has it, else global.
	FilterMode string `key:"filter_mode" oneof:"auto,global,per-gpu,per-launch-config"`
	// TargetProcesses are the processes to profile.
	TargetProcesses string `key:"target_processes" oneof:"all,application-only"`
	// ClockControl locks the GPU clocks while counting, or leaves them.
	ClockControl string `key:"clock_control" oneof:"base,none"`
	// CacheControl flushes the GPU caches before each pass, or leaves them.
	CacheControl string `key:"cache_control" oneof:"all,none"`
	// ProfileFromStart counts from the start instead of from cudaProfilerStart.
	ProfileFromStart bool `key:"profile_from_start"`
	// GraphProfiling is the granularity of CUDA graphs: their kernels, or each launch as a whole.
	GraphProfiling string `key:"graph_profiling" oneof:"node,graph"`
	// ConfigFile is a config.ncu-cfg to use.
	ConfigFile string `key:"config_file" null:"none, not even one in the working directory"`
	// ExtraArgs are further arguments of ncu, each written --name=value.
	ExtraArgs []string `key:"extra_args"`
}

var ranksPattern = regexp.MustCompile(`^(all|one-per-node|[0-9]{1,7}(,[0-9]{1,7})*)?$`)

func checkRanks(p *Plan, d *decoder) {
	if text := strings.Join(p.Pipeline.Ranks, ","); !d.bad["pipeline.ranks"] && !ranksPattern.MatchString(text) {
		d.conflict([]string{"pipeline.ranks"}, "want all, one-per-node, or a list of ranks such as [0,7]; got %q", shorten(text))
	}
}

// SamplesCounters tells whether nsys is to sample counters of the GPU: insisted
// on, or left to the permission where CUDA is traced. Arguments of the user's own
// that sample come instead of it.
func (n Nsys) SamplesCounters() bool {
	own := slices.ContainsFunc(n.ExtraArgs, func(arg string) bool { return strings.HasPrefix(arg, "--gpu-metrics") })
	return !own && (n.GPUMetrics == "on" || n.GPUMetrics == "auto" && n.TracesCUDA())
}

// The values of filter_mode. Auto stands for per-launch-config where ncu has
// it, from 2022.4 on, and for global where not.
const (
	filterAuto            = "auto"
	filterGlobal          = "global"
	filterPerLaunchConfig = "per-launch-config"
)

// Fit settles what filter_mode auto means for the ncu that is installed. Without
// per-launch-config, launch_count would hold for all kernels together, so that
// the first launches are counted instead, as many as pick.top_n; fellBack then
// tells the caller to say so. Other values of filter_mode stay as they are.
func (n Ncu) Fit(perLaunchConfig bool) (fitted Ncu, fellBack bool) {
	if n.CLI.FilterMode != filterAuto {
		return n, false
	}
	n.CLI.FilterMode = filterPerLaunchConfig
	if perLaunchConfig {
		return n, false
	}
	n.CLI.FilterMode = filterGlobal
	if n.CLI.LaunchCount > 0 {
		n.CLI.LaunchCount = max(n.CLI.LaunchCount, n.Pick.TopN)
	}
	return n, true
}

// Server says how a server is profiled: a program that never ends by itself and
// works while requests come.
type Server struct {
	// Engine is the engine of the server, which decides what is set for it; auto goes by the command.
	Engine string `key:"engine" oneof:"auto,server,llm_server,vllm,sglang,trtllm,dynamo,llamacpp"`
	// URL is where requests go.
	URL string `key:"url" form:"http://host:port" null:"127.0.0.1 and the port of the command line"`
	// Ready is what shows that requests are served.
	Ready string `key:"ready" form:"a URL that answers 200, tcp:HOST:PORT, or log:TEXT for a line of its output that holds the text" null:"the health check of the engine, or that the port is open"`
	// ReadyTimeout ends a start that takes longer.
	ReadyTimeout time.Duration `key:"ready_timeout_s" above:"0"`
	// Warmup is how long the load runs at least before the first window.
	Warmup time.Duration `key:"warmup_s" min:"0"`
	// WarmupLimit is how long it is waited for a steady state.
	WarmupLimit time.Duration `key:"warmup_limit_s" above:"0"`
	// Steady is the share by which throughput and time per token may differ between two intervals of a steady state.
	Steady float64 `key:"steady" above:"0" max:"1"`
	// Windows is the number of profiled windows, with an idle one before each and after the last.
	Windows int `key:"windows" min:"1" max:"100"`
	// Window is the length of a profiled window.
	Window time.Duration `key:"window_s" above:"0"`
	// WindowRequests ends a profiled window once so many requests have ended in it, window_s at the latest.
	WindowRequests int `key:"window_requests" min:"1" null:"windows last window_s"`
	// WindowSteps ends a profiled window once the engine has made so many steps in it, window_s at the latest. The engine must count them in /metrics.
	WindowSteps int `key:"window_steps" min:"1" null:"windows last window_s"`
	// Idle is the length of an idle window: the session is there and collects nothing.
	Idle time.Duration `key:"idle_s" above:"0"`
	// StartupWindow also profiles the start, in which CUDA graphs are captured: without it their kernels have no layers.
	StartupWindow bool `key:"startup_window"`
	// Stop is how long the server gets to end after SIGTERM before it is killed.
	Stop time.Duration `key:"stop_s" above:"0"`
	// MaxLog ends a server that prints more megabytes than this to its output or its errors.
	MaxLog int `key:"max_log_mb" min:"1" absent:"1000"`
	// CountersTime ends the start under ncu after this many seconds of load; what was counted by then is kept.
	CountersTime time.Duration `key:"counters_s" above:"0"`
	// Load is what drives the server.
	Load Load `key:"load"`
	// LLMServer configures the server that ships with deepprof.
	LLMServer LLMServer `key:"llm_server"`
}

// The kinds of load.
const (
	LoadClient  = "client"
	LoadCommand = "command"
	LoadNone    = "none"
)

// Load is what drives a server.
type Load struct {
	// Kind is the built-in client, a command of yours, or none for traffic from outside.
	Kind string `key:"kind" oneof:"client,command,none"`
	// Command is a load program and its arguments, of kind command only; it is ended when the last window is done.
	Command []string `key:"command"`
	// Endpoint is the API that the client uses.
	Endpoint string `key:"endpoint" oneof:"completions,chat"`
	// Model is the name of the model in each request.
	Model string `key:"model" null:"the first that /v1/models lists"`
	// Concurrency is the number of clients that each wait for their answer; with rate, the largest number of open requests.
	Concurrency int `key:"concurrency" min:"1"`
	// Rate sends requests at random moments, so many a second, whether answers came or not.
	Rate float64 `key:"rate" above:"0" null:"each client sends its next request when it has its answer"`
	// Prompt is the distribution of prompt lengths in tokens.
	Prompt string `key:"prompt" digits:"yes" form:"N, N-M (uniform), normal:MEAN:DEVIATION or lognormal:MEDIAN:SIGMA"`
	// Output is the distribution of answer lengths in tokens, in the same form.
	Output string `key:"output" digits:"yes" form:"N, N-M (uniform), normal:MEAN:DEVIATION or lognormal:MEDIAN:SIGMA"`
	// Seed makes the requests repeatable.
	Seed int `key:"seed" min:"0"`
	// Vocabulary bounds the token ids of prompts.
	Vocabulary int `key:"vocabulary" min:"20" null:"prompts are words, about one token each, as they are for chat"`
	// IgnoreEOS asks for answers of full length, which vLLM, SGLang, TensorRT-LLM and llama.cpp understand.
	IgnoreEOS bool `key:"ignore_eos"`
	// Wait is how long kind none waits for traffic before the first window.
	Wait time.Duration `key:"wait_s" above:"0" absent:"it does not wait"`
	// Timeout ends one request.
	Timeout time.Duration `key:"timeout_s" above:"0"`
	// TTFT is the time to the first token that a good request meets.
	TTFT time.Duration `key:"target_ttft_s" above:"0" null:"no target"`
	// TPOT is the time per token after the first that a good request meets.
	TPOT time.Duration `key:"target_tpot_s" above:"0" null:"no target"`
}

// LLMServer configures the server that ships with deepprof. Its model is that of the configuration.
type LLMServer struct {
	// Port is where it listens.
	Port int `key:"port" min:"1" max:"65535"`
	// Device is the torch device.
	Device string `key:"device"`
	// MaxBatch is the number of sequences in a step.
	MaxBatch int `key:"max_batch" min:"1"`
	// MaxLen is the largest number of tokens of a sequence, prompt and answer together.
	MaxLen int `key:"max_len" min:"2"`
	// KVCache is the kind of key-value cache.
	KVCache string `key:"kv_cache" oneof:"static,paged"`
	// CUDAGraphs replays decode steps as CUDA graphs.
	CUDAGraphs bool `key:"cuda_graphs"`
	// StepNames is the engine whose names of steps it uses.
	StepNames string `key:"step_names" oneof:"vllm,sglang,trtllm"`
}
