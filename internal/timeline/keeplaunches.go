package timeline

import "math/bits"

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
	kept := Calls{length: make([]uint32, 0, n), start: MakeStarts(make([]uint32, n)), site: MakeNumbers(make([]uint16, n)), sites: old.sites, ByStart: old.ByStart}
	sets, opens := &runs{}, &runs{}
	for i, word := range launched {
		for ; word != 0; word &= word - 1 {
			call := uint32(64*i + bits.TrailingZeros64(word))
			kept.take(&old, call)
			if a.callSet != nil {
				sets.add(a.callSet.at(call))
			}
			if a.callOpen != nil {
				opens.add(a.callOpen.at(call))
			}
		}
	}
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

// take appends a call of others that have the same sites.
func (c *Calls) take(from *Calls, i uint32) {
	if from.length[i] == elsewhere {
		if c.ends == nil {
			c.ends = map[uint32]int64{}
		}
		c.ends[uint32(c.Len())] = from.ends[i]
	}
	c.length = append(c.length, from.length[i])
	c.start.Add(from.start.At(i))
	if from.correlation.Len() > 0 {
		c.correlation.Add(from.correlation.At(int(i)))
	}
	c.site.Add(from.site.At(i))
}
