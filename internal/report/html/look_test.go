package html

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/deepprof/deepprof/internal/analysis"
)

const unfold = `document.querySelectorAll("main details").forEach(d => { d.open = true })`

// Lanes show the names of the kernel table; what those leave out is said of the
// box that the pointer or the keyboard is at.
func TestLanesShowShortNames(t *testing.T) {
	r := sample()
	attention := r.Kernels[1]
	r.Kernels = append(r.Kernels, mul("k-bf", "4", "c10::BFloat16", 7), mul("k-f", "2", "float", 7))
	const shared = "elementwise_kernel<MulFunctor>"
	r.Overview.Names = []string{attention.Name, shared}
	r.Overview.Lanes = []analysis.Lane{{Kind: "kernel", Label: laneText("GPU 0 stream 7"), Group: laneText("GPU 0"), Events: 2, Exact: true, Boxes: []analysis.Box{{Start: 0, Len: 250_000_000, Name: 0}, {Start: 260_000_000, Len: 250_000_000, Name: 1}}}}
	p := open(t, r)
	eval[chromedp.Void](p, `document.querySelector("#timeline").scrollIntoView({behavior: "instant"})`)
	box := eval[[]float64](p, `(() => { const r = document.querySelector("#timeline-canvas").getBoundingClientRect(); return [r.left + r.width * 0.3, r.top + 55] })()`)
	p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, box[0], box[1]))
	p.wait(fmt.Sprintf(`(e => e?.firstChild.textContent === %q && e.lastChild.textContent === %q)(document.querySelector(".tip:not([hidden])"))`, attention.Short, attention.Name))

	eval[chromedp.Void](p, `window.drawn = new Set(); const fill = CanvasRenderingContext2D.prototype.fillText; CanvasRenderingContext2D.prototype.fillText = function (text, ...at) { window.drawn.add(text); return fill.call(this, text, ...at) }`)
	p.focus("#timeline-canvas")
	p.press("0")
	p.wait(`document.querySelector(".tip").hidden`)
	p.wait(fmt.Sprintf(`window.drawn.has(%q) && window.drawn.has(%q) && window.drawn.has("stream 7")`, attention.Short, shared))
	if got := eval[[]string](p, `[...window.drawn].filter(t => t.startsWith("void"))`); len(got) != 0 {
		t.Errorf("drawn in a lane: %q", got)
	}

	p.press(kb.ArrowDown)
	p.wait(fmt.Sprintf(`document.querySelector("#timeline-selected .full")?.textContent === %q`, attention.Name))
	p.wait(fmt.Sprintf(`document.querySelector("#live").textContent.endsWith(%q)`, attention.Name))
	if got := eval[string](p, `document.querySelector("#timeline-selected a").textContent`); got != attention.Short {
		t.Errorf("selected: %s", got)
	}
	p.press(kb.ArrowRight, chromedp.ModifierShift)
	p.wait(`document.querySelector("#timeline-selected .full")?.textContent === "one of 2 kernels of this short name"`)
	if got := eval[[]string](p, `[...document.querySelectorAll("#timeline-selected a")].map(a => a.hash)`); !slices.Equal(got, []string{"#/kernel/k-bf", "#/kernel/k-f"}) {
		t.Errorf("a name of two kernels links to %q", got)
	}

	if got := p.text("#lane-table"); strings.Contains(got, "void") || !strings.Contains(eval[string](p, `document.querySelector("#lane-table").textContent`), attention.Short) {
		t.Errorf("table of the lanes: %s", got)
	}
}

// The kernels of a report are those of its scope: of a box outside it nothing but
// its own name is known.
func TestNamesOutsideTheScope(t *testing.T) {
	r := sample()
	attention := r.Kernels[1]
	r.Overview.Names = []string{attention.Short}
	r.Overview.Lanes = []analysis.Lane{{Kind: "kernel", Label: laneText("stream 7"), Events: 2, Exact: true, Boxes: []analysis.Box{{Start: 0, Len: 1_000_000, Name: 0}, {Start: 102_000_000, Len: 1_000_000, Name: 0}}}}
	r.Scope = &analysis.Scope{Name: says("prefill"), StartNS: 100_000_000, EndNS: 110_000_000, WallNS: 10_000_000}
	p := open(t, r)
	p.focus("#timeline-canvas")
	p.press(kb.ArrowDown)
	p.wait(`!!document.querySelector("#timeline-selected .full")`)
	p.press(kb.ArrowLeft, chromedp.ModifierShift)
	p.wait(`!!document.querySelector("#timeline-selected") && !document.querySelector("#timeline-selected .full")`)
}

// At the width of a small laptop no table scrolls sideways, and those that would
// have lost something by it show all that they hold.
func TestTablesFit(t *testing.T) {
	r := sample()
	const basis = "ncu: sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32_sparsity_off.sum.peak_sustained x sm__cycles_elapsed.avg.per_second"
	for i := range r.Roofline.Roofs {
		r.Roofline.Roofs[i].Basis = says(basis)
	}
	group := "/opt/" + strings.Repeat("environments/", 5) + "bin/python3.12 (31415926)"
	for i := range r.Overview.Lanes {
		r.Overview.Lanes[i].Group = laneText(group)
	}
	r.Overview.Names[7] = strings.Repeat("cudaLaunchKernelExC", 12)
	r.Source.Files[0].Path = strings.Repeat("folder/", 30) + "timeline.sqlite"
	r.Method.Deviations = []analysis.Deviation{{Key: "dataset.sampling.num_samples_per_epoch", Stage: "ncu, nsys, torch_profiler", Configured: "null", Used: "1", Why: facts(strings.Repeat("of all samples one stands for the rest ", 5))}}
	p := open(t, r)
	p.do(chromedp.EmulateViewport(1280, 900))
	eval[chromedp.Void](p, unfold)
	p.wait(`document.querySelectorAll("main details:not([open])").length === 0 && innerWidth === 1280`)
	if wide := eval[[]string](p, `[...document.querySelectorAll("main .scroll")].filter(e => e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1).map(e => e.ariaLabel + " " + e.scrollWidth + ">" + e.clientWidth)`); len(wide) != 0 {
		t.Errorf("scroll sideways: %q", wide)
	}
	if cut := eval[[]string](p, `[...document.querySelectorAll("#lane-table :is(th, td), #roofs-table :is(th, td), #method :is(th, td)")].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent)`); len(cut) != 0 {
		t.Errorf("cut off: %q", cut)
	}
	headings := `[...document.querySelectorAll("main .scroll thead button")]`
	for i := range eval[int](p, headings+`.length`) {
		eval[chromedp.Void](p, fmt.Sprintf(`%s[%d].click()`, headings, i))
		p.wait(fmt.Sprintf(`!!%s[%d].closest("th[aria-sort]")`, headings, i))
		if !eval[bool](p, fmt.Sprintf(`(e => e.scrollWidth <= e.clientWidth + 1)(%s[%d].closest("th"))`, headings, i)) {
			t.Errorf("the heading %s does not fit when it is sorted by", eval[string](p, fmt.Sprintf(`%s[%d].textContent`, headings, i)))
		}
	}
	for selector, want := range map[string]string{"#roofs-table": basis, "#lane-table": group, "#method": r.Source.Files[0].Path} {
		if got := eval[string](p, fmt.Sprintf(`document.querySelector(%q).textContent`, selector)); !strings.Contains(got, want) {
			t.Errorf("%s does not show %s", selector, want)
		}
	}
}

// A table of more columns than there is room for leaves out those of least priority, says
// which, and shows all of them when asked to.
func TestWideTablesLeaveColumnsOut(t *testing.T) {
	r := sample()
	for i := range r.Stages {
		s := &r.Stages[i]
		s.Name, s.Passes, s.HostMS, s.Synchronous = "execute_context_0(0)_generation_7(7)", 20, ptr(3.379), ptr(false)
		s.NsysTimes = &analysis.Spread{MedianMS: 3.368, MinMS: 3.348, MaxMS: 3.78, StdMS: 0.093}
	}
	p := open(t, r)
	p.do(chromedp.EmulateViewport(1000, 900))
	const fits = `(e => e.scrollWidth <= e.clientWidth + 1)(document.querySelector("#stages-table"))`
	p.wait(fits + ` && document.querySelector("#stages-table + .narrow-note") !== null`)
	heads := `document.querySelectorAll("#stages-table thead th").length`
	few := eval[int](p, heads)
	p.click("#stages-table + .narrow-note button")
	p.wait(fmt.Sprintf(`%s > %d && document.querySelector("#stages-table + .narrow-note") === null`, heads, few))
}

// Words of the table of settings are not broken.
func TestSettingsKeepTheirWords(t *testing.T) {
	r := sample()
	why := strings.Repeat("one pass shows every launch, and a profiled pass costs many times a clean one ", 2)
	r.Method.Deviations = []analysis.Deviation{
		{Key: "dataset.sampling.num_samples_per_epoch", Stage: "nsys, torch_profiler", Configured: "null", Used: "1", Why: facts(why)},
		{Key: "pipeline.torch_profiler.enable", Stage: "ncu, nsys", Configured: "true", Used: "false", Why: facts(why)},
	}
	p := open(t, r)
	p.do(chromedp.EmulateViewport(1280, 900))
	p.wait(`innerWidth === 1280`)
	broken := eval[[]string](p, `[...document.querySelectorAll("#method td.words")].flatMap(e => [...e.textContent.matchAll(/\S+/g)].filter(w => {
		const text = document.createRange();
		text.setStart(e.firstChild, w.index);
		text.setEnd(e.firstChild, w.index + w[0].length);
		return text.getClientRects().length > 1;
	}).map(w => w[0]))`)
	if len(broken) != 0 {
		t.Errorf("broken: %q", broken)
	}
}

// A command that would fill a screen is folded and can be copied whole; on paper
// its beginning stands for it.
func TestLongCommand(t *testing.T) {
	r := sample()
	long := "ncu --set=roofline '--kernel-name=regex:^(" + strings.Repeat("_ZN2at6native18elementwise_kernel|", 200) + ")$' python3 main.py"
	r.Method.Commands = append(r.Method.Commands, analysis.StageCommand{Stage: "ncu", Command: long})
	p := open(t, r)
	p.do(chromedp.EmulateViewport(1280, 900))
	const shown = `[...document.querySelectorAll("#method pre")].filter(e => e.checkVisibility()).map(e => e.textContent)`
	if got := eval[[]string](p, shown); len(got) != 2 || got[0] != r.Method.Commands[0].Command || got[1] != "ncu --set=roofline …" {
		t.Errorf("folded: %q", got)
	}
	p.click("#method summary")
	p.wait(fmt.Sprintf(`%s[1] === %q`, shown, long))
	if got := eval[int](p, shown+`.length`); got != 2 {
		t.Errorf("unfolded: %d commands", got)
	}
	p.media("print", "light")
	p.wait(shown + `[1] === "ncu --set=roofline …"`)
}

// Small things that real runs showed: a number apart from its unit, a level wider
// than its column, labels of slopes on each other.
func TestSmallThings(t *testing.T) {
	r := sample()
	r.Findings = []analysis.Finding{{ID: "a", Weight: "high", Fact: says("decode is launch-bound: at most 184.0 ms of 232.5 ms, 88.1 % of it, at 4.8 TB/s")}}
	r.Kernels[0].Limiter.Kind, r.Kernels[0].Limiter.Level = "small", ptr(0.61)
	p := open(t, r)
	p.do(chromedp.EmulateViewport(1280, 900))
	if got, want := eval[string](p, `document.querySelector(".finding-text .said").textContent`), "decode is launch-bound: at most 184.0\u00a0ms of 232.5\u00a0ms, 88.1\u00a0% of it, at 4.8\u00a0TB/s"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if wide := eval[[]string](p, `[...document.querySelectorAll("#kernel-table .level")].filter(e => e.scrollWidth > e.clientWidth || e.getBoundingClientRect().right > e.closest("td").getBoundingClientRect().right - 10).map(e => e.textContent)`); len(wide) != 0 {
		t.Errorf("wider than their column: %q", wide)
	}
	eval[chromedp.Void](p, `location.hash = "#/kernel/k-gemm"`)
	p.wait(`document.querySelectorAll("#kernel-page .roof-label").length > 2`)
	if !eval[bool](p, `(([a, b]) => a.right < b.left || b.right < a.left || a.bottom < b.top || b.bottom < a.top)([...document.querySelectorAll("#kernel-page .roof-label[transform]")].map(e => e.getBoundingClientRect()))`) {
		t.Error("the labels of two slopes lie on each other")
	}
}

// contrasts lists the texts that are hard to read: those with a contrast below
// 4.5 to what lies behind them, by the formula of WCAG 2.
const contrasts = `(() => {
	const channels = (text) => { const m = text.match(/^rgba?\(([^)]+)\)$/); if (!m) throw new Error("color " + text); const v = m[1].split(/[ ,/]+/).map(Number); return [v[0], v[1], v[2], v[3] ?? 1] };
	const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3]));
	const light = (c) => { const [r, g, b] = c.map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b };
	const ground = (e) => { const layers = []; for (; e; e = e.parentElement) { const c = channels(getComputedStyle(e).backgroundColor); layers.unshift(c); if (c[3] === 1) break } return layers.reduce((g, c) => over(c, g), [255, 255, 255]) };
	const found = [];
	let seen = 0;
	const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (texts.nextNode()) {
		const e = texts.currentNode.parentElement;
		if (!texts.currentNode.textContent.trim() || e.getClientRects().length === 0 || e.closest(".unseen, option")) continue;
		seen++;
		const style = getComputedStyle(e), behind = ground(e);
		const colour = channels(e.closest("svg") ? style.fill : style.color);
		for (let up = e; up; up = up.parentElement) colour[3] *= getComputedStyle(up).opacity;
		const [a, b] = [light(over(colour, behind)), light(behind)];
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (ratio < 4.5) found.push(ratio.toFixed(2) + " " + e.tagName + "." + e.getAttribute("class") + " " + e.textContent.slice(0, 30));
	}
	return seen < 100 ? ["only " + seen + " texts were found"] : found;
})()`

func TestContrast(t *testing.T) {
	p := open(t, sample())
	for _, scheme := range []string{"light", "dark"} {
		p.media("", scheme)
		p.wait(fmt.Sprintf(`document.documentElement.dataset.theme === %q`, scheme))
		for _, hash := range []string{"", "#/kernel/k-gemm"} {
			eval[chromedp.Void](p, fmt.Sprintf(`location.hash = %q`, hash))
			p.wait(fmt.Sprintf(`(%q !== "") === !!document.querySelector("#kernel-page")`, hash))
			eval[chromedp.Void](p, unfold)
			if got := eval[[]string](p, contrasts); len(got) != 0 {
				t.Errorf("%s, %q: %q", scheme, hash, got)
			}
		}
	}
}

// Black or white ink, whichever the page takes, is read easily on every color.
func TestInkOnEveryCategory(t *testing.T) {
	r := sample()
	r.Regions, r.Categories = r.Regions[:1], nil
	r.Regions[0].Top, r.Regions[0].KernelNS, r.Regions[0].Kernels = nil, 0, 0
	ids := []string{"gemm", "attention", "normalisation", "elementwise", "reduction", "copy", "memset", "embedding", "sampling", "communication", "convolution", "random", "softmax", "activation", "other", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8"}
	for i, id := range ids {
		k := mul("k-"+id, fmt.Sprint(i), "float", int64(i))
		k.Category, k.Short = id, "k" // a long name would have no room in its box
		r.Kernels = append(r.Kernels, k)
		r.Regions[0].Top = append(r.Regions[0].Top, analysis.RegionKernel{Kernel: len(r.Kernels) - 1, Calls: 1, NS: 1_000_000})
		r.Regions[0].KernelNS += 1_000_000
		r.Regions[0].Kernels++
	}
	p := open(t, r)
	if got := eval[int](p, `[...document.querySelectorAll("#flame .box")].filter(e => e.textContent !== "").length`); got != len(ids)+1 {
		t.Fatalf("%d boxes with a name, want %d", got, len(ids)+1)
	}
	if got := eval[[]string](p, contrasts); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

// Axes say what they measure and in which unit.
func TestAxesAreNamed(t *testing.T) {
	p := open(t, sample())
	for _, want := range []string{"achieved rate (FLOP/s)", "operations per byte (FLOP/B)"} {
		if got := p.text("#roofline-plot"); !strings.Contains(got, want) {
			t.Errorf("the roofline lacks %q: %s", want, got)
		}
	}
	eval[chromedp.Void](p, `location.hash = "#/kernel/k-gemm"`)
	p.wait(`!!document.querySelector("#kernel-page .bin")`)
	if got := p.text("#kernel-page"); !strings.Contains(got, "duration of a launch") || !strings.Contains(got, "launches, at most 71 in a bin") {
		t.Errorf("histogram: %s", got)
	}
}

func TestReducedMotion(t *testing.T) {
	p := open(t, sample())
	for _, test := range []struct{ wish, want string }{{"no-preference", "smooth"}, {"reduce", "auto"}} {
		_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: test.wish}},
		})
		if err != nil {
			t.Fatal(err)
		}
		p.wait(fmt.Sprintf(`getComputedStyle(document.documentElement).scrollBehavior === %q`, test.want))
	}
	if got := eval[[]string](p, `[...document.querySelectorAll("body, body *")].filter(e => { const s = getComputedStyle(e); return s.animationName !== "none" || s.transitionDuration.split(", ").some(d => d !== "0s") }).map(e => e.tagName)`); len(got) != 0 {
		t.Errorf("move all the same: %q", got)
	}
}

// A link to a section below the timeline lands at its heading, also where the page
// is opened with it: the timeline has its size before.
func TestLinkLandsAtItsSection(t *testing.T) {
	p := open(t, sample())
	for _, section := range []string{"regions", "kernels", "opportunities"} {
		p.do(chromedp.Navigate("data:text/html,"), chromedp.Navigate(p.url+"#"+section))
		p.wait(`document.documentElement.dataset.ready === "true" && document.querySelector("#timeline-canvas").style.height !== ""`)
		eval[chromedp.Void](p, `(() => { let y = -1, same = 0; const timer = setInterval(() => { same = scrollY === y ? same + 1 : 0; y = scrollY; if (same > 8) { clearInterval(timer); window.settled = true } }, 100) })()`)
		p.wait(`window.settled`)
		top := eval[float64](p, fmt.Sprintf(`document.getElementById(%q).getBoundingClientRect().top`, section))
		if top < 0 || top > 150 {
			t.Errorf("%s: its top is at %.0f", section, top)
		}
	}
}
