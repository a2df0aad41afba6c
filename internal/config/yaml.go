package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
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
	if at := invalidUTF8(data); at >= 0 {
		line := bytes.Count(data[:at], []byte("\n")) + 1
		return nil, r.fail(line, 1, "the file is not valid UTF-8: byte 0x%02x at offset %d", data[at], at)
	}
	defer func() {
		if p := recover(); p != nil {
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
	if err := r.anchors(&doc, map[string]*yaml.Node{}); err != nil {
		return nil, err
	}
	return r.node(doc.Content[0])
}

// invalidUTF8 gives the offset of the first byte that is not UTF-8, -1 for none.
func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for i := 0; i < len(data); {
		c, size := utf8.DecodeRune(data[i:])
		if c == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
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

func (r *yamlReader) at(y *yaml.Node, format string, args ...any) *Error {
	return r.fail(y.Line, y.Column, format, args...)
}

// node turns a node of the YAML library into one of ours. Aliases are expanded:
// the count of nodes keeps a few lines from growing into millions of values.
func (r *yamlReader) node(y *yaml.Node) (*Node, error) {
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > maxNesting {
		return nil, r.at(y, "the file is nested deeper than %d levels", maxNesting)
	}
	r.nodes++
	if r.nodes > maxFileNodes {
		return nil, r.at(y, "the file holds more than %d values once its aliases are expanded", maxFileNodes)
	}
	var n *Node
	var err error
	switch y.Kind {
	case yaml.AliasNode:
		if r.active[y.Alias] {
			return nil, r.at(y, "the anchor '%s' contains itself", y.Value)
		}
		r.active[y.Alias] = true
		n, err = r.node(y.Alias)
		delete(r.active, y.Alias)
		return n, err
	case yaml.MappingNode:
		if n, err = r.mapping(y); err != nil {
			return nil, err
		}
	case yaml.SequenceNode:
		if tag := explicitTag(y); tag != "" && tag != "!!seq" {
			return nil, r.unknownTag(y, tag)
		}
		n = newList()
		for _, item := range y.Content {
			child, err := r.node(item)
			if err != nil {
				return nil, err
			}
			n.push(child)
		}
	default:
		if n, err = r.scalar(y); err != nil {
			return nil, err
		}
	}
	n.origin = Origin{File: r.file, Line: y.Line, Column: y.Column}
	return n, nil
}

// anchors refuses a name that stands for two values.
func (r *yamlReader) anchors(y *yaml.Node, seen map[string]*yaml.Node) error {
	if first := seen[y.Anchor]; first != nil {
		e := r.at(y, "found duplicate anchor '%s'", y.Anchor)
		e.Hint = fmt.Sprintf("the anchor stands already on line %d", first.Line)
		return e
	}
	if y.Anchor != "" {
		seen[y.Anchor] = y
	}
	for _, c := range y.Content {
		if err := r.anchors(c, seen); err != nil {
			return err
		}
	}
	return nil
}

// explicitTag is the tag that was written, "" for none.
func explicitTag(y *yaml.Node) string {
	if y.Style&yaml.TaggedStyle == 0 {
		return ""
	}
	return y.ShortTag()
}

// unknownTag: tags such as !!python/object are never constructed.
func (r *yamlReader) unknownTag(y *yaml.Node, tag string) *Error {
	return r.at(y, "could not determine a constructor for the tag '%s'", tag)
}

// scalar reads a scalar by its tag or, unquoted and without a tag, by its text.
// Interpolations are parsed at once, so that a malformed one is found in the file
// that holds it.
func (r *yamlReader) scalar(y *yaml.Node) (*Node, error) {
	tag := scalarTag(y)
	if tag == "!!value" && r.inKey && explicitTag(y) == "" {
		tag = "!!str"
	}
	n := scalarOf(tag, y.Value)
	if n == nil {
		switch tag {
		case "!!int", "!!float", "!!bool":
			return nil, r.at(y, "'%s' is no value for the tag '%s'", y.Value, tag)
		}
		return nil, r.unknownTag(y, tag)
	}
	if n.kind == String && !r.inKey && strings.Contains(n.text, "${") {
		if _, err := parseText(n.text); err != nil {
			e := r.at(y, "%s", err)
			e.Kind, e.Err = "interpolation-syntax", err
			return nil, e
		}
	}
	return n, nil
}

// mapping reads a mapping with its merge keys.
func (r *yamlReader) mapping(y *yaml.Node) (*Node, error) {
	if tag := explicitTag(y); tag != "" && tag != "!!map" {
		return nil, r.unknownTag(y, tag)
	}
	if err := r.duplicates(y); err != nil {
		return nil, err
	}
	pairs, err := r.flatten(y, 0)
	if err != nil {
		return nil, err
	}
	n := newMap()
	for _, p := range pairs {
		r.inKey = true
		key, err := r.node(p[0])
		r.inKey = false
		if err != nil {
			return nil, err
		}
		switch key.kind {
		case Map, List:
			return nil, r.at(y, "while constructing a mapping\nfound unhashable key")
		case Null:
			e := r.at(p[0], "Incompatible key type 'NoneType'")
			e.Kind = "merge-type"
			return nil, e
		}
		value, err := r.node(p[1])
		if err != nil {
			return nil, err
		}
		n.put(key, value)
	}
	return n, nil
}

// duplicates refuses a key that stands twice in one mapping.
func (r *yamlReader) duplicates(y *yaml.Node) error {
	seen := make(map[string]*yaml.Node, len(y.Content)/2)
	for i := 0; i+1 < len(y.Content); i += 2 {
		k := y.Content[i]
		if k.Kind == yaml.AliasNode && k.Alias != nil {
			k = k.Alias
		}
		if k.Kind != yaml.ScalarNode || scalarTag(k) != "!!str" {
			continue
		}
		if first := seen[k.Value]; first != nil {
			e := r.at(y.Content[i], "found duplicate key %s", k.Value)
			e.Hint = fmt.Sprintf("the key stands already on line %d", first.Line)
			return e
		}
		seen[k.Value] = k
	}
	return nil
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
func (r *yamlReader) flatten(y *yaml.Node, depth int) ([][2]*yaml.Node, error) {
	if depth > maxNesting {
		return nil, r.at(y, "merge keys are nested deeper than %d levels", maxNesting)
	}
	var merged, own [][2]*yaml.Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		key, value := y.Content[i], y.Content[i+1]
		if key.Kind != yaml.ScalarNode || scalarTag(key) != "!!merge" {
			own = append(own, [2]*yaml.Node{key, value})
			continue
		}
		more, err := r.merged(value, depth)
		if err != nil {
			return nil, err
		}
		merged = append(merged, more...)
		r.nodes += len(more)
		if r.nodes > maxFileNodes {
			return nil, r.at(y, "the file holds more than %d values once its aliases are expanded", maxFileNodes)
		}
	}
	return append(merged, own...), nil
}

// merged gives the entries of the mapping or mappings behind a merge key. Of
// several the first wins, so that it comes last.
func (r *yamlReader) merged(value *yaml.Node, depth int) ([][2]*yaml.Node, error) {
	if value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	switch value.Kind {
	case yaml.MappingNode:
		return r.flatten(value, depth+1)
	case yaml.SequenceNode:
		var all [][2]*yaml.Node
		for i := len(value.Content) - 1; i >= 0; i-- {
			item := value.Content[i]
			if item.Kind == yaml.AliasNode {
				item = item.Alias
			}
			if item.Kind != yaml.MappingNode {
				return nil, r.at(item, "expected a mapping for merging")
			}
			more, err := r.flatten(item, depth+1)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
		}
		return all, nil
	}
	return nil, r.at(value, "expected a mapping or list of mappings for merging")
}
