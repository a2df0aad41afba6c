package capture

import (
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/plan"
)

// TestSampleRate: readings of all GPUs over all windows keep within 100 MB.
func TestSampleRate(t *testing.T) {
	for _, test := range []struct {
		length time.Duration
		gpus   int
	}{{0, 1}, {time.Second, 1}, {4 * time.Second, 1}, {4 * time.Second, 8}, {20 * time.Second, 1}, {20 * time.Second, 8}, {time.Hour, 1}} {
		p := &plan.Plan{Device: "all"}
		p.Pipeline.Nsys.GPUMetricsHz = 10_000
		hz, _ := SampleRate(p, test.length, test.gpus)
		bytes := float64(hz*test.gpus) * test.length.Seconds() * bytesPerReading
		full := 10_000 * float64(test.gpus) * test.length.Seconds() * bytesPerReading
		switch {
		case bytes > maxSampleBytes:
			t.Errorf("%s of %d GPUs at %d Hz: %.0f bytes", test.length, test.gpus, hz, bytes)
		case full <= maxSampleBytes && hz != 10_000:
			t.Errorf("%s of %d GPUs at %d Hz, though all of 10 kHz has room", test.length, test.gpus, hz)
		case hz == 0 && 1000*full/10_000 < maxSampleBytes*0.99:
			t.Errorf("%s of %d GPUs: not at all", test.length, test.gpus)
		case hz != 0 && hz < MinSampleHz:
			t.Errorf("%s of %d GPUs at %d Hz", test.length, test.gpus, hz)
		}
	}
}
