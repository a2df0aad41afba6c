package config

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// YAML writes a tree in block style. Reading it back gives the same tree.
// Comments are not part of a tree and are lost. Interpolations are written as they are.
func (n *Node) YAML() []byte {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	e.CompactSeqIndent()
	if err := e.Encode(yamlNode(n)); err != nil {
		panic(err) // nodes are built here, and a buffer takes everything
	}
	e.Close()
	return b.Bytes()
}

// yamlNode builds the tree that the YAML library writes.
func yamlNode(n *Node) *yaml.Node {
	switch n.kind {
	case Map:
		y := &yaml.Node{Kind: yaml.MappingNode}
		for _, e := range n.entries {
			y.Content = append(y.Content, yamlNode(e.Key), yamlNode(e.Value))
		}
		return y
	case List:
		y := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range n.items {
			y.Content = append(y.Content, yamlNode(item))
		}
		return y
	case String:
		return yamlText(n.text)
	case Null:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: "null"}
	case Float:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: yamlFloatText(n.text)}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: n.text}
}

// yamlText quotes what would be read as something else than a string: by the
// rules of YAML 1.1, which this package reads by, or of 1.2, which other tools
// do.
func yamlText(s string) *yaml.Node {
	s = strings.ToValidUTF8(s, "\ufffd") // a variable of the environment may hold anything
	y := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	switch {
	case strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && !strconv.IsPrint(r) }), strings.HasPrefix(s, "\n"), strings.HasPrefix(s, " "):
		y.Style = yaml.DoubleQuotedStyle
	case strings.Contains(s, "\n"):
		y.Style = yaml.LiteralStyle
	case plainTag(s) != "!!str":
		y.Style = yaml.SingleQuotedStyle
	}
	return y
}

// yamlFloatText writes a float so that YAML 1.1 reads it as one.
func yamlFloatText(text string) string {
	switch text {
	case "nan", "inf":
		return "." + text
	case "-inf":
		return "-.inf"
	}
	if !strings.Contains(text, ".") {
		text = strings.Replace(text, "e", ".0e", 1)
	}
	return text
}

// JSON writes a tree in its canonical form: integers without and floats always
// with a point or an exponent, {"$float": "nan"|"inf"|"-inf"}, {"$map": [[key,
// value], ...]} for a mapping with a key that is no string. With indent each
// entry has a line of its own.
func (n *Node) JSON(indent bool) []byte {
	var b bytes.Buffer
	n.writeJSON(&b)
	if !indent {
		return b.Bytes()
	}
	var out bytes.Buffer
	if err := json.Indent(&out, b.Bytes(), "", "  "); err != nil {
		panic(err) // the text was written here
	}
	out.WriteByte('\n')
	return out.Bytes()
}

// writeJSON writes without blanks; the order of keys is that of the tree.
func (n *Node) writeJSON(b *bytes.Buffer) {
	switch n.kind {
	case Null:
		b.WriteString("null")
	case Bool, Int:
		b.WriteString(n.text)
	case Float:
		if f, _ := n.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			b.WriteString(`{"$float":"` + n.text + `"}`)
		} else {
			b.WriteString(n.text)
		}
	case String:
		writeJSONText(b, n.text)
	case List:
		b.WriteByte('[')
		for i, item := range n.items {
			comma(b, i)
			item.writeJSON(b)
		}
		b.WriteByte(']')
	case Map:
		n.writeJSONMap(b)
	}
}

// writeJSONMap takes JSON's own form if every key is a string.
func (n *Node) writeJSONMap(b *bytes.Buffer) {
	for _, e := range n.entries {
		if e.Key.kind != String {
			n.writeJSONPairs(b)
			return
		}
	}
	b.WriteByte('{')
	for i, e := range n.entries {
		comma(b, i)
		writeJSONText(b, e.Key.text)
		b.WriteByte(':')
		e.Value.writeJSON(b)
	}
	b.WriteByte('}')
}

// writeJSONPairs keeps the types of keys, which JSON's own form would lose.
func (n *Node) writeJSONPairs(b *bytes.Buffer) {
	b.WriteString(`{"$map":[`)
	for i, e := range n.entries {
		comma(b, i)
		b.WriteByte('[')
		e.Key.writeJSON(b)
		b.WriteByte(',')
		e.Value.writeJSON(b)
		b.WriteByte(']')
	}
	b.WriteString("]}")
}

// comma stands before every element but the first.
func comma(b *bytes.Buffer, i int) {
	if i > 0 {
		b.WriteByte(',')
	}
}

// writeJSONText writes a string. A byte that is not UTF-8 becomes U+FFFD.
func writeJSONText(b *bytes.Buffer, s string) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a string can always be encoded
	}
	b.Truncate(b.Len() - 1) // the line feed that Encode adds
}

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
