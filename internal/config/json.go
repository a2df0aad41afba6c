package config

import (
	"encoding/base64"
	"math"
	"strings"
	"unicode/utf8"
)

// JSON writes a tree in its canonical form: integers without and floats always
// with a point or an exponent, {"$float": "nan"|"inf"|"-inf"}, {"$map": [[key,
// value], ...]} for a mapping with a key that is no string, {"$bytes": base64}.
// With indent each entry has a line of its own.
func (n *Node) JSON(indent bool) []byte {
	w := &jsonWriter{indent: indent}
	w.node(n, 0)
	if indent {
		w.b.WriteByte('\n')
	}
	return []byte(w.b.String())
}

// MarshalJSON gives the canonical form on one line.
func (n *Node) MarshalJSON() ([]byte, error) { return n.JSON(false), nil }

type jsonWriter struct {
	b      strings.Builder
	indent bool
}

func (w *jsonWriter) line(depth int) {
	if w.indent {
		w.b.WriteByte('\n')
		w.b.WriteString(strings.Repeat("  ", depth))
	}
}

func (w *jsonWriter) colon() {
	w.b.WriteByte(':')
	if w.indent {
		w.b.WriteByte(' ')
	}
}

func (w *jsonWriter) tagged(tag, value string) {
	w.b.WriteString(`{"` + tag + `"`)
	w.colon()
	w.text(value)
	w.b.WriteByte('}')
}

func (w *jsonWriter) node(n *Node, depth int) {
	switch n.kind {
	case Null:
		w.b.WriteString("null")
	case Bool:
		if n.boolean {
			w.b.WriteString("true")
		} else {
			w.b.WriteString("false")
		}
	case Int:
		w.b.WriteString(pyInt(n))
	case Float:
		if math.IsNaN(n.float) || math.IsInf(n.float, 0) {
			w.tagged("$float", pyFloat(n.float))
		} else {
			w.b.WriteString(pyFloat(n.float))
		}
	case String:
		w.text(n.text)
	case Bytes:
		w.tagged("$bytes", base64.StdEncoding.EncodeToString([]byte(n.text)))
	case List:
		w.list(n, depth)
	case Map:
		w.mapping(n, depth)
	}
}

func (w *jsonWriter) list(n *Node, depth int) {
	w.b.WriteByte('[')
	for i, item := range n.items {
		if i > 0 {
			w.b.WriteByte(',')
		}
		w.line(depth + 1)
		w.node(item, depth+1)
	}
	if len(n.items) > 0 {
		w.line(depth)
	}
	w.b.WriteByte(']')
}

func (w *jsonWriter) mapping(n *Node, depth int) {
	for _, e := range n.entries {
		if e.Key.kind != String {
			w.pairs(n, depth)
			return
		}
	}
	w.b.WriteByte('{')
	for i, e := range n.entries {
		if i > 0 {
			w.b.WriteByte(',')
		}
		w.line(depth + 1)
		w.text(e.Key.text)
		w.colon()
		w.node(e.Value, depth+1)
	}
	if len(n.entries) > 0 {
		w.line(depth)
	}
	w.b.WriteByte('}')
}

func (w *jsonWriter) pairs(n *Node, depth int) {
	w.b.WriteString(`{"$map"`)
	w.colon()
	w.b.WriteByte('[')
	for i, e := range n.entries {
		if i > 0 {
			w.b.WriteByte(',')
		}
		w.line(depth + 1)
		w.b.WriteByte('[')
		w.node(e.Key, depth+2)
		w.b.WriteByte(',')
		w.node(e.Value, depth+2)
		w.b.WriteByte(']')
	}
	w.b.WriteString("]}")
}

const hexDigits = "0123456789abcdef"

// text writes a JSON string. A byte that is not UTF-8 becomes U+FFFD.
func (w *jsonWriter) text(s string) {
	w.b.WriteByte('"')
	for i, r := range s {
		switch {
		case r == '"' || r == '\\':
			w.b.WriteByte('\\')
			w.b.WriteRune(r)
		case r == '\n':
			w.b.WriteString(`\n`)
		case r == '\r':
			w.b.WriteString(`\r`)
		case r == '\t':
			w.b.WriteString(`\t`)
		case r < 0x20 || r == 0x2028 || r == 0x2029:
			w.b.WriteString(`\u`)
			for shift := 12; shift >= 0; shift -= 4 {
				w.b.WriteByte(hexDigits[r>>shift&15])
			}
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd"):
			w.b.WriteString(`\ufffd`)
		default:
			w.b.WriteRune(r)
		}
	}
	w.b.WriteByte('"')
}
