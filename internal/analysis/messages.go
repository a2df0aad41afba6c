package analysis

import (
	"cmp"
	"slices"
)

// maxSizes bounds Collective.Sizes.
const maxSizes = 32

// messages are the matched exchanges of one kind by the size of their message; 0
// where that is not known.
type messages map[int64]*MessageSize

// add takes one matched exchange; transfer in nanoseconds.
func (m messages) add(bytes, transfer int64) {
	s := entry(m, bytes)
	s.Bytes = bytes
	s.Matched++
	s.TransferNS += transfer
}

// tell puts sizes and bandwidths into a row. The mean over all of them is told
// where every exchange has a size.
func (m messages) tell(c *Collective, ranks int) {
	factor := busFactor(c.Kind, ranks)
	var bytes, ns, n int64
	for size, s := range m {
		if size == 0 {
			continue
		}
		s.BusBandwidth = bandwidth(factor, size*s.Matched, s.TransferNS)
		c.Sizes = append(c.Sizes, *s)
		bytes, ns, n = bytes+size*s.Matched, ns+s.TransferNS, n+s.Matched
	}
	slices.SortFunc(c.Sizes, func(x, y MessageSize) int {
		return cmp.Or(cmp.Compare(y.TransferNS, x.TransferNS), cmp.Compare(x.Bytes, y.Bytes))
	})
	if cut := len(c.Sizes) - maxSizes; cut > 0 {
		c.Sizes, c.SizesCut = c.Sizes[:maxSizes], cut
	}
	if m[0] != nil || n == 0 {
		return
	}
	c.Bytes, c.BusBandwidth = new(float64(bytes)/float64(n)), bandwidth(factor, bytes, ns)
}

// bandwidth in bytes per second; nil where the kind has no factor, or no time
// was measured.
func bandwidth(factor float64, bytes, ns int64) *float64 {
	if factor == 0 || ns == 0 {
		return nil
	}
	return new(factor * float64(bytes) / (float64(ns) / 1e9))
}
