package analysis

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/deepprof/deepprof/internal/gpu"
	"github.com/deepprof/deepprof/internal/metric"
	"github.com/deepprof/deepprof/internal/ncurep"
	"github.com/deepprof/deepprof/internal/pick"
)

// twoSizes is a synthetic stage of one kernel and grid: 16 launches of 9.2 us and 8
// of 19.3 us, of which one short one was counted.
func twoSizes(t *testing.T, flops float64) *state {
	t.Helper()
	s := scene{ranges: [][2]int64{{0, 1_000_000}}, end: 1_000_000}
	at := int64(100)
	for i := range 24 {
		ns := int64(9200)
		if i%3 == 2 {
			ns = 19300
		}
		s.calls = append(s.calls, sceneCall{at, at + 10, "cudaLaunchKernel", 0})
		s.kernels = append(s.kernels, sceneKernel{at + 20, at + 20 + ns, "gemm", i, 0})
		at += ns + 100
	}
	a := analyzerWith(Input{})
	if err := a.takeTimeline(t0(), s.timeline()); err != nil {
		t.Fatal(err)
	}
	res := &ncurep.Result{Kind: ncurep.Kernel, FunctionName: "gemm", DemangledName: "gemm", Grid: ncurep.Dim3{X: 1, Y: 1, Z: 1}, Block: ncurep.Dim3{X: 32, Y: 1, Z: 1}}
	set := func(name string, v float64) {
		res.Metrics = append(res.Metrics, ncurep.Metric{Name: name, Value: metric.Float64(v)})
	}
	for _, op := range []string{"fadd", "fmul", "ffma", "dadd", "dmul", "dfma", "hadd", "hmul", "hfma"} {
		set("smsp__sass_thread_inst_executed_op_"+op+"_pred_on.sum", 0)
	}
	set("gpu__time_duration.sum", 9700)
	set("sm__ops_path_tensor_src_bf16_dst_fp32.sum", flops)
	set("dram__bytes_read.sum", 1000)
	set("dram__bytes_write.sum", 0)
	a.counting(func(r *counterReader) { r.takeReport("made", &ncurep.Report{Results: []*ncurep.Result{res}}) })
	a.reader().chooseTypical()
	var err error
	if a.counting(func(r *counterReader) { err = r.readTargets() }); err != nil {
		t.Fatal(err)
	}
	a.judgment().countRegions()
	return a
}

// A launch that lasts longer than the counted one of its kernel and grid does more.
func TestCountsGoByTimeWhereLaunchesDiffer(t *testing.T) {
	a := twoSizes(t, 4.29e9)
	c := a.utilizer().countStage(0)
	one := a.launchOf[0].counts().flops[gpu.TensorBF16]
	times := 16 + 8*19.3/9.2
	if one == 0 || math.Abs(c.ops[gpu.TensorBF16]-one*times) > 1e-9*one*times || math.Abs(c.bytes-1000*times) > 1e-6 || c.opsCover != 1 {
		t.Fatalf("%+v, want %g times %g", c, times, one)
	}
	if long := 8 * 19.3 / 9.2; math.Abs(c.opsScaled-long*one) > 1e-9*long*one || math.Abs(c.bytesScaled-long*1000) > 1e-6 {
		t.Errorf("%g FLOPs and %g bytes by time, want %g of each", c.opsScaled, c.bytesScaled, long)
	}
	s := &a.res.Stages[0]
	a.res.Environment.GPUs = []GPU{{Peaks: []Peak{{ID: "dram", Value: 1e15}, {ID: "tensor_bf16", Value: 1e18}}}}
	if a.utilizer().fromCounters(s, 0, 1e-3, nil, c); len(s.HFU) != 1 || len(s.MFU) != 0 || !hasFact(s.HFU[0].Why, codeScaledPart) || math.Abs(s.HFU[0].Why[0].Number("share")-0.512) > 1e-3 || !hasFact(s.MBU[0].Why, codeScaledPart) {
		t.Fatalf("%+v", s.HFU)
	}
	a.utilizer().noteScaled()
	if n := a.res.Regions[0].Counters.Note; len(n) == 0 || !n[0].Is(scaledTime) || n[0].Number("share") < 0.505 || n[0].Number("share") > 0.515 {
		t.Errorf("note %v", n)
	}
}

// Counters below the model's FLOPs although they cover all are told; a little less
// is not, nor where much was not counted.
func TestFewerFLOPsThanTheModel(t *testing.T) {
	for _, test := range []struct {
		model, cover float64
		told         bool
	}{{1.06, 1, true}, {1.04, 1, false}, {1.06, 0.89, false}, {0.9, 1, false}} {
		a := twoSizes(t, 4.29e9)
		c, s := a.utilizer().countStage(0), &a.res.Stages[0]
		c.opsCover = test.cover
		model := test.model * c.ops[gpu.TensorBF16] / float64(s.Passes)
		s.FLOPs = &model
		value := 0.1
		s.MFU, s.HFU = []Utilization{{Method: "analytic", Value: &value}}, []Utilization{{Method: "counters", Value: &value}}
		a.executed(s, c)
		warned := false
		for _, w := range a.notes.warnings {
			warned = warned || w.Is(executedLess) && w.Stage != ""
		}
		if warned != test.told || hasFact(s.HFU[0].Why, codeFewerThanModel) != test.told || len(s.MFU[0].Why) > 0 {
			t.Errorf("%+v: warned %v, %+v", test, warned, s.MFU)
		}
	}
}

// What a region's counters rest on is told: launches that were scaled by time, or
// counted elsewhere.
func TestRegionTellsWhatIsScaled(t *testing.T) {
	a := twoSizes(t, 4.29e9)
	c := a.res.Regions[0].Counters
	if c == nil || c.ScaledNS != 8*19300 || c.ElsewhereNS != 16*9200+8*19300 {
		t.Errorf("%+v", c)
	}
}

// Patterns leave kernels out of a region's list as out of its counters.
func TestPatternsLeaveKernelsOut(t *testing.T) {
	a := twoSizes(t, 4.29e9)
	l := pick.Load(a.tl.at)
	if err := a.reader().keepKernels(l, pick.RegionOptions{KernelInclude: []string{"regex:^ge"}}); err != nil || len(a.res.Regions[0].Top) != 1 {
		t.Fatalf("%v, %+v", err, a.res.Regions[0].Top)
	}
	if err := a.reader().keepKernels(l, pick.RegionOptions{KernelExclude: []string{"gemm"}}); err != nil || len(a.res.Regions[0].Top) != 0 {
		t.Errorf("%v, %+v", err, a.res.Regions[0].Top)
	}
}

// The pictures of a prompt, and what its work was computed with, are told.
func TestShapeOfImages(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "flops.json")
	text := `{"schema":1,"model":{"type":"x","parameters":1},"shape":{"batch":1,"prompt":16,"new":32,"dtype":"bf16","images":1,"image_size":1024,"tokens":273},"stages":{"prefill":{"flops":1}},"cache":{},"assumptions":["two operations"]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a := analyzerWith(Input{Flops: path})
	a.res.Workload.Shape = []Fact{{"batch_size", "1"}, {promptLength, "16"}, {"new_tokens", "32"}}
	u := a.utilizer()
	u.stageWork()
	a.res.takeUse(&u.useRows)
	want := []Fact{{"batch_size", "1"}, {promptLength, "16"}, {"images", "1"}, {"image_size_px", "1024"}, {"prompt_tokens_with_images", "273"}, {"new_tokens", "32"}}
	if !slices.Equal(a.res.Workload.Shape, want) || len(a.res.Method.Assumptions) != 1 {
		t.Errorf("%+v, %+v, %+v", a.res.Workload.Shape, a.res.Method.Assumptions, a.notes.warnings)
	}
}
