package analysis

import (
	"math"
	"strings"
	"testing"
)

// Chains of elementwise kernels cost at least their longest member once fused.
func TestFusion(t *testing.T) {
	s := scene{
		calls: []sceneCall{{0, 1, "cudaLaunchKernel", 0}},
		kernels: []sceneKernel{
			{0, 100, "relu", 0, 0}, {100, 400, "gelu", 0, 0}, {400, 450, "direct_copy_kernel_cuda", 0, 0}, // 450 become 300
			{450, 500, "gemm", 0, 0},
			{500, 600, "relu", 0, 0}, {520, 620, "relu", 0, 1}, // alone in their streams
		}, end: 1000,
	}
	r := take(t, s.timeline(), Thresholds{})
	for _, o := range r.Opportunities {
		if o.Kind == "fusion" {
			if math.Abs(o.Seconds-150e-9) > 1e-15 || o.Evidence[0].Value != 1 || o.Evidence[1].Value != 3 {
				t.Errorf("%+v", o)
			}
			if math.Abs(o.Speedup-1000.0/850) > 1e-9 {
				t.Errorf("speedup %v of a run of 1000 ns, want 1000/850", o.Speedup)
			}
			return
		}
	}
	t.Errorf("no chain was found: %+v", r.Opportunities)
}

func TestSavingsOfRealRuns(t *testing.T) {
	r := analyzeFiles(t, toyTimeline, toyCounters)
	kinds := map[string]int{}
	last := math.Inf(1)
	for _, o := range r.Opportunities {
		kinds[o.Kind]++
		if o.Seconds > last {
			t.Error("not by seconds")
		}
		last = o.Seconds
		if !strings.Contains(o.Assumption, "do not add up") || len(o.Evidence) == 0 {
			t.Errorf("%s lacks its evidence or does not say that it stands alone", o.ID)
		}
	}
	if kinds["roofline"] != 4 || kinds["gaps"] == 0 {
		t.Errorf("kinds %v", kinds)
	}
	// Each kernel to the peak of the unit that its verdict names: 1.678 ms of
	// gemm_tile<32> with L1 at 85.6 %, not what FP32 leaves open.
	for name, want := range map[string]float64{"gemm_tile<(int)32>": 1.678213e-3 * (1 - 0.8559), "gemm_tile<(int)16>": 0.549376e-3 * (1 - 0.88939), "saxpy": 0.161632e-3 * (1 - 0.75637)} {
		k := kernelNamed(t, r, name)
		if k.Attained == nil || *k.Attained != *k.Limiter.Level || k.AttainedOf != k.Limiter.Kind {
			t.Errorf("%s attains %v of %s, its limiter is %+v", name, k.Attained, k.AttainedOf, k.Limiter)
		}
		found := false
		for _, o := range r.Opportunities {
			found = found || o.ID == "roofline-"+k.ID && math.Abs(o.Seconds-want) < 1e-7
		}
		if !found {
			t.Errorf("no saving of %g s for %s", want, name)
		}
	}
}

func TestOccupancySaving(t *testing.T) {
	a := &analyzer{res: newResult(Input{}), tl: &timed{}}
	level, attained := 0.25, 0.4
	a.res.Totals.WallNS, a.res.Totals.KernelNS = 10_000, 5_000
	a.res.Kernels = []Kernel{
		{ID: "k1", Short: "x", TotalNS: 1000, Limiter: Limiter{Kind: LimitOccupancy, Detail: "registers", Level: &level, Evidence: []Evidence{{Metric: "m"}}}, Attained: &attained},
		{ID: "k2", Short: "y", TotalNS: 1000, Limiter: Limiter{Kind: LimitDRAM, Level: &level}},
	}
	a.occupancySavings()
	if len(a.res.Opportunities) != 1 || math.Abs(a.res.Opportunities[0].Seconds-600e-9) > 1e-15 {
		t.Errorf("%+v", a.res.Opportunities)
	}
}

func TestRooflinePoints(t *testing.T) {
	r := analyzeFiles(t, toyTimeline, toyCounters)
	// Four kernels in fp32 over three levels.
	if p := r.Roofline.Points; len(p) != 12 || p[0].Kernel != r.Kernels[0].ID || p[0].DType != "fp32" {
		t.Fatalf("%d points, first %+v", len(p), p[0])
	}
	for _, p := range r.Roofline.Points {
		if p.Attained <= 0 || p.Attained > 1 {
			t.Errorf("point above its roof: %+v", p)
		}
	}
}
