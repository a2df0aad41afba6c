package ncurep

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/deepprof/deepprof/internal/metric"
)

// field is one field of a message that lies in memory.
// data aliases the message: copy it to keep it.
type field struct {
	num  protowire.Number
	typ  protowire.Type
	data []byte // of a length-delimited field
	val  uint64 // of the others
}

// places says where the fields of a message go, by field number. A place is
//   - a *string, *uint32, *uint64 or *float64, which keeps the last value that comes,
//   - a func([]byte) or func(uint64), called with every value,
//   - the places of a message inside, or a func that returns those of the next one.
//
// A field without a place, or of another wire type than its place takes, is skipped.
type places []any

// list is the place of a repeated message: each one is appended to all.
func list[T any](all *[]T, fields func(*T) places) func() places {
	return func() places {
		*all = append(*all, *new(T))
		return fields(&(*all)[len(*all)-1])
	}
}

// decode puts the fields of a message into their places. It reports whether the
// message was well-formed (those inside it may not be); the fields before the damage
// have been put. Texts are copies.
func decode(b []byte, to places) bool {
	return decodeTexts(b, to, func(b []byte) string { return string(b) })
}

// decode is like the function, with short texts shared.
func (r *Reader) decode(b []byte, to places) bool { return decodeTexts(b, to, r.intern) }

// decodeTexts makes strings by text, which must not keep its argument.
func decodeTexts(b []byte, to places, text func([]byte) string) bool {
	for len(b) > 0 {
		f, n := consumeField(b)
		if n <= 0 {
			return false
		}
		if int(f.num) < len(to) {
			f.put(to[f.num], text)
		}
		b = b[n:]
	}
	return true
}

// put takes nil, and a place of another wire type, for no place. The bytes given to a
// func alias the message.
func (f field) put(place any, text func([]byte) string) {
	switch p := place.(type) {
	case *string:
		if f.typ == protowire.BytesType {
			*p = text(f.data)
		}
	case *uint32:
		if f.typ != protowire.BytesType {
			*p = uint32(f.val)
		}
	case *uint64:
		if f.typ != protowire.BytesType {
			*p = f.val
		}
	case *float64:
		if f.typ == protowire.Fixed64Type {
			*p = math.Float64frombits(f.val)
		}
	case func(uint64):
		if f.typ != protowire.BytesType {
			p(f.val)
		}
	case func([]byte):
		if f.typ == protowire.BytesType {
			p(f.data)
		}
	case places:
		decodeTexts(f.data, p, text)
	case func() places:
		if f.typ == protowire.BytesType {
			decodeTexts(f.data, p(), text)
		}
	}
}

// consumeField reads the field at the start of b and returns its length, 0 when malformed.
func consumeField(b []byte) (field, int) {
	num, typ, n := protowire.ConsumeTag(b)
	if n < 0 {
		return field{}, 0
	}
	f := field{num: num, typ: typ}
	m := 0
	switch typ {
	case protowire.VarintType:
		f.val, m = protowire.ConsumeVarint(b[n:])
	case protowire.BytesType:
		f.data, m = protowire.ConsumeBytes(b[n:])
	case protowire.Fixed64Type:
		f.val, m = protowire.ConsumeFixed64(b[n:])
	case protowire.Fixed32Type:
		var v uint32
		v, m = protowire.ConsumeFixed32(b[n:])
		f.val = uint64(v)
	default:
		m = protowire.ConsumeFieldValue(num, typ, b[n:])
	}
	if m < 0 {
		return field{}, 0
	}
	return f, n + m
}

// decodeValue reads a ProfileMetricValue. Where a damaged message sets several
// of its alternatives, the last one counts.
func decodeValue(b []byte) (metric.Value, bool) {
	if len(b) == 9 && b[0] == 3<<3|byte(protowire.Fixed64Type) { // nearly all
		return metric.Float64(math.Float64frombits(binary.LittleEndian.Uint64(b[1:]))), true
	}
	var v metric.Value
	for len(b) > 0 {
		f, n := consumeField(b)
		if n <= 0 {
			return v, false
		}
		b = b[n:]
		switch {
		case f.num == 1 && f.typ == protowire.BytesType:
			v = metric.String(string(f.data))
		case f.num == 2 && f.typ == protowire.Fixed32Type:
			v = metric.Float32(math.Float32frombits(uint32(f.val)))
		case f.num == 3 && f.typ == protowire.Fixed64Type:
			v = metric.Float64(math.Float64frombits(f.val))
		case f.num == 4 && f.typ == protowire.VarintType:
			v = metric.Uint32(uint32(f.val))
		case f.num == 5 && f.typ == protowire.VarintType:
			v = metric.Uint64(f.val)
		}
	}
	return v, true
}
