package config

import (
	"strings"
	"unicode/utf8"
)

// exprKind says which fields of an expr count.
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
// A resolver keeps trees by their text and uses them again: nobody may change one.
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
// the holder of the node adds the place of the text.
type grammarError struct {
	text string
	src  string
	// byte offset in src; len(src) is the end
	pos int
}

// Error shows the text on one line with a caret below the place.
func (e *grammarError) Error() string {
	column := utf8.RuneCountInString(e.src[:min(e.pos, len(e.src))])
	return e.text + "\n    " + strings.Map(visible, e.src) + "\n    " + strings.Repeat(" ", column) + "^"
}

// parseText parses a string with interpolations.
// The text must hold at least one character.
// The error is a *grammarError.
func parseText(src string) (e *expr, err error) {
	defer catch(&err)
	p := &interpParser{src: src}
	p.lex(modeTop)
	return p.text(tokEOF), nil
}

// parseElement parses a single value, as oc.decode does.
// An empty text is an error. Errors are of type *grammarError.
func parseElement(src string) (e *expr, err error) {
	defer catch(&err)
	p := &interpParser{src: src}
	p.lex(modeValue)
	if e = p.element(); p.peek().typ != tokEOF {
		panic(p.unexpected("the end"))
	}
	return e, nil
}

// fail is for panic; pos is a byte offset in the text.
func (p *interpParser) fail(pos int, text string) failure {
	return failure{&grammarError{text, p.src, pos}}
}

// nest goes one level down into a value; the result comes up again.
// what is a plural noun for the error.
func (p *interpParser) nest(what string) func() {
	if p.depth++; p.depth > maxNesting {
		panic(p.fail(p.peek().pos, what+" are nested too deep"))
	}
	return func() { p.depth-- }
}

// expect passes a token of the type; it is an error if another one comes next.
func (p *interpParser) expect(typ tokenType, want string) token {
	if p.peek().typ != typ {
		panic(p.unexpected(want))
	}
	return p.take()
}

// lex splits the source into tokens. What a character means depends on the modes
// that are open around it.
func (p *interpParser) lex(mode lexMode) {
	var stack []lexMode
	for pos := 0; pos < len(p.src); {
		typ, n := longest(modeRules[mode], p.src[pos:])
		if n == 0 {
			r, _ := utf8.DecodeRuneInString(p.src[pos:])
			panic(p.fail(pos, "unexpected character '"+string(r)+"' in an interpolation"))
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
				mode, pushed = modeValue, modeValue
			}
		case tokBraceClose, tokInterClose, tokQuoteClose:
			if len(stack) == 0 {
				panic(p.fail(pos, "unexpected '"+p.src[pos:pos+n]+"': nothing is open"))
			}
			mode, stack = stack[len(stack)-1], stack[:len(stack)-1]
			pushed = mode
		}
		if typ == tokInterOpen || typ == tokBraceOpen || typ == tokQuoteOpen {
			if stack = append(stack, mode); len(stack) > maxNesting {
				panic(p.fail(pos, "interpolations are nested too deep"))
			}
		}
		mode = pushed
		pos += n
	}
	p.tokens = append(p.tokens, token{tokEOF, "", len(p.src)})
}

// unexpected is for panic: the next token is not what the grammar wants.
func (p *interpParser) unexpected(want string) failure {
	t := p.peek()
	if t.typ == tokEOF {
		return p.fail(t.pos, "the interpolation is not closed, expecting "+want)
	}
	return p.fail(t.pos, "unexpected '"+t.text+"', expecting "+want)
}

// text parses up to the end token, which it leaves. A text that is a single
// interpolation keeps the type of its value.
func (p *interpParser) text(end tokenType) *expr {
	var parts []*expr
	for {
		t := p.peek()
		switch t.typ {
		case end:
			if len(parts) == 0 {
				panic(p.unexpected("text"))
			}
			if len(parts) == 1 && (parts[0].kind == exprNode || parts[0].kind == exprCall) {
				return parts[0]
			}
			return &expr{kind: exprJoin, parts: parts}
		case tokInterOpen:
			parts = append(parts, p.interpolation())
		case tokText, tokEscape, tokEscInter, tokTopEscape, tokQuotedEscape:
			p.take()
			parts = append(parts, textExpr(p.unescaped(t)))
		default:
			panic(p.unexpected("text or '${'"))
		}
	}
}

// textExpr is literal text: it is never resolved again.
func textExpr(s string) *expr { return &expr{kind: exprText, text: s} }

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
// Brackets of a[b] stay in parts as text: evalNode joins all parts to one path.
func (p *interpParser) interpolation() *expr {
	defer p.nest("interpolations")()
	start := p.take()
	if p.isCall() {
		return p.call(start)
	}
	e := &expr{kind: exprNode}
	for p.peek().typ == tokDot {
		e.parts = append(e.parts, textExpr(p.take().text))
	}
	for first := true; ; first = false {
		switch t := p.peek(); {
		case t.typ == tokInterClose && !first:
			end := p.take()
			e.text = p.src[start.pos : end.pos+len(end.text)]
			return e
		case t.typ == tokBracketOpen:
			p.take()
			key := p.configKey()
			p.expect(tokBracketClose, "']'")
			e.parts = append(e.parts, textExpr("["), key, textExpr("]"))
		case first || t.typ == tokDot:
			if !first {
				e.parts = append(e.parts, textExpr(p.take().text))
			}
			e.parts = append(e.parts, p.configKey())
		default:
			panic(p.unexpected("'.', '[' or '}'"))
		}
	}
}

// configKey reads one part of a path, which may itself be an interpolation.
func (p *interpParser) configKey() *expr {
	switch p.peek().typ {
	case tokInterOpen:
		return p.interpolation()
	case tokID, tokInterKey:
		return textExpr(p.take().text)
	}
	panic(p.unexpected("a key"))
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
func (p *interpParser) call(start token) *expr {
	e := &expr{kind: exprCall}
	for more := true; more; more = p.accept(tokDot) {
		switch p.peek().typ {
		case tokInterOpen:
			e.name = append(e.name, p.interpolation())
		case tokID:
			e.name = append(e.name, textExpr(p.take().text))
		default:
			panic(p.unexpected("the name of a resolver"))
		}
	}
	p.expect(tokColon, "':'")
	if p.peek().typ != tokBraceClose {
		e.args = p.sequence(tokBraceClose)
	}
	end := p.expect(tokBraceClose, "'}'")
	e.text = p.src[start.pos : end.pos+len(end.text)]
	return e
}

// sequence parses elements with commas between; one that is not there is an
// empty string.
// The closing token is left to the caller.
func (p *interpParser) sequence(end tokenType) (items []*expr) {
	for more := true; more; more = p.accept(tokComma) {
		e := &expr{kind: exprValue, value: newText("")}
		if t := p.peek().typ; t != tokComma && t != end {
			e = p.element()
		}
		items = append(items, e)
	}
	return items
}

// element reads one argument of a resolver: quoted, a list, a dictionary or plain.
func (p *interpParser) element() *expr {
	defer p.nest("values")()
	switch p.peek().typ {
	case tokQuoteOpen:
		return p.quoted()
	case tokBracketOpen:
		p.take()
		e := &expr{kind: exprList}
		if !p.accept(tokBracketClose) {
			e.parts = p.sequence(tokBracketClose)
			p.expect(tokBracketClose, "',' or ']'")
		}
		return e
	case tokBraceOpen:
		return p.dict()
	}
	return p.primitive(true)
}

// quoted reads a string in quotes, in which interpolations still count.
func (p *interpParser) quoted() *expr {
	p.take()
	if p.accept(tokQuoteClose) {
		return textExpr("")
	}
	e := p.text(tokQuoteClose)
	p.take()
	if e.kind != exprJoin {
		e = &expr{kind: exprJoin, parts: []*expr{e}}
	}
	return e
}

// dict reads {key: value, ...}; keys keep their type.
// Keys may repeat: the later value counts when the tree is evaluated.
func (p *interpParser) dict() *expr {
	p.take()
	e := &expr{kind: exprDict}
	if p.accept(tokBraceClose) {
		return e
	}
	for {
		key := p.primitive(false)
		p.expect(tokColon, "':'")
		k := key.value
		if k == nil {
			k = newText(key.joined())
		}
		e.keys = append(e.keys, k)
		e.parts = append(e.parts, p.element())
		if p.accept(tokBraceClose) {
			return e
		}
		p.expect(tokComma, "',' or '}'")
	}
}

// joined is the text of a join of literals.
func (e *expr) joined() string {
	text := e.text
	for _, p := range e.parts {
		text += p.text
	}
	return text
}

// primitive reads an unquoted value. A single token keeps its type; several, and
// interpolations among them, make a string. Keys of dictionaries (isValue false)
// hold no interpolations.
func (p *interpParser) primitive(isValue bool) *expr {
	var parts []*expr
	var single *Node
	for {
		t := p.peek()
		if isValue && t.typ == tokInterOpen {
			parts = append(parts, p.interpolation())
			continue
		}
		if !t.primitive() && !(isValue && t.typ == tokColon) {
			break
		}
		p.take()
		single = typed(t)
		parts = append(parts, textExpr(p.unescaped(t)))
	}
	switch {
	case len(parts) == 0:
		panic(p.unexpected("a value"))
	case len(parts) == 1 && parts[0].kind == exprText && strings.TrimLeft(parts[0].text, " \t") == "" && single.kind == String:
		panic(p.fail(p.peek().pos, "the value is all blanks"))
	case len(parts) == 1 && parts[0].kind == exprText:
		return &expr{kind: exprValue, value: single}
	case len(parts) == 1:
		return parts[0]
	}
	return &expr{kind: exprJoin, parts: parts}
}
