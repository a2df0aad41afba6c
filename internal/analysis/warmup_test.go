package analysis

import (
	"math"
	"testing"
)

func TestWarmUp(t *testing.T) {
	for _, c := range []struct {
		name   string
		passes []int64
		n      int
		others float64
	}{
		{"the first is slow", []int64{1566, 344, 318}, 1, 331},
		{"the first two are slow", []int64{900, 800, 100, 110, 105, 100, 90}, 2, 100},
		{"the last is slow", []int64{945, 938, 1685}, 0, 945},
		{"two passes", []int64{1000, 100}, 1, 100},
		{"two passes that differ a little", []int64{150, 100}, 0, 125},
		{"one pass", []int64{150}, 0, 0},
		{"none", nil, 0, 0},
	} {
		if n, others := warmUp(c.passes); n != c.n || others != c.others {
			t.Errorf("%s: %d passes, the others %g, want %d and %g", c.name, n, others, c.n, c.others)
		}
	}
}

// warmScene is a made-up program: three ranges of one name with a kernel each, of
// which the first is far longer on the host.
func warmScene() *Result {
	s := scene{end: 1_400}
	for i, r := range [][2]int64{{0, 1_000}, {1_000, 1_200}, {1_200, 1_400}} {
		s.calls = append(s.calls, sceneCall{r[1] - 100, r[1] - 90, "cudaLaunchKernel", 0})
		s.kernels = append(s.kernels, sceneKernel{r[1] - 80, r[1] - 10, "gemm", i, 0})
		s.ranges = append(s.ranges, r)
	}
	tl := s.timeline()
	for i := range tl.Ranges {
		tl.Ranges[i].Name = tl.Ranges[0].Name
	}
	r, _ := analyzeTimeline(tl, Thresholds{})
	return r
}

// A first pass that is named like its stage and far longer is told, and MFU goes
// by the median pass.
func TestFirstPassIsTold(t *testing.T) {
	r := warmScene()
	f := findingNamed(r, "warm-up-r0")
	if f == nil || f.Number("n") != 1 || f.Number("passes") != 3 || f.Number("ns") != 1000 || f.Number("of") != 1400 || f.Number("median") != 200 {
		t.Fatalf("%+v in %+v", f, r.Findings)
	}
	if seconds, _ := analyzerWith(Input{}).utilizer().secondsOf(&r.Stages[0]); math.Abs(seconds-200e-9) > 1e-15 {
		t.Errorf("a pass takes %g s", seconds)
	}
}

// Copies that run while no kernel does, with the call that began them, are told
// beside the cause of the rest.
func TestCopiesWhileNoKernelRuns(t *testing.T) {
	for _, c := range []struct {
		copyEnd        int64
		cause          string
		copies, copied float64
	}{{900, "idle:copy", 810, 0}, {200, "idle:launch", 110, 110}} {
		s := scene{end: 1_000, ranges: [][2]int64{{0, 1_000}},
			calls:   []sceneCall{{0, 10, "cudaMemcpyAsync", 0}, {10, 990, "cudaLaunchKernel", 0}},
			copies:  []sceneKernel{{100, c.copyEnd, "", 0, 0}},
			kernels: []sceneKernel{{990, 1_000, "gemm", 1, 0}}}
		a := analyzerWith(Input{})
		if err := a.takeTimeline(t0(), s.timeline()); err != nil {
			t.Fatal(err)
		}
		a.res.Stages[0].Split.LaunchBound = false // the finding is of stages that are not
		a.told((*conclusion).findMain)
		f := findingNamed(a.res, "main-r0")
		if f == nil || f.Text("cause") != c.cause || f.Number("copies") != c.copies || f.Number("copied") != c.copied {
			t.Errorf("%+v", f)
		}
	}
}
