package main

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/conf"
	"github.com/deepprof/deepprof/internal/plan"
)

func TestConfigurationPageIsFresh(t *testing.T) {
	want, err := generate("..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("docs/configuration.md is stale; run: go generate ./internal/plan")
	}
}

func TestEveryKeyOfEveryFileIsExplained(t *testing.T) {
	p := &page{files: map[string]*yamlFile{}}
	if err := p.readTree(); err != nil {
		t.Fatal(err)
	}
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
	comments, err := structComments("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range plan.Describe() {
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
		if err == nil && e.IsDir() && !listed[name] && len(options(name)) > 0 {
			t.Errorf("group %s is not listed", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestExamplesCompose(t *testing.T) {
	command := plan.CommandOverrides([]string{"python3", "infer.py"})
	check := func(e example, args []string) {
		root, _, err := compose(args...)
		if err != nil {
			t.Errorf("%s: %v", e.what, err)
			return
		}
		if _, problems := plan.Decode(root); len(problems) > 0 {
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
