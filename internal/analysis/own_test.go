package analysis

import (
	"math"
	"testing"
)

// attention is the only result of the toy with attention alone as its scope.
func attention(t *testing.T) (*Result, *Stage) {
	t.Helper()
	in, err := fromFiles(unpacked(t, toyTimeline), unpacked(t, toyCounters))
	if err != nil {
		t.Fatal(err)
	}
	in.Include = []string{"attention"}
	r := analyzed(t, in)
	return r, stageNamed(t, r, "attention")
}

// The range around attention is closed after 23 µs, its kernels run for 718 µs:
// what they move is held against the time in which they ran.
func TestWorkOfARegionThatOnlyLaunches(t *testing.T) {
	r, s := attention(t)
	if s.Synchronous == nil || *s.Synchronous {
		t.Error("a range that closes before its work ends is called synchronous")
	}
	for _, u := range s.MFU {
		if u.Contradiction {
			t.Errorf("MFU of %v", *u.Raw)
		}
	}
	u := firstValue(s.MBU)
	if u == nil || math.Abs(*u.Value-0.0073) > 0.0001 || math.Abs(u.Achieved-35.1e9) > 0.2e9 || math.Abs(u.Seconds-1.436356e-3/2) > 1e-9 {
		t.Errorf("MBU is %+v, want 35 GB/s over 0.718 ms", u)
	}
	if s.NsysClock != clockOfGPU || s.HostMS == nil || math.Abs(*s.HostMS-46.359e-3/2) > 1e-6 {
		t.Errorf("by %s, %v ms on the host", s.NsysClock, s.HostMS)
	}
	if s.Split.WallNS != 1436356 || s.Split.BusyNS != 1431972 {
		t.Errorf("split of %d ns with %d ns of kernels", s.Split.WallNS, s.Split.BusyNS)
	}
	g := regionAt(t, r, "prefill/attention")
	if g.WallNS != 46359 || g.Split.WallNS != 1436356 || g.AsyncInstances != 2 || *g.Synchronous {
		t.Errorf("%d ns on the host, split of %d ns, %d of 2 asynchronous", g.WallNS, g.Split.WallNS, g.AsyncInstances)
	}
	if p := regionAt(t, r, "prefill"); !*p.Synchronous || p.Split.WallNS != p.WallNS {
		t.Error("prefill waits for its work")
	}
}

func regionAt(t *testing.T, r *Result, path string) *Region {
	t.Helper()
	for i := range r.Regions {
		if r.Regions[i].Path == path {
			return &r.Regions[i]
		}
	}
	t.Fatalf("no region %s", path)
	return nil
}

// No region of the toy runs the work of another one: the bar of mlp, during which
// the kernels of attention still run, holds its own products and reductions only.
func TestBarsHoldOwnWork(t *testing.T) {
	r := analyzeFiles(t, toyTimeline)
	for i := range r.Regions {
		g := &r.Regions[i]
		if g.Split.BusyNS > g.KernelNS {
			t.Errorf("%s: %d ns busy with %d ns of kernels", g.Path, g.Split.BusyNS, g.KernelNS)
		}
		var sum int64
		for _, p := range append(append([]TimePart{}, g.Split.Busy...), g.Split.Idle...) {
			sum += p.NS
		}
		if sum != g.Split.WallNS {
			t.Errorf("%s: parts add up to %d of %d ns", g.Path, sum, g.Split.WallNS)
		}
	}
}

func TestSpreadOfPasses(t *testing.T) {
	s := spreadOf([]int64{9_450_000, 9_380_000, 16_850_000})
	if s.N != 3 || s.MedianMS != 9.45 || s.MinMS != 9.38 || s.MaxMS != 16.85 || math.Abs(s.StdMS-4.293) > 0.001 {
		t.Errorf("%+v", s)
	}
	p := stageNamed(t, analyzeFiles(t, toyTimeline), "prefill")
	if p.NsysTimes == nil || p.NsysTimes.N != p.Passes || p.NsysTimes.MaxMS != 1.045724 || p.NsysTimes.MinMS != 1.03528 {
		t.Errorf("%+v", p.NsysTimes)
	}
}
