package analysis

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/timeline"
)

// The bound of a chain is the longest way through it, with the call that launches; that it lasts as long as its longest
// kernel is an estimate.
func TestFusion(t *testing.T) {
	s := scene{
		calls: []sceneCall{{0, 1, "cudaLaunchKernel", 0}},
		kernels: []sceneKernel{
			{0, 100, "relu", 0, 0}, {100, 400, "gelu", 0, 0}, {400, 450, "direct_copy_kernel_cuda", 0, 0}, // 450, at a guess 300
			{450, 500, "gemm", 0, 0},
			{500, 600, "relu", 0, 0}, {520, 620, "relu", 0, 1}, // alone in their streams
		}, end: 1000,
	}
	r := take(t, s.timeline(), Thresholds{})
	for _, o := range r.Opportunities {
		if o.Kind == "fusion" {
			if math.Abs(o.Seconds-451e-9) > 1e-15 || math.Abs(*o.Estimate-150e-9) > 1e-15 || o.Evidence[0].Value != 1 || o.Evidence[1].Value != 3 {
				t.Errorf("%+v", o)
			}
			if math.Abs(o.Speedup-1000.0/549) > 1e-9 {
				t.Errorf("speedup %v of a run of 1000 ns, want 1000/549", o.Speedup)
			}
			return
		}
	}
	t.Errorf("no chain was found: %+v", r.Opportunities)
}

// A graph is launched by one call, however many chains its nodes make, and what
// is in no chain stays.
func TestFusionInsideGraphs(t *testing.T) {
	s := scene{calls: []sceneCall{{0, 1_000, "cudaGraphLaunch", 0}}, end: 4_000}
	for i := range int64(3) { // 100 and 20 ns of gap, 100, then 200 that no fusion takes away
		from := 1_000 + 500*i
		s.kernels = append(s.kernels, sceneKernel{from, from + 100, "relu", 0, 0}, sceneKernel{from + 120, from + 220, "gelu", 0, 0}, sceneKernel{from + 250, from + 450, "gemm", 0, 0})
	}
	for _, c := range []struct {
		name      string
		end, want int64
	}{
		{"three chains and one call", 4_000, 3*220 + 1_000},
		{"no more than the rest leaves", 2_000, 2_000 - 3*200},
	} {
		s.end = c.end
		tl := s.timeline()
		for i := range tl.Kernels {
			tl.Kernels[i].GraphNode = 7
		}
		a := analyzerOf(t, nil, tl)
		a.saved(func(sv *savings) { sv.fusionSavings(sv.chains()) })
		o := opportunityNamed(a.res, "fusion-elementwise")
		if o == nil || math.Abs(o.Seconds*1e9-float64(c.want)) > 1e-6 {
			t.Errorf("%s: %+v, want %d ns", c.name, o, c.want)
		}
	}
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
		if !hasFact(o.Assumes, codeBoundsOverlap) || len(o.Evidence) == 0 {
			t.Errorf("%s lacks its evidence or does not say that it stands alone", o.ID)
		}
	}
	if kinds["roofline"] != 4 || kinds["gaps"] == 0 {
		t.Errorf("kinds %v", kinds)
	}
	fp32 := 0.0
	for _, p := range r.Roofline.Roofs {
		if p.ID == "fp32" {
			fp32 = p.Value
		}
	}
	for _, c := range []struct {
		name  string
		title fact.Code
		how   fact.Code
	}{
		{"gemm_tile<(int)32>", codeReachNextRoof, codeHowL1}, {"gemm_tile<(int)16>", codeReachNextRoof, codeHowL1}, // reuse takes bytes away: the arithmetic is left
		{"saxpy", codeReachPeak, codeHowStream}, // it uses each value once: the bytes are left, and no tile helps
		{"reduce_sum", codeReachPeak, codeHowLatency},
	} {
		k := kernelNamed(t, r, c.name)
		rest := *k.Attained
		if c.title == codeReachNextRoof {
			rest = k.Point[0].FLOPS / fp32
		}
		o := opportunityNamed(r, "roofline-"+k.ID)
		if o == nil || math.Abs(o.Seconds-float64(k.TotalNS)*(1-rest)/1e9) > 5e-6 || o.Title.Code != c.title || !hasFact(o.How, c.how) {
			t.Errorf("%s: %+v, want %g s", c.name, o, float64(k.TotalNS)*(1-rest)/1e9)
		}
	}
}

func opportunityNamed(r *Result, id string) *Opportunity {
	for i := range r.Opportunities {
		if r.Opportunities[i].ID == id {
			return &r.Opportunities[i]
		}
	}
	return nil
}

func TestOccupancySaving(t *testing.T) {
	a := newState(&analyzer{res: newResult(Input{})}, &timed{tape: &timeline.Tape{}}, counters{})
	level, attained := 0.25, 0.4
	a.res.Totals.WallNS, a.res.Totals.KernelNS = 10_000, 5_000
	a.res.Kernels = []Kernel{
		{ID: "k1", Short: "x", TotalNS: 1000, Limiter: Limiter{Kind: limitOccupancy, Detail: "registers", Level: &level, Evidence: []Evidence{{Metric: "m"}}}, Attained: &attained},
		{ID: "k2", Short: "y", TotalNS: 1000, Limiter: Limiter{Kind: limitDRAM, Level: &level}},
	}
	a.saved((*savings).occupancySavings)
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

// computing is a launch that would do its arithmetic, in float, in a share of its
// time at the peak.
func computing(seconds, share float64) *launch {
	const peak = 60e12
	v := map[string]float64{
		"gpu__time_duration.sum": seconds * 1e9, "sm__cycles_elapsed.avg.per_second": 1e9, "sm__ops_path_tensor_src_bf16_dst_fp32_sparsity_off.sum": 0,
		"sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained": peak / 2 / 1e9,
	}
	for _, op := range []string{"fadd", "fmul", "dadd", "dmul", "dfma", "hadd", "hmul", "hfma"} {
		v["smsp__sass_thread_inst_executed_op_"+op+"_pred_on.sum"] = 0
	}
	v["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"] = share * seconds * peak / 2
	return synthetic(v)
}

// A kernel that moves bytes in vain is bounded by its arithmetic: whatever part of
// its bytes an implementation drops, it saves no more. Where nothing is computed,
// occupancy is lifted or conversions of layout go, the saving is an estimate.
func TestWastedBytesAreNoBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 2_000 {
		seconds := 1e-3 * (0.1 + rng.Float64())
		flops, dram := rng.Float64()*0.6, 0.5+0.5*rng.Float64() // shares of the time at the peaks
		l := computing(seconds, flops)
		a := newState(&analyzer{res: newResult(Input{})}, &timed{tape: &timeline.Tape{}}, counters{launchOf: map[int]*launch{0: l}})
		ns := int64(seconds * 1e9)
		a.res.Totals.WallNS, a.res.Totals.KernelNS = 2*ns, ns
		cause := &Cause{Fact: fact.New(causeUncoalesced)}
		a.res.Kernels = []Kernel{{ID: "k", Short: "k", TotalNS: ns, Calls: 1, Attained: &dram, AttainedOf: levelDRAM, Limiter: Limiter{Kind: limitDRAM, Cause: cause}}}
		a.saved((*savings).roofSavings)
		if len(a.res.Opportunities) != 1 {
			t.Fatalf("%d: %+v", n, a.res.Opportunities)
		}
		o := a.res.Opportunities[0]
		if o.Estimated || o.Title.Code != codeFewerBytes {
			t.Fatalf("%d: %+v", n, o)
		}
		after := max(flops, dram*rng.Float64()) + 0.1*rng.Float64() // of an implementation with fewer bytes
		if saved := seconds * (1 - after); saved > o.Seconds+1e-9 {
			t.Fatalf("%d: saves %g, the bound is %g", n, saved, o.Seconds)
		}
	}
	a := newState(&analyzer{res: newResult(Input{})}, &timed{tape: &timeline.Tape{}}, counters{launchOf: map[int]*launch{0: synthetic(nil)}})
	half := 0.5
	a.res.Totals.WallNS, a.res.Totals.KernelNS = 2_000, 1_000
	a.res.Kernels = []Kernel{{ID: "k", Short: "k", TotalNS: 1_000, Calls: 1, Category: categoryLayout, Attained: &half, AttainedOf: levelDRAM,
		Limiter: Limiter{Kind: limitDRAM, Cause: &Cause{Fact: fact.New(causeUncoalesced)}}}}
	a.saved((*savings).roofSavings)
	a.saved((*savings).layoutSavings)
	a.res.Kernels[0].Limiter = Limiter{Kind: limitOccupancy, Level: &half}
	a.saved((*savings).occupancySavings)
	for _, o := range a.res.Opportunities {
		if !o.Estimated {
			t.Errorf("%s is called a bound", o.ID)
		}
	}
	if len(a.res.Opportunities) != 3 {
		t.Errorf("%+v", a.res.Opportunities)
	}
}
