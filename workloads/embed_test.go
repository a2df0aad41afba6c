package workloads

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestTree holds what is unpacked against what lies here: a module that is
// left out would fail only when a session imports it.
func TestTree(t *testing.T) {
	want := []string{"main.py"}
	for _, folder := range []string{"session", "annotate", "llm_server"} {
		entries, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".py") {
				want = append(want, folder+"/"+e.Name())
			}
		}
	}
	var got []string
	err := fs.WalkDir(FS, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			got = append(got, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("embedded %v, want %v", got, want)
	}
	if !slices.Contains(got, "session/__init__.py") {
		t.Errorf("embedded %v without the package's own file", got)
	}
}
