package nsys

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"testing"

	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/timeline"
)

var views = []timeline.Query{
	{}, {Top: 1}, {Top: 5}, {Top: 100000}, {MinGap: 1000, Top: 7}, {Devices: []int{5}}, {Kernel: regexp.MustCompile("gemm|work")},
	{Region: func(s nvtx.State) bool { return len(s.Stacks) > 0 }, Top: 10},
}

// TestGapsEqualTimeline: the gaps of a file, for which only the calls within them
// are kept, are those of a timeline with all calls.
func TestGapsEqualTimeline(t *testing.T) {
	ctx := context.Background()
	for _, name := range []string{"toy", "graph_node", "graph_whole", "multi_node", "llm", "nvtx_2023"} {
		tl, err := openExport(t, name).Timeline(ctx, Everything)
		if err != nil {
			t.Fatal(err)
		}
		f := openExport(t, name)
		filled := 0
		for i, q := range views {
			got := gapRows(t, f, q)
			want := collect(tl.EveryGap(q))
			if asJSON(t, got.Rows) != asJSON(t, want.Rows) || got.Cut != want.Cut {
				t.Errorf("%s, query %d: got %d rows (%d cut), want %d (%d cut)", name, i, len(got.Rows), got.Cut, len(want.Rows), want.Cut)
			}
			for _, r := range got.Rows {
				filled += len(r.Calls)
			}
		}
		if filled == 0 && name != "nvtx_2023" {
			t.Errorf("%s: no gap has calls", name)
		}
	}
}

func TestStreamLaunches(t *testing.T) {
	ctx := context.Background()
	for _, name := range []string{"toy", "multi_node", "llm"} {
		f := openExport(t, name)
		for i, q := range views {
			rows := launchRows(t, f, q)
			s, err := f.StreamLaunches(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // a stream can be read again
				kept := slices.Collect(s.Rows)
				if asJSON(t, kept) != asJSON(t, rows.Rows) && len(kept) > 0 || len(kept) != s.Len || s.Cut != rows.Cut {
					t.Errorf("%s, query %d: %d rows, said %d, %d cut; want %d, %d cut", name, i, len(kept), s.Len, s.Cut, len(rows.Rows), rows.Cut)
				}
			}
			if !slices.IsSortedFunc(rows.Rows, func(x, y timeline.LaunchRow) int { return int(x.StartNS - y.StartNS) }) {
				t.Errorf("%s, query %d: not in the order of starts", name, i)
			}
		}
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
