package folder

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/runs"
)

// A number that is null is refused with its place; what may be absent is not.
func TestNullIsNotZero(t *testing.T) {
	goldens, err := filepath.Glob("../../analysis/testdata/*.golden.json")
	if err != nil || len(goldens) == 0 {
		t.Fatal(err)
	}
	for _, path := range goldens {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if at := badNull(data, reflect.TypeFor[analysis.Result]()); at != "" {
			t.Errorf("%s: %s is null", path, at)
		}
	}
	data, err := os.ReadFile("../../analysis/testdata/llm_scope.golden.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{"totals.launches", "totals", "stages.0.split.wall_ns", "kernels.1.total_ns", "kernels.0", "kernels.0.grid.2", "environment.gpus.0.name"} {
		var tree any
		if err := json.Unmarshal(data, &tree); err != nil {
			t.Fatal(err)
		}
		setNull(t, tree, strings.Split(place, "."))
		text, err := json.MarshalIndent(tree, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parse(runs.ResultName, text); err == nil {
			t.Errorf("%s: null was read", place)
		}
	}
}

// setNull puts null at a place of a tree.
func setNull(t *testing.T, tree any, path []string) {
	t.Helper()
	for i, name := range path {
		last := i == len(path)-1
		switch x := tree.(type) {
		case map[string]any:
			if _, ok := x[name]; !ok {
				t.Fatalf("there is no %s", strings.Join(path, "."))
			}
			if last {
				x[name] = nil
			}
			tree = x[name]
		case []any:
			at := int(name[0] - '0')
			if last {
				x[at] = nil
			}
			tree = x[at]
		}
	}
}
