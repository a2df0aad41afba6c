package pipeline

import (
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/plan"
)

// TestSamplingIsBounded: counters are sampled where something tells for how long, in a dry run
// as far as it will be known.
func TestSamplingIsBounded(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*plan.Pipeline)
		dry    bool
		want   int
	}{
		"nothing known":   {func(*plan.Pipeline) {}, false, 0},
		"a duration":      {func(p *plan.Pipeline) { p.Nsys.Duration = 2 * time.Second }, false, 10_000},
		"a long duration": {func(p *plan.Pipeline) { p.Nsys.Duration = 20 * time.Second }, false, 6721},
		"too long":        {func(p *plan.Pipeline) { p.Nsys.Duration = time.Hour }, false, 0},
		"windows of a server": {func(p *plan.Pipeline) {
			p.Workload.Kind, p.Server.Windows, p.Server.Window = plan.WorkloadServer, 2, time.Second
		}, false, 10_000},
		"dry, will be timed": {func(p *plan.Pipeline) { p.Unprofiled.Enable = true }, true, 10_000},
		"dry, will not":      {func(*plan.Pipeline) {}, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			j, _ := counting(t, func(p *plan.Pipeline) { p.Nsys.GPUMetrics, p.Nsys.GPUMetricsHz = "on", 10_000; test.change(p) }, "toy_full")
			if j.gpus = 1; test.dry {
				j.store = nil
			}
			if hz, _ := j.sampling().Rate(); hz != test.want {
				t.Errorf("sampled at %d Hz, want %d", hz, test.want)
			}
		})
	}
}

// TestSamplingBlamed: a capture is made again without sampling only where sampling
// may be why nsys left no report.
func TestSamplingBlamed(t *testing.T) {
	for kind, want := range map[capture.Kind]bool{capture.ToolCrashed: true, capture.MissingData: false, capture.WorkloadFailed: false} {
		j, _ := counting(t, func(p *plan.Pipeline) {
			p.Nsys.GPUMetrics, p.Nsys.GPUMetricsHz, p.Nsys.Duration = "on", 10_000, 2*time.Second
		}, "toy_full")
		if again := j.sampling().Blamed(capture.Outcome{Kind: kind}); again != want {
			t.Errorf("%s: again %v", kind, again)
		}
	}
}
