package analysis

import (
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/spill"
)

// Columns in a file give the same result as columns in memory, and nothing of a result is a
// part of one: it is written after they are gone.
func TestColumnsInAFile(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("columns go to a file on Linux only")
	}
	t.Setenv("TMPDIR", t.TempDir())
	all := func() (out []string) {
		exports := "../nsys/testdata/exports/"
		for _, fixtures := range [][]string{{llmTimeline, llmCounters}, {toyTimeline, toyCounters}, {exports + "multi_node.sqlite.gz"},
			{exports + "graph_whole.sqlite.gz"}, {exports + "server_window.sqlite.gz"}, {exports + "gpu_metrics.sqlite.gz"}, {exports + "python.sqlite.gz"}} {
			r := analyzeFiles(t, fixtures...)
			for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
				maps, err := os.ReadFile("/proc/self/maps")
				if err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(string(maps), os.Getenv("TMPDIR")) {
					break
				}
				if time.Now().After(deadline) {
					t.Fatal("columns are left")
				}
			}
			text, err := json.MarshalIndent(r, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, string(text))
		}
		return out
	}
	want := all()
	files, columns := spill.FileBytes, spill.ColumnBytes
	spill.FileBytes, spill.ColumnBytes = 0, 1
	defer func() { spill.FileBytes, spill.ColumnBytes = files, columns }()
	for i, got := range all() {
		if got != want[i] {
			t.Errorf("result %d: %s", i, difference([]byte(got), []byte(want[i])))
		}
	}
}
