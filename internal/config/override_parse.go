package config

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// overrideParser reads the tokens of one override.
type overrideParser struct {
	tokenStream
	line  string
	depth int
}

// maxNesting bounds the nesting of values in overrides, interpolations and
// files: far beyond use, and far below what the stack bears.
const maxNesting = 200

// parseOverride parses one command-line argument.
func parseOverride(line string) (*override, error) {
	p := &overrideParser{line: line}
	if !utf8.ValidString(line) {
		return nil, p.fail(0, "the override is not valid UTF-8")
	}
	if err := p.lex(); err != nil {
		return nil, err
	}
	return p.override()
}

// fail makes a syntax error; pos is a byte offset in the line.
func (p *overrideParser) fail(pos int, format string, args ...any) *Error {
	e := &Error{
		Kind:    "override-syntax",
		Message: fmt.Sprintf("Error parsing override '%s'\n", p.line) + fmt.Sprintf(format, args...),
		Origin:  Origin{Override: p.line},
		Column:  1,
	}
	if pos <= len(p.line) && utf8.ValidString(p.line) {
		e.Column = utf8.RuneCountInString(p.line[:pos]) + 1
	}
	return e
}

// lex splits the line into tokens: those of a key up to the first "=", those of a
// value behind it.
func (p *overrideParser) lex() error {
	rules := keyRules
	for pos := 0; pos < len(p.line); {
		typ, n := longest(rules, p.line[pos:])
		if n == 0 {
			return p.unexpectedChar(pos, len(rules) == len(valueRules))
		}
		p.tokens = append(p.tokens, token{typ, p.line[pos : pos+n], pos})
		if typ == tokEqual {
			rules = valueRules
		}
		pos += n
	}
	p.tokens = append(p.tokens, token{tokEOF, "", len(p.line)})
	return nil
}

// unexpectedChar adds the hint that fits the part of the line.
func (p *overrideParser) unexpectedChar(pos int, inValue bool) *Error {
	r, _ := utf8.DecodeRuneInString(p.line[pos:])
	e := p.fail(pos, "unexpected character %q", r)
	switch {
	case inValue && (r == '\'' || r == '"'):
		e.Message = fmt.Sprintf("Error parsing override '%s'\nthe quote %c is not closed", p.line, r)
	case inValue:
		e.Hint = "quote the value, so that the quotes reach deepprof: 'key=\"value\"'"
	case strings.HasPrefix(p.line, "-"):
		e.Hint = "flags go before the overrides; an override is key=value"
	default:
		e.Hint = "a key is made of letters, digits, _, - and $, with dots between its parts"
	}
	return e
}

func (p *overrideParser) unexpected(want string) *Error {
	t := p.peek()
	if t.typ == tokEOF {
		return p.fail(t.pos, "unexpected end, expecting %s", want)
	}
	return p.fail(t.pos, "unexpected '%s', expecting %s", t.text, want)
}

// override reads the whole line.
func (p *overrideParser) override() (*override, error) {
	o := &override{op: "=", line: p.line}
	switch {
	case p.accept(tokTilde):
		o.op = "~"
	case p.accept(tokPlus):
		o.op = "+"
		if p.accept(tokPlus) {
			o.op = "++"
		}
	}
	o.keyPos = p.peek().pos
	if err := p.key(o); err != nil {
		return nil, err
	}
	if o.op == "~" && p.peek().typ == tokEOF {
		return o, nil
	}
	if p.peek().typ != tokEqual {
		e := p.unexpected("'='")
		if p.peek().typ == tokEOF {
			e.Hint = "an override is key=value; to delete a key write ~key"
		}
		return nil, e
	}
	o.valuePos = p.take().pos + 1
	o.value = newText("")
	if p.peek().typ != tokEOF {
		if err := p.value(o); err != nil {
			return nil, err
		}
	}
	if p.peek().typ != tokEOF {
		e := p.unexpected("the end of the override")
		e.Hint = "quote the value, so that the quotes reach deepprof: 'key=\"value\"'"
		return nil, e
	}
	if o.value != nil {
		setOrigin(o.value, o.origin())
	}
	return o, nil
}

// key reads a dotted key or group/sub, and @package where there is one.
func (p *overrideParser) key(o *override) error {
	switch t := p.peek(); t.typ {
	case tokID:
		p.take()
		o.key = t.text
		for p.peek().typ == tokSlash {
			p.take()
			part := p.peek()
			if part.typ != tokID {
				return p.unexpected("a group name")
			}
			p.take()
			o.key += "/" + part.text
		}
	case tokKeySpecial, tokDotPath:
		p.take()
		o.key = t.text
	case tokEqual, tokAt, tokEOF:
		if t.typ == tokEOF && o.op != "~" {
			return p.unexpected("a key")
		}
	default:
		return p.unexpected("a key")
	}
	if !p.accept(tokAt) {
		return nil
	}
	o.hasPkg = true
	switch t := p.peek(); t.typ {
	case tokID, tokKeySpecial, tokDotPath:
		p.take()
		o.pkg = t.text
	}
	return nil
}

// value reads an element, or several with commas between: a sweep.
func (p *overrideParser) value(o *override) (err error) {
	o.value = nil
	if p.isCall() {
		if o.sweep, err = p.function(); err == nil && p.peek().typ == tokComma {
			return p.nestedSweep(0)
		}
		return err
	}
	start := p.peek().pos
	first, err := p.element()
	if err != nil || p.peek().typ != tokComma {
		o.value = first
		return err
	}
	o.sweep = &sweep{values: []string{p.line[start:p.peek().pos]}}
	for p.accept(tokComma) {
		start = p.peek().pos
		if _, err := p.element(); err != nil {
			return err
		}
		o.sweep.values = append(o.sweep.values, p.line[start:p.peek().pos])
	}
	return nil
}

// isCall tells whether name( comes next.
func (p *overrideParser) isCall() bool {
	return p.peek().typ == tokID && p.tokens[p.next+1].typ == tokParenOpen
}

// nestedSweep: Hydra allows a sweep only as the whole value.
func (p *overrideParser) nestedSweep(pos int) error {
	e := p.fail(pos, "a sweep cannot stand within another value")
	e.Kind = "override-function"
	return e
}

// element reads a list, a dictionary or a scalar.
func (p *overrideParser) element() (*Node, error) {
	p.depth++
	defer func() { p.depth-- }()
	t := p.peek()
	switch {
	case p.depth > maxNesting:
		return nil, p.fail(t.pos, "the value is nested deeper than %d levels", maxNesting)
	case t.typ == tokBracketOpen:
		list := newList()
		return list, p.sequence(tokBracketClose, "']'", func() error {
			item, err := p.element()
			if err == nil {
				list.push(item)
			}
			return err
		})
	case t.typ == tokBraceOpen:
		m := newMap()
		return m, p.sequence(tokBraceClose, "'}'", func() error { return p.pair(m) })
	case p.isCall():
		if _, err := p.function(); err != nil {
			return nil, err
		}
		return nil, p.nestedSweep(t.pos)
	case t.typ == tokQuoted:
		p.take()
		return newText(unquote(t.text)), nil
	}
	return p.primitive("a value", func(t tokenType) bool { return t == tokColon || t == tokInterpolation })
}

// sequence reads items with commas between, from the opening bracket to the
// closing one.
func (p *overrideParser) sequence(end tokenType, closing string, item func() error) error {
	p.take()
	if p.accept(end) {
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		if p.accept(end) {
			return nil
		}
		if !p.accept(tokComma) {
			return p.unexpected("',' or " + closing)
		}
	}
}

// pair reads one entry of a dictionary.
func (p *overrideParser) pair(m *Node) error {
	key, err := p.primitive("a key, which is not quoted", func(tokenType) bool { return false })
	if err != nil {
		return err
	}
	if !p.accept(tokColon) {
		return p.unexpected("':'")
	}
	value, err := p.element()
	if err == nil {
		m.put(key, value)
	}
	return err
}

// primitive joins the tokens of an unquoted value. A single one keeps its
// type; several make a string.
func (p *overrideParser) primitive(want string, also func(tokenType) bool) (*Node, error) {
	start := p.next
	for p.peek().primitive() || also(p.peek().typ) {
		p.take()
	}
	parts := p.tokens[start:p.next]
	if len(parts) == 0 {
		return nil, p.unexpected(want)
	}
	pos := parts[0].pos
	if parts[0].typ == tokSpace {
		parts = parts[1:]
	}
	if n := len(parts); n > 0 && parts[n-1].typ == tokSpace {
		parts = parts[:n-1]
	}
	switch len(parts) {
	case 0:
		return nil, p.fail(pos, "the value is all blanks")
	case 1:
		return typed(parts[0]), nil
	}
	var b strings.Builder
	for _, t := range parts {
		if t.typ == tokEscape {
			b.WriteString(unescape(t.text))
		} else {
			b.WriteString(t.text)
		}
	}
	return newText(b.String()), nil
}

// typed gives a single token its value.
func typed(t token) *Node {
	switch t.typ {
	case tokInt:
		return parseInt(t.text)
	case tokFloat:
		return newFloat(parseFloat(t.text))
	case tokNull:
		return newNull()
	case tokBool:
		return newBool(strings.EqualFold(t.text, "true"))
	case tokEscape:
		return newText(unescape(t.text))
	}
	return newText(t.text)
}

// parseInt reads digits that a grammar has accepted.
func parseInt(s string) *Node {
	n, _ := new(big.Int).SetString(strings.ReplaceAll(strings.TrimPrefix(s, "+"), "_", ""), 10)
	return newInt(n)
}

// parseFloat reads a float as Python's float() does, for text that a grammar
// has already accepted: out of range is infinite.
func parseFloat(s string) float64 {
	if strings.EqualFold(strings.TrimLeft(s, "+-"), "nan") {
		return math.NaN()
	}
	f, _ := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	return f
}
