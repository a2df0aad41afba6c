package config

import (
	"math/big"
	"strconv"
)

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

// find gives the place of a key, -1 where it is not there. Large mappings keep an
// index, so that a file of any size is read in linear time.
func (n *Node) find(k nodeKey) int {
	if len(n.entries) < indexFrom {
		for i, e := range n.entries {
			if k == keyOf(e.Key) {
				return i
			}
		}
		return -1
	}
	if n.index == nil {
		n.index = make(map[nodeKey]int, len(n.entries))
		for i, e := range n.entries {
			n.index[keyOf(e.Key)] = i
		}
	}
	if i, ok := n.index[k]; ok {
		return i
	}
	return -1
}

// child gives the value of a key, nil where it is not there.
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
	if n.index != nil {
		n.index[k] = len(n.entries) - 1
	}
}

func (n *Node) putText(key string, value *Node) { n.put(newText(key), value) }

// remove keeps the order of the others; an absent key is no error. Slices of entries
// that were handed out before stay as they were.
func (n *Node) remove(k nodeKey) {
	if i := n.find(k); i >= 0 {
		n.entries = append(n.entries[:i:i], n.entries[i+1:]...)
		n.index = nil
	}
}

// push makes n the parent of item, which must not be part of another tree.
func (n *Node) push(item *Node) {
	item.parent = n
	n.items = append(n.items, item)
}

// clone copies the tree below n. The copy has no parent.
func (n *Node) clone() *Node {
	c := *n
	c.parent, c.index = nil, nil
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
	for _, e := range n.entries {
		e.Value.parent = n
		e.Value.reparent()
	}
	for _, item := range n.items {
		item.parent = n
		item.reparent()
	}
}

// root is n itself where it has no parent.
func (n *Node) root() *Node {
	for n.parent != nil {
		n = n.parent
	}
	return n
}

// keyIn returns how a node is called in its parent.
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
func scalarEqual(a, b *Node) bool {
	if a.kind == Float && b.kind == Int || a.kind == Int && b.kind == Float {
		return parseFloat(a.text) == parseFloat(b.text)
	}
	return keyOf(a) == keyOf(b)
}
