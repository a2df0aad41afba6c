package capture

import (
	"context"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/timeline"
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

// slowdown is how much longer than alone a program may take under nsys before its
// samples exceed their bound.
const slowdown = 1.25

// SampledSpan is how long counters will be sampled at most, by the time that the program
// takes without a profiler (0 where that is not known); 0 where nothing bounds it.
func SampledSpan(n plan.Nsys, program time.Duration) time.Duration {
	span := time.Duration(slowdown * float64(program))
	if span > 0 {
		span = max(span-n.Delay, time.Second)
	}
	if n.Duration > 0 && (span == 0 || n.Duration < span) {
		span = n.Duration
	}
	return span
}

// SampleRate is how often counters of which GPUs can be sampled under nsys over a
// time on a machine of so many GPUs; 0 is not at all. A time that is not known (0) has
// no bound.
func SampleRate(p *plan.Plan, length time.Duration, machine int) (hz int, gpus string) {
	hz, gpus = p.Pipeline.Nsys.GPUMetricsHz, sampledGPUs(p.Device)
	if gpus != "all" {
		machine = 1
	}
	if length <= 0 {
		return 0, ""
	}
	hz = min(hz, int(maxSampleBytes/bytesPerReading/length.Seconds())/max(1, machine))
	if hz < MinSampleHz {
		return 0, ""
	}
	return hz, gpus
}

// bytesPerSample is what a value of one metric takes in an export: of 22 metrics, 2.4
// million rows were 78 MB.
const bytesPerSample = 33

// checkSamples tells where an export holds more bytes of samples than it is to have: the
// program took longer than it was foreseen to.
func checkSamples(ctx context.Context, f *nsys.File, limit int64) ([]fact.Fact, error) {
	var rows int64
	err := f.EachSample(ctx, func(*timeline.MetricSample) error { rows++; return nil })
	if err != nil || rows*bytesPerSample <= limit {
		return nil, err
	}
	return []fact.Fact{fact.New(samplesOver, fact.Bytes("size", rows*bytesPerSample), fact.Bytes("limit", limit))}, nil
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
