package analysis

import (
	"math"
	"testing"
)

// Calls that load code are a change of their own; other calls go with the launches
// that they come with. What is named as evidence is what was recorded.
func TestOtherCalls(t *testing.T) {
	for _, c := range []struct {
		name, call, called string
		ns                 int64
		loads, lazy        bool
	}{
		{"attributes", "cuKernelGetAttribute_v12000", "cuKernelGetAttribute", 9_000, false, false},
		{"events", "cudaEventRecord_v3020", "cudaEventRecord", 9_000, false, false},
		{"loading", "cuLibraryLoadData", "cuLibraryLoadData", 9_000, true, false},
		{"lazy loading", "cuKernelSetAttribute", "cuKernelSetAttribute", 90_000, true, true},
	} {
		s := scene{
			ranges:  [][2]int64{{0, 200_000}},
			calls:   []sceneCall{{0, 100, "cudaLaunchKernel", 0}, {1_000, 1_000 + c.ns, c.call, 0}, {150_000, 150_100, "cudaLaunchKernel", 0}},
			kernels: []sceneKernel{{100, 500, "gemm", 0, 0}, {150_200, 150_600, "gemm", 2, 0}}, end: 200_000,
		}
		r := take(t, s.timeline(), Thresholds{})
		byID := map[string]*Opportunity{}
		for i := range r.Opportunities {
			byID[r.Opportunities[i].ID] = &r.Opportunities[i]
		}
		load, gaps := byID["calls-call-r0"], byID["gaps-launch-r0"]
		if (load != nil) != c.loads || gaps == nil {
			t.Errorf("%s: %+v", c.name, r.Opportunities)
			continue
		}
		idle := parts(&r.Stages[0].Split)
		want := idle["launch"] + idle["python"] + 800 // what the host does besides may be hidden behind the kernels then
		if !c.loads {
			want += c.ns
		} else if e := load.Evidence[1]; e.Of.Text("call") != c.called || e.Of.Is(codeIdleInLazy) != c.lazy || e.Value != float64(c.ns)/1e6 || math.Abs(load.Seconds*1e9-float64(c.ns)) > 1e-3 {
			t.Errorf("%s: %+v", c.name, load)
		}
		if math.Abs(gaps.Seconds*1e9-float64(want)) > 1e-3 {
			t.Errorf("%s: closing the gaps saves %g s, want %d ns", c.name, gaps.Seconds, want)
		}
	}
}
