package show

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/compare"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/runs"
)

// TestSidesByName: a file or folder goes before a baseline of its name, and a baseline before
// a run of the store, whoever asks. Who may name no files gets the baseline or the run.
func TestSidesByName(t *testing.T) {
	t.Chdir(t.TempDir())
	store := "store"
	made, err := runs.Create(store, runs.CreateOptions{Version: "test", Steps: []runs.Step{{Name: "report"}}})
	if err != nil {
		t.Fatal(err)
	}
	id := made.ID()
	if err := made.Finish(runs.StatusDone, fact.Fact{}); err != nil {
		t.Fatal(err)
	}
	if err := made.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"main", id} {
		if _, err := compare.SetBaseline(store, name, []compare.Run{{Name: "kept as " + name, Result: &analysis.Result{Schema: analysis.Schema, Totals: analysis.Totals{WallNS: 1, Launches: 1}}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("main", []byte("a file"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, arg, want string
		resolve         func(string) (string, error)
	}{
		{"a person", "main", "analyzed main", nil},
		{"an agent", "main", "analyzed main", func(name string) (string, error) { return runs.Resolve(store, name) }},
		{"a client", "main", "kept as main", func(name string) (string, error) { return runs.InStore(store, name) }},
		{"a person", id, "kept as " + id, nil},
		{"a client", id, "kept as " + id, func(name string) (string, error) { return runs.InStore(store, name) }},
		{"a person", filepath.Join(store, id), "analyzed " + filepath.Join(store, id), nil},
	} {
		l := &SideLoader{Store: store, Resolve: c.resolve, Analyze: func(_ context.Context, paths []string) (*analysis.Result, error) {
			return &analysis.Result{Version: "analyzed " + paths[0]}, nil
		}}
		side, err := l.Side(context.Background(), []string{c.arg})
		if err != nil || len(side) != 1 {
			t.Errorf("%s, %s: %d runs, %v", c.name, c.arg, len(side), err)
			continue
		}
		if got := side[0].Result.Version; got != c.want && side[0].Name != c.want {
			t.Errorf("%s, %s: got %q %q, want %q", c.name, c.arg, side[0].Name, got, c.want)
		}
	}
}
