package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// setRuntime fills the hydra node with what is known of this run.
func (c *composer) setRuntime(cfg *Config, groups *groupOverrides) error {
	hydra := cfg.full.Get("hydra")
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
		{"overrides.hydra", newTexts(cfg.System)},
		{"overrides.task", newTexts(cfg.Task)},
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

// resolver makes one that sees this config: its hydra node, and the variables
// that hydra.job.env_set adds.
func (c *Config) resolver() *resolver {
	r := &resolver{env: c.opts.Env, now: c.opts.Now, hydra: func() *Node { return c.Hydra }}
	r.env = func(name string) (string, bool) {
		if set := c.Hydra.Lookup("job.env_set"); c.run != nil && set != nil && set.kind == Map {
			if n := set.Get(name); n != nil {
				if v, err := (&resolver{env: c.opts.Env, now: c.opts.Now, hydra: r.hydra}).deref(n, nil); err == nil {
					return pyStr(v), true
				}
			}
		}
		return c.opts.Env(name)
	}
	return r
}

// Run resolves hydra.run.dir and what goes with it, and makes
// hydra.runtime.output_dir known to interpolations.
func (c *Config) Run() (Run, error) {
	if c.run != nil {
		return *c.run, nil
	}
	r := c.resolver()
	get := func(path string) (*Node, error) {
		v, err := r.selectValue(c.Hydra, "."+path, selectOptions{throwFailure: true})
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
	const key = "run.dir"
	dir, err := get(key)
	if err != nil {
		return Run{}, err
	}
	if dir.kind == Null || dir.container() {
		origin := c.Hydra.origin
		if n := c.Hydra.Lookup(key); n != nil {
			origin = n.origin
		}
		return Run{}, c.repo.withLine(&Error{Kind: "run-dir-missing", Message: "hydra." + key + " is not set: the run has no directory",
			Key: "hydra." + key, Origin: origin, Column: 1, Hint: "set hydra." + key + " to a folder, or leave it out for the default"})
	}
	run := Run{Dir: pyStr(dir)}
	run.Path = run.Dir
	if !filepath.IsAbs(run.Path) {
		run.Path = filepath.Join(c.opts.Cwd, run.Path)
	}
	run.Path = filepath.Clean(run.Path)
	c.Hydra.Get("runtime").putText("output_dir", newText(run.Path))
	chdir, err := get("job.chdir")
	if err != nil {
		return Run{}, err
	}
	run.Chdir, _ = truth(chdir)
	subdir, err := get("output_subdir")
	if err != nil {
		return Run{}, err
	}
	if subdir.kind != Null {
		run.OutputDir = filepath.Join(run.Path, pyStr(subdir))
	}
	if set := c.Hydra.Lookup("job.env_set"); set != nil {
		for _, e := range set.entries {
			if _, err := get("job.env_set." + pyStr(e.Key)); err != nil {
				return Run{}, err
			}
		}
	}
	c.run = &run
	return run, nil
}

// Resolve returns the job's config with all interpolations resolved, in key
// order. The run directory is resolved first: a config that cannot name it
// cannot run.
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

// addJobEnv adds the variables of hydra.job.env_set to the mapping that
// Options.JobEnv names. Variables that the mapping has already stay.
func (c *Config) addJobEnv(root *Node) error {
	set := c.Hydra.Lookup("job.env_set")
	target := root.Lookup(c.opts.JobEnv)
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

// ResolveHydra returns the hydra node resolved, but for what only a sweep
// knows: such a value stays as it was written.
func (c *Config) ResolveHydra() (*Node, error) {
	if _, err := c.Run(); err != nil {
		return nil, err
	}
	r := c.resolver()
	return r.lenient(c.Hydra), nil
}

func (r *resolver) lenient(n *Node) *Node {
	v, err := r.deref(n, nil)
	if err != nil || v.container() && v != n {
		return n.clone()
	}
	if !v.container() {
		c := v.clone()
		c.origin = n.origin
		return c
	}
	out := &Node{kind: v.kind, origin: v.origin}
	for _, e := range v.entries {
		out.put(e.Key, r.lenient(e.Value))
	}
	for _, item := range v.items {
		out.push(r.lenient(item))
	}
	return out
}

func (c *Config) resolveTree(root *Node) (*Node, error) {
	r := c.resolver()
	out, err := r.content(root, map[*Node]bool{})
	if err != nil {
		return nil, c.repo.withLine(at(err, root))
	}
	return out, nil
}

// Record gives the files that describe a run, by name, for the caller to write
// into Run.OutputDir; nil where none are wanted.
func (c *Config) Record() map[string][]byte {
	run, err := c.Run()
	if err != nil || run.OutputDir == "" {
		return nil
	}
	hydra := newMap()
	hydra.putText("hydra", c.Hydra.clone())
	return map[string][]byte{
		"config.yaml":    c.Root.YAML(),
		"hydra.yaml":     hydra.YAML(),
		"overrides.yaml": newTexts(c.Task).YAML(),
	}
}
