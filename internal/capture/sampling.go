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

// SampleRate is how often counters of which GPUs can be sampled under nsys over a
// time, which is 0 where it is not known, on a machine of so many GPUs; 0 is not at
// all.
func SampleRate(p *plan.Plan, length time.Duration, machine int) (hz int, gpus string) {
	hz, gpus = p.Pipeline.Nsys.GPUMetricsHz, sampledGPUs(p.Device)
	if gpus != "all" {
		machine = 1
	}
	if seconds := length.Seconds(); seconds > 0 {
		hz = min(hz, int(maxSampleBytes/bytesPerReading/seconds)/max(1, machine))
	}
	if hz < MinSampleHz {
		return 0, ""
	}
	return hz, gpus
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
