package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/suggest"
)

// Limits on the tree of defaults lists: a file may include others any number
// of times, so a few lines can ask for a tree of any size.
const (
	// levels below the primary config
	maxDefaultsDepth = 100
	// configs over one composition; one that is included twice counts twice
	maxDefaults = 20_000
)

// treeNode is a config with what its defaults list includes.
type treeNode struct {
	node     *inputDefault
	children []*treeNode // leaves have none; the "_self_" leaf stands for node
	// nil for the primary config and for hydra/config
	parent *treeNode
}

// resultDefault is one config of the final list.
type resultDefault struct {
	path    string // from the root of the search path, without extension
	pkg     string // dotted key under which it is merged; "" is the root
	primary bool
	isSelf  bool // the file's own values, placed by "_self_"
	// "" for a config that is no group and for "_self_": noDuplicates does not check those
	key    string // override key of a group
	origin Origin
}

// defaultsBuilder walks the defaults lists.
// It is used for one composition: overrides remembers which choices were used.
type defaultsBuilder struct {
	repo      *repo
	overrides *groupOverrides
	resolve   *resolver
	warnings  []string
	// configs expanded so far; see maxDefaults
	count int
}

// failed makes an error that points at an entry of a defaults list.
// The source line is filled in if the entry stands in a file that was read.
func (b *defaultsBuilder) failed(d *inputDefault, kind, format string, args ...any) *Error {
	e := &Error{Kind: kind, Message: fmt.Sprintf(format, args...), Origin: d.origin}
	if d.origin.Override != "" {
		e.Column = 1
	}
	_ = b.repo.withLine(e)
	return e
}

// fail ends the build with an error.
// It does not return: build catches the panic.
func (b *defaultsBuilder) fail(d *inputDefault, kind, format string, args ...any) {
	panic(failure{b.failed(d, kind, format, args...)})
}

// build walks from the virtual root: the primary config first, so that its
// overrides reach Hydra's own defaults, which come before it in the result.
// The result is in merge order: Hydra's own configs, then those of the primary config. Errors
// are of type *Error. A choice or a deletion that no list used is an error, too.
func (b *defaultsBuilder) build(configName string) (list []resultDefault, err error) {
	defer catch(&err)
	primary := &treeNode{node: &inputDefault{path: cmp.Or(configName, emptyConfig), primary: true}}
	hydra := &treeNode{node: &inputDefault{path: "hydra/config"}}
	b.expand(primary, true, false, 0)
	b.expand(hydra, false, false, 0)
	list = collect(primary, collect(hydra, nil))
	if err := b.noDuplicates(list); err != nil {
		return nil, err
	}
	return list, b.allUsed()
}

// emptyConfig stands for the primary config if there is none.
const emptyConfig = "_dummy_empty_config_"

// expand loads the config of a tree node and includes what its list says.
// isRoot marks the primary config, which takes the +group overrides; interpolated marks
// a subtree below an entry whose name was an interpolation, where "override" is
// refused because it would come too late.
// It changes t.node and fills t.children. A config that is deleted, null, or optional and
// absent gets no children.
func (b *defaultsBuilder) expand(t *treeNode, isRoot, interpolated bool, depth int) {
	parent := t.node
	if b.count++; b.count > maxDefaults {
		b.fail(parent, "defaults-cycle", "the defaults lists include more than %d configs", maxDefaults)
	}
	if isRoot && b.repo.find(parent.configPath()) == nil && parent.path != emptyConfig {
		panic(failure{b.notFound(t)})
	}
	var loaded *file
	if !parent.isMissing() && parent.path != emptyConfig {
		if loaded = must(b.repo.load(parent.configPath())); loaded != nil && loaded.hasHdr {
			parent.setHeader(loaded.header)
		}
	}
	if b.deleted(parent) {
		return
	}
	b.setKnown(parent)
	if _, ok := parent.name(); !ok {
		return
	}
	b.refuseMissing(parent)
	var defaults []*inputDefault
	content := false
	switch {
	case parent.path == emptyConfig:
	case loaded == nil && parent.optional:
		parent.deleted = true
		return
	case loaded == nil:
		panic(failure{b.notFound(t)})
	default:
		defaults = cloneDefaults(loaded.defaults)
		content = slices.ContainsFunc(loaded.root.entries, func(e Entry) bool { return !e.Value.Missing() })
	}
	b.refuseCycle(t, depth)
	if len(defaults) > 0 || isRoot && len(b.overrides.appended) > 0 {
		defaults = b.ensureSelf(parent, defaults, content)
	}
	if isRoot {
		defaults = append(defaults, cloneDefaults(b.overrides.appended)...)
	}
	b.collectOverrides(parent, defaults, interpolated)
	b.include(t, defaults, interpolated, depth)
}

// ensureSelf adds "_self_" at the end of a list that does not say where the
// file's own values go.
// Content tells that there are such values, so that their place matters.
func (b *defaultsBuilder) ensureSelf(parent *inputDefault, list []*inputDefault, content bool) []*inputDefault {
	hasSelf, hasOther := false, false
	for _, d := range list {
		if !d.override {
			hasOther = true
		}
		if d.isSelf() {
			if hasSelf {
				b.fail(d, "defaults-duplicate-self", "Duplicate _self_ defined in %s", parent.configPath())
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
	return list
}

// collectOverrides registers the "override" entries of a list. The first one
// of a group wins, the command line before all.
// It must run before include, so that an override counts for the entries above it.
func (b *defaultsBuilder) collectOverrides(parent *inputDefault, list []*inputDefault, interpolated bool) {
	var last *inputDefault
	for _, d := range list {
		if d.isSelf() {
			continue
		}
		d.setParent(parent.groupPath(), parent.finalPackage(true))
		if last != nil && !d.override && !d.external {
			b.fail(d, "defaults-override-order",
				"In %s: Override '%s : %s' is defined before '%s: %s'.\nOverrides must be at the end of the defaults list",
				parent.configPath(), last.overrideKey(), last.choice, d.overrideKey(), defaultName(d))
		}
		if !d.isGroup || !d.override {
			continue
		}
		last = d
		key := d.overrideKey()
		if interpolated {
			b.fail(d, "defaults-override-in-interpolated",
				"%s: Default List Overrides are not allowed in the subtree\nof an in interpolated config group (override %s=%s).",
				parent.configPath(), key, d.choice)
		}
		if b.overrides.choices[key] == nil {
			b.overrides.set(key, &groupChoice{choice: d.choice, from: parent.configPath(), origin: d.origin})
		}
	}
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
func (b *defaultsBuilder) include(t *treeNode, list []*inputDefault, interpolated bool, depth int) {
	parent := t.node
	add := func(d *inputDefault, inter bool) *treeNode {
		child := &treeNode{node: d, parent: t}
		b.expand(child, false, inter, depth+1)
		return child
	}
	var children []*treeNode // in reverse
	for _, d := range slices.Backward(list) {
		if d.isSelf() {
			if d.isGroup {
				b.fail(d, "defaults-invalid", "In '%s': _self_ is no option of the group '%s'", parent.configPath(), d.group)
			}
			children = append(children, &treeNode{node: d, parent: t})
			continue
		}
		if d.override {
			continue
		}
		d.setParent(parent.groupPath(), parent.finalPackage(true))
		if d.isGroup {
			if c := b.overrides.choices[d.overrideKey()]; c != nil {
				d.choice, d.origin, c.used = c.choice, c.origin, true
			}
		}
		switch {
		case d.isGroup && d.choice.isList:
			for _, option := range slices.Backward(d.choice.options) {
				if strings.Contains(option, "${") {
					b.fail(d, "defaults-invalid",
						"In '%s': Defaults List interpolation is not supported in options list items", parent.configPath())
				}
				item := &inputDefault{path: d.group + "/" + option, pkg: d.pkg, hasPkg: d.hasPkg, optional: d.optional, origin: d.origin}
				item.setParent(parent.groupPath(), parent.finalPackage(true))
				children = append(children, add(item, interpolated))
			}
		case d.isInterpolation():
			children = append(children, &treeNode{node: d, parent: t})
		default:
			children = append(children, add(d, interpolated))
		}
	}
	b.deferred(children, add)
	slices.Reverse(children)
	t.children = children
}

// deleted tells whether the command line leaves a group out, and notes that the
// deletion was used.
// A deletion that names an option counts for that option alone.
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
// knownKeys keeps the order in which groups were met, for errors and hydra.runtime.choices.
func (b *defaultsBuilder) setKnown(d *inputDefault) {
	if !d.isGroup {
		return
	}
	key := d.overrideKey()
	previous, seen := b.overrides.known[key]
	if !seen {
		b.overrides.known[key] = d.choice
		b.overrides.knownKeys = append(b.overrides.knownKeys, key)
	} else if previous.null != d.choice.null || previous.name != d.choice.name {
		b.fail(d, "group-multiple-values", "Multiple values for %s. To override a value use 'override %s: %s'", key, key, previous)
	}
	group := d.groupPath()
	if !slices.Contains(b.overrides.perGroup[group], key) {
		b.overrides.perGroup[group] = append(b.overrides.perGroup[group], key)
	}
}

// refuseMissing refuses "group: ???": the user must choose.
func (b *defaultsBuilder) refuseMissing(d *inputDefault) {
	if !strings.HasSuffix(d.configPath(), "???") {
		return
	}
	if !d.isGroup {
		b.fail(d, "missing-config-default", "Missing ConfigDefault is not supported : %s", d.configPath())
	}
	key := d.overrideKey()
	b.fail(d, "group-option-missing", "You must specify '%s', e.g, %s=<OPTION>\nAvailable options:\n\t%s",
		key, key, strings.Join(b.repo.options(d.groupPath()), "\n\t"))
}

// refuseCycle refuses a config that includes itself in the same place, and a chain
// that is too long to be anything else.
// The same config under another package is no cycle, since it lands elsewhere. Such a chain
// can go on forever, so its depth is limited.
func (b *defaultsBuilder) refuseCycle(t *treeNode, depth int) {
	path, pkg := t.node.configPath(), t.node.finalPackage(true)
	chain := []string{path}
	for p := t.parent; p != nil; p = p.parent {
		chain = append(chain, p.node.configPath())
		if p.node.configPath() == path && p.node.finalPackage(true) == pkg {
			slices.Reverse(chain)
			b.fail(t.node, "defaults-cycle", "the defaults lists go in a circle: %s", strings.Join(chain, " -> "))
		}
	}
	if depth > maxDefaultsDepth {
		slices.Reverse(chain)
		b.fail(t.node, "defaults-cycle", "the defaults lists are nested deeper than %d levels: %s ...",
			maxDefaultsDepth, strings.Join(chain[:min(len(chain), 6)], " -> "))
	}
}

// collect flattens a tree into merge order.
// A config with children adds nothing itself: its own values stand where its "_self_" leaf is.
func collect(t *treeNode, list []resultDefault) []resultDefault {
	if t.children == nil {
		return appendResult(t, list)
	}
	for _, c := range t.children {
		list = collect(c, list)
	}
	return list
}

// appendResult adds the config of a leaf, unless it was deleted or left open.
func appendResult(t *treeNode, list []resultDefault) []resultDefault {
	d, self := t.node, false
	if d.deleted || d.isMissing() {
		return list
	}
	if d.isSelf() && t.parent != nil {
		d, self = t.parent.node, true
	}
	if _, ok := d.name(); !ok || d.configPath() == emptyConfig {
		return list
	}
	r := resultDefault{path: d.configPath(), pkg: d.finalPackage(true), primary: d.primary, isSelf: self, origin: d.origin}
	if d.isGroup && !self {
		r.key = d.overrideKey()
	}
	return append(list, r)
}

// noDuplicates refuses a group that was included twice with the same choice.
func (b *defaultsBuilder) noDuplicates(list []resultDefault) error {
	seen := map[string]bool{}
	for _, r := range list {
		if r.key == "" {
			continue
		}
		if seen[r.key] {
			e := &Error{Kind: "group-duplicate", Message: r.key + " appears more than once in the final defaults list", Origin: r.origin}
			return b.repo.withLine(e)
		}
		seen[r.key] = true
	}
	return nil
}

// allUsed refuses choices and deletions of groups that are not in the list.
// The first that was made is reported; deletions come after choices.
func (b *defaultsBuilder) allUsed() error {
	g := b.overrides
	for _, key := range g.order {
		made := g.choices[key]
		if made.used {
			continue
		}
		group, _, _ := strings.Cut(key, "@")
		choices := slices.Sorted(slices.Values(g.perGroup[group]))
		msg := fmt.Sprintf("Could not override '%s'.", key)
		switch len(choices) {
		case 0:
			msg += " No match in the defaults list."
		case 1:
			msg += "\nDid you mean to override " + choices[0] + "?"
		default:
			msg += "\nDid you mean to override one of " + strings.Join(choices, ", ") + "?"
		}
		e := &Error{Kind: "group-override-no-match", Key: key, Origin: made.origin}
		if made.external {
			e.Message = msg + fmt.Sprintf("\nTo append to your default list use +%s=%s", key, made)
			e.Column = 1
		} else {
			e.Message = fmt.Sprintf("In '%s': %s", made.from, msg)
		}
		if len(choices) == 0 {
			e.Hint = suggest.Question(key, g.knownKeys)
		}
		return b.repo.withLine(e)
	}
	for _, key := range g.delOrder {
		if d := g.deletions[key]; !d.used {
			desc := key
			if d.hasName {
				desc += "=" + d.name
			}
			return &Error{Kind: "group-delete-no-match", Message: fmt.Sprintf("Could not delete '%s'. No match in the defaults list", desc),
				Key: key, Origin: d.origin, Column: 2, Hint: suggest.Question(key, g.knownKeys)}
		}
	}
	return nil
}
