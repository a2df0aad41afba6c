package analysis

import (
	"encoding/binary"
	"math"
	"sort"

	"github.com/deepprof/deepprof/internal/columns"
	"github.com/deepprof/deepprof/internal/timeline"
)

// A painting gives every nanosecond of a stretch of time exactly one label: the
// category of the kernel that ran, or why none did. Any part of it therefore
// splits without a rest. Pieces come by start while it is painted; after finish nothing in it
// changes but the cursors, which belong to one goroutine.
type painting struct {
	labels int
	call   uint8               // label of pieces in which the host was in a CUDA call that has no cause of its own; each is one call
	blocks []block             // of pieces, which follow each other without holes
	space  columns.Blocks      // that blocks lie in
	names  []timeline.StringID // of calls, by their code less labels
	end    int64
	// sums holds, for one in every few blocks, the time of each label before it.
	sums []int64
	// Splits ask for stretches one after the other, so that each goes on where
	// the one before ended. A painting is for one goroutine.
	starts, ends cursor
	scan         spaceReader

	tally  *tally      // what regions had of it; nil where nobody counts
	within *windowSums // where these alone are wanted: then no piece is kept

	// While it is painted:
	now     piece   // begun, and not written yet
	begun   bool    // there is one
	last    piece   // that was written
	n       int     // pieces of the last block
	filling []byte  // space that the last block lies in
	pieces  []byte  // of the last block
	running []int64 // time of each label up to the last piece
	closed  []int64 // the same, up to the last block
	codes   []uint8 // of calls, by name; 0 is not yet
	code    uint8   // of the last piece, where it is a call
	// inCalls is the time in calls of the last block by their code less labels, that of
	// short and of long ones; unnamed says that some of them have no code.
	inCalls [][2]int64
	unnamed bool
}

// A piece lasts until the next one.
type piece struct {
	start int64
	label uint8
	name  timeline.StringID // of the call
}

const (
	stride     = 256     // pieces of a block, of which the last one of a painting may have fewer
	few        = 16      // blocks for which sums are kept once
	spaceBytes = 1 << 16 // of blocks that are kept together
)

// anyName is the code of a call whose name has none: the name follows.
const anyName = 255

// A block has pieces. There are several for each kernel, so that they are kept
// small: of each a code, and how long it takes, which the last one leaves to the next
// block. The code is the label or, where it is a call, that of its name. After the pieces
// come the labels that occur, each with its time, and then the codes of calls with the time
// of short and of long ones; nobody reads either of the last block. Where these parts end
// stands before them, two bytes each.
type block struct {
	start int64
	space uint32 // number in painting.space
	from  uint32 // in that
}

// headBytes is what stands before the pieces of a block.
const headBytes = 6

// A blockData is what a block holds. Calls is nil where some have no code, so that pieces must
// be read.
type blockData struct{ pieces, times, calls []byte }

// A spaceReader reads the blocks of a painting. What it gives holds until it is used again.
type spaceReader struct {
	data, room []byte
	space      uint32 // that data is of, from 1
}

func (s *spaceReader) read(p *painting, b *block) (d blockData) {
	if s.space != b.space+1 {
		s.data, s.room = p.space.Read(int(b.space), s.room)
		s.space = b.space + 1
	}
	data := s.data[b.from:]
	mid, end, calls := binary.LittleEndian.Uint16(data), binary.LittleEndian.Uint16(data[2:]), binary.LittleEndian.Uint16(data[4:])
	d.pieces, d.times = data[headBytes:mid], data[mid:end]
	if calls != 0 {
		d.calls = data[end:calls]
	}
	return d
}

// take begins pieces. A piece of no length gives way, and one goes on while the label stays; but
// two calls in a row are two pieces, also of one name.
func (p *painting) take(pieces []piece) {
	for i := range pieces {
		next := &pieces[i]
		p.begun = p.begun && p.now.start != next.start
		if next.label != p.call && (p.begun && p.now.label == next.label || !p.begun && p.n > 0 && p.last.label == next.label) {
			continue
		}
		if p.begun {
			p.write()
		}
		p.now, p.begun = *next, true
	}
}

// write adds the piece that has begun to its block.
func (p *painting) write() {
	if p.running == nil {
		p.running, p.closed = make([]int64, p.labels), make([]int64, p.labels)
	}
	length := p.now.start - p.last.start
	if p.within != nil {
		if p.n > 0 {
			p.within.add(p.last.start, p.now.start, p.last.label)
		}
		p.last, p.n = p.now, 1
		return
	}
	if p.n > 0 {
		p.count(p.now.start)
		p.running[p.last.label] += length
		if p.last.label == p.call {
			p.countCall(length)
		}
	} else if p.tally != nil { // nothing is painted before the first
		p.tally.upTo(p.now.start, p.running, p.now.start, uint8(p.labels-1))
	}
	if p.n == stride {
		p.closeBlock()
	}
	if p.n == 0 {
		if len(p.blocks)%few == 0 {
			p.sums = append(p.sums, p.running...)
		}
		p.blocks = append(p.blocks, block{start: p.now.start})
		p.pieces = append(p.pieces[:0], make([]byte, headBytes)...)
	} else {
		p.pieces = appendNumber(p.pieces, uint64(length))
	}
	switch {
	case p.now.label != p.call:
		p.pieces = append(p.pieces, p.now.label)
	default:
		p.code = p.codeOf(p.now.name)
		if p.pieces = append(p.pieces, p.code); p.code == anyName {
			p.pieces = binary.AppendUvarint(p.pieces, uint64(p.now.name))
		}
	}
	p.last = p.now
	p.n++
}

// count tells the tally that the last piece lasts at least until a moment.
func (p *painting) count(to int64) {
	if p.tally != nil && p.tally.at <= to {
		p.tally.upTo(to, p.running, p.last.start, p.last.label)
	}
}

// countCall adds the last piece, which is a call, to those of its block.
func (p *painting) countCall(length int64) {
	if p.code == anyName {
		p.unnamed = true
		return
	}
	p.inCalls[int(p.code)-p.labels][lengthClass(length)] += length
}

// lengthClass is 1 for a call that is long, else 0.
func lengthClass(length int64) int {
	if length >= longAttribute {
		return 1
	}
	return 0
}

// closeBlock puts the last block away.
func (p *painting) closeBlock() {
	binary.LittleEndian.PutUint16(p.pieces, uint16(len(p.pieces))) // some 20 bytes a piece at most
	for l, ns := range p.running {
		if n := ns - p.closed[l]; n > 0 {
			p.pieces = binary.AppendUvarint(append(p.pieces, uint8(l)), uint64(n))
		}
	}
	binary.LittleEndian.PutUint16(p.pieces[2:], uint16(len(p.pieces)))
	if !p.unnamed {
		for i, ns := range p.inCalls {
			if ns != [2]int64{} {
				p.pieces = binary.AppendUvarint(append(p.pieces, uint8(p.labels+i)), uint64(ns[0]))
				p.pieces = binary.AppendUvarint(p.pieces, uint64(ns[1]))
			}
		}
		binary.LittleEndian.PutUint16(p.pieces[4:], uint16(len(p.pieces)))
	}
	clear(p.inCalls)
	p.unnamed = false
	if len(p.filling)+len(p.pieces) > spaceBytes {
		p.closeSpace()
	}
	b := &p.blocks[len(p.blocks)-1]
	b.space, b.from = uint32(p.space.Len()), uint32(len(p.filling))
	p.filling = append(p.filling, p.pieces...)
	copy(p.closed, p.running)
	p.n = 0
}

// closeSpace puts the blocks away that are kept together.
func (p *painting) closeSpace() {
	if len(p.filling) == 0 {
		return
	}
	if !p.space.Add(p.filling) {
		p.filling = make([]byte, 0, spaceBytes)
	}
	p.filling = p.filling[:0]
}

// codeOf is the code of a call by its name.
func (p *painting) codeOf(name timeline.StringID) uint8 {
	if int(name) < len(p.codes) && p.codes[name] != 0 {
		return p.codes[name]
	}
	code := p.labels + len(p.names)
	if code >= anyName {
		return anyName
	}
	if n := int(name) + 1 - len(p.codes); n > 0 {
		p.codes = append(p.codes, make([]uint8, n)...)
	}
	p.names, p.codes[name] = append(p.names, name), uint8(code)
	p.inCalls = append(p.inCalls, [2]int64{})
	return uint8(code)
}

// finish ends the painting.
func (p *painting) finish() {
	if p.begun {
		p.write()
	}
	switch {
	case p.n > 0 && p.within != nil:
		p.within.add(p.last.start, p.end, p.last.label)
	case p.n > 0:
		p.count(p.end)
		p.running[p.last.label] += p.end - p.last.start
		if p.tally != nil { // nothing is painted after the end
			p.tally.upTo(math.MaxInt64, p.running, p.end, uint8(p.labels-1))
		}
		p.running[p.last.label] -= p.end - p.last.start
		p.closeBlock()
	case p.tally != nil:
		p.tally.upTo(math.MaxInt64, make([]int64, p.labels), 0, uint8(p.labels-1))
	}
	p.closeSpace()
	p.begun, p.codes, p.pieces, p.filling, p.running, p.closed, p.inCalls = false, nil, nil, nil, nil, nil, nil
}

// A pieceReader goes through the pieces of a block.
type pieceReader struct {
	piece
	end int64
	of  *painting

	numbers
	last int64 // end of the block
}

// read is before the first piece of block i.
func (p *painting) read(i int, in *spaceReader) pieceReader {
	b := &p.blocks[i]
	r := pieceReader{end: b.start, of: p, numbers: numbers{data: in.read(p, b).pieces}, last: p.end}
	if i+1 < len(p.blocks) {
		r.last = p.blocks[i+1].start
	}
	return r
}

// next moves on to the next piece; false where there is none.
func (r *pieceReader) next() bool {
	if r.at == len(r.data) {
		return false
	}
	r.start, r.label = r.end, r.data[r.at]
	r.at++
	if code := int(r.label); code >= r.of.labels {
		r.label = r.of.call
		if code == anyName {
			r.name = timeline.StringID(r.number())
		} else {
			r.name = r.of.names[code-r.of.labels]
		}
	}
	if r.end = r.last; r.at < len(r.data) {
		r.end = r.start + int64(r.number())
	}
	return true
}

// appendNumber is binary.AppendUvarint, which is slower for pieces of some microseconds.
func appendNumber(to []byte, n uint64) []byte {
	switch {
	case n < 1<<7:
		return append(to, byte(n))
	case n < 1<<14:
		return append(to, byte(n)|0x80, byte(n>>7))
	}
	return binary.AppendUvarint(to, n)
}

// numbers reads what binary.AppendUvarint wrote.
type numbers struct {
	data []byte
	at   int
}

// number is the next one. The data is our own, so that it is whole.
func (r *numbers) number() (n uint64) {
	data, at := r.data, r.at
	for shift := 0; ; shift += 7 {
		b := data[at]
		at++
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			r.at = at
			return n
		}
	}
}

// find is the block that holds a moment; -1 before the first.
func (p *painting) find(at int64) int {
	return sort.Search(len(p.blocks), func(i int) bool { return p.blocks[i].start > at }) - 1
}

// split adds the time of each label between start and end to into. What lies
// outside the painting has the last label.
func (p *painting) split(start, end int64, into []int64) {
	if end <= start {
		return
	}
	if len(p.blocks) == 0 {
		into[p.labels-1] += end - start
		return
	}
	first, last := p.blocks[0].start, p.end
	into[p.labels-1] += max(0, min(end, first)-start) + max(0, end-max(start, last))
	start, end = max(start, first), min(end, last)
	if end <= start {
		return
	}
	p.ends.move(p, end)
	p.starts.move(p, start)
	for l := range p.labels {
		into[l] += p.ends.sums[l] - p.starts.sums[l]
	}
	into[p.ends.label] += end - p.ends.start
	into[p.starts.label] -= start - p.starts.start
}

// splitAll is split for several stretches.
func (p *painting) splitAll(windows []moment, into []int64) {
	for _, m := range windows {
		p.split(m.start, m.end, into)
	}
}

// A cursor stands at the piece that a moment lies in, or ends with.
type cursor struct {
	pieceReader
	in    spaceReader
	block int     // that the piece is in
	base  []int64 // time of each label before the block; nil before the first move
	sums  []int64 // before the piece
}

// move goes to a moment within the painting.
func (c *cursor) move(p *painting, to int64) {
	if c.sums == nil || to < c.start || to >= c.last {
		c.goTo(p, to)
	}
	for c.end < to {
		c.sums[c.label] += c.end - c.start
		c.next()
	}
}

// goTo goes to the block of a moment, as a rule the next one.
func (c *cursor) goTo(p *painting, to int64) {
	next := c.block + 1
	switch {
	case c.sums == nil:
		c.sums, c.base = make([]int64, p.labels), make([]int64, p.labels)
		fallthrough
	case to < c.start, next >= len(p.blocks), next+1 < len(p.blocks) && to >= p.blocks[next+1].start:
		c.block = max(0, p.find(to))
		p.before(c.block, &c.in, c.base)
	default:
		c.in.read(p, &p.blocks[c.block]).addTimes(c.base)
		c.block = next
	}
	copy(c.sums, c.base)
	c.pieceReader = p.read(c.block, &c.in)
	c.next()
}

// addTimes adds the time of each label.
func (d blockData) addTimes(into []int64) {
	for t := (numbers{data: d.times}); t.at < len(t.data); {
		label := t.data[t.at]
		t.at++
		into[label] += int64(t.number())
	}
}

// before gives the time of each label before a block.
func (p *painting) before(i int, in *spaceReader, into []int64) {
	first := i / few * few
	copy(into, p.sums[i/few*p.labels:])
	for ; first < i; first++ {
		in.read(p, &p.blocks[first]).addTimes(into)
	}
}
