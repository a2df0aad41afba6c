package main

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/deepprof/deepprof/conf"
	"github.com/deepprof/deepprof/internal/config"
	"github.com/deepprof/deepprof/internal/plan"
)

// page collects what docs/configuration.md is made of.
type page struct {
	strings.Builder
	structs map[string]string    // dotted key -> comment of the struct field
	files   map[string]*yamlFile // path in the tree -> its comments
	base    *config.Node         // the composed defaults
	hydra   *config.Node
}

func (p *page) printf(format string, args ...any) { fmt.Fprintf(&p.Builder, format, args...) }

// generate makes the text of docs/configuration.md; dir is the folder of
// package plan's source.
func generate(dir string) (string, error) {
	p := &page{files: map[string]*yamlFile{}}
	var err error
	if p.structs, err = structComments(dir); err != nil {
		return "", err
	}
	if err := p.readTree(); err != nil {
		return "", err
	}
	if p.base, p.hydra, err = compose(); err != nil {
		return "", err
	}
	p.WriteString(introduction)
	p.WriteString(examples())
	if err := p.groups(); err != nil {
		return "", err
	}
	p.keys()
	p.runDirectory()
	return p.String(), nil
}

func (p *page) readTree() error {
	return fs.WalkDir(conf.FS, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || path.Ext(name) != ".yaml" {
			return err
		}
		p.files[name], err = readYAML(conf.FS, name)
		return err
	})
}

// compose composes the shipped tree, with interpolations resolved.
func compose(overrides ...string) (root, hydra *config.Node, err error) {
	c, err := config.Compose(config.Options{
		Sources:    []config.Source{{Provider: "main", Path: "conf", FS: conf.FS}},
		ConfigName: "config",
		Overrides:  overrides,
		Now:        time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Cwd:        "/work",
		JobName:    "deepprof",
	})
	if err != nil {
		return nil, nil, fmt.Errorf("compose %s: %w", strings.Join(overrides, " "), err)
	}
	root, err = c.Resolve()
	return root, c.Hydra, err
}

// keys writes one section for each mapping, in the order of the structs.
func (p *page) keys() {
	p.printf("## Keys\n\nDefaults are those of the shipped tree with no override.\n\n")
	all := plan.Describe()
	p.printf("### Top level\n\n")
	for _, k := range all {
		if !strings.Contains(k.Name, ".") && !k.Mapping {
			p.key(k)
		}
	}
	for _, section := range all {
		if !section.Mapping {
			continue
		}
		var leaves []plan.Key
		for _, k := range all {
			if rest, ok := strings.CutPrefix(k.Name, section.Name+"."); ok && !strings.Contains(rest, ".") && !k.Mapping {
				leaves = append(leaves, k)
			}
		}
		if len(leaves) == 0 {
			continue
		}
		p.printf("### `%s`\n\n%s\n\n", section.Name, p.structs[section.Name])
		for _, k := range leaves {
			p.key(k)
		}
	}
}

func (p *page) key(k plan.Key) {
	n := p.base.Lookup(k.Name)
	p.printf("- **`%s`** (%s; default `%s`)  \n  %s", k.Name, typeOf(k), plan.Flow(n), p.structs[k.Name])
	if k.Null != "" {
		p.printf(" `null`: %s.", k.Null)
	}
	if why := p.files[fileOf(n)].comments[k.Name]; why != "" {
		p.printf("  \n  %s", why)
	}
	p.printf("\n\n")
}

// typeOf words type, bounds and allowed values.
func typeOf(k plan.Key) string {
	text := k.Type
	switch {
	case len(k.Values) > 0 && !k.List:
		text = "one of `" + strings.Join(k.Values, "`, `") + "`"
	case len(k.Values) > 0:
		text += ", each one of `" + strings.Join(k.Values, "`, `") + "`"
	case k.Form != "":
		text = k.Form
	case k.Bounds != "":
		text += ", " + k.Bounds
	}
	if k.Split != "" {
		text += fmt.Sprintf("; a string is cut at `%s`", k.Split)
	}
	if k.Null != "" {
		text += "; or null"
	}
	return text
}

// fileOf is the path in the tree of the file that a value was written in.
func fileOf(n *config.Node) string { return strings.TrimPrefix(n.Origin().File, "conf/") }

// runDirectory documents the keys of the hydra node that a run reads.
func (p *page) runDirectory() {
	p.printf("### `hydra`\n\nWhat Hydra's users know of the run directory. These keys belong to the composition, not to the plan.\n\n")
	comments := p.files["config.yaml"].comments
	for _, key := range []string{"run.dir", "job.chdir", "output_subdir"} {
		p.printf("- **`hydra.%s`** (default `%s`)  \n  %s\n\n", key, plan.Flow(p.hydra.Lookup(key)), comments["hydra."+key])
	}
}

// groups writes the options of every group and what each changes.
func (p *page) groups() error {
	p.printf("## Groups and presets\n\n`deepprof config groups` prints this list, with your own files in it.\n\n")
	for _, g := range groupNames() {
		p.printf("### `%s`\n\n", g.name)
		for _, option := range g.options {
			root, _, err := compose(g.name + "=" + option)
			if err != nil {
				return err
			}
			p.printf("- **`%s=%s`**: %s\n", g.name, option, p.files[g.name+"/"+option+".yaml"].description)
			if changed := g.differences(p.base, root); len(changed) > 0 {
				p.printf("  Sets %s.\n", strings.Join(changed, ", "))
			}
		}
		p.printf("\n")
	}
	return nil
}

// group is a folder of options.
type group struct {
	name    string // path of the folder
	options []string
}

func groupNames() []group {
	groups := []group{
		{name: "workload"},
		{name: "model"},
		{name: "dataset"},
		{name: "dataset/sampling"},
		{name: "pipeline/nsys"},
		{name: "pipeline/ncu"},
		{name: "pipeline/torch_profiler"},
	}
	for i := range groups {
		groups[i].options = options(groups[i].name)
	}
	return groups
}

// options lists the files of a group. A group that is not in the tree has none.
func options(group string) []string {
	entries, _ := fs.ReadDir(conf.FS, group)
	var out []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".yaml"); ok {
			out = append(out, name)
		}
	}
	return out
}

// differences lists what b has other than a, as key=value. A workload that
// chooses a model is said to do so instead of listing all that comes with it.
func (g group) differences(a, b *config.Node) []string {
	var out []string
	if was, is := plan.Flow(a.Lookup("model.name")), plan.Flow(b.Lookup("model.name")); g.name == "workload" && was != is {
		out = append(out, "`model="+is+"`")
	}
	for _, k := range plan.Keys() {
		if strings.HasSuffix(k, ".name") || g.name == "workload" && strings.HasPrefix(k, "model.") {
			continue
		}
		out = append(out, leafDifferences(k, a.Lookup(k), b.Lookup(k))...)
	}
	return out
}

// leafDifferences compares free mappings key by key.
func leafDifferences(key string, a, b *config.Node) []string {
	if plan.Flow(a) == plan.Flow(b) {
		return nil
	}
	if a == nil || a.Kind() != config.Map || b.Kind() != config.Map || b.Len() == 0 {
		value := plan.Flow(b)
		if b.Kind() == config.Map && len(value) > 100 {
			value = "{...}"
		}
		return []string{"`" + key + "=" + value + "`"}
	}
	var out []string
	for _, e := range b.Entries() {
		name := plan.Flow(e.Key)
		out = append(out, leafDifferences(key+"."+name, a.Get(name), e.Value)...)
	}
	return out
}
