package html

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/timeline"
)

// state is what the address holds for a key.
func state(key string) string {
	return fmt.Sprintf(`(new URLSearchParams(location.hash.split("?")[1] ?? "").get(%q) ?? "")`, key)
}

// reopen opens what the address now names in a fresh page, as a colleague does.
func reopen(p *tab) {
	p.t.Helper()
	hash := eval[string](p, `location.hash`)
	p.do(chromedp.Navigate("data:text/html,"), chromedp.Navigate(p.url+hash))
	p.wait(`document.documentElement.dataset.ready === "true"`)
}

// What a reader chose is in the address, and a fresh page shows it again.
func TestLinksKeepChoices(t *testing.T) {
	r := sample()
	r.Findings = []analysis.Finding{{ID: "a", Weight: "high", Fact: fact.New("no-kernels-seen")}}
	p := open(t, r)
	for _, test := range []struct{ act, key, shown string }{
		{`document.querySelector("#plainly").click()`, "words", `document.querySelector("#plainly").checked`},
		{`document.querySelectorAll("#regions input[name=flame-by]")[1].click()`, "flame", `document.querySelectorAll("#regions input[name=flame-by]")[1].checked`},
		{`document.querySelectorAll("#roofline input[name=roof-level]")[1].click()`, "roof", `document.querySelectorAll("#roofline input[name=roof-level]")[1].checked`},
		{`document.querySelector('#region-tree tr[data-region="2"]').click()`, "region", `document.querySelector("#region-detail h3")?.textContent === "prefill/attn"`},
		{`[...document.querySelectorAll("#flame .box")].find((e) => e.textContent === "decode").dispatchEvent(new MouseEvent("dblclick", { bubbles: true }))`, "flame-zoom", `![...document.querySelectorAll("#flame .box")].some((e) => e.textContent === "prefill")`},
	} {
		eval[chromedp.Void](p, test.act)
		p.wait(state(test.key) + ` !== ""`)
		reopen(p)
		p.wait(test.shown)
	}
}

// The stretch between two points is in the address, until it is measured no more.
func TestLinkToAMeasuredStretch(t *testing.T) {
	p := open(t, sample())
	eval[chromedp.Void](p, `document.querySelector("#timeline").scrollIntoView({behavior: "instant"})`)
	box := eval[[]float64](p, `(() => { const r = document.querySelector("#timeline-canvas").getBoundingClientRect(); return [r.left + r.width / 2, r.top + 55] })()`)
	shift := chromedp.ButtonModifiers(chromedp.ModifierShift)
	p.do(
		chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, box[0], box[1], chromedp.ButtonLeft, chromedp.ClickCount(1), shift),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, box[0]+60, box[1], chromedp.ButtonLeft, held, shift),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, box[0]+60, box[1], chromedp.ButtonLeft, chromedp.ClickCount(1), shift),
	)
	p.wait(`/^\d+-\d+$/.test(` + state("measure") + `)`)
	before := eval[string](p, state("measure"))
	reopen(p)
	p.focus("#timeline-canvas")
	p.press("f") // shows what is measured
	p.wait(fmt.Sprintf(`((d) => d.from + "-" + d.to === %q)(document.querySelector("#timeline-range").dataset)`, before))
	p.press(kb.Escape)
	p.wait(state("measure") + ` === ""`)
}

// A box that stands for several events can be sent, too.
func TestLinkToASummedBox(t *testing.T) {
	r := sample()
	events := make([]analysis.Event, 5000)
	for i := range events {
		events[i] = analysis.Event{Start: int64(i) * 100_000, Len: 20_000}
	}
	r.Overview.Detail = &analysis.Detail{Names: []string{"a"}, Lanes: [][]analysis.Event{events, nil, nil, nil}}
	p := open(t, r)
	p.wait(`document.documentElement.dataset.events === "true"`)
	eval[chromedp.Void](p, `document.querySelector("#timeline").scrollIntoView({behavior: "instant"})`)
	at := eval[[]float64](p, `(() => { const r = document.querySelector("#timeline-canvas").getBoundingClientRect(); return [r.left + r.width / 2, r.top + 52] })()`)
	p.do(
		chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, at[0], at[1], chromedp.ButtonLeft, chromedp.ClickCount(1)),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, at[0], at[1], chromedp.ButtonLeft, chromedp.ClickCount(1)),
	)
	p.wait(`/^0\.\d+x\d+$/.test(` + state("event") + `)`)
	said := eval[string](p, `document.querySelector("#timeline-selected").textContent`)
	if !strings.Contains(said, "events") {
		t.Fatalf("not a box of several events: %s", said)
	}
	reopen(p)
	p.wait(fmt.Sprintf(`document.querySelector("#timeline-selected")?.textContent === %q`, said))
}

// A link to an event of a rank means the same event whether all ranks are shown or
// not, and one of a rank that is folded unfolds the ranks.
func TestLinkToAnEventOfARank(t *testing.T) {
	r := sample()
	r.Overview.Lanes = r.Overview.Lanes[:1]
	r.Overview.RankNames = []string{"all_reduce"}
	for i := range 4 {
		r.Parts = append(r.Parts, analysis.Part{File: fmt.Sprint(i), Of: timeline.Identity{Rank: &i, Host: "node1"}, Stages: []analysis.PartStage{}})
		r.Overview.Ranks = append(r.Overview.Ranks, analysis.RankLane{Part: i, Folded: i == 1 || i == 2, Lane: analysis.Lane{Kind: "kernel", Events: 1, Exact: true, Boxes: []analysis.Box{{Start: int64(i+1) * 1_000_000, Len: 10_000}}}})
	}
	p := open(t, r)
	const on = `document.querySelector("#timeline-selected")?.textContent.match(/on (.*?),/)[1]`
	follow := func(hash, rank string) {
		t.Helper()
		p.do(chromedp.Navigate("data:text/html,"), chromedp.Navigate(p.url+hash))
		p.wait(fmt.Sprintf(`%s === %q`, on, rank))
	}
	follow("#timeline?event=rank3.0", "rank 3 on node1")
	follow("#timeline?event=rank3.0&ranks=all", "rank 3 on node1")
	p.wait(`document.querySelector("#all-ranks").ariaPressed === "true"`)
	p.click("#all-ranks") // what is selected stays so while it is shown
	p.wait(`document.querySelector("#all-ranks").ariaPressed === "false" && ` + state("ranks") + ` === ""`)
	p.wait(on + ` === "rank 3 on node1" && ` + state("event") + ` === "rank3.0"`)
	follow("#timeline?event=rank2.0", "rank 2 on node1")
	p.wait(`document.querySelector("#all-ranks").ariaPressed === "true"`)
	follow("#timeline?event=2.0", "rank 3 on node1") // as older reports named it
}
