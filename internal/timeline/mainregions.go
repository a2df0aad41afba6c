package timeline

import (
	"slices"
	"strings"
	"unicode"

	"github.com/deepprof/deepprof/internal/engine"
	"github.com/deepprof/deepprof/internal/nvtx"
)

// stageNames are the phases of inference that programs and deepprof mark.
var stageNames = []string{"prefill", "decode"}

// beside are words in names of ranges around what a program does before its work:
// it never comes again in the same form.
var beside = []string{"load", "warm", "init", "compil", "setup", "capture", "autotun", "benchmark"}

// MainRegions are the regions that a program is about, by their numbers: prefill
// and decode, or what was detected to repeat, or steps of an engine, or else the
// outermost regions with kernels; the last two where they hold most of the kernel
// time after loading. Loading, warm-up and compilation are none of them; nil is the
// whole timeline.
func (a *Attribution) MainRegions() []uint32 {
	kernelNS := a.kernelTimes()
	if list := a.named(kernelNS, stageNames); len(list) > 0 {
		return list
	}
	if list := a.named(kernelNS, []string{DetectedRepeat}); len(list) > 0 && a.nodeDomain(list[0]) == DetectedDomain {
		return list
	}
	var list []uint32
	for id := uint32(1); int(id) < len(a.nodes); id++ {
		if name := a.nodeName(id); a.nodes[id].parent == 0 && kernelNS[id] > 0 && !isBeside(name) && !nvtx.IsOperator(name) {
			list = append(list, id)
		}
	}
	if steps := a.steps(list); a.holdMost(steps) {
		return steps
	}
	if !a.holdMost(list) {
		return nil
	}
	return list
}

// steps are those regions that are steps of an engine: of one that began before
// the timeline did, only what lies in it is there, which is none.
func (a *Attribution) steps(list []uint32) []uint32 {
	return slices.DeleteFunc(slices.Clone(list), func(id uint32) bool {
		_, known := engine.ParseStep(a.nodeName(id))
		return !known
	})
}

// kernelTimes is the kernel time of each region, with that of nested ones.
// ns, by number of the region.
func (a *Attribution) kernelTimes() []int64 {
	ns := make([]int64, len(a.nodes))
	for p, at := range a.placeTimes().list {
		for _, id := range a.places.list[p].All {
			ns[id] += at.ns
		}
	}
	return ns
}

// named lists the regions of these names that lie least deep, each name by itself,
// and in nothing that comes beside the work.
func (a *Attribution) named(kernelNS []int64, names []string) (list []uint32) {
	for _, name := range names {
		var found []uint32
		depth := 0
		for id := uint32(1); int(id) < len(a.nodes); id++ {
			n := &a.nodes[id]
			if a.nodeName(id) != name || kernelNS[id] == 0 || a.insideBeside(n.parent) {
				continue
			}
			if len(found) == 0 || n.depth < depth {
				found, depth = nil, n.depth
			}
			if n.depth == depth {
				found = append(found, id)
			}
		}
		list = append(list, found...)
	}
	return list
}

func (a *Attribution) insideBeside(id uint32) bool {
	for ; id != 0; id = a.nodes[id].parent {
		if isBeside(a.nodeName(id)) {
			return true
		}
	}
	return false
}

// isBeside tells whether a word of the name begins like one in beside, or it is DetectedSetUp.
func isBeside(name string) bool {
	words := strings.FieldsFunc(strings.ToLower(name), func(c rune) bool { return !unicode.IsLetter(c) })
	return name == DetectedSetUp || slices.ContainsFunc(words, func(w string) bool {
		return slices.ContainsFunc(beside, func(b string) bool { return strings.HasPrefix(w, b) })
	})
}

func (a *Attribution) nodeDomain(id uint32) string { return a.t.Name(a.nodes[id].key.domain) }

// holdMost tells whether regions hold at least half of the kernel time from their
// first kernel on.
func (a *Attribution) holdMost(list []uint32) bool {
	if len(list) == 0 {
		return false
	}
	inside, times := a.InRegions(list), a.placeTimes()
	first := placeTime{}
	var in int64
	for p, at := range times.list {
		if !inside[p] || !at.any {
			continue
		}
		if in += at.ns; !first.any || at.first < first.first {
			first = at
		}
	}
	return first.any && 2*in >= times.total-first.before
}
