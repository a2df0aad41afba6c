package nsys

import (
	"slices"
	"strings"
)

// traceTables are the tables of an export that hold what nsys traces, by the
// value of --trace or by the option that asks for it. An export has only tables
// with rows. Of what is not listed (cusparse, cusolver, oshmem, python-gil,
// syscall), no export shows where it is stored.
var traceTables = map[string][]string{
	"osrt":               {"OSRT_API"},
	"cublas":             {"CUBLAS_EVENTS"},
	"cublas-verbose":     {"CUBLAS_EVENTS"},
	"cudnn":              {"CUDNN_EVENTS"},
	"mpi":                {"MPI_P2P_EVENTS", "MPI_COLLECTIVES_EVENTS", "MPI_START_WAIT_EVENTS", "MPI_OTHER_EVENTS"},
	"ucx":                {"UCP_EVENTS", "UCP_SUBMIT_EVENTS", "UCP_PROGRESS_EVENTS"},
	"openacc":            {"CUPTI_ACTIVITY_KIND_OPENACC_DATA", "CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH", "CUPTI_ACTIVITY_KIND_OPENACC_OTHER"},
	"opengl":             {"OPENGL_API", "OPENGL_WORKLOAD"},
	"opengl-annotations": {"KHR_DEBUG_EVENTS"},
	"vulkan":             {"VULKAN_API", "VULKAN_WORKLOAD"},
	"vulkan-annotations": {"VULKAN_DEBUG_API"},
	"nvvideo":            {"NVVIDEO_ENCODER_API", "NVVIDEO_DECODER_API", "NVVIDEO_JPEG_API"},
	"openmp": {
		"OPENMP_EVENT_KIND_THREAD", "OPENMP_EVENT_KIND_PARALLEL", "OPENMP_EVENT_KIND_SYNC_REGION_WAIT", "OPENMP_EVENT_KIND_SYNC_REGION",
		"OPENMP_EVENT_KIND_TASK", "OPENMP_EVENT_KIND_MASTER", "OPENMP_EVENT_KIND_REDUCTION", "OPENMP_EVENT_KIND_TASK_CREATE",
		"OPENMP_EVENT_KIND_WORKSHARE", "OPENMP_EVENT_KIND_DISPATCH", "OPENMP_EVENT_KIND_FLUSH",
	},
	TraceSampling:   {"COMPOSITE_EVENTS"},
	TraceScheduling: {"SCHED_EVENTS"},
	TraceGPUMetrics: {"GPU_METRICS"},
	TraceNICMetrics: {"NET_NIC_METRIC"},
}

// What options other than --trace ask for.
const (
	TraceSampling   = "CPU samples"
	TraceScheduling = "thread scheduling"
	TraceGPUMetrics = "GPU metrics"
	TraceNICMetrics = "NIC metrics"
)

// OptionTraces are what further arguments of nsys profile ask for.
// The result is sorted and has no repeats; nil if they ask for nothing more.
func OptionTraces(args []string) []string {
	var out []string
	for option, name := range map[string]string{"--gpu-metrics-device": TraceGPUMetrics, "--nic-metrics": TraceNICMetrics} {
		asks := func(arg string) bool {
			_, value, _ := strings.Cut(arg, "=")
			return strings.HasPrefix(arg, option) && value != "none" && value != "false"
		}
		if slices.ContainsFunc(args, asks) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// KnowsTrace tells whether Traced can answer for what was asked for.
func KnowsTrace(name string) bool { return traceTables[name] != nil }

// Traced tells whether the export holds anything of what was asked for.
// It is false for a name that KnowsTrace does not know.
func (f *File) Traced(name string) bool { return slices.ContainsFunc(traceTables[name], f.Has) }
