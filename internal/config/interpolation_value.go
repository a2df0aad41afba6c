package config

import "strings"

// sequence parses elements with commas between; one that is not there is an
// empty string.
func (p *interpParser) sequence(end tokenType) (items []*expr, err error) {
	for {
		e := &expr{kind: exprValue, value: newText("")}
		if t := p.peek().typ; t != tokComma && t != end {
			if e, err = p.element(); err != nil {
				return nil, err
			}
		}
		items = append(items, e)
		if !p.accept(tokComma) {
			return items, nil
		}
	}
}

// element reads one argument of a resolver: quoted, a list, a dictionary or plain.
func (p *interpParser) element() (*expr, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxNesting {
		return nil, p.fail(p.peek().pos, "values are nested too deep")
	}
	switch t := p.peek(); t.typ {
	case tokQuoteOpen:
		return p.quoted()
	case tokBracketOpen:
		p.take()
		e := &expr{kind: exprList}
		if p.accept(tokBracketClose) {
			return e, nil
		}
		items, err := p.sequence(tokBracketClose)
		if err != nil {
			return nil, err
		}
		e.parts = items
		if !p.accept(tokBracketClose) {
			return nil, p.unexpected("',' or ']'")
		}
		return e, nil
	case tokBraceOpen:
		return p.dict()
	}
	return p.primitive(true)
}

// quoted reads a string in quotes, in which interpolations still count.
func (p *interpParser) quoted() (*expr, error) {
	p.take()
	if p.accept(tokQuoteClose) {
		return &expr{kind: exprText}, nil
	}
	e, err := p.text(tokQuoteClose)
	if err != nil {
		return nil, err
	}
	p.take()
	if e.kind != exprJoin {
		e = &expr{kind: exprJoin, parts: []*expr{e}}
	}
	return e, nil
}

// dict reads {key: value, ...}; keys keep their type.
func (p *interpParser) dict() (*expr, error) {
	p.take()
	e := &expr{kind: exprDict}
	if p.accept(tokBraceClose) {
		return e, nil
	}
	for {
		key, err := p.primitive(false)
		if err != nil {
			return nil, err
		}
		if !p.accept(tokColon) {
			return nil, p.unexpected("':'")
		}
		value, err := p.element()
		if err != nil {
			return nil, err
		}
		k := key.value
		if k == nil {
			k = newText(key.joined())
		}
		e.keys = append(e.keys, k)
		e.parts = append(e.parts, value)
		if p.accept(tokBraceClose) {
			return e, nil
		}
		if !p.accept(tokComma) {
			return nil, p.unexpected("',' or '}'")
		}
	}
}

// joined is the text of a join of literals.
func (e *expr) joined() string {
	if e.kind == exprText {
		return e.text
	}
	var b strings.Builder
	for _, p := range e.parts {
		b.WriteString(p.text)
	}
	return b.String()
}

// primitive reads an unquoted value. A single token keeps its type; several, and
// interpolations among them, make a string. Keys of dictionaries (isValue false)
// hold no interpolations.
func (p *interpParser) primitive(isValue bool) (*expr, error) {
	var parts []*expr
	var single *Node
	for {
		t := p.peek()
		if isValue && t.typ == tokInterOpen {
			e, err := p.interpolation()
			if err != nil {
				return nil, err
			}
			parts = append(parts, e)
			continue
		}
		if !t.primitive() && !(isValue && t.typ == tokColon) {
			break
		}
		p.take()
		single = typed(t)
		parts = append(parts, &expr{kind: exprText, text: p.unescaped(t)})
	}
	switch {
	case len(parts) == 0:
		return nil, p.unexpected("a value")
	case len(parts) == 1 && parts[0].kind == exprText && strings.TrimLeft(parts[0].text, " \t") == "" && single.kind == String:
		return nil, p.fail(p.peek().pos, "the value is all blanks")
	case len(parts) == 1 && parts[0].kind == exprText:
		return &expr{kind: exprValue, value: single}, nil
	case len(parts) == 1:
		return parts[0], nil
	}
	return &expr{kind: exprJoin, parts: parts}, nil
}
