package config

import (
	"fmt"
	"strings"
)

// renameOverrides gives overrides of renamed keys the keys of today. The line
// of the override stays as it was typed.
// The value's errors still point into the line as typed, because offsets stay.
func (c *composer) renameOverrides() {
	for _, o := range c.overrides {
		for _, r := range c.opts.Renames {
			if r.To == "" || o.key != r.From && !strings.HasPrefix(o.key, r.From+".") {
				continue
			}
			o.key = r.To + strings.TrimPrefix(o.key, r.From)
			c.warnRenamed(r, o.origin())
		}
	}
}

// renameKeys moves renamed keys of a file to the keys of today. Where the file
// has both, the values of today's key win.
func (c *composer) renameKeys(root *Node) error {
	for _, r := range c.opts.Renames {
		old := root.Lookup(r.From)
		if r.To == "" || old == nil || old.parent == nil {
			continue
		}
		c.warnRenamed(r, old.origin)
		old.parent.remove(nodeKey{String, r.From[strings.LastIndexByte(r.From, '.')+1:]})
		if today := root.Lookup(r.To); today != nil && today.kind == Map && old.kind == Map {
			if err := c.merge.mergeInto(old, today.clone(), false); err != nil {
				return err
			}
		}
		if err := c.merge.update(root, r.To, old, true); err != nil {
			return err
		}
	}
	return nil
}

// warnRenamed tells the user the name of today, once for each place.
func (c *composer) warnRenamed(r Rename, where Origin) {
	c.warnings = append(c.warnings, fmt.Sprintf("%s: %s is called %s today; the old name still works", where, r.From, r.To))
}

// renameAdvice says what to write instead of a key that no longer exists; ""
// where nothing is known about it.
func (c *composer) renameAdvice(o *override) string {
	for _, r := range c.opts.Renames {
		if r.To == "" && (o.key == r.From || o.fullKey() == r.From || strings.HasPrefix(o.key, r.From+".")) {
			return r.Advice
		}
	}
	return ""
}
