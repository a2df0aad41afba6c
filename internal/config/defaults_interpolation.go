package config

import (
	"fmt"
	"strings"
)

// deferred expands the entries whose names are interpolations of choices.
// Choices made by one deferred entry are not seen by the next of the same list.
func (b *defaultsBuilder) deferred(children []*treeNode, add func(*inputDefault, bool) (*treeNode, error)) error {
	var choices *Node
	for i, c := range children {
		if c.children != nil || !c.node.isInterpolation() {
			continue
		}
		if choices == nil {
			choices = b.overrides.knownChoices()
		}
		if err := b.resolveName(c.node, choices); err != nil {
			return err
		}
		child, err := add(c.node, true)
		if err != nil {
			return err
		}
		children[i] = child
	}
	return nil
}

// resolveName replaces an interpolation in an entry by the choices that are known.
func (b *defaultsBuilder) resolveName(d *inputDefault, choices *Node) error {
	text := d.path
	if d.isGroup {
		text = d.choice.name
	}
	if d.isGroup && strings.HasPrefix(text, "${defaults.") {
		return b.fail(d, "defaults-invalid", "Defaults list element '%s=%s' is using a deprecated interpolation form.\n"+
			"Refer to the group by its name instead.", d.overrideKey(), text)
	}
	holder := newMap()
	holder.parent = choices
	node := newText(text)
	holder.putText("_dummy_", node)
	resolved, err := b.resolve.deref(node, nil)
	if err == nil && resolved.kind == String {
		if d.isGroup {
			d.choice.name = resolved.text
		} else {
			d.path = resolved.text
		}
		return nil
	}
	msg := fmt.Sprintf("Error resolving interpolation '%s'", text)
	if len(b.overrides.knownKeys) > 0 {
		msg += ", possible interpolation keys: " + strings.Join(b.overrides.knownKeys, ", ")
	}
	e := b.fail(d, "defaults-interpolation", "%s", msg)
	e.Err = err
	return e
}
