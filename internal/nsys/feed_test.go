package nsys

import (
	"context"
	"slices"
	"testing"

	"github.com/deepprof/deepprof/internal/timeline"
)

// TestFedLaunchesEqualTimeline: launches that are joined while the tables are read are
// those of a timeline in memory, also when they are gone through again after the file
// was closed.
func TestFedLaunchesEqualTimeline(t *testing.T) {
	ctx := context.Background()
	fed := map[string]bool{}
	for _, name := range []string{"toy", "graph_node", "graph_whole", "multi_node", "llm", "nvtx_2023"} {
		tl, err := openExport(t, name).Timeline(ctx, Kernels|LaunchCalls|NVTX)
		if err != nil {
			t.Fatal(err)
		}
		for i, q := range views {
			f := openExport(t, name)
			got, ok, err := f.streamFed(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				continue
			}
			fed[name] = true
			f.Close()
			want := tl.StreamLaunches(q)
			for range 2 {
				if asJSON(t, collect(got).Rows) != asJSON(t, collect(want).Rows) || got.Cut != want.Cut || got.Len != want.Len {
					t.Errorf("%s, query %d: rows differ", name, i)
				}
			}
			if warned := slices.Concat(tl.Warnings, want.Warnings); asJSON(t, got.Notes()) != asJSON(t, warned) {
				t.Errorf("%s, query %d: warnings %v, want %v", name, i, got.Notes(), warned)
			}
		}
	}
	if !fed["llm"] || !fed["graph_node"] {
		t.Errorf("only %v are fed", fed)
	}
}

// TestOrderedJoin: what workers see of ids apart is what one sees of all.
func TestOrderedJoin(t *testing.T) {
	for _, ids := range [][]uint32{{1, 2, 3, 4}, {5, 9, 2, 7, 1}, {3, 3}, {9, 1, 8, 2}, {4}} {
		var whole ordered
		for _, id := range ids {
			whole.add(id)
		}
		for cut := range len(ids) + 1 {
			var first, second ordered
			for _, id := range ids[:cut] {
				first.add(id)
			}
			for _, id := range ids[cut:] {
				second.add(id)
			}
			first.join(second)
			if first.back < whole.back || first.descended != whole.descended || first.high != whole.high || first.last != whole.last {
				t.Errorf("%v cut at %d: %+v, want %+v", ids, cut, first, whole)
			}
		}
	}
}

var _ timeline.Feed = (*feed)(nil)
