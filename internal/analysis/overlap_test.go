package analysis

import (
	"fmt"
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/timeline"
)

// sideBySide has two instances of a range at the same time, four short kernels, and
// 2.4 us of host code after each launch, which counts for both instances.
func sideBySide() *timeline.Timeline {
	s := scene{end: 10_000}
	for i := range int64(4) {
		s.calls = append(s.calls, sceneCall{i * 2500, i*2500 + 100, "cudaLaunchKernel", 0})
		s.kernels = append(s.kernels, sceneKernel{i*2500 + 200, i*2500 + 300, "gemm", int(i), 0})
	}
	tl := s.timeline()
	tl.Names = append(tl.Names, "work")
	for thread := range uint32(2) {
		tl.Ranges = append(tl.Ranges, timeline.Range{Start: 0, End: 10_000, Name: timeline.StringID(len(tl.Names) - 1), Thread: thread, EndThread: timeline.None, Payload: timeline.None})
	}
	return tl
}

// Threads side by side in one region cannot save the same moment twice.
func TestOverlapSavesOnce(t *testing.T) {
	tl := sideBySide()
	r := take(t, tl, Thresholds{})
	if r.Stages[0].Split.WallNS != 20_000 {
		t.Fatalf("%+v", r.Stages[0])
	}
	for _, o := range r.Opportunities {
		if o.Seconds > 9.6e-6 || o.Kind == "gaps" && o.Seconds < 7e-6 {
			t.Errorf("%s saves %g s of 10 us with 0.4 us of work", o.ID, o.Seconds)
		}
	}
}

// Host code of instances that run side by side is no floor for the time they share:
// what one of them still does, the other may hide.
func TestHostCodeOfOverlappingInstances(t *testing.T) {
	a := analyzerOf(t, nil, sideBySide())
	if got := a.clock().launchGain(&a.res.Stages[0]).NS; got != 10_000-400 {
		t.Errorf("the launch gaps of 10 us with 0.4 us of work save at most %d ns, %+v", got, a.res.Stages[0].Split)
	}
}

// A chain of elementwise kernels ends with its instance of a range and with any
// other work in its stream.
func TestFusionEnds(t *testing.T) {
	s := scene{
		calls: []sceneCall{{0, 1, "cudaLaunchKernel", 0}, {2, 3, "cudaLaunchKernel", 0}, {12, 13, "cudaLaunchKernel", 0}},
		kernels: []sceneKernel{
			{100, 200, "relu", 0, 0}, {200, 300, "relu", 1, 0}, // fused, with the first of the next instance
			{300, 400, "relu", 2, 0}, {450, 550, "relu", 2, 0}, // the next, with a copy between
		},
		copies: []sceneKernel{{400, 450, "", 2, 0}}, end: 1000,
	}
	tl := s.timeline()
	tl.Names = append(tl.Names, "step")
	for _, at := range [][2]int64{{0, 10}, {11, 20}} {
		tl.Ranges = append(tl.Ranges, timeline.Range{Start: at[0], End: at[1], Name: timeline.StringID(len(tl.Names) - 1), EndThread: timeline.None, Payload: timeline.None})
	}
	for _, o := range take(t, tl, Thresholds{}).Opportunities {
		if o.Kind == "fusion" && (o.Evidence[0].Value != 1 || o.Evidence[1].Value != 3) {
			t.Errorf("%+v", o.Evidence)
		}
	}
}

// The outer call counts however many calls lie within it.
func TestManyInnerCalls(t *testing.T) {
	s := scene{calls: []sceneCall{{0, 5000, "cudaStreamSynchronize", 0}}, end: 6000}
	for i := range int64(20) {
		s.calls = append(s.calls, sceneCall{100 + i*10, 105 + i*10, "cudaEventRecord", 0})
	}
	s.calls = append(s.calls, sceneCall{5100, 5200, "cudaLaunchKernel", 0})
	s.kernels = []sceneKernel{{5300, 6000, "gemm", len(s.calls) - 1, 0}}
	p := parts(take(t, s.timeline(), Thresholds{HostGap: time.Millisecond}).Totals.Split)
	if p["sync"] != 5000 || p["call"] != 0 {
		t.Errorf("%v", p)
	}
}

// A stage in several requests is all of them.
func TestStageOfSeveralRegions(t *testing.T) {
	var s scene
	for i := range int64(3) {
		at := i * 1000
		s.calls = append(s.calls, sceneCall{at + 110, at + 120, "cudaLaunchKernel", 0})
		s.kernels = append(s.kernels, sceneKernel{at + 150, at + 250, "gemm", int(i), 0})
	}
	s.end = 3000
	tl := s.timeline()
	name := func(text string) timeline.StringID {
		tl.Names = append(tl.Names, text)
		return timeline.StringID(len(tl.Names) - 1)
	}
	prefill := name("prefill")
	for i := range int64(3) {
		at := i * 1000
		for _, r := range []timeline.Range{{Start: at, End: at + 900, Name: name(fmt.Sprintf("req%d", i))}, {Start: at + 100, End: at + 400, Name: prefill}} {
			r.EndThread, r.Payload = timeline.None, timeline.None
			tl.Ranges = append(tl.Ranges, r)
		}
	}
	r := take(t, tl, Thresholds{})
	if st := r.Stages; len(st) != 1 || st[0].Name != "prefill" || st[0].Passes != 3 || st[0].Split.WallNS != 900 || st[0].Split.BusyNS != 300 || len(st[0].Regions) != 3 {
		t.Fatalf("%+v", st)
	}
	if k := r.Kernels[0].Stages; len(k) != 1 || k[0].Calls != 3 || k[0].NS != 300 {
		t.Errorf("%+v", k)
	}
}

// Work that ends before it starts counts nothing anywhere.
func TestBackwards(t *testing.T) {
	s := scene{kernels: []sceneKernel{{100, 200, "gemm", -1, 0}, {500, 400, "gemm", -1, 0}}, copies: []sceneKernel{{50, 20, "", -1, 0}}, ranges: [][2]int64{{600, 300}}, end: 1000}
	r := take(t, s.timeline(), Thresholds{})
	if r.Totals.KernelNS != 100 || r.Totals.CopyNS != 0 || r.Categories[0].NS != 100 {
		t.Errorf("%+v, %+v", r.Totals, r.Categories)
	}
	checkResult(t, "backwards", r)
}
