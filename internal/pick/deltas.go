package pick

import (
	"encoding/binary"
	"sort"
)

// deltas is a list of numbers that grow, in a byte or two each. It is fast for who asks for
// numbers that follow each other. The zero value has none. It is for one goroutine.
type deltas struct {
	n     int
	last  uint32
	bytes []byte      // each number less the one before
	marks []deltaMark // every markEvery numbers
	next  int         // place of the number that is read next
	at    deltaMark   // of that
}

// A deltaMark is where a number is read.
type deltaMark struct {
	before uint32 // the number before it
	at     int    // of bytes
}

const markEvery = 64

// makeDeltas is an empty list with room.
func makeDeltas(room int) deltas {
	return deltas{bytes: make([]byte, 0, room+room/8), marks: make([]deltaMark, 0, room/markEvery+1)}
}

// add appends a number, which is not below the last.
func (d *deltas) add(v uint32) {
	if d.n%markEvery == 0 {
		d.marks = append(d.marks, deltaMark{d.last, len(d.bytes)})
	}
	d.bytes = binary.AppendUvarint(d.bytes, uint64(v-d.last))
	d.last = v
	d.n++
}

// get is the number at place i.
func (d *deltas) get(i int) uint32 {
	if i < d.next-1 || i/markEvery > d.next/markEvery || d.next == 0 {
		d.next, d.at = i-i%markEvery, d.marks[i/markEvery]
	}
	for ; d.next <= i; d.next++ {
		v, n := uint64(d.bytes[d.at.at]), 1
		if v >= 0x80 {
			v, n = binary.Uvarint(d.bytes[d.at.at:])
		}
		d.at = deltaMark{d.at.before + uint32(v), d.at.at + n}
	}
	return d.at.before
}

// find is the place of a number that is in the list.
func (d *deltas) find(v uint32) int {
	i := (sort.Search(len(d.marks), func(m int) bool { return m > 0 && d.marks[m].before >= v }) - 1) * markEvery
	if d.next > 0 && d.at.before <= v { // it was not passed yet
		i = max(i, d.next-1)
	}
	for d.get(i) < v {
		i++
	}
	return i
}
