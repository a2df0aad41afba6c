package config

import (
	"fmt"
)

// groupOverrides are the choices made for groups by the command line and by
// "override" entries, and what became of them.
type groupOverrides struct {
	choices   map[string]*groupChoice // by override key
	order     []string                // keys of choices in the order they were made
	appended  []*inputDefault         // "+group=option": they come last in the primary's list
	values    []*override             // overrides of values, in order
	deletions map[string]*deletion    // by override key
	delOrder  []string                // keys of deletions in the order they were made
	known     map[string]choice       // what the defaults lists came to, by override key
	knownKeys []string                // keys of known in the order they were met
	perGroup  map[string][]string     // override keys seen of a group
}

// groupChoice is a choice for a group, with where it was made, and whether the defaults
// lists have that group.
type groupChoice struct {
	choice
	external bool   // made on the command line
	from     string // config path of the file that holds the override; "" if external
	origin   Origin
	used     bool // a defaults list has the group
}

// deletion is "~group" or "~group=name": a group to leave out of the defaults
// lists. Without hasName any option is left out.
type deletion struct {
	name    string
	hasName bool
	used    bool
	origin  Origin
}

// newGroupOverrides sorts the overrides into choices of groups and values: it
// is a group if a folder of that name exists.
// An override with a dictionary is always one of values, even if a group has its name.
func newGroupOverrides(r *repo, overrides []*override) (*groupOverrides, error) {
	g := &groupOverrides{
		choices: map[string]*groupChoice{}, deletions: map[string]*deletion{},
		known: map[string]choice{}, perGroup: map[string][]string{},
	}
	for _, o := range overrides {
		if o.value != nil && o.value.kind == Map || !r.groupExists(o.key) {
			g.values = append(g.values, o)
			continue
		}
		if err := g.addGroup(o); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// origin holds the line as typed, also after a rename.
func (o *override) origin() Origin { return Origin{Override: o.line} }

// fullKey is the key with its package, as it is typed: group@package.
func (o *override) fullKey() string {
	if o.hasPkg {
		return o.key + "@" + o.pkg
	}
	return o.key
}

// errorf makes an error that points at the key of the override.
func (o *override) errorf(kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...), Key: o.key, Origin: o.origin(), Column: o.keyPos + 1}
}

// addGroup files an override of a group as a choice, an addition or a deletion.
// ~group without a value counts as null. A later deletion of the same group replaces an
// earlier one.
func (g *groupOverrides) addGroup(o *override) error {
	value := o.value
	if value == nil {
		value = newNull()
	}
	key := o.fullKey()
	switch {
	case o.op == "++":
		return o.errorf("group-force-add", "force-add of config groups is not supported: '%s'", o.line)
	case o.op == "~":
		if value.kind != String && value.kind != Null {
			return o.errorf("group-value-type", "Config group override deletion value must be a string : %s", o.line)
		}
		d := &deletion{hasName: value.kind == String, name: value.text, origin: o.origin()}
		if g.deletions[key] == nil {
			g.delOrder = append(g.delOrder, key)
		}
		g.deletions[key] = d
		return nil
	case value.kind != String && value.kind != List:
		e := o.errorf("group-value-type", "Config group override must be a string or a list. Got %s", pyType(value))
		e.Column = o.valuePos + 1
		e.Hint = fmt.Sprintf("quote the option to choose a file of that name, or remove the group with ~%s", key)
		return e
	}
	c := choice{name: value.text, isList: value.kind == List}
	for _, item := range value.items {
		if item.kind != String {
			return o.errorf("group-value-type", "the options of a group are strings, '%s' holds another value", o.line)
		}
		c.options = append(c.options, item.text)
	}
	if o.op == "+" {
		pkg := o.pkg
		if pkg == "_here_" {
			pkg = ""
		}
		g.appended = append(g.appended, &inputDefault{
			isGroup: true, group: o.key, pkg: pkg, hasPkg: o.hasPkg, choice: c, external: true, origin: o.origin(),
		})
		return nil
	}
	g.set(key, &groupChoice{choice: c, external: true, origin: o.origin()})
	return nil
}

// set makes a choice for a group; a later one replaces it in its place.
func (g *groupOverrides) set(key string, c *groupChoice) {
	if g.choices[key] == nil {
		g.order = append(g.order, key)
	}
	g.choices[key] = c
}

// knownChoices gives what each group is set to, as a mapping in the order in
// which the groups were met.
func (g *groupOverrides) knownChoices() *Node {
	choices := newMap()
	for _, key := range g.knownKeys {
		value := newText(g.known[key].name)
		if g.known[key].null {
			value = newNull()
		}
		choices.putText(key, value)
	}
	return choices
}
