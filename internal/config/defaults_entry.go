package config

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/suggest"
)

// inputDefault is one entry of a defaults list: a config (path) or a group
// with its choice.
type inputDefault struct {
	isGroup bool
	path    string // of a config; "_self_" is the file itself
	// without keywords and package; relative to baseDir unless it begins with a slash
	group  string
	choice choice

	pkg string // behind the "@"
	// tells "@_here_", whose pkg is "", from an entry without a package
	hasPkg bool
	header string // of the file that it stands for
	// false until the file was loaded, and for a file without a header
	hasHeader bool
	baseDir   string // group of the file that holds the list
	parentPkg string // package of that file

	primary  bool // the config that the run was started with
	optional bool // a config that does not exist is no error
	override bool // changes the choice of a group that stands elsewhere
	deleted  bool // left out by the command line, or optional and absent
	external bool // added by +group=option
	origin   Origin
}

// choice is what a group is set to: nothing, one option or several.
type choice struct {
	// no option was chosen; the other fields are zero then
	null bool
	name string
	// in the order of the file, which is the order of merging; read only if isList is true
	options []string
	isList  bool
}

// String writes a choice as Hydra's messages do.
func (c choice) String() string {
	switch {
	case c.isList:
		return pyRepr(newTexts(c.options))
	case c.null:
		return "None"
	}
	return c.name
}

// isSelf tells whether the entry stands for the file that holds the list.
func (d *inputDefault) isSelf() bool {
	if d.isGroup {
		return d.choice.name == "_self_"
	}
	return d.path == "_self_"
}

// setParent places the entry in the file that holds it.
// It must come before groupPath, configPath and finalPackage, which depend on it.
func (d *inputDefault) setParent(baseDir, pkg string) {
	d.baseDir, d.parentPkg = baseDir, pkg
	if d.hasPkg && strings.Contains(d.pkg, "_group_") {
		d.pkg = "_global_." + strings.ReplaceAll(d.pkg, "_group_", d.defaultPackage())
	}
}

// groupPath is the folder of the config, from the root of the search path.
// It has no leading slash; "" is the root.
func (d *inputDefault) groupPath() string {
	if d.isGroup {
		if g, absolute := strings.CutPrefix(d.group, "/"); absolute || d.external || d.baseDir == "" {
			return g
		}
		return d.baseDir + "/" + d.group
	}
	p, absolute := strings.CutPrefix(d.path, "/")
	group := ""
	if i := strings.LastIndexByte(p, '/'); i >= 0 {
		group = p[:i]
	}
	switch {
	case absolute || d.baseDir == "":
		return group
	case group == "":
		return d.baseDir
	}
	return d.baseDir + "/" + group
}

// configPath is the file of the config without its extension, from the root of
// the search path.
func (d *inputDefault) configPath() string {
	if d.isGroup {
		return d.groupPath() + "/" + d.choice.String()
	}
	p, absolute := strings.CutPrefix(d.path, "/")
	if absolute || d.baseDir == "" {
		return p
	}
	return d.baseDir + "/" + p
}

// name is the option or the last part of the path; ok is false for null.
func (d *inputDefault) name() (string, bool) {
	if d.isGroup {
		return d.choice.name, !d.choice.null
	}
	return d.path[strings.LastIndexByte(d.path, '/')+1:], true
}

// defaultPackage is the package of a config whose entry and header say nothing:
// the path of its group.
func (d *inputDefault) defaultPackage() string {
	return strings.ReplaceAll(d.groupPath(), "/", ".")
}

// setHeader takes the package of a file's header, which is always absolute.
func (d *inputDefault) setHeader(header string) {
	d.hasHeader = true
	switch {
	case header == "_global_" || strings.HasPrefix(header, "_global_."):
		d.header = header
	default:
		d.header = "_global_." + header
	}
}

// finalPackage is where the config lands. The override key leaves the header
// out of account.
// "" is the root; a "_global_" anywhere in it drops all that stands before.
func (d *inputDefault) finalPackage(useHeader bool) string {
	var pkg string
	switch {
	case d.hasPkg:
		pkg = d.pkg
	case useHeader && d.hasHeader:
		pkg = d.header
	default:
		relative := d.group
		if !d.isGroup {
			relative = d.path
		}
		relative = strings.TrimPrefix(relative, "/")
		if !d.isGroup {
			relative = relative[:max(0, strings.LastIndexByte(relative, '/'))]
		}
		pkg = strings.ReplaceAll(relative, "/", ".")
	}
	parent := d.parentPkg
	if d.external {
		parent = ""
	}
	switch {
	case parent == "":
	case pkg == "":
		pkg = parent
	default:
		pkg = parent + "." + pkg
	}
	if i := strings.LastIndex(pkg, "_global_"); i >= 0 {
		return pkg[min(i+len("_global_")+1, len(pkg)):]
	}
	return pkg
}

// overrideKey is how the command line refers to the entry: the group, with its
// package if that is not the default one.
func (d *inputDefault) overrideKey() string {
	key, final := d.groupPath(), d.finalPackage(false)
	if d.defaultPackage() == final {
		return key
	}
	if final == "" {
		final = "_global_"
	}
	return key + "@" + final
}

// isInterpolation: such an entry can be expanded only when other choices are known.
func (d *inputDefault) isInterpolation() bool {
	if d.isGroup {
		return !d.choice.isList && strings.Contains(d.choice.name, "${")
	}
	return strings.Contains(d.configPath(), "${")
}

// isMissing: the user must choose an option on the command line.
func (d *inputDefault) isMissing() bool {
	name, ok := d.name()
	return ok && !d.choice.isList && name == "???"
}

// extractDefaults takes the defaults list out of a loaded file.
// The list leaves the tree, so that it is never merged as a value.
// A file without the key defaults has none, which is no error. Entries keep their order.
func (r *repo) extractDefaults(f *file) error {
	list := f.root.Get("defaults")
	if list == nil {
		return nil
	}
	f.root.remove(nodeKey{String, "defaults"})
	if list.kind != List {
		got := pyType(list)
		if list.kind == Map {
			got = "mapping"
		}
		return r.invalidDefault(list, "Invalid defaults list in '%s', defaults must be a list (got %s)", f.path, got)
	}
	for _, item := range list.items {
		d, err := r.parseDefault(f, item)
		if err != nil {
			return err
		}
		d.origin = item.origin
		f.defaults = append(f.defaults, d)
	}
	return nil
}

// invalidDefault points at the entry; the caller may set a better Kind.
func (r *repo) invalidDefault(n *Node, format string, args ...any) *Error {
	return &Error{Kind: "defaults-invalid", Message: fmt.Sprintf(format, args...), Origin: n.origin}
}

// splitPackage cuts name@package. What follows a colon in the package is an old
// form of renaming and is ignored, as in Hydra.
func splitPackage(s string) (name, pkg string, hasPkg bool) {
	name, pkg, hasPkg = strings.Cut(s, "@")
	pkg, _, _ = strings.Cut(pkg, ":")
	if pkg == "_here_" {
		pkg = ""
	}
	return name, pkg, hasPkg
}

// parseDefault reads one entry of a defaults list: a config, or a group with its
// choice.
// The caller sets the origin; the place in the tree comes later, with setParent.
func (r *repo) parseDefault(f *file, item *Node) (*inputDefault, error) {
	d := &inputDefault{}
	switch item.kind {
	case String:
		d.path, d.pkg, d.hasPkg = splitPackage(item.text)
		if d.isSelf() && d.hasPkg {
			e := r.invalidDefault(item, "_self_@PACKAGE is not supported")
			e.Kind = "defaults-self-package"
			return nil, e
		}
		return d, nil
	case Map:
	case List:
		return nil, r.invalidDefault(item, "Unsupported type in defaults : ListConfig")
	default:
		return nil, r.invalidDefault(item, "Unsupported type in defaults : %s", pyType(item))
	}
	switch len(item.entries) {
	case 0:
		return nil, r.invalidDefault(item, "In %s: Missing group name in %s", f.path, pyRepr(item))
	case 1:
	default:
		return nil, r.invalidDefault(item, "In %s: Too many keys in default item %s", f.path, pyRepr(item))
	}
	entry := item.entries[0]
	if entry.Key.kind != String {
		return nil, r.invalidDefault(item, "In %s: the name of a group is a string, not %s", f.path, pyRepr(entry.Key))
	}
	d.isGroup = true
	words, pkg, hasPkg := splitPackage(entry.Key.text)
	d.pkg, d.hasPkg = pkg, hasPkg
	if err := r.keywords(d, item, words); err != nil {
		return nil, err
	}
	return d, r.parseChoice(d, entry.Value)
}

// keywords reads "optional" and "override" before the group's name. Hydra
// takes any other word silently; it is refused here, being a slip.
// Keywords may come in any order.
func (r *repo) keywords(d *inputDefault, item *Node, words string) error {
	known := []string{"optional", "override"}
	parts := strings.Split(words, " ")
	d.group = parts[len(parts)-1]
	for _, w := range parts[:len(parts)-1] {
		switch w {
		case "optional":
			d.optional = true
		case "override":
			d.override = true
		case "":
			continue
		default:
			e := r.invalidDefault(item, "unknown keyword '%s' in a defaults list%s", w, suggest.DidYouMean(w, known))
			e.Hint = "the keywords are optional and override"
			return e
		}
	}
	if d.group == "" {
		return r.invalidDefault(item, "the name of the group is missing in '%s'", words)
	}
	return nil
}

// parseChoice reads the option, the options or the null of a group.
func (r *repo) parseChoice(d *inputDefault, value *Node) error {
	switch value.kind {
	case Null:
		d.choice.null = true
	case String:
		d.choice.name = value.text
	case List:
		d.choice.isList = true
		for _, v := range value.items {
			if v.kind != String {
				return r.invalidDefault(v, "Unsupported item value in defaults : %s, nested list items must be strings", pyType(v))
			}
			d.choice.options = append(d.choice.options, v.text)
		}
	default:
		return r.invalidDefault(value, "Unsupported item value in defaults : %s. Supported: string or list", pyType(value))
	}
	return nil
}

// cloneDefaults copies a defaults list: building the tree changes its entries, and a
// file may stand in it more than once.
func cloneDefaults(list []*inputDefault) []*inputDefault {
	out := make([]*inputDefault, len(list))
	for i, d := range list {
		c := *d
		c.choice.options = slices.Clone(d.choice.options)
		out[i] = &c
	}
	return out
}

// deferred expands the entries whose names are interpolations of choices.
// Choices made by one deferred entry are not seen by the next of the same list.
// children are in reverse order and are replaced in place.
func (b *defaultsBuilder) deferred(children []*treeNode, add func(*inputDefault, bool) *treeNode) {
	var choices *Node
	for i, c := range children {
		if c.children != nil || !c.node.isInterpolation() {
			continue
		}
		if choices == nil {
			choices = b.overrides.knownChoices()
		}
		b.resolveName(c.node, choices)
		children[i] = add(c.node, true)
	}
}

// resolveName replaces an interpolation in an entry by the choices that are known.
// A choice that is not known yet ends the build with the keys that are known.
func (b *defaultsBuilder) resolveName(d *inputDefault, choices *Node) {
	name := &d.path
	if d.isGroup {
		name = &d.choice.name
	}
	text := *name
	if d.isGroup && strings.HasPrefix(text, "${defaults.") {
		b.fail(d, "defaults-invalid", "Defaults list element '%s=%s' is using a deprecated interpolation form.\n"+
			"Refer to the group by its name instead.", d.overrideKey(), text)
	}
	holder := newMap()
	holder.parent = choices
	node := newText(text)
	holder.putText("_dummy_", node)
	resolved, err := b.resolve.deref(node, nil)
	if err == nil && resolved.kind == String {
		*name = resolved.text
		return
	}
	msg := fmt.Sprintf("Error resolving interpolation '%s'", text)
	if len(b.overrides.knownKeys) > 0 {
		msg += ", possible interpolation keys: " + strings.Join(b.overrides.knownKeys, ", ")
	}
	e := b.failed(d, "defaults-interpolation", "%s", msg)
	e.Err = err
	panic(failure{e})
}

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
		e := b.failed(d, "config-not-found", "In '%s': Could not load '%s'.\n\n%s", where, d.configPath(), b.repo.searchPath())
		name, _ := d.name()
		e.Hint = b.repo.hint(d.configPath(), name, b.repo.options(d.groupPath()))
		return e
	}
	msg := fmt.Sprintf("In '%s': Could not find '%s'\n", where, d.configPath())
	options := b.repo.options(d.groupPath())
	if len(options) > 0 {
		msg += fmt.Sprintf("\nAvailable options in '%s':\n\t%s", d.groupPath(), strings.Join(options, "\n\t"))
	}
	e := b.failed(d, "option-not-found", "%s\n%s", msg, b.repo.searchPath())
	e.Hint = b.repo.hint(d.configPath(), d.choice.name, options)
	if eq := strings.IndexByte(d.origin.Override, '='); eq >= 0 {
		e.Column = eq + 2
	}
	return e
}

// hint says what may have been meant by a config that is not there.
// "" if nothing looks alike. A file that ends in .yml goes before names that look alike.
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
