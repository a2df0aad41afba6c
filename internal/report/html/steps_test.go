package html

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/timeline"
)

// withSteps is the sample with steps, layers and sampled counters. They are synthetic.
func withSteps() *analysis.Result {
	r := sample()
	o := &r.Overview
	first := len(o.Names)
	o.Names = append(o.Names, "decode, step 0", "decode, step 1", "model.layers.0", "model.layers.1")
	box := func(start, length int64, name int) analysis.Box {
		return analysis.Box{Start: start, Len: length, Name: first + name}
	}
	o.Lanes = append([]analysis.Lane{
		{Kind: "step", Label: laneText("steps"), Group: laneText("model"), Exact: true, Events: 2, Boxes: []analysis.Box{box(100_000_000, 100_000_000, 0), box(210_000_000, 200_000_000, 1)}},
		{Kind: "layer", Label: laneText("layers, GPU 0 stream 7"), Group: laneText("model"), Exact: true, Events: 2, Boxes: []analysis.Box{box(100_000_000, 50_000_000, 2), box(210_000_000, 150_000_000, 3)}},
	}, o.Lanes...)
	o.Counters = []analysis.CounterLane{
		{Metric: "dram_read", BinNS: 260_000_000, Values: []int{250, 750}},
		{Metric: "tensor_active", BinNS: 260_000_000, Values: []int{-1, 100}},
	}
	r.Steps = &analysis.StepTimes{
		Groups: []analysis.StepTime{{
			StepGroup: timeline.StepGroup{Stage: "decode", Steps: 6, MedianNS: 100_000_000, MinNS: 90_000_000, MaxNS: 200_000_000, P90NS: 200_000_000, Slowest: []int{1}},
			Histogram: &analysis.Histogram{Bounds: []float64{9e7, 12e7, 16e7, 2e8}, Counts: []int64{4, 0, 2}},
		}},
		Strip: &analysis.LayerStrip{
			Layers:   []string{"model.layers.0", "model.layers.1"},
			Columns:  []analysis.StripColumn{{Group: "decode", StartNS: 100_000_000, EndNS: 200_000_000}, {First: 1, Last: 1, Group: "decode", StartNS: 210_000_000, EndNS: 410_000_000}},
			NS:       [][]int64{{50_000_000, 51_000_000}, {49_000_000, 150_000_000}},
			Percent:  [][]int{{100, 102}, {100, 306}},
			Outliers: []analysis.StripOutlier{{Layer: 1, Column: 1, NS: 150_000_000, MedianNS: 49_000_000}},
		},
	}
	return r
}

// The timeline has lanes of steps, of layers and of sampled counters, which say what
// they show where the pointer rests.
func TestStepLanesAndCounters(t *testing.T) {
	p := open(t, withSteps())
	eval[chromedp.Void](p, `window.drawn = new Set(); const fill = CanvasRenderingContext2D.prototype.fillText; CanvasRenderingContext2D.prototype.fillText = function (text, ...at) { window.drawn.add(text); return fill.call(this, text, ...at) }`)
	p.focus("#timeline-canvas")
	p.press("0")
	p.wait(`["model", "steps", "decode, step 1", "model.layers.1", "DRAM read", "tensor cores", "GPU 0, sampled counters", "100 %", "0"].every((t) => window.drawn.has(t))`)
	// Counters are the lowest lanes, 33 pixels each.
	const place = `(([right, up]) => { const c = document.querySelector("#timeline-canvas"); c.scrollIntoView({ block: "end", behavior: "instant" }); const r = c.getBoundingClientRect(); return [r.left + r.width * right, r.bottom - up] })`
	for _, test := range []struct{ at, want string }{{`[0.3, 56]`, "DRAM read|25.0\u00a0%"}, {`[0.9, 56]`, "DRAM read|75.0\u00a0%"}, {`[0.3, 20]`, "tensor cores|n/a"}, {`[0.9, 20]`, "tensor cores|10.0\u00a0%"}} {
		p.hover(place+`(`+test.at+`)`, `[...(document.querySelector(".tip:not([hidden])")?.children ?? [])].slice(0, 2).map((e) => e.textContent).join("|") === "`+test.want+`"`)
	}
}

// The section of steps has the distribution of each kind, and the layers that stand
// out; a click on the strip shows the step in the timeline.
func TestSteps(t *testing.T) {
	p := open(t, withSteps())
	if got := eval[string](p, `[...document.querySelectorAll("#steps-table tbody tr")].map((r) => r.innerText.replace(/\s+/g, " ")).join("; ")`); !strings.HasPrefix(got, "decode 6 100") {
		t.Errorf("distribution: %q", got)
	}
	if got := eval[int](p, `document.querySelectorAll("#steps .bin").length`); got != 3 {
		t.Errorf("%d bins", got)
	}
	if got := p.text("#outliers-table tbody"); !strings.HasPrefix(got, "model.layers.1 1 decode 150") {
		t.Errorf("outliers: %s", got)
	}
	if got := p.text("#steps .hint"); !strings.Contains(got, "twice the median") || strings.Contains(got, "longest") {
		t.Errorf("legend: %s", got)
	}
	const cell = `(() => { const c = document.querySelector("#layer-strip"); c.scrollIntoView({ block: "center", behavior: "instant" }); const r = c.getBoundingClientRect(); return [r.right - 40, r.top + 16] })()`
	at := eval[[]float64](p, cell)
	p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at[0], at[1]))
	p.wait(`document.querySelector(".tip:not([hidden])")?.innerText.startsWith("model.layers.1") && document.querySelector(".tip").innerText.includes("306")`)
	eval[chromedp.Void](p, `(([x, y]) => document.querySelector("#layer-strip").dispatchEvent(new MouseEvent("click", { clientX: x, clientY: y, bubbles: true })))(`+cell+`)`)
	p.wait(`((e) => e.dataset.from === "210000000" && e.dataset.to === "410000000")(document.querySelector("#timeline-range"))`)

	if p := open(t, sample()); eval[bool](p, `!!document.querySelector("#steps")`) {
		t.Error("steps that do not exist")
	}
}

// The tree of modules is as wide as their time, and zooms to one of them.
func TestModules(t *testing.T) {
	r := sample()
	r.Modules = []analysis.ModuleBox{
		{Name: "decode", Path: "decode", Share: 1, NS: 80}, {Name: "layers.*", Path: "decode/layers.*", Depth: 1, Share: 0.75, NS: 60},
		{Name: "mlp", Path: "decode/layers.*.mlp", Depth: 2, Share: 0.5, NS: 40}, {Name: "lm_head", Path: "decode/lm_head", Depth: 1, From: 0.75, Share: 0.25, NS: 20},
	}
	p := open(t, r)
	const widths = `(() => { const whole = document.querySelector("#modules").getBoundingClientRect().width; return [...document.querySelectorAll("#modules .box")].map((b) => b.textContent + " " + Math.round(100 * b.getBoundingClientRect().width / whole)).join(", ") })()`
	if got := eval[string](p, widths); got != "decode 100, layers.* 75, mlp 50, lm_head 25" {
		t.Errorf("boxes: %s", got)
	}
	if got := eval[int](p, `document.querySelectorAll('#modules .box[tabindex="0"]').length`); got != 1 {
		t.Errorf("the tree is %d stops of the Tab key", got)
	}
	p.focus("#modules .box")
	p.press(kb.ArrowDown)
	p.press(kb.ArrowRight)
	p.wait(`document.activeElement.textContent === "lm_head"`)
	p.click("#modules .box:nth-child(2)")
	p.wait(widths + ` === "decode 100, layers.* 100, mlp 67"`)
	p.click("#modules .box:nth-child(2)")
	p.wait(`document.querySelectorAll("#modules .box").length === 4`)
}

// The page of a kernel tells what launches it, what it moved between the levels of
// memory, and what its warps waited for.
func TestKernelPlacesMemoryAndStalls(t *testing.T) {
	r := sample()
	k := &r.Kernels[0]
	k.Places = []analysis.LaunchPlace{{Stage: "decode", Module: "Llama.layers.*.mlp", Calls: 100, NS: 8_000_000, Share: 0.8}, {Stage: "prefill", Module: "Llama.lm_head", Calls: 12, NS: 2_000_000, Share: 0.2}}
	k.Counted.Memory = &analysis.MemoryChart{L2Hit: ptr(0.5), Flows: []analysis.MemoryFlow{{From: "l2", To: "l1", Bytes: 193e6, Counter: "lts"}, {From: "l2", To: "dram", Bytes: 4e6}, {From: "dram", To: "l2", Bytes: 8e6}}}
	k.Counted.Stalls = []analysis.Stall{{Reason: "long_scoreboard", Share: 0.6}, {Reason: "barrier", Share: 0.1}}
	p := open(t, r)
	eval[chromedp.Void](p, `location.hash = "#/kernel/k-gemm"`)
	p.wait(`!!document.querySelector("#memory-chart")`)
	for selector, want := range map[string]string{
		"#launched-from":        "decode Llama.layers.*.mlp 100 8.00 ms 80.0 %",
		"#kernel-operators":     "aten::linear aten::mm 112",
		`[data-flow="l2-l1"]`:   "← 193 MB",
		`[data-flow="l2-dram"]`: "→ 4.00 MB",
		"#memory-chart":         "hits 50.0 %",
		"#stalls":               "60.0 %",
	} {
		if got := p.text(selector); !strings.Contains(strings.ReplaceAll(got, "\u00a0", " "), want) {
			t.Errorf("%s does not say %q: %s", selector, want, got)
		}
	}
	if got := p.text("#kernel-grid"); !strings.Contains(got, "2 × 66 × 1") {
		t.Errorf("below the name stands %q", got)
	}
	if got := eval[int](p, `document.querySelectorAll("#memory-chart .flow-none").length`); got != 1 {
		t.Errorf("%d levels without bytes say so, want the one between SM and L1", got)
	}
	if got := p.text("#stalls"); strings.Contains(got, "long_scoreboard") {
		t.Errorf("a stall without words: %s", got)
	}
}

// The page of a kernel says what was not counted, and how to count it.
func TestKernelPageSaysWhatIsMissing(t *testing.T) {
	p := open(t, sample())
	eval[chromedp.Void](p, `location.hash = "#/kernel/k-attn"`)
	p.wait(`document.querySelector("#kernel-page h1")?.textContent.startsWith("flash")`)
	for selector, want := range map[string]string{"#memory-chart": "pipeline/ncu=causes", "#stalls": "WarpStateStats", "#durations": "16 launches, 180"} {
		if got := eval[string](p, `document.querySelector("`+selector+` .quiet")?.textContent ?? ""`); !strings.Contains(got, want) {
			t.Errorf("%s does not say %q: %q", selector, want, got)
		}
	}
}

// With a baseline the tiles and the page of a kernel tell how they differ from it.
func TestBaseline(t *testing.T) {
	base, r := sample(), sample()
	base.Totals.Aggregates[0].P50 *= 2
	base.Kernels[0].MedianNS *= 4
	r.HoldAgainst("before", base)
	p := open(t, r)
	if got := p.text("#baseline"); !strings.HasSuffix(got, " before") {
		t.Errorf("the bar says %q", got)
	}
	if got := p.text("#measures .tile:first-child .tile-change"); !strings.Contains(strings.ReplaceAll(got, "\u00a0", " "), "-50.0 % from ") {
		t.Errorf("first tile: %s", got)
	}
	eval[chromedp.Void](p, `location.hash = "#/kernel/k-gemm"`)
	p.wait(`document.querySelector("#kernel-page .tile-change")?.textContent.replaceAll("\u00a0", " ").startsWith("75 % less")`)
}
