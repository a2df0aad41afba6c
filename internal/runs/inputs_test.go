package runs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInputs(t *testing.T) {
	data := t.TempDir()
	must(t, os.WriteFile(filepath.Join(data, "a.json"), []byte("[1]"), 0o644))
	must(t, os.Mkdir(filepath.Join(data, "sub"), 0o755))
	must(t, os.WriteFile(filepath.Join(data, "sub", "b"), nil, 0o644))
	files, err := DescribeFiles(ctx, data)
	must(t, err)
	if len(files) != 2 || files[0].Size != 3 || files[0].SHA256 != sha("[1]") || files[1].SHA256 != sha("") {
		t.Errorf("files %+v", files)
	}
	if _, err := DescribeFiles(ctx, filepath.Join(data, "nosuch")); err == nil || !strings.Contains(err.Error(), "nosuch") {
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
		m, err := IdentifyModel(ctx, dir)
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
