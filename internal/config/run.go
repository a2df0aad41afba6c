package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Run is what the hydra node says about the folder of a run.
type Run struct {
	Path string // hydra.run.dir, made absolute from Options.Cwd
	// files that hydra.output_subdir asks for, by their path within the run; nil for none
	Record map[string][]byte
}

// resolver makes one that sees this config: its hydra node, and the variables
// that hydra.job.env_set adds.
// Variables of env_set count only after Run has resolved them all, so that they cannot
// depend on each other.
func (c *Config) resolver() *resolver {
	r := &resolver{env: c.opts.Env, now: c.opts.Now, hydra: func() *Node { return c.Hydra }}
	plain := *r
	r.env = func(name string) (string, bool) {
		if n := c.Hydra.Lookup("job.env_set").Get(name); c.run != nil && n != nil {
			if v, err := plain.deref(n, nil); err == nil {
				return pyStr(v), true
			}
		}
		return c.opts.Env(name)
	}
	return r
}

// hydraValue resolves a value of the hydra node; null if it is not there.
// The error points at the value, or at the hydra node if the key does not exist.
func (c *Config) hydraValue(path string) (*Node, error) {
	v, err := c.resolver().selectValue(c.Hydra, "."+path, selectOptions{throwFailure: true})
	if err != nil {
		n := c.Hydra.Lookup(path)
		if n == nil {
			n = c.Hydra
		}
		return nil, c.repo.withLine(at(err, n))
	}
	if v == nil {
		v = newNull()
	}
	return v, nil
}

// Run resolves hydra.run.dir and what goes with it, and makes
// hydra.runtime.output_dir known to interpolations. Later calls return the same
// Run.
// It makes no folder: the caller does. Only success is kept, so a failed call may be repeated.
func (c *Config) Run() (Run, error) {
	if c.run != nil {
		return *c.run, nil
	}
	dir, err := c.hydraValue("run.dir")
	if err != nil {
		return Run{}, err
	}
	if dir.kind == Null || dir.container() {
		e := &Error{Kind: "run-dir-missing", Message: "hydra.run.dir is not set: the run has no directory", Key: "hydra.run.dir",
			Origin: c.Hydra.origin, Column: 1, Hint: "set hydra.run.dir to a folder, or leave it out for the default"}
		if n := c.Hydra.Lookup("run.dir"); n != nil {
			e.Origin = n.origin
		}
		return Run{}, c.repo.withLine(e)
	}
	run := Run{Path: filepath.Clean(pyStr(dir))}
	if !filepath.IsAbs(run.Path) {
		run.Path = filepath.Join(c.opts.Cwd, run.Path)
	}
	c.Hydra.Get("runtime").putText("output_dir", newText(run.Path))
	if run.Record, err = c.record(); err != nil {
		return Run{}, err
	}
	for _, e := range c.Hydra.Lookup("job.env_set").Entries() {
		if _, err := c.hydraValue("job.env_set." + pyStr(e.Key)); err != nil {
			return Run{}, err
		}
	}
	c.run = &run
	return run, nil
}

// record makes the files that Hydra writes into hydra.output_subdir.
// Interpolations stay as they were written. The map is nil if output_subdir is null.
func (c *Config) record() (map[string][]byte, error) {
	subdir, err := c.hydraValue("output_subdir")
	if err != nil || subdir.kind == Null {
		return nil, err
	}
	if folder := filepath.Clean(pyStr(subdir)); subdir.container() || folder == "." || !filepath.IsLocal(folder) {
		e := &Error{Kind: "hydra-schema", Message: "hydra.output_subdir must name a folder within the run, it is " + pyStr(subdir),
			Key: "hydra.output_subdir", Origin: subdir.origin, Hint: "write .hydra, or null for none"}
		return nil, c.repo.withLine(e)
	}
	hydra := newMap()
	hydra.putText("hydra", c.Hydra.clone())
	return map[string][]byte{
		filepath.Join(pyStr(subdir), "config.yaml"):    c.Root.YAML(),
		filepath.Join(pyStr(subdir), "hydra.yaml"):     hydra.YAML(),
		filepath.Join(pyStr(subdir), "overrides.yaml"): newTexts(c.task).YAML(),
	}, nil
}

// Resolve returns the job's config with all interpolations resolved, in key
// order. The run directory is resolved first: a config that cannot name it
// cannot run.
// Every call resolves again; only the run directory is remembered. The result shares no
// value with the composed tree.
func (c *Config) Resolve() (*Node, error) {
	if _, err := c.Run(); err != nil {
		return nil, err
	}
	root, err := c.resolveTree(c.Root)
	if err != nil {
		return nil, err
	}
	return root, c.addJobEnv(root)
}

// resolveTree resolves everything below a node, with the place in errors.
func (c *Config) resolveTree(root *Node) (*Node, error) {
	out, err := c.resolver().content(root, map[*Node]bool{})
	if err != nil {
		return nil, c.repo.withLine(at(err, root))
	}
	return out, nil
}

// addJobEnv adds the variables of hydra.job.env_set to the mapping that
// Options.JobEnv names. Variables that the mapping has already stay.
// A JobEnv that names no mapping is ignored.
func (c *Config) addJobEnv(root *Node) error {
	set, target := c.Hydra.Lookup("job.env_set"), root.Lookup(c.opts.JobEnv)
	if c.opts.JobEnv == "" || set == nil || target == nil || target.kind != Map {
		return nil
	}
	variables, err := c.resolveTree(set)
	if err != nil {
		return err
	}
	for _, e := range variables.entries {
		if target.child(keyOf(e.Key)) == nil {
			target.put(e.Key, e.Value)
		}
	}
	return nil
}

// View gives the composed config for people: as written or resolved, without
// or with the hydra node, which then comes first as Hydra prints it. Values of
// the hydra node that cannot be resolved, such as those that only a sweep has,
// stay as they were written.
// Unresolved, it is the composed tree itself: do not change it.
func (c *Config) View(resolve, hydra bool) (*Node, error) {
	root, own := c.Root, c.Hydra
	if resolve {
		var err error
		if root, err = c.Resolve(); err != nil {
			return nil, err
		}
		own = c.resolver().lenient(c.Hydra)
	}
	if !hydra {
		return root, nil
	}
	all := newMap()
	all.entries = append([]Entry{{Key: newText("hydra"), Value: own}}, root.entries...)
	all.reindex()
	return all, nil
}

// lenient resolves what it can.
// It never fails. An interpolation that leads to a mapping or list stays as it was written.
func (r *resolver) lenient(n *Node) *Node {
	if !n.container() {
		if v, err := r.deref(n, nil); err == nil && !v.container() {
			return &Node{kind: v.kind, text: v.text, origin: n.origin}
		}
		return n.clone()
	}
	out := &Node{kind: n.kind, origin: n.origin}
	for _, e := range n.entries {
		out.put(e.Key, r.lenient(e.Value))
	}
	for _, item := range n.items {
		out.push(r.lenient(item))
	}
	return out
}

// setRuntime fills the hydra node with what is known of this run.
func (c *composer) setRuntime(cfg *Config, groups *groupOverrides) error {
	hydra := cfg.full.Get("hydra")
	var own []string
	for _, o := range c.overrides {
		if o.isHydra() {
			own = append(own, o.line)
		} else {
			cfg.task = append(cfg.task, o.line)
		}
	}
	configName := newNull()
	if c.opts.ConfigName != "" {
		configName = newText(c.opts.ConfigName)
	}
	sources := newList()
	for _, s := range c.repo.sources {
		m := newMap()
		m.putText("path", newText(s.Path))
		m.putText("schema", newText("file"))
		m.putText("provider", newText(s.Provider))
		sources.push(m)
	}
	dirname, err := c.overrideDirname(hydra)
	if err != nil {
		return err
	}
	known := []struct {
		path  string
		value *Node
	}{
		{"overrides.hydra", newTexts(own)},
		{"overrides.task", newTexts(cfg.task)},
		{"runtime.choices", groups.knownChoices()},
		{"runtime.version", newText(hydraVersion)},
		{"runtime.cwd", newText(c.opts.Cwd)},
		{"runtime.config_sources", sources},
		{"job.config_name", configName},
		{"job.override_dirname", newText(dirname)},
	}
	if name := hydra.Lookup("job.name"); name == nil || name.Missing() {
		known = append(known, struct {
			path  string
			value *Node
		}{"job.name", newText(c.opts.JobName)})
	}
	for _, k := range known {
		if err := c.merge.update(hydra, k.path, k.value, true); err != nil {
			return &Error{Kind: "hydra-schema", Message: fmt.Sprintf("set hydra.%s: %s", k.path, err), Origin: hydra.origin}
		}
	}
	cfg.full.reparent()
	return nil
}

// overrideDirname joins the job's overrides into a name for a directory.
// They are sorted, so their order on the command line does not matter. Overrides of hydra
// itself and those of exclude_keys are left out.
func (c *composer) overrideDirname(hydra *Node) (string, error) {
	text := func(key string) (string, error) {
		v, err := c.resolve.selectValue(hydra, ".job.config.override_dirname."+key, selectOptions{throwFailure: true})
		if err != nil || v == nil {
			return "", err
		}
		return pyStr(v), nil
	}
	keySep, err := text("kv_sep")
	if err != nil {
		return "", at(err, hydra)
	}
	itemSep, err := text("item_sep")
	if err != nil {
		return "", at(err, hydra)
	}
	excluded := map[string]bool{}
	if list := hydra.Lookup("job.config.override_dirname.exclude_keys"); list != nil {
		for _, item := range list.items {
			v, err := c.resolve.deref(item, nil)
			if err != nil {
				return "", at(err, item)
			}
			excluded[pyStr(v)] = true
		}
	}
	var lines []string
	for _, o := range c.overrides {
		if !o.isHydra() && !excluded[o.key] {
			lines = append(lines, o.line)
		}
	}
	slices.Sort(lines)
	return strings.ReplaceAll(strings.Join(lines, itemSep), "=", keySep), nil
}
