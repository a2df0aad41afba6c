package timeline

import (
	"maps"
	"math"
)

// Starts is a column of moments that lie close to their neighbors: four bytes each. The
// zero value has none.
type Starts struct {
	bases  []int64          // the first of each startBlock
	offset []uint32         // since that; elsewhere where 32 bits do not hold it
	far    map[uint32]int64 // those that are elsewhere
}

// startBlock is how many moments share one base. What begins before the base, or 4.29 s or more
// after it, does not fit into 32 bits and goes to far.
const startBlock = 64

// MakeStarts is an empty column that fills the given memory first.
// The column owns the memory from then on, and takes new memory when it is full.
func MakeStarts(room []uint32) Starts { return Starts{offset: room[:0]} }

// Extend moves the column into memory that begins with its own.
// The values must be in room already; it must have room for at least as many as there are.
func (s *Starts) Extend(room []uint32) { s.offset = room[:len(s.offset)] }

// Add appends a moment.
func (s *Starts) Add(at int64) {
	n := len(s.offset)
	if n%startBlock == 0 {
		s.bases = append(s.bases, at)
	}
	since := uint64(at) - uint64(s.bases[n/startBlock])
	if since >= elsewhere {
		if s.far == nil {
			s.far = map[uint32]int64{}
		}
		s.far[uint32(n)], since = at, elsewhere
	}
	s.offset = append(s.offset, uint32(since))
}

// At is moment i.
func (s *Starts) At(i uint32) int64 {
	if o := s.offset[i]; o != elsewhere {
		return s.bases[i/startBlock] + int64(o)
	}
	return s.far[i]
}

// clone copies the column, with room for more.
func (s *Starts) clone(more int) Starts {
	return Starts{
		bases:  append(make([]int64, 0, len(s.bases)+more/startBlock+1), s.bases...),
		offset: append(make([]uint32, 0, len(s.offset)+more), s.offset...), far: maps.Clone(s.far),
	}
}

// Numbers is a column of numbers that mostly are small: two bytes each as long as all
// are. The zero value has none.
type Numbers struct {
	narrow []uint16
	wide   []uint32 // all of them, once one is large
}

// MakeNumbers is an empty column that fills the given memory first.
func MakeNumbers(room []uint16) Numbers { return Numbers{narrow: room[:0]} }

// Add appends a number.
func (s *Numbers) Add(n uint32) {
	if s.wide == nil && n <= math.MaxUint16 {
		s.narrow = append(s.narrow, uint16(n))
		return
	}
	if s.wide == nil {
		s.wide = make([]uint32, len(s.narrow), 2*len(s.narrow)+startBlock)
		for i, n := range s.narrow {
			s.wide[i] = uint32(n)
		}
		s.narrow = nil
	}
	s.wide = append(s.wide, n)
}

// At is number i.
func (s *Numbers) At(i uint32) uint32 {
	if s.wide == nil {
		return uint32(s.narrow[i])
	}
	return s.wide[i]
}

// clone copies the column, with room for more.
func (s *Numbers) clone(more int) Numbers {
	if s.wide == nil {
		return Numbers{narrow: append(make([]uint16, 0, len(s.narrow)+more), s.narrow...)}
	}
	return Numbers{wide: append(make([]uint32, 0, len(s.wide)+more), s.wide...)}
}
