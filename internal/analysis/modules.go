package analysis

import (
	"cmp"
	"slices"
	"strings"
)

// A ModuleBox is a module of the model in the tree of modules, or a stage at its top,
// with the modules of all layers at one place as one. A parent stands before what is
// nested in it.
type ModuleBox struct {
	Name  string  `json:"name"`
	Path  string  `json:"path"` // stage, then modules with dots
	Depth int     `json:"depth"`
	From  float64 `json:"from"`  // where it begins, as a share of the GPU time of the tree
	Share float64 `json:"share"` // of the GPU time of the tree, with what is nested in it
	NS    int64   `json:"ns"`
	OwnNS int64   `json:"own_ns"` // outside nested modules
	Calls int64   `json:"calls"`
}

// leastBox is the share of the tree from which a module has a box.
const leastBox = 0.001

// A moduleNode is a module on its way: own and calls are outside nested modules, ns and
// allCalls with them, known after sum.
type moduleNode struct {
	name         string
	own, calls   int64
	ns, allCalls int64
	children     map[string]*moduleNode
}

// child makes the node where it is not there yet.
func (n *moduleNode) child(name string) *moduleNode {
	if n.children == nil {
		n.children = map[string]*moduleNode{}
	}
	c := entry(n.children, name)
	c.name = name
	return c
}

// sum fills in ns and allCalls from below.
func (n *moduleNode) sum() {
	n.ns, n.allCalls = n.own, n.calls
	for _, c := range n.children {
		c.sum()
		n.ns, n.allCalls = n.ns+c.ns, n.allCalls+c.allCalls
	}
}

// moduleTree lays out the work of places; nil where no module is known.
func moduleTree(places []LaunchPlace) []ModuleBox {
	var root moduleNode
	any := false
	for _, p := range places {
		if p.Stage == "" {
			continue
		}
		n := root.child(p.Stage)
		for _, name := range moduleNames(p.Module) {
			any = true
			n = n.child(name)
		}
		n.own, n.calls = n.own+p.NS, n.calls+p.Calls
	}
	root.sum()
	if !any || root.ns == 0 {
		return nil
	}
	var out []ModuleBox
	root.place(&out, "", 0, 0, float64(root.ns))
	return out
}

// place appends the boxes of the children, widest first. A child that is too narrow has
// no box, and keeps its room.
func (n *moduleNode) place(out *[]ModuleBox, path string, depth int, from, total float64) {
	list := make([]*moduleNode, 0, len(n.children))
	for _, c := range n.children {
		list = append(list, c)
	}
	slices.SortFunc(list, func(x, y *moduleNode) int { return cmp.Or(cmp.Compare(y.ns, x.ns), cmp.Compare(x.name, y.name)) })
	for _, c := range list {
		share := float64(c.ns) / total
		if share >= leastBox {
			whole := c.name
			if path != "" {
				whole = path + map[bool]string{true: "/", false: "."}[depth == 1] + c.name
			}
			*out = append(*out, ModuleBox{Name: c.name, Path: whole, Depth: depth, From: from, Share: share, NS: c.ns, OwnNS: c.own, Calls: c.allCalls})
			c.place(out, whole, depth+1, from, total)
		}
		from += share
	}
}

// moduleNames are the parts of the place of a module; an index stays with what it
// counts: model, layers.*, mlp. None for work in no module.
func moduleNames(module string) []string {
	if module == "" {
		return nil
	}
	names := strings.Split(strings.ReplaceAll(module, ".*", "\x00"), ".")
	for i := range names {
		names[i] = strings.ReplaceAll(names[i], "\x00", ".*")
	}
	return names
}
