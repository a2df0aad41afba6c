package config

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/deepprof/deepprof/internal/suggest"
)

// notFound words a config that no source has, with the options there are.
func (b *defaultsBuilder) notFound(t *treeNode) error {
	d := t.node
	if d.primary {
		e := &Error{Kind: "primary-not-found",
			Message: fmt.Sprintf("Cannot find primary config '%s'. Check that it's in your config search path.\n\n%s", d.configPath(), b.repo.searchPath())}
		group, name := "", d.configPath()
		if i := strings.LastIndexByte(name, '/'); i >= 0 {
			group, name = name[:i], name[i+1:]
		}
		e.Hint = b.repo.hint(d.configPath(), name, b.repo.options(group))
		return e
	}
	where := "<root>"
	if t.parent != nil {
		where = t.parent.node.configPath()
	}
	if !d.isGroup {
		e := b.fail(d, "config-not-found", "In '%s': Could not load '%s'.\n\n%s", where, d.configPath(), b.repo.searchPath())
		name, _ := d.name()
		e.Hint = b.repo.hint(d.configPath(), name, b.repo.options(d.groupPath()))
		return e
	}
	msg := fmt.Sprintf("In '%s': Could not find '%s'\n", where, d.configPath())
	options := b.repo.options(d.groupPath())
	if len(options) > 0 {
		msg += fmt.Sprintf("\nAvailable options in '%s':\n\t%s", d.groupPath(), strings.Join(options, "\n\t"))
	}
	e := b.fail(d, "option-not-found", "%s\n%s", msg, b.repo.searchPath())
	e.Hint = b.repo.hint(d.configPath(), d.choice.name, options)
	if eq := strings.IndexByte(d.origin.Override, '='); eq >= 0 {
		e.Column = eq + 2
	}
	return e
}

// hint says what may have been meant by a config that is not there.
func (r *repo) hint(configPath, name string, options []string) string {
	if p, ok := fsPath(configPath + ".yml"); ok {
		for _, s := range r.sources {
			if _, err := fs.Stat(s.FS, p); err == nil {
				return "rename " + displayPath(s, p) + ": configs end in .yaml"
			}
		}
	}
	return suggest.Question(name, options)
}
