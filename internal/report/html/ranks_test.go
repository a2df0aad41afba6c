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
	r.Overview.Lanes = []analysis.Lane{{Kind: "kernel", Label: "stream 7", Events: 1, Exact: true, Boxes: []analysis.Box{{Start: 1_000_000, Len: 10_000, Name: 3}}}}
	r.Overview.RankNames = []string{"all_reduce"}
	for i := range 3 {
		r.Parts = append(r.Parts, analysis.Part{File: fmt.Sprint(i), Of: timeline.Identity{Rank: &i, Host: "node1"}, Stages: []analysis.PartStage{}})
		r.Overview.Ranks = append(r.Overview.Ranks, analysis.RankLane{Part: i, Folded: i == 1, Lane: analysis.Lane{Kind: "kernel", Events: 1, Exact: true, Boxes: []analysis.Box{{Start: 2_000_000, Len: 10_000}}}})
	}
	p := open(t, r)
	lanes := func() []string {
		p.focus("#timeline-canvas")
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
