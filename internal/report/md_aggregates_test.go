package report

import (
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/analysis"
)

// Where times are added up over GPUs, the milliseconds and the share beside them
// are both the mean of a GPU.
func TestAggregatesOfSeveralGPUs(t *testing.T) {
	r := underived()
	r.Totals.Devices = []analysis.DeviceBusy{{Device: 0, BusyNS: 80_000_000}, {Device: 1, BusyNS: 60_000_000}}
	r.Totals.WallNS, r.Totals.BusyNS, r.Totals.KernelNS, r.Totals.CopyNS = 100_000_000, 140_000_000, 120_000_000, 18_000_000
	r.Derive()
	text := page(t, WriteReport, r)
	for row, want := range map[string][2]string{
		"GPU busy with kernels or copies": {"70.0 ms", "70.0 %"}, "GPU time (kernels, added up)": {"60.0 ms", "60.0 %"}, "Copy time": {"9.00 ms", "9.0 %"}, "GPU time of all 2 GPUs": {"120 ms", ""},
	} {
		found := false
		for _, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(line, "| "+row) {
				found = true
				if cells := strings.Split(line, "|"); strings.TrimSpace(cells[2]) != want[0] || strings.TrimSpace(cells[3]) != want[1] {
					t.Errorf("%s, want %v", line, want)
				}
			}
		}
		if !found {
			t.Errorf("no row %s", row)
		}
	}
}

// Each section of kernels.md has one line about the cause, or why there is none.
func TestEveryKernelHasALineOfItsCause(t *testing.T) {
	text := page(t, WriteKernels, sample())
	if n, causes := strings.Count(text, "\n- Name: "), strings.Count(text, "\n- Cause: "); n == 0 || n != causes {
		t.Errorf("%d kernels, %d lines of a cause", n, causes)
	}
}
