package config

import (
	"fmt"
	"slices"
	"strings"
)

// Limits on the tree of defaults lists: a file may include others any number
// of times, so a few lines can ask for a tree of any size.
const (
	maxDefaultsDepth = 100
	maxDefaults      = 20_000
)

// treeNode is a config with what its defaults list includes.
type treeNode struct {
	node     *inputDefault
	children []*treeNode // leaves have none; the "_self_" leaf stands for node
	parent   *treeNode
}

// resultDefault is one config of the final list.
type resultDefault struct {
	path    string // from the root of the search path, without extension
	pkg     string // dotted key under which it is merged; "" is the root
	primary bool
	isSelf  bool   // the file's own values, placed by "_self_"
	key     string // override key of a group
	origin  Origin
}

// defaultsBuilder walks the defaults lists.
// It is used for one composition: overrides remembers which choices were used.
type defaultsBuilder struct {
	repo      *repo
	overrides *groupOverrides
	resolve   *resolver
	warnings  []string
	count     int
}

// fail makes an error that points at an entry of a defaults list.
func (b *defaultsBuilder) fail(d *inputDefault, kind, format string, args ...any) *Error {
	e := &Error{Kind: kind, Message: fmt.Sprintf(format, args...), Origin: d.origin}
	if d.origin.Override != "" {
		e.Column = 1
	}
	_ = b.repo.withLine(e)
	return e
}

// build walks from the virtual root: the primary config first, so that its
// overrides reach Hydra's own defaults, which come before it in the result.
func (b *defaultsBuilder) build(configName string) ([]resultDefault, error) {
	var trees []*treeNode
	names := []string{"hydra/config"}
	if configName != "" {
		names = append(names, configName)
	} else {
		names = append(names, emptyConfig)
	}
	for i := len(names) - 1; i >= 0; i-- {
		d := &inputDefault{path: names[i], primary: i == 1}
		t := &treeNode{node: d}
		if err := b.expand(t, d.primary, false, 0); err != nil {
			return nil, err
		}
		trees = append([]*treeNode{t}, trees...)
	}
	var list []resultDefault
	for _, t := range trees {
		list = collect(t, list)
	}
	if err := b.noDuplicates(list); err != nil {
		return nil, err
	}
	if err := b.allUsed(); err != nil {
		return nil, err
	}
	return list, nil
}

// emptyConfig stands for the primary config where there is none.
const emptyConfig = "_dummy_empty_config_"

// expand loads the config of a tree node and includes what its list says.
// isRoot marks the primary config, which takes the +group overrides; interpolated marks
// a subtree below an entry whose name was an interpolation, where "override" is
// refused because it would come too late.
func (b *defaultsBuilder) expand(t *treeNode, isRoot, interpolated bool, depth int) error {
	parent := t.node
	b.count++
	if b.count > maxDefaults {
		return b.fail(parent, "defaults-cycle", "the defaults lists include more than %d configs", maxDefaults)
	}
	if isRoot && b.repo.find(parent.configPath()) == nil && parent.path != emptyConfig {
		return b.notFound(t)
	}
	var loaded *file
	var err error
	if !parent.isMissing() && parent.path != emptyConfig {
		if loaded, err = b.repo.load(parent.configPath()); err != nil {
			return err
		}
		if loaded != nil && loaded.hasHdr {
			parent.setHeader(loaded.header)
		}
	}
	if b.deleted(parent) {
		return nil
	}
	if err := b.setKnown(parent); err != nil {
		return err
	}
	if _, ok := parent.name(); !ok {
		return nil
	}
	if stop, err := b.missing(parent); stop || err != nil {
		return err
	}
	var defaults []*inputDefault
	content := false
	switch {
	case parent.path == emptyConfig:
	case loaded == nil && parent.optional:
		parent.deleted = true
		return nil
	case loaded == nil:
		return b.notFound(t)
	default:
		defaults = cloneDefaults(loaded.defaults)
		content = hasContent(loaded.root)
	}
	if err := b.cycle(t, depth); err != nil {
		return err
	}
	if len(defaults) > 0 || isRoot && len(b.overrides.appended) > 0 {
		if defaults, err = b.ensureSelf(parent, defaults, content); err != nil {
			return err
		}
	}
	if isRoot {
		defaults = append(defaults, cloneDefaults(b.overrides.appended)...)
	}
	if err := b.collectOverrides(parent, defaults, interpolated); err != nil {
		return err
	}
	return b.include(t, defaults, interpolated, depth)
}

// hasContent tells whether a config has values besides its defaults list.
func hasContent(root *Node) bool {
	for _, e := range root.entries {
		if !e.Value.Missing() {
			return true
		}
	}
	return false
}

// ensureSelf adds "_self_" at the end of a list that does not say where the
// file's own values go.
func (b *defaultsBuilder) ensureSelf(parent *inputDefault, list []*inputDefault, content bool) ([]*inputDefault, error) {
	hasSelf, hasOther := false, false
	for _, d := range list {
		if !d.override {
			hasOther = true
		}
		if d.isSelf() {
			if hasSelf {
				return nil, b.fail(d, "defaults-duplicate-self", "Duplicate _self_ defined in %s", parent.configPath())
			}
			hasSelf = true
		}
	}
	if !hasSelf && hasOther || len(list) == 0 {
		if parent.primary && content && hasOther {
			b.warnings = append(b.warnings, fmt.Sprintf("In '%s': Defaults list is missing `_self_`. "+
				"Its own values go last; say so with '- _self_' at the end of the list", parent.configPath()))
		}
		list = append(list, &inputDefault{path: "_self_", origin: parent.origin})
	}
	return list, nil
}

// collectOverrides registers the "override" entries of a list. The first one
// of a group wins, the command line before all.
func (b *defaultsBuilder) collectOverrides(parent *inputDefault, list []*inputDefault, interpolated bool) error {
	var last *inputDefault
	for _, d := range list {
		if d.isSelf() {
			continue
		}
		d.setParent(parent.groupPath(), parent.finalPackage(true))
		if last != nil && !d.override && !d.external {
			return b.fail(d, "defaults-override-order",
				"In %s: Override '%s : %s' is defined before '%s: %s'.\nOverrides must be at the end of the defaults list",
				parent.configPath(), last.overrideKey(), last.choice, d.overrideKey(), defaultName(d))
		}
		if !d.isGroup || !d.override {
			continue
		}
		last = d
		key := d.overrideKey()
		if interpolated {
			return b.fail(d, "defaults-override-in-interpolated",
				"%s: Default List Overrides are not allowed in the subtree\nof an in interpolated config group (override %s=%s).",
				parent.configPath(), key, d.choice)
		}
		if _, ok := b.overrides.choices[key]; !ok {
			b.overrides.set(key, d.choice, &overrideMeta{from: parent.configPath(), origin: d.origin})
		}
	}
	return nil
}

// defaultName is for messages only.
func defaultName(d *inputDefault) string {
	if d.isGroup {
		return d.choice.String()
	}
	name, _ := d.name()
	return name
}

// include expands the entries from the last to the first, and those with
// interpolations when all the others are known.
// Last to first, so that an "override" that a later entry brings is known before the
// earlier entry that it changes is expanded.
func (b *defaultsBuilder) include(t *treeNode, list []*inputDefault, interpolated bool, depth int) error {
	parent := t.node
	add := func(d *inputDefault, inter bool) (*treeNode, error) {
		child := &treeNode{node: d, parent: t}
		return child, b.expand(child, false, inter, depth+1)
	}
	var children []*treeNode // in reverse
	for _, d := range slices.Backward(list) {
		if d.isSelf() {
			if d.isGroup {
				return b.fail(d, "defaults-invalid", "In '%s': _self_ is no option of the group '%s'", parent.configPath(), d.group)
			}
			children = append(children, &treeNode{node: d, parent: t})
			continue
		}
		if d.override {
			continue
		}
		d.setParent(parent.groupPath(), parent.finalPackage(true))
		if d.isGroup {
			key := d.overrideKey()
			if c, ok := b.overrides.choices[key]; ok {
				d.choice = c
				d.origin = b.overrides.meta[key].origin
				b.overrides.meta[key].used = true
			}
		}
		switch {
		case d.isGroup && d.choice.isList:
			for _, option := range slices.Backward(d.choice.options) {
				if strings.Contains(option, "${") {
					return b.fail(d, "defaults-invalid",
						"In '%s': Defaults List interpolation is not supported in options list items", parent.configPath())
				}
				item := &inputDefault{path: d.group + "/" + option, pkg: d.pkg, hasPkg: d.hasPkg, optional: d.optional, origin: d.origin}
				base, pkg := parent.groupPath(), parent.finalPackage(true)
				item.setParent(base, pkg)
				child, err := add(item, interpolated)
				if err != nil {
					return err
				}
				children = append(children, child)
			}
		case d.isInterpolation():
			children = append(children, &treeNode{node: d, parent: t})
		default:
			child, err := add(d, interpolated)
			if err != nil {
				return err
			}
			children = append(children, child)
		}
	}
	if err := b.deferred(children, add); err != nil {
		return err
	}
	slices.Reverse(children)
	t.children = children
	return nil
}

// deleted tells whether the command line leaves a group out, and notes that the
// deletion was used.
func (b *defaultsBuilder) deleted(d *inputDefault) bool {
	if !d.isGroup {
		return false
	}
	del := b.overrides.deletions[d.overrideKey()]
	if del == nil || del.hasName && (d.choice.null || del.name != d.choice.name) {
		return false
	}
	d.deleted, del.used = true, true
	return true
}

// setKnown records the choice of a group. Two different choices for one group are
// an error: only "override" may change one.
func (b *defaultsBuilder) setKnown(d *inputDefault) error {
	if !d.isGroup {
		return nil
	}
	key := d.overrideKey()
	previous, seen := b.overrides.known[key]
	if !seen {
		b.overrides.known[key] = d.choice
		b.overrides.knownKeys = append(b.overrides.knownKeys, key)
	} else if previous.null != d.choice.null || previous.name != d.choice.name {
		return b.fail(d, "group-multiple-values", "Multiple values for %s. To override a value use 'override %s: %s'", key, key, previous)
	}
	group := d.groupPath()
	if !slices.Contains(b.overrides.perGroup[group], key) {
		b.overrides.perGroup[group] = append(b.overrides.perGroup[group], key)
	}
	return nil
}

// missing handles "group: ???": the user must choose.
func (b *defaultsBuilder) missing(d *inputDefault) (stop bool, err error) {
	if !strings.HasSuffix(d.configPath(), "???") {
		return false, nil
	}
	if !d.isGroup {
		return true, b.fail(d, "missing-config-default", "Missing ConfigDefault is not supported : %s", d.configPath())
	}
	key := d.overrideKey()
	return true, b.fail(d, "group-option-missing", "You must specify '%s', e.g, %s=<OPTION>\nAvailable options:\n\t%s",
		key, key, strings.Join(b.repo.options(d.groupPath()), "\n\t"))
}

// cycle refuses a config that includes itself in the same place, and a chain
// that is too long to be anything else.
func (b *defaultsBuilder) cycle(t *treeNode, depth int) error {
	path, pkg := t.node.configPath(), t.node.finalPackage(true)
	chain := []string{path}
	for p := t.parent; p != nil; p = p.parent {
		chain = append(chain, p.node.configPath())
		if p.node.configPath() == path && p.node.finalPackage(true) == pkg {
			slices.Reverse(chain)
			return b.fail(t.node, "defaults-cycle", "the defaults lists go in a circle: %s", strings.Join(chain, " -> "))
		}
	}
	if depth > maxDefaultsDepth {
		slices.Reverse(chain)
		return b.fail(t.node, "defaults-cycle", "the defaults lists are nested deeper than %d levels: %s ...",
			maxDefaultsDepth, strings.Join(chain[:min(len(chain), 6)], " -> "))
	}
	return nil
}
