package workload

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/plan"
)

func TestCheckInputs(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"good/config.json": `{"model_type": "llama"}`, "good/model.safetensors": "x", "bare/config.json": "{}", "empty/.keep": "", "above/good/config.json": "{}",
		"cut/config.json": "{}", "cut/model.safetensors.index.json": `{"weight_map": {"a": "one.safetensors", "b": "two.safetensors", "c": "two.safetensors"}}`,
		"cut/one.safetensors": "x", "torn/config.json": "{}", "torn/model.safetensors.index.json": `{"weight`,
		"list.json": "[]", "nothing.json": `{"hidden_size": 4}`,
		"data/a.txt": "a", "data/sub/deep/b.png": "b", "data/.hidden/c.jpg": "c", "some.list": "# two\na.txt\nsub/deep/b.png\n", "none.list": "\n# no\n", "bad.list": "a.txt\nz.txt\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "data", "sub"), filepath.Join(dir, "data", "sub", "again")); err != nil {
		t.Fatal(err)
	}
	model := func(path string) plan.Plan { return plan.Plan{Model: plan.Model{Path: path}} }
	config := func(path string) plan.Plan {
		return plan.Plan{Model: plan.Model{Config: plan.ModelConfig{File: path}}}
	}
	data := func(root, list string, patterns ...string) plan.Plan {
		return plan.Plan{Dataset: plan.Dataset{Root: root, SubsetFilelist: list, FallbackPatterns: patterns}}
	}
	for name, c := range map[string]struct {
		plan plan.Plan
		want string // in the only problem; "" for none
	}{
		"generated":           {plan.Plan{}, ""},
		"a model":             {model("good"), ""},
		"absolute":            {model(filepath.Join(dir, "good")), ""},
		"no model":            {model("nosuch"), "model.path: " + filepath.Join(dir, "nosuch") + " does not exist"},
		"a file":              {model("good/config.json"), "is not a folder"},
		"empty folder":        {model("empty"), "has no config.json"},
		"too high":            {model("above"), "has no config.json"},
		"no weights":          {model("bare"), "no *.safetensors"},
		"a shard missing":     {model("cut"), "lacks 1 of 2 weight files: two.safetensors"},
		"a torn index":        {model("torn"), "model.safetensors.index.json"},
		"a config":            {config("good/config.json"), ""},
		"no config":           {config("good/nosuch.json"), "nosuch.json: no such file"},
		"config is a list":    {config("list.json"), "not a JSON object"},
		"config says nothing": {config("nothing.json"), "no model_type"},
		"files":               {data("data", "", "*.txt"), ""},
		"deep files":          {data("data", "", "**/*.png"), ""},
		"all files":           {data("data", "", "**"), ""},
		"sets":                {data("data", "", "[!b].txt"), ""},
		"one of two patterns": {data("data", "", "*.tif", "sub/*/b.png"), ""},
		"only hidden ones":    {data("data", "", "**/*.jpg"), "matches **/*.jpg"},
		"folders alone":       {data("data", "", "s*"), "nothing in"},
		"no root":             {data("nosuch", "", "*"), "dataset.root: " + filepath.Join(dir, "nosuch") + " does not exist"},
		"a list":              {data("data", "some.list"), ""},
		"no list":             {data("data", "nosuch.list"), "nosuch.list: no such file"},
		"an empty list":       {data("data", "none.list"), "names no file"},
		"a list of absent":    {data("data", "bad.list"), "1 of the 2 files in " + filepath.Join(dir, "bad.list") + " are not there: " + filepath.Join(dir, "data", "z.txt")},
	} {
		c.plan.Pipeline.Workload.Kind = plan.WorkloadLLM
		got := CheckInputs(&c.plan, dir)
		switch {
		case c.want == "" && len(got) > 0:
			t.Errorf("%s: %+v", name, got)
		case c.want != "" && (len(got) != 1 || !strings.Contains(got[0].What, c.want) || got[0].Next == "" || got[0].Section == ""):
			t.Errorf("%s: %+v, want %q", name, got, c.want)
		}
	}
	for name, c := range map[string]struct {
		data plan.Dataset
		want string
	}{
		"generated":    {plan.Dataset{}, ""},
		"a list":       {plan.Dataset{Root: "data", SubsetFilelist: "some.list", FallbackPatterns: []string{"**"}}, "data/a.txt data/sub/deep/b.png"},
		"two patterns": {plan.Dataset{Root: "data", FallbackPatterns: []string{"*/deep/*.png", "*.txt", "a*"}}, "data/a.txt data/sub/deep/b.png"},
		"hidden ones":  {plan.Dataset{Root: "data", FallbackPatterns: []string{".hidden/*"}}, "data/.hidden/c.jpg"},
	} {
		got, err := DatasetFiles(c.data, dir)
		if all := strings.ReplaceAll(strings.Join(got, " "), dir+"/", ""); err != nil || all != c.want {
			t.Errorf("files of %s: %q, want %q (%v)", name, all, c.want, err)
		}
	}
	both := model("nosuch")
	both.Dataset.Root = "neither"
	both.Pipeline.Workload.Kind = plan.WorkloadVLM
	if got := CheckInputs(&both, dir); len(got) != 2 {
		t.Errorf("two problems: %+v", got)
	}
	both.Pipeline.Workload.Kind = plan.WorkloadCommand
	if got := CheckInputs(&both, dir); got != nil {
		t.Errorf("a command: %+v", got)
	}
}
