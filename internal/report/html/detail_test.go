package html

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
)

// Choosing a lane leaves the view where it is: at a box that begins in it, at
// one that reaches into it, or at the nearest of a lane that has none.
func TestLanesKeepTheView(t *testing.T) {
	r := sample()
	r.Overview.Lanes = []analysis.Lane{
		{Kind: "nvtx", Label: laneText("ranges"), Events: 1, Exact: true, Boxes: []analysis.Box{{Start: 90_000_000, Len: 30_000_000, Name: 0}}},
		{Kind: "api", Label: laneText("calls"), Events: 3, Exact: true, Boxes: []analysis.Box{{Start: 0, Len: 101_000_000, Name: 7}, {Start: 101_500_000, Len: 1_000, Name: 7}, {Start: 300_000_000, Len: 1_000, Name: 7}}},
		{Kind: "kernel", Label: laneText("stream 7"), Events: 2, Exact: true, Boxes: []analysis.Box{{Start: 1_000_000, Len: 10_000, Name: 3}, {Start: 104_203_517, Len: 359_000, Name: 4}}},
		{Kind: "copy", Label: laneText("copies"), Events: 2, Exact: true, Boxes: []analysis.Box{{Start: 99_000_000, Len: 10_000, Name: 7}, {Start: 400_000_000, Len: 10_000, Name: 7}}},
	}
	r.Scope = &analysis.Scope{Name: says("prefill"), StartNS: 100_000_000, EndNS: 110_000_000, WallNS: 10_000_000}
	p := open(t, r)
	const shown = `document.querySelector("#timeline-range").textContent`
	before := eval[string](p, shown)
	p.focus("#timeline-canvas")
	for _, want := range []string{"on ranges, 90 ms + 30.0", "on calls, 101.5 ms + 1.00", "on stream 7, 104.2 ms + 359", "on copies, 99 ms + 10.0"} {
		p.press(kb.ArrowDown)
		p.wait(fmt.Sprintf(`document.querySelector("#timeline-selected")?.textContent.replaceAll("\u00a0", " ").includes(%q)`, want))
		if now := eval[string](p, shown); now != before {
			t.Errorf("%s: the view went from %s to %s", want, before, now)
		}
	}
	if got := p.text("#timeline-selected"); !strings.Contains(got, "Nothing of this lane is in view") {
		t.Errorf("a lane without a box in view: %s", got)
	}
	p.press(kb.ArrowUp)
	p.wait(`document.querySelector("#timeline-selected").textContent.includes("stream 7")`)
	p.press(kb.Enter)
	p.wait(`document.querySelector("#timeline-selected").textContent.includes("104.2035")`)
	before = eval[string](p, shown)
	p.press(kb.ArrowLeft, chromedp.ModifierShift)
	p.wait(shown + ` !== ` + fmt.Sprintf("%q", before))
}

// mul is one of PyTorch's kernels that differ in template arguments alone.
func mul(id, vec, dtype string, grid int64) analysis.Kernel {
	k := sampleKernels()[2]
	k.ID, k.Short, k.Grid, k.Mangled, k.Point = id, "elementwise_kernel<MulFunctor>", [3]int64{grid, 1, 1}, "", nil
	k.Name = "void at::native::elementwise_kernel<128, " + vec + ", at::native::BinaryFunctor<" + dtype + ", " + dtype + ", " + dtype + ", at::native::binary_internal::MulFunctor<" + dtype + ">>>(int, " + dtype + ")"
	return k
}

// Where a name is cut, the words in brackets are not cut through.
func TestWordsInBracketsStayWhole(t *testing.T) {
	r := sample()
	for _, words := range [][2]string{{"4", "BinaryFunctor"}, {"2", "AUnaryFunctor"}} {
		k := mul("k-"+words[0], words[0], "float", 7)
		k.Name, k.Short = "void vectorized_elementwise_kernel_of_a_long_name<"+words[0]+", "+words[1]+"<MulFunctor<float>>>(int)", "vectorized_elementwise_kernel_of_a_long_name<MulFunctor>"
		r.Kernels = append(r.Kernels, k)
	}
	p := open(t, r)
	tails := eval[[]string](p, `[...document.querySelectorAll("#kernel-table a")].filter(e => e.textContent.endsWith("]")).map(e => e.lastChild.textContent)`)
	if want := []string{" [4 BinaryFunctor]", " [2 AUnaryFunctor]"}; !slices.Equal(tails, want) {
		t.Errorf("ends that stay in view: %q, want %q", tails, want)
	}
}

// Kernels whose short names are the same are told apart by the words in which
// they differ and by their grids, also on a narrow screen.
func TestKernelNamesAreDistinct(t *testing.T) {
	r := sample()
	r.Kernels = append(r.Kernels, mul("k-bf", "4", "c10::BFloat16", 7), mul("k-f", "2", "float", 7), mul("k-f2", "2", "float", 99))
	p := open(t, r)
	p.do(chromedp.EmulateViewport(500, 900))
	rows := `[...document.querySelectorAll("#kernel-table tbody tr")].filter(e => e.textContent.includes("MulFunctor"))`
	names := eval[[]string](p, rows+`.map(e => e.querySelector("a").textContent + " " + e.querySelector(".kernel-line").textContent)`)
	if len(names) != 3 || !strings.Contains(names[0], "[4 BFloat16]") || !strings.Contains(names[1], "[2 float]") || !strings.Contains(names[2], "grid 99×1×1") {
		t.Errorf("names: %q", names)
	}
	if cut := eval[[]string](p, rows+`.flatMap(e => [e.querySelector("a span:last-child"), e.querySelector(".kernel-line > span")]).filter(e => { const cell = e.closest("th").getBoundingClientRect(), r = e.getBoundingClientRect(); return r.width === 0 && e.textContent !== "" || r.right > cell.right + 1 || r.right > 500 }).map(e => e.textContent)`); len(cut) != 0 {
		t.Errorf("cut off at 500 pixels: %q", cut)
	}
	p.focus("#kernel-search")
	p.press("mulfunctor [2 float]")
	p.wait(rows + `.length === 2`)
	eval[chromedp.Void](p, `location.hash = "#/kernel/k-bf"`)
	p.wait(`document.querySelector("#kernel-page h1")?.textContent.includes("[4 BFloat16]")`)
}

func TestShortNamesThatSuffice(t *testing.T) {
	if got := labels(sampleKernels()); got != nil {
		t.Errorf("labels without need: %q", got)
	}
	kernels := []analysis.Kernel{mul("a", "4", "float", 1), mul("b", "4", "float", 2)}
	if got := labels(kernels); got != nil {
		t.Errorf("labels of one kernel with two grids: %q", got)
	}
}

// The roofline fits at any width, and no dot lies over the name of a roof.
func TestRooflineFits(t *testing.T) {
	r := sample()
	x := &r.Kernels[2]
	peak := 0.0
	for _, roof := range r.Roofline.Roofs {
		if roof.ID == "fp32" {
			peak = roof.Value
		}
	}
	x.Point = []analysis.Point{{Kernel: x.ID, DType: "fp32", Memory: "dram", Intensity: 1800, FLOPS: peak * 1.05, Attained: 1, NS: 9_000_000}}
	r.Roofline.Points = append(r.Roofline.Points, x.Point...)
	p := open(t, r)
	for _, width := range []int64{1280, 500, 360} {
		p.do(chromedp.EmulateViewport(width, 900))
		p.wait(fmt.Sprintf(`(e => e.getBoundingClientRect().right <= %d && e.viewBox.baseVal.width <= Math.max(300, e.parentElement.clientWidth))(document.querySelector("#roofline-plot"))`, width))
		outside := eval[[]string](p, `(() => { const box = document.querySelector("#roofline-plot").getBoundingClientRect(); return [...document.querySelectorAll("#roofline-plot text, #roofline-plot circle")].filter(e => { const r = e.getBoundingClientRect(); return r.right > box.right + 1 || r.left < box.left - 1 }).map(e => e.textContent) })()`)
		if len(outside) != 0 {
			t.Errorf("outside at %d: %q", width, outside)
		}
		last := eval[string](p, `(e => e.lastElementChild.getAttribute("class"))(document.querySelector("#roofline-plot"))`)
		if last != "roof-label" {
			t.Errorf("%s is drawn over the names of the roofs", last)
		}
	}
	p.do(chromedp.EmulateViewport(1280, 900))
	p.wait(`document.querySelector("#roofline-plot").viewBox.baseVal.width > 700`)
	if over := eval[[]string](p, `[...document.querySelectorAll("#roofline-plot .roof-label:not([transform])")].filter(l => l.textContent.startsWith("fp32")).filter(l => { const a = l.getBoundingClientRect(); return [...document.querySelectorAll("#roofline-plot circle")].some(c => { const b = c.getBoundingClientRect(); return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom }) }).map(e => e.textContent)`); len(over) != 0 {
		t.Errorf("dots lie over %q", over)
	}
}

// What a region's list of kernels leaves out is a box of its own.
func TestFlameGraphIsFilled(t *testing.T) {
	p := open(t, sample())
	got := eval[[]string](p, `[...document.querySelectorAll("#flame .rest")].map(e => e.ariaLabel)`)
	if len(got) != 4 || !strings.HasPrefix(got[0], "40 more launches, ") || !strings.Contains(got[0], "prefill/attn") {
		t.Fatalf("rest: %q", got)
	}
	gap := eval[float64](p, `(() => { const of = name => [...document.querySelectorAll("#flame .box")].find(e => e.ariaLabel.startsWith(name)).getBoundingClientRect(); return of("attn,").right - document.querySelector("#flame .rest").getBoundingClientRect().right })()`)
	if gap > 2 || gap < -2 {
		t.Errorf("%g pixels of attn are blank", gap)
	}
	p.click("#flame .rest")
	p.wait(`document.querySelector("#region-detail h3")?.textContent === "prefill/attn"`)
}

// The page of a kernel has the verdicts on launches of other durations, and why
// there is no point.
func TestOtherLimiters(t *testing.T) {
	r := sample()
	k := &r.Kernels[0]
	k.OtherLimiters = []analysis.OtherLimiter{{Report: "ncu/run2/run.ncu-rep", Launch: 1, TimelineNS: 18_720, Calls: 8, Share: 0.508,
		Limiter: analysis.Limiter{Kind: "l2", Units: []string{"l2"}, Level: ptr(0.65), Why: facts("L2 cache is in use at 65 % of its peak")}}}
	k.Counted.TimelineNS, k.Counted.Note, k.Reason = 9_152, []fact.Fact{fact.New("counted-alike", fact.Count("calls", 1), fact.Count("of", 10), fact.Share("share", 0.039))}, &fact.Fact{Code: fact.Text, Params: fact.Params{"text": {Kind: fact.KindVendor, Text: "rank 24 by GPU time"}}}
	k.Point, k.NoPoint = nil, says("it executes no floating-point operations")
	p := open(t, r)
	eval[chromedp.Void](p, `location.hash = "#/kernel/k-gemm"`)
	p.wait(`!!document.querySelector("#kernel-page")`)
	got := strings.ReplaceAll(p.text("#kernel-page"), "\u00a0", " ")
	for _, want := range []string{
		"Launches of about 18.7 µs (8 launches, 50.8 % of its time): L2 cache (65 %). L2 cache is in use at 65 % of its peak.",
		"such launches last 9.15 µs in the timeline.", "Launches that last about as long: 1 of 10, 3.9 % of the kernel's time.", "Why this kernel: rank 24 by GPU time.",
		"Roofline: no point, because it executes no floating-point operations.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in: %s", want, got)
		}
	}
}

// The share of a unit in use and the share of its bandwidth are named apart.
func TestBusiestUnitIsNamed(t *testing.T) {
	r := sample()
	k := &r.Kernels[0]
	k.Attained, k.AttainedOf, k.AttainedMetric = ptr(0.53), "l2", "lts__throughput.avg.pct_of_peak_sustained_elapsed"
	k.Limiter.Evidence = []analysis.Evidence{{Metric: "lts__throughput.avg.pct_of_peak_sustained_elapsed", Value: 53, Unit: "%"}}
	k.Point[1].Attained = 0.254
	p := open(t, r)
	eval[chromedp.Void](p, `location.hash = "#/kernel/k-gemm"`)
	p.wait(`!!document.querySelector("#kernel-page")`)
	if got := p.text("#limiter"); !strings.Contains(got, "53.0 % of its peak (lts__throughput: how busy the unit is, with all that it does; the roofline counts the bytes that L2 hands to L1 alone)") {
		t.Errorf("busiest unit: %s", got)
	}
	if got := p.text("#kernel-page"); !strings.Contains(got, "L2 (bytes that L2 hands to L1): 170 FLOP/B, 25.4 % of the roof") {
		t.Errorf("roofline: %s", got)
	}
	k.Attained, k.AttainedMetric = ptr(0.254), ""
	p = open(t, r)
	eval[chromedp.Void](p, `location.hash = "#/kernel/k-gemm"`)
	p.wait(`!!document.querySelector("#kernel-page")`)
	if got := p.text("#limiter"); !strings.Contains(got, "25.4 % of its peak (bytes that L2 hands to L1).") {
		t.Errorf("busiest by bytes: %s", got)
	}
}

// A region with nested ones shows the kernels that it launches itself beside them,
// and the whole name of a box is its text, however narrow the box.
func TestFlameGraphHasOwnKernels(t *testing.T) {
	r := sample()
	r.Regions[0].SelfKernels, r.Regions[0].SelfNS = 5, 4_000_000
	r.Regions[0].Top = []analysis.RegionKernel{{Kernel: 1, Calls: 20, NS: 5_000_000, OwnCalls: 5, OwnNS: 4_000_000}}
	p := open(t, r)
	boxes := eval[[]string](p, `(() => { const of = e => [...document.querySelectorAll("#flame .box")].filter(b => b.offsetTop === e.offsetTop); return of([...document.querySelectorAll("#flame .box")].find(b => b.ariaLabel.startsWith("attn,"))).map(b => b.ariaLabel.split(",")[0]) })()`)
	if !slices.Contains(boxes, "flash_fwd_kernel<64") {
		t.Errorf("beside attn stand %q", boxes)
	}
	if cut := eval[[]string](p, `[...document.querySelectorAll("#flame .box")].filter(b => !b.ariaLabel.startsWith(b.textContent)).map(b => b.textContent)`); len(cut) > 0 {
		t.Errorf("texts that are not in the names of their boxes: %q", cut)
	}
}
