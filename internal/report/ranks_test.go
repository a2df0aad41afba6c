package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/timeline"
)

// job is a result of two ranks; rank 1 is late.
func job() *analysis.Result {
	r := sample()
	uncertainty := int64(2000)
	for i := range 2 {
		r.Parts = append(r.Parts, analysis.Part{
			File: "f", Of: timeline.Identity{Rank: &i, Host: "n" + string(rune('1'+i))}, WallNS: 9e9, Launches: 3, BusyNS: 8e9,
			Stages: []analysis.PartStage{{Stage: "prefill", Passes: 2, PassNS: int64(1+i) * 1e6}},
			Steps:  []timeline.StepGroup{{Stage: "decode", Steps: 3 + i, MedianNS: 2e6}},
		})
	}
	r.Parts[1].Stages = append(r.Parts[1].Stages, analysis.PartStage{Stage: "decode", Passes: 1, PassNS: 5e6})
	r.Across = &analysis.Across{Parts: 2, Stages: []analysis.Distribution{{Name: "prefill"}, {Name: "decode"}}}
	r.Job = &analysis.Job{
		World: 2, Matched: 5, Clock: analysis.Clock{Method: "collectives", UncertaintyNS: &uncertainty},
		Nodes: []analysis.Node{{Host: "n1", Ranks: []int{0}}, {Host: "n2", Ranks: []int{1}}},
		Waits: []analysis.RankWait{{Part: 0, WaitNS: 4e6}, {Part: 1, Late: 5, LateNS: 4e6, Meanwhile: []analysis.TimePart{{ID: "gemm", Label: "gemm", NS: 4e6}}}},
		Collectives: []analysis.Collective{{Kind: "all_reduce", Source: "kernels", Ranks: 2, Launches: 10, Matched: 5, TransferNS: 2e6, Bytes: at(3 << 20), BusBandwidth: at(3e9), Sizes: []analysis.MessageSize{
			{Bytes: 1 << 20, Matched: 4, TransferNS: 1e6, BusBandwidth: at(4e9)}, {Bytes: 11 << 20, Matched: 1, TransferNS: 1e6, BusBandwidth: at(11e9)},
		}}},
	}
	return r
}

// TestPageOfRanks holds that the page has the ranks, their stages as a matrix,
// and what they exchange.
func TestPageOfRanks(t *testing.T) {
	tables := PageTables(job())
	for name, rows := range map[string]int{"ranks": 2, "rank_stages": 2, "rank_steps": 2, "collectives": 1, "messages": 2, "nodes": 2} {
		if got := len(tables[name].Rows); got != rows {
			t.Errorf("%s has %d rows, want %d", name, got, rows)
		}
	}
	cell := func(table string, row int, key string) string {
		at := slices.IndexFunc(tables[table].Columns, func(c ColumnInfo) bool { return c.Key == key })
		if at < 0 {
			t.Fatalf("%s has no column %s", table, key)
		}
		return tables[table].Rows[row][at].Text
	}
	if cell("rank_stages", 0, "stage0") != "1.000" || cell("rank_stages", 0, "stage1") != "" || cell("rank_stages", 1, "stage1") != "5.000" {
		t.Errorf("the matrix is %+v", tables["rank_stages"].Rows)
	}
	if title := tables["rank_stages"].Columns[1].Title; !strings.HasPrefix(title, "prefill") {
		t.Errorf("a stage is called %q", title)
	}
	if cell("ranks", 1, "late") != "5" || !strings.Contains(cell("ranks", 1, "meanwhile"), "Matrix multiplication") || cell("ranks", 0, "meanwhile") != "" {
		t.Errorf("ranks are %+v", tables["ranks"].Rows)
	}
	if _, ok := PageTables(sample())["ranks"]; ok {
		t.Error("one timeline has a table of ranks")
	}
}
