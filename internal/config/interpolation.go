package config

import (
	"strings"
	"unicode/utf8"
)

type exprKind uint8

const (
	exprText  exprKind = iota // literal text
	exprValue                 // a scalar with a type of its own
	exprNode                  // ${a.b}: parts are the pieces of the path
	exprCall                  // ${name:args}
	exprJoin                  // parts made one string
	exprList
	exprDict
)

// expr is the tree of a parsed string with interpolations.
type expr struct {
	kind  exprKind
	text  string  // exprText: the text; exprNode, exprCall: the source
	value *Node   // exprValue
	parts []*expr // pieces of a path, strings to join, list items, dict values
	keys  []*Node // exprDict
	name  []*expr // exprCall: pieces of the resolver's name
	args  []*expr // exprCall
}

// interpParser reads the tokens of one string with interpolations.
type interpParser struct {
	tokenStream
	src   string
	depth int
}

// grammarError is a malformed interpolation; the place in the text is known,
// the place of the text is added by whoever holds the node.
type grammarError struct {
	text string
	src  string
	pos  int
}

// Error shows the text on one line with a caret below the place.
func (e *grammarError) Error() string {
	column := utf8.RuneCountInString(e.src[:min(e.pos, len(e.src))])
	return e.text + "\n    " + strings.Map(oneLine, e.src) + "\n    " + strings.Repeat(" ", column) + "^"
}

func oneLine(r rune) rune { // keeps columns as they are
	if r == '\n' || r == '\t' || r == '\r' {
		return ' '
	}
	return r
}

// parseText parses a string with interpolations.
// The text must hold at least one character.
func parseText(src string) (*expr, error) {
	p := &interpParser{src: src}
	if err := p.lex(modeTop); err != nil {
		return nil, err
	}
	e, err := p.text(tokEOF)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// parseElement parses a single value, as oc.decode does.
func parseElement(src string) (*expr, error) {
	p := &interpParser{src: src}
	if err := p.lex(modeValue); err != nil {
		return nil, err
	}
	e, err := p.element()
	if err != nil {
		return nil, err
	}
	if p.peek().typ != tokEOF {
		return nil, p.unexpected("the end")
	}
	return e, nil
}

// fail: pos is a byte offset in the text.
func (p *interpParser) fail(pos int, text string) error {
	return &grammarError{text, p.src, pos}
}

// lex splits the source into tokens. What a character means depends on the modes
// that are open around it.
func (p *interpParser) lex(mode lexMode) error {
	var stack []lexMode
	for pos := 0; pos < len(p.src); {
		typ, n := longest(modeRules[mode], p.src[pos:])
		if n == 0 {
			r, _ := utf8.DecodeRuneInString(p.src[pos:])
			return p.fail(pos, "unexpected character '"+string(r)+"' in an interpolation")
		}
		p.tokens = append(p.tokens, token{typ, p.src[pos : pos+n], pos})
		pushed := mode
		switch typ {
		case tokInterOpen:
			pushed = modeInter
		case tokBraceOpen:
			pushed = modeValue
		case tokQuoteOpen:
			pushed = modeSingle
			if p.src[pos] == '"' {
				pushed = modeDouble
			}
		case tokColon:
			if mode == modeInter {
				mode = modeValue
			}
			pos += n
			continue
		case tokBraceClose, tokInterClose, tokQuoteClose:
			if len(stack) == 0 {
				return p.fail(pos, "unexpected '"+p.src[pos:pos+n]+"': nothing is open")
			}
			mode, stack = stack[len(stack)-1], stack[:len(stack)-1]
			pos += n
			continue
		default:
			pos += n
			continue
		}
		stack = append(stack, mode)
		if len(stack) > maxNesting {
			return p.fail(pos, "interpolations are nested too deep")
		}
		mode = pushed
		pos += n
	}
	p.tokens = append(p.tokens, token{tokEOF, "", len(p.src)})
	return nil
}

func (p *interpParser) unexpected(want string) error {
	t := p.peek()
	if t.typ == tokEOF {
		return p.fail(t.pos, "the interpolation is not closed, expecting "+want)
	}
	return p.fail(t.pos, "unexpected '"+t.text+"', expecting "+want)
}

// text parses up to the end token, which it leaves. A text that is a single
// interpolation keeps the type of its value.
func (p *interpParser) text(end tokenType) (*expr, error) {
	var parts []*expr
	for {
		t := p.peek()
		switch t.typ {
		case end:
			if len(parts) == 0 {
				return nil, p.unexpected("text")
			}
			if len(parts) == 1 && (parts[0].kind == exprNode || parts[0].kind == exprCall) {
				return parts[0], nil
			}
			return &expr{kind: exprJoin, parts: parts}, nil
		case tokInterOpen:
			e, err := p.interpolation()
			if err != nil {
				return nil, err
			}
			parts = append(parts, e)
		case tokText, tokEscape, tokEscInter, tokTopEscape, tokQuotedEscape:
			p.take()
			parts = append(parts, &expr{kind: exprText, text: p.unescaped(t)})
		default:
			return nil, p.unexpected("text or '${'")
		}
	}
}

// unescaped is the text of a token given what follows it.
func (p *interpParser) unescaped(t token) string {
	next := p.peek().typ
	switch t.typ {
	case tokEscInter:
		return t.text[len(t.text)-(len(t.text)/2+1):]
	case tokEscape:
		return unescape(t.text)
	case tokTopEscape:
		if next == tokInterOpen {
			return unescape(t.text)
		}
	case tokQuotedEscape:
		if next == tokInterOpen || next == tokQuoteClose {
			return unescape(t.text)
		}
	}
	return t.text
}

// interpolation parses ${...}: a node or a resolver.
func (p *interpParser) interpolation() (*expr, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxNesting {
		return nil, p.fail(p.peek().pos, "interpolations are nested too deep")
	}
	start := p.take()
	if p.isCall() {
		return p.call(start)
	}
	e := &expr{kind: exprNode}
	for p.peek().typ == tokDot {
		e.parts = append(e.parts, &expr{kind: exprText, text: p.take().text})
	}
	for first := true; ; first = false {
		t := p.peek()
		switch {
		case t.typ == tokInterClose && !first:
			end := p.take()
			e.text = p.src[start.pos : end.pos+len(end.text)]
			return e, nil
		case t.typ == tokBracketOpen:
			p.take()
			key, err := p.configKey()
			if err != nil {
				return nil, err
			}
			if !p.accept(tokBracketClose) {
				return nil, p.unexpected("']'")
			}
			e.parts = append(e.parts, &expr{kind: exprText, text: "["}, key, &expr{kind: exprText, text: "]"})
		case first || t.typ == tokDot:
			if !first {
				e.parts = append(e.parts, &expr{kind: exprText, text: p.take().text})
			}
			key, err := p.configKey()
			if err != nil {
				return nil, err
			}
			e.parts = append(e.parts, key)
		default:
			return nil, p.unexpected("'.', '[' or '}'")
		}
	}
}

// configKey reads one part of a path, which may itself be an interpolation.
func (p *interpParser) configKey() (*expr, error) {
	switch t := p.peek(); t.typ {
	case tokInterOpen:
		return p.interpolation()
	case tokID, tokInterKey:
		p.take()
		return &expr{kind: exprText, text: t.text}, nil
	}
	return nil, p.unexpected("a key")
}

// isCall looks ahead for the colon that makes an interpolation a resolver: it
// stands at the nesting of the opening.
func (p *interpParser) isCall() bool {
	depth := 0
	for i := p.next; i < len(p.tokens); i++ {
		switch p.tokens[i].typ {
		case tokInterOpen:
			depth++
		case tokInterClose, tokBraceClose:
			if depth == 0 {
				return false
			}
			depth--
		case tokBraceOpen:
			depth++
		case tokColon:
			if depth == 0 {
				return true
			}
		}
	}
	return false
}

// call reads ${name:args} from behind its opening.
func (p *interpParser) call(start token) (*expr, error) {
	e := &expr{kind: exprCall}
	for {
		switch t := p.peek(); t.typ {
		case tokInterOpen:
			part, err := p.interpolation()
			if err != nil {
				return nil, err
			}
			e.name = append(e.name, part)
		case tokID:
			p.take()
			e.name = append(e.name, &expr{kind: exprText, text: t.text})
		default:
			return nil, p.unexpected("the name of a resolver")
		}
		if !p.accept(tokDot) {
			break
		}
	}
	if !p.accept(tokColon) {
		return nil, p.unexpected("':'")
	}
	if p.peek().typ != tokBraceClose {
		args, err := p.sequence(tokBraceClose)
		if err != nil {
			return nil, err
		}
		e.args = args
	}
	end := p.peek()
	if !p.accept(tokBraceClose) {
		return nil, p.unexpected("'}'")
	}
	e.text = p.src[start.pos : end.pos+len(end.text)]
	return e, nil
}
