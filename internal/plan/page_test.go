package plan

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/conf"
	"github.com/deepprof/deepprof/internal/config"
)

// page collects what docs/configuration.md is made of.
type page struct {
	strings.Builder
	structs map[string]string    // dotted key -> comment of the struct field
	files   map[string]*yamlFile // path in the tree -> its comments
	base    *config.Node         // the composed defaults
	hydra   *config.Node
}

// TestConfigurationPageIsFresh compares docs/configuration.md with the structs and the
// comments of the shipped configuration; with -update it writes the page.
func TestConfigurationPageIsFresh(t *testing.T) {
	const file = "../../docs/configuration.md"
	want := generate(t)
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("docs/configuration.md is stale; run: go generate ./internal/plan")
	}
}

func TestEveryKeyOfEveryFileIsExplained(t *testing.T) {
	p := newPage(t)
	if len(p.files) < 20 {
		t.Fatalf("only %d files found", len(p.files))
	}
	for name, f := range p.files {
		if f.description == "" {
			t.Errorf("%s: no one-line description at the top", name)
		}
		if len(f.description) > 100 {
			t.Errorf("%s: description of %d characters does not fit a line of `config groups`", name, len(f.description))
		}
		for _, key := range f.bare {
			t.Errorf("%s: %s has no comment", name, key)
		}
	}
}

func TestEveryFieldIsDocumented(t *testing.T) {
	comments := structComments(t)
	for _, k := range Describe() {
		leaf := k.Name[strings.LastIndex(k.Name, ".")+1:]
		if !strings.HasPrefix(comments[k.Name], "`"+leaf+"` ") {
			t.Errorf("%s: the comment must begin with the field's name: %q", k.Name, comments[k.Name])
		}
	}
}

func TestEveryGroupIsOnThePage(t *testing.T) {
	listed := map[string]bool{".": true}
	for _, g := range groupNames() {
		listed[g.name] = true
		if len(g.options) == 0 {
			t.Errorf("group %s has no options", g.name)
		}
	}
	err := fs.WalkDir(conf.FS, ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && !listed[name] && len(groupOptions(name)) > 0 {
			t.Errorf("group %s is not listed", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestExamplesCompose(t *testing.T) {
	command := CommandOverrides([]string{"python3", "infer.py"})
	check := func(e example, args []string) {
		root, _ := shipped(t, args...)
		if _, problems := Decode(root); len(problems) > 0 {
			t.Errorf("%s: %q:\n%v", e.what, args, problems)
		}
	}
	for _, e := range exampleRuns {
		check(e, slices.Concat(command, e.args))
	}
	for _, e := range exampleModels {
		check(e, e.args)
	}
}

func (p *page) printf(format string, args ...any) { fmt.Fprintf(&p.Builder, format, args...) }

// generate makes the text of docs/configuration.md.
func generate(t testing.TB) string {
	p := newPage(t)
	p.base, p.hydra = shipped(t)
	p.WriteString(introduction)
	p.WriteString(examples())
	p.groups(t)
	p.keys()
	p.runDirectory()
	return p.String()
}

// newPage reads the comments of the structs and of the shipped configuration.
func newPage(t testing.TB) *page {
	t.Helper()
	p := &page{structs: structComments(t), files: map[string]*yamlFile{}}
	err := fs.WalkDir(conf.FS, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || path.Ext(name) != ".yaml" {
			return err
		}
		p.files[name], err = readYAML(conf.FS, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// shipped is the shipped tree under overrides, with interpolations resolved.
func shipped(t testing.TB, overrides ...string) (root, hydra *config.Node) {
	t.Helper()
	c := compose(t, nil, overrides...)
	root, err := c.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	return root, c.Hydra
}

// keys writes one section for each mapping, in the order of the structs.
func (p *page) keys() {
	p.printf("## Keys\n\nDefaults are those of the shipped tree with no override.\n\n")
	all := Describe()
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
		var leaves []Key
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

func (p *page) key(k Key) {
	n := p.base.Lookup(k.Name)
	p.printf("- **`%s`** (%s; default `%s`)  \n  %s", k.Name, typeOf(k), Flow(n), p.structs[k.Name])
	if k.Null != "" {
		p.printf(" `null`: %s.", k.Null)
	}
	if why := p.files[fileOf(n)].comments[k.Name]; why != "" {
		p.printf("  \n  %s", why)
	}
	p.printf("\n\n")
}

// typeOf words type, bounds and allowed values.
func typeOf(k Key) string {
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
		p.printf("- **`hydra.%s`** (default `%s`)  \n  %s\n\n", key, Flow(p.hydra.Lookup(key)), comments["hydra."+key])
	}
}

// groups writes the options of every group and what each changes.
func (p *page) groups(t testing.TB) {
	p.printf("## Groups and presets\n\n`deepprof config groups` prints this list, with your own files in it.\n\n")
	for _, g := range groupNames() {
		p.printf("### `%s`\n\n", g.name)
		for _, option := range g.options {
			root, _ := shipped(t, g.name+"="+option)
			p.printf("- **`%s=%s`**: %s\n", g.name, option, p.files[g.name+"/"+option+".yaml"].description)
			if changed := g.differences(p.base, root); len(changed) > 0 {
				p.printf("  Sets %s.\n", strings.Join(changed, ", "))
			}
		}
		p.printf("\n")
	}
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
		groups[i].options = groupOptions(groups[i].name)
	}
	return groups
}

// groupOptions lists the files of a group. A group that is not in the tree has none.
func groupOptions(group string) []string {
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
	if was, is := Flow(a.Lookup("model.name")), Flow(b.Lookup("model.name")); g.name == "workload" && was != is {
		out = append(out, "`model="+is+"`")
	}
	for _, k := range Keys() {
		if strings.HasSuffix(k, ".name") || g.name == "workload" && strings.HasPrefix(k, "model.") {
			continue
		}
		out = append(out, leafDifferences(k, a.Lookup(k), b.Lookup(k))...)
	}
	return out
}

// leafDifferences compares free mappings key by key.
func leafDifferences(key string, a, b *config.Node) []string {
	if Flow(a) == Flow(b) {
		return nil
	}
	if a == nil || a.Kind() != config.Map || b.Kind() != config.Map || b.Len() == 0 {
		value := Flow(b)
		if b.Kind() == config.Map && len(value) > 100 {
			value = "{...}"
		}
		return []string{"`" + key + "=" + value + "`"}
	}
	var out []string
	for _, e := range b.Entries() {
		name := Flow(e.Key)
		out = append(out, leafDifferences(key+"."+name, a.Get(name), e.Value)...)
	}
	return out
}
