package timeline

import (
	"math"
	"slices"
)

const (
	// countFrom is from how many durations on equal ones are counted, and how many are at once.
	countFrom = 1 << 14
	// pageSize is how many durations that follow each other, in ns, have their counts
	// side by side.
	pageSize = 1 << 12
	// countPages bounds the durations that are counted: below 268 ms.
	countPages = 1 << 16
)

// durationCounts has how many durations of each length there are, ns. Its memory grows with
// the lengths that occur, and never beyond that of a list of all durations. The zero value
// counts none.
type durationCounts struct {
	pages []*[pageSize]uint32 // by duration over pageSize; nil where none is counted
	used  int                 // pages that are there
}

func (c *durationCounts) clone() durationCounts {
	out := durationCounts{slices.Clone(c.pages), c.used}
	for i, page := range c.pages {
		if page != nil {
			out.pages[i] = new(*page)
		}
	}
	return out
}

// open makes room for a duration, unless so few are known that a page takes more memory than
// they do.
// known is how many durations there are in all. A page takes as much as a list of pageSize of
// them, so that counting never needs more memory than the list.
func (c *durationCounts) open(ns uint32, known int) {
	at := int(ns / pageSize)
	if at >= countPages || (c.used+1)*pageSize > known {
		return
	}
	if n := at + 1 - len(c.pages); n > 0 {
		c.pages = append(c.pages, make([]*[pageSize]uint32, n)...)
	}
	if c.pages[at] == nil {
		c.pages[at] = new([pageSize]uint32)
		c.used++
	}
}

// add counts a duration several times; false where there is no room for it, and then not at
// all.
func (c *durationCounts) add(ns, times uint32) bool {
	at := int(ns / pageSize)
	if at >= len(c.pages) || c.pages[at] == nil {
		return false
	}
	n := &c.pages[at][ns%pageSize]
	if *n > math.MaxUint32-times {
		return false
	}
	*n += times
	return true
}

// each visits the durations that occur, the shortest first, with how many there are.
func (c *durationCounts) each(visit func(ns, n uint32)) {
	for at, page := range c.pages {
		if page == nil {
			continue
		}
		for i, n := range page {
			if n > 0 {
				visit(uint32(at*pageSize+i), n)
			}
		}
	}
}

// kth is the duration at place k of these and others, which it sorts.
// k counts from 0 and must be below the number of both together.
func (c *durationCounts) kth(others []uint32, k int) (found uint32) {
	slices.Sort(others)
	before, next := 0, 0 // durations that are shorter; the first of others that is not
	done := false
	c.each(func(ns, n uint32) {
		for ; !done && next < len(others) && others[next] < ns; next++ {
			if before == k {
				found, done = others[next], true
			}
			before++
		}
		if !done && k < before+int(n) {
			found, done = ns, true
		}
		before += int(n)
	})
	if !done {
		found = others[next+k-before]
	}
	return found
}
