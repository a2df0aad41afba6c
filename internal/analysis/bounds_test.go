package analysis

import (
	"math"
	"slices"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/timeline"
)

func hasFact(list []fact.Fact, code fact.Code) bool {
	return slices.ContainsFunc(list, func(f fact.Fact) bool { return f.Code == code })
}

func ptr(x float64) *float64 { return &x }

// What gaps can save is held against the unprofiled run.
func TestBounds(t *testing.T) {
	const ms = 1_000_000
	for _, c := range []struct {
		name             string
		clean            *float64
		passes           int
		wall, busy, gaps int64 // under nsys
		want             int64
		says             fact.Code
	}{
		{"larger than a clean pass has", ptr(245), 1, 291 * ms, 28 * ms, 260 * ms, 217 * ms, codeTimesCapped},
		{"smaller", ptr(245), 1, 291 * ms, 28 * ms, 20 * ms, 20 * ms, codeTimesCapped},
		{"several passes", ptr(10), 3, 60 * ms, 6 * ms, 50 * ms, 24 * ms, codeTimesCapped},
		{"the clean run was slower", ptr(11), 1, 6 * ms, ms, 4 * ms, 8 * ms, codeTimesScaled},
		{"kernels fill the clean pass", ptr(9.8), 1, 12 * ms, 10 * ms, 2 * ms, 0, codeTimesCapped},
		{"no clean run", nil, 1, 12 * ms, 2 * ms, 10 * ms, 10 * ms, codeTimesNsys},
		{"a clean run of something else", ptr(1), 1, 12 * ms, 5 * ms, 7 * ms, 7 * ms, codeTimesNsys},
	} {
		a := analyzerWith(Input{})
		s := &Stage{Name: "x", CleanMS: c.clean, Passes: c.passes, Split: Split{WallNS: c.wall, BusyNS: c.busy, IdleNS: c.wall - c.busy}}
		if got := a.clock().bounded(s, c.gaps); got != c.want {
			t.Errorf("%s: at most %d ns, want %d", c.name, got, c.want)
		}
		if f := a.clock().boundFact(s); f.Code != c.says || f.Number("passes") > 0 && f.Number("clean") != *c.clean*float64(c.passes)*1e6 {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}

// The plain words of a launch-bound stage name the run that they speak of, and
// their shares add up to all of it.
func TestPlainSharesHaveOneBase(t *testing.T) {
	const us = 1_000
	a := analyzerWith(Input{})
	split := Split{WallNS: 8_795 * us, BusyNS: 1_696 * us, IdleNS: 7_099 * us, LaunchBound: true, LaunchNS: 6_936 * us, Idle: []TimePart{{ID: "launch", NS: 6_936 * us}, {ID: "sync", NS: 163 * us}}}
	a.res.Stages = []Stage{{Name: "prefill", Passes: 1, CleanMS: ptr(10.308), Split: split}, {Name: "decode", Passes: 1, Split: split}}
	a.told((*conclusion).setUnprofiledShares)
	a.told((*conclusion).findLaunchBound)
	for name, times := range map[string]string{"prefill": "times:clean", "decode": "times:nsys"} {
		f := findingNamed(a.res, "launch-bound-"+name)
		if f == nil || f.Text("times") != times {
			t.Fatalf("%s: %+v", name, f)
		}
		if sum := f.Number("of_busy") + f.Number("of_waits") + f.Number("of_rest"); math.Abs(sum-1) > 1e-9 {
			t.Errorf("%s: the shares add up to %g: %+v", name, sum, f)
		}
		if s := stageNamed(t, a.res, name); s.LaunchGain == nil || s.LaunchGain.OfNS != int64(f.Number("of")) || "times:"+s.LaunchGain.Times != times {
			t.Errorf("%s: the bound is of another time: %+v", name, s.LaunchGain)
		}
	}
	if s := a.res.Stages; s[0].CleanBusy == nil || math.Abs(*s[0].CleanBusy-0.1645) > 1e-4 || s[1].CleanBusy != nil {
		t.Errorf("clean shares %v and %v", s[0].CleanBusy, s[1].CleanBusy)
	}
}

// The savings of a run with an unprofiled run add up to no more than it takes.
func TestSavingsWithinCleanTime(t *testing.T) {
	in, err := FromRun(toyRun(t, "1.1", "0.115"))
	if err != nil {
		t.Fatal(err)
	}
	r := analyzed(t, in)
	d, p := stageNamed(t, r, "decode"), stageNamed(t, r, "prefill")
	of := r.Totals.WallNS - d.Split.WallNS - p.Split.WallNS + 230_000 + 2_200_000
	found := false
	for _, o := range r.Opportunities {
		if o.Times != timesClean || o.OfNS != of {
			t.Errorf("%s is held against %d ns (%s), want %d of clean stages", o.ID, o.OfNS, o.Times, of)
		}
		if o.ID != "gaps-launch-decode" {
			continue
		}
		found = true
		want := float64(230_000 - d.Split.BusyNS) // two passes of 0.115 ms
		if math.Abs(o.Seconds*1e9-want) > 1 || math.Abs(*o.StageGain-want/230_000) > 1e-9 || !hasFact(o.Assumes, codeTimesCapped) {
			t.Errorf("%+v, want %g ns", o, want)
		}
	}
	if !found {
		t.Errorf("no gaps in decode: %+v", r.Opportunities)
	}
}

// Of a kernel that runs in several stages, a stage gains what it saves there.
func TestStageGainOfKernels(t *testing.T) {
	a := newState(&analyzer{res: newResult(Input{})}, &timed{tape: &timeline.Tape{}}, counters{})
	a.res.Totals.WallNS, a.res.Totals.KernelNS = 10_000, 2_500
	a.res.Stages = []Stage{{Name: "gemm", Split: Split{WallNS: 2_000, BusyNS: 2_000}}}
	a.launchOf = map[int]*launch{0: synthetic(nil)}
	a.res.Kernels = []Kernel{{ID: "k", Short: "k", TotalNS: 2_500, Calls: 25, Attained: ptr(0.9), AttainedOf: "dram", Limiter: Limiter{Kind: limitDRAM}, Stages: []StageTime{{Stage: "gemm", Calls: 20, NS: 2_000}}}}
	a.saved((*savings).roofSavings)
	o := a.res.Opportunities[0]
	if math.Abs(o.Seconds-250e-9) > 1e-15 || o.Stage != "gemm" || math.Abs(*o.StageGain-0.1) > 1e-9 {
		t.Errorf("%+v with a gain of %v, want 0.1 of the stage", o, *o.StageGain)
	}
}

// graphScene is two launches of a graph of three kernels each.
func graphScene() scene {
	return scene{
		calls: []sceneCall{{0, 100, "cudaGraphLaunch_v10000", 0}, {2_000, 2_100, "cudaGraphLaunch_v10000", 0}},
		kernels: []sceneKernel{
			{200, 300, "gemm", 0, 0}, {350, 450, "relu", 0, 0}, {500, 600, "gemm", 0, 0},
			{2_200, 2_300, "gemm", 1, 0}, {2_350, 2_450, "relu", 1, 1}, {2_500, 2_600, "gemm", 1, 0},
		},
		ranges: [][2]int64{{0, 2_600}}, end: 2_600,
	}
}

// Time between nodes of one graph is no launching: no host is involved.
func TestBetweenNodes(t *testing.T) {
	for _, c := range []struct {
		name  string
		nodes bool
		want  map[string]int64
		title fact.Code
	}{
		{"nodes of graphs", true, map[string]int64{"gemm": 400, "elementwise": 200, "launch": 400, "graph": 200, "python": 1_400}, codeCloseGraphGaps},
		{"kernels of one call that is no graph", false, map[string]int64{"gemm": 400, "elementwise": 200, "launch": 600, "python": 1_400}, codeCloseGaps},
	} {
		tl := graphScene().timeline()
		for i := range tl.Kernels {
			if c.nodes {
				tl.Kernels[i].GraphNode = 1<<32 + int64(i)
			}
		}
		r := take(t, tl, Thresholds{})
		s := r.Stages[0]
		got := parts(&s.Split)
		for id, ns := range c.want {
			if got[id] != ns {
				t.Errorf("%s: %s %d ns, want %d", c.name, id, got[id], ns)
			}
		}
		if s.Split.LaunchNS != c.want["launch"]+c.want["python"] || s.Kernels != 6 || (s.GraphKernels == 6) != c.nodes || s.fromGraphs() != c.nodes {
			t.Errorf("%s: gain %d, %d of %d kernels from graphs", c.name, s.Split.LaunchNS, s.GraphKernels, s.Kernels)
		}
		for _, o := range r.Opportunities {
			switch o.ID {
			case "gaps-launch-r0":
				if o.Title.Code != c.title || hasFact(o.How, codeHowNodesTraced) != c.nodes || hasFact(o.How, codeHowGraph) == c.nodes {
					t.Errorf("%s: %+v: %+v", c.name, o.Title, o.How)
				}
			case "gaps-graph-r0":
				if !c.nodes || math.Abs(o.Seconds-200e-9) > 1e-15 || o.Title.Code != codeFewerNodes {
					t.Errorf("%s: %+v", c.name, o)
				}
			}
		}
		if f := findingNamed(r, "launch-bound-r0"); f == nil || hasFact(f.Params["more"].Facts, codeGraphsGain) == c.nodes {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}

// Chains need two launches, and one that computes; what they save is the longest
// way through the host and the GPU.
func TestChains(t *testing.T) {
	for _, c := range []struct {
		name  string
		links []link
		fuses bool
		saves int64
	}{
		{"kernels back to back", []link{{0, 100, 200, 0, 5, true}, {1, 200, 240, 5, 10, false}}, true, 145},
		{"the host is slower", []link{{0, 10, 20, 0, 5, true}, {1, 110, 120, 100, 105, true}}, true, 115},
		{"copies alone", []link{{0, 0, 100, 0, 1, false}, {1, 100, 140, 1, 2, false}}, false, 141},
		{"one alone", []link{{0, 10, 110, 0, 10, true}}, false, 110},
	} {
		var x chain
		for _, l := range c.links {
			x.add(l, 1_000)
		}
		if x.fuses() != c.fuses || x.saves() != c.saves {
			t.Errorf("%s: saves %d of %+v", c.name, x.saves(), x)
		}
	}
}

// Advice for PyTorch is for programs that use it.
func TestAdviceFitsTheProgram(t *testing.T) {
	s := scene{calls: []sceneCall{{0, 1, "cudaLaunchKernel", 0}}, end: 1000}
	for _, c := range []struct {
		name  string
		torch bool
	}{{"relu", false}, {"at::native::relu", true}} {
		s.kernels = []sceneKernel{{0, 100, c.name, 0, 0}, {100, 400, "gelu", 0, 0}}
		for _, o := range take(t, s.timeline(), Thresholds{}).Opportunities {
			if o.Kind == "fusion" && hasFact(o.How, forTorch(codeHowFuse)) != c.torch {
				t.Errorf("%s: %+v", c.name, o.How)
			}
		}
	}
}

// Conversions of layout are a category and can be avoided.
func TestLayoutConversions(t *testing.T) {
	s := scene{calls: []sceneCall{{0, 1, "cudaLaunchKernel", 0}}, end: 1000, ranges: [][2]int64{{0, 1000}}, kernels: []sceneKernel{
		{0, 100, "void cudnn::ops::nchwToNhwcKernel<__nv_bfloat16>(int)", 0, 0},
		{100, 400, "sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc", 0, 0},
		{400, 450, "void cudnn::ops::nhwcToNchwKernel<__nv_bfloat16>(int)", 0, 0},
	}}
	r := take(t, s.timeline(), Thresholds{})
	for _, c := range r.Categories {
		if want := map[string]int64{"layout": 150, "convolution": 300}[c.ID]; c.NS != want {
			t.Errorf("%s %d ns, want %d", c.ID, c.NS, want)
		}
	}
	for _, o := range r.Opportunities {
		if o.ID == "copies-layout" {
			if math.Abs(o.Seconds-150e-9) > 1e-15 || o.Stage != "r0" || math.Abs(*o.StageGain-0.15) > 1e-9 || o.Title.Code != codeKeepLayout {
				t.Errorf("%+v", o)
			}
			return
		}
	}
	t.Errorf("not found: %+v", r.Opportunities)
}

// Without counters the peak of the memory names the clock that it rests on, where
// that is known.
func TestClockOfTheMemory(t *testing.T) {
	const uuid = "d6c7c532"
	for _, c := range []struct{ hz, want int64 }{{3_201_000_000, 3_201_000_000}, {2_000_000_001, 0}, {0, 0}} {
		a := newState(&analyzer{res: newResult(Input{}), run: &runRecord{memoryHz: map[string]int64{uuid: c.hz}}}, nil, counters{})
		a.tl = &timed{t: &timeline.Timeline{GPUs: []timeline.GPU{{UUID: uuid, MemoryBandwidth: 4_814_304_000_000}}}} // of an H200
		var g GPU
		a.peaks().memoryFromProperties(&g)
		if p := g.Peaks[0]; p.ClockHz != float64(c.want) || p.Clock.Is(highestMemory) != (c.want > 0) {
			t.Errorf("%d Hz: %+v", c.hz, p)
		}
	}
}
