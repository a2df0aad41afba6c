package report

import (
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/timeline"
)

// TestSharesOfATimeline holds the shares of the tables that are made from a timeline
// alone against the values beside them: kernels, gaps and layers of a recorded Llama.
func TestSharesOfATimeline(t *testing.T) {
	f := openRecorded(t, "../nsys/testdata/exports/llm.sqlite.gz")
	kernels, err := f.KernelRows(t.Context(), timeline.Query{})
	if err != nil {
		t.Fatal(err)
	}
	var all int64
	for _, k := range kernels.Rows {
		all += k.TotalNS
	}
	for _, k := range kernels.Rows { // rounded to one decimal, as nsys does
		if want := 100 * float64(k.TotalNS) / float64(all); math.Abs(k.TimePct-want) > 0.0501 {
			t.Errorf("%s: %v %% of %d ns, want %v", k.Name, k.TimePct, all, want)
		}
	}
	gaps, err := f.GapGroups(t.Context(), timeline.Query{WholeDevices: true})
	if err != nil {
		t.Fatal(err)
	}
	regions, err := f.RegionRows(t.Context(), timeline.Query{})
	if err != nil {
		t.Fatal(err)
	}
	var layers []*LayerLine
	for _, l := range timeline.Layers(regions.Rows, true) {
		layers = append(layers, &LayerLine{LayerRow: l})
	}
	for name, n := range map[string]int{
		"gaps": checkShares(t, "llm", GapGroupView, pointers(gaps.Rows)), "layers": checkShares(t, "llm", LayerView, layers),
	} {
		if n < 2 {
			t.Errorf("%s: only %d shares were checked", name, n)
		}
	}
}

func openRecorded(t *testing.T, fixture string) *nsys.File {
	t.Helper()
	in, err := format.Open(fixture)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	data, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "recorded.sqlite")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := nsys.OpenSQLite(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
