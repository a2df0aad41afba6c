package pick

import (
	"testing"

	"github.com/deepprof/deepprof/internal/ncu"
	"github.com/deepprof/deepprof/internal/plan"
)

// TestAsWrittenOfOneRank holds that kernels which wait for other ranks are left
// out where nothing else chooses kernels.
func TestAsWrittenOfOneRank(t *testing.T) {
	for _, c := range []struct {
		base ncu.Options
		want string
	}{
		{ncu.Options{Peers: true, NcuCLI: plan.NcuCLI{ReplayMode: plan.ReplayKernel}}, ncu.NoCollectives},
		{ncu.Options{NcuCLI: plan.NcuCLI{ReplayMode: plan.ReplayKernel}}, ""},
		{ncu.Options{Peers: true, NcuCLI: plan.NcuCLI{ReplayMode: plan.ReplayKernel, KernelName: "regex:gemm"}}, "regex:gemm"},
		{ncu.Options{Peers: true, NcuCLI: plan.NcuCLI{ReplayMode: plan.ReplayRange}}, ""},
	} {
		if got, err := AsWritten(c.base); err != nil || got.KernelName != c.want {
			t.Errorf("%+v: kernel name %q, %v", c, got.KernelName, err)
		}
	}
}
