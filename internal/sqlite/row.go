package sqlite

import (
	"encoding/binary"
	"math"
	"strconv"
)

// Type is the storage class of a value.
type Type uint8

// The storage classes of SQLite.
const (
	Null Type = iota
	Integer
	Float
	Text
	Blob
)

// Row is one row inside a scan. It and the slices it returns are valid only
// until the callback returns. The index of its methods is the position in the
// list of columns that was given to Scan.
type Row struct {
	rowID int64
	// body is the record followed by at least 8 readable bytes, so that every
	// integer can be loaded as one word.
	body []byte
	// cells has one more than the columns: a spare for those that nobody asked for.
	cells    []cell
	plan     *plan
	text     []byte // UTF-16 text converted for Bytes
	overflow []byte // a record put together from overflow pages
	ints     *Ints  // if the row is decoded as a whole
	shapes   *shapeCache
}

// cell says where the value of a column lies in the record.
// off is in bytes from the start of the record.
type cell struct {
	off    uint32
	serial uint32
}

// Serial types that do not occur in a file: no length gives them, because
// records are bounded by maxPayload.
const (
	serialRowID   = math.MaxUint32 - iota // the value is the rowid
	serialMissing                         // the record is older than the column
)

// value is a column default.
// The zero value is NULL. b is shared between rows and must not be changed.
type value struct {
	kind Type
	i    int64
	f    float64
	b    []byte
}

// intShift moves a big-endian integer of serial type 1 to 6, loaded as the top
// of a word, to its place.
var intShift = [8]uint8{0, 56, 48, 40, 32, 16, 0, 0}

// RowID is the key of the row in its table.
func (r *Row) RowID() int64 { return r.rowID }

// Type is the storage class of column i. Like SQLite it takes a stored NaN for
// NULL.
func (r *Row) Type(i int) Type {
	switch c := r.cells[i]; {
	case c.serial == serialRowID:
		return Integer
	case c.serial == serialMissing:
		return r.plan.columns[i].missing.kind
	case c.serial == 0:
		return Null
	case c.serial == 7:
		if math.IsNaN(r.float(c)) {
			return Null
		}
		return Float
	case c.serial < 10:
		if r.plan.columns[i].real {
			return Float
		}
		return Integer
	case c.serial&1 == 0:
		return Blob
	default:
		return Text
	}
}

// Null reports whether column i is NULL.
func (r *Row) Null(i int) bool {
	switch c := r.cells[i]; c.serial {
	case 0:
		return true
	case 7, serialMissing:
		return r.Type(i) == Null
	}
	return false
}

// Int is the value of column i as an integer: floats are truncated and
// clamped, everything else is 0.
func (r *Row) Int(i int) int64 {
	c := r.cells[i]
	if c.serial-1 < 6 {
		word := binary.BigEndian.Uint64(r.body[c.off:])
		return int64(word) >> (intShift[c.serial&7] & 63)
	}
	return r.otherInt(i, c)
}

// otherInt is the rare rest of Int, apart so that Int stays small enough to be inlined.
func (r *Row) otherInt(i int, c cell) int64 {
	switch c.serial {
	case 7:
		return truncate(r.float(c))
	case 9:
		return 1
	case serialRowID:
		return r.rowID
	case serialMissing:
		switch v := r.plan.columns[i].missing; v.kind {
		case Integer:
			return v.i
		case Float:
			return truncate(v.f)
		}
	}
	return 0
}

// truncate gives 0 for NaN.
func truncate(f float64) int64 {
	switch {
	case f != f:
		return 0
	case f >= math.MaxInt64:
		return math.MaxInt64
	case f <= math.MinInt64:
		return math.MinInt64
	}
	return int64(f)
}

// float needs a cell of serial type 7.
func (r *Row) float(c cell) float64 {
	return math.Float64frombits(binary.BigEndian.Uint64(r.body[c.off:]))
}

// Float is the value of column i as a float; text, blobs and NULL are 0.
func (r *Row) Float(i int) float64 {
	c := r.cells[i]
	switch {
	case c.serial == 7:
		return r.float(c)
	case c.serial == serialMissing && r.plan.columns[i].missing.kind == Float:
		return r.plan.columns[i].missing.f
	}
	return float64(r.Int(i))
}

// Bytes is a view of the text (as UTF-8) or blob in column i, nil for other
// values. Bytes that are not valid in the encoding of a UTF-8 file are kept.
// They point into the page that is being read, so copy what is kept.
// Each call for a UTF-16 text converts it again; all of them stay valid until the callback returns.
func (r *Row) Bytes(i int) []byte {
	c := r.cells[i]
	switch {
	case c.serial == serialMissing:
		return r.plan.columns[i].missing.b
	case c.serial < 12 || c.serial == serialRowID:
		return nil
	}
	n := (c.serial - 12) / 2
	raw := r.body[c.off : c.off+n : c.off+n]
	if c.serial&1 == 0 || r.plan.encoding == utf8Text {
		return raw
	}
	start := len(r.text)
	r.text = appendUTF16(r.text, raw, r.plan.encoding)
	return r.text[start:len(r.text):len(r.text)]
}

// Text is a copy of column i as text: blobs byte by byte, numbers in decimal,
// NULL as "".
func (r *Row) Text(i int) string {
	switch r.Type(i) {
	case Integer:
		return strconv.FormatInt(r.Int(i), 10)
	case Float:
		return strconv.FormatFloat(r.Float(i), 'g', -1, 64)
	case Text, Blob:
		return string(r.Bytes(i))
	}
	return ""
}
