package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/suggest"
)

// resolver evaluates interpolations in a tree.
type resolver struct {
	env    func(string) (string, bool)
	now    time.Time
	hydra  func() *Node     // the hydra node; nil result if there is none yet
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
	hint string // the next step; "" if there is none
	err  error  // cause, if it is another error
}

// Error is OmegaConf's text.
func (e *resolveError) Error() string { return e.text }
func (e *resolveError) Unwrap() error { return e.err }

// failed makes a resolveError without a hint; kind is of the list in docs/hydra.md.
func failed(kind, format string, args ...any) error {
	return &resolveError{kind: kind, text: fmt.Sprintf(format, args...)}
}

// raised words an error that Python raises while resolving.
func raised(class, format string, args ...any) failure {
	return failure{failed("interpolation-other", class+" raised while resolving interpolation: "+format, args...)}
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
// memo may be nil. The error is a *resolveError without the place of n, which at adds.
func (r *resolver) deref(n *Node, memo map[*Node]bool) (v *Node, err error) {
	if !n.Interpolation() {
		return n, nil
	}
	if n.parent == nil {
		return nil, failed("interpolation-other", "Cannot resolve interpolation for a node without a parent")
	}
	r.depth++
	r.stack = append(r.stack, n)
	defer func() {
		r.depth--
		r.stack = r.stack[:len(r.stack)-1]
	}()
	defer catch(&err)
	if r.depth > maxResolveDepth {
		return nil, failed("interpolation-cycle", "Recursive interpolation detected: %s", n.text)
	}
	if err := r.step(); err != nil {
		return nil, err
	}
	if v = r.eval(must(r.parse(n.text)), n.parent, n, memo); v.parent == nil && v != n.root() {
		v.parent = n.parent
	}
	return v, nil
}

// step counts a step and refuses one too many.
func (r *resolver) step() error {
	if r.steps++; r.steps > maxResolveSteps {
		return failed("interpolation-cycle", "resolving takes more than %d steps", maxResolveSteps)
	}
	return nil
}

// literal marks a value that came out of a resolver: its text is not resolved
// again, and a list or mapping of it is no part of the config's tree.
func literal(n *Node) *Node {
	n.literal = true
	for child := range n.children() {
		literal(child)
	}
	return n
}

// eval computes an expression that stands in node, which lies in parent. The
// result may be a node of the tree itself: callers do not change it. It panics with
// a failure, as all that it calls does.
func (r *resolver) eval(e *expr, parent, node *Node, memo map[*Node]bool) *Node {
	switch e.kind {
	case exprText:
		return literal(newText(e.text))
	case exprValue:
		c := *e.value
		return literal(&c)
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
			b.WriteString(pyStr(r.eval(p, parent, node, memo)))
			if b.Len() > maxFileSize {
				panic(failure{failed("interpolation-other", "the interpolated text is longer than %d bytes", maxFileSize)})
			}
		}
		return literal(newText(b.String()))
	case exprList:
		list := newList()
		for _, p := range e.parts {
			list.push(inside(r.eval(p, parent, node, memo)))
		}
		list.literal = true
		return list
	default:
		m := newMap()
		for i, p := range e.parts {
			m.put(e.keys[i], inside(r.eval(p, parent, node, memo)))
		}
		m.literal = true
		return m
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
func (r *resolver) evalNode(e *expr, parent, node *Node, memo map[*Node]bool) *Node {
	var path strings.Builder
	for _, p := range e.parts {
		if p.kind == exprText {
			path.WriteString(p.text)
			continue
		}
		v := r.eval(p, parent, node, memo)
		if v.kind != String {
			panic(failure{failed("interpolation-other", "The following interpolation is used to denote a config key and thus should return a string, "+
				"but instead returned `%s` of type `<class '%s'>`: %s", pyStr(v), pyType(v), p.text)})
		}
		path.WriteString(v.text)
	}
	root, key, err := rootAndKey(parent, path.String())
	if err != nil {
		panic(failure{failed("interpolation-key", "ConfigKeyError while resolving interpolation: %s", err)})
	}
	v, err := r.selectNode(root, key, selectOptions{throwMissing: true, throwFailure: true}, memo)
	var missing *missingError
	switch {
	case errors.As(err, &missing):
		panic(failure{&resolveError{kind: "interpolation-missing", text: "MissingMandatoryValue while resolving interpolation: " + missing.Error(), err: err}})
	case err != nil:
		panic(failure{wrapTypeError(err)})
	case v == nil:
		panic(failure{&resolveError{kind: "interpolation-key", text: fmt.Sprintf("Interpolation key '%s' not found", key), hint: nearestKey(root, key)}})
	}
	for p := parent; p != nil; p = p.parent {
		if p == v {
			panic(failure{failed("interpolation-cycle", "Interpolation to parent node detected")})
		}
	}
	return v
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
	if err := r.step(); err != nil {
		return nil, err
	}
	active[v] = true
	defer delete(active, v)
	for _, e := range v.entries {
		child, err := r.content(e.Value, active)
		if err != nil {
			return nil, at(err, e.Value)
		}
		out.put(e.Key, child)
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

// rootAndKey finds where a key starts: at the root, or with dots so many
// levels above.
func rootAndKey(container *Node, key string) (*Node, string, error) {
	if !strings.HasPrefix(key, ".") {
		return container.root(), key, nil
	}
	at, rest := container, key
	for {
		rest = rest[1:]
		if !strings.HasPrefix(rest, ".") {
			return at, rest, nil
		}
		if at = at.parent; at == nil {
			return nil, "", fmt.Errorf("Error resolving key '%s'", key) // in the words of omegaconf
		}
	}
}

// splitKey splits a.b[c].d into its parts.
// A bracket that is not closed ends the key.
func splitKey(key string) []string {
	head := 0
	for head < len(key) && key[head] == '.' {
		head++
	}
	for head < len(key) && key[head] != '.' && key[head] != '[' {
		head++
	}
	parts := strings.Split(key[:head], ".")
	rest := key[head:]
	if rest == "" {
		return parts
	}
	if rest[0] == '[' && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	for rest != "" {
		switch rest[0] {
		case '.':
			end := 1
			for end < len(rest) && rest[end] != '.' && rest[end] != '[' {
				end++
			}
			parts = append(parts, rest[1:end])
			rest = rest[end:]
		case '[':
			end := strings.IndexByte(rest, ']')
			if end < 0 {
				return parts
			}
			parts = append(parts, rest[1:end])
			rest = rest[end+1:]
		default:
			rest = rest[1:]
		}
	}
	return parts
}

// selectOptions says what is an error on the way to a value.
type selectOptions struct {
	throwMissing bool // a "???" on the way is an error
	throwFailure bool // a failed interpolation on the way is an error
}

// missingError is a "???" where a value was needed.
type missingError struct{ key string }

// Error names the key in full: the value "???" says nothing.
func (e *missingError) Error() string { return "Missing mandatory value: " + e.key }

// typeError is a path through something that holds nothing.
type typeError struct {
	class string
	text  string
}

// Error is OmegaConf's text.
func (e *typeError) Error() string { return e.text }

// wrapTypeError gives a typeError that an interpolation met the words of
// omegaconf.
func wrapTypeError(err error) error {
	if te, ok := err.(*typeError); ok {
		return &resolveError{kind: "interpolation-other", text: te.class + " raised while resolving interpolation: " + te.text, err: err}
	}
	return err
}

// treeContainer tells a map or list of the tree from a value that only looks
// like one.
func (n *Node) treeContainer() bool { return n.container() && !n.literal }

// selectOne looks a key up without resolving.
// nil without an error if the key, or the index, does not exist.
func selectOne(c *Node, key string, o selectOptions) (*Node, error) {
	var v *Node
	if c.kind == List {
		i, ok := listIndex(key)
		switch {
		case !ok && o.throwFailure:
			return nil, &typeError{"TypeError", fmt.Sprintf("Index '%s' (str) is not an int", key)}
		case ok && i >= 0 && i < len(c.items):
			v = c.items[i]
		}
	} else {
		v = c.Get(key)
	}
	if v != nil && v.Missing() && !v.literal && o.throwMissing {
		return nil, &missingError{v.fullKey()}
	}
	return v, nil
}

// listIndex reads the index of a list.
// It may be negative or too large: callers check it.
func listIndex(s string) (int, bool) {
	i, err := strconv.Atoi(strings.TrimSpace(s))
	return i, err == nil
}

// selectNode follows a dotted path below root, through interpolations; nil
// if there is nothing.
// The last part is resolved too. nil means absent; a null value is a node of kind Null.
func (r *resolver) selectNode(root *Node, key string, o selectOptions, memo map[*Node]bool) (*Node, error) {
	if key == "" {
		return root, nil
	}
	parts := splitKey(key)
	if len(parts) == 0 {
		return root, nil
	}
	at := root
	for i, part := range parts[:len(parts)-1] {
		v, err := selectOne(at, part, o)
		if err != nil {
			return nil, err
		}
		if v == nil {
			return nil, nil
		}
		if v, err = r.maybeDeref(v, o.throwFailure, memo); err != nil || v == nil {
			return nil, err
		}
		if !v.treeContainer() {
			return nil, &typeError{"ConfigTypeError", fmt.Sprintf("Error trying to access %s: node `%s` is not a container and thus cannot contain `%s`",
				key, strings.Join(parts[:i+1], "."), parts[i+1])}
		}
		at = v
	}
	last, err := selectOne(at, parts[len(parts)-1], o)
	if err != nil || last == nil {
		return nil, err
	}
	if memo[last] {
		return nil, failed("interpolation-cycle", "Recursive interpolation detected%s", r.cyclePath(last))
	}
	if !last.Interpolation() {
		return last, nil
	}
	if memo == nil {
		memo = map[*Node]bool{}
	} else {
		memo[last] = true
		defer delete(memo, last)
	}
	return r.maybeDeref(last, o.throwFailure, memo)
}

// cyclePath names the values on the way from a node back to itself.
func (r *resolver) cyclePath(last *Node) string {
	start := slices.Index(r.stack, last)
	if start < 0 {
		return ""
	}
	keys := []string{last.fullKey()}
	for _, n := range r.stack[start+1:] {
		if n == last {
			break
		}
		keys = append(keys, n.fullKey())
	}
	keys = append(keys, last.fullKey())
	return ": " + strings.Join(keys, " -> ")
}

// maybeDeref resolves; if failures are not wanted they give nil.
func (r *resolver) maybeDeref(n *Node, throw bool, memo map[*Node]bool) (*Node, error) {
	v, err := r.deref(n, memo)
	if err != nil && !throw {
		return nil, nil
	}
	return v, err
}
