package analysis

import "testing"

// A stage whose kernel runs 30 ms of 100, while the GPU waits 30 ms for a long
// stretch of host code and 40 ms for launches: without the waits it still takes its
// 30 ms, and no more than the other 70 are waits.
func TestWaitsLeaveTheWork(t *testing.T) {
	const ms = 1_000_000
	s := scene{end: 100 * ms, ranges: [][2]int64{{0, 100 * ms}},
		calls:   []sceneCall{{0, 10, "cudaLaunchKernel", 0}, {60 * ms, 60*ms + 10, "cudaLaunchKernel", 0}},
		kernels: []sceneKernel{{20, 30 * ms, "gemm", 0, 0}}}
	for at := int64(60 * ms); at < 100*ms; at += 4 * ms {
		s.calls = append(s.calls, sceneCall{at + 1000, at + 3*ms, "cudaLaunchKernel", 0})
		s.kernels = append(s.kernels, sceneKernel{at + 3*ms, at + 3*ms + 10, "add", len(s.calls) - 1, 0})
	}
	r, _ := analyzeTimeline(s.timeline(), Thresholds{})
	f := findingNamed(r, "launch-bound-r0")
	if f == nil {
		t.Fatalf("not launch-bound: %+v", r.Stages[0].Split)
	}
	if left := f.Number("left"); left < 29.9*ms || left > 31*ms {
		t.Errorf("without the waits %g ms are left, and kernels run for 30 ms", left/ms)
	}
	if sum := f.Number("of_busy") + f.Number("of_waits"); sum > 1.0001 {
		t.Errorf("work and waits are %g of the time", sum)
	}
}
