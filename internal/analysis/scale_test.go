package analysis

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/deepprof/deepprof/internal/timeline"
)

// large is a decode of n kernels in steps of 500 by way of layers, with two
// calls a kernel and kernels of many shapes.
func large(n int) *timeline.Timeline {
	t := &timeline.Timeline{
		Names: []string{"", "cudaLaunchKernel_v7000", "cudaStreamIsCapturing_v10000", "decode", "step", "layer"}, Processes: []timeline.Process{{Global: 1 << 24, PID: 1}},
		Threads: []timeline.Thread{{Global: 1<<24 + 1, TID: 1}}, Queues: []timeline.Queue{{Stream: 7}, {Stream: 13}},
		Domains: []timeline.Domain{{Process: timeline.None}},
	}
	for i := range 120 {
		name := fmt.Sprintf("void at::native::vectorized_elementwise_kernel<%d, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, %dul> >(int, T2, T3)", i, i)
		t.Names = append(t.Names, name)
		t.Functions = append(t.Functions, timeline.Function{Demangled: timeline.StringID(len(t.Names) - 1)})
	}
	for i := range int32(50) { // shapes that grow with the sequence
		t.Configs = append(t.Configs, timeline.LaunchConfig{Grid: [3]int32{i + 1, 1, 1}, Block: [3]int32{128, 1, 1}})
	}
	add := func(name timeline.StringID, start, end int64) {
		t.Ranges = append(t.Ranges, timeline.Range{Start: start, End: end, Name: name, EndThread: timeline.None, Payload: timeline.None})
	}
	const every = 8000
	end := int64(n) * every
	add(3, 0, end)
	for i := range n {
		at := int64(i) * every
		if i%500 == 0 {
			add(4, at, at+500*every-100)
		}
		if i%20 == 0 {
			add(5, at, at+20*every-200)
		}
		t.Calls.Add(timeline.Call{Start: at + 300, End: at + 600, Name: 2, Correlation: uint32(2*i + 1)})
		t.Calls.Add(timeline.Call{Start: at + 1000, End: at + 4000, Name: 1, Correlation: uint32(2*i + 2)})
		t.Kernels = append(t.Kernels, timeline.Kernel{
			Start: at + 5000, End: at + 6500 + int64(i*7919%4000), Correlation: uint32(2*i + 2), Function: uint32(i % 120), Config: uint32(i / 5000 % 50), Queue: uint32(i % 2),
		})
	}
	t.Session.LastNS = end
	return t
}

// Half a million kernels stay a small result.
func TestLargeTimelineStaysSmall(t *testing.T) {
	n := 500_000
	if testing.Short() {
		n = 100_000
	}
	r, err := analyzeTimeline(large(n), Thresholds{})
	if err != nil {
		t.Fatal(err)
	}
	checkResult(t, "large", r)
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 3<<20 {
		t.Errorf("result.json has %d bytes", len(data))
	}
	if r.Rest == nil || len(r.Kernels) != maxKernels {
		t.Errorf("%d kernels are listed", len(r.Kernels))
	}
	boxes := 0
	for _, l := range r.Overview.Lanes {
		boxes += len(l.Boxes)
	}
	if boxes > maxBoxes+len(r.Overview.Lanes) || boxes < maxBoxes/8 {
		t.Errorf("the overview has %d boxes", boxes)
	}
}

func BenchmarkHalfAMillionKernels(b *testing.B) {
	t := large(500_000)
	for b.Loop() {
		if _, err := analyzeTimeline(t, Thresholds{}); err != nil {
			b.Fatal(err)
		}
	}
}

// A counted kernel stays however little time it takes, and regions still refer
// to it.
func TestTrim(t *testing.T) {
	a := analyzerWith(Input{})
	for i := range maxKernels + 10 {
		a.res.Kernels = append(a.res.Kernels, Kernel{ID: fmt.Sprint(i), Calls: 2, TotalNS: 5})
	}
	last := maxKernels + 9
	a.res.Kernels[last].Counted = &Counted{}
	a.res.Regions = []Region{{Top: []RegionKernel{{Kernel: last}, {Kernel: maxKernels + 1}, {Kernel: 7}}}}
	a.res.Operators = []Operator{{Links: []OperatorKernel{{Kernel: fmt.Sprint(maxKernels + 1), Name: "gone"}, {Kernel: "7", Name: "kept"}}}}
	a.res.trim()
	if l := a.res.Operators[0].Links; l[0].Kernel != "" || l[1].Kernel != "7" {
		t.Errorf("the operator refers to %+v", l)
	}
	if n := len(a.res.Kernels); n != maxKernels+1 || a.res.Kernels[n-1].ID != fmt.Sprint(last) {
		t.Fatalf("%d kernels are left", n)
	}
	if r := a.res.Rest; r == nil || r.Kernels != 9 || r.Calls != 18 || r.NS != 45 {
		t.Errorf("rest %+v", r)
	}
	top := a.res.Regions[0].Top
	if len(top) != 2 || a.res.Kernels[top[0].Kernel].ID != fmt.Sprint(last) || top[1].Kernel != 7 {
		t.Errorf("the region refers to %+v", top)
	}
}

// Events that overlap within a bin count once.
func TestBins(t *testing.T) {
	spans := []moment{{100, 150}, {120, 180}, {190, 195}, {1000, 5000}, {5010, 5020}}
	l := &lane{laneEvents: listed(len(spans), func(i int) moment { return spans[i] }, func(i int) uint32 { return uint32(i) },
		func(i uint32) title { return title{name: []string{"a", "b", "c", "long", "d"}[i]} })}
	o := &Overview{EndNS: 10_000}
	names := map[string]int{}
	out := l.draw(o, names, 3, moment{})
	if out.Exact || out.Events != 5 || len(out.Boxes) != 3 {
		t.Fatalf("%+v", out)
	}
	if b := out.Boxes[0]; b.Start != 100 || b.Len != 95 || b.Busy != 85 || b.Count != 3 || o.Names[b.Name] != "b" {
		t.Errorf("three events became %+v", b)
	}
	if b := out.Boxes[1]; b.Start != 1000 || b.Len != 4000 || b.Count != 0 {
		t.Errorf("a long event became %+v", b)
	}
}
