package html

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/deepprof/deepprof/internal/analysis"
)

// manyLanes is a timeline higher than a screen, with events of one name in its first
// and last lanes, two of which begin at the same time.
func manyLanes() *analysis.Result {
	r := sample()
	o := &r.Overview
	o.Names, o.Lanes = []string{"a", "needle"}, nil
	o.Detail = &analysis.Detail{Names: o.Names}
	const lanes = 40
	for i := range lanes {
		events := []analysis.Event{{Start: 1_000, Len: 100}, {Start: 500_000, Len: 100}}
		if i == 0 || i == lanes-1 {
			events[0].Name = 1
		}
		if i == 1 {
			events[1].Name = 1
		}
		o.Lanes = append(o.Lanes, analysis.Lane{Kind: "kernel", Label: laneText(fmt.Sprintf("stream %d", i)), Group: laneText("GPU 0"), Events: 2, Exact: true, Boxes: []analysis.Box{{Start: 1_000, Len: 100}, {Start: 500_000, Len: 100}}})
		o.Detail.Lanes = append(o.Detail.Lanes, events)
	}
	return r
}

// The search goes through every event of a name, also those that begin at the same
// time, from the last to the first, says which of how many it is at, and brings its
// lane into view.
func TestFindGoesThroughAll(t *testing.T) {
	p := open(t, manyLanes())
	p.wait(`document.documentElement.dataset.events === "true"`)
	p.do(chromedp.EmulateViewport(1280, 720))
	p.focus("#timeline-search")
	p.press("needle")
	p.wait(`document.querySelector("#find-count").textContent === "3 events match"`)
	at := func(place, lane string) {
		t.Helper()
		p.wait(fmt.Sprintf(`document.querySelector("#find-count").textContent === %q && document.querySelector("#timeline-selected")?.textContent.includes("on %s,")`, place, lane))
		p.wait(`((m, b) => m.top >= Math.max(b.top, 0) && m.bottom <= Math.min(b.bottom, innerHeight))(document.querySelector(".lane-mark").getBoundingClientRect(), document.querySelector(".canvas-box").getBoundingClientRect())`)
	}
	for _, want := range [][2]string{{"1 of 3", "stream 0"}, {"2 of 3", "stream 39"}, {"3 of 3", "stream 1"}, {"1 of 3", "stream 0"}} {
		p.press(kb.Enter)
		at(want[0], want[1])
	}
	for _, want := range [][2]string{{"3 of 3", "stream 1"}, {"2 of 3", "stream 39"}} {
		eval[chromedp.Void](p, `document.querySelector("#find-before").click()`)
		at(want[0], want[1])
	}
	p.focus("#timeline-search")
	p.press("x")
	p.wait(`document.querySelector("#find-count").textContent === "No event matches" && document.querySelector("#find-next").disabled`)
}

// In full screen lanes take the height that there is, tips are seen, and the button
// says how to leave.
func TestFullScreen(t *testing.T) {
	p := open(t, sample())
	const height = `document.querySelector("#timeline-canvas").clientHeight`
	before := eval[float64](p, height)
	words := p.text("#full-screen")
	p.click("#full-screen")
	p.wait(`document.fullscreenElement?.id === "timeline"`)
	p.wait(fmt.Sprintf(`%s > %f * 1.5 && document.querySelector("#full-screen").textContent.includes("Esc")`, height, before))
	if !eval[bool](p, `(e => e.scrollHeight <= e.clientHeight + 1)(document.querySelector(".canvas-box"))`) {
		t.Error("lanes that would fit have to be scrolled")
	}
	p.hover(`(() => { const r = document.querySelector("#timeline-canvas").getBoundingClientRect(); return [r.left + r.width * 0.7, r.top + 55] })()`, `((e) => e?.checkVisibility() && document.fullscreenElement.contains(e) && e.textContent.includes("decode"))(document.querySelector(".tip:not([hidden])"))`)
	p.click("#full-screen")
	p.wait(fmt.Sprintf(`!document.fullscreenElement && document.querySelector("#full-screen").textContent === %q && %s === %f`, words, height, before))
}

// The details of a launch have its grid and block, the call that launched it and its
// layer, and lead to the kernel of that grid; those of the call tell what it launched.
func TestDetailsOfAnEvent(t *testing.T) {
	r := sample()
	other := mul("k-other", "4", "float", 99)
	r.Kernels = append(r.Kernels, mul("k-one", "4", "float", 7), other)
	o := &r.Overview
	o.Lanes = []analysis.Lane{
		{Kind: "api", Label: laneText("CUDA calls thread 1"), Group: laneText("python3 (1)"), Events: 1, Exact: true},
		{Kind: "kernel", Label: laneText("GPU 0 stream 7"), Group: laneText("GPU 0"), Events: 1, Exact: true},
		{Kind: "layer", Label: laneText("layers, GPU 0 stream 7"), Group: laneText("model"), Events: 1, Exact: true},
	}
	o.Detail = &analysis.Detail{
		Names:  []string{other.Short, "cudaLaunchKernel", "model.layers.3.mlp"},
		Shapes: []analysis.Shape{{Grid: [3]int32{99, 1, 1}, Block: [3]int32{int32(other.Block[0]), 1, 1}}, {}, {}},
		Of:     map[int]int{2: 1},
		Lanes:  [][]analysis.Event{{{Start: 1_000, Len: 500, Name: 1, Launch: 5}}, {{Start: 4_000, Len: 800, Name: 0, Launch: 5}}, {{Start: 3_000, Len: 9_000, Name: 2}}},
	}
	p := open(t, r)
	p.wait(`document.documentElement.dataset.events === "true"`)
	p.do(chromedp.Navigate(p.url + "#timeline?event=1.0"))
	p.wait(`["grid 99 × 1 × 1", "launched by cudaLaunchKernel on CUDA calls thread 1, 3.00\u00a0µs before", "layer model.layers.3.mlp"].every((t) => document.querySelector("#timeline-selected")?.textContent.includes(t))`)
	if got := eval[string](p, `document.querySelector("#timeline-selected a").hash`); got != "#/kernel/k-other" {
		t.Errorf("the event leads to %s", got)
	}
	p.do(chromedp.Navigate(p.url + "#timeline?event=0.0"))
	p.wait(`document.querySelector("#timeline-selected")?.textContent.includes("launches elementwise_kernel<MulFunctor> on GPU 0 stream 7, 3.00\u00a0µs later")`)
}
