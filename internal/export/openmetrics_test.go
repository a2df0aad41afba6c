package export

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/analysis"
)

// TestMetricsAreSingle: no two samples have the same labels, and every family of the code is
// declared. A region counts once, not again in its rows of single processes and GPUs.
func TestMetricsAreSingle(t *testing.T) {
	job, _ := ranks(t)
	made := &Source{Run: "made up", Result: func(context.Context) (*analysis.Result, error) {
		return &analysis.Result{Regions: []analysis.Region{
			{Path: "step", KernelNS: 3e9, Kernels: 3, Parent: -1},
			{Path: "step", KernelNS: 1e9, Kernels: 1, Parent: -1, Process: new(7)}, {Path: "step", KernelNS: 2e9, Kernels: 2, Parent: -1, Process: new(8)},
			{Path: "step", KernelNS: 3e9, Kernels: 3, Parent: -1, Device: new(0)},
		}}, nil
	}}
	for _, s := range []*Source{counted(t), recorded(t), served(t), job, made} {
		seen := map[string]bool{}
		text := string(exported(t, "openmetrics", s))
		for line := range strings.Lines(text) {
			name := line[:strings.LastIndexByte(line, ' ')+1]
			if !strings.HasPrefix(line, "#") && seen[name] {
				t.Errorf("%s: two samples %s", s.Run, name)
			}
			seen[name] = true
		}
		result, err := s.Result(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		m := &metrics{lines: map[string][]string{}}
		for _, add := range []func(*analysis.Result){m.addRun, m.addStages, m.addRegions, m.addKernels, m.addRanks, m.addRequests, m.addSteps, m.addSampled} {
			add(result)
		}
		for family := range m.lines {
			if !strings.Contains(text, "# TYPE deepprof_"+family+" gauge\n") {
				t.Errorf("%s: the family %s is not declared", s.Run, family)
			}
		}
	}
	if text := exported(t, "openmetrics", made); !bytes.Contains(text, []byte(`deepprof_region_gpu_seconds{run="made up",region="step"} 3`+"\n")) {
		t.Errorf("the region is counted again:\n%s", text)
	}
}
