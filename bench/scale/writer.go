package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/deepprof/deepprof/internal/sqlite"
)

const (
	pageSize = 4096
	maxLocal = pageSize - 35
	minLocal = (pageSize-12)*32/255 - 23
	// lockPage holds the bytes that SQLite locks; no page of content lies there.
	lockPage = 0x40000000/pageSize + 1
)

// writer builds a database front to back: the pages of a table follow each
// other as its rows come, in the order of their rowids, and page 1 is written
// last.
type writer struct {
	file   *os.File
	out    *bufio.Writer
	pages  uint32 // written so far
	lock   uint32 // the page that stays empty
	schema []entry
}

// entry is a row of the schema.
type entry struct {
	name, sql string
	root      uint32
}

func newWriter(path string) (*writer, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	w := &writer{file: file, out: bufio.NewWriterSize(file, 1<<20), lock: lockPage}
	w.write(make([]byte, pageSize)) // the place of page 1
	return w, nil
}

// write appends a page and returns its number. Errors stay in the buffered
// writer until close.
func (w *writer) write(page []byte) uint32 {
	if w.pages+1 == w.lock {
		w.out.Write(make([]byte, pageSize))
	}
	w.out.Write(page)
	w.pages = w.after(w.pages)
	return w.pages
}

// after is the number of the page that follows another.
func (w *writer) after(page uint32) uint32 {
	if page+1 == w.lock {
		page++
	}
	return page + 1
}

// table builds the tree of one table.
type table struct {
	w       *writer
	page    []byte
	cells   int
	content int // start of the cells, which grow down from the end of the page
	last    int64
	leaves  []child
	cell    []byte
}

// child is a page with the largest rowid in it.
type child struct {
	page uint32
	last int64
}

func (w *writer) newTable() *table {
	return &table{w: w, page: make([]byte, pageSize), content: pageSize}
}

// add appends a row; rowids must rise.
func (t *table) add(rowID int64, record []byte) {
	cell := appendVarint(t.cell[:0], uint64(len(record)))
	cell = appendVarint(cell, uint64(rowID))
	if len(record) <= maxLocal {
		cell = append(cell, record...)
	} else {
		local := minLocal + (len(record)-minLocal)%(pageSize-4)
		if local > maxLocal {
			local = minLocal
		}
		cell = append(cell, record[:local]...)
		cell = binary.BigEndian.AppendUint32(cell, t.w.overflow(record[local:]))
	}
	t.cell = cell
	if 8+2*(t.cells+1) > t.content-len(cell) {
		t.flush()
	}
	t.content -= len(cell)
	copy(t.page[t.content:], cell)
	binary.BigEndian.PutUint16(t.page[8+2*t.cells:], uint16(t.content))
	t.cells++
	t.last = rowID
}

// overflow writes a chain of pages and returns the first.
func (w *writer) overflow(data []byte) uint32 {
	first := w.after(w.pages)
	for len(data) > 0 {
		page := make([]byte, pageSize)
		n := copy(page[4:], data)
		if data = data[n:]; len(data) > 0 {
			binary.BigEndian.PutUint32(page, w.after(w.after(w.pages)))
		}
		w.write(page)
	}
	return first
}

func (t *table) seal() []byte {
	t.page[0] = 0x0d
	binary.BigEndian.PutUint16(t.page[3:], uint16(t.cells))
	binary.BigEndian.PutUint16(t.page[5:], uint16(t.content))
	return t.page
}

func (t *table) flush() {
	t.leaves = append(t.leaves, child{t.w.write(t.seal()), t.last})
	clear(t.page)
	t.cells, t.content = 0, pageSize
}

// finish writes what is left and the interior pages, and enters the table
// into the schema.
func (t *table) finish(name, sql string) {
	if t.cells > 0 || len(t.leaves) == 0 {
		t.flush()
	}
	const fanOut = 200 // cells of an interior page take at most 15 bytes
	level := t.leaves
	for len(level) > 1 {
		var up []child
		for n := 0; len(level) > 0; level = level[n:] {
			n = min(fanOut, len(level))
			if len(level) == n+1 {
				n-- // an interior page needs two children
			}
			page := make([]byte, pageSize)
			interior(page, 0, level[:n])
			up = append(up, child{t.w.write(page), level[n-1].last})
		}
		level = up
	}
	t.w.schema = append(t.w.schema, entry{name, sql, level[0].page})
}

// interior lays out an interior page whose header is at start.
func interior(page []byte, start int, children []child) {
	content := pageSize
	last := len(children) - 1
	for i, c := range children[:last] {
		cell := binary.BigEndian.AppendUint32(nil, c.page)
		cell = appendVarint(cell, uint64(c.last))
		content -= len(cell)
		copy(page[content:], cell)
		binary.BigEndian.PutUint16(page[start+12+2*i:], uint16(content))
	}
	page[start] = 0x05
	binary.BigEndian.PutUint16(page[start+3:], uint16(last))
	binary.BigEndian.PutUint16(page[start+5:], uint16(content))
	binary.BigEndian.PutUint32(page[start+8:], children[last].page)
}

// close writes the schema and page 1.
func (w *writer) close() error {
	t := w.newTable()
	for i, e := range w.schema {
		t.add(int64(i+1), encode(nil, []value{
			text("table"), text(e.name), text(e.name), {kind: sqlite.Integer, i: int64(e.root)}, text(e.sql),
		}))
	}
	t.flush()
	if len(t.leaves) > 200 {
		return errors.Join(fmt.Errorf("a schema of %d pages is too large", len(t.leaves)), w.file.Close())
	}
	page := make([]byte, pageSize)
	if len(t.leaves) == 1 {
		// An interior page needs two children: an empty leaf becomes the last.
		t.leaves = append(t.leaves, child{page: w.write(t.seal())})
	}
	interior(page, 100, t.leaves)
	copy(page, "SQLite format 3\x00")
	copy(page[16:], []byte{pageSize >> 8, pageSize & 0xff, 1, 1, 0, 64, 32, 32})
	for _, f := range []struct {
		at    int
		value uint32
	}{
		{24, 1}, {28, w.pages}, // change counter, size
		{40, 1}, {44, 4}, {56, 1}, // schema cookie, schema format, UTF-8
		{92, 1}, {96, 3040000}, // the change counter for which the size holds, version
	} {
		binary.BigEndian.PutUint32(page[f.at:], f.value)
	}
	err := w.out.Flush()
	if err == nil {
		_, err = w.file.WriteAt(page, 0)
	}
	return errors.Join(err, w.file.Close())
}

// value is one column of a row.
type value struct {
	kind sqlite.Type
	i    int64
	f    float64
	b    []byte
}

func text(s string) value { return value{kind: sqlite.Text, b: []byte(s)} }

// encode appends the record of a row.
func encode(dst []byte, row []value) []byte {
	var space [256]byte
	head := space[:0]
	for _, v := range row {
		head = appendVarint(head, v.serial())
	}
	// The length of the header counts its own bytes.
	size := len(head) + 1
	if size > 127 {
		size++
	}
	dst = append(appendVarint(dst, uint64(size)), head...)
	for _, v := range row {
		switch v.kind {
		case sqlite.Integer:
			width := intWidth(v.i)
			var word [8]byte
			binary.BigEndian.PutUint64(word[:], uint64(v.i))
			dst = append(dst, word[8-width:]...)
		case sqlite.Float:
			dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(v.f))
		default:
			dst = append(dst, v.b...)
		}
	}
	return dst
}

func (v value) serial() uint64 {
	switch v.kind {
	case sqlite.Integer:
		if v.i == 0 || v.i == 1 {
			return 8 + uint64(v.i)
		}
		return [...]uint64{1: 1, 2: 2, 3: 3, 4: 4, 6: 5, 8: 6}[intWidth(v.i)]
	case sqlite.Float:
		return 7
	case sqlite.Text:
		return 13 + 2*uint64(len(v.b))
	case sqlite.Blob:
		return 12 + 2*uint64(len(v.b))
	}
	return 0
}

// intWidth is the number of bytes that an integer takes in a record.
func intWidth(i int64) int {
	if i == 0 || i == 1 {
		return 0
	}
	for _, width := range []int{1, 2, 3, 4, 6} {
		if shift := 64 - 8*width; i<<shift>>shift == i {
			return width
		}
	}
	return 8
}

func appendVarint(dst []byte, v uint64) []byte {
	if v < 0x80 {
		return append(dst, byte(v))
	}
	if v >= 1<<56 {
		for shift := 57; shift >= 8; shift -= 7 {
			dst = append(dst, byte(v>>shift)|0x80)
		}
		return append(dst, byte(v))
	}
	shift := 49
	for v>>shift == 0 {
		shift -= 7
	}
	for ; shift > 0; shift -= 7 {
		dst = append(dst, byte(v>>shift)&0x7f|0x80)
	}
	return append(dst, byte(v)&0x7f)
}
