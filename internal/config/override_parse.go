package config

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

type overrideParser struct {
	line   string
	tokens []token
	next   int
	depth  int
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

func (p *overrideParser) peek() token { return p.tokens[p.next] }

func (p *overrideParser) take() token {
	t := p.tokens[p.next]
	if t.typ != tokEOF {
		p.next++
	}
	return t
}

func (p *overrideParser) accept(typ tokenType) bool {
	if p.peek().typ == typ {
		p.take()
		return true
	}
	return false
}

func (p *overrideParser) unexpected(want string) *Error {
	t := p.peek()
	if t.typ == tokEOF {
		return p.fail(t.pos, "unexpected end, expecting %s", want)
	}
	return p.fail(t.pos, "unexpected '%s', expecting %s", t.text, want)
}

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
	o.hasValue = true
	if p.peek().typ == tokEOF {
		o.value = element{scalar: newText("")}
		return o, nil
	}
	value, err := p.value()
	if err != nil {
		return nil, err
	}
	if p.peek().typ != tokEOF {
		e := p.unexpected("the end of the override")
		e.Hint = "quote the value, so that the quotes reach deepprof: 'key=\"value\"'"
		return nil, e
	}
	o.value = value
	return o, nil
}

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

// value is an element, or several with commas between: a sweep.
func (p *overrideParser) value() (element, error) {
	start := p.peek().pos
	first, err := p.element()
	if err != nil || p.peek().typ != tokComma {
		return first, err
	}
	if first.sweep != nil {
		return element{}, p.nestedSweep(0)
	}
	values := []string{p.line[start:p.peek().pos]}
	for p.accept(tokComma) {
		start = p.peek().pos
		if _, err := p.noSweep(); err != nil {
			return element{}, err
		}
		values = append(values, p.line[start:p.peek().pos])
	}
	return element{sweep: &sweep{values: values}}, nil
}

// noSweep parses an element of a list, a dictionary or a sweep, which cannot
// itself be a sweep.
func (p *overrideParser) noSweep() (element, error) {
	pos := p.peek().pos
	e, err := p.element()
	if err == nil && e.sweep != nil {
		return element{}, p.nestedSweep(pos)
	}
	return e, err
}

func (p *overrideParser) nestedSweep(pos int) error {
	e := p.fail(pos, "a sweep cannot stand within another value")
	e.Kind = "override-function"
	return e
}

func (p *overrideParser) element() (element, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxNesting {
		return element{}, p.fail(p.peek().pos, "the value is nested deeper than %d levels", maxNesting)
	}
	switch t := p.peek(); {
	case t.typ == tokBracketOpen:
		return p.listValue()
	case t.typ == tokBraceOpen:
		return p.dictValue()
	case t.typ == tokID && p.tokens[p.next+1].typ == tokParenOpen:
		return p.function()
	case t.typ == tokQuoted:
		p.take()
		return element{scalar: newText(unquote(t.text)), quote: t.text[0]}, nil
	default:
		return p.primitive("a value", func(t tokenType) bool { return t == tokColon || t == tokInterpolation })
	}
}

func (p *overrideParser) listValue() (element, error) {
	p.take()
	e := element{isList: true}
	if p.accept(tokBracketClose) {
		return e, nil
	}
	for {
		item, err := p.noSweep()
		if err != nil {
			return e, err
		}
		e.list = append(e.list, item)
		if p.accept(tokBracketClose) {
			return e, nil
		}
		if !p.accept(tokComma) {
			return e, p.unexpected("',' or ']'")
		}
	}
}

func (p *overrideParser) dictValue() (element, error) {
	p.take()
	e := element{isDict: true}
	if p.accept(tokBraceClose) {
		return e, nil
	}
	for {
		key, err := p.primitive("a key, which is not quoted", func(tokenType) bool { return false })
		if err != nil {
			return e, err
		}
		if !p.accept(tokColon) {
			return e, p.unexpected("':'")
		}
		value, err := p.noSweep()
		if err != nil {
			return e, err
		}
		e.dict = append(e.dict, elementPair{key.scalar, value})
		if p.accept(tokBraceClose) {
			return e, nil
		}
		if !p.accept(tokComma) {
			return e, p.unexpected("',' or '}'")
		}
	}
}

// primitive joins the tokens of an unquoted value. A single one keeps its
// type; several make a string.
func (p *overrideParser) primitive(want string, also func(tokenType) bool) (element, error) {
	start := p.peek()
	var parts []token
	for {
		t := p.peek()
		switch t.typ {
		case tokID, tokNull, tokInt, tokFloat, tokBool, tokUnquoted, tokEscape, tokSpace:
		default:
			if !also(t.typ) {
				if len(parts) == 0 {
					return element{}, p.unexpected(want)
				}
				return p.join(start, parts)
			}
		}
		parts = append(parts, p.take())
	}
}

func (p *overrideParser) join(start token, parts []token) (element, error) {
	if parts[0].typ == tokSpace {
		parts = parts[1:]
	}
	if n := len(parts); n > 0 && parts[n-1].typ == tokSpace {
		parts = parts[:n-1]
	}
	if len(parts) == 0 {
		return element{}, p.fail(start.pos, "the value is all blanks")
	}
	if len(parts) == 1 {
		return element{scalar: typed(parts[0])}, nil
	}
	var b strings.Builder
	for _, t := range parts {
		if t.typ == tokEscape {
			b.WriteString(unescape(t.text))
		} else {
			b.WriteString(t.text)
		}
	}
	return element{scalar: newText(b.String())}, nil
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
