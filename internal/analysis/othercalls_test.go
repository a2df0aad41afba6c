package analysis

import (
	"fmt"
	"strings"
	"testing"
)

// Advice to load code earlier needs calls that load; what is named as evidence
// adds up to the idle time in other calls.
func TestOtherCalls(t *testing.T) {
	for _, c := range []struct {
		name  string
		call  string
		ns    int64
		title string
		eager bool
		says  string
	}{
		{"attributes", "cuKernelGetAttribute_v12000", 9_000, "Make fewer CUDA calls beside the launches of r0", false, "idle under nsys in cuKernelGetAttribute"},
		{"events", "cudaEventRecord_v3020", 9_000, "Make fewer CUDA calls beside the launches of r0", false, "idle under nsys in cudaEventRecord"},
		{"loading", "cuLibraryLoadData", 9_000, "Load before r0 the code that it uses", true, "idle under nsys in cuLibraryLoadData"},
		{"lazy loading", "cuKernelSetAttribute", 90_000, "Load before r0 the code that it uses", true, "long calls of cuKernelSetAttribute, which load code lazily"},
	} {
		s := scene{
			ranges:  [][2]int64{{0, 200_000}},
			calls:   []sceneCall{{0, 100, "cudaLaunchKernel", 0}, {1_000, 1_000 + c.ns, c.call, 0}, {150_000, 150_100, "cudaLaunchKernel", 0}},
			kernels: []sceneKernel{{100, 500, "gemm", 0, 0}, {150_200, 150_600, "gemm", 2, 0}}, end: 200_000,
		}
		r := take(t, s.timeline(), Thresholds{})
		var found *Opportunity
		for i := range r.Opportunities {
			if r.Opportunities[i].Kind == "calls" {
				found = &r.Opportunities[i]
			}
		}
		if found == nil {
			t.Errorf("%s: no opportunity: %+v", c.name, r.Opportunities)
			continue
		}
		text := fmt.Sprint(found.Evidence)
		if found.Title != c.title || strings.Contains(found.How, "CUDA_MODULE_LOADING") != c.eager || !strings.Contains(text, c.says) || strings.Contains(text, "_v") {
			t.Errorf("%s: %+v", c.name, found)
		}
		if found.Evidence[0].Value != found.Evidence[1].Value || found.Evidence[1].Value != float64(c.ns)/1e6 {
			t.Errorf("%s: %v, want %d ns of both", c.name, found.Evidence, c.ns)
		}
	}
}

// The shares of findings have the digits of the tables.
func TestShareText(t *testing.T) {
	for x, want := range map[float64]string{0: "0.0 %", 0.000003: "<0.001 %", 0.0000996: "0.010 %", 0.000084: "0.0084 %", 0.0001: "0.010 %", 0.000103: "0.010 %", 0.00099: "0.099 %", 0.001: "0.10 %", 0.0088: "0.88 %", 0.034: "3.4 %", 1: "100.0 %"} {
		if got := shareText(x); got != want {
			t.Errorf("%v: %q, want %q", x, got, want)
		}
	}
}
