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
		cli  plan.NcuCLI
		want string
	}{
		{ncu.Options{Peers: true, ReplayMode: ncu.ReplayKernel}, plan.NcuCLI{}, ncu.NoCollectives},
		{ncu.Options{ReplayMode: ncu.ReplayKernel}, plan.NcuCLI{}, ""},
		{ncu.Options{Peers: true, ReplayMode: ncu.ReplayKernel}, plan.NcuCLI{KernelName: "regex:gemm"}, "regex:gemm"},
		{ncu.Options{Peers: true, ReplayMode: ncu.ReplayRange}, plan.NcuCLI{}, ""},
	} {
		if got, err := AsWritten(c.base, c.cli); err != nil || got.KernelName != c.want {
			t.Errorf("%+v: kernel name %q, %v", c, got.KernelName, err)
		}
	}
}
