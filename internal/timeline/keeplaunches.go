package timeline

import (
	"math/bits"
	"sync"
)

// KeepLaunches drops the calls that launched nothing from the timeline and numbers the
// rest anew, to release memory when nobody asks any more what the host did between
// launches. The others are attributions of the same timeline that were made from this one.
//
// Nobody may use the timeline meanwhile, nor calls by the numbers that they had. Their order
// stays, and so do sites, whose calls may be gone. The old columns are released here, so that
// the caller may collect them at once.
func (a *Attribution) KeepLaunches(others ...*Attribution) {
	old := a.t.Calls
	launched, before := make([]uint64, old.Len()/64+1), make([]uint32, old.Len()/64+1)
	for _, call := range a.opCalls {
		if call != None {
			launched[call/64] |= 1 << (call % 64)
		}
	}
	n := 0
	for i, word := range launched {
		before[i] = uint32(n)
		n += bits.OnesCount64(word)
	}
	kept := Calls{sites: old.sites, ByStart: old.ByStart}
	calls := func(yield func(uint32) bool) {
		for i, word := range launched {
			for ; word != 0; word &= word - 1 {
				if !yield(uint32(64*i + bits.TrailingZeros64(word))) {
					return
				}
			}
		}
	}
	var beside sync.WaitGroup
	var correlations List
	site, sets, opens := MakeNumbers(make([]uint16, n)), &runs{}, &runs{}
	beside.Go(func() {
		for call := range calls {
			site.Add(old.site.At(call))
			if old.correlation.Len() > 0 {
				correlations.Add(old.correlation.At(int(call)))
			}
			if a.callSet != nil {
				sets.add(a.callSet.at(call))
			}
			if a.callOpen != nil {
				opens.add(a.callOpen.at(call))
			}
		}
	})
	// Lengths move down in their column, and starts into what that leaves free, so that
	// little memory is needed before the rest is released.
	kept.length, kept.ends = old.length[:0], map[uint32]int64{}
	for call := range calls {
		length := old.length[call]
		if length == elsewhere {
			kept.ends[uint32(kept.Len())] = old.ends[call]
		}
		kept.length = append(kept.length, length)
	}
	room := old.length[n:]
	if len(room) < n {
		room = make([]uint32, n)
	}
	kept.start = MakeStarts(room[:n:n])
	for call := range calls {
		kept.start.Add(old.start.At(call))
	}
	beside.Wait()
	kept.site, kept.correlation = site, correlations
	inParallel(len(a.opCalls), func(from, to int) {
		for i, call := range a.opCalls[from:to] {
			if call != None {
				a.opCalls[from+i] = before[call/64] + uint32(bits.OnesCount64(launched[call/64]&(1<<(call%64)-1)))
			}
		}
	})
	a.t.Calls, old = kept, Calls{}
	for _, o := range append(others, a) {
		if o == nil || o.t != a.t {
			continue
		}
		if o.callSet != nil {
			o.callSet = sets
		}
		if o.callOpen != nil {
			o.callOpen = opens
		}
	}
}
