package show

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/timeline"
)

// withoutRanges writes a captured timeline of an H200 whose ranges cannot be found: the
// table has another name.
func withoutRanges(t *testing.T, path string) {
	t.Helper()
	data := bytes.ReplaceAll(content(t, "../../testdata/h200/llm.sqlite.gz"), []byte("NVTX_EVENTS"), []byte("GONE_EVENTS"))
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// table gives the cells of a view by the names of its columns.
func table(t *testing.T, view, path string) []map[string]string {
	t.Helper()
	text, err := ask(t, view, path, false)
	if err != nil {
		t.Fatalf("%s: %v", view, err)
	}
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(lines) == 0 {
		t.Fatalf("%s: %v, %d lines", view, err, len(lines))
	}
	var rows []map[string]string
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, cell := range line {
			row[lines[0][i]] = cell
		}
		rows = append(rows, row)
	}
	return rows
}

// What was detected to repeat is what steps and layers are divided by where a timeline
// has no ranges.
func TestDetectedInViews(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plain.sqlite")
	withoutRanges(t, path)
	repeat := timeline.DetectedDomain + "@" + timeline.DetectedRepeat
	stages := map[string]int{}
	for _, row := range table(t, "steps", path) {
		stages[row["stage"]]++
	}
	if stages[repeat] < 10 || stages[repeat+"/"+timeline.DetectedInner] < 40 || len(stages) != 2 {
		t.Errorf("steps by stage %v", stages)
	}
	stages = map[string]int{}
	for _, row := range table(t, "layers", path) {
		stages[row["stage"]]++
		if row["layer"] != "" {
			t.Errorf("%s is no module", row["layer"])
		}
	}
	if len(stages) != 3 || stages[repeat] != 1 {
		t.Errorf("layers by stage %v", stages)
	}
}

// A run whose analysis chose the regions itself shows their launches and gaps alone,
// as its views say.
func TestDefaultScope(t *testing.T) {
	for name, prepare := range map[string]func(path string){
		"detected": func(path string) { withoutRanges(t, path) },
		"stages": func(path string) {
			if err := os.WriteFile(path, content(t, "../../testdata/h200/llm.sqlite.gz"), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			run := t.TempDir()
			prepare(filepath.Join(run, "run.sqlite"))
			in := analysis.Input{DefaultScope: true}
			if err := in.Add(filepath.Join(run, "run.sqlite")); err != nil {
				t.Fatal(err)
			}
			result, err := analysis.Analyze(context.Background(), in)
			if err != nil {
				t.Fatal(err)
			}
			if result.Scope == nil || !result.Scope.Default || len(result.Scope.Regions) == 0 {
				t.Fatalf("scope %+v", result.Scope)
			}
			data, err := json.Marshal(result)
			if err != nil {
				t.Fatal(err)
			}
			all := len(table(t, "launches", run))
			if err := os.WriteFile(filepath.Join(run, "result.json"), data, 0o600); err != nil {
				t.Fatal(err)
			}
			rows := table(t, "launches", run)
			for _, row := range rows {
				in := false
				for _, region := range result.Scope.Regions {
					in = in || strings.HasPrefix(row["nvtx"]+"/", region+"/")
				}
				if !in {
					t.Fatalf("a launch in %q is not of %v", row["nvtx"], result.Scope.Regions)
				}
			}
			if len(rows) == 0 || len(rows) >= all {
				t.Errorf("%d of %d launches", len(rows), all)
			}
			launches := 0
			for _, row := range table(t, "layers", run) {
				if !slices.Contains(result.Scope.Regions, row["stage"]) {
					t.Errorf("layers of %q, not of %v", row["stage"], result.Scope.Regions)
				}
				launches += int(number(t, row["launches"]))
			}
			if launches != len(rows) {
				t.Errorf("layers have %d launches of %d", launches, len(rows))
			}
		})
	}
}

// Every kernel is in one row of layers: of a module, of a stage in no module, or in no
// stage. Work of a graph whose capture the file does not have stays in its stage.
func TestLayersHaveEveryKernel(t *testing.T) {
	for name, want := range map[string]string{"graph_node": "capture", "graph_whole": "capture", "llm": "decode"} {
		path := "../nsys/testdata/exports/" + name + ".sqlite.gz"
		sums := map[string]int64{}
		var total int64
		for _, row := range table(t, "layers", path) {
			n := number(t, row["gpu_ns"])
			sums[row["stage"]] += n
			total += n
		}
		var kernels int64
		for _, row := range table(t, "kernels", path) {
			kernels += number(t, row["total_ns"])
		}
		if total != kernels || sums[want] == 0 || sums[""] == 0 {
			t.Errorf("%s: layers %v, kernels %d", name, sums, kernels)
		}
	}
}

func number(t *testing.T, cell string) int64 {
	t.Helper()
	var n json.Number = json.Number(cell)
	i, err := n.Int64()
	if err != nil {
		t.Fatal(err)
	}
	return i
}
