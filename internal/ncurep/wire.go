package ncurep

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/deepprof/deepprof/internal/metric"
)

// field is one field of a message that lies in memory.
// data aliases the message: whoever keeps it makes a copy.
type field struct {
	num  protowire.Number
	typ  protowire.Type
	data []byte // of a length-delimited field
	val  uint64 // of the others
}

func (f field) bool() bool       { return f.val != 0 }
func (f field) float64() float64 { return math.Float64frombits(f.val) }

// eachField calls fn for the fields of a message until the message ends. It
// reports whether the message was well-formed; the fields before the damage
// have been seen.
func eachField(b []byte, fn func(f field)) bool {
	for len(b) > 0 {
		f, n := consumeField(b)
		if n <= 0 {
			return false
		}
		fn(f)
		b = b[n:]
	}
	return true
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
