package nvtx

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// A parseError says what is wrong with an expression and where.
type parseError struct {
	Expr   string
	Column int // 1 is the first character
	Reason string
}

func (e *parseError) Error() string {
	return fmt.Sprintf("parse nvtx expression %q: column %d: %s", e.Expr, e.Column, e.Reason)
}

// regexPrefix turns every name of an expression into a regular expression.
const regexPrefix = "regex:"

// Parse reads one expression. Forms that Nsight Compute accepts silently
// but that can never select anything are errors.
func Parse(expr string) (*Expr, error) {
	p := parser{expr: expr}
	text, found := strings.CutPrefix(expr, regexPrefix)
	p.regex = found
	if i := strings.IndexByte(expr, 0); i >= 0 {
		return nil, p.fail(i, "a NUL byte cannot be passed to a program")
	}
	chars, err := p.scan(len(expr) - len(text))
	if err != nil {
		return nil, err
	}
	return p.parse(chars)
}

// ParseList reads expressions separated by semicolons; "\;" is a semicolon
// within a name. Blanks around an expression and empty entries are dropped; a
// list of nothing else is an error.
func ParseList(list string) ([]*Expr, error) {
	var out []*Expr
	for _, text := range SplitList(list) {
		e, err := Parse(text)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// SplitList cuts a list at its semicolons without parsing the entries, which
// keep their escapes: an entry split again stays whole. A list without any
// entry gives one that is empty, which Parse refuses.
func SplitList(list string) []string {
	var out []string
	from := 0
	add := func(to int) {
		if text := strings.TrimSpace(list[from:to]); text != "" {
			out = append(out, text)
		}
		from = to + 1
	}
	for i := 0; i < len(list); i++ {
		switch list[i] {
		case '\\':
			i++
		case ';':
			add(i)
		}
	}
	add(len(list))
	if len(out) == 0 {
		return []string{""}
	}
	return out
}

// plainSemicolons undoes the escape that only lists need.
func plainSemicolons(text string) string { return strings.ReplaceAll(text, `\;`, ";") }

type parser struct {
	expr  string
	regex bool
}

// A char is one character of a name, or an operator of the grammar.
type char struct {
	text   string // what it adds to the name; with its backslash in a regular expression
	op     byte   // the operator it is, 0 where it was escaped or is ordinary
	offset int    // in bytes, in the expression
}

// fail makes an error at a byte offset of the expression.
func (p *parser) fail(offset int, format string, args ...any) error {
	column := utf8.RuneCountInString(p.expr[:min(offset, len(p.expr))]) + 1
	return &parseError{Expr: p.expr, Column: column, Reason: fmt.Sprintf(format, args...)}
}

// scan resolves escapes. A backslash before an ordinary character is itself;
// a regular expression keeps all of its backslashes but that of a semicolon.
func (p *parser) scan(from int) ([]char, error) {
	var out []char
	for i := from; i < len(p.expr); {
		_, size := utf8.DecodeRuneInString(p.expr[i:])
		c := p.expr[i]
		next := byte(0)
		if i+1 < len(p.expr) {
			next = p.expr[i+1]
		}
		switch {
		case c == '\\' && next == ';':
			out = append(out, char{text: ";", offset: i})
			size = 2
		case c == '\\' && p.regex && next != 0:
			_, n := utf8.DecodeRuneInString(p.expr[i+1:])
			out = append(out, char{text: p.expr[i : i+1+n], offset: i})
			size = 1 + n
		case c == '\\' && next == '\\':
			return nil, p.fail(i, `two backslashes in a row match no name in Nsight Compute; write a name with backslashes as regex:^...$ with "." for each of them`)
		case c == '\\' && next != 0 && strings.IndexByte(operators, next) >= 0:
			out = append(out, char{text: p.expr[i+1 : i+2], offset: i})
			size = 2
		case strings.IndexByte(operators, c) >= 0:
			out = append(out, char{text: p.expr[i : i+1], op: c, offset: i})
		default:
			out = append(out, char{text: p.expr[i : i+size], offset: i})
		}
		i += size
	}
	return out, nil
}

func (p *parser) parse(chars []char) (*Expr, error) {
	e := &Expr{regex: p.regex}
	rest, err := p.cutDomain(e, chars)
	if err != nil {
		return nil, err
	}
	if rest, err = p.cutAnchors(e, rest); err != nil {
		return nil, err
	}
	if indexOp(rest, '/') >= 0 || e.bottom || e.top {
		e.style = PushPop
		return e, p.pushPop(e, rest)
	}
	return e, p.startEnd(e, rest)
}

func (p *parser) cutDomain(e *Expr, chars []char) ([]char, error) {
	at := indexOp(chars, '@')
	if at < 0 {
		if len(chars) == 0 {
			return nil, p.fail(len(p.expr), "the expression is empty; name a range")
		}
		return chars, nil
	}
	domain, rest := chars[:at], chars[at+1:]
	switch second := indexOp(rest, '@'); {
	case at == 0:
		return nil, p.fail(chars[at].offset, `the domain before "@" is empty; leave "@" out for the default domain`)
	case len(rest) == 0:
		return nil, p.fail(len(p.expr), `no range name after "@"`)
	case second >= 0:
		return nil, p.fail(rest[second].offset, `a second "@"; an expression holds one domain (write "\@" for the character)`)
	case domain[0].op == '[' && !p.regex:
		return nil, p.fail(domain[0].offset, `"[" stands before the range name, not before the domain: DOMAIN@[RANGE`)
	}
	pat, err := p.pattern(domain)
	if err != nil {
		return nil, err
	}
	e.domain = pat
	if !p.regex && domainName(pat.text) == "" {
		e.domain = nil
	}
	return rest, nil
}

// cutAnchors takes "[" from the front and "]" from the end. In a regular
// expression "/[" in front and "/]" at the end are a class that begins or ends
// there, and every other bracket belongs to the expression.
func (p *parser) cutAnchors(e *Expr, chars []char) ([]char, error) {
	if p.regex {
		if n := len(chars); n > 1 && chars[0].op == '/' && chars[1].op == '[' {
			chars = chars[1:]
		} else if chars[0].op == '[' {
			e.bottom, chars = true, chars[1:]
		}
		if n := len(chars); n > 1 && chars[n-2].op == '/' && chars[n-1].op == ']' {
			chars = append(chars[:n-2:n-2], chars[n-1])
		} else if n > 0 && chars[n-1].op == ']' {
			e.top, chars = true, chars[:n-1]
		}
		return chars, nil
	}
	if chars[0].op == '[' {
		e.bottom, chars = true, chars[1:]
	}
	n := len(chars)
	if n > 1 && chars[n-1].op == '/' && chars[n-2].op == ']' {
		chars = chars[:n-1]
		n--
	}
	if n > 0 && chars[n-1].op == ']' {
		e.top, chars = true, chars[:n-1]
	}
	for _, c := range chars {
		if c.op == '[' || c.op == ']' {
			return nil, p.fail(c.offset, `%q is only allowed in front of the first range ("[") or after the last ("]"); write "\%s" for the character`, c.text, c.text)
		}
	}
	return chars, nil
}

func (p *parser) pushPop(e *Expr, chars []char) error {
	parts := splitOp(chars, '/')
	if len(parts) > 1 && len(parts[0].chars) == 0 && !e.bottom {
		parts = parts[1:]
	}
	if n := len(parts); n > 1 && len(parts[n-1].chars) == 0 && !e.top {
		parts = parts[:n-1]
	}
	for _, part := range parts {
		st, err := p.step(e, part)
		if err != nil {
			return err
		}
		e.steps = append(e.steps, st)
	}
	last := parts[len(parts)-1]
	switch {
	case e.top && e.steps[len(e.steps)-1].kind != nameStep:
		return p.fail(last.offset(p), `a quantifier before "]"; "]" needs a range name before it`)
	case e.top && e.bottom && len(e.steps) == 1:
		return p.fail(last.offset(p), `one range anchored at both ends selects nothing in Nsight Compute; drop "[" or "]"`)
	}
	return nil
}

func (p *parser) step(e *Expr, part part) (step, error) {
	if len(part.chars) == 0 {
		return step{}, p.fail(part.offset(p), "an empty range name")
	}
	if len(part.chars) == 1 && (part.chars[0].op == '*' || part.chars[0].op == '+') {
		c := part.chars[0]
		switch {
		case len(e.steps) == 0:
			return step{}, p.fail(c.offset, `an expression cannot begin with %q; name the range it follows (write "\%s" for a range of that name)`, c.text, c.text)
		case e.steps[len(e.steps)-1].kind != nameStep:
			return step{}, p.fail(c.offset, "two quantifiers in a row; Nsight Compute heeds only the last of them")
		case c.op == '*':
			return step{kind: anyStep}, nil
		}
		return step{kind: oneStep}, nil
	}
	pat, err := p.pattern(part.chars)
	if err != nil {
		return step{}, err
	}
	if slices.ContainsFunc(e.steps, func(st step) bool { return st.name != nil && st.name.text == pat.text }) {
		return step{}, p.fail(part.offset(p), "%q for the second time; Nsight Compute sees a name once in a stack and would select nothing, or too much", pat.text)
	}
	return step{name: pat}, nil
}

func (p *parser) startEnd(e *Expr, chars []char) error {
	parts := splitOp(chars, ',')
	for _, part := range parts {
		if len(part.chars) == 0 {
			return p.fail(part.offset(p), "an empty range name")
		}
		if c := part.chars[0]; len(part.chars) == 1 && (c.op == '*' || c.op == '+') {
			return p.fail(c.offset, `a lone %q selects no ranges; use regex:.*/ for every push/pop range (write "\%s" for a range of that name)`, c.text, c.text)
		}
		pat, err := p.pattern(part.chars)
		if err != nil {
			return err
		}
		e.steps = append(e.steps, step{name: pat})
	}
	if len(e.steps) > 1 {
		e.style = StartEnd
	}
	return nil
}

// pattern makes a name. Regular expressions are searched for anywhere in the
// name, "^" and "$" match at line ends and "." matches a line feed, as in
// Nsight Compute's library.
func (p *parser) pattern(chars []char) (*pattern, error) {
	var b strings.Builder
	for _, c := range chars {
		b.WriteString(c.text)
	}
	if !p.regex {
		return &pattern{text: b.String()}, nil
	}
	const flags = "(?ms)"
	re, err := regexp.Compile(flags + bytewise(b.String()))
	if err != nil {
		var bad *syntax.Error // every error of Compile is one
		errors.As(err, &bad)
		return nil, p.fail(chars[0].offset, "regular expression %q: %s: `%s` (look-around, back-references and possessive quantifiers cannot be checked and are not accepted)", b.String(), bad.Code, strings.TrimPrefix(bad.Expr, flags))
	}
	return &pattern{text: b.String(), re: re}, nil
}

// A part is what lies between two separators.
type part struct {
	chars []char
	at    int // offset where it would begin, for an empty one; -1 the end
}

func (pt part) offset(p *parser) int {
	if len(pt.chars) > 0 {
		return pt.chars[0].offset
	}
	if pt.at < 0 {
		return len(p.expr)
	}
	return pt.at
}

func splitOp(chars []char, op byte) []part {
	var out []part
	from := 0
	for i, c := range chars {
		if c.op == op {
			out = append(out, part{chars[from:i], c.offset})
			from = i + 1
		}
	}
	return append(out, part{chars[from:], -1})
}

func indexOp(chars []char, op byte) int {
	return slices.IndexFunc(chars, func(c char) bool { return c.op == op })
}
