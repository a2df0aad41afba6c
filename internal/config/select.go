package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

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

func (e *missingError) Error() string { return "Missing mandatory value: " + e.key }

// typeError is a path through something that holds nothing.
type typeError struct {
	class string
	text  string
}

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
func listIndex(s string) (int, bool) {
	i, err := strconv.Atoi(strings.TrimSpace(s))
	return i, err == nil
}

// selectNode follows a dotted path below root, through interpolations; nil
// where there is nothing.
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

// maybeDeref resolves; where failures are not wanted they give nil.
func (r *resolver) maybeDeref(n *Node, throw bool, memo map[*Node]bool) (*Node, error) {
	v, err := r.deref(n, memo)
	if err != nil && !throw {
		return nil, nil
	}
	return v, err
}
