package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/suggest"
)

// resolver evaluates interpolations in a tree.
type resolver struct {
	env    func(string) (string, bool)
	now    time.Time
	hydra  func() *Node     // the hydra node; nil result where there is none yet
	parsed map[string]*expr // by text
	stack  []*Node          // interpolations being followed, the first outermost
	depth  int
	steps  int // over the whole life of the resolver; see maxResolveSteps
}

// Limits on resolving: the depth is that of interpolations that lead to
// interpolations, the steps bound one tree.
const (
	maxResolveDepth = 300
	maxResolveSteps = 2_000_000
)

// resolveError is a failed interpolation, before the place is added.
type resolveError struct {
	kind string
	text string
	hint string // the next step; "" where there is none
	err  error  // cause, where it is another error
}

func (e *resolveError) Error() string { return e.text }
func (e *resolveError) Unwrap() error { return e.err }

// failed makes a resolveError without a hint; kind is of the list in docs/hydra.md.
func failed(kind, format string, args ...any) error {
	return &resolveError{kind: kind, text: fmt.Sprintf(format, args...)}
}

// raised words an error that Python raises while resolving.
func raised(class, format string, args ...any) error {
	return failed("interpolation-other", class+" raised while resolving interpolation: "+format, args...)
}

// parse reads a string with interpolations; each string is parsed once.
func (r *resolver) parse(text string) (*expr, error) {
	if e := r.parsed[text]; e != nil {
		return e, nil
	}
	e, err := parseText(text)
	if err != nil {
		return nil, &resolveError{kind: "interpolation-syntax", text: err.Error(), err: err}
	}
	if r.parsed == nil {
		r.parsed = map[string]*expr{}
	}
	r.parsed[text] = e
	return e, nil
}

// deref follows a node that is an interpolation to its value: a node of the
// tree, or a new one that has the same parent. memo holds the nodes that are
// being resolved.
func (r *resolver) deref(n *Node, memo map[*Node]bool) (*Node, error) {
	if !n.Interpolation() {
		return n, nil
	}
	if n.parent == nil {
		return nil, failed("interpolation-other", "Cannot resolve interpolation for a node without a parent")
	}
	r.depth++
	r.steps++
	r.stack = append(r.stack, n)
	defer func() {
		r.depth--
		r.stack = r.stack[:len(r.stack)-1]
	}()
	switch {
	case r.depth > maxResolveDepth:
		return nil, failed("interpolation-cycle", "Recursive interpolation detected: %s", n.text)
	case r.steps > maxResolveSteps:
		return nil, failed("interpolation-cycle", "resolving takes more than %d steps", maxResolveSteps)
	}
	e, err := r.parse(n.text)
	if err != nil {
		return nil, err
	}
	v, err := r.eval(e, n.parent, n, memo)
	if err != nil {
		return nil, err
	}
	if v.parent == nil && v != n.root() {
		v.parent = n.parent
	}
	return v, nil
}

// literal marks a value that came out of a resolver: its text is not resolved
// again, and a list or mapping of it is no part of the config's tree.
func literal(n *Node) *Node {
	n.literal = true
	for _, e := range n.entries {
		literal(e.Value)
	}
	for _, item := range n.items {
		literal(item)
	}
	return n
}

// eval computes an expression that stands in node, which lies in parent. The
// result may be a node of the tree itself: callers do not change it.
func (r *resolver) eval(e *expr, parent, node *Node, memo map[*Node]bool) (*Node, error) {
	switch e.kind {
	case exprText:
		return literal(newText(e.text)), nil
	case exprValue:
		c := *e.value
		return literal(&c), nil
	case exprNode:
		return r.evalNode(e, parent, node, memo)
	case exprCall:
		return r.evalCall(e, parent, node, memo)
	case exprJoin:
		var b strings.Builder
		for _, p := range e.parts {
			if p.kind == exprText {
				b.WriteString(p.text)
				continue
			}
			v, err := r.eval(p, parent, node, memo)
			if err != nil {
				return nil, err
			}
			b.WriteString(pyStr(v))
			if b.Len() > maxFileSize {
				return nil, failed("interpolation-other", "the interpolated text is longer than %d bytes", maxFileSize)
			}
		}
		return literal(newText(b.String())), nil
	case exprList:
		list := newList()
		for _, p := range e.parts {
			v, err := r.eval(p, parent, node, memo)
			if err != nil {
				return nil, err
			}
			list.push(inside(v))
		}
		list.literal = true
		return list, nil
	default:
		m := newMap()
		for i, p := range e.parts {
			v, err := r.eval(p, parent, node, memo)
			if err != nil {
				return nil, err
			}
			m.put(e.keys[i], inside(v))
		}
		m.literal = true
		return m, nil
	}
}

// inside prepares a value for a place in a new list or mapping: a node of the
// tree is copied, lest it lose its parent.
func inside(v *Node) *Node {
	if v.parent == nil {
		return v
	}
	c := v.clone()
	if !c.container() {
		c.literal = true
	}
	return c
}

// evalNode evaluates ${path}.
func (r *resolver) evalNode(e *expr, parent, node *Node, memo map[*Node]bool) (*Node, error) {
	var path strings.Builder
	for _, p := range e.parts {
		if p.kind == exprText {
			path.WriteString(p.text)
			continue
		}
		v, err := r.eval(p, parent, node, memo)
		if err != nil {
			return nil, err
		}
		if v.kind != String {
			return nil, failed("interpolation-other", "The following interpolation is used to denote a config key and thus should return a string, "+
				"but instead returned `%s` of type `<class '%s'>`: %s", pyStr(v), pyType(v), p.text)
		}
		path.WriteString(v.text)
	}
	root, key, err := rootAndKey(parent, path.String())
	if err != nil {
		return nil, failed("interpolation-key", "ConfigKeyError while resolving interpolation: %s", err)
	}
	v, err := r.selectNode(root, key, selectOptions{throwMissing: true, throwFailure: true}, memo)
	if err != nil {
		var missing *missingError
		if errors.As(err, &missing) {
			return nil, &resolveError{kind: "interpolation-missing", text: "MissingMandatoryValue while resolving interpolation: " + missing.Error(), err: err}
		}
		return nil, wrapTypeError(err)
	}
	if v == nil {
		return nil, &resolveError{kind: "interpolation-key", text: fmt.Sprintf("Interpolation key '%s' not found", key),
			hint: nearestKey(root, key)}
	}
	for p := parent; p != nil; p = p.parent {
		if p == v {
			return nil, failed("interpolation-cycle", "Interpolation to parent node detected")
		}
	}
	return v, nil
}

// nearestKey words the keys that look like the one not found.
func nearestKey(root *Node, key string) string {
	parts := splitKey(key)
	at := root
	for i, part := range parts {
		next, _ := selectOne(at, part, selectOptions{})
		if next == nil || i == len(parts)-1 {
			near := suggest.Nearest(part, textKeys(at))
			if len(near) == 0 {
				return ""
			}
			return "did you mean '" + strings.Join(append(slices.Clone(parts[:i]), near[0]), ".") + "'?"
		}
		at = next
	}
	return ""
}

// content copies a tree with everything resolved, in key order.
// active holds the containers on the way down, against a mapping that contains itself.
// The copy has the origins of n, so that errors about values point to where they were
// written.
func (r *resolver) content(n *Node, active map[*Node]bool) (*Node, error) {
	v, err := r.deref(n, nil)
	if err != nil {
		return nil, err
	}
	if v.literal {
		c := v.clone()
		if v != n {
			c.origin = n.origin
		}
		return c, nil
	}
	out := &Node{kind: v.kind, text: v.text, origin: n.origin}
	if !v.container() {
		out.literal = v != n
		return out, nil
	}
	if active[v] || len(active) > maxNesting*2 {
		return nil, failed("interpolation-cycle", "Recursive interpolation detected: '%s' contains itself", v.fullKey())
	}
	r.steps++
	if r.steps > maxResolveSteps {
		return nil, failed("interpolation-cycle", "resolving takes more than %d steps", maxResolveSteps)
	}
	active[v] = true
	defer delete(active, v)
	for _, e := range v.entries {
		child, err := r.content(e.Value, active)
		if err != nil {
			return nil, at(err, e.Value)
		}
		child.parent = out
		out.entries = append(out.entries, Entry{e.Key, child})
	}
	for _, item := range v.items {
		child, err := r.content(item, active)
		if err != nil {
			return nil, at(err, item)
		}
		out.push(child)
	}
	return out, nil
}

// at gives a resolving error its place: the innermost node wins.
func at(err error, n *Node) error {
	var done *Error
	if errors.As(err, &done) {
		return err
	}
	var re *resolveError
	if !errors.As(err, &re) {
		re = &resolveError{kind: "interpolation-other", text: err.Error(), err: err}
	}
	e := &Error{Kind: re.kind, Message: re.text, Key: n.fullKey(), Origin: n.origin, Hint: re.hint, Err: re.err}
	if e.Origin.Override != "" {
		e.Column = strings.IndexByte(e.Origin.Override, '=') + 2
	}
	return e
}
