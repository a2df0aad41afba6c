package config

import (
	"fmt"
	"regexp"
	"strings"
)

// deferred expands the entries whose names are interpolations.
func (b *defaultsBuilder) deferred(children []*treeNode, list []*inputDefault, selfAdded bool,
	add func(*inputDefault, bool) (*treeNode, error)) error {
	var choices *Node
	for i, c := range children {
		if c.children != nil || !c.node.isInterpolation() {
			continue
		}
		if choices == nil {
			choices = b.interpolationMap(list, selfAdded)
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

// interpolationMap is what an interpolation in a defaults list can refer to.
func (b *defaultsBuilder) interpolationMap(list []*inputDefault, selfAdded bool) *Node {
	m := newMap()
	for _, key := range b.overrides.knownKeys {
		if c := b.overrides.known[key]; c.null {
			m.putText(key, newNull())
		} else {
			m.putText(key, newText(c.name))
		}
	}
	defaults := newList()
	for _, d := range list {
		switch {
		case selfAdded && d.isSelf():
		case d.isGroup:
			item := newMap()
			item.putText(d.overrideKey(), newText(d.choice.String()))
			defaults.push(item)
		default:
			defaults.push(newText(d.configPath()))
		}
	}
	m.putText("defaults", defaults)
	return m
}

// legacyInterpolation is how Hydra 1.0 referred to an entry by its place.
var legacyInterpolation = regexp.MustCompile(`\$\{defaults\.\d+\.`)

func (b *defaultsBuilder) resolveName(d *inputDefault, choices *Node) error {
	text := d.path
	if d.isGroup {
		text = d.choice.name
	}
	if d.isGroup && legacyInterpolation.MatchString(text) {
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
