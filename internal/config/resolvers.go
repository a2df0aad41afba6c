package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ncruces/go-strftime"

	"github.com/deepprof/deepprof/internal/suggest"
)

// call is the use of a resolver.
type call struct {
	r      *resolver
	name   string
	args   []*Node
	parent *Node // the map or list that holds the node
	node   *Node
}

// resolverFunc is what an interpolation can call.
type resolverFunc struct {
	min, max int                 // number of arguments
	fn       func(c *call) *Node // it panics with a failure
}

// resolvers are the functions that an interpolation may call, by name. They call
// eval, which looks them up: so they are no variable.
func resolvers() map[string]resolverFunc {
	return map[string]resolverFunc{
		"oc.env": {1, 2, resolveEnv}, "oc.select": {1, 2, resolveSelect}, "oc.decode": {1, 1, resolveDecode}, "oc.create": {1, 1, resolveCreate},
		"oc.dict.keys": {1, 1, resolveKeys}, "oc.dict.values": {1, 1, resolveValues}, "now": {1, 1, resolveNow}, "hydra": {1, 1, resolveHydra},
	}
}

// evalCall evaluates ${name:args}. Arguments come first, as in omegaconf: one that
// fails is an error even if the resolver would not have needed it.
func (r *resolver) evalCall(e *expr, parent, node *Node, memo map[*Node]bool) *Node {
	var names []string
	for _, p := range e.name {
		v := r.eval(p, parent, node, memo)
		if v.kind != String {
			panic(failure{failed("interpolation-other", "The name of a resolver must be a string, but the interpolation %s resolved to `%s` which is of type <class '%s'>",
				p.text, pyStr(v), pyType(v))})
		}
		names = append(names, v.text)
	}
	c := &call{r: r, name: strings.Join(names, "."), parent: parent, node: node}
	for _, a := range e.args {
		c.args = append(c.args, r.eval(a, parent, node, memo))
	}
	f, known := resolvers()[c.name]
	if !known {
		names := slices.Sorted(maps.Keys(resolvers()))
		hint := "the resolvers are " + strings.Join(names, ", ")
		if near := suggest.Question(c.name, names); near != "" {
			hint = near + " " + hint
		}
		panic(failure{&resolveError{kind: "interpolation-resolver", text: "Unsupported interpolation type " + c.name, hint: hint}})
	}
	if len(c.args) < f.min || len(c.args) > f.max {
		want := fmt.Sprint(f.min)
		if f.max > f.min {
			want = fmt.Sprintf("%d to %d", f.min, f.max)
		}
		panic(raised("TypeError", "%s takes %s arguments but %d were given", c.name, want, len(c.args)))
	}
	return f.fn(c)
}

// text is the first argument; another kind than a string is Python's TypeError.
func (c *call) text() string {
	arg := c.args[0]
	if arg.kind != String {
		panic(raised("TypeError", "%s takes a string, but `%s` is of type %s", c.name, pyStr(arg), pyType(arg)))
	}
	return arg.text
}

// resolveEnv is oc.env: always a string, null only as a default.
func resolveEnv(c *call) *Node {
	name := c.text()
	if value, ok := c.r.env(name); ok {
		return literal(newText(value))
	}
	if len(c.args) < 2 {
		panic(failure{failed("interpolation-env", "KeyError raised while resolving interpolation: \"Environment variable '%s' not found\"", name)})
	}
	if c.args[1].kind == Null {
		return newNull()
	}
	return literal(newText(pyStr(c.args[1])))
}

// selectValue is omegaconf's select: nil if there is nothing or "???".
func (r *resolver) selectValue(container *Node, key string, o selectOptions) (*Node, error) {
	root, rest, err := rootAndKey(container, key)
	if err != nil {
		return nil, raised("ConfigKeyError", "%s", err).err
	}
	v, err := r.selectNode(root, rest, o, nil)
	if err != nil {
		// One that a resolved value raised is wrapped, and not forgiven.
		if te, ok := err.(*typeError); ok && te.class == "ConfigTypeError" {
			return nil, nil
		}
		return nil, err
	}
	if v == nil || v.Missing() {
		return nil, nil
	}
	return v, nil
}

// resolveSelect is oc.select: the default counts for what is absent or ???, not
// for null.
func resolveSelect(c *call) *Node {
	key := c.text()
	v, err := c.r.selectValue(c.parent, key, selectOptions{throwFailure: true})
	switch {
	case err != nil:
		panic(failure{wrapTypeError(err)})
	case v != nil:
		return v
	case len(c.args) > 1:
		return c.args[1]
	}
	return newNull()
}

// resolveDecode is oc.decode: it reads a string as an override's value would be.
func resolveDecode(c *call) *Node {
	if c.args[0].kind == Null {
		return newNull()
	}
	text := c.text()
	e, err := parseElement(text)
	if err != nil {
		panic(failure{&resolveError{kind: "interpolation-syntax", text: "GrammarParseError raised while resolving interpolation: " + err.Error(), err: err}})
	}
	c.r.depth++
	defer func() { c.r.depth-- }()
	if c.r.depth > maxResolveDepth {
		panic(failure{failed("interpolation-cycle", "Recursive interpolation detected: %s", text)})
	}
	return c.r.eval(e, c.parent, c.node, nil)
}

// resolveCreate makes a value part of the tree: what is below it can be
// referred to and may itself hold interpolations.
func resolveCreate(c *call) *Node {
	v := c.args[0]
	switch {
	case v.container():
		v = v.clone()
	case v.kind == String:
		parsed, err := readYAML("oc.create", []byte(v.text))
		if err != nil {
			panic(failure{&resolveError{kind: "interpolation-other", text: err.Error(), err: err}})
		}
		switch {
		case parsed == nil || parsed.kind == Null:
			v = newMap()
		case parsed.kind == String:
			v = newMap()
			v.put(parsed, newNull())
		case parsed.container():
			v = parsed
		default:
			panic(raised("ValidationError", "oc.create cannot make a config of `%s`", v.text))
		}
	case v.kind == Null:
		return newNull()
	default:
		panic(raised("ValidationError", "Object of unsupported type: '%s'", pyType(v)))
	}
	plant(v)
	v.parent = c.parent
	return v
}

// plant takes the mark of a foreign value off a tree.
func plant(n *Node) {
	n.literal = false
	for child := range n.children() {
		child.parent = n
		plant(child)
	}
}

// dict finds the mapping that oc.dict.keys and oc.dict.values are about.
// key is the argument as it was written, for resolveValues.
func (c *call) dict() (d *Node, key string) {
	key = c.text()
	v, err := c.r.selectValue(c.parent, key, selectOptions{throwMissing: true, throwFailure: true})
	var missing *missingError
	switch {
	case errors.As(err, &missing):
		panic(raised("MissingMandatoryValue", "%s", missing))
	case err != nil:
		panic(failure{wrapTypeError(err)})
	case v == nil:
		panic(raised("ConfigKeyError", "Key not found: '%s'", key))
	case v.kind != Map || v.literal:
		name := pyType(v)
		if v.kind == List {
			name = "ListConfig"
		}
		panic(raised("TypeError", "`%s` cannot be applied to objects of type: %s", c.name, name))
	}
	return v, key
}

// resolveKeys is oc.dict.keys.
// Keys keep their types and the order of the mapping.
func resolveKeys(c *call) *Node {
	d, _ := c.dict()
	list := newList()
	for _, e := range d.entries {
		k := *e.Key
		list.push(&k)
	}
	list.parent = c.parent
	return list
}

// resolveValues is oc.dict.values: a list of interpolations, so that later changes
// of the mapping count.
func resolveValues(c *call) *Node {
	d, key := c.dict()
	if strings.HasPrefix(key, ".") {
		key = "." + key // the list is one level further down
	}
	list := newList()
	for _, e := range d.entries {
		item := newText("${" + key + "." + pyStr(e.Key) + "}")
		item.origin = e.Value.origin
		list.push(item)
	}
	list.parent = c.parent
	return list
}

// resolveNow is now: one moment for the whole configuration.
// The format is that of strftime; the time is Options.Now in its own zone.
func resolveNow(c *call) *Node {
	format := c.text()
	return literal(newText(strftime.Format(format, c.r.now)))
}

// resolveHydra is hydra: a value of the hydra node, null if it has none.
func resolveHydra(c *call) *Node {
	path := c.text()
	hydra := c.r.hydra()
	if hydra == nil {
		panic(raised("ValueError", "HydraConfig was not set"))
	}
	v, err := c.r.selectValue(hydra, "."+path, selectOptions{throwFailure: true})
	if err != nil {
		panic(failure{wrapTypeError(err)})
	}
	if v == nil {
		return newNull()
	}
	return v
}
