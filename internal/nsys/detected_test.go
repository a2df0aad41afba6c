package nsys

import (
	"context"
	"testing"

	"github.com/deepprof/deepprof/internal/timeline"
)

// A timeline without ranges (synthetic: set-up, then six times the same four
// kernels) has regions of what repeats where a query asks for them.
func TestDetectedRegions(t *testing.T) {
	tl := &timeline.Timeline{
		Names: []string{"", "cudaLaunchKernel"}, Configs: []timeline.LaunchConfig{{}}, Processes: []timeline.Process{{Global: 1 << 24, PID: 1}},
		Threads: []timeline.Thread{{Global: 1<<24 + 1, TID: 1}}, Queues: []timeline.Queue{{Stream: 7}}, Domains: []timeline.Domain{{Process: timeline.None}},
	}
	for i := range 8 {
		tl.Names = append(tl.Names, string(rune('a'+i)))
		tl.Functions = append(tl.Functions, timeline.Function{Demangled: timeline.StringID(i + 2), Short: timeline.StringID(i + 2)})
	}
	launch := func(function uint32) {
		n := uint32(len(tl.Kernels))
		at := int64(n) * 1000
		tl.Calls.Add(timeline.Call{Start: at, End: at + 100, Name: 1, Correlation: n + 1})
		tl.Kernels = append(tl.Kernels, timeline.Kernel{Start: at + 200, End: at + 900, Function: function, Correlation: n + 1})
	}
	for i := range uint32(4) {
		launch(4 + i)
	}
	for i := range uint32(24) {
		launch(i % 4)
	}
	f := &File{}
	rows := f.detected(tl, timeline.Query{Detect: true}).RegionRows(timeline.Query{}).Rows
	got := map[string]int64{}
	for _, r := range rows {
		got[r.Name] = r.KernelCalls
	}
	if got[timeline.DetectedRepeat] != 24 || got[timeline.DetectedSetUp] != 4 {
		t.Errorf("regions %v", got)
	}
	made := f.detected(tl, timeline.Query{Detect: true})
	if n := len(made.Warnings); n == 0 || made.Warnings[n-1].Code != timeline.CodePhases || made.Warnings[n-1].Number("n") != 6 {
		t.Errorf("warnings %+v", made.Warnings)
	}
	if f.detected(tl, timeline.Query{}) != tl {
		t.Error("ranges that nobody asked for")
	}
}

// A real timeline of a C++ program on an H200 with its ranges left out of what is read:
// regions come from the names of kernels, which a view of regions reads for that alone.
func TestDetectedRegionsReadNames(t *testing.T) {
	f := openExport(t, "toy")
	ctx := context.Background()
	with, err := f.TimelineFor(ctx, regionsFor(timeline.Query{})&^NVTX, timeline.Query{Detect: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range with.RegionRows(timeline.Query{}).Rows {
		// Two kernels in turns; without names all 31 launches would look alike.
		if r.Name == timeline.DetectedRepeat && (r.Instances != 8 || r.KernelCalls != 16) {
			t.Errorf("%d repetitions with %d kernels, want 8 with 16", r.Instances, r.KernelCalls)
		}
	}
	if n := len(with.Ranges); n == 0 {
		t.Error("nothing was detected")
	}
}
