package columns

import (
	"encoding/binary"
	"math/bits"
)

const (
	// BlockRows is how many rows a block has, but for the last one, which may have fewer.
	BlockRows = 1 << 11
	// MaxColumns bounds the columns of a table.
	MaxColumns = 8

	headBytes = 9 // of a column: the least number, and how many bytes each has above it
	padBytes  = 8 // behind the last column, since numbers are read 8 bytes at a time
)

// A Table has rows of a few numbers. It is written by one goroutine: Set all columns of a row,
// then End it; after Finish it is only read.
type Table struct {
	blocks Blocks
	firsts []int64 // number of the first column in the first row of each block
	k, n   int     // columns, and rows that were ended
	at     int     // rows of the block that is being filled
	rows   [][]int64
	extra  []byte // of that block
	room   []byte // for the next block; nil if the last one was taken over
}

// NewTable is an empty table of a store, which may be nil for memory.
func NewTable(store *Store, columns int) *Table {
	t := &Table{blocks: NewBlocks(store), k: columns, rows: make([][]int64, columns)}
	for c := range t.rows {
		t.rows[c] = make([]int64, BlockRows)
	}
	return t
}

// Set gives the row that is being made its number in a column.
func (t *Table) Set(column int, v int64) { t.rows[column][t.at] = v }

// At is how many rows before the one that is being made are in its block.
func (t *Table) At() int { return t.at }

// Extra is what the block of the row that is being made has beside its columns; the caller may
// append to it.
func (t *Table) Extra() *[]byte { return &t.extra }

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
	if t.at > 0 {
		t.close()
	}
	t.rows, t.extra, t.room = nil, nil, nil
}

// close packs the block: for each column the least number, how many bytes each takes above
// that, and those bytes; then the extra.
func (t *Table) close() {
	size := padBytes + len(t.extra)
	var least [MaxColumns]int64
	var width [MaxColumns]int
	for c, column := range t.rows {
		low, high := column[0], column[0]
		for _, v := range column[1:t.at] {
			low, high = min(low, v), max(high, v)
		}
		least[c], width[c] = low, (bits.Len64(uint64(high)-uint64(low))+7)/8
		size += headBytes + width[c]*t.at
	}
	data := t.room
	if cap(data) < size {
		data = make([]byte, size)
	}
	data = data[:size]
	at := 0
	for c, column := range t.rows {
		binary.LittleEndian.PutUint64(data[at:], uint64(least[c]))
		data[at+8] = byte(width[c])
		at += headBytes
		at += pack(data[at:], column[:t.at], least[c], width[c])
	}
	copy(data[at:], t.extra)
	clear(data[at+len(t.extra):])
	t.room = nil
	if t.blocks.Add(data) {
		t.room = data
	}
	t.firsts = append(t.firsts, t.rows[0][0])
	t.at, t.extra = 0, t.extra[:0]
}

// pack writes numbers with so many bytes each, and tells how many it wrote. It may write over
// the 8 bytes that follow.
func pack(to []byte, column []int64, least int64, width int) int {
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

// A Reader gives the rows of a table by their block. It is for one goroutine.
type Reader struct {
	table *Table
	// First is the number of the first row of the block, End that behind its last one.
	First, End int
	Extra      []byte // of the block

	columns [MaxColumns]packed
	room    []byte
}

// Reader is at no block.
func (t *Table) Reader() Reader { return Reader{table: t} }

// Len is the number of rows of the table.
func (r *Reader) Len() int { return r.table.n }

// Seek goes to the block of a row, which must be there.
func (r *Reader) Seek(row int) {
	if row >= r.First && row < r.End {
		return
	}
	t := r.table
	block := row / BlockRows
	data, room := t.blocks.Read(block, r.room)
	r.room, r.First = room, block*BlockRows
	r.End = min(t.n, r.First+BlockRows)
	for c := range t.k {
		width := int(data[8])
		r.columns[c] = packed{data[headBytes:], int64(binary.LittleEndian.Uint64(data)), width, ^uint64(0) >> (64 - 8*width)}
		data = data[headBytes+width*(r.End-r.First):]
	}
	r.Extra = data[:len(data)-padBytes]
}

// Value is the number of a row of the block in a column.
func (r *Reader) Value(column, row int) int64 {
	c := &r.columns[column]
	at := (row - r.First) * c.width
	return c.least + int64(binary.LittleEndian.Uint64(c.data[at:at+8])&c.mask)
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
	return in.Value(column, row)
}
