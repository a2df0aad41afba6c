package sqlite

import (
	"fmt"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
)

// plan says which columns of a table a scan decodes.
type plan struct {
	// columns are those that were asked for, in that order.
	columns  []Column
	encoding textEncoding
	// want gives for each stored column, up to the last that is asked for, the
	// cell that receives it; columns that are not asked for share a spare cell
	// after the others, which spares a branch a column.
	want []uint16

	// Where a row is decoded into Ints: the place of each column there, and of each
	// stored column up to the last that is asked for, maxInts for none; the columns
	// that are always NULL; those that hold floats; and whether none is the rowid.
	place, places []uint8
	absent, reals uint32
	plain         bool
}

// A name that the table lacks, or that is given twice, is an error.
func newPlan(table *Table, names []string, encoding textEncoding) (*plan, error) {
	p := &plan{encoding: encoding, plain: true}
	spare := uint16(len(names))
	for i, name := range names {
		c, ok := table.column(name)
		switch {
		case !ok:
			return nil, fmt.Errorf("table %s has no column %q", table.Name, name)
		case c.computed:
			return nil, fmt.Errorf("column %s of table %s is generated, its values are not stored", name, table.Name)
		}
		for _, other := range names[:i] {
			if strings.EqualFold(other, name) {
				return nil, fmt.Errorf("column %s of table %s is asked for twice", name, table.Name)
			}
		}
		p.columns = append(p.columns, c)
		if c.rowID {
			continue
		}
		for len(p.want) <= c.stored {
			p.want = append(p.want, spare)
		}
		p.want[c.stored] = uint16(i)
	}
	return p, nil
}

// newRow makes the row of one worker; it is reused for every row of its share.
func (p *plan) newRow() *Row {
	r := &Row{plan: p, cells: make([]cell, len(p.columns)+1)}
	if p.place != nil {
		r.ints, r.shapes = &Ints{}, &shapeCache{}
	}
	for i, c := range p.columns {
		if c.rowID {
			r.cells[i].serial = serialRowID
		}
	}
	return r
}

// serialSize is the length of the values of the serial types below 12. The
// two reserved ones get a length that no record has.
var serialSize = [12]int64{0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 1 << 40, 1 << 40}

// serialLen is the length of a value of any serial type.
func serialLen(serial uint64) int64 {
	if serial < 12 {
		return serialSize[serial]
	}
	return int64((serial - 12) / 2)
}

// decode finds the wanted columns of a record of size bytes by its header,
// which must lie in data. It returns the end of the last wanted value, and why
// the record cannot be right, if so.
func (p *plan) decode(cells []cell, data []byte, size int) (end int, cause fact.Code) {
	head, pos := varint(data)
	if pos == 0 || head < uint64(pos) || head > uint64(size) || head > uint64(len(data)) {
		return 0, rowHeader
	}
	h := data[:head]
	off := int64(head)
	for i, to := range p.want {
		if pos >= len(h) {
			p.fillMissing(cells, i)
			break
		}
		serial := uint64(h[pos])
		pos++
		if serial >= 0x80 {
			v, n := varint(h[pos-1:])
			if n == 0 || v > 2*maxPayload+13 {
				return 0, rowType
			}
			serial = v
			pos += n - 1
		}
		cells[to] = cell{uint32(off), uint32(serial)}
		if serial < 12 {
			off += serialSize[serial]
		} else {
			off += int64(serial-12) / 2
		}
	}
	if off > int64(size) {
		return 0, rowLong
	}
	return int(off), ""
}

// fillMissing marks the wanted columns from the stored column i on.
func (p *plan) fillMissing(cells []cell, i int) {
	for _, to := range p.want[i:] {
		cells[to].serial = serialMissing
	}
}

// varint decodes SQLite's big-endian variable integer; n is 0 when b ends
// inside it.
// At most nine bytes are read.
func varint(b []byte) (v uint64, n int) {
	for i, c := range b {
		if i == 8 {
			return v<<8 | uint64(c), 9
		}
		v = v<<7 | uint64(c&0x7f)
		if c < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}
