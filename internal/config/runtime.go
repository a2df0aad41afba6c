package config

import (
	"fmt"
	"slices"
	"strings"
)

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
