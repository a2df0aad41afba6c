package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Limits on a file. They are far above any configuration that a person writes
// and keep a hostile or mistaken file from eating the machine.
const (
	maxFileSize  = 4 << 20 // bytes
	maxFileNodes = 200_000 // with aliases expanded
)

// The scalars of YAML 1.1 as PyYAML and omegaconf resolve them: omegaconf adds
// floats without a point and drops timestamps.
var (
	boolPattern = regexp.MustCompile(`^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$`)
	nullPattern = regexp.MustCompile(`^(?:~|null|Null|NULL|)$`)
	intPattern  = regexp.MustCompile(`^(?:[-+]?0b[0-1_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)` +
		`|[-+]?0x[0-9a-fA-F_]+|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+)$`)
	floatPattern = regexp.MustCompile(`^(?:[-+]?(?:[0-9][0-9_]*)\.[0-9_]*(?:[eE][-+]?[0-9]+)?` +
		`|[-+]?(?:[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)` +
		`|\.[0-9_]+(?:[eE][-+][0-9]+)?` +
		`|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*` +
		`|[-+]?\.(?:inf|Inf|INF)` +
		`|\.(?:nan|NaN|NAN))$`)
)

// yamlReader turns one file into a tree.
type yamlReader struct {
	file   string // display path
	nodes  int
	depth  int
	active map[*yaml.Node]bool // anchors being expanded
	inKey  bool                // interpolations are not looked for in keys
}

// readYAML parses a file. An empty one is nil.
func readYAML(file string, data []byte) (n *Node, err error) {
	r := &yamlReader{file: file, active: map[*yaml.Node]bool{}}
	if valid := bytes.ToValidUTF8(data, []byte{0}); !utf8.Valid(data) {
		at := 0
		for data[at] == valid[at] {
			at++
		}
		line := bytes.Count(data[:at], []byte("\n")) + 1
		return nil, r.fail(line, 1, "the file is not valid UTF-8: byte 0x%02x at offset %d", data[at], at)
	}
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			n, err = nil, p.err
		default: // the library
			n, err = nil, r.fail(0, 0, "the file cannot be parsed: %v", p)
		}
	}()
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	switch err := decoder.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, r.syntax(data, err)
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		return nil, r.fail(second.Line, 1, "expected a single document in the stream, but found another document")
	case !errors.Is(err, io.EOF):
		return nil, r.syntax(data, err)
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	r.anchors(&doc, map[string]*yaml.Node{})
	return r.node(doc.Content[0]), nil
}

// fail: line and column count from 1; 0 is unknown.
func (r *yamlReader) fail(line, column int, format string, args ...any) *Error {
	return &Error{
		Kind:    "yaml-syntax",
		Message: fmt.Sprintf(format, args...),
		Origin:  Origin{File: r.file, Line: line, Column: column},
	}
}

var (
	yamlErrorLine = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?`)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced`)
)

// syntax words an error of the YAML parser. Version 3 of the library makes every
// syntax error with fmt.Errorf, without a type, a code or a position (its one
// typed error, TypeError, is of decoding into structs), so the text is the only
// source and this is the one place that reads it; a text that it does not know is
// shown as it is. Version 4 has a LoadError with stage and mark, and is not
// released yet. Lines are not all counted from one: those of the grammar stage are
// one short, and the first line is left out.
func (r *yamlReader) syntax(data []byte, err error) *Error {
	text := err.Error()
	m := yamlErrorLine.FindStringSubmatch(text)
	line, column := 1, 1
	if m[1] != "" {
		line, _ = strconv.Atoi(m[1])
	}
	text = strings.TrimPrefix(text[len(m[0]):], "yaml: ")
	if m[1] != "" && strings.HasPrefix(text, "did not find expected") {
		line++
	}
	if a := unknownAnchor.FindStringSubmatch(text); a != nil {
		if i := bytes.Index(data, []byte("*"+a[1])); i >= 0 {
			line = bytes.Count(data[:i], []byte("\n")) + 1
			column = utf8.RuneCount(data[bytes.LastIndexByte(data[:i], '\n')+1:i]) + 1
		}
	}
	tab := strings.HasPrefix(text, "found a tab character")
	if tab {
		line, column = indentingTab(data, line)
	}
	e := r.fail(line, column, "%s", text)
	switch {
	case tab:
		e.Hint = "YAML is indented with blanks, never with tabs"
	case strings.Contains(text, "cannot start any token"):
		e.Hint = "YAML is indented with blanks, never with tabs; quote a value that starts with a special character"
	case strings.Contains(text, "mapping values are not allowed"):
		e.Hint = "quote a value that holds ': ', and indent the keys of one mapping alike"
	}
	return e
}

// indentingTab finds the tab that the parser tells of by the line of the value
// before it. Lines and columns count from one.
func indentingTab(data []byte, before int) (line, column int) {
	line = 0
	for text := range bytes.Lines(data) {
		line++
		blanks := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]
		if at := bytes.IndexByte(blanks, '\t'); line > before && at >= 0 {
			return line, at + 1
		}
	}
	return before, 1
}

// at is fail at the place of a node.
func (r *yamlReader) at(y *yaml.Node, format string, args ...any) *Error {
	return r.fail(y.Line, y.Column, format, args...)
}

// node turns a node of the YAML library into one of ours. Aliases are expanded:
// the count of nodes keeps a few lines from growing into millions of values.
func (r *yamlReader) node(y *yaml.Node) (n *Node) {
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > maxNesting {
		panic(failure{r.at(y, "the file is nested deeper than %d levels", maxNesting)})
	}
	r.count(y, 1)
	switch y.Kind {
	case yaml.AliasNode:
		if r.active[y.Alias] {
			panic(failure{r.at(y, "the anchor '%s' contains itself", y.Value)})
		}
		r.active[y.Alias] = true
		defer delete(r.active, y.Alias)
		return r.node(y.Alias)
	case yaml.MappingNode:
		n = r.mapping(y)
	case yaml.SequenceNode:
		if tag := explicitTag(y); tag != "" && tag != "!!seq" {
			panic(r.unknownTag(y, tag))
		}
		n = newList()
		for _, item := range y.Content {
			n.push(r.node(item))
		}
	default:
		n = r.scalar(y)
	}
	n.origin = Origin{File: r.file, Line: y.Line, Column: y.Column}
	return n
}

// count bounds the values of a file.
func (r *yamlReader) count(y *yaml.Node, n int) {
	if r.nodes += n; r.nodes > maxFileNodes {
		panic(failure{r.at(y, "the file holds more than %d values once its aliases are expanded", maxFileNodes)})
	}
}

// anchors refuses a name that stands for two values.
func (r *yamlReader) anchors(y *yaml.Node, seen map[string]*yaml.Node) {
	if first := seen[y.Anchor]; first != nil {
		e := r.at(y, "found duplicate anchor '%s'", y.Anchor)
		e.Hint = fmt.Sprintf("the anchor stands already on line %d", first.Line)
		panic(failure{e})
	}
	if y.Anchor != "" {
		seen[y.Anchor] = y
	}
	for _, c := range y.Content {
		r.anchors(c, seen)
	}
}

// explicitTag is the tag that was written, "" for none.
func explicitTag(y *yaml.Node) string {
	if y.Style&yaml.TaggedStyle == 0 {
		return ""
	}
	return y.ShortTag()
}

// unknownTag: tags such as !!python/object are never constructed.
func (r *yamlReader) unknownTag(y *yaml.Node, tag string) failure {
	return failure{r.at(y, "could not determine a constructor for the tag '%s'", tag)}
}

// scalar reads a scalar by its tag or, unquoted and without a tag, by its text.
// Interpolations are parsed at once, so that a malformed one is found in the file
// that holds it.
func (r *yamlReader) scalar(y *yaml.Node) *Node {
	tag := scalarTag(y)
	if tag == "!!value" && r.inKey && explicitTag(y) == "" {
		tag = "!!str"
	}
	n := scalarOf(tag, y.Value)
	if n == nil {
		switch tag {
		case "!!int", "!!float", "!!bool":
			panic(failure{r.at(y, "'%s' is no value for the tag '%s'", y.Value, tag)})
		}
		panic(r.unknownTag(y, tag))
	}
	if n.kind == String && !r.inKey && strings.Contains(n.text, "${") {
		if _, err := parseText(n.text); err != nil {
			e := r.at(y, "%s", err)
			e.Kind, e.Err = "interpolation-syntax", err
			panic(failure{e})
		}
	}
	return n
}

// mapping reads a mapping with its merge keys.
func (r *yamlReader) mapping(y *yaml.Node) *Node {
	if tag := explicitTag(y); tag != "" && tag != "!!map" {
		panic(r.unknownTag(y, tag))
	}
	r.duplicates(y)
	n := newMap()
	for _, p := range r.flatten(y, 0) {
		r.inKey = true
		key := r.node(p[0])
		r.inKey = false
		switch key.kind {
		case Map, List:
			panic(failure{r.at(y, "while constructing a mapping\nfound unhashable key")})
		case Null:
			e := r.at(p[0], "Incompatible key type 'NoneType'")
			e.Kind = "merge-type"
			panic(failure{e})
		}
		n.put(key, r.node(p[1]))
	}
	return n
}

// duplicates refuses a key that stands twice in one mapping.
func (r *yamlReader) duplicates(y *yaml.Node) {
	seen := make(map[string]*yaml.Node, len(y.Content)/2)
	for i := 0; i+1 < len(y.Content); i += 2 {
		k := target(y.Content[i])
		if k.Kind != yaml.ScalarNode || scalarTag(k) != "!!str" {
			continue
		}
		if first := seen[k.Value]; first != nil {
			e := r.at(y.Content[i], "found duplicate key %s", k.Value)
			e.Hint = fmt.Sprintf("the key stands already on line %d", first.Line)
			panic(failure{e})
		}
		seen[k.Value] = k
	}
}

// target is the node that an alias stands for, or the node itself.
func target(y *yaml.Node) *yaml.Node {
	if y.Kind == yaml.AliasNode && y.Alias != nil {
		return y.Alias
	}
	return y
}

// scalarTag is the tag of a scalar, explicit or by its style and text.
func scalarTag(y *yaml.Node) string {
	if tag := explicitTag(y); tag != "" {
		return tag
	}
	if y.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return "!!str"
	}
	return plainTag(y.Value)
}

// flatten puts the entries of merge keys before a mapping's own, as PyYAML
// does: the own ones win by coming later.
func (r *yamlReader) flatten(y *yaml.Node, depth int) [][2]*yaml.Node {
	if depth > maxNesting {
		panic(failure{r.at(y, "merge keys are nested deeper than %d levels", maxNesting)})
	}
	var merged, own [][2]*yaml.Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		key, value := y.Content[i], y.Content[i+1]
		if key.Kind != yaml.ScalarNode || scalarTag(key) != "!!merge" {
			own = append(own, [2]*yaml.Node{key, value})
			continue
		}
		more := r.merged(value, depth)
		merged = append(merged, more...)
		r.count(y, len(more))
	}
	return append(merged, own...)
}

// merged gives the entries of the mapping or mappings behind a merge key. Of
// several the first wins, so that it comes last.
func (r *yamlReader) merged(value *yaml.Node, depth int) (all [][2]*yaml.Node) {
	switch value = target(value); value.Kind {
	case yaml.MappingNode:
		return r.flatten(value, depth+1)
	case yaml.SequenceNode:
		for _, item := range slices.Backward(value.Content) {
			if item = target(item); item.Kind != yaml.MappingNode {
				panic(failure{r.at(item, "expected a mapping for merging")})
			}
			all = append(all, r.flatten(item, depth+1)...)
		}
		return all
	}
	panic(failure{r.at(value, "expected a mapping or list of mappings for merging")})
}

// plainTag resolves an unquoted scalar.
// It is for plain text only; quoted text is always a string.
func plainTag(s string) string {
	switch {
	case nullPattern.MatchString(s):
		return "!!null"
	case strings.IndexByte("-+.0123456789", s[0]) >= 0:
		if intPattern.MatchString(s) {
			return "!!int"
		}
		if floatPattern.MatchString(s) {
			return "!!float"
		}
	case boolPattern.MatchString(s):
		return "!!bool"
	case s == "<<":
		return "!!merge"
	case s == "=":
		return "!!value"
	}
	return "!!str"
}

// scalarOf constructs a scalar; nil if the text does not fit the tag or the
// tag is not known.
func scalarOf(tag, s string) *Node {
	switch tag {
	case "!!null":
		return newNull()
	case "!!bool":
		switch strings.ToLower(s) {
		case "yes", "true", "on":
			return newBool(true)
		case "no", "false", "off":
			return newBool(false)
		}
	case "!!int":
		return yamlInt(s)
	case "!!float":
		return yamlFloat(s)
	case "!!str", "!":
		return newText(s)
	}
	return nil
}

// yamlInt reads an integer of YAML 1.1: 0b101, 0x1f, 017 is octal, 1:30 is
// ninety.
func yamlInt(s string) *Node {
	s = strings.ReplaceAll(s, "_", "")
	digits, base := s[sign(s):], 10
	switch {
	case strings.HasPrefix(digits, "0b"):
		digits, base = digits[2:], 2
	case strings.HasPrefix(digits, "0x"):
		digits, base = digits[2:], 16
	case len(digits) > 1 && digits[0] == '0':
		base = 8
	}
	total := new(big.Int)
	for part := range strings.SplitSeq(digits, ":") {
		n, ok := new(big.Int).SetString(part, base)
		if !ok {
			return nil
		}
		total.Mul(total, big.NewInt(60)).Add(total, n)
	}
	if s[0] == '-' {
		total.Neg(total)
	}
	return newInt(total)
}

// yamlFloat reads a float of YAML 1.1: 1e3, .5, 1:30.5 is 90.5.
func yamlFloat(s string) *Node {
	s = strings.ToLower(strings.ReplaceAll(s, "_", ""))
	total := 0.0
	for part := range strings.SplitSeq(s[sign(s):], ":") {
		switch part {
		case ".inf", ".nan":
			part = part[1:]
		}
		f, err := strconv.ParseFloat(part, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return nil
		}
		total = total*60 + f
	}
	if strings.HasPrefix(s, "-") {
		total = -total
	}
	return newFloat(total)
}
