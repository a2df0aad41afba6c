package sqlite

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
)

// maxInts is the most columns that ScanInts reads.
const maxInts = 32

// Ints is one row of ScanInts. It is valid until the callback returns.
type Ints struct {
	// Int is each column as Row.Int gives it.
	Int         [maxInts]int64
	null, whole uint32 // a bit for each column
}

// Null reports whether column i is NULL.
func (v *Ints) Null(i int) bool { return v.null>>uint(i)&1 != 0 }

// Whole reports whether column i holds an integer.
func (v *Ints) Whole(i int) bool { return v.whole>>uint(i)&1 != 0 }

// ScanInts is Scan for tables of numbers, of which the largest tables consist: it
// decodes every column at once. A column "" reads as NULL. Before the first row,
// begin is told how many workers there are; count gives how many rows the share of
// each has, a little more if it is large. fn gives what takes the rows of a worker.
// A column that holds a float is truncated, and Whole is false for it. begin is called
// once, also for an empty table, with one worker at least.
func (db *DB) ScanInts(ctx context.Context, table *Table, columns []string, workers int, begin func(workers int, count func() []int), fn func(worker int) func(*Ints) error) (ScanStats, error) {
	if len(columns) > maxInts {
		return ScanStats{}, fmt.Errorf("scan table %s of %s: %d columns of numbers are more than %d", table.Name, db.path, len(columns), maxInts)
	}
	names := slices.DeleteFunc(slices.Clone(columns), func(name string) bool { return name == "" })
	return db.scanTable(ctx, table, names, workers, func(p *plan, leaves []uint32, n int) {
		p.asInts(columns)
		begin(n, func() []int { return db.countRows(leaves, n) })
	}, func(w int) func(*Row) error {
		visit := fn(w)
		return func(r *Row) error { return visit(r.ints) }
	})
}

// countRows is about how many rows each share has, rather more than less. Rowids tell
// if they follow each other without holes, as in tables that nothing was deleted from;
// else, and for the last share, a sample of the leaves does, with a tenth added.
func (db *DB) countRows(leaves []uint32, n int) []int {
	const sampled = 512
	counts := make([]int, n)
	for w := range n {
		from, to := len(leaves)*w/n, len(leaves)*(w+1)/n
		share := leaves[from:to]
		step, read := max(1, len(share)/sampled), 0
		for i := 0; i < len(share); i += step {
			counts[w] += db.cells(share[i])
			read++
		}
		if step > 1 {
			counts[w] = counts[w] * len(share) / read * 11 / 10
		}
		if to == len(leaves) || len(share) == 0 {
			continue
		}
		first, ok := db.firstRow(share[0])
		next, also := db.firstRow(leaves[to])
		if rows := uint64(next) - uint64(first); ok && also && next > first && rows <= uint64(counts[w]) {
			counts[w] = int(rows)
		}
	}
	return counts
}

// firstRow is the rowid of the first row of a leaf; false if it cannot be read.
func (db *DB) firstRow(page uint32) (int64, bool) {
	if db.cells(page) == 0 {
		return 0, false
	}
	buf := make([]byte, db.head.pageSize)
	if db.readPage(page, buf) != nil {
		return 0, false
	}
	at := int(binary.BigEndian.Uint16(buf[bodyStart(page)+8:]))
	if at >= db.head.usable {
		return 0, false
	}
	_, n := varint(buf[at:db.head.usable])
	id, m := varint(buf[at+n : db.head.usable])
	return int64(id), n > 0 && m > 0
}

// cells is how many rows a leaf says it has; 0 if it cannot be read.
func (db *DB) cells(page uint32) int {
	file, at := db.file, db.offset(page)
	if off, ok := db.inWAL(page); ok {
		file, at = db.wal.file, off
	}
	var head [headerSize + 8]byte
	start := bodyStart(page)
	if page == 0 || page > db.pages || readFull(file, head[:start+8], at) != nil || head[start] != leafPage {
		return 0
	}
	cells := int(binary.BigEndian.Uint16(head[start+3:]))
	if start+8+2*cells > db.head.usable {
		return 0
	}
	return cells
}

// asInts makes the plan decode into Ints.
func (p *plan) asInts(columns []string) {
	spare := len(p.columns)
	p.place = make([]uint8, spare+1)
	p.place[spare] = maxInts
	at := 0
	for i, name := range columns {
		if name == "" {
			p.absent |= 1 << uint(i)
			continue
		}
		p.place[at] = uint8(i)
		if p.columns[at].real {
			p.reals |= 1 << uint(i)
		}
		p.plain = p.plain && !p.columns[at].rowID
		at++
	}
	p.places = make([]uint8, len(p.want))
	for i, to := range p.want {
		p.places[i] = p.place[to]
	}
}

// decodeInts reads the wanted columns of a record of size bytes; data goes on for
// slack bytes behind it.
func (p *plan) decodeInts(v *Ints, row *Row, data []byte, size int) (cause fact.Code) {
	if s := row.shapes.last; s != nil && s.end <= size && s.is(data) { // as a rule
		s.load(v, data)
		if !p.plain {
			p.fillRowIDs(v, row)
		}
		return ""
	}
	at := row.shapes.place(data, size)
	if at == nil {
		return p.fillInts(v, row, data, size)
	}
	s := *at
	if s == nil || !s.is(data) {
		if s = p.shapeOf(data[:data[0]]); s == nil {
			return p.fillInts(v, row, data, size)
		}
		s.setHead(data)
		*at = s
	}
	if s.end > size {
		return rowLong
	}
	s.fill(v, data)
	row.shapes.last = s
	if !p.plain {
		p.fillRowIDs(v, row)
	}
	return ""
}

// fillInts goes the way of Row for records that hold more than integers.
func (p *plan) fillInts(v *Ints, row *Row, data []byte, size int) (cause fact.Code) {
	if _, cause = p.decode(row.cells, data[:size], size); cause != "" {
		return cause
	}
	row.body = data
	p.take(v, row)
	return ""
}

// take copies the columns of a decoded row.
func (p *plan) take(v *Ints, row *Row) {
	row.shapes.last = nil
	v.null, v.whole = p.absent, 0
	for i := range p.columns {
		to := p.place[i]
		v.Int[to] = row.Int(i)
		switch row.Type(i) {
		case Null:
			v.null |= 1 << to
		case Integer:
			v.whole |= 1 << to
		}
	}
}

// fillRowIDs: the rowid is no part of the record, so shapes do not have it.
func (p *plan) fillRowIDs(v *Ints, row *Row) {
	for i, c := range p.columns {
		if c.rowID {
			v.Int[p.place[i]] = row.rowID
			v.whole |= 1 << p.place[i]
		}
	}
}
