package pipeline

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/workload"
)

const (
	// samplesOff is there once sampling made a capture fail: later ones go without.
	samplesOff = "nsys/no-samples.txt"
	// bytesPerReading is what one reading of all metrics takes in an export: 78 MB
	// for 5 s at 20 kHz, as seen on an H200.
	bytesPerReading = 780
	maxSampleBytes  = 100 << 20
	// minSampleHz is the rate below which a range of a few milliseconds has too few
	// readings.
	minSampleHz = 1000
)

// sampling is how often counters of which GPUs are sampled under nsys; 0 for not
// at all.
func (j *job) sampling() (hz int, gpus string) {
	n := j.plan.Pipeline.Nsys
	permitted := n.GPUMetrics == "on" || j.counts
	if !n.SamplesCounters() || !permitted || j.store != nil && exists(j.store.Path(samplesOff)) {
		return 0, ""
	}
	hz = n.GPUMetricsHz
	if length := j.sampledTime().Seconds(); length > 0 {
		hz = min(hz, int(maxSampleBytes/bytesPerReading/length))
	}
	if hz < minSampleHz {
		return 0, ""
	}
	return hz, j.sampledGPUs()
}

// sampledTime is how long a capture takes; 0 where that is not known.
func (j *job) sampledTime() time.Duration {
	if s := j.plan.Pipeline.Server; workload.Serves(j.plan) {
		return max(s.Window, time.Second)
	}
	return j.unprofiledTime()
}

// sampledGPUs are the GPUs of the workload by their number; all where that is not
// told by one.
func (j *job) sampledGPUs() string {
	index, ok := strings.CutPrefix(j.plan.Device, "cuda:")
	if !ok {
		return "all"
	}
	visible, err := workload.VisibleDevice(os.Getenv("CUDA_VISIBLE_DEVICES"), index)
	if _, number := strconv.Atoi(visible); err != nil || number != nil {
		return "all"
	}
	return visible
}

// withoutSamples tells whether a capture is to be made again without sampling:
// it gave nothing, and neither the workload nor a person is to blame.
func (j *job) withoutSamples(o capture.Outcome) (bool, error) {
	hz, _ := j.sampling()
	blamed := []capture.Kind{capture.Interrupted, capture.WorkloadFailed, capture.WorkloadCrashed, capture.WorkloadMissing, capture.TimedOut, capture.Stalled, capture.DiskFull, capture.RunRemoved, capture.GateNeverOpened}
	if hz == 0 || o.Usable || slices.Contains(blamed, o.Kind) {
		return false, nil
	}
	return true, j.giveUpSamples(o.What)
}

// giveUpSamples has later captures of the run made without sampling.
func (j *job) giveUpSamples(why fact.Fact) error {
	j.tell(samplesGivenUp, fact.Because("why", why))
	return os.WriteFile(j.store.Path(samplesOff), []byte(message.Text(why)+"\n"), 0o644)
}

// sampledNote is what a run says before it samples less than it was asked to.
func (j *job) sampledNote() {
	n := j.plan.Pipeline.Nsys
	hz, _ := j.sampling()
	switch {
	case !n.SamplesCounters() || n.GPUMetrics == "auto" && !j.counts || hz == n.GPUMetricsHz: // doctor's row says what is missing
	case hz == 0:
		j.tell(samplesTooLong, fact.Num("rate", fact.KindHertz, minSampleHz))
	default:
		j.tell(samplesSlower, fact.Num("rate", fact.KindHertz, float64(hz)))
	}
}
