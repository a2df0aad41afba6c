package workload

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
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
		want fact.Code // of the only problem; "" for none
		has  string    // among its parameters
	}{
		"generated":           {plan.Plan{}, "", ""},
		"a model":             {model("good"), "", ""},
		"absolute":            {model(filepath.Join(dir, "good")), "", ""},
		"no model":            {model("nosuch"), folderAbsent, "model.path"},
		"a file":              {model("good/config.json"), folderIsFile, "model.path"},
		"empty folder":        {model("empty"), modelNoConfig, ""},
		"too high":            {model("above"), modelNoConfig, ""},
		"no weights":          {model("bare"), modelNoWeights, "bare/config.json"},
		"a shard missing":     {model("cut"), modelShardsAbsent, `"all":{"count":2},"dir":{"file":"` + dir + `/cut"},"n":{"count":1},"names":{"file":["two.safetensors"]}`},
		"a torn index":        {model("torn"), modelIndexDamaged, "model.safetensors.index.json"},
		"a config":            {config("good/config.json"), "", ""},
		"no config":           {config("good/nosuch.json"), configUnread, "nosuch.json: no such file"},
		"config is a list":    {config("list.json"), configNoObject, "list.json"},
		"config says nothing": {config("nothing.json"), configNoType, "nothing.json"},
		"files":               {data("data", "", "*.txt"), "", ""},
		"deep files":          {data("data", "", "**/*.png"), "", ""},
		"all files":           {data("data", "", "**"), "", ""},
		"sets":                {data("data", "", "[!b].txt"), "", ""},
		"one of two patterns": {data("data", "", "*.tif", "sub/*/b.png"), "", ""},
		"only hidden ones":    {data("data", "", "**/*.jpg"), datasetNoMatch, `["**/*.jpg"]`},
		"folders alone":       {data("data", "", "s*"), datasetNoMatch, `["s*"]`},
		"no root":             {data("nosuch", "", "*"), folderAbsent, "dataset.root"},
		"a list":              {data("data", "some.list"), "", ""},
		"no list":             {data("data", "nosuch.list"), listUnread, "nosuch.list: no such file"},
		"an empty list":       {data("data", "none.list"), listEmpty, "none.list"},
		"a list of absent":    {data("data", "bad.list"), listFilesAbsent, `"n":{"count":1},"names":{"file":["` + filepath.Join(dir, "data", "z.txt") + `"]}`},
	} {
		c.plan.Pipeline.Workload.Kind = plan.WorkloadLLM
		found := CheckInputs(&c.plan, dir)
		got := found.Model
		if got.IsZero() {
			got = found.Dataset
		}
		params, err := json.Marshal(got.Params)
		if err != nil || got.Code != c.want || !strings.Contains(string(params), c.has) || !found.Model.IsZero() && !found.Dataset.IsZero() {
			t.Errorf("%s: %+v, want %s %s (%v)", name, found, c.want, c.has, err)
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
	if got := CheckInputs(&both, dir); !got.Model.Is(folderAbsent) || !got.Dataset.Is(folderAbsent) {
		t.Errorf("two problems: %+v", got)
	}
	both.Pipeline.Workload.Kind = plan.WorkloadCommand
	if got := CheckInputs(&both, dir); !got.Model.IsZero() || !got.Dataset.IsZero() {
		t.Errorf("a command: %+v", got)
	}
}
