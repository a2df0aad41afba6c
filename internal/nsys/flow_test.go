package nsys

import (
	"context"
	"slices"
	"testing"

	"github.com/deepprof/deepprof/internal/timeline"
)

// TestFlowsEqualTimeline: what is told while a file is read is what a timeline in memory
// tells, warnings too.
func TestFlowsEqualTimeline(t *testing.T) {
	ctx := context.Background()
	flowed := map[string]bool{}
	for _, name := range []string{"toy", "graph_node", "graph_whole", "multi_node", "llm", "nvtx_2023"} {
		tl, err := openExport(t, name).Timeline(ctx, Regions&^LaunchCalls|Calls)
		if err != nil {
			t.Fatal(err)
		}
		for i, q := range views {
			q.WholeDevices = true
			check := func(what string, ok bool, err error, got, want any) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
				flowed[name+" "+what] = flowed[name+" "+what] || ok
				if ok && asJSON(t, got) != asJSON(t, want) {
					t.Errorf("%s, query %d: %s differ\n%s\n%s", name, i, what, asJSON(t, got), asJSON(t, want))
				}
			}
			regions, ok, err := openExport(t, name).flowRegions(ctx, q)
			wantRegions := tl.RegionRows(q)
			wantRegions.Warnings = slices.Concat(tl.Warnings, wantRegions.Warnings)
			check("regions", ok, err, regions, wantRegions)
			groups, ok, err := openExport(t, name).flowGapGroups(ctx, q)
			wantGroups := tl.GapGroups(q)
			wantGroups.Warnings = slices.Concat(tl.Warnings, wantGroups.Warnings)
			check("groups", ok, err, groups, wantGroups)
			gaps, ok, err := openExport(t, name).flowGaps(ctx, q)
			wantGaps := tl.EveryGap(q)
			wantGaps.Warnings = slices.Concat(tl.Warnings, wantGaps.Warnings)
			if ok {
				check("gaps", ok, err, collect(gaps), collect(wantGaps))
			}
		}
	}
	for _, what := range []string{"llm regions", "llm groups", "llm gaps", "graph_node groups"} {
		if !flowed[what] {
			t.Errorf("%s did not flow", what)
		}
	}
}

var _ timeline.Flow = (*flow)(nil)
