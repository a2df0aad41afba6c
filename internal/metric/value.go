// Package metric owns what is known about a counter apart from the file it came
// from: its value, the unit that its name implies, and how the vendor's command
// line prints both.
package metric

import (
	"math"
	"strconv"
)

// Kind is the type in which a value is stored.
type Kind uint8

// The kinds of a value. KindNone is the zero Value: the metric exists and was
// not measured, which is not the same as zero.
const (
	KindNone Kind = iota
	KindString
	KindFloat32
	KindFloat64
	KindUint32
	KindUint64
)

// String returns the name of the kind as it appears in dumps.
func (k Kind) String() string {
	switch k {
	case KindNone:
		return "none"
	case KindString:
		return "string"
	case KindFloat32:
		return "float32"
	case KindFloat64:
		return "float64"
	case KindUint32:
		return "uint32"
	case KindUint64:
		return "uint64"
	}
	return "kind(" + strconv.Itoa(int(k)) + ")"
}

// Value is one measured value: a number or a text, in the base unit of its
// metric. The zero Value is "not measured".
// Values are compared with Float64 or Text, not with ==, because equal numbers may be
// stored in different kinds.
type Value struct {
	text string
	bits uint64
	kind Kind
}

// String makes a text value.
func String(s string) Value { return Value{text: s, kind: KindString} }

// Float32 makes a single precision value.
func Float32(f float32) Value {
	return Value{bits: uint64(math.Float32bits(f)), kind: KindFloat32}
}

// Float64 makes a double precision value.
func Float64(f float64) Value { return Value{bits: math.Float64bits(f), kind: KindFloat64} }

// Uint32 makes a 32 bit integer value.
func Uint32(u uint32) Value { return Value{bits: uint64(u), kind: KindUint32} }

// Uint64 makes a 64 bit integer value.
func Uint64(u uint64) Value { return Value{bits: u, kind: KindUint64} }

// Kind returns the stored type.
func (v Value) Kind() Kind { return v.kind }

// IsZero reports that nothing was measured.
func (v Value) IsZero() bool { return v.kind == KindNone }

// IsNumber reports whether Float64 has a meaning.
func (v Value) IsNumber() bool { return v.kind >= KindFloat32 }

// isInteger reports whether the value was stored as an integer.
func (v Value) isInteger() bool { return v.kind == KindUint32 || v.kind == KindUint64 }

// Float64 returns the number, and whether there is one. Integers above 2^53 are rounded.
func (v Value) Float64() (float64, bool) {
	switch v.kind {
	case KindFloat32:
		return float64(math.Float32frombits(uint32(v.bits))), true
	case KindFloat64:
		return math.Float64frombits(v.bits), true
	case KindUint32, KindUint64:
		return float64(v.bits), true
	}
	return 0, false
}

// Uint64 returns the integer, and whether the value was stored as one.
func (v Value) Uint64() (uint64, bool) { return v.bits, v.isInteger() }

// Text returns the text of a string value, and the empty string for others.
func (v Value) Text() string { return v.text }

// String prints the value without rounding: the shortest form that reads back
// to the same number, or the text itself; nothing for a value that is absent.
func (v Value) String() string {
	switch v.kind {
	case KindString:
		return v.text
	case KindFloat32:
		return shortest(float64(math.Float32frombits(uint32(v.bits))), 32)
	case KindFloat64:
		return shortest(math.Float64frombits(v.bits), 64)
	case KindUint32, KindUint64:
		return strconv.FormatUint(v.bits, 10)
	}
	return ""
}

// shortest uses an exponent only where the digits would not be readable.
func shortest(x float64, bits int) string {
	format := byte('f')
	if a := math.Abs(x); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.FormatFloat(x, format, -1, bits)
}
