package config

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// yamlScan walks over the tokens of a file as PyYAML's scanner does, to find
// the places where the Go parser would read something else. It follows flow
// levels and indentation only as far as telling texts from indicators needs.
type yamlScan struct {
	data         []byte
	pos          int
	line, column int // from zero, in characters
	flow         int
	indent       int
	indents      []int
	allowKey     bool // the next token may start a key
	key          struct {
		possible     bool
		line, column int
	}
	edits []yamlEdit
	fault string // what PyYAML refuses at the position
}

// yamlEdit changes a file for the Go parser.
type yamlEdit struct {
	at, remove int // offset and bytes
	insert     string
	line       int // from one
	column     int // from one: where the text that moves begins afterwards
	moved      int // characters that what follows on the line has moved in all
}

// oddYAML is what the two parsers may read differently: a colon before a flow
// indicator, an escape, and a comment right behind a block text's indicator.
var oddYAML = regexp.MustCompile(`:[,\[\]{}]|\\['/]|[|>][-+0-9]{0,2}#`)

// adaptYAML rewrites what the Go parser would not read as PyYAML does.
func (r *yamlReader) adaptYAML(data []byte) ([]byte, error) {
	data = adaptDirectives(data)
	if !oddYAML.Match(data) {
		return data, nil
	}
	s := &yamlScan{data: data, indent: -1, allowKey: true}
	for s.fault == "" && s.token() {
	}
	if s.fault != "" {
		return nil, r.fail(s.line+1, s.column+1, "%s", s.fault)
	}
	if len(s.edits) == 0 {
		return data, nil
	}
	out := make([]byte, 0, len(data)+len(s.edits))
	last := 0
	for _, e := range s.edits {
		out = append(append(out, data[last:e.at]...), e.insert...)
		last = e.at + e.remove
	}
	r.edits = s.edits
	return append(out, data[last:]...), nil
}

// column turns a column of the adapted text into one of the file.
func (r *yamlReader) column(line, column int) int {
	i, found := slices.BinarySearchFunc(r.edits, yamlEdit{line: line, column: column}, func(a, b yamlEdit) int {
		if a.line != b.line {
			return a.line - b.line
		}
		return a.column - b.column
	})
	if !found {
		i--
	}
	if i < 0 || r.edits[i].line != line {
		return column
	}
	return column - r.edits[i].moved
}

// edit notes a change at an offset whose column is given, from zero.
func (s *yamlScan) edit(at, column, remove int, insert string) {
	moved := len(insert) - remove
	if n := len(s.edits); n > 0 && s.edits[n-1].line == s.line+1 {
		moved += s.edits[n-1].moved
	}
	s.edits = append(s.edits, yamlEdit{at: at, remove: remove, insert: insert, line: s.line + 1, column: column + remove + moved + 1, moved: moved})
}

var (
	anyDirective  = regexp.MustCompile(`^%([0-9A-Za-z_-]+)(?: .*)?$`)
	yamlDirective = regexp.MustCompile(`^(%YAML +1\.)[0-9]+((?: .*)?)$`)
)

// adaptDirectives makes the directives at the top of a file ones that the Go
// parser takes: PyYAML reads any version 1.x and ignores names it does not know.
func adaptDirectives(data []byte) []byte {
	var head []byte
	rest, changed := data, false
	for n := 0; len(rest) > 0; n++ {
		line, after, _ := bytes.Cut(rest, []byte("\n"))
		text := bytes.TrimRight(line, "\r")
		adapted := text
		switch name := string(submatch(anyDirective.FindSubmatch(text), 1)); {
		case name == "YAML":
			adapted = yamlDirective.ReplaceAll(text, []byte("${1}1${2}"))
		case name == "TAG":
		case name != "":
			adapted = fmt.Appendf(nil, "%%TAG !ignored-%d! ignored", n)
		case len(bytes.TrimSpace(text)) > 0 && bytes.TrimSpace(text)[0] != '#':
			after = nil
		}
		if after == nil {
			break
		}
		changed = changed || !bytes.Equal(adapted, text)
		head = append(append(head, adapted...), '\n')
		rest = after
	}
	if !changed {
		return data
	}
	return append(head, rest...)
}

func submatch(m [][]byte, i int) []byte {
	if m == nil {
		return nil
	}
	return m[i]
}

// width is the length of the line break at an offset, 0 where there is none.
func (s *yamlScan) width(at int) int {
	rest := s.data[min(at, len(s.data)):]
	switch {
	case len(rest) == 0:
		return 0
	case rest[0] == '\n':
		return 1
	case rest[0] == '\r':
		if len(rest) > 1 && rest[1] == '\n' {
			return 2
		}
		return 1
	}
	for _, b := range []string{"\u0085", "\u2028", "\u2029"} {
		if rest[0] == b[0] && strings.HasPrefix(string(rest[:min(len(rest), len(b))]), b) {
			return len(b)
		}
	}
	return 0
}

// peek is the byte n further on, 0 behind the end.
func (s *yamlScan) peek(n int) byte {
	if s.pos+n >= len(s.data) {
		return 0
	}
	return s.data[s.pos+n]
}

// blank tells whether a token ends n bytes further on.
func (s *yamlScan) blank(n int) bool {
	c := s.peek(n)
	return c == 0 || c == ' ' || c == '\t' || s.width(s.pos+n) > 0
}

func (s *yamlScan) ended() bool { return s.pos >= len(s.data) }

// step goes one character or line break on.
func (s *yamlScan) step() {
	if w := s.width(s.pos); w > 0 {
		s.pos += w
		s.line, s.column = s.line+1, 0
		return
	}
	_, size := utf8.DecodeRune(s.data[s.pos:])
	s.pos += size
	s.column++
}

func (s *yamlScan) skipLine() {
	for !s.ended() && s.width(s.pos) == 0 {
		s.step()
	}
}

func (s *yamlScan) skipBlanks() {
	for s.peek(0) == ' ' {
		s.step()
	}
}

// marker tells whether a line starts with --- or ... here.
func (s *yamlScan) marker() bool {
	c := s.peek(0)
	return s.column == 0 && (c == '-' || c == '.') && s.peek(1) == c && s.peek(2) == c && s.blank(3)
}

func (s *yamlScan) toToken() {
	if s.pos == 0 && strings.HasPrefix(string(s.data[:min(3, len(s.data))]), "\ufeff") {
		s.pos = 3
	}
	for {
		s.skipBlanks()
		if s.peek(0) == '#' {
			s.skipLine()
		}
		if s.width(s.pos) == 0 {
			return
		}
		s.step()
		if s.flow == 0 {
			s.allowKey = true
		}
	}
}

// token passes one token; false at the end and at what no token starts with,
// which the parser will name.
func (s *yamlScan) token() bool {
	s.toToken()
	start := s.pos
	if s.flow == 0 {
		s.unwind(s.column)
	}
	c := s.peek(0)
	switch {
	case c == 0:
		return false
	case s.column == 0 && c == '%':
		s.document()
		s.skipLine()
	case s.marker():
		s.document()
		s.pos, s.column = s.pos+3, 3
	case strings.IndexByte("[]{},", c) >= 0:
		return s.flowIndicator(c)
	case c == '-' && s.blank(1):
		return s.blockIndicator(true)
	case c == '?' && (s.flow > 0 || s.blank(1)):
		return s.blockIndicator(s.flow == 0)
	case c == ':' && (s.flow > 0 || s.blank(1)):
		return s.value()
	case c == '*' || c == '&' || c == '!':
		s.mayBeKey()
		for s.step(); !s.blank(0) && (c == '!' || isNameByte(s.peek(0))); {
			s.step()
		}
	case (c == '|' || c == '>') && s.flow == 0:
		s.allowKey, s.key.possible = true, false
		return s.blockText()
	case c == '\'':
		s.mayBeKey()
		s.singleQuoted()
	case c == '"':
		s.mayBeKey()
		s.doubleQuoted()
	case strings.IndexByte("\t-?:#%@`", c) < 0, !s.blank(1) && (c == '-' || s.flow == 0 && (c == '?' || c == ':')):
		s.mayBeKey()
		s.plain()
	default:
		return false
	}
	return s.pos > start
}

func isNameByte(c byte) bool {
	return c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

func (s *yamlScan) unwind(column int) {
	for s.indent > column {
		s.indent = s.indents[len(s.indents)-1]
		s.indents = s.indents[:len(s.indents)-1]
	}
}

func (s *yamlScan) push(column int) {
	if s.indent < column {
		s.indents = append(s.indents, s.indent)
		s.indent = column
	}
}

// document ends what was open before a directive or a document marker.
func (s *yamlScan) document() {
	if s.flow == 0 {
		s.unwind(-1)
	}
	s.key.possible, s.allowKey = false, false
}

// mayBeKey remembers where a key of a block mapping would begin.
func (s *yamlScan) mayBeKey() {
	if s.flow == 0 && s.allowKey {
		s.key.possible, s.key.line, s.key.column = true, s.line, s.column
	}
	s.allowKey = false
}

func (s *yamlScan) flowIndicator(c byte) bool {
	switch c {
	case '[', '{':
		s.mayBeKey()
		s.flow++
	default:
		if s.flow == 0 {
			return false
		}
		if c != ',' {
			s.flow--
		}
	}
	s.allowKey = false
	s.step()
	return true
}

// blockIndicator passes "-" or "?".
func (s *yamlScan) blockIndicator(allowKey bool) bool {
	if s.flow == 0 {
		if !s.allowKey {
			return false
		}
		s.push(s.column)
		s.key.possible = false
	}
	s.allowKey = allowKey
	s.step()
	return true
}

// value passes ":".
func (s *yamlScan) value() bool {
	switch {
	case s.flow > 0:
		s.allowKey = false
	case s.key.possible && s.key.line == s.line:
		s.push(s.key.column)
		s.key.possible, s.allowKey = false, false
	case !s.allowKey:
		return false
	default:
		s.push(s.column)
	}
	s.step()
	return true
}
