package analysis

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// Regions that repeat each other are one line, which sums them.
func TestRegionLines(t *testing.T) {
	r := analyzeFiles(t, "../nsys/testdata/exports/multi_node.sqlite.gz")
	if len(r.RegionGroups) == 0 {
		t.Fatal("no region repeats another")
	}
	lines := r.RegionLines()
	for _, g := range r.RegionGroups {
		var kernels, ns, instances int64
		most := int64(0)
		for _, i := range g.Members {
			m := &r.Regions[i]
			kernels, ns, instances, most = kernels+m.Kernels, ns+m.KernelNS, instances+m.Instances, max(most, m.MaxNS)
			if slices.ContainsFunc(lines, func(l Region) bool {
				return l.Path == m.Path && l.Process == nil && l.Device == nil && l.Members == nil
			}) {
				t.Errorf("%s of group %s has a line of its own", m.Path, g.Path)
			}
		}
		if len(g.Members) < 2 || kernels != g.Kernels || ns != g.KernelNS || instances != g.Instances || most != g.MaxNS || !strings.Contains(g.Path, "#") {
			t.Errorf("group %s of %d: %d kernels in %d ns, %d instances; its members have %d, %d and %d", g.Path, len(g.Members), g.Kernels, g.KernelNS, g.Instances, kernels, ns, instances)
		}
		if g.MinNS > g.MedianNS || g.MedianNS > g.MaxNS {
			t.Errorf("group %s: %d, %d, %d", g.Path, g.MinNS, g.MedianNS, g.MaxNS)
		}
	}
	for i, l := range lines {
		if l.Parent >= i || l.Parent >= 0 && !strings.HasPrefix(l.Path, lines[l.Parent].Path+"/") {
			t.Errorf("line %d, %s, is not below %d", i, l.Path, l.Parent)
		}
	}
}

// What is derived is the same when it is derived again, and shares are of the whole
// that they name.
func TestDerive(t *testing.T) {
	for _, files := range [][]string{{toyTimeline, "../ncurep/testdata/toy_full.ncu-rep.zst"}, {"../nsys/testdata/exports/llm.sqlite.gz"}} {
		r := analyzeFiles(t, files...)
		before := numbersOf(t, r)
		r.Derive()
		for place, x := range numbersOf(t, r) {
			if before[place] != x {
				t.Errorf("%s was %v and is %v", place, before[place], x)
			}
		}
		for _, g := range r.Regions {
			ns, in := r.InScope(&g)
			if in != (g.Share != nil) || in && math.Abs(*g.Share*float64(r.kernelNS())-float64(ns)) > 1 {
				t.Errorf("share of %s: %v of %d", g.Path, g.Share, r.kernelNS())
			}
			if g.Limiter == nil || g.Split.LaunchBound != (g.Limiter.Kind == regionLaunchBound) {
				t.Errorf("limiter of %s: %+v", g.Path, g.Limiter)
			}
		}
		for _, s := range r.Stages {
			if l := s.Split.Limiter; s.Split.WallNS > 0 && (l == nil || l.Kind == TimeIdle && s.Split.BusyNS >= s.Split.IdleNS) {
				t.Errorf("limiter of %s: %+v", s.Name, l)
			}
		}
		rest := r.KernelsAfter(1)
		if rest == nil || rest.NS+r.Kernels[0].TotalNS != r.kernelNS() || math.Abs(*rest.Share+r.Kernels[0].Share-1) > 1e-9 {
			t.Errorf("after the first kernel: %+v of %d", rest, r.kernelNS())
		}
	}
}

// The time of a pass by its range is told where that under nsys is by another
// clock and differs, and only there.
func TestRangeMS(t *testing.T) {
	ms := 10.0
	s := Stage{NsysMS: &ms, Passes: 2, Split: Split{WallNS: 20_000_000}}
	for _, c := range []struct {
		ns    float64
		clock string
		want  bool
	}{{10, "workload", false}, {8, "workload", true}, {8, clockOfRange, false}} {
		ms, s.NsysClock = c.ns, c.clock
		r := Result{Stages: []Stage{s}}
		if r.Derive(); (r.Stages[0].RangeMS != nil) != c.want {
			t.Errorf("%v by the clock %s: %v", c.ns, c.clock, r.Stages[0].RangeMS)
		}
	}
}

func TestOverheadHigh(t *testing.T) {
	for _, c := range []struct {
		overhead, limit float64
		want            bool
	}{{0.2, 0, false}, {0.3, 0, true}, {0.3, 0.5, false}} {
		r := Result{Stages: []Stage{{Overhead: &c.overhead}}, Method: Method{OverheadLimit: c.limit}}
		if r.Derive(); r.Stages[0].OverheadHigh != c.want {
			t.Errorf("%+v: %t", c, r.Stages[0].OverheadHigh)
		}
	}
}
