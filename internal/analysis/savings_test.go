package analysis

import (
	"bytes"
	"encoding/csv"
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
	// gemm_tile<32> attains 13 % of its roof in 1.678 ms.
	if o := r.Opportunities[0]; o.Kind != "roofline" || math.Abs(o.Seconds-1.678213e-3*(1-0.1303)) > 1e-6 {
		t.Errorf("first %+v", o)
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

func TestRooflineCSV(t *testing.T) {
	r := analyzeFiles(t, toyTimeline, toyCounters)
	var b bytes.Buffer
	if err := WriteRooflineCSV(&b, r); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	// Four kernels in fp32 over three levels.
	if len(rows) != 13 || rows[1][1] != r.Kernels[0].Name || rows[1][4] != "fp32" {
		t.Errorf("%d rows, first %v", len(rows), rows[1])
	}
	for _, p := range r.Roofline.Points {
		if p.Attained <= 0 || p.Attained > 1 {
			t.Errorf("point above its roof: %+v", p)
		}
	}
}
