package sqlite

import (
	"encoding/binary"
	"math"
)

// Millions of records of a table have a few headers between them. A shape is what
// one header tells about the wanted columns, so that it is read once.
type shape struct {
	head        [shapeWords]uint64 // the bytes of the header, zero behind its end
	words       int                // of head, from 1
	mask        uint64             // of the last word
	end         int                // of the last wanted value in the record
	null, whole uint32
	loads       []load
	consts      []constant
}

// A load is a column that is stored as a number.
type load struct {
	off       uint16
	to, shift uint8
}

// A constant is a column whose value is told by its type: 0, 1 or NULL, which reads
// as 0.
type constant struct {
	to    uint8
	value int64
}

const (
	shapeWords = 5 // of headers that are kept; longer ones are read each time
	shapeBits  = 9
)

// shapeCache keeps the last shape of each hash.
type shapeCache struct {
	kept [1 << shapeBits]*shape
	last *shape // whose constants stand in the row
}

// place gives where the shape of a record is kept. It is nil for a header that is too
// long, or longer than the record; data goes on for slack bytes behind size.
func (s *shapeCache) place(data []byte, size int) **shape {
	n := int(data[0])
	if n == 0 || n > 8*shapeWords || n > size {
		return nil
	}
	hash := uint64(0)
	for ; n > 8; n -= 8 {
		hash = (hash ^ binary.LittleEndian.Uint64(data)) * 0x9E3779B97F4A7C15
		hash ^= hash >> 29
		data = data[8:]
	}
	hash ^= binary.LittleEndian.Uint64(data) & lastMask(n)
	return &s.kept[hash*0x9E3779B97F4A7C15>>(64-shapeBits)]
}

// lastMask keeps the first n bytes of a word in memory, 1 to 8.
func lastMask(n int) uint64 { return math.MaxUint64 >> (8 * uint(8-n)) }

// setHead notes the header of the records that have the shape; slack bytes follow it.
func (s *shape) setHead(data []byte) {
	s.words = (int(data[0]) + 7) / 8
	for i := range s.words {
		s.head[i] = binary.LittleEndian.Uint64(data[8*i:])
	}
	s.mask = lastMask(int(data[0]) - 8*(s.words-1))
	s.head[s.words-1] &= s.mask
}

// is tells whether a record begins with the header of the shape; it is at least as long
// as the shape, and slack bytes follow.
func (s *shape) is(data []byte) bool {
	last := s.words - 1
	for i := range last {
		if binary.LittleEndian.Uint64(data[8*i:]) != s.head[i] {
			return false
		}
	}
	return binary.LittleEndian.Uint64(data[8*last:])&s.mask == s.head[last]
}

// load reads the stored columns of a record that has the shape.
func (s *shape) load(v *Ints, data []byte) {
	for _, l := range s.loads {
		v.Int[l.to%maxInts] = int64(binary.BigEndian.Uint64(data[l.off:])) >> (l.shift & 63)
	}
}

// fill reads all columns of a record that has the shape.
func (s *shape) fill(v *Ints, data []byte) {
	s.load(v, data)
	for _, c := range s.consts {
		v.Int[c.to%maxInts] = c.value
	}
	v.null, v.whole = s.null, s.whole
}

// shapeOf reads a header; nil if it must be gone through for each record: a wanted
// column is no integer or younger than the record, or the header is damaged.
// A shape holds for the table of the plan only.
func (p *plan) shapeOf(head []byte) *shape {
	s := &shape{null: p.absent}
	off, pos := int64(len(head)), 1
	for _, to := range p.places {
		serial, n := varint(head[min(pos, len(head)):])
		if n == 0 || serial > 2*maxPayload+13 || to < maxInts && !s.add(serial, to, off) {
			return nil
		}
		pos += n
		if off += serialLen(serial); off > math.MaxUint16 {
			return nil
		}
	}
	s.end = int(off)
	s.whole &^= p.reals
	return s
}

// add takes a wanted column that lies at off; false if it is no integer.
func (s *shape) add(serial uint64, to uint8, off int64) bool {
	switch {
	case serial == 0:
		s.null |= 1 << to
		s.consts = append(s.consts, constant{to, 0})
		return true
	case serial == 8 || serial == 9:
		s.consts = append(s.consts, constant{to, int64(serial - 8)})
	case serial <= 6:
		s.loads = append(s.loads, load{uint16(off), to, intShift[serial]})
	default:
		return false
	}
	s.whole |= 1 << to
	return true
}
