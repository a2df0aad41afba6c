package config

import (
	"iter"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// Kind is the type of a node's value.
type Kind uint8

const (
	Null Kind = iota // the zero Kind, so the zero Node is null
	Bool
	Int
	Float
	String
	Map
	List
)

// kindNames are by Kind, in its order.
var kindNames = [...]string{"null", "bool", "int", "float", "string", "map", "list"}

// String names the kind as an error message does.
func (k Kind) String() string { return kindNames[k] }

// Origin says where a value was written: in a file or in an override. The
// zero Origin belongs to a value that the program itself supplied.
type Origin struct {
	File     string // display path; "" for an override
	Line     int    // 1-based; 0 if unknown
	Column   int    // 1-based, in characters
	Override string // the override as it was typed; "" for a file
}

// String gives file:line:column, or the override.
func (o Origin) String() string {
	switch {
	case o.Override != "":
		return "override " + o.Override
	case o.File == "":
		return "built-in"
	case o.Line == 0:
		return o.File
	}
	return o.File + ":" + strconv.Itoa(o.Line) + ":" + strconv.Itoa(o.Column)
}

// Entry is one key of a mapping with its value. Key is a scalar node; most
// keys are strings, but YAML also allows 1, 2.5 and true.
type Entry struct {
	Key   *Node
	Value *Node
}

// Node is a value of a configuration tree: a scalar, a mapping or a list.
// Nodes that Compose and Resolve return must not be changed; goroutines may share
// them.
type Node struct {
	kind Kind
	// a scalar: true or false, decimal digits, Python's repr of a float, or the string itself
	text string
	// of a Map, in the order in which keys first came; a merge keeps the place of a key
	entries []Entry
	index   map[nodeKey]int // entries by key; nil for fewer than indexFrom of them
	items   []*Node
	origin  Origin
	parent  *Node // the map or list that holds the node
	literal bool  // a String that interpolation must leave alone
}

// Kind returns the type of the value. An unresolved interpolation and a
// missing value are Strings.
func (n *Node) Kind() Kind { return n.kind }

// Origin returns where the value was written.
// A value that an interpolation gave has the place of the interpolation.
func (n *Node) Origin() Origin { return n.origin }

// Bool returns the value of a Bool.
// ok is false for any other kind, also for words such as "yes" in quotes.
func (n *Node) Bool() (value, ok bool) { return n.text == "true", n.kind == Bool }

// Int returns the value of an Int that fits 64 bits.
// ok is false for a larger one: Digits has those.
func (n *Node) Int() (int64, bool) {
	i, err := strconv.ParseInt(n.text, 10, 64)
	return i, n.kind == Int && err == nil
}

// Digits returns the decimal digits of an Int of any size, "" for other kinds.
func (n *Node) Digits() string {
	if n.kind != Int {
		return ""
	}
	return n.text
}

// Float returns the value of a Float; an Int is no Float.
func (n *Node) Float() (float64, bool) {
	f, _ := strconv.ParseFloat(n.text, 64) // the text of a Float always parses
	return f, n.kind == Float
}

// Text returns the value of a String; of an unresolved interpolation it is the
// text with the "${".
func (n *Node) Text() (string, bool) { return n.text, n.kind == String }

// Entries returns the keys and values of a Map in their order, none for nil.
func (n *Node) Entries() []Entry {
	if n == nil {
		return nil
	}
	return n.entries
}

// Items returns the elements of a List.
// The slice is the node's own: do not change it. It is empty for other kinds.
func (n *Node) Items() []*Node { return n.items }

// Len returns the number of entries or items, 0 for a scalar.
func (n *Node) Len() int { return len(n.entries) + len(n.items) }

// Missing tells whether the value is "???": to be given by the user.
func (n *Node) Missing() bool { return n.kind == String && n.text == "???" }

// Interpolation tells whether the value still holds an unresolved "${...}".
func (n *Node) Interpolation() bool {
	return n.kind == String && !n.literal && strings.Contains(n.text, "${")
}

// Get returns the value of a string key of a Map, or nil.
// It may be called on nil.
func (n *Node) Get(key string) *Node {
	if n == nil || n.kind != Map {
		return nil
	}
	return n.child(nodeKey{String, key})
}

// Lookup follows a dotted path of keys and list indices, without resolving
// interpolations on the way; nil if there is nothing.
func (n *Node) Lookup(path string) *Node {
	if path == "" {
		return n
	}
	for part := range strings.SplitSeq(path, ".") {
		switch {
		case n == nil:
			return nil
		case n.kind == List:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(n.items) {
				return nil
			}
			n = n.items[i]
		default:
			n = n.Get(part)
		}
	}
	return n
}

// Walk calls fn for every node below n in key order, parents first, with its
// dotted path. fn returns false to leave out what lies below a node.
// Keys that hold dots are not escaped, so a path is for people and for keys without.
func (n *Node) Walk(fn func(path string, n *Node) bool) { n.walk("", fn) }

// walk visits items of lists by their index.
func (n *Node) walk(path string, fn func(string, *Node) bool) {
	visit := func(key string, child *Node) {
		p := key
		if path != "" {
			p = path + "." + key
		}
		if fn(p, child) {
			child.walk(p, fn)
		}
	}
	for _, e := range n.entries {
		visit(pyStr(e.Key), e.Value)
	}
	for i, item := range n.items {
		visit(strconv.Itoa(i), item)
	}
}

// nodeKey identifies a key within a mapping: 1, 1.0, true and "1" are four
// keys.
type nodeKey struct {
	kind Kind
	text string
}

// indexFrom is the size from which a mapping keeps an index of its keys.
const indexFrom = 12

// keyOf is for scalars only.
func keyOf(n *Node) nodeKey { return nodeKey{n.kind, n.text} }

// The constructors give nodes without an origin and a parent. Null, true and numbers
// keep their text in canonical form, so that nodes compare by kind and text.
func newMap() *Node             { return &Node{kind: Map} }
func newList() *Node            { return &Node{kind: List} }
func newNull() *Node            { return &Node{kind: Null} }
func newText(s string) *Node    { return &Node{kind: String, text: s} }
func newBool(b bool) *Node      { return &Node{kind: Bool, text: strconv.FormatBool(b)} }
func newInt(i *big.Int) *Node   { return &Node{kind: Int, text: i.String()} }
func newFloat(f float64) *Node  { return &Node{kind: Float, text: pyFloat(f)} }
func (n *Node) container() bool { return n.kind == Map || n.kind == List }

// newTexts makes a list of strings.
func newTexts(texts []string) *Node {
	list := newList()
	for _, t := range texts {
		list.push(newText(t))
	}
	return list
}

// find gives the place of a key, -1 if it is not there. It changes nothing.
func (n *Node) find(k nodeKey) int {
	if n.index == nil {
		return slices.IndexFunc(n.entries, func(e Entry) bool { return k == keyOf(e.Key) })
	}
	if i, ok := n.index[k]; ok {
		return i
	}
	return -1
}

// reindex makes the index of a large mapping, so that a file of any size is read in
// linear time.
func (n *Node) reindex() {
	n.index = nil
	if len(n.entries) < indexFrom {
		return
	}
	n.index = make(map[nodeKey]int, len(n.entries))
	for i, e := range n.entries {
		n.index[keyOf(e.Key)] = i
	}
}

// child gives the value of a key, nil if it is not there.
func (n *Node) child(k nodeKey) *Node {
	if i := n.find(k); i >= 0 {
		return n.entries[i].Value
	}
	return nil
}

// put sets a key, in its old place where it exists.
func (n *Node) put(key, value *Node) {
	value.parent = n
	k := keyOf(key)
	if i := n.find(k); i >= 0 {
		n.entries[i].Value = value
		return
	}
	n.entries = append(n.entries, Entry{key, value})
	if n.index == nil {
		n.reindex()
		return
	}
	n.index[k] = len(n.entries) - 1
}

// putText is put for a key that is a string.
func (n *Node) putText(key string, value *Node) { n.put(newText(key), value) }

// remove keeps the order of the others; an absent key is no error. Slices of entries
// that were handed out before stay as they were.
func (n *Node) remove(k nodeKey) {
	if i := n.find(k); i >= 0 {
		n.entries = append(n.entries[:i:i], n.entries[i+1:]...)
		n.reindex()
	}
}

// push makes n the parent of item, which must not be part of another tree.
func (n *Node) push(item *Node) {
	item.parent = n
	n.items = append(n.items, item)
}

// children are the values right below n, in order; none for a scalar.
func (n *Node) children() iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		for _, e := range n.entries {
			if !yield(e.Value) {
				return
			}
		}
		for _, item := range n.items {
			if !yield(item) {
				return
			}
		}
	}
}

// clone copies the tree below n. The copy has no parent.
func (n *Node) clone() *Node {
	c := *n
	c.parent, c.index = nil, maps.Clone(n.index)
	if n.entries != nil {
		c.entries = make([]Entry, len(n.entries))
		for i, e := range n.entries {
			v := e.Value.clone()
			v.parent = &c
			c.entries[i] = Entry{e.Key, v}
		}
	}
	if n.items != nil {
		c.items = make([]*Node, len(n.items))
		for i, item := range n.items {
			c.items[i] = item.clone()
			c.items[i].parent = &c
		}
	}
	return &c
}

// reparent makes the parents right below n after nodes moved.
func (n *Node) reparent() {
	for child := range n.children() {
		child.parent = n
		child.reparent()
	}
}

// root is n itself if it has no parent.
func (n *Node) root() *Node {
	for n.parent != nil {
		n = n.parent
	}
	return n
}

// keyIn returns how a node is called in its parent.
// "" for a root, "[2]" within a list. It searches the parent, so use it for messages only.
func (n *Node) keyIn() string {
	if n.parent == nil {
		return ""
	}
	for _, e := range n.parent.entries {
		if e.Value == n {
			return pyStr(e.Key)
		}
	}
	for i, item := range n.parent.items {
		if item == n {
			return "[" + strconv.Itoa(i) + "]"
		}
	}
	return ""
}

// fullKey is the path of a node as omegaconf writes it: a.b[0].c
// "" for a root.
func (n *Node) fullKey() string {
	path := ""
	for ; n.parent != nil; n = n.parent {
		key := n.keyIn()
		switch {
		case path == "":
			path = key
		case path[0] == '[':
			path = key + path
		default:
			path = key + "." + path
		}
	}
	return path
}

// scalarEqual compares two scalars; an integer equals the float of its value.
// Two NaNs are equal here, unlike in Python.
func scalarEqual(a, b *Node) bool {
	if a.kind == Float && b.kind == Int || a.kind == Int && b.kind == Float {
		return parseFloat(a.text) == parseFloat(b.text)
	}
	return keyOf(a) == keyOf(b)
}
