package nvtx

import (
	"regexp"
	"strings"
)

// operators are the characters that mean something in an expression; a
// backslash in front makes them ordinary.
const operators = `@,[]/*+`

// escape writes a name so that an expression takes it literally. A name in
// which a backslash comes last, or before another backslash or an operator,
// has no such spelling in Nsight Compute; Literal finds one for it too.
func escape(name string) string {
	var b strings.Builder
	for i := range len(name) {
		if strings.IndexByte(operators, name[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(name[i])
	}
	return b.String()
}

// literal writes the expression that selects exactly the range r. Style must
// be PushPop or StartEnd.
func literal(r Range, style Style) string {
	e := Expr{style: style, steps: []step{{name: &pattern{text: r.Name}}}}
	if r.Domain != "" {
		e.domain = &pattern{text: r.Domain}
	}
	return e.String()
}

// String gives the expression in Nsight Compute's spelling. A bare name stays
// bare: to Nsight Compute it is then a start/end range.
func (e *Expr) String() string {
	if !e.regex && e.needsRegex() {
		return e.write(true, quoteRegex)
	}
	if e.regex {
		return e.write(true, func(p *pattern, _ Style) string { return p.text })
	}
	return e.write(false, func(p *pattern, _ Style) string { return escape(p.text) })
}

// As returns the expression as one about push/pop or start/end ranges. Only
// an expression of style Either changes.
func (e *Expr) As(s Style) *Expr {
	if e.style != Either {
		return e
	}
	out := *e
	out.style = s
	return &out
}

// hardBackslash matches a backslash that no escape can express.
var hardBackslash = regexp.MustCompile(`\\($|[\\@,\[\]/*+;])`)

// needsRegex reports whether a name has no literal spelling.
func (e *Expr) needsRegex() bool {
	first := ""
	for i, st := range e.steps {
		if st.name != nil && hardBackslash.MatchString(st.name.text) {
			return true
		}
		if i == 0 && st.name != nil {
			first = st.name.text
		}
	}
	if e.domain != nil {
		if hardBackslash.MatchString(e.domain.text) {
			return true
		}
		first = e.domain.text
	}
	return !e.bottom && strings.HasPrefix(first, regexPrefix)
}

// quoteRegex writes a literal as a regular expression. In a start/end
// expression a comma separates names whatever is before it, and becomes ".".
func quoteRegex(p *pattern, style Style) string {
	text := strings.NewReplacer("/", `\/`, "@", `\@`).Replace(regexp.QuoteMeta(p.text))
	if style != PushPop {
		text = strings.ReplaceAll(text, ",", ".")
	}
	return "^" + text + "$"
}

func (e *Expr) write(regex bool, name func(*pattern, Style) string) string {
	var b strings.Builder
	if regex {
		b.WriteString(regexPrefix)
	}
	if e.domain != nil {
		// A domain holds no separators of its own, hence the push/pop rule.
		b.WriteString(name(e.domain, PushPop))
		b.WriteByte('@')
	}
	var parts []string
	for _, st := range e.steps {
		switch st.kind {
		case anyStep:
			parts = append(parts, "*")
		case oneStep:
			parts = append(parts, "+")
		default:
			parts = append(parts, name(st.name, e.style))
		}
	}
	if e.style != PushPop {
		b.WriteString(guard(regex, strings.Join(parts, ","), true))
		return b.String()
	}
	text := strings.Join(parts, "/")
	if e.bottom {
		b.WriteString("[" + text)
	} else {
		b.WriteString(guard(regex, text, false))
	}
	switch {
	case e.top:
		b.WriteString("]")
	case len(parts) == 1 && !e.bottom, regex && strings.HasSuffix(text, "]"):
		b.WriteString("/")
	}
	return b.String()
}

// guard protects a class at the front of a regular expression, and where end
// is set also one at its end, from being read as an anchor.
func guard(regex bool, text string, end bool) string {
	if !regex {
		return text
	}
	if strings.HasPrefix(text, "[") {
		text = "/" + text
	}
	if end && strings.HasSuffix(text, "]") && !strings.HasSuffix(text, `\]`) {
		text = text[:len(text)-1] + "/]"
	}
	return text
}
