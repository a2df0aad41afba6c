package config

import (
	"fmt"
	"math"
	"math/big"
	"slices"
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
// Errors are of type *Error and of the kind "override-syntax" or, for a call,
// "override-function".
func parseOverride(line string) (o *override, err error) {
	defer catch(&err)
	p := &overrideParser{line: line}
	if !utf8.ValidString(line) {
		panic(failure{p.fail(0, "the override is not valid UTF-8")})
	}
	p.lex()
	return p.override(), nil
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
func (p *overrideParser) lex() {
	rules := keyRules
	for pos := 0; pos < len(p.line); {
		typ, n := longest(rules, p.line[pos:])
		if n == 0 {
			panic(failure{p.unexpectedChar(pos, len(rules) == len(valueRules))})
		}
		p.tokens = append(p.tokens, token{typ, p.line[pos : pos+n], pos})
		if typ == tokEqual {
			rules = valueRules
		}
		pos += n
	}
	p.tokens = append(p.tokens, token{tokEOF, "", len(p.line)})
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

// unexpected fails on the next token; the hint may be "".
func (p *overrideParser) unexpected(want, hint string) failure {
	t := p.peek()
	e := p.fail(t.pos, "unexpected '%s', expecting %s", t.text, want)
	if t.typ == tokEOF {
		e = p.fail(t.pos, "unexpected end, expecting %s", want)
	}
	e.Hint = hint
	return failure{e}
}

// override reads the whole line.
func (p *overrideParser) override() *override {
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
	p.key(o)
	switch end := p.peek().typ == tokEOF; {
	case end && o.op == "~":
		return o
	case end:
		panic(p.unexpected("'='", "an override is key=value; to delete a key write ~key"))
	case p.peek().typ != tokEqual:
		panic(p.unexpected("'='", ""))
	}
	o.valuePos = p.take().pos + 1
	o.value = newText("")
	if p.peek().typ != tokEOF {
		p.value(o)
	}
	if p.peek().typ != tokEOF {
		panic(p.unexpected("the end of the override", "quote the value, so that the quotes reach deepprof: 'key=\"value\"'"))
	}
	if o.value != nil {
		setOrigin(o.value, o.origin())
	}
	return o
}

// key reads a dotted key or group/sub, and @package if there is one.
func (p *overrideParser) key(o *override) {
	switch t := p.peek(); {
	case t.typ == tokID:
		o.key = p.take().text
		for p.accept(tokSlash) {
			if p.peek().typ != tokID {
				panic(p.unexpected("a group name", ""))
			}
			o.key += "/" + p.take().text
		}
	case t.typ == tokKeySpecial || t.typ == tokDotPath:
		o.key = p.take().text
	case t.typ != tokEqual && t.typ != tokAt && (t.typ != tokEOF || o.op != "~"):
		panic(p.unexpected("a key", ""))
	}
	if o.hasPkg = p.accept(tokAt); o.hasPkg {
		switch p.peek().typ {
		case tokID, tokKeySpecial, tokDotPath:
			o.pkg = p.take().text
		}
	}
}

// value reads an element, or several with commas between: a sweep.
func (p *overrideParser) value(o *override) {
	o.value = nil
	if p.isCall() {
		if o.sweep = p.function(); p.peek().typ == tokComma {
			panic(p.nestedSweep(0))
		}
		return
	}
	start := p.peek().pos
	if first := p.element(); p.peek().typ != tokComma {
		o.value = first
		return
	}
	o.sweep = &sweep{values: []string{p.line[start:p.peek().pos]}}
	for p.accept(tokComma) {
		start = p.peek().pos
		p.element()
		o.sweep.values = append(o.sweep.values, p.line[start:p.peek().pos])
	}
}

// isCall tells whether name( comes next.
func (p *overrideParser) isCall() bool {
	return p.peek().typ == tokID && p.tokens[p.next+1].typ == tokParenOpen
}

// nestedSweep: Hydra allows a sweep only as the whole value.
func (p *overrideParser) nestedSweep(pos int) failure {
	e := p.fail(pos, "a sweep cannot stand within another value")
	e.Kind = "override-function"
	return failure{e}
}

// element reads a list, a dictionary or a scalar.
func (p *overrideParser) element() *Node {
	p.depth++
	defer func() { p.depth-- }()
	t := p.peek()
	switch {
	case p.depth > maxNesting:
		panic(failure{p.fail(t.pos, "the value is nested deeper than %d levels", maxNesting)})
	case t.typ == tokBracketOpen:
		list := newList()
		p.sequence(tokBracketClose, "']'", func() { list.push(p.element()) })
		return list
	case t.typ == tokBraceOpen:
		m := newMap()
		p.sequence(tokBraceClose, "'}'", func() {
			key := p.primitive("a key, which is not quoted", func(tokenType) bool { return false })
			if !p.accept(tokColon) {
				panic(p.unexpected("':'", ""))
			}
			m.put(key, p.element())
		})
		return m
	case p.isCall():
		p.function()
		panic(p.nestedSweep(t.pos))
	case t.typ == tokQuoted:
		p.take()
		return newText(unquote(t.text))
	}
	return p.primitive("a value", func(t tokenType) bool { return t == tokColon || t == tokInterpolation })
}

// sequence reads items with commas between, from the opening bracket to the
// closing one.
func (p *overrideParser) sequence(end tokenType, closing string, item func()) {
	p.take()
	for first := true; !p.accept(end); first = false {
		if !first && !p.accept(tokComma) {
			panic(p.unexpected("',' or "+closing, ""))
		}
		item()
	}
}

// primitive joins the tokens of an unquoted value. A single one keeps its
// type; several make a string.
func (p *overrideParser) primitive(want string, also func(tokenType) bool) *Node {
	start := p.next
	for p.peek().primitive() || also(p.peek().typ) {
		p.take()
	}
	parts := p.tokens[start:p.next]
	if len(parts) == 0 {
		panic(p.unexpected(want, ""))
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
		panic(failure{p.fail(pos, "the value is all blanks")})
	case 1:
		return typed(parts[0])
	}
	var b strings.Builder
	for _, t := range parts {
		if t.typ == tokEscape {
			b.WriteString(unescape(t.text))
		} else {
			b.WriteString(t.text)
		}
	}
	return newText(b.String())
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

// override is one parsed command-line override.
type override struct {
	op       string // "=", "+", "++" or "~"
	key      string // dotted path or group
	pkg      string // behind the "@" of a group; read only if hasPkg is true
	hasPkg   bool
	value    *Node  // nil for "~key" and for a sweep; every node has the override as its origin
	sweep    *sweep // nil if there is a single value
	line     string // as it was typed
	keyPos   int    // byte offset of the key in line
	valuePos int    // byte offset behind the "="
}

// setOrigin gives a tree the origin of the override that it was typed in.
// Keys keep the zero origin.
func setOrigin(n *Node, origin Origin) {
	n.origin = origin
	for child := range n.children() {
		setOrigin(child, origin)
	}
}

// Parts of a key: a$b-c, and numbers as indices of lists.
const (
	keySpecial = `[a-zA-Z_$][a-zA-Z0-9_$-]*`
	keyPart    = `(?:` + keySpecial + `|` + unsigned + `)`
)

// keyRules and valueRules split the line before and after the first "=".
var keyRules = []rule{
	match(tokEqual, `=`+blanks), match(tokTilde, `~`), match(tokPlus, `\+`), match(tokAt, `@`), match(tokColon, `:`), match(tokSlash, `/`),
	match(tokID, name), match(tokKeySpecial, keySpecial), match(tokDotPath, keyPart+`(?:\.`+keyPart+`)+`),
}

// A quoted value ends at the first own quote that follows an even number of
// backslashes; an interpolation ends at the first brace.
var valueRules = slices.Concat([]rule{
	match(tokParenOpen, blanks+`\(`+blanks), match(tokComma, blanks+`,`+blanks), match(tokParenClose, blanks+`\)`),
	match(tokBracketOpen, `\[`+blanks), match(tokBracketClose, blanks+`\]`), match(tokBraceOpen, `\{`+blanks), match(tokBraceClose, blanks+`\}`),
	match(tokColon, blanks+`:`+blanks), match(tokEqual, blanks+`=`+blanks),
}, primitiveRules, []rule{
	match(tokQuoted, `'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"`), match(tokInterpolation, `\$\{[^}]+\}`),
})

// unquote takes the quotes off and unescapes the backslashes before quotes.
func unquote(s string) string {
	quote, body := s[0], s[1:]
	var b strings.Builder
	for i := 0; i < len(body)-1; {
		if body[i] != '\\' {
			b.WriteByte(body[i])
			i++
			continue
		}
		run := i
		for run < len(body) && body[run] == '\\' {
			run++
		}
		slashes := run - i
		if run < len(body) && body[run] == quote {
			b.WriteString(body[i : i+slashes/2])
			if slashes%2 == 1 {
				b.WriteByte(quote)
				run++
			}
		} else {
			b.WriteString(body[i:run])
		}
		i = run
	}
	return b.String()
}

// sweep is a value that stands for several runs: a,b,c or a call such as
// range(3). deepprof performs one run at a time, so sweeps are read only to be
// refused with the runs to start instead.
type sweep struct {
	values []string // of a,b,c: each as it was written; nil for a call
}

// sweepFunctions are the calls that Hydra has for sweeps.
var sweepFunctions = []string{"choice", "glob", "interval", "range"}

// function parses name(args). Calls that describe a sweep are recognized; the
// others only rewrite a value, which can as well be written down.
func (p *overrideParser) function() *sweep {
	name := p.take()
	p.sequence(tokParenClose, "')'", func() {
		if p.peek().typ == tokID && p.tokens[p.next+1].typ == tokEqual {
			p.take()
			p.take()
		}
		p.element()
	})
	if slices.Contains(sweepFunctions, name.text) {
		return &sweep{}
	}
	e := p.fail(name.pos, "the override function %s() is left out; write the value itself", name.text)
	e.Kind = "override-function"
	panic(failure{e})
}

// isHydra tells whether an override is about hydra itself, not about the job.
func (o *override) isHydra() bool {
	return strings.HasPrefix(o.key, "hydra.") || strings.HasPrefix(o.key, "hydra/")
}

// maxSweepRuns bounds the list of runs that a sweep stands for.
const maxSweepRuns = 1000

// sweepRuns lists the overrides of every run that sweeps over a,b,c stand for;
// the last override varies fastest, and a later override of a key replaces an
// earlier one. Overrides of hydra itself are left out.
// Its errors only cost a hint: refuseSweeps drops them.
func sweepRuns(overrides []*override) ([][]string, error) {
	var keys []string
	values := map[string][]string{}
	for _, o := range overrides {
		switch {
		case o.isHydra() && o.sweep != nil:
			e := o.errorf("sweep-over-hydra", "Sweeping over Hydra's configuration is not supported : '%s'", o.line)
			e.Column = o.valuePos + 1
			return nil, e
		case o.isHydra():
			continue
		case o.sweep != nil && o.sweep.values == nil:
			return nil, o.errorf("sweep-unsupported", "the runs of '%s' cannot be listed; write the values with commas between", o.line)
		}
		key := strings.TrimPrefix(o.op, "=") + o.fullKey()
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
		values[key] = []string{o.line}
		if o.sweep != nil {
			values[key] = nil
			for _, v := range o.sweep.values {
				values[key] = append(values[key], key+"="+v)
			}
		}
	}
	runs := [][]string{{}}
	for _, key := range keys {
		var next [][]string
		for _, run := range runs {
			for _, v := range values[key] {
				next = append(next, append(slices.Clone(run), v))
			}
		}
		if runs = next; len(runs) > maxSweepRuns {
			return nil, &Error{Kind: "sweep-unsupported", Message: fmt.Sprintf("the sweep has more than %d runs", maxSweepRuns)}
		}
	}
	return runs, nil
}

// refuseSweeps names the ways out of a value that is a sweep.
func refuseSweeps(overrides []*override) error {
	for _, o := range overrides {
		if o.sweep == nil {
			continue
		}
		e := o.errorf("sweep-needs-multirun", "Sweep parameters '%s' requires --multirun", o.line)
		if o.sweep.values != nil {
			e.Message = fmt.Sprintf("Ambiguous value for argument '%s'\n"+
				"1. To use it as a list, use key=[value1,value2]\n"+
				"2. To use it as string, quote the value: key=\\'value1,value2\\'\n"+
				"3. To sweep over it, add --multirun to your command line", o.line)
		}
		e.Column = o.valuePos + 1
		e.Hint = "deepprof does not sweep: start one run per value"
		if runs, err := sweepRuns(overrides); err == nil && len(runs) > 0 {
			e.Hint += fmt.Sprintf("; the first of %d has the overrides %s", len(runs), strings.Join(runs[0], " "))
		}
		return e
	}
	return nil
}
