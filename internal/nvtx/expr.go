package nvtx

import (
	"regexp"
	"slices"
	"unicode/utf8"
)

// An Expr is a parsed filter expression. It is immutable and safe for
// concurrent use.
type Expr struct {
	style  Style
	regex  bool
	domain *pattern // nil: the default domain
	steps  []step
	bottom bool // the first step is the outermost range of its stack
	top    bool // the last step is the innermost range of its stack
}

// A step is one name of an expression, or a quantifier between two names.
type step struct {
	kind stepKind
	name *pattern // nil for quantifiers
}

type stepKind int

const (
	nameStep stepKind = iota
	anyStep           // "*": zero or more ranges
	oneStep           // "+": one range
)

// A pattern matches a name literally or by regular expression.
type pattern struct {
	text string         // literal, or source of the expression
	re   *regexp.Regexp // nil: literal
}

func (p *pattern) match(name string) bool {
	if p.re != nil {
		return p.re.MatchString(bytewise(name))
	}
	return p.text == name
}

// bytewise makes each byte of s a character of its own: Nsight Compute's
// regular expressions count bytes, so that "." is half of an "é".
func bytewise(s string) string {
	ascii := true
	for i := range len(s) {
		ascii = ascii && s[i] < utf8.RuneSelf
	}
	if ascii {
		return s
	}
	runes := make([]rune, len(s))
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	return string(runes)
}

// Style says which ranges the expression is about.
func (e *Expr) Style() Style { return e.style }

// Match reports whether the expression selects a launch made in state s.
func (e *Expr) Match(s State) bool {
	if e.style != StartEnd {
		for _, stack := range s.Stacks {
			if e.matchStack(stack) {
				return true
			}
		}
	}
	return e.style != PushPop && e.matchOpen(s.Open)
}

func (e *Expr) matchDomain(name string) bool {
	if e.domain == nil {
		return name == ""
	}
	if e.domain.re == nil {
		return e.domain.text == name
	}
	if name == "" {
		name = DefaultDomain
	}
	return e.domain.match(name)
}

// matchOpen reports whether every name of the expression is open.
func (e *Expr) matchOpen(open []Range) bool {
	closed := func(st step) bool {
		return !slices.ContainsFunc(open, func(r Range) bool { return e.matchDomain(r.Domain) && st.name.match(r.Name) })
	}
	return len(e.steps) > 0 && !slices.ContainsFunc(e.steps, closed)
}

// matchStack reports whether the steps match consecutive ranges of the stack.
// Where a name is open within itself, versions of Nsight Compute differ from
// each other and from their documentation; here every range counts.
// It walks the stack once per step and keeps the set of places reached, so
// that its cost is bounded by the product of both lengths whatever the
// quantifiers.
func (e *Expr) matchStack(stack []Range) bool {
	if len(stack) == 0 || !e.matchDomain(stack[0].Domain) {
		return false
	}
	if len(e.steps) == 1 {
		return e.matchOne(stack, e.steps[0].name)
	}
	at := make([]bool, len(stack)+1) // at[i]: the steps so far end before stack[i]
	for i := range at {
		at[i] = i == 0 || !e.bottom
	}
	next := make([]bool, len(at))
	for _, st := range e.steps {
		reached := false
		for i := range at {
			switch st.kind {
			case anyStep:
				next[i] = at[i] || i > 0 && next[i-1]
			case oneStep:
				next[i] = i > 0 && at[i-1]
			default:
				next[i] = i > 0 && at[i-1] && st.name.match(stack[i-1].Name)
			}
			reached = reached || next[i]
		}
		if !reached {
			return false
		}
		at, next = next, at
	}
	// A "+" at the end means one more range and then the top of the stack.
	if e.top || e.steps[len(e.steps)-1].kind == oneStep {
		return at[len(stack)]
	}
	return true
}

func (e *Expr) matchOne(stack []Range, name *pattern) bool {
	switch {
	case e.bottom:
		return name.match(stack[0].Name)
	case e.top:
		return name.match(stack[len(stack)-1].Name)
	}
	return slices.ContainsFunc(stack, func(r Range) bool { return name.match(r.Name) })
}
