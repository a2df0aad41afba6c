package html

import (
	"fmt"
	"slices"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/timeline"
)

// The lanes of ranks come below the others: first the slowest and the fastest,
// all of them when asked for.
func TestRankLanes(t *testing.T) {
	r := sample()
	r.Overview.Lanes = []analysis.Lane{{Kind: "kernel", Label: laneText("stream 7"), Events: 1, Exact: true, Boxes: []analysis.Box{{Start: 1_000_000, Len: 10_000, Name: 3}}}}
	r.Overview.RankNames = []string{"all_reduce"}
	for i := range 3 {
		r.Parts = append(r.Parts, analysis.Part{File: fmt.Sprint(i), Of: timeline.Identity{Rank: &i, Host: "node1"}, Stages: []analysis.PartStage{}})
		r.Overview.Ranks = append(r.Overview.Ranks, analysis.RankLane{Part: i, Folded: i == 1, Lane: analysis.Lane{Kind: "kernel", Events: 1, Exact: true, Boxes: []analysis.Box{{Start: 2_000_000, Len: 10_000}}}})
	}
	p := open(t, r)
	lanes := func() []string {
		p.focus("#timeline-canvas")
		p.press(kb.Escape)
		var names []string
		for range 5 {
			p.press(kb.ArrowDown)
			p.wait(`document.querySelector("#timeline-selected")`)
			if said := eval[string](p, `document.querySelector("#timeline-selected").textContent.match(/on (.*?),/)[1]`); !slices.Contains(names, said) {
				names = append(names, said)
			}
		}
		return names
	}
	if got, want := lanes(), []string{"stream 7", "rank 0 on node1", "rank 2 on node1"}; !slices.Equal(got, want) {
		t.Errorf("lanes are %q, want %q", got, want)
	}
	before := eval[float64](p, `document.querySelector("#timeline-canvas").clientHeight`)
	eval[bool](p, `document.querySelector("#all-ranks").click() ?? true`)
	p.wait(fmt.Sprintf(`document.querySelector("#timeline-canvas").clientHeight > %f`, before))
	if got := lanes(); !slices.Contains(got, "rank 1 on node1") {
		t.Errorf("all lanes are %q", got)
	}
}

// The ranks stand side by side in a section of their own: as a whole, by stage,
// and with what they exchange. A result of one timeline has none.
func TestRankTables(t *testing.T) {
	r := sample()
	for i := range 2 {
		r.Parts = append(r.Parts, analysis.Part{
			File: fmt.Sprint(i), Of: timeline.Identity{Rank: &i, Host: "node1"}, WallNS: 5e6,
			Stages: []analysis.PartStage{{Stage: "prefill", Passes: 1, PassNS: int64(1+i) * 1e6}},
			Steps:  []timeline.StepGroup{{Stage: "decode", Steps: 3, MedianNS: 2e6}},
		})
	}
	r.Across = &analysis.Across{Parts: 2, Stages: []analysis.Distribution{{Name: "prefill"}}}
	r.Job = &analysis.Job{Clock: analysis.Clock{Method: "one"}, Collectives: []analysis.Collective{{Kind: "all_reduce", Source: "kernels", Launches: 7, NS: 1e6}}}
	p := open(t, r)
	rows := func(table string) int {
		return eval[int](p, fmt.Sprintf(`document.querySelectorAll("#ranks #%s-table tbody tr").length`, table))
	}
	if rows("ranks") != 2 || rows("rank_stages") != 2 || rows("rank_steps") != 2 || rows("collectives") != 1 || rows("messages") != 0 {
		t.Errorf("rows: %s", p.text("#ranks"))
	}
	if !eval[bool](p, `[...document.querySelectorAll("nav a")].some((a) => a.hash === "#ranks")`) {
		t.Error("no link leads to the ranks")
	}
	if p = open(t, sample()); eval[bool](p, `document.querySelector("#ranks") !== null`) {
		t.Error("one timeline has a section of ranks")
	}
}
