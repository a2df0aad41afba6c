package capture

import (
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/workload"
)

const (
	// bytesPerReading is what one reading of all metrics takes in an export: 78 MB
	// for 5 s at 20 kHz, as seen on an H200.
	bytesPerReading = 780
	maxSampleBytes  = 100 << 20
	// MinSampleHz is the rate below which a range of a few milliseconds has too few
	// readings.
	MinSampleHz = 1000
)

// SampleRate is how often counters of which GPUs can be sampled under nsys in a
// capture of a length, which is 0 where it is not known; 0 is not at all.
func SampleRate(p *plan.Plan, length time.Duration) (hz int, gpus string) {
	hz = p.Pipeline.Nsys.GPUMetricsHz
	if seconds := length.Seconds(); seconds > 0 {
		hz = min(hz, int(maxSampleBytes/bytesPerReading/seconds))
	}
	if hz < MinSampleHz {
		return 0, ""
	}
	return hz, sampledGPUs(p.Device)
}

// sampledGPUs are the GPUs of the workload by their number; all where that is not
// told by one.
func sampledGPUs(device string) string {
	index, ok := strings.CutPrefix(device, "cuda:")
	if !ok {
		return "all"
	}
	visible, err := workload.VisibleDevice(os.Getenv("CUDA_VISIBLE_DEVICES"), index)
	if _, number := strconv.Atoi(visible); err != nil || number != nil {
		return "all"
	}
	return visible
}
