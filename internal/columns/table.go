package columns

import (
	"encoding/binary"
	"math/bits"
	"sync"
)

const (
	// BlockRows is how many rows a block has, but for the last one, which may have fewer.
	BlockRows = 1 << 11
	inBlock   = BlockRows - 1 // of the number of a row: its place in the block
	// maxColumns bounds the columns of a table.
	maxColumns = 8

	headBytes = 9 // of a column: the least number, and how many bytes each has above it
	padBytes  = 8 // behind the last column, since numbers are read 8 bytes at a time
)

// A Table has rows of a few numbers. It is written by one goroutine: Set all columns of a row,
// then End it; after Finish it is only read.
type Table struct {
	blocks  Blocks
	firsts  []int64 // number of the first column in the first row of each block
	n       int     // rows that were ended
	at      int     // rows of the block that is being filled
	columns int
	filling filled
	room    []byte // for the next block; nil if the last one was taken over
	packing sync.WaitGroup
}

// A column is that of a block, not packed.
type column [BlockRows]int64

// spare are columns that nobody uses.
var spare = sync.Pool{New: func() any { return new(column) }}

// A filled block waits to be packed.
type filled struct {
	columns [maxColumns]*column
	extra   []byte
}

// NewTable is an empty table of a store, which may be nil for memory.
func NewTable(store *Store, columns int) *Table {
	t := &Table{blocks: NewBlocks(store), columns: columns}
	t.begin()
	return t
}

// begin makes room for a block.
func (t *Table) begin() {
	t.at = 0
	for c := range t.columns {
		t.filling.columns[c] = spare.Get().(*column)
	}
}

// Set gives the row that is being made its number in a column.
func (t *Table) Set(column int, v int64) { t.filling.columns[column][t.at] = v }

// At is how many rows before the one that is being made are in its block.
func (t *Table) At() int { return t.at }

// Extra is what the block of the row that is being made has beside its columns; the caller may
// append to it.
func (t *Table) Extra() *[]byte { return &t.filling.extra }

// End ends a row.
func (t *Table) End() {
	t.at++
	t.n++
	if t.at == BlockRows {
		t.close()
	}
}

// Len is the number of rows.
func (t *Table) Len() int { return t.n }

// Store is where the table lies; nil for memory.
func (t *Table) Store() *Store { return t.blocks.store }

// Finish ends the table.
func (t *Table) Finish() {
	t.packing.Wait()
	if t.at > 0 {
		t.pack(&t.filling, t.at)
	}
	t.filling.letGo()
	t.filling, t.room = filled{}, nil
}

// close puts the block away; a store packs it in the background.
func (t *Table) close() {
	if t.blocks.store == nil {
		t.pack(&t.filling, t.at)
		t.at, t.filling.extra = 0, t.filling.extra[:0]
		return
	}
	f := t.filling
	t.filling = filled{}
	t.packing.Add(1)
	t.blocks.store.pack(func() {
		t.pack(&f, BlockRows)
		f.letGo()
		t.packing.Done()
	})
	t.begin()
}

// letGo gives the columns to others.
func (f *filled) letGo() {
	for _, c := range f.columns {
		if c != nil {
			spare.Put(c)
		}
	}
}

// pack adds a block of n rows: for each column the least number, how many bytes each takes above
// that, and those bytes; then the extra.
func (t *Table) pack(f *filled, n int) {
	size := padBytes + len(f.extra)
	var least [maxColumns]int64
	var width [maxColumns]int
	for c, column := range f.columns[:t.columns] {
		low, high := column[0], column[0]
		for _, v := range column[1:n] {
			low, high = min(low, v), max(high, v)
		}
		least[c], width[c] = low, (bits.Len64(uint64(high)-uint64(low))+7)/8
		size += headBytes + width[c]*n
	}
	data := t.room
	if cap(data) < size {
		data = make([]byte, size)
	}
	data = data[:size]
	at := 0
	for c, column := range f.columns[:t.columns] {
		binary.LittleEndian.PutUint64(data[at:], uint64(least[c]))
		data[at+8] = byte(width[c])
		at += headBytes
		at += packColumn(data[at:], column[:n], least[c], width[c])
	}
	copy(data[at:], f.extra)
	clear(data[at+len(f.extra):])
	t.room = nil
	if t.blocks.Add(data) {
		t.room = data
	}
	t.firsts = append(t.firsts, f.columns[0][0])
}

// packColumn writes numbers with so many bytes each, and tells how many it wrote. It may write
// over the 8 bytes that follow.
func packColumn(to []byte, column []int64, least int64, width int) int {
	if width == 0 {
		return 0
	}
	at := 0
	for _, v := range column {
		binary.LittleEndian.PutUint64(to[at:at+8], uint64(v)-uint64(least))
		at += width
	}
	return at
}

// A packed column of a block.
type packed struct {
	data  []byte
	least int64
	width int
	mask  uint64
}

// value is the number of a row of the block.
func (p *packed) value(row int) int64 {
	at := (row & inBlock) * p.width
	return p.least + int64(binary.LittleEndian.Uint64(p.data[at:at+8])&p.mask)
}

// unpack writes the numbers of the first rows.
func (p *packed) unpack(to []int64) {
	data, least, mask, at := p.data, p.least, p.mask, 0
	switch width := p.width; width {
	case 0:
		for i := range to {
			to[i] = least
		}
	case 1:
		for i, b := range data[:len(to)] {
			to[i] = least + int64(b)
		}
	case 4:
		for i := range to {
			to[i] = least + int64(binary.LittleEndian.Uint32(data[at:at+4]))
			at += 4
		}
	default:
		for i := range to {
			to[i] = least + int64(binary.LittleEndian.Uint64(data[at:at+8])&mask)
			at += width
		}
	}
}

// A Reader gives the rows of a table by their block. It is for one goroutine.
type Reader struct {
	table *Table
	// First is the number of the first row of the block, End that behind its last one.
	First, End int
	Extra      []byte // of the block

	columns [maxColumns]packed
	whole   [maxColumns]*column // those of which many numbers are asked for; else nil
	asked   [maxColumns]uint8   // numbers of the block, as far as they were counted
	rooms   [maxColumns]*column // for whole
	room    []byte
}

// manyAsked is from how many numbers on a column is unpacked as a whole.
const manyAsked = 64

// Reader is at no block.
func (t *Table) Reader() Reader { return Reader{table: t} }

// Len is the number of rows of the table.
func (r *Reader) Len() int { return r.table.n }

// Seek goes to the block of a row, which must be there.
func (r *Reader) Seek(row int) {
	if row < r.First || row >= r.End {
		r.seek(row)
	}
}

func (r *Reader) seek(row int) {
	t := r.table
	block := row / BlockRows
	data, room := t.blocks.Read(block, r.room)
	r.room, r.First = room, block*BlockRows
	r.End = min(t.n, r.First+BlockRows)
	for c := range t.columns {
		width := int(data[8])
		r.columns[c] = packed{data[headBytes:], int64(binary.LittleEndian.Uint64(data)), width, ^uint64(0) >> (64 - 8*width)}
		data = data[headBytes+width*(r.End-r.First):]
		r.whole[c], r.asked[c] = nil, 0
	}
	r.Extra = data[:len(data)-padBytes]
}

// Value is the number of a row of the block in a column.
func (r *Reader) Value(column, row int) int64 {
	if r.whole[column] != nil {
		return r.whole[column][row&inBlock]
	}
	return r.value(column, row)
}

// value is Value of a column that is packed.
func (r *Reader) value(c, row int) int64 {
	if r.asked[c]++; r.asked[c] == manyAsked {
		if r.rooms[c] == nil {
			r.rooms[c] = new(column)
		}
		r.whole[c] = r.rooms[c]
		r.columns[c].unpack(r.whole[c][:r.End-r.First])
	}
	return r.columns[c].value(row)
}

// Block is the block that holds the last row whose number in the first column is not above v:
// the rows must lie by that. -1 where there is none.
func (r *Reader) Block(v int64) int { return r.table.Block(v) }

// Block is described with that of a Reader.
func (t *Table) Block(v int64) int {
	low, high := 0, len(t.firsts)
	for low < high {
		if mid := (low + high) / 2; t.firsts[mid] <= v {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low - 1
}

// randomBlocks is how many blocks a Random remembers.
const randomBlocks = 8

// A Random gives rows in any order, fastest those that lie close to others that were asked for.
// It is for one goroutine.
type Random struct{ blocks [randomBlocks]Reader }

// Random reads the table.
func (t *Table) Random() *Random {
	r := &Random{}
	for i := range r.blocks {
		r.blocks[i].table = t
	}
	return r
}

// Value is the number of a row in a column.
func (r *Random) Value(column, row int) int64 {
	in := &r.blocks[row/BlockRows%randomBlocks]
	in.Seek(row)
	return in.columns[column].value(row)
}
