package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/suggest"
)

// Compose reads the primary config and what its defaults lists include, merges
// them and applies the overrides. Errors are *Error and come in Hydra's order:
// override syntax, sweeps, the defaults lists, merging, values.
// Values keep their interpolations: one that leads nowhere is found by Config.Resolve.
// Compose reads files only through Options and starts nothing.
func Compose(o Options) (*Config, error) {
	overrides, err := parseOverrides(o.Overrides)
	if err != nil {
		return nil, err
	}
	c := newComposer(o, overrides)
	if err := c.checkSources(); err != nil {
		return nil, err
	}
	if err := c.extendSearchPath(); err != nil {
		return nil, c.repo.withLine(err)
	}
	if err := refuseSweeps(overrides); err != nil {
		return nil, err
	}
	c.renameOverrides()
	return c.build()
}

// parseOverrides keeps the order of the command line, which decides between two
// overrides of one key.
func parseOverrides(lines []string) ([]*override, error) {
	var overrides []*override
	for _, line := range lines {
		o, err := parseOverride(line)
		if err != nil {
			return nil, err
		}
		overrides = append(overrides, o)
	}
	return overrides, nil
}

// composer carries what the steps share.
type composer struct {
	opts Options
	repo *repo
	// in the order of the command line; a rename changes their keys, never their lines
	overrides []*override
	resolve   *resolver
	merge     *merger
	warnings  []string // for people; composing goes on
}

// newComposer fills in what Options leaves open. Hydra's own tree is the first
// source.
// It reads no file. A nil Env means an empty environment, not that of the process.
func newComposer(o Options, overrides []*override) *composer {
	if o.Env == nil {
		o.Env = func(string) (string, bool) { return "", false }
	}
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	if o.OpenDir == nil {
		o.OpenDir = os.DirFS
	}
	c := &composer{opts: o, overrides: overrides}
	c.repo = newRepo(append([]Source{hydraSource()}, o.Sources...))
	c.resolve = &resolver{env: o.Env, now: o.Now, hydra: func() *Node { return nil }}
	c.merge = &merger{resolve: c.resolve}
	return c
}

// build makes the defaults list, merges it and applies the value overrides.
func (c *composer) build() (*Config, error) {
	groups, err := newGroupOverrides(c.repo, c.overrides)
	if err != nil {
		return nil, err
	}
	b := &defaultsBuilder{repo: c.repo, overrides: groups, resolve: c.resolve}
	list, err := b.build(c.opts.ConfigName)
	if err != nil {
		return nil, err
	}
	c.warnings = append(c.warnings, b.warnings...)
	full, err := c.mergeList(list)
	if err != nil {
		return nil, c.repo.withLine(err)
	}
	for _, o := range groups.values {
		if err := c.apply(full, o); err != nil {
			return nil, c.repo.withLine(err)
		}
	}
	full.reparent()
	cfg := &Config{full: full, repo: c.repo, opts: c.opts, Warnings: c.warnings}
	if err := c.setRuntime(cfg, groups); err != nil {
		return nil, err
	}
	cfg.split()
	return cfg, nil
}

// split takes the hydra node out of the job's tree.
// Root is a copy, so that full keeps both parts for interpolations of the hydra node. Hydra is
// not copied, because Run adds to it what later interpolations must see.
func (c *Config) split() {
	c.Root = c.full.clone()
	c.Root.remove(nodeKey{String, "hydra"})
	c.Hydra = c.full.Get("hydra")
}

// checkSources refuses folders that the user named and that are not there.
// The first such folder is the error. It has no Origin: no file names the folder.
func (c *composer) checkSources() error {
	for _, s := range c.opts.Sources {
		if !s.Check {
			continue
		}
		info, err := fs.Stat(s.FS, ".")
		if err == nil && info.IsDir() {
			continue
		}
		e := &Error{Kind: "config-dir-not-found", Err: err,
			Message: fmt.Sprintf("Additional config directory '%s' not found", s.Path), Hint: nearDirs(s.Path)}
		if s.Provider == "main" {
			e.Message = "Primary config directory not found.\n" +
				fmt.Sprintf("Check that the config directory '%s' exists and readable", s.Path)
		}
		return e
	}
	return nil
}

// nearDirs suggests folders beside one that does not exist.
// nearDirs is "" if the parent cannot be read.
func nearDirs(dir string) string {
	parent := filepath.Dir(dir)
	entries, err := os.ReadDir(parent)
	if err != nil {
		return ""
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, filepath.Join(parent, e.Name()))
		}
	}
	return suggest.Question(dir, names)
}

// extendSearchPath adds the folders of hydra.searchpath, which only the
// primary config and the command line may set.
// The command line wins over the file, and its first override of the key counts. null means no
// search path in both. A primary config that does not exist is no error here: the defaults
// list reports it later, with names that look alike.
func (c *composer) extendSearchPath() error {
	var path *Node
	provider := "hydra.searchpath in main"
	if c.opts.ConfigName != "" {
		f, err := c.repo.load(c.opts.ConfigName)
		if err != nil {
			return err
		}
		if f != nil {
			if f.root.kind != Map {
				return &Error{Kind: "primary-not-mapping", Message: fmt.Sprintf("primary config '%s' must be a mapping, it is a list", c.opts.ConfigName),
					Origin: f.root.origin}
			}
			path, err = c.resolve.selectValue(f.root, ".hydra.searchpath", selectOptions{throwFailure: true})
			if err != nil {
				return at(err, f.root.Get("hydra"))
			}
		}
	}
	for _, o := range c.overrides {
		if o.op == "=" && o.fullKey() == "hydra.searchpath" && o.sweep == nil {
			path, provider = o.value, "hydra.searchpath in command-line"
			if path.kind == Null {
				path = nil
			}
			break
		}
	}
	if path == nil || path.kind == Null {
		return nil
	}
	bad := &Error{Kind: "searchpath", Message: "hydra.searchpath must be a list of strings. Got: " + pyStr(path), Origin: path.origin, Column: 1}
	if path.kind != List {
		return bad
	}
	for _, item := range path.items {
		v, err := c.resolve.deref(item, nil)
		if err != nil {
			return at(err, item)
		}
		if v.kind != String {
			return bad
		}
		if err := c.addSource(v.text, provider, item); err != nil {
			return err
		}
	}
	return nil
}

// addSource adds a folder of hydra.searchpath behind the other sources. A folder
// that is not there is a warning, as in Hydra.
// A relative path starts at Options.Cwd. A scheme other than file:// is an error.
func (c *composer) addSource(path, provider string, item *Node) error {
	scheme, rest, found := strings.Cut(path, "://")
	if found && scheme != "file" {
		return &Error{Kind: "searchpath", Message: fmt.Sprintf("the search path '%s' is left out: only folders can be searched", path),
			Origin: item.origin, Column: 1, Hint: "write the folder's path, with or without file://"}
	}
	if found {
		path = rest
	}
	dir := path
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(c.opts.Cwd, dir)
	}
	s := Source{Provider: provider, Path: path, FS: c.opts.OpenDir(dir)}
	if info, err := fs.Stat(s.FS, "."); err != nil || !info.IsDir() {
		c.warnings = append(c.warnings, fmt.Sprintf("provider=%s, path=%s is not available.", provider, path))
	}
	c.repo.sources = append(c.repo.sources, s)
	return nil
}

// mergeList merges the configs of the final list in order.
// Later configs win over earlier ones, key by key. Nodes of the files become nodes of
// the result: a change of the result changes the file's tree.
func (c *composer) mergeList(list []resultDefault) (*Node, error) {
	full := newMap()
	for _, d := range list {
		f, err := c.repo.load(d.path)
		if err != nil {
			return nil, err
		}
		root := f.root
		if d.pkg != "" {
			root = newMap()
			if err := c.merge.update(root, d.pkg, f.root.clone(), true); err != nil {
				return nil, &Error{Kind: "merge-type", Message: fmt.Sprintf("In '%s': the package '%s': %s", d.path, d.pkg, err), Origin: f.root.origin}
			}
		}
		if err := c.searchPathIsPrimary(d, root); err != nil {
			return nil, err
		}
		if err := c.renameKeys(root); err != nil {
			return nil, c.mergeFailed(d, f, err)
		}
		if err := c.merge.mergeInto(full, root, false); err != nil {
			return nil, c.mergeFailed(d, f, err)
		}
		full.reparent()
		if root.Get("hydra") != nil && f.source.Provider != "hydra" {
			if err := c.checkHydra(root.Get("hydra")); err != nil {
				return nil, err
			}
		}
	}
	return full, nil
}

// searchPathIsPrimary refuses a search path in any other than the primary config:
// it would come too late.
// A value of null is allowed: it changes nothing.
func (c *composer) searchPathIsPrimary(d resultDefault, root *Node) error {
	if d.primary || strings.HasPrefix(d.path, "hydra/config") || root.kind != Map {
		return nil
	}
	n := root.Lookup("hydra.searchpath")
	if n == nil || n.kind == Null {
		return nil
	}
	return &Error{Kind: "searchpath", Origin: n.origin,
		Message: fmt.Sprintf("In '%s': Overriding hydra.searchpath is only supported from the primary config", d.path)}
}

// mergeFailed names the file that could not be merged into those before it.
// The origin is the top of the file, because a mergeError knows no place.
func (c *composer) mergeFailed(d resultDefault, f *file, err error) error {
	kind := "merge-type"
	var me *mergeError
	if errors.As(err, &me) {
		kind = me.kind
	}
	return &Error{Kind: kind, Message: fmt.Sprintf("In '%s': TypeError raised while composing config:\n%s", d.path, err), Origin: f.root.origin,
		Hint: "a mapping cannot be merged with a list"}
}
