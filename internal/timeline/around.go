package timeline

import (
	"slices"

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

// Around gives the regions that a kernel was launched in: own are those with no
// range nested in them around the launch, one for each stack and every open
// start/end region; all are these and what encloses them. Both are shared
// between kernels and must not be changed.
func (a *Attribution) Around() func(kernel int) (own, all []uint32) {
	type lists struct{ own, all []uint32 }
	known := map[uint64]lists{}
	var last lists // kernels launched in the same ranges follow each other
	var lastState uint64
	return func(kernel int) ([]uint32, []uint32) {
		call := a.kernelCall(kernel)
		if call == None {
			return nil, nil
		}
		state := a.state(call)
		if state == lastState {
			return last.own, last.all // none of either in state 0
		}
		l, ok := known[state]
		if !ok {
			l.own, l.all = a.regionsAround(call)
			known[state] = l
		}
		last, lastState = l, state
		return l.own, l.all
	}
}

func (a *Attribution) regionsAround(call uint32) (own, all []uint32) {
	for _, r := range a.innermost(call) {
		id := a.rangeNode[r]
		own = append(own, id)
		for ; id != 0; id = a.nodes[id].parent {
			all = append(all, id)
		}
	}
	for _, r := range a.openAround(call) {
		own, all = append(own, a.rangeNode[r]), append(all, a.rangeNode[r])
	}
	slices.Sort(own)
	slices.Sort(all)
	return slices.Compact(own), slices.Compact(all)
}

// KernelCall is the call that launched a kernel; false where the file lacks it.
func (a *Attribution) KernelCall(kernel int) (Call, bool) {
	call := a.kernelCall(kernel)
	if call == None {
		return Call{}, false
	}
	return a.t.Calls.At(call), true
}

// KernelMatcher tells for each kernel whether match holds of what was open
// around its launch. Match is asked once for each distinct state.
func (a *Attribution) KernelMatcher(match func(nvtx.State) bool) func(kernel int) bool {
	return a.kernelMatcher(match)
}

// OpMatcher is KernelMatcher for any piece of GPU work.
func (a *Attribution) OpMatcher(match func(nvtx.State) bool) func(Op) bool {
	byCall := a.callMatcher(match)
	return func(op Op) bool { return byCall(a.callOf(op)) }
}
