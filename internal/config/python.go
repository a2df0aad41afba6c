package config

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pyFloat writes a float as Python's repr does.
func pyFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	s := strconv.FormatFloat(f, 'e', -1, 64)
	mantissa, exponent, _ := strings.Cut(s, "e")
	exp, _ := strconv.Atoi(exponent)
	if exp < -4 || exp >= 16 {
		sign := "+"
		if exp < 0 {
			sign, exp = "-", -exp
		}
		digits := strconv.Itoa(exp)
		if exp < 10 {
			digits = "0" + digits
		}
		return mantissa + "e" + sign + digits
	}
	s = strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

func pyInt(n *Node) string {
	if n.big != nil {
		return n.big.String()
	}
	return strconv.FormatInt(n.integer, 10)
}

// pyStr is Python's str() of a value: the text that a value becomes inside a
// string with interpolations.
func pyStr(n *Node) string {
	if n.kind == String {
		return n.text
	}
	return pyRepr(n)
}

// pyRepr is Python's repr() of a value.
func pyRepr(n *Node) string {
	var b strings.Builder
	writeRepr(&b, n)
	return b.String()
}

func writeRepr(b *strings.Builder, n *Node) {
	switch n.kind {
	case Null:
		b.WriteString("None")
	case Bool:
		if n.boolean {
			b.WriteString("True")
		} else {
			b.WriteString("False")
		}
	case Int:
		b.WriteString(pyInt(n))
	case Float:
		b.WriteString(pyFloat(n.float))
	case String:
		writeQuoted(b, n.text)
	case Bytes:
		b.WriteByte('b')
		writeBytes(b, n.text)
	case List:
		b.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				b.WriteString(", ")
			}
			writeRepr(b, item)
		}
		b.WriteByte(']')
	case Map:
		b.WriteByte('{')
		for i, e := range n.entries {
			if i > 0 {
				b.WriteString(", ")
			}
			writeRepr(b, e.Key)
			b.WriteString(": ")
			writeRepr(b, e.Value)
		}
		b.WriteByte('}')
	}
}

func quoteFor(s string) byte {
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		return '"'
	}
	return '\''
}

func writeQuoted(b *strings.Builder, s string) {
	quote := quoteFor(s)
	b.WriteByte(quote)
	for _, r := range s {
		switch {
		case r == rune(quote) || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == ' ' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			b.WriteString(`\x` + hex(r, 2))
		case r < 0x10000:
			b.WriteString(`\u` + hex(r, 4))
		default:
			b.WriteString(`\U` + hex(r, 8))
		}
	}
	b.WriteByte(quote)
}

func writeBytes(b *strings.Builder, s string) {
	quote := quoteFor(s)
	b.WriteByte(quote)
	for i := range len(s) {
		switch c := s[i]; {
		case c == quote || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c >= ' ' && c < utf8.RuneSelf-1:
			b.WriteByte(c)
		default:
			b.WriteString(`\x` + hex(rune(c), 2))
		}
	}
	b.WriteByte(quote)
}

func hex(r rune, width int) string {
	s := strconv.FormatInt(int64(r), 16)
	return strings.Repeat("0", max(0, width-len(s))) + s
}

// pyType names a value's type as Python does.
func pyType(n *Node) string {
	switch n.kind {
	case Null:
		return "NoneType"
	case Bool:
		return "bool"
	case Int:
		return "int"
	case Float:
		return "float"
	case String:
		return "str"
	case Bytes:
		return "bytes"
	case List:
		return "list"
	}
	return "dict"
}
