package pipeline

import (
	"os"
	"slices"
	"time"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/workload"
)

// samplesOff is there once sampling made a capture fail: later ones go without.
const samplesOff = "nsys/no-samples.txt"

// sampling is how often counters of which GPUs are sampled under nsys; 0 for not
// at all.
func (j *job) sampling() (hz int, gpus string) {
	n := j.plan.Pipeline.Nsys
	permitted := n.GPUMetrics == "on" || j.counts
	if !n.SamplesCounters() || !permitted || j.store != nil && exists(j.store.Path(samplesOff)) {
		return 0, ""
	}
	return capture.SampleRate(j.plan, j.sampledSpan(), j.gpus)
}

// sampledSpan is how long counters will be sampled at most; 0 where nothing bounds it.
func (j *job) sampledSpan() time.Duration {
	if s := j.plan.Pipeline.Server; workload.Serves(j.plan) { // its start is not sampled
		return time.Duration(s.Windows) * s.Window
	}
	if j.store == nil && j.plan.Pipeline.Unprofiled.Enable { // a dry run: it will be known
		return time.Second
	}
	return capture.SampledSpan(j.plan.Pipeline.Nsys, j.unprofiledTime())
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
	case j.sampledSpan() == 0:
		j.tell(samplesUnbounded)
	case hz == 0:
		j.tell(samplesTooLong, fact.Num("rate", fact.KindHertz, capture.MinSampleHz))
	default:
		j.tell(samplesSlower, fact.Num("rate", fact.KindHertz, float64(hz)))
	}
}
