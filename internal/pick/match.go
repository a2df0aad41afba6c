package pick

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/ncu"
	"github.com/deepprof/deepprof/internal/suggest"
)

// collective tells a kernel that waits for other ranks, which ncu cannot repeat alone.
func (n *names) collective() bool {
	return ncu.IsCollective(n.function) || ncu.IsCollective(n.demangled)
}

// patterns are kernel names of a configuration: exact ones, or regex:...
type patterns struct {
	key string // the setting that they come from
	// form of the names; "" compares with every form
	base string
	list []pattern
}

// A pattern is a name or an expression of the user's; hits counts what it has selected.
type pattern struct {
	text string
	re   *regexp.Regexp
	hits int
}

// parsePatterns reads names; key names the place in messages.
func parsePatterns(key, base string, texts []string) (*patterns, error) {
	switch base {
	case "", "function", "demangled", "mangled":
	default:
		return nil, fmt.Errorf("read %s: the form of a kernel's name is function, demangled or mangled, not %q", key, base)
	}
	p := &patterns{key: key, base: base}
	for _, text := range texts {
		one := pattern{text: text}
		if expr, ok := strings.CutPrefix(text, "regex:"); ok {
			re, err := regexp.Compile(expr)
			if err != nil {
				return nil, fmt.Errorf("read %s %q: %w", key, text, err)
			}
			one.re = re
		}
		p.list = append(p.list, one)
	}
	return p, nil
}

// forms are the names of a kernel that a filter is held against: one, or all where the
// configuration names no base.
func (p *patterns) forms(n *names) []string {
	switch p.base {
	case "function":
		return []string{n.function}
	case "demangled":
		return []string{n.demangled}
	case "mangled":
		return []string{n.mangled}
	}
	return []string{n.function, n.demangled, n.mangled, n.short}
}

// match tells whether any pattern selects the kernel, and remembers which.
// All patterns are tried, also after a hit, because unmatched tells of each.
func (p *patterns) match(n *names) bool {
	found := false
	for i := range p.list {
		one := &p.list[i]
		if slices.ContainsFunc(p.forms(n), func(form string) bool {
			return form != "" && (one.re != nil && one.re.MatchString(form) || one.re == nil && one.text == form)
		}) {
			one.hits++
			found = true
		}
	}
	return found
}

// unmatched lists the patterns that selected nothing so far.
func (p *patterns) unmatched(known []string) []Unmatched {
	var out []Unmatched
	for _, one := range p.list {
		if one.hits > 0 {
			continue
		}
		u := Unmatched{Key: p.key, Expr: one.text, Why: because(noSuchKernel)}
		if one.re == nil {
			u.Near = suggest.Nearest(one.text, known)
		}
		out = append(out, u)
	}
	return out
}

// A selection keeps kernels by include and exclude patterns; exclude first.
type selection struct{ include, exclude *patterns }

// newSelection reads patterns; the keys are the settings that they come from.
func newSelection(includeKey, excludeKey, base string, include, exclude []string) (*selection, error) {
	in, err := parsePatterns(includeKey, base, include)
	if err != nil {
		return nil, err
	}
	ex, err := parsePatterns(excludeKey, base, exclude)
	if err != nil {
		return nil, err
	}
	return &selection{in, ex}, nil
}

// keep gives zero for a kernel that is kept, else why it is not.
func (s *selection) keep(n *names) Reason {
	switch {
	case s.exclude.match(n):
		return because(excludedBy, fact.Key("key", s.exclude.key))
	case len(s.include.list) > 0 && !s.include.match(n):
		return because(notAmong, fact.Key("key", s.include.key))
	}
	return Reason{}
}

// unmatched are the filters that selected nothing; known are names to suggest.
func (s *selection) unmatched(known []string) []Unmatched {
	return append(s.include.unmatched(known), s.exclude.unmatched(known)...)
}
