package timeline

import (
	"encoding/binary"
	"slices"
)

// A loop of kernels that another loop repeats has no kernel that comes once a
// repetition. Loops of at least minLoop times at most maxLoop kernels count as one
// kernel then; random launches have no such loops.
const (
	maxLoop = 16
	minLoop = 8
)

// repeatedLoops is repeated for programs of loops inside loops; none where that finds
// nothing either.
func repeatedLoops(symbols []uint32) []piece {
	folded, at := foldLoops(symbols)
	if len(folded) == len(symbols) {
		return nil
	}
	pieces, _ := repeated(folded)
	for i, c := range pieces {
		pieces[i] = piece{at[c.from], at[c.to]}
	}
	if float64(launchesIn(pieces)) < minCovered*float64(len(symbols)) {
		return nil
	}
	return pieces
}

// foldLoops makes one symbol of each loop, the same for loops over the same kernels, how
// often ever. at is where each symbol begins, and where the last one ends.
func foldLoops(symbols []uint32) (folded []uint32, at []int) {
	ids := map[string]uint32{}
	var key []byte
	for i := 0; i < len(symbols); {
		period, length := longestLoop(symbols[i:])
		key = key[:0]
		for _, s := range symbols[i : i+period] {
			key = binary.LittleEndian.AppendUint32(key, s)
		}
		id, ok := ids[string(key)]
		if !ok {
			id = uint32(len(ids))
			ids[string(key)] = id
		}
		folded, at = append(folded, id), append(at, i)
		i += length
	}
	return folded, append(at, len(symbols))
}

// longestLoop is the loop with most kernels that symbols begin with, the shortest period
// of equal ones; one kernel where they begin with none.
func longestLoop(symbols []uint32) (period, length int) {
	period, length = 1, 1
	for p := 1; p <= maxLoop && minLoop*p <= len(symbols); p++ {
		if !slices.Equal(symbols[:p], symbols[p:2*p]) {
			continue
		}
		n := 2 * p
		for n+p <= len(symbols) && slices.Equal(symbols[:p], symbols[n:n+p]) {
			n += p
		}
		if n >= minLoop*p && n > length {
			period, length = p, n
		}
	}
	return period, length
}

func launchesIn(pieces []piece) (n int) {
	for _, c := range pieces {
		n += c.to - c.from
	}
	return n
}
