package analysis

import (
	"math"
	"testing"
)

// TestSampledRegions joins the sampled counters of a real H200 to its regions. The
// means were computed by hand, with SQL over the same file.
func TestSampledRegions(t *testing.T) {
	r := analyzeFiles(t, "../nsys/testdata/exports/gpu_metrics.sqlite.gz")
	if r.Sampling == nil || r.Sampling.Readings != 428 || r.Sampling.GPUs != 1 || math.Abs(r.Sampling.RateHz-20000) > 50 {
		t.Fatalf("sampling %+v", r.Sampling)
	}
	if len(r.Sampled) != 2 || r.Sampled[0].Path != "bf16" || r.Sampled[1].Path != "fp8" {
		t.Fatalf("regions %+v", r.Sampled)
	}
	bf16 := r.Sampled[0]
	if bf16.Instances != 1 || bf16.SpanNS != 6937199 {
		t.Errorf("bf16 %+v", bf16)
	}
	for _, want := range []struct {
		metric string
		mean   float64
	}{{"tensor_active", 128.36 / 138}, {"dram_read", 25.82 / 138}, {"dram_write", 3.13 / 138}} {
		for _, m := range bf16.Metrics {
			if m.Metric == want.metric && (math.Abs(m.Mean-want.mean) > 1e-6 || m.Samples != 138 || m.Error <= 0 || m.Error > 0.02) {
				t.Errorf("%+v, want a mean of %v", m, want.mean)
			}
		}
	}
}

// TestCounterLanes draws the same readings over time.
func TestCounterLanes(t *testing.T) {
	r := analyzeFiles(t, "../nsys/testdata/exports/gpu_metrics.sqlite.gz")
	if len(r.Overview.Counters) != 6 {
		t.Fatalf("%d lanes", len(r.Overview.Counters))
	}
	for _, lane := range r.Overview.Counters {
		if lane.StartNS < 0 || lane.BinNS <= 0 || len(lane.Values) > maxBins+1 {
			t.Errorf("%s: starts at %d, %d bins of %d ns", lane.Metric, lane.StartNS, len(lane.Values), lane.BinNS)
		}
		filled, highest := 0, 0
		for _, v := range lane.Values {
			if v < -1 || v > 1000 {
				t.Fatalf("%s: %d", lane.Metric, v)
			}
			if v >= 0 {
				filled++
			}
			highest = max(highest, v)
		}
		if filled < 300 || lane.Metric == "tensor_active" && highest < 950 {
			t.Errorf("%s: %d bins with a reading, up to %d", lane.Metric, filled, highest)
		}
	}
}
