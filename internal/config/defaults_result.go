package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/suggest"
)

// collect flattens a tree into merge order.
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
		meta := g.meta[key]
		if meta.used {
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
		e := &Error{Kind: "group-override-no-match", Key: key, Origin: meta.origin}
		if meta.external {
			e.Message = msg + fmt.Sprintf("\nTo append to your default list use +%s=%s", key, g.choices[key])
			e.Column = 1
		} else {
			e.Message = fmt.Sprintf("In '%s': %s", meta.from, msg)
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
