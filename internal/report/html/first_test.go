package html

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
)

// On the screen of a laptop the first screen has the verdict, the numbers, the
// stages and three changes, each with a link that leads somewhere.
func TestFirstScreen(t *testing.T) {
	p := open(t, sample())
	for _, size := range [][2]int64{{1440, 900}, {1280, 720}} {
		p.do(chromedp.EmulateViewport(size[0], size[1]))
		for _, selector := range []string{"#verdict", "#measures .tile:last-child", "#stage-bars .split", "#actions li:last-child"} {
			if bottom := eval[float64](p, `document.querySelector("`+selector+`").getBoundingClientRect().bottom`); bottom <= 0 || bottom > float64(size[1]) {
				t.Errorf("%s ends at %g of a screen of %d", selector, bottom, size[1])
			}
		}
	}
	if eval[bool](p, `[...document.querySelectorAll(".bar, #first")].some(e => e.textContent.includes("llama-sample"))`) || !eval[bool](p, `document.querySelector("#run").textContent.includes("llama-sample")`) {
		t.Error("the id of the run stands on the first screen, or not below it")
	}
	if dead := eval[[]string](p, `[...document.querySelectorAll("#actions a")].map(a => a.hash.slice(1).split("?")[0]).filter(id => !id.startsWith("/kernel/") && !document.getElementById(id))`); len(dead) > 0 {
		t.Errorf("links that lead nowhere: %v", dead)
	}
}

// Where no saving is known, findings lead to what shows them; every finding has an address.
func TestFindingsLeadToTheirEvidence(t *testing.T) {
	r := sample()
	r.Opportunities = nil
	r.Parts, r.Job = []analysis.Part{{Stages: []analysis.PartStage{}}}, &analysis.Job{}
	r.Findings = []analysis.Finding{
		{ID: "straggler-2", Weight: "high", Fact: fact.New("straggler", fact.Count("rank", 2), fact.NS("ns", 19.9e6), fact.Share("share", 0.3), fact.Count("n", 1), fact.Count("of", 2), fact.NS("mean", 1e6))},
		{ID: "kernel-k-gemm", Weight: "low", Fact: fact.New("kernel-limited", fact.Kernel("kernel", "nvjet"), fact.ID("limiter", "limiter", "small"), fact.ID("kind", "limits", "small"))},
	}
	p := open(t, r)
	if got := eval[[]string](p, `[...document.querySelectorAll("#actions li > a:last-child, #findings .finding-links a")].map(a => a.hash)`); !slices.Equal(got, []string{"#ranks", "#/kernel/k-gemm", "#ranks", "#finding-straggler-2", "#/kernel/k-gemm", "#finding-kernel-k-gemm"}) {
		t.Errorf("links: %q", got)
	}
	if got := p.text("#actions li:first-child .saves"); !strings.Contains(got, "19.9") {
		t.Errorf("the wait for the rank reads %q", got)
	}
}

// A result without counters says that they are still to come.
func TestPreliminary(t *testing.T) {
	r := sample()
	r.Preliminary = true
	if got := eval[int](open(t, r), `document.querySelectorAll("#preliminary").length`); got != 1 {
		t.Errorf("%d notes that the result is preliminary", got)
	}
}

// A link to a stretch of the timeline and to filtered kernels shows them, and what
// a reader changes is in the address.
func TestLinks(t *testing.T) {
	p := open(t, sample())
	p.do(chromedp.Navigate(p.url + "#timeline?t=1000-5000&q=flash"))
	p.wait(`document.querySelector("#timeline-range").dataset.from === "1000" && document.querySelector("#timeline-range").dataset.to === "5000"`)
	if got := eval[string](p, `document.querySelector("#kernel-search").value`); got != "flash" {
		t.Errorf("the search holds %q", got)
	}
	p.click("#zoom-all")
	p.wait(`new URLSearchParams(location.hash.split("?")[1]).get("t").startsWith("0-")`)
	p.do(chromedp.Navigate(p.url + "#kernels")) // a place alone leaves the state as it is
	p.wait(`location.hash.startsWith("#kernels?") && location.hash.includes("q=flash")`)
}

// Every event of a timeline is in the page: zoomed in a box is one of them, and the
// search goes from one to the next.
func TestEvents(t *testing.T) {
	r := sample()
	const n = 50_000
	r.Overview.Detail = &analysis.Detail{Names: []string{"a", "needle"}, Lanes: make([][]analysis.Event, len(r.Overview.Lanes))}
	span := r.Overview.EndNS - r.Overview.StartNS
	events := make([]analysis.Event, n)
	for i := range events {
		events[i] = analysis.Event{Start: int64(i) * span / n, Len: 1 + int64(i%7), Launch: uint32(i + 1)}
	}
	events[123].Name, events[40_000].Name = 1, 1
	r.Overview.Detail.Lanes[0] = events
	p := open(t, r)
	p.wait(`document.documentElement.dataset.events === "true"`)
	p.do(chromedp.Focus(chromedp.CSS("#timeline-search")))
	p.press("needle")
	for _, want := range []int{123, 40_000} {
		eval[chromedp.Void](p, `document.querySelector("#find-next").click()`) // the page may still scroll to the field
		p.wait(fmt.Sprintf(`document.querySelector("#timeline-selected")?.textContent.includes("needle") && (d => +d.from <= %d && +d.to >= %[1]d)(document.querySelector("#timeline-range").dataset)`, events[want].Start))
	}
	eval[chromedp.Void](p, `document.querySelector("#find-before").click()`)
	p.wait(fmt.Sprintf(`+document.querySelector("#timeline-range").dataset.to < %d`, events[20_000].Start))
}
