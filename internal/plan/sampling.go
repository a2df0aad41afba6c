package plan

import (
	"slices"
	"strings"
)

// SamplesCounters tells whether nsys is to sample counters of the GPU: insisted
// on, or left to the permission where CUDA is traced. Arguments of the user's own
// that sample come instead of it.
func (n Nsys) SamplesCounters() bool {
	own := slices.ContainsFunc(n.ExtraArgs, func(arg string) bool { return strings.HasPrefix(arg, "--gpu-metrics") })
	return !own && (n.GPUMetrics == "on" || n.GPUMetrics == "auto" && n.tracesCUDA())
}
