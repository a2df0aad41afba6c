package plan

import "time"

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
