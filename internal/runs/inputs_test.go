package runs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/plan"
)

func TestInputs(t *testing.T) {
	data := t.TempDir()
	must(t, os.WriteFile(filepath.Join(data, "a.json"), []byte("[1]"), 0o644))
	must(t, os.Mkdir(filepath.Join(data, "sub"), 0o755))
	must(t, os.WriteFile(filepath.Join(data, "sub", "b"), nil, 0o644))
	files, err := describeFiles(ctx, data)
	must(t, err)
	if len(files) != 2 || files[0].Size != 3 || files[0].SHA256 != sha("[1]") || files[1].SHA256 != sha("") {
		t.Errorf("files %+v", files)
	}
	if _, err := describeFiles(ctx, filepath.Join(data, "nosuch")); err == nil || !strings.Contains(err.Error(), "nosuch") {
		t.Errorf("a file that does not exist: %v", err)
	}
	r := mustCreate(t, t.TempDir(), CreateOptions{})
	in := Inputs{
		Workload: WorkloadInput{Command: []string{"python", "x.py", "--prompt", "yes: no\n# not a comment"}, Dir: "/w"},
		Datasets: files,
		Model:    &ModelInput{Name: "llama", Random: true, Dtype: "bfloat16"},
		Missing:  map[string]string{"model.revision": "random weights have none"},
	}
	must(t, r.WriteInputs(in))
	got, err := r.ReadInputs()
	must(t, err)
	if got.Schema != 1 || got.Workload.Command[3] != in.Workload.Command[3] || got.Datasets[0] != files[0] || !got.Model.Random || got.Missing["model.revision"] == "" {
		t.Errorf("read back %+v", got)
	}
	must(t, r.WriteConfig([]byte("a: 1\n")))
	if err := r.WriteConfig([]byte("a: [")); err == nil {
		t.Error("broken YAML was written as the configuration")
	}
	if b, _ := os.ReadFile(r.Path(ConfigName)); string(b) != "a: 1\n" {
		t.Errorf("config.yaml reads %q", b)
	}
}

// What a shipped workload reads is listed, and nothing else: the list and its
// files, the model's fields or folder, the settings of prompts.
func TestDescribeInputs(t *testing.T) {
	start := t.TempDir()
	for name, text := range map[string]string{"files.list": "a.txt\n", "data/a.txt": "a", "m/config.json": "{}", "m/model.safetensors": "w"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(start, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(start, name), []byte(text), 0o644))
	}
	seed := 7
	p := &plan.Plan{
		Model:   plan.Model{Name: "m", DType: "bf16", Config: plan.ModelConfig{Values: map[string]any{"model_type": "llama"}}},
		Dataset: plan.Dataset{Name: "d", Root: "data", SubsetFilelist: "files.list", Sampling: plan.Sampling{NumEpochs: 1, Randomize: true, Seed: &seed}},
		Infer:   plan.Infer{BatchSize: 2, Prompt: "Say it.", PromptLength: 9, MaxNewTokens: 5, TopP: 0.5, Seed: 3},
	}
	p.Pipeline.Workload.Kind = plan.WorkloadLLM
	w := WorkloadInput{Name: ShippedPrefix + plan.WorkloadLLM, Start: start}
	in := DescribeInputs(ctx, w, p, []string{filepath.Join(start, "data", "a.txt")})
	if len(in.Datasets) != 2 || in.Datasets[0].Path != filepath.Join(start, "files.list") || in.Datasets[1].SHA256 != sha("a") || len(in.Missing) > 0 {
		t.Errorf("files %+v, missing %v", in.Datasets, in.Missing)
	}
	if m := in.Model; m == nil || !m.Random || m.Config["model_type"] != "llama" || m.Files != nil {
		t.Errorf("a model of fields: %+v", in.Model)
	}
	if i := in.Infer; i == nil || i.Prompt != "Say it." || i.PromptLength != 0 || i.TopP != 0 || i.BatchSize != 2 || i.Seed != 3 || *in.Dataset.RandomizationSeed != 7 {
		t.Errorf("settings %+v, %+v", in.Infer, in.Dataset)
	}
	p.Model = plan.Model{Name: "m", Path: "m", TrustRemoteCode: true}
	if m := DescribeInputs(ctx, w, p, nil).Model; m == nil || m.Random || m.Path != filepath.Join(start, "m") || len(m.Files) != 2 || m.Files[1].SHA256 != sha("w") || !m.TrustRemoteCode {
		t.Errorf("a folder: %+v", m)
	}
	p.Model = plan.Model{Config: plan.ModelConfig{File: "m/config.json"}}
	if m := DescribeInputs(ctx, w, p, nil).Model; m == nil || !m.Random || len(m.Files) != 1 || m.Files[0].SHA256 != sha("{}") {
		t.Errorf("a config file: %+v", m)
	}
	p.Model, w.Name = plan.Model{}, ""
	if in := DescribeInputs(ctx, w, p, nil); in.Model != nil || in.Infer != nil || in.Dataset != nil {
		t.Errorf("a command of the user's: %+v", in)
	}
}

// Equal models in different places, one of them a folder of links, are the
// same; one with another configuration is not.
func TestIdentifyModel(t *testing.T) {
	make1 := func(config string) string {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o644))
		f, err := os.Create(filepath.Join(dir, "model.safetensors"))
		must(t, err)
		must(t, f.Truncate(identityHashLimit+1))
		must(t, f.Close())
		return dir
	}
	a, b := make1("{}"), make1("{ }")
	links := t.TempDir()
	for _, n := range []string{"config.json", "model.safetensors"} {
		must(t, os.Symlink(filepath.Join(a, n), filepath.Join(links, n)))
	}
	var ids []string
	for _, dir := range []string{a, b, links} {
		m, err := identifyModel(ctx, dir)
		must(t, err)
		if len(m.Files) != 2 || m.Files[0].SHA256 == "" || m.Files[1].SHA256 != "" || m.Files[1].Size != identityHashLimit+1 {
			t.Errorf("files %+v", m.Files)
		}
		ids = append(ids, m.Identity)
	}
	if ids[0] == ids[1] || ids[0] != ids[2] {
		t.Errorf("identities %v", ids)
	}
}
