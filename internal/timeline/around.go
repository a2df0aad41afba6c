package timeline

import (
	"github.com/deepprof/deepprof/internal/nvtx"
)

// A Region is one region path of the timeline.
type Region struct {
	ID     uint32 // never 0, which stands for outside every range
	Parent uint32 // 0 for an outermost range
	Path   string
	Name   string
	Domain string
	Kind   RangeKind
	Depth  int
	Stack  []nvtx.Range // outermost first, the region itself last
}

// Timeline is what was attributed.
func (a *Attribution) Timeline() *Timeline { return a.t }

// Regions lists every region path, parents before what is nested in them.
// Region id is at index id-1. Each row has a Stack of its own.
func (a *Attribution) Regions() []Region {
	out := make([]Region, 0, len(a.nodes)-1)
	for id := uint32(1); int(id) < len(a.nodes); id++ {
		n := &a.nodes[id]
		out = append(out, Region{
			ID: id, Parent: n.parent, Path: a.Path(id), Name: a.nodeName(id), Domain: a.t.Name(n.key.domain),
			Kind: n.key.kind, Depth: n.depth, Stack: a.stack(id),
		})
	}
	return out
}

// KernelCall is the call that launched a kernel; false where the file lacks it.
// kernel is an index into Timeline.Kernels. An attribution of FlowLaunches knows no single kernel
// and panics, here and in KernelLaunch.
func (a *Attribution) KernelCall(kernel int) (Call, bool) {
	call := a.kernelCall(kernel)
	if call == None {
		return Call{}, false
	}
	return a.t.Calls.At(call), true
}

// KernelLaunch is the call that launched a kernel, by its index, or None.
// It is an index into Timeline.Calls; KeepLaunches gives calls new ones.
func (a *Attribution) KernelLaunch(kernel int) uint32 { return a.opCalls[kernel] }
