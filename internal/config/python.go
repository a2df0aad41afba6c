package config

import (
	"math"
	"strconv"
	"strings"
)

// pyFloat writes a float as Python's repr does: an exponent of at least two
// digits below 1e-4 and from 1e16, else a decimal point.
func pyFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 0):
		return strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(f, 'g', -1, 64)), "+")
	}
	exponent := strconv.FormatFloat(f, 'e', -1, 64)
	if at, _ := strconv.Atoi(exponent[strings.IndexByte(exponent, 'e')+1:]); at < -4 || at >= 16 {
		return exponent
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
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
	switch n.kind {
	case Null:
		return "None"
	case Bool:
		return strings.ToUpper(n.text[:1]) + n.text[1:]
	case String:
		return pyQuote(n.text)
	case List:
		var items []string
		for _, item := range n.items {
			items = append(items, pyRepr(item))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case Map:
		var items []string
		for _, e := range n.entries {
			items = append(items, pyRepr(e.Key)+": "+pyRepr(e.Value))
		}
		return "{" + strings.Join(items, ", ") + "}"
	}
	return n.text
}

// pyQuote quotes a string as Python does: with apostrophes, unless it holds
// apostrophes and no quotation marks.
func pyQuote(s string) string {
	quoted := strconv.Quote(s)
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		return quoted
	}
	inner := strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
	return "'" + strings.ReplaceAll(inner, "'", `\'`) + "'"
}

// pyType names a value's type as Python does.
func pyType(n *Node) string {
	return [...]string{Null: "NoneType", Bool: "bool", Int: "int", Float: "float", String: "str", Map: "dict", List: "list"}[n.kind]
}
