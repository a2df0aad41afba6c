package timeline

import (
	"encoding/binary"
	"slices"

	"github.com/deepprof/deepprof/internal/nvtx"
)

// A Place is a set of regions that were open together around launches. Launches
// have few places, however many instances of ranges there are, so that what goes by
// region is best summed by place first.
type Place struct {
	// Own are the regions with no range nested in them around the launch, one for
	// each stack and every open start/end region; All are these and what encloses
	// them. Both are sorted.
	Own, All []uint32
	state    nvtx.State
}

// places numbers the places of a timeline.
type places struct {
	list   []Place
	byKey  map[string]uint32
	bySet  []uint32          // by set: place + 1, where there are no start/end ranges
	byPair map[uint64]uint32 // by state, where there are
	kernel runs              // of each kernel that is in memory
	graph  []uint32          // of each whole graph, where kernels come in a flow
	key    []byte
}

func newPlaces() *places {
	return &places{list: []Place{{}}, byKey: map[string]uint32{"": outside}, byPair: map[uint64]uint32{}}
}

// outside is the place of work that was launched in no region, or of which the call
// is not known.
const outside = 0

// Places lists the places by their number. Place 0 is outside every region.
// The list must not be changed. Only Attribution.Captured makes a longer one.
func (a *Attribution) Places() []Place {
	a.findPlaces()
	return a.places.list
}

// KernelPlace is where a kernel was launched.
func (a *Attribution) KernelPlace(kernel int) uint32 {
	a.findPlaces()
	return a.places.kernel.at(uint32(kernel))
}

// OpPlace is where any work was launched.
func (a *Attribution) OpPlace(op Op) uint32 {
	a.findPlaces()
	switch {
	case op.Kind == OpKernel:
		return a.places.kernel.at(uint32(op.Index))
	case op.Kind == OpGraph && a.places.graph != nil:
		return a.places.graph[op.Index]
	}
	return a.callPlace(a.callOf(&op))
}

// findPlaces gives every kernel and all other work its place, once.
func (a *Attribution) findPlaces() {
	if a.places != nil {
		return
	}
	p := newPlaces()
	a.places = p
	p.bySet = make([]uint32, len(a.sets.ends)+1)
	for _, call := range a.opCalls[:len(a.t.Kernels)] {
		p.kernel.add(a.callPlace(call))
	}
	for _, call := range a.opCalls[len(a.t.Kernels):] {
		a.callPlace(call)
	}
}

func (a *Attribution) callPlace(call uint32) uint32 {
	p := a.places
	switch {
	case call == None:
		return outside
	case a.callOpen == nil && a.callSet == nil:
		return outside
	case a.callOpen == nil:
		at := &p.bySet[a.callSet.at(call)]
		if *at == 0 {
			*at = a.placeOf(a.innermost(call), a.openAround(call)) + 1
		}
		return *at - 1
	}
	state := a.state(call)
	place, ok := p.byPair[state]
	if !ok {
		place = a.placeOf(a.innermost(call), a.openAround(call))
		p.byPair[state] = place
	}
	return place
}

// placeOf numbers what is open by its regions: the innermost range of each stack, and
// start/end ranges.
func (a *Attribution) placeOf(stacks, open []uint32) uint32 {
	p := a.places
	p.key = a.stateKey(p.key[:0], stacks, open)
	if id, ok := p.byKey[string(p.key)]; ok {
		return id
	}
	id := uint32(len(p.list))
	place := Place{state: a.stateOf(stacks, open)}
	place.Own, place.All = a.regionsAround(stacks, open)
	p.list, p.byKey[string(p.key)] = append(p.list, place), id
	return id
}

// stateKey tells states apart: innermost regions stack by stack, then the open
// start/end regions.
func (a *Attribution) stateKey(key []byte, stacks, open []uint32) []byte {
	for _, r := range stacks {
		key = binary.LittleEndian.AppendUint32(key, a.rangeNode[r])
	}
	var regions []uint32
	for _, r := range open {
		regions = append(regions, a.rangeNode[r])
	}
	slices.Sort(regions)
	for _, id := range slices.Compact(regions) {
		key = binary.LittleEndian.AppendUint32(key, id)
	}
	if len(open) > 0 {
		key = append(key, byte(len(stacks))) // of at most maxStacks
	}
	return key
}

// PlaceMatcher tells for each place whether match holds of what is open there.
// The answers are by number of the place.
func (a *Attribution) PlaceMatcher(match func(nvtx.State) bool) []bool {
	answers := make([]bool, len(a.Places()))
	for i := range answers {
		answers[i] = match(a.places.list[i].state)
	}
	return answers
}

// InRegions tells for each place whether it lies in one of the regions.
// The answers are by number of the place; a region holds those nested in it.
func (a *Attribution) InRegions(list []uint32) []bool {
	in := make([]bool, len(a.Places()))
	for i := range in {
		in[i] = slices.ContainsFunc(a.places.list[i].All, func(id uint32) bool { return slices.Contains(list, id) })
	}
	return in
}

// KernelMatcher tells for each kernel whether match holds of what was open around
// its launch. Match is asked once for each place.
func (a *Attribution) KernelMatcher(match func(nvtx.State) bool) func(kernel int) bool {
	answers := a.PlaceMatcher(match)
	return func(kernel int) bool { return answers[a.places.kernel.at(uint32(kernel))] }
}

// OpMatcher is KernelMatcher for any piece of GPU work.
func (a *Attribution) OpMatcher(match func(nvtx.State) bool) func(Op) bool {
	answers := a.PlaceMatcher(match)
	return func(op Op) bool { return answers[a.OpPlace(op)] }
}

func (a *Attribution) regionsAround(stacks, open []uint32) (own, all []uint32) {
	for _, r := range stacks {
		id := a.rangeNode[r]
		own = append(own, id)
		for ; id != 0; id = a.nodes[id].parent {
			all = append(all, id)
		}
	}
	for _, r := range open {
		own, all = append(own, a.rangeNode[r]), append(all, a.rangeNode[r])
	}
	slices.Sort(own)
	slices.Sort(all)
	return slices.Compact(own), slices.Compact(all)
}
