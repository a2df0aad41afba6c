package analysis

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/gpu"
	"github.com/deepprof/deepprof/internal/metric"
	"github.com/deepprof/deepprof/internal/ncurep"
	"github.com/deepprof/deepprof/internal/pick"
	"github.com/deepprof/deepprof/internal/timeline"
)

// Without a timeline nothing claims a number of calls or a total, and the order
// is that of times under ncu.
func TestCountersAlone(t *testing.T) {
	r := analyzeFiles(t, toyCounters)
	last := math.Inf(1)
	for i := range r.Kernels {
		k := &r.Kernels[i]
		if !k.Untimed || k.Calls != 0 || k.Counted.DurationNS <= 0 {
			t.Errorf("%s: %+v", k.Short, k)
		}
		if !slices.ContainsFunc(r.Categories, func(c CategoryTime) bool { return c.ID == k.Category && c.Label != "" && c.NS == 0 }) {
			t.Errorf("the category %s of %s has no label", k.Category, k.Short)
		}
		total := k.Counted.DurationNS * float64(1+k.Counted.Others)
		if total > last*1.1 {
			t.Errorf("%s with about %g ns comes after one of %g ns", k.Short, total, last)
		}
		last = total
	}
	if !hasNote(r.Missing, "ncu-times") || r.Kernels[0].Short != "gemm_tile<32>" {
		t.Errorf("first %s, missing %+v", r.Kernels[0].Short, r.Missing)
	}
	for i := range r.Kernels { // the order moved with what belongs to each row
		if k := &r.Kernels[i]; k.Limiter.Kind == "" || k.Attained == nil {
			t.Errorf("%s lost its verdict", k.Short)
		}
	}
}

// counterReport makes a report of launches of one kernel.
func counterReport(launches ...map[string]float64) *ncurep.Report {
	rep := &ncurep.Report{}
	for i, values := range launches {
		res := &ncurep.Result{ID: i, Kind: ncurep.Kernel, FunctionName: "k"}
		for name, v := range values {
			res.Metrics = append(res.Metrics, ncurep.Metric{Name: name, Value: metric.Float64(v)})
		}
		rep.Results = append(rep.Results, res)
	}
	return rep
}

func counting(t *testing.T, rep *ncurep.Report) *state {
	t.Helper()
	a := analyzerWith(Input{})
	a.counting(func(r *counterReader) { r.takeReport("x.ncu-rep", rep) })
	a.reader().chooseTypical()
	return a
}

// Values that are no numbers are as if they had not been measured.
func TestNotANumber(t *testing.T) {
	values := use(math.NaN(), 20, 20, map[string]float64{"sm__pipe_alu_cycles_active" + ofElapsed: math.Inf(1)})
	a := counting(t, counterReport(values))
	a.judge()
	k := &a.res.Kernels[0]
	if k.Limiter.Kind != "" || !hasFact(k.Limiter.Why, codeCountersLack) {
		t.Errorf("%+v", k.Limiter)
	}
	if _, err := json.Marshal(a.res); err != nil {
		t.Error(err)
	}
}

// A launch with more counters speaks before one of median duration with fewer,
// and one in doubt only where all are.
func TestSpeaker(t *testing.T) {
	poor := map[string]float64{counterDRAM[0]: 10, "gpu__time_duration.sum": 90_000}
	a := counting(t, counterReport(poor, use(20, 20, 20, nil), poor))
	if c := a.res.Kernels[0].Counted; c.Launch != 1 || c.Others != 2 {
		t.Errorf("%+v", c)
	}
	a.counted[1].doubt = &fact.Fact{Code: "match-duration"}
	if a.reader().chooseTypical(); a.res.Kernels[0].Counted.Launch == 1 {
		t.Error("a launch in doubt speaks beside others")
	}
	for _, l := range a.counted {
		l.doubt = &fact.Fact{Code: "match-duration"}
	}
	a.reader().chooseTypical()
	a.judge()
	if k := &a.res.Kernels[0]; k.Limiter.Kind != "" || len(k.Limiter.Why[0].Params["doubt"].Facts) != 1 || a.launchOf[0] != nil || k.Attained != nil {
		t.Errorf("%+v", k)
	}
}

// Of launches that differ in work, one that lasts as long as most do speaks.
func TestSpeakerIsTypical(t *testing.T) {
	lasting := func(ns float64) *launch {
		return &launch{values: map[string]float64{"gpu__time_duration.sum": ns}}
	}
	list := []*launch{lasting(8_500), lasting(23_900), lasting(24_000), lasting(25_000), lasting(80_000)}
	if got := typicalOf(list, 23_000); len(got) != 3 || got[0] != list[1] {
		t.Errorf("%d launches are like the typical one", len(got))
	}
	if got := typicalOf(list, 0); len(got) != len(list) {
		t.Errorf("without a timeline %d of %d launches are left", len(got), len(list))
	}
}

// Launches are held against the timeline by how long they last there, because the
// timer of ncu adds to them: of one that ran for 12.5 us and one for 9.7 us the
// first is the shorter under ncu.
func TestSpeakerLastsAsInTheTimeline(t *testing.T) {
	counted := func(under, lasts float64, typical bool) *launch {
		return &launch{values: map[string]float64{"gpu__time_duration.sum": under}, lastsNS: lasts, typical: typical}
	}
	first, planned := counted(11_776, 12_480, false), counted(13_088, 9_728, true)
	if typicalLaunch([]*launch{first, planned}, 9_840) != planned {
		t.Error("a launch that lasts longer than the median speaks before one at it")
	}
	near := counted(11_900, 9_840, false)
	if typicalLaunch([]*launch{near, planned}, 9_840) != planned {
		t.Error("of launches that are alike the one planned as typical does not speak")
	}
}

// A clock above the highest of the device was not measured, and one value is no
// span.
func TestCountersClock(t *testing.T) {
	hz := func(key string, x float64) fact.Param { return fact.Num(key, fact.KindHertz, x) }
	free := fact.ID("lock", "clock-lock", "free")
	at := func(hz float64) *launch {
		return &launch{res: &ncurep.Result{}, values: map[string]float64{"sm__cycles_elapsed.avg.per_second": hz}}
	}
	for _, c := range []struct {
		hz   []float64
		want fact.Fact
	}{
		{[]float64{1.9399e9, 2.1827e9}, fact.New(countersClock, hz("low", 1.9399e9), free)},
		{[]float64{1.961e9, 1.962e9}, fact.New(countersClock, hz("low", 1.961e9), free)},
		{[]float64{1.7e9, 1.98e9}, fact.New(countersClock, hz("low", 1.7e9), hz("high", 1.98e9), free)},
		{[]float64{2.2e9}, fact.Fact{}},
	} {
		a := newState(&analyzer{}, &timed{t: &timeline.Timeline{GPUs: []timeline.GPU{{ClockHz: 1_980_000_000}}}}, counters{})
		for _, hz := range c.hz {
			a.counted = append(a.counted, at(hz))
		}
		if got := a.reader().countersClock(); !got.Equal(c.want) {
			t.Errorf("%v: %v, want %v", c.hz, got, c.want)
		}
	}
}

// Of several rows that differ in their template parameters alone, a name without
// them fits none.
func TestAmbiguousName(t *testing.T) {
	a := counting(t, counterReport())
	a.res.Kernels = []Kernel{{Name: "void f<1>(int)", Short: "f"}, {Name: "void f<2>(int)", Short: "f"}}
	l := &launch{res: &ncurep.Result{}}
	if i, ok := a.reader().sameKernel(l, kernelKey{name: "f"}); ok || l.alike != 2 {
		t.Errorf("joined to row %d of %d", i, l.alike)
	}
	a.res.Kernels = a.res.Kernels[:1]
	if _, ok := a.reader().sameKernel(l, kernelKey{name: "f"}); !ok {
		t.Error("the only row that fits was refused")
	}
}

// Never counted and counted without what tells are different reasons.
func TestAbstainReasons(t *testing.T) {
	a := analyzerWith(Input{})
	if v := a.judgment().abstain(&Kernel{}); v.Why[0].Code != codeNothingCounted {
		t.Errorf("%+v", v)
	}
	a.counted = []*launch{synthetic(nil)}
	if v := a.judgment().abstain(&Kernel{}); v.Why[0].Code != codeNotCounted {
		t.Errorf("%+v", v)
	}
	a.chosen = map[string]bool{"k1": true}
	if v := a.judgment().abstain(&Kernel{ID: "k1", Reason: &fact.Fact{Code: "picked"}}); v.Why[0].Code != codeCountersLost {
		t.Errorf("chosen and not counted: %+v", v.Why)
	}
	if v := a.judgment().abstain(&Kernel{Reason: &fact.Fact{Code: "coverage-reached"}}); v.Why[0].Code != codeNotCounted || !hasFact(v.Why[0].Params["why"].Facts, "coverage-reached") {
		t.Errorf("%+v", v)
	}
}

// Times of ncu are not summed as times of a region, but compared with them.
func TestRegionTimesOfNcu(t *testing.T) {
	row := &pick.Region{Parts: []pick.RegionPart{{Inclusive: pick.RegionSums{KernelNS: 1000, ExcludedNS: 1000, ExcludedLaunches: 4, Coverage: 0.8, Metrics: []pick.RegionMetric{
		{Name: "gpu__time_duration.sum", Value: 1200, How: "sum", Coverage: 0.8}, {Name: "sm__cycles_elapsed.sum", Value: 9, How: "sum"},
		{Name: "derived_tempMetric4", Value: math.NaN()}, {Name: "dram__bytes_read.sum", Value: 64, How: "sum"},
	}}}}}
	c, why := bare.judgment().regionCounters(row, &Region{})
	if why != nil || len(c.Metrics) != 1 || c.Metrics[0].Name != "dram__bytes_read.sum" || c.Coverage != 0.4 {
		t.Fatalf("%+v %v", c, why)
	}
	if len(c.Note) != 2 || !c.Note[0].Is(launchesExcluded) || c.Note[0].Number("n") != 4 || !c.Note[1].Is(longerUnderNcu) || math.Abs(c.Note[1].Number("share")-0.5) > 1e-9 {
		t.Error(c.Note)
	}
	whole := &pick.Region{Whole: &pick.WholeSums{Ranges: 2, Of: 20, Metrics: []pick.RegionMetric{{Name: "dram__bytes_read.sum", Value: 1}}}}
	if c, _ = bare.judgment().regionCounters(whole, &Region{}); c.Coverage != 0.1 || len(c.Note) != 1 || !c.Note[0].Is(rangesPartial) {
		t.Errorf("%+v", c)
	}
}

// Kernels whose FLOPs were not counted do not count as covered, and the bytes of
// counters are never called a bound.
func TestCoverageOfEachQuantity(t *testing.T) {
	vector := func(v map[string]float64) map[string]float64 {
		for _, op := range []string{"fadd", "fmul", "ffma", "dadd", "dmul", "dfma", "hadd", "hmul", "hfma"} {
			v["smsp__sass_thread_inst_executed_op_"+op+"_pred_on.sum"] = 0
		}
		v["sm__ops_path_tensor_src_tf32_dst_fp32.sum"] = 3e8
		return v
	}
	full := synthetic(vector(map[string]float64{"gpu__time_duration.sum": 100, "dram__bytes_read.sum": 50, "dram__bytes_write.sum": 50}))
	basic := synthetic(map[string]float64{"gpu__time_duration.sum": 100, "dram__bytes.sum.per_second": 1e9})
	a := newState(&analyzer{res: newResult(Input{}), rules: rules{th: defaultThresholds}}, &timed{tape: &timeline.Tape{}}, counters{launchOf: map[int]*launch{0: full, 1: basic}})
	a.res.Kernels = []Kernel{{Calls: 1, TotalNS: 60}, {Calls: 1, TotalNS: 35}, {Calls: 1, TotalNS: 5}}
	a.res.Stages = []Stage{{Name: "all", Passes: 1}}
	a.res.Environment.GPUs = []GPU{{Peaks: []Peak{{ID: "dram", Value: 1e12}, {ID: "tensor_tf32", Value: 1e15}, {ID: "fp32", Value: 1e14}}}}
	c := a.utilizer().countStage(0)
	if c.opsCover != 0.6 || c.bytesCover != 0.95 {
		t.Fatalf("%+v", c)
	}
	s := &a.res.Stages[0]
	a.utilizer().analytic(s, 0, StageWork{Stage: "all", FLOPs: 1e6, DType: "float32"}, 1e-6, nil, c)
	if u := s.MFU[0]; u.Peak.ID != string(gpu.TensorTF32) || !hasFact(u.Why, codeRanAsTF32) {
		t.Errorf("a float32 model whose products ran as tf32: %+v", u)
	}
	a.utilizer().fromCounters(s, 0, 1e-6, nil, c)
	if u := s.HFU[0]; u.Value == nil || *u.Coverage != 0.6 || u.Why[0].Code != codeCoverPart || u.Why[0].Number("share") != 0.6 {
		t.Errorf("%+v", u)
	}
	if u := s.MBU[0]; u.Value == nil || !hasFact(u.Why, codeCachesFlushed) {
		t.Errorf("%+v", u)
	}
	a.told((*conclusion).findUtilization)
	f := findingNamed(a.res, "utilisation-all")
	if f == nil || len(a.res.Findings) != 1 || f.Text("stage") != "" || len(f.Params["values"].Facts) != 2 || math.Abs(f.Params["values"].Facts[0].Number("value")-0.001) > 1e-9 || f.Params["values"].Facts[1].Code != codeUsedAbout {
		t.Errorf("%+v", a.res.Findings)
	}
	a.launchOf = map[int]*launch{1: basic}
	if a.utilizer().fromCounters(s, 0, 1e-6, nil, a.utilizer().countStage(0)); s.HFU[1].Value != nil || s.HFU[1].Why[0].Code != codeCoverNone {
		t.Errorf("%+v", s.HFU[1])
	}
}

// Kernels that compute nothing say so in place of an MFU and of a point.
func TestNothingComputed(t *testing.T) {
	values := use(80, 50, 20, map[string]float64{"gpu__time_duration.sum": 100, "sm__ops_path_tensor_src_bf16_dst_fp32.sum": 0})
	for _, op := range []string{"fadd", "fmul", "ffma", "dadd", "dmul", "dfma", "hadd", "hmul", "hfma"} {
		values["smsp__sass_thread_inst_executed_op_"+op+"_pred_on.sum"] = 0
	}
	for cover, want := range map[int64]float64{100: 0, 60: 0.6} {
		a := newState(&analyzer{res: newResult(Input{}), rules: rules{th: defaultThresholds}}, &timed{tape: &timeline.Tape{}}, counters{launchOf: map[int]*launch{0: synthetic(values)}})
		a.res.Kernels = []Kernel{{Calls: 1, TotalNS: cover}, {Calls: 1, TotalNS: 100 - cover}}
		a.res.Stages = []Stage{{Name: "copy", Passes: 1}}
		s := &a.res.Stages[0]
		a.utilizer().fromCounters(s, 0, 1e-6, because(codeOverNsys), a.utilizer().countStage(0))
		if len(s.HFU) != 1 || s.HFU[0].Value != nil || s.HFU[0].Why[0].Code != codeNoFloats || s.HFU[0].Why[0].Number("share") != want {
			t.Errorf("%+v, want %g", s.HFU, want)
		}
		if a.judgment().place(&a.res.Kernels[0], a.launchOf[0]); len(a.res.Kernels[0].Point) > 0 || a.res.Kernels[0].NoPoint.Code != codeNoFLOPs {
			t.Errorf("%+v", a.res.Kernels[0])
		}
	}
}

// A stage is held against the GPUs that it used; the number of a device in a
// report of counters adds none.
func TestGPUsOfAStage(t *testing.T) {
	s := scene{calls: []sceneCall{{10, 20, "cudaLaunchKernel", 0}, {610, 620, "cudaLaunchKernel", 0}},
		kernels: []sceneKernel{{100, 200, "gemm", 0, 0}, {700, 800, "gemm", 1, 1}}, ranges: [][2]int64{{0, 300}, {600, 900}}, end: 1000}
	tl := s.timeline()
	tl.Queues[1].Device = 1
	a := analyzerWith(Input{})
	if err := a.takeTimeline(t0(), tl); err != nil {
		t.Fatal(err)
	}
	a.res.Environment.GPUs = []GPU{{Device: 0}, {Device: 1}}
	a.counted = []*launch{{res: &ncurep.Result{Device: 7}, values: map[string]float64{}}}
	peaks := a.peaks()
	if peaks.gpusFromCounters(); len(peaks.gpus) != 2 {
		t.Errorf("%+v", peaks.gpus)
	}
	for i := range a.res.Stages {
		if used := a.utilizer().stageGPUs(i); len(used) != 1 || used[0].Device != i {
			t.Errorf("stage %d used %d GPUs, the first %d", i, len(used), used[0].Device)
		}
	}
}

// Peaks say which clock they hold at.
func TestClocksOfPeaks(t *testing.T) {
	r := analyzeFiles(t, toyTimeline, toyCounters)
	for _, p := range r.Environment.GPUs[0].Peaks {
		if p.Unit == "flop/s" && (!p.Clock.Is(highestClock) || p.Clock.Number("hz") != 1.98e9 || !p.Basis.Is(basisCounterClock)) {
			t.Errorf("%+v", p)
		}
	}
	for _, p := range r.Roofline.Roofs {
		if p.Unit == "flop/s" && !p.Clock.Is(countingClock) {
			t.Errorf("%+v", p)
		}
	}
}

// Compilers move constants by packed half instructions: these compute nothing.
// The values are of kernels of an H200.
func TestPackedHalfMoves(t *testing.T) {
	for _, c := range []struct {
		name               string
		add, mul, fma, all float64
		rates              bool // as --set full has them
		want               float64
	}{
		{"a product of floats: 2 per thread", 0, 0, 1_048_576, 1_820_000, true, 0},
		{"index_copy: 11 per thread, 3.8 %", 0, 0, 720_896, 592_000, true, 0},
		{"silu of bf16: 4.1 %", 0, 0, 2_818_048, 2_148_000, true, 0},
		{"the same as sums", 0, 0, 720_896, 592_000, false, 0},
		{"little beside FMA", 0, 0, 3_200_000, 500_000, true, 4 * 3_200_000},
		{"sums and products", 320_000, 320_000, 0, 400_000, true, 2 * 640_000},
		{"--set roofline, which does not count all instructions: FMA alone", 0, 0, 720_896, 0, true, 0},
		{"--set roofline: sums and products", 320_000, 320_000, 0, 0, true, 2 * 640_000},
		{"few sums among others", 3_200, 0, 0, 400_000, true, 0},
	} {
		const seconds, hz = 1e-3, 1e9
		v := map[string]float64{"gpu__time_duration.sum": seconds * 1e9, "sm__cycles_elapsed.avg.per_second": hz}
		for op, n := range map[string]float64{"hadd": c.add, "hmul": c.mul, "hfma": c.fma} {
			name := "smsp__sass_thread_inst_executed_op_" + op + "_pred_on.sum"
			if c.rates {
				v[name+".per_cycle_elapsed"] = n / hz / seconds
			} else {
				v[name] = n
			}
		}
		v[map[bool]string{true: "inst_executed", false: "smsp__inst_executed.sum"}[c.rates]] = c.all
		if got := synthetic(v).counts().flops[gpu.FP16]; math.Abs(got-c.want) > 1 {
			t.Errorf("%s: %g FLOPs, want %g", c.name, got, c.want)
		}
	}
}

// Rates of half instructions a cycle as `ncu --set roofline` counted them on an H200
// (scripts/validate/roofline): kernels of PyTorch that copy or compute in float, and
// kernels that compute in half. That set does not count all instructions.
func TestHalfOfARooflineCapture(t *testing.T) {
	for _, c := range []struct {
		name          string
		add, mul, fma float64
		l1            float64 // bytes a cycle; 0 is not known
		computes      bool
	}{
		{"silu of bf16", 0, 0, 247.779, 0, false},
		{"copy of a transposed tensor", 0, 0, 78.506, 0, false},
		{"mean of floats", 0, 0, 5.536, 0, false},
		{"product of floats, broadcast", 0, 0, 174.946, 0, false},
		{"softmax of floats", 0, 0, 195.506, 0, false},
		{"argmax of floats", 0, 0, 2.403, 0, false},
		// 20, 2 and 0 FLOPs in float for each value, which is a half in memory.
		{"gelu of halves, in float", 378.982, 0, 94.746, 947.456, false},
		{"sum of halves, in float", 726.797, 0, 0, 1635.293, false},
		{"negation of halves", 520.536, 0, 0, 1301.341, false},
		{"sum of packed halves (made up)", 181.7, 0, 0, 1635.293, true},
		{"half FMAs alone", 0, 0, 7897.924, 0, true},
		{"half sums, products and FMAs", 4722.656, 2361.328, 2398.224, 0, true},
	} {
		v := map[string]float64{"gpu__time_duration.sum": 1e5, "sm__cycles_elapsed.avg.per_second": 1.7e9, "sm__sass_thread_inst_executed_op_hfma_pred_on.sum.peak_sustained": 16896}
		if c.l1 > 0 {
			v[l1Loaded] = c.l1 * 1.7e9
		}
		for op, rate := range map[string]float64{"hadd": c.add, "hmul": c.mul, "hfma": c.fma} {
			v["smsp__sass_thread_inst_executed_op_"+op+"_pred_on.sum.per_cycle_elapsed"] = rate
		}
		if got := synthetic(v).counts().flops[gpu.FP16]; (got > 0) != c.computes {
			t.Errorf("%s: %g FLOPs in half", c.name, got)
		}
	}
}

// Counters that no GPU can have are absent, with a warning each. The report is
// synthetic.
func TestImpossibleCounters(t *testing.T) {
	a := counting(t, counterReport(
		map[string]float64{counterSMs: 0, counterMajor: 0, counterClockRate: -1980000, "sm__cycles_elapsed.avg.per_second": -1, "gpu__time_duration.sum": 90_000}))
	peaks := a.peaks()
	peaks.gpusFromCounters()
	if g := peaks.gpus; len(g) != 1 || g[0].SMs != 0 || g[0].Compute != "" {
		t.Errorf("GPUs %+v", g)
	}
	if hz := a.highestClock(a.tl, 0); hz != 0 {
		t.Errorf("highest clock %g Hz", hz)
	}
	var said []string
	for _, w := range a.notes.warnings {
		if w.Is(counterImpossible) && w.Number("n") == 1 {
			said = append(said, w.Text("counter"))
		}
	}
	want := []string{counterClockRate, counterMajor, counterSMs, "sm__cycles_elapsed.avg.per_second"}
	if !slices.Equal(said, want) {
		t.Errorf("warned of %q, want %q", said, want)
	}
}
