package config

import (
	"fmt"
	"strings"
)

// mergeError is a merge that cannot be done, before the place is added.
type mergeError struct {
	kind string
	text string
	key  string // the key that struct mode refuses
	// the keys beside it, for a suggestion; nil unless kind is "unknown-key"
	near []string
}

// Error is Hydra's text, which tests hold against the original.
func (e *mergeError) Error() string { return e.text }

// errMergeKinds has the words of omegaconf.
func errMergeKinds() error {
	return &mergeError{kind: "merge-type", text: "Cannot merge DictConfig with ListConfig"}
}

// notInStruct refuses a new key, naming the keys that exist beside it.
func notInStruct(dest *Node, key *Node) error {
	return &mergeError{kind: "unknown-key", text: fmt.Sprintf("Key '%s' is not in struct", pyStr(key)), key: pyStr(key), near: textKeys(dest)}
}

// merger merges trees by omegaconf's rules.
type merger struct {
	resolve *resolver
}

// mergeInto merges src into dest, both maps or both lists. In struct mode a
// new key is an error. Nodes of src become nodes of dest.
// Lists are replaced, not joined. On an error dest is changed in part.
func (m *merger) mergeInto(dest, src *Node, structMode bool) error {
	if dest.kind != src.kind {
		return errMergeKinds()
	}
	if dest.kind == List {
		items := src.items // src may be dest: a file that is included twice
		dest.items = nil
		for _, item := range items {
			dest.push(item)
		}
		dest.origin = src.origin
		return nil
	}
	for _, e := range src.entries {
		if err := m.mergeKey(dest, e.Key, e.Value, structMode); err != nil {
			return err
		}
	}
	return nil
}

// mergeKey merges one key. Mappings and lists merge, everything else is replaced;
// src becomes part of dest.
// An old value that is an interpolation to a scalar, or to nothing yet, is replaced.
func (m *merger) mergeKey(dest, key, src *Node, structMode bool) error {
	old := dest.child(keyOf(key))
	if old != nil && old.Interpolation() {
		// Merging onto an interpolation to a mapping or list copies the target
		// as it is now.
		if target, err := m.resolve.maybeDeref(old, false, nil); err == nil && target != nil && target.treeContainer() {
			old = target.clone()
			dest.put(key, old)
		}
	}
	switch {
	case old == nil:
		if structMode {
			return notInStruct(dest, key)
		}
		dest.put(key, src)
	case src.Missing():
		// "???" never erases a value.
	case old.container() && src.container():
		return m.mergeInto(old, src, structMode)
	default:
		dest.put(key, src)
	}
	return nil
}

// set assigns a value to a key as an override does.
// A list takes only an index that it has: it never grows. The error is a *mergeError.
func (m *merger) set(container *Node, key string, value *Node, structMode bool) error {
	if err := checkText(value); err != nil {
		return err
	}
	if container.kind == List {
		i, ok := listIndex(key)
		if !ok {
			return &mergeError{kind: "list-index", text: fmt.Sprintf("'%s' is no index of a list", key)}
		}
		if i < 0 || i >= len(container.items) {
			return &mergeError{kind: "list-index", text: "list index out of range"}
		}
		value.parent = container
		container.items[i] = value
		return nil
	}
	k := newText(key)
	if structMode && container.child(keyOf(k)) == nil {
		return notInStruct(container, k)
	}
	container.put(k, value)
	return nil
}

// checkText refuses malformed interpolations anywhere in a value.
// A key that is null is refused, too. The error is a *mergeError.
func checkText(n *Node) error {
	if n.kind == String && strings.Contains(n.text, "${") {
		if _, err := parseText(n.text); err != nil {
			return &mergeError{kind: "interpolation-syntax", text: err.Error()}
		}
	}
	for _, e := range n.entries {
		if e.Key.kind == Null {
			return &mergeError{kind: "merge-type", text: "Incompatible key type 'NoneType'"}
		}
	}
	for child := range n.children() {
		if err := checkText(child); err != nil {
			return err
		}
	}
	return nil
}

// update sets a dotted key. Mappings and lists merge into what is there; force
// adds what is not.
// What stands in the way of a dotted key, such as a number, is replaced by a mapping
// if force allows it.
// Without force a key that does not exist is a *mergeError of the kind "unknown-key". On an
// error cfg may be changed in part.
func (m *merger) update(cfg *Node, key string, value *Node, force bool) error {
	parts := splitKey(key)
	at := cfg
	for _, part := range parts[:len(parts)-1] {
		next, err := selectOne(at, part, selectOptions{throwFailure: true})
		if err != nil {
			return &mergeError{kind: "list-index", text: err.Error()}
		}
		if next == nil || !next.container() {
			next = newMap()
			next.origin = value.origin
			if err := m.set(at, part, next, !force); err != nil {
				return err
			}
		}
		at = next
	}
	last := parts[len(parts)-1]
	if value.container() {
		if err := checkText(value); err != nil {
			return err
		}
		old, err := selectOne(at, last, selectOptions{throwFailure: true})
		if err != nil {
			return &mergeError{kind: "list-index", text: err.Error()}
		}
		if old != nil && old.container() {
			return m.mergeInto(old, value, !force)
		}
	}
	return m.set(at, last, value, !force)
}
