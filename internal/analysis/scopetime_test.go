package analysis

import (
	"slices"
	"testing"

	"github.com/deepprof/deepprof/internal/timeline"
)

// The time of a scope whose regions only launch is that in which their work ran,
// and every share and saving is of it. mlp is opened while the kernels of
// attention run.
func TestScopeOfRegionThatOnlyLaunches(t *testing.T) {
	for path, want := range map[string][2]int64{"prefill/mlp": {583904, 581856}, "prefill/attention": {1436356, 1431972}} {
		r := scopedTo(t, []string{path}, nil, toyTimeline, toyCounters)
		s := r.Scope
		if s.WallNS != want[0] || s.WallNS != r.Stages[0].Split.WallNS || s.Split.BusyNS != want[1] || s.BusyNS != want[1] || s.KernelNS != want[1] {
			t.Errorf("%s: %d ns, its stage %d ns, kernels %d ns, busy %d ns, want %v", path, s.WallNS, r.Stages[0].Split.WallNS, s.KernelNS, s.BusyNS, want)
		}
		for _, o := range r.Opportunities {
			if o.OfNS != want[0] {
				t.Errorf("%s: %s is held against %d ns", path, o.ID, o.OfNS)
			}
		}
	}
}

// foreignScene is a made-up program: r0 launches two kernels and closes, and
// another thread keeps a second stream busy meanwhile.
func foreignScene() *timeline.Timeline {
	tl := scene{
		calls:   []sceneCall{{0, 10, "cudaLaunchKernel", 0}, {10, 20, "cudaLaunchKernel", 0}, {5, 15, "cudaLaunchKernel", 1}},
		kernels: []sceneKernel{{500, 600, "gemm", 0, 0}, {700, 800, "gemm", 1, 0}, {20, 1000, "relu", 2, 1}},
		ranges:  [][2]int64{{0, 30}}, end: 1000,
	}.timeline()
	slices.SortFunc(tl.Kernels, func(x, y timeline.Kernel) int { return int(x.Start - y.Start) })
	return tl
}

func TestScopeLeavesOutWorkOfOthers(t *testing.T) {
	in := Input{Include: []string{"r0"}}
	a := analyzerWith(in)
	if err := a.takeTimeline(t0(), foreignScene()); err != nil {
		t.Fatal(err)
	}
	s := a.res.Scope
	if got := parts(s.Split); s.WallNS != 300 || s.BusyNS != 200 || got["gemm"] != 200 || got["others"] != 100 || got["elementwise"] != 0 {
		t.Errorf("%d ns, busy %d: %v", s.WallNS, s.BusyNS, got)
	}
	if s.StartNS != 0 || s.EndNS != 800 {
		t.Errorf("drawn from %d to %d", s.StartNS, s.EndNS)
	}
	if g := a.clock().launchGain(&a.res.Stages[0]); g.NS != 100 {
		t.Errorf("closing the gaps of 200 ns of its own work in 300 ns saves %d", g.NS)
	}
}
