package analysis

import (
	"math"
	"strings"
	"testing"
)

func regionOf(t *testing.T, r *Result, path string) *Region {
	t.Helper()
	for i := range r.Regions {
		if r.Regions[i].Path == path {
			return &r.Regions[i]
		}
	}
	t.Fatalf("no region %q in %d regions", path, len(r.Regions))
	return nil
}

// The numbers are those that ncu prints of the report, in toy_range.2024.1.raw.csv.
func TestRegionsOfRangesWithoutTimeline(t *testing.T) {
	r := analyzeFiles(t, "../ncurep/testdata/toy_range.ncu-rep.zst")
	if len(r.Regions) != 2 {
		t.Fatalf("%d regions, want prefill and decode", len(r.Regions))
	}
	for path, ns := range map[string]int64{"prefill": 1215424 + 1282976, "decode": 530144 + 326528} {
		g := regionOf(t, r, path)
		if g.Times != "ncu" || g.Instances != 2 || g.ProjectedNS != ns || g.WallNS != 0 {
			t.Errorf("%s: times %q, %d instances, %d ns, wall %d; want ncu, 2, %d, 0", path, g.Times, g.Instances, g.ProjectedNS, g.WallNS, ns)
		}
		c := g.Counters
		if c == nil || c.Method != "range" || len(c.Metrics) == 0 || c.Limiter == nil || c.Limiter.Kind == "" {
			t.Fatalf("%s: counters %+v", path, c)
		}
		for _, p := range c.Point {
			if p.Kernel != "" || !(p.Attained > 0) || math.IsInf(p.Attained, 0) {
				t.Errorf("%s: point %+v", path, p)
			}
		}
	}
	if !r.Roofline.Why.Is(codeNoRoofRanges) { // it has no FLOPs
		t.Errorf("the roofline says %+v", r.Roofline.Why)
	}
	found := 0
	for _, f := range r.Findings {
		if f.Is(codeRegionLimited) {
			found++
		}
	}
	if found != 2 || len(r.Environment.GPUs) != 1 {
		t.Errorf("%d findings, %d GPUs", found, len(r.Environment.GPUs))
	}
	if !r.Lacks(regionsUnderNcu) {
		t.Error("nothing tells that the times are under ncu")
	}
}

func TestRegionsOfLaunchesWithoutTimeline(t *testing.T) {
	alone, both := analyzeFiles(t, toyCounters), analyzeFiles(t, toyTimeline, toyCounters)
	if len(alone.Regions) == 0 {
		t.Fatal("no regions from launches with NVTX state")
	}
	for i := range alone.Regions {
		g := &alone.Regions[i]
		want := regionOf(t, both, g.Path)
		if g.Kernels != want.Kernels || g.SelfKernels != want.SelfKernels || g.Depth != want.Depth || g.Style != want.Style {
			t.Errorf("%s: %d launches, %d own, depth %d, %s; the timeline has %d, %d, %d, %s", g.Path, g.Kernels, g.SelfKernels, g.Depth, g.Style, want.Kernels, want.SelfKernels, want.Depth, want.Style)
		}
		if g.Times != "ncu" || g.KernelNS <= 0 || g.WallNS != 0 || g.Counters == nil || len(g.Top) == 0 {
			t.Errorf("%s: times %q, %d ns, wall %d, counters %v, %d kernels", g.Path, g.Times, g.KernelNS, g.WallNS, g.Counters, len(g.Top))
		}
	}
}

// Ranges whose FLOPs were counted have points, and the roofline says where. The
// counters are synthetic.
func TestRooflineSaysWhereRangesAre(t *testing.T) {
	in, err := fromFiles(unpacked(t, "../ncurep/testdata/ncu_range.ncu-rep.zst"))
	if err != nil {
		t.Fatal(err)
	}
	a := analyzerWith(in)
	if a.counting(func(r *counterReader) { _, err = r.read(t0()) }); err != nil {
		t.Fatal(err)
	}
	a.res.Environment.GPUs, a.res.Roofline.Roofs = a.peaks().findPeaks()
	a.judge()
	a.judgment().countRegions()
	for _, l := range a.ranges {
		for name := range l.values {
			if strings.Contains(name, "ops_path_tensor") && strings.Contains(name, "src_bf16") && strings.HasSuffix(name, ".sum") {
				l.values[name] = 1e9
			}
		}
	}
	j := a.judgment()
	j.judgeRanges()
	a.res.Roofline = j.made.Roofline
	g := regionOf(t, a.res, "prefill")
	if why := a.res.Roofline.Why; len(g.Counters.Point) == 0 || !why.Is(codeRoofOfRanges) || why.Number("n") != 1 {
		t.Errorf("%d points of prefill; the roofline says %+v", len(g.Counters.Point), why)
	}
}
