package timeline

// A KernelRow summarizes the executions of one kernel. Fractions are rounded
// to one decimal as Nsight Systems prints them, so that both agree.
type KernelRow struct {
	Name      string  `json:"name"`
	ShortName string  `json:"short_name"`
	TotalNS   int64   `json:"total_ns"` // GPU time: sum of the durations
	Calls     int64   `json:"calls"`    // launches
	MeanNS    float64 `json:"mean_ns"`
	MedianNS  float64 `json:"median_ns"`
	MinNS     int64   `json:"min_ns"`
	MaxNS     int64   `json:"max_ns"`
	StddevNS  float64 `json:"stddev_ns"` // of a sample; 0 for one call
	TimePct   float64 `json:"time_pct"`  // of all kernels that pass the filters

	// The fields below are set where the rows are split by them.
	Device        *int      `json:"device,omitempty"`
	Process       *int      `json:"process,omitempty"`
	Region        *string   `json:"region,omitempty"` // path of the innermost range; "" outside every range
	Grid          *[3]int32 `json:"grid,omitempty"`
	Block         *[3]int32 `json:"block,omitempty"`
	Registers     *int32    `json:"registers,omitempty"`
	StaticShared  *int32    `json:"static_shared_bytes,omitempty"`
	DynamicShared *int32    `json:"dynamic_shared_bytes,omitempty"`
}

// A RegionRow sums all instances of one region path. See docs/regions.md for
// what each number means.
type RegionRow struct {
	Path        string `json:"path"`
	Name        string `json:"name"`
	Domain      string `json:"domain"`
	Style       string `json:"style"` // PushPop or StartEnd
	Instances   int64  `json:"instances"`
	RangeNS     int64  `json:"range_ns"`            // on the host, summed over the instances
	ProjectedNS int64  `json:"gpu_projected_ns"`    // from the first to the last of the work of each instance, summed
	KernelCalls int64  `json:"kernel_calls"`        // launches, those of nested regions too
	InclusiveNS int64  `json:"kernel_ns_inclusive"` // GPU time, that of nested regions too
	ExclusiveNS int64  `json:"kernel_ns_exclusive"` // GPU time of what no nested region launched
	BusyNS      int64  `json:"gpu_busy_ns"`         // of ProjectedNS: a kernel or copy of the region ran
	IdleNS      int64  `json:"gpu_idle_ns"`         // of ProjectedNS: none ran

	ExclusiveCalls int64 `json:"kernel_calls_exclusive"`
	GPUOps         int64 `json:"gpu_ops"`        // kernels, copies and sets
	CopyNS         int64 `json:"copy_ns"`        // copies and sets
	CopyBytes      int64 `json:"copy_bytes"`     // as CopyNS
	GraphLaunches  int64 `json:"graph_launches"` // traced as a whole
	GraphNS        int64 `json:"graph_ns"`
	WallBusyNS     int64 `json:"range_gpu_busy_ns"` // part of range_ns in which a GPU of the process ran anything
	Unclosed       int64 `json:"unclosed"`          // instances that were never closed
	Depth          int   `json:"depth"`             // 0 for an outermost range

	// Group is the path without ids of operators, and with "#" for numbers that
	// count instances: decode/step# for decode/step12.
	Group string `json:"group"`
	// How long single instances lasted on the host; Outliers took more than twice
	// the median.
	MinNS    int64 `json:"range_min_ns"`
	MedianNS int64 `json:"range_median_ns"`
	MaxNS    int64 `json:"range_max_ns"`
	Outliers int64 `json:"outliers"`
	// Async counts the instances that were closed before the work that they
	// launched had ended. Their wall time is the host's alone: work is held
	// against the projected time.
	Async int64 `json:"async_instances"`

	// SameThread is set for start/end regions.
	SameThread *SameThread `json:"same_thread,omitempty"`

	Device  *int `json:"device,omitempty"`
	Process *int `json:"process,omitempty"`
}

// SameThread is the part of a start/end region that was launched by the thread
// which opened the range and closed it again: what the reports of Nsight
// Systems show of it. As there, a kernel in several instances counts in each.
type SameThread struct {
	ProjectedNS int64 `json:"gpu_projected_ns"`
	KernelCalls int64 `json:"kernel_calls"`
	KernelNS    int64 `json:"kernel_ns"`
}

// A RangeRow is one instance of an NVTX range.
type RangeRow struct {
	ID             int    `json:"id"` // place in the file, from 1
	Path           string `json:"path"`
	Name           string `json:"name"`
	Domain         string `json:"domain"`
	Style          string `json:"style"`
	StartNS        int64  `json:"start_ns"` // on the clock of the capture
	EndNS          int64  `json:"end_ns"`
	RangeNS        int64  `json:"range_ns"`
	Process        int    `json:"process"`                          // as the system counts
	Thread         int    `json:"thread"`                           // as the system counts
	Depth          int    `json:"depth"`                            // 0 for an outermost range
	ProjectedStart *int64 `json:"gpu_projected_start_ns,omitempty"` // absent without GPU work
	ProjectedNS    int64  `json:"gpu_projected_ns"`                 // from the first to the last of its work; 0 without any
	KernelCalls    int64  `json:"kernel_calls"`                     // launches, those of nested ranges too
	InclusiveNS    int64  `json:"kernel_ns_inclusive"`              // GPU time, that of nested ranges too
	ExclusiveNS    int64  `json:"kernel_ns_exclusive"`              // GPU time of what no nested range launched
	BusyNS         int64  `json:"gpu_busy_ns"`
	IdleNS         int64  `json:"gpu_idle_ns"`
	GPUOps         int64  `json:"gpu_ops"`
	GraphLaunches  int64  `json:"graph_launches"`
	Unclosed       bool   `json:"unclosed,omitempty"`
	Category       string `json:"category,omitempty"`
	Color          string `json:"color,omitempty"` // #AARRGGBB
	PayloadType    string `json:"payload_type,omitempty"`
	Payload        string `json:"payload,omitempty"`
}

// A LaunchRow is one execution of a kernel.
type LaunchRow struct {
	ID      int      `json:"id"` // place in the file, from 1
	Kernel  string   `json:"kernel"`
	Short   string   `json:"short_name"`
	Grid    [3]int32 `json:"grid"`
	Block   [3]int32 `json:"block"`
	Context int      `json:"context"`
	Stream  int      `json:"stream"`
	Device  int      `json:"device"`
	NVTX    string   `json:"nvtx"` // path of the innermost range, "" outside every range

	NVTXAll       []string `json:"nvtx_all,omitempty"` // one path per domain, then the open start/end ranges
	Process       int      `json:"process"`            // as the system counts
	Thread        *int     `json:"thread,omitempty"`   // that launched it
	StartNS       int64    `json:"start_ns"`           // on the clock of the capture
	DurationNS    int64    `json:"duration_ns"`
	LaunchNS      *int64   `json:"launch_ns,omitempty"` // start of the call that launched it
	QueueNS       *int64   `json:"queue_ns,omitempty"`  // from there to its start
	Registers     int32    `json:"registers"`           // of a thread
	StaticShared  int32    `json:"static_shared_bytes"`
	DynamicShared int32    `json:"dynamic_shared_bytes"`
	Correlation   *uint32  `json:"correlation,omitempty"` // absent where the file has none
	GraphNode     int64    `json:"graph_node,omitempty"`  // 0 without a graph
	Graph         int64    `json:"graph,omitempty"`

	text *launchText // nil where it is not kept
}

// A GapRow is time in which a device, or one stream of it, ran nothing between
// two pieces of work.
type GapRow struct {
	Device     int       `json:"device"`
	Process    *int      `json:"process,omitempty"`
	Context    *int      `json:"context,omitempty"`
	Stream     *int      `json:"stream,omitempty"` // absent in a gap of the whole device
	StartNS    int64     `json:"start_ns"`
	EndNS      int64     `json:"end_ns"`
	DurationNS int64     `json:"duration_ns"`
	Before     string    `json:"before"`          // the work that ended
	After      string    `json:"after"`           // the work that began
	NVTX       string    `json:"nvtx"`            // innermost range that launched the work after it
	Calls      []GapCall `json:"calls,omitempty"` // CUDA calls that lie in the gap, by name
	// HostNS is the part of the gap in which the thread that launched the next
	// work was in no CUDA call; absent where that thread is not known.
	HostNS *int64 `json:"host_ns,omitempty"`
	// Host is the range that was the innermost one of that thread for most of the gap,
	// until it launched the next work: the module that ran on the host. "" outside every
	// range, or where the thread is not known.
	Host string `json:"host_nvtx,omitempty"`
	// Python is the code in which that thread was seen meanwhile, most samples first;
	// only where nsys sampled Python.
	Python []HostFrame `json:"python,omitempty"`

	text *gapText // nil where it is not kept
}

// A GapCall sums the calls of one name within a gap.
type GapCall struct {
	Name  string `json:"name"`
	NS    int64  `json:"ns"` // overlap with the gap
	Calls int64  `json:"calls"`
}
