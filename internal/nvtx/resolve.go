package nvtx

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/suggest"
)

// A Seen is a range that a timeline holds, with the ranges around it.
type Seen struct {
	Style Style // PushPop or StartEnd
	// Stack ends with the range itself; before it, outermost first, come the
	// push/pop ranges of its domain that enclose it. A start/end range stands
	// alone.
	Stack []Range
}

// Range is the range itself, without what encloses it.
func (s Seen) Range() Range {
	if len(s.Stack) == 0 {
		return Range{}
	}
	return s.Stack[len(s.Stack)-1]
}

func (s Seen) state() State {
	if s.Style == StartEnd {
		return State{Open: s.Stack}
	}
	return State{Stacks: [][]Range{s.Stack}}
}

// A Resolution is an expression that is ready for Nsight Compute.
type Resolution struct {
	Expr   string   // as the user wrote it
	Values []string // one --nvtx-include or --nvtx-exclude each
	// Styles of the ranges that Values select, in the same order.
	Styles []Style
	// Checked is false where there was no timeline to look into.
	Checked bool
}

// An UnmatchedError is an expression that selects no range of the timeline.
type UnmatchedError struct {
	Expr  string
	Near  []string // names that the user may have meant, nearest first
	Known []string // every range of the timeline
}

// mostListed is how many ranges an error still lists.
const mostListed = 20

func (e *UnmatchedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "nvtx expression %q selects no range of the timeline", e.Expr)
	if len(e.Near) > 0 {
		fmt.Fprintf(&b, "; did you mean %s?", quoteOr(e.Near))
	}
	b.WriteString("; " + e.exist())
	return b.String()
}

// exist lists the ranges that there are, for a message.
func (e *UnmatchedError) exist() string {
	if len(e.Known) == 0 {
		return "the timeline holds no NVTX ranges: annotate the workload, or drop the NVTX filter"
	}
	list, more := e.Known, ""
	if len(list) > mostListed {
		list, more = list[:mostListed], fmt.Sprintf(" and %d more", len(e.Known)-mostListed)
	}
	return fmt.Sprintf("ranges that exist: %s%s", strings.Join(list, ", "), more)
}

func quoteOr(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = fmt.Sprintf("%q", n)
	}
	if n := len(quoted); n > 1 {
		return strings.Join(quoted[:n-1], ", ") + " or " + quoted[n-1]
	}
	return quoted[0]
}

// Resolve turns the expressions that a user wrote, each possibly a list "a;b",
// into flag values with the help of the ranges that a timeline holds: a bare
// name becomes the form of the ranges that exist. Seen is nil where there is
// no timeline; then nothing can be refused, and a bare name becomes both of
// its forms. All problems are reported together.
func Resolve(exprs []string, seen []Seen) ([]Resolution, error) {
	var out []Resolution
	var problems []error
	for _, entry := range exprs {
		// A name as it stands in the timeline may hold a semicolon.
		if r, ok := exact(entry, seen); ok {
			out = append(out, r)
			continue
		}
		for _, text := range SplitList(entry) {
			r, err := resolve(text, seen)
			if err != nil {
				problems = append(problems, err)
				continue
			}
			out = append(out, r)
		}
	}
	return out, errors.Join(problems...)
}

// Values collects the flag values of all resolutions, each once.
func Values(rs []Resolution) []string {
	var out []string
	for _, r := range rs {
		for _, v := range r.Values {
			out = appendNew(out, v)
		}
	}
	return out
}

func resolve(text string, seen []Seen) (Resolution, error) {
	// A name as it stands in the timeline needs no escapes from the user.
	if r, ok := exact(text, seen); ok {
		return r, nil
	}
	e, err := Parse(text)
	if err != nil {
		return Resolution{}, err
	}
	r := Resolution{Expr: text, Checked: seen != nil}
	styles := []Style{e.style}
	if e.style == Either {
		styles = []Style{PushPop, StartEnd}
	}
	for _, s := range styles {
		form := e.As(s)
		if seen == nil || form.selectsAny(seen) {
			r.Values = append(r.Values, form.String())
			r.Styles = append(r.Styles, s)
		}
	}
	if len(r.Values) == 0 {
		return Resolution{}, unmatched(text, e, seen)
	}
	return r, nil
}

// exact takes text as the plain name of a range, with or without its domain.
func exact(text string, seen []Seen) (Resolution, bool) {
	r := Resolution{Expr: text, Checked: true}
	name := plainSemicolons(text)
	for _, s := range []Style{PushPop, StartEnd} {
		for _, k := range seen {
			if g := k.Range(); k.Style == s && g.Name != "" && (g.String() == text || g.String() == name) {
				r.Values = append(r.Values, literal(g, s))
				r.Styles = append(r.Styles, s)
				break
			}
		}
	}
	return r, len(r.Values) > 0
}

// selectsAny reports whether the expression selects something of the timeline.
// For several start/end names each must exist; whether they overlap is left
// to the run.
func (e *Expr) selectsAny(seen []Seen) bool {
	if e.style == StartEnd && len(e.steps) > 1 {
		var open []Range
		for _, k := range seen {
			if k.Style == StartEnd {
				open = append(open, k.Range())
			}
		}
		return e.matchOpen(open)
	}
	return slices.ContainsFunc(seen, func(k Seen) bool { return e.Match(k.state()) })
}

func unmatched(text string, e *Expr, seen []Seen) error {
	err := &UnmatchedError{Expr: text}
	var names []string
	for _, k := range seen {
		if g := k.Range(); g.Name != "" {
			names = appendNew(names, g.String())
			err.Known = appendNew(err.Known, k.display())
		}
	}
	want := strings.Trim(text, "/[]")
	if e.domain == nil && !e.regex {
		// The commonest slip: the range exists, in a domain.
		for _, k := range seen {
			g := k.Range()
			if g.Domain != "" && len(e.steps) == 1 && e.steps[0].name.match(g.Name) {
				err.Near = appendNew(err.Near, g.String())
			}
		}
	}
	for _, n := range suggest.Nearest(want, names) {
		err.Near = appendNew(err.Near, n)
	}
	if last := e.steps[len(e.steps)-1].name; last != nil && len(e.steps) > 1 {
		for _, n := range suggest.Nearest(last.text, names) {
			err.Near = appendNew(err.Near, n)
		}
	}
	slices.Sort(err.Known)
	return err
}

// display writes a range with what encloses it, as an expression would.
func (s Seen) display() string {
	var parts []string
	for _, r := range s.Stack {
		parts = append(parts, r.Name)
	}
	text := strings.Join(parts, "/")
	if d := s.Range().Domain; d != "" {
		text = d + "@" + text
	}
	if s.Style == PushPop && len(parts) == 1 {
		text += "/"
	}
	return text
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
