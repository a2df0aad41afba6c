package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/deepprof/deepprof/internal/suggest"
)

// apply performs one value override.
// "=" needs the key to exist, "+" needs it to be absent or null unless the value is a
// mapping or list, which merges; "++" takes both.
func (c *composer) apply(full *Node, o *override) error {
	if o.hasPkg {
		e := o.errorf("group-unknown-in-override",
			"Override %s looks like a config group override, but config group '%s' does not exist.", o.line, o.key)
		if e.Hint = c.renameAdvice(o); e.Hint == "" {
			e.Hint = suggest.Question(o.key, c.allGroups())
		}
		return e
	}
	if o.op == "~" {
		return c.remove(full, o)
	}
	value := o.value.clone()
	if o.op == "+" {
		old, err := c.resolve.selectValue(full, "."+o.key, selectOptions{throwFailure: true})
		if err != nil {
			return c.overrideFailed(o, err)
		}
		if old != nil && old.kind != Null && !value.container() {
			return o.errorf("already-exists", "Could not append to config. An item is already at '%s'.\n"+
				"Either remove + prefix: '%s'\nOr add a second + to add or override '%s': '+%s'", o.key, o.line[1:], o.key, o.line)
		}
	}
	if err := c.merge.update(full, o.key, value, o.op != "="); err != nil {
		failed := c.overrideFailed(o, err)
		var e *Error
		if errors.As(failed, &e) && e.Kind == "unknown-key" && e.Hint == "" && !strings.Contains(o.key, ".") {
			e.Hint = elsewhere(full, o.key)
		}
		return failed
	}
	full.reparent()
	if strings.HasPrefix(o.key, "hydra.") || o.key == "hydra" {
		return c.checkHydraOverride(full, o)
	}
	return nil
}

// allGroups are names for suggestions, without the root.
func (c *composer) allGroups() []string {
	var names []string
	for _, g := range c.repo.allGroups() {
		if g.Name != "" {
			names = append(names, g.Name)
		}
	}
	return names
}

// checkHydraOverride refuses an override that leaves the hydra node unusable.
func (c *composer) checkHydraOverride(full *Node, o *override) error {
	err := c.checkHydra(full.Get("hydra"))
	var wrong *Error
	if !errors.As(err, &wrong) {
		return err
	}
	e := o.errorf(wrong.Kind, "Error merging override %s\n%s", o.line, wrong.Message)
	e.Column, e.Hint = o.valuePos+1, wrong.Hint
	return e
}

// overrideFailed words what went wrong with a value override.
// The result is always an *Error that points into the override, whatever err is.
func (c *composer) overrideFailed(o *override, err error) error {
	var me *mergeError
	var re *resolveError
	if te, ok := err.(*typeError); ok {
		return o.errorf("merge-type", "Error merging override %s\n%s", o.line, te.text)
	}
	switch {
	case errors.As(err, &me) && me.kind == "unknown-key" && o.op == "=":
		e := o.errorf("unknown-key", "Could not override '%s'.\nTo append to your config use +%s\n%s", o.key, o.line, me.text)
		if e.Hint = c.renameAdvice(o); e.Hint == "" {
			e.Hint = c.keyHint(o.key, me)
		}
		if i := strings.LastIndex(o.line[:max(o.valuePos-1, 0)], me.key); i >= 0 {
			e.Column = i + 1
		}
		return e
	case errors.As(err, &me):
		e := o.errorf(me.kind, "Error merging override %s\n%s", o.line, me.text)
		if me.kind != "unknown-key" && o.valuePos > 0 {
			e.Column = o.valuePos + 1
		}
		return e
	case errors.As(err, &re):
		return o.errorf(re.kind, "Error merging override %s\n%s", o.line, re.text)
	}
	return o.errorf("merge-type", "Error merging override %s\n%s", o.line, err)
}

// keyHint suggests the dotted key that was probably meant, or the group if
// the key looks like one.
func (c *composer) keyHint(key string, me *mergeError) string {
	if !strings.Contains(key, ".") {
		return suggest.Question(key, append(c.allGroups(), me.near...))
	}
	near := suggest.Nearest(me.key, me.near)
	if len(near) == 0 {
		return suggest.Question(key, c.allGroups())
	}
	parts := splitKey(key)
	for i, p := range parts {
		if p == me.key {
			parts[i] = near[0]
			return "did you mean '" + strings.Join(parts[:i+1], ".") + "'?"
		}
	}
	return "did you mean '" + near[0] + "'?"
}

// elsewhere suggests the keys of that name below the top, of which there are
// few.
// "" if there is none or more than three: a longer list would not help. Keys of the hydra
// node are left out.
func elsewhere(full *Node, name string) string {
	var found []string
	var walk func(n *Node, path string)
	walk = func(n *Node, path string) {
		for _, e := range n.Entries() {
			key, ok := e.Key.Text()
			if !ok || path == "" && key == "hydra" {
				continue
			}
			at := strings.TrimPrefix(path+"."+key, ".")
			if key == name && path != "" {
				found = append(found, "'"+at+"'")
			}
			if e.Value.kind == Map {
				walk(e.Value, at)
			}
		}
	}
	walk(full, "")
	if len(found) == 0 || len(found) > 3 {
		return ""
	}
	return "did you mean " + strings.Join(found, " or ") + "?"
}

// remove performs ~key and ~key=value.
// With a value other than null the key goes only if it has that value. A key that is
// null counts as absent.
func (c *composer) remove(full *Node, o *override) error {
	old, err := c.resolve.selectValue(full, "."+o.key, selectOptions{throwFailure: true})
	if err != nil {
		return c.overrideFailed(o, err)
	}
	if old == nil || old.kind == Null {
		e := o.errorf("delete-absent", "Could not delete from config. '%s' does not exist.", o.key)
		if e.Hint = nearestKey(full, o.key); strings.Contains(o.key, "/") {
			e.Hint = suggest.Question(o.key, c.allGroups())
		}
		return e
	}
	if value := o.value; value != nil {
		if value.kind != Null && !c.equal(value, old) {
			return o.errorf("delete-mismatch", "Could not delete from config. The value of '%s' is %s and not %s.", o.key, pyStr(old), pyStr(value))
		}
	}
	parts := splitKey(o.key)
	parent := full
	if len(parts) > 1 {
		parent, err = c.resolve.selectValue(full, "."+o.key[:strings.LastIndexByte(o.key, '.')], selectOptions{throwFailure: true})
		if err != nil || parent == nil {
			return c.overrideFailed(o, fmt.Errorf("its parent cannot be found"))
		}
	}
	if parent.kind == List {
		return o.errorf("list-delete", "Could not delete from config. '%s' is an item of a list, and items cannot be deleted; set the whole list instead", o.key)
	}
	if (o.isHydra() || o.key == "hydra") && !strings.HasPrefix(o.key, "hydra.job.env_set.") {
		return o.errorf("hydra-schema", "Error merging override %s\nkeys of the hydra node cannot be deleted", o.line)
	}
	parent.remove(nodeKey{String, parts[len(parts)-1]})
	return nil
}

// equal compares an override's value with the resolved value of the config.
func (c *composer) equal(a, b *Node) bool {
	if v, err := c.resolve.content(b, map[*Node]bool{}); err == nil {
		b = v
	}
	if a.container() {
		return bytes.Equal(a.JSON(false), b.JSON(false))
	}
	return scalarEqual(a, b)
}

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

// renameKeys moves renamed keys of a file to the keys of today. If the file
// has both, the values of today's key win.
// root is changed in place, with a warning for each key that moved.
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
// if nothing is known about it.
func (c *composer) renameAdvice(o *override) string {
	for _, r := range c.opts.Renames {
		if r.To == "" && (o.key == r.From || o.fullKey() == r.From || strings.HasPrefix(o.key, r.From+".")) {
			return r.Advice
		}
	}
	return ""
}
