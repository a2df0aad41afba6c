package capture

import (
	"context"
	"os"
	"slices"
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
	// minSampleHz is the rate below which a range of a few milliseconds has too few
	// readings.
	minSampleHz = 1000
)

// slowdown is how much longer than alone a program may take under nsys before its
// samples exceed their bound.
const slowdown = 1.25

// Sampling is what a run knows of sampling counters under nsys.
type Sampling struct {
	Plan      *plan.Plan
	Permitted bool          // the user may read counters of the GPU
	GPUs      int           // of the machine; 0 where that is not known
	Program   time.Duration // what the workload takes without a profiler; 0 where that is not known
	Dry       bool          // nothing has run yet: Program will be known where the plan times it
	Off       bool          // it made an earlier capture of the run fail
}

// Codes of what a run tells before it samples less than it was asked to.
const (
	samplesTooLong   fact.Code = "samples-too-long" // rate
	samplesUnbounded fact.Code = "samples-unbounded"
	samplesSlower    fact.Code = "samples-slower" // rate
)

// span is how long counters will be sampled at most; 0 where nothing bounds it.
func (s Sampling) span() time.Duration {
	p := s.Plan.Pipeline
	if workload.Serves(s.Plan) { // its start is not sampled
		return time.Duration(p.Server.Windows) * p.Server.Window
	}
	if s.Dry && p.Unprofiled.Enable {
		return time.Second
	}
	span := time.Duration(slowdown * float64(s.Program))
	if span > 0 {
		span = max(span-p.Nsys.Delay, time.Second)
	}
	if p.Nsys.Duration > 0 && (span == 0 || p.Nsys.Duration < span) {
		span = p.Nsys.Duration
	}
	return span
}

// Rate is how often counters of which GPUs are sampled; 0 is not at all. The rate is
// as high as the configuration asks for and the export stays below maxSampleBytes.
// hz is for each GPU. gpus is the number of one GPU, or "all".
func (s Sampling) Rate() (hz int, gpus string) {
	n, span := s.Plan.Pipeline.Nsys, s.span()
	if permitted := n.GPUMetrics == "on" || s.Permitted; !n.SamplesCounters() || !permitted || s.Off || span <= 0 {
		return 0, ""
	}
	machine := 1
	if gpus = sampledGPUs(s.Plan.Device); gpus == "all" {
		machine = max(1, s.GPUs)
	}
	hz = min(n.GPUMetricsHz, int(maxSampleBytes/bytesPerReading/span.Seconds())/machine)
	if hz < minSampleHz {
		return 0, ""
	}
	return hz, gpus
}

// Blamed tells whether a capture is to be made again without sampling: it left no
// report, and neither the workload nor a person is to blame. A report without data is
// the workload's: nsys that may not sample leaves no report.
func (s Sampling) Blamed(o Outcome) bool {
	hz, _ := s.Rate()
	others := []Kind{Interrupted, WorkloadFailed, WorkloadCrashed, WorkloadMissing, MissingData, TimedOut, Stalled, DiskFull, RunRemoved, GateNeverOpened}
	return hz > 0 && !o.Usable && !slices.Contains(others, o.Kind)
}

// Less says that less is sampled than was asked for, and why; zero where it is not.
func (s Sampling) Less() fact.Fact {
	n := s.Plan.Pipeline.Nsys
	hz, _ := s.Rate()
	switch {
	case !n.SamplesCounters() || n.GPUMetrics == "auto" && !s.Permitted || hz == n.GPUMetricsHz: // doctor's row says what is missing
		return fact.Fact{}
	case s.span() == 0:
		return fact.New(samplesUnbounded)
	case hz == 0:
		return fact.New(samplesTooLong, fact.Num("rate", fact.KindHertz, minSampleHz))
	}
	return fact.New(samplesSlower, fact.Num("rate", fact.KindHertz, float64(hz)))
}

// bytesPerSample is what a value of one metric takes in an export: of 22 metrics, 2.4
// million rows were 78 MB.
const bytesPerSample = 33

// checkSamples tells where an export holds more bytes of samples than it is to have: the
// program took longer than it was foreseen to.
// limit is in bytes. It reads every sample of the export.
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
