package analysis

import (
	"testing"

	"github.com/deepprof/deepprof/internal/timeline"
)

// Communication that overlaps with other kernels is not exposed, and durations of
// concurrent kernels are not added up.
func TestExchange(t *testing.T) {
	for _, c := range []struct {
		name              string
		events            [][3]int64 // 1 for communication, start, end; by start
		ns, both, otherNS int64
	}{
		{"apart", [][3]int64{{0, 0, 10}, {1, 10, 30}, {0, 30, 40}}, 20, 0, 20},
		{"inside", [][3]int64{{0, 0, 100}, {1, 10, 30}}, 20, 20, 100},
		{"around", [][3]int64{{1, 0, 100}, {0, 10, 30}, {0, 20, 40}}, 100, 30, 30},
		{"two at once", [][3]int64{{1, 0, 50}, {1, 10, 60}, {0, 40, 80}}, 60, 20, 40},
		{"same start", [][3]int64{{0, 0, 10}, {1, 0, 10}}, 10, 10, 10},
		{"chained", [][3]int64{{0, 0, 10}, {1, 5, 25}, {0, 10, 20}, {0, 24, 30}}, 20, 16, 26},
	} {
		t.Run(c.name, func(t *testing.T) {
			var x exchange
			for _, e := range c.events {
				if e[0] == 1 {
					x.add(&x.comm, &x.other, e[1], e[2])
				} else {
					x.add(&x.other, &x.comm, e[1], e[2])
				}
			}
			if x.comm.ns != c.ns || x.both != c.both || x.other.ns != c.otherNS {
				t.Errorf("communication %d, of it overlapped %d, other %d; want %d, %d, %d", x.comm.ns, x.both, x.other.ns, c.ns, c.both, c.otherNS)
			}
		})
	}
}

// Two GPUs (a synthetic timeline): in the first stage a collective runs alone for a
// tenth of the time on each, in the second it runs beside a product.
func TestExposedCommunication(t *testing.T) {
	call := func(at int64) sceneCall { return sceneCall{at, at + 1, "cudaLaunchKernel", 0} }
	s := scene{
		calls: []sceneCall{call(0), call(1), call(2), call(3), call(1000), call(1001), call(1002), call(1003)},
		kernels: []sceneKernel{
			{10, 810, "gemm", 0, 0}, {10, 810, "gemm", 1, 1}, {810, 920, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 2, 0}, {810, 900, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 3, 1},
			{1010, 1910, "gemm", 4, 0}, {1010, 1910, "gemm", 5, 1}, {1100, 1300, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 6, 2}, {1100, 1300, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 7, 1},
		},
		ranges: [][2]int64{{0, 1000}, {1000, 2000}}, end: 2000,
	}
	tl := s.timeline()
	tl.Queues[1].Device = 1
	r := take(t, tl, Thresholds{})
	f := findingNamed(r, "communication-r0")
	if f == nil || f.Number("exposed") != 100 || f.Number("of") != 1000 || f.Number("gpus") != 2 || f.Number("n") != 2 || f.Number("overlapped") != 0 {
		t.Errorf("alone: %+v", f)
	}
	if f := findingNamed(r, "communication-r1"); f != nil {
		t.Errorf("beside a product: %+v", f)
	}
	if c := r.Totals.Communication; c == nil || c.ExposedNS != 200 || c.OverlappedNS != 400 || c.Launches != 4 {
		t.Errorf("in all: %+v", c)
	}
	if f := findingNamed(r, "main-r0"); f != nil && f.Number("gpus") != 2 {
		t.Errorf("GPUs of a stage: %+v", f)
	}
}

// TestCommunicationByShortName: a damaged file has no demangled name, and the kernel is still of
// its category.
func TestCommunicationByShortName(t *testing.T) {
	s := scene{kernels: []sceneKernel{{start: 1000, end: 3000, name: "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"}}, end: 5000}
	tl := s.timeline()
	for i := range tl.Functions {
		f := &tl.Functions[i]
		f.Short, f.Demangled = f.Demangled, timeline.StringID(len(tl.Names))
	}
	a := analyzerWith(Input{})
	if err := a.takeTimeline(t0(), tl); err != nil {
		t.Fatal(err)
	}
	if c := a.res.Totals.Communication; c == nil || c.NS != 2000 || c.Launches != 1 {
		t.Errorf("communication %+v", c)
	}
}
