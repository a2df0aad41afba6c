package plan

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/deepprof/deepprof/conf"
	"github.com/deepprof/deepprof/internal/config"
)

// ShippedTree is how the embedded configuration is named in errors and origins.
const ShippedTree = "deepprof:conf"

// jobName is hydra.job.name of every configuration.
const jobName = "deepprof"

// A Composer chooses the configuration that is composed; its fields mean what the
// flags of Hydra mean. The zero value composes no primary config from ./conf and the
// tree that ships with deepprof.
type Composer struct {
	Path string // --config-path: a tree in place of the shipped one
	Dir  string // --config-dir: a folder that overlays the others
	Name string // --config-name: the primary config, with or without ".yaml"; "" for none
}

// Composed is a configuration that was composed, resolved and checked.
type Composed struct {
	Config *config.Config
	Root   *config.Node // resolved, without the hydra node
	Plan   *Plan
	Run    config.Run // hydra.run.dir and what goes with it
}

// Sources is the search path; the first that has a file wins. A folder ./conf
// overlays the shipped tree file by file, Dir overlays both. Where Path names the
// tree, it comes first, as in Hydra, and ./conf stays out.
func (c *Composer) Sources() []config.Source {
	var extra []config.Source
	if c.Dir != "" {
		extra = []config.Source{folderSource("command-line", c.Dir)}
	}
	if c.Path != "" {
		return append([]config.Source{folderSource("main", c.Path)}, extra...)
	}
	if st, err := os.Stat("conf"); err == nil && st.IsDir() {
		extra = append(extra, folderSource("working directory", "conf"))
	}
	return append(extra, config.Source{Provider: "main", Path: ShippedTree, FS: conf.FS})
}

// folderSource is checked: one that is not there is an error of Compose.
func folderSource(provider, dir string) config.Source {
	return config.Source{Provider: provider, Path: dir, FS: os.DirFS(dir), Check: true}
}

// Compose resolves nothing and checks nothing against the plan.
func (c *Composer) Compose(overrides []string) (*config.Config, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find the working directory: %w", err)
	}
	composed, err := config.Compose(config.Options{
		Sources: c.Sources(), ConfigName: strings.TrimSuffix(c.Name, ".yaml"), Overrides: overrides,
		Env: os.LookupEnv, Cwd: cwd, JobName: jobName, Renames: Renames, JobEnv: envKey,
	})
	var wrong *config.Error
	if errors.As(err, &wrong) && wrong.Kind == "group-override-no-match" {
		if file := c.groupless(); file != "" {
			wrong.Hint = file + " stands in place of the shipped config.yaml as a whole and has no defaults list, which names the groups; begin it with that of the shipped file (conf/config.yaml of deepprof), or remove it"
		}
	}
	return composed, err
}

// groupless is the primary config where it hides the shipped one and lacks its
// defaults list; "" where that is not so.
func (c *Composer) groupless() string {
	name := strings.TrimSuffix(c.Name, ".yaml") + ".yaml"
	for _, source := range c.Sources() {
		text, err := fs.ReadFile(source.FS, name)
		if err != nil {
			continue
		}
		if _, err := fs.Stat(conf.FS, name); err != nil || source.Path == ShippedTree || defaultsList.Match(text) {
			return ""
		}
		return filepath.Join(source.Path, name)
	}
	return ""
}

var defaultsList = regexp.MustCompile(`(?m)^["']?defaults["']?\s*:`)

// Plan composes, resolves and decodes; every problem of the plan is in the error.
func (c *Composer) Plan(overrides []string) (*Composed, error) {
	composed, err := c.Compose(overrides)
	if err != nil {
		return nil, err
	}
	return decodeConfig(composed)
}

// OfFile is the plan that one file of a folder holds, as a run stores it, with
// warnings such as keys under an old name.
func OfFile(dir, name string) (p *Plan, warnings []string, err error) {
	composed, err := config.Compose(config.Options{
		Sources: []config.Source{folderSource("main", dir)}, ConfigName: strings.TrimSuffix(name, ".yaml"), JobName: jobName, Renames: Renames, JobEnv: envKey,
	})
	if err != nil {
		return nil, nil, err
	}
	c, err := decodeConfig(composed)
	if err != nil {
		return nil, nil, fmt.Errorf("%s is not a configuration of this version of deepprof; start a new run, or fix it: %w", filepath.Join(dir, name), err)
	}
	return c.Plan, composed.Warnings, nil
}

// decodeConfig turns a composed configuration into the typed plan.
func decodeConfig(composed *config.Config) (*Composed, error) {
	root, err := composed.Resolve()
	if err != nil {
		return nil, err
	}
	p, problems := Decode(root)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	run, err := composed.Run() // Resolve has looked at it
	if err != nil {
		return nil, err
	}
	return &Composed{composed, root, p, run}, nil
}

// Complete offers words for the beginning of an override: options of a group, values
// of a key, or groups and keys. Final tells that the words are whole and that nothing
// else can stand there; open that files may, as the value of a key. What follows a tab
// is an explanation.
func (c *Composer) Complete(word string) (words []string, final, open bool) {
	prefix := word[:len(word)-len(strings.TrimLeft(word, "+~"))]
	key, value, assigned := strings.Cut(strings.TrimPrefix(word, prefix), "=")
	for _, g := range config.Groups(c.Sources()) {
		switch {
		case assigned && g.Name == key:
			for _, o := range g.Options {
				if strings.HasPrefix(o.Name, value) {
					words = append(words, fmt.Sprintf("%s%s=%s\t%s", prefix, key, o.Name, o.Comment))
				}
			}
			return words, true, false
		case !assigned && g.Name != "" && strings.HasPrefix(g.Name, key):
			words = append(words, prefix+g.Name+"=\tconfig group")
		}
	}
	if assigned {
		for _, k := range Describe() {
			for _, v := range k.Values {
				if k.Name == key && strings.HasPrefix(v, value) {
					words = append(words, prefix+key+"="+v)
				}
			}
		}
		return words, true, true
	}
	composed, err := c.Compose(nil)
	if err != nil {
		return words, false, false
	}
	for _, k := range config.Keys(composed.Root) {
		if strings.HasPrefix(k, key) {
			words = append(words, prefix+k+"=")
		}
	}
	return words, false, false
}
