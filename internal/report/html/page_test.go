package html

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
)

const firstKernel = `document.querySelector("#kernel-table tbody tr[data-row='0'] a").textContent`

func TestOpens(t *testing.T) {
	p := open(t, sample())
	for _, id := range []string{"findings", "time", "timeline", "regions", "kernels", "roofline", "utilisation", "opportunities", "operators", "environment", "method", "doubts"} {
		if !eval[bool](p, fmt.Sprintf(`document.querySelector("section#%s h2")?.getBoundingClientRect().height > 0`, id)) {
			t.Errorf("no section %s", id)
		}
	}
	if got := p.text(".head"); !strings.Contains(got, "recorded") || !strings.Contains(got, "NVIDIA H200") {
		t.Errorf("head: %s", got)
	}
	if got := p.text("article[data-stage=decode] .callout"); !strings.Contains(got, "Launch-bound.") || !strings.Contains(got, "at most 360 ms") {
		t.Errorf("launch-bound stage: %s", got)
	}
	if !eval[bool](p, `!!(document.querySelector(".callout").compareDocumentPosition(document.querySelector("#kernel-table")) & Node.DOCUMENT_POSITION_FOLLOWING)`) {
		t.Error("kernels come before the launch-bound stage")
	}
	for selector, want := range map[string]string{
		"#utilisation":   "contradiction (121.0 %)",
		"#opportunities": "310 ms at most",
		"#doubts":        "2 of 9 lanes",
		"#method":        "Of 77 groups of kernel, grid and block 26 were chosen and 26 counted",
		"#environment":   "1,235,814,400",
	} {
		if got := p.text(selector); !strings.Contains(got, want) {
			t.Errorf("%s does not say %q: %s", selector, want, got)
		}
	}
}

func TestOpensWithNothing(t *testing.T) {
	p := open(t, &analysis.Result{Schema: analysis.Schema})
	if got := p.text("#findings"); !strings.Contains(got, "No finding") {
		t.Errorf("findings: %s", got)
	}
}

// A finding is said once: in technical words, or in plain ones on request.
func TestFindingsInPlainWords(t *testing.T) {
	r := sample()
	r.Findings = []analysis.Finding{{ID: "a", Weight: "high", Fact: fact.New("no-kernels-seen")}, {ID: "b", Weight: "low", Fact: says("no other words")}}
	p := open(t, r)
	if got := p.text(".findings"); !strings.Contains(got, "CUDA was not traced") {
		t.Errorf("technical words: %s", got)
	}
	p.click("#plainly")
	p.wait(`document.querySelector(".finding-text").textContent.startsWith("The capture shows no work")`)
	if got := p.text(".findings"); strings.Contains(got, "CUDA was not traced") || !strings.Contains(got, "no other words") {
		t.Errorf("plain words: %s", got)
	}
}

// The clock of the session and the NVTX range are two times of one stage, and the
// page says so where they differ.
func TestTwoClocks(t *testing.T) {
	r := sample()
	for i := range r.Stages {
		nsys := float64(r.Stages[i].Split.WallNS) / float64(max(r.Stages[i].Passes, 1)) / 1e6
		r.Stages[i].NsysMS = &nsys
	}
	if p := open(t, r); strings.Contains(p.text("#time"), "own clock") {
		t.Error("the same time is explained as two")
	}
	nsys := *r.Stages[0].NsysMS * 0.75
	r.Stages[0].NsysMS = &nsys
	p := open(t, r)
	if got := p.text("#time .notes"); !strings.Contains(got, r.Stages[0].Name+", ") || !strings.Contains(got, "session's own clock") {
		t.Errorf("got %s", got)
	}
}

// The call that plays a recording is not the command that was recorded.
func TestCommandOfARecording(t *testing.T) {
	r := sample()
	r.Source.Recorded = true
	r.Workload.Command = []string{"deepprof", "demo", "--output", "x"}
	if p := open(t, r); strings.Contains(p.text("#environment"), "deepprof demo") {
		t.Error("the call of the demo is shown as the command of the workload")
	}
	r.Workload.Command = []string{"deepprof", "run", "session=llm"}
	if p := open(t, r); !strings.Contains(p.text("#environment"), "deepprof run session=llm") {
		t.Error("the recorded command is not shown")
	}
}

// A recording may be the bundled one or any other.
func TestRecordingIsNotCalledBundled(t *testing.T) {
	p := open(t, sample())
	if got := p.text(".recorded-note"); got != "recorded This report shows a recording, not a measurement of this machine." {
		t.Errorf("got %s", got)
	}
}

// What a peak is from is said by its basis, which need not be a table.
func TestPeakThatWasNotMeasured(t *testing.T) {
	r := sample()
	peak := analysis.Peak{ID: "dram", Value: 4.81e12, Unit: "byte/s", Basis: says("device properties recorded by nsys: memory clock x bus width")}
	r.Stages[0].MBU = []analysis.Utilization{{Method: "analytic", Value: ptr(6.6e-8), Achieved: 317e3, Peak: peak, Seconds: 1, Why: facts("over the time under nsys")}, {Method: "counters", Value: ptr(0.1), Peak: peak, Why: facts("over the time under nsys")}}
	r.Roofline.Roofs[0] = peak
	p := open(t, r)
	const row = `[...document.querySelectorAll("#utilisation tr")].find(e => e.textContent.includes("317"))`
	if got := p.text("#utilisation .notes"); !strings.Contains(got, "This peak was not measured") {
		t.Errorf("notes: %s", got)
	}
	if got := eval[string](p, `document.querySelector("#roofs-table").textContent`); !strings.Contains(got, message.Text(peak.Basis)) {
		t.Errorf("roofs: %s", got)
	}
	if got := eval[string](p, row+`.textContent`); !strings.Contains(got, "<0.001") {
		t.Errorf("value: %s", got)
	}
	if got := p.text("#utilisation .notes"); !strings.Contains(got, "Over the time under nsys.") {
		t.Errorf("remarks: %s", got)
	}
}

// A range of a domain is named with it, in the tree as in the flame graph.
func TestRegionsNameTheirDomain(t *testing.T) {
	r := sample()
	r.Regions[0].Domain, r.Regions[0].Path = "CCCL", "CCCL@"+r.Regions[0].Path
	p := open(t, r)
	want := r.Regions[0].Path
	if got := eval[string](p, `document.querySelector('#region-tree tr[data-region="0"] bdi').textContent`); got != want {
		t.Errorf("tree: %s, want %s", got, want)
	}
	if !eval[bool](p, fmt.Sprintf(`[...document.querySelectorAll("#flame .box")].some(e => e.textContent === %q)`, want)) {
		t.Error("the flame graph has no box of that name")
	}
}

// The axis has the times of nsys, which begin before the first event.
func TestTimelineSaysWhereItBegins(t *testing.T) {
	r := sample()
	r.Overview.EndNS += 3_900_000_000 - r.Overview.StartNS
	r.Overview.StartNS = 3_900_000_000
	p := open(t, r)
	if got := p.text("#timeline .lead"); !strings.Contains(got, "the first event is at 3.90 s") {
		t.Errorf("got %s", got)
	}
}

func TestSort(t *testing.T) {
	p := open(t, sample())
	if got := eval[string](p, firstKernel); !strings.HasPrefix(got, "nvjet") {
		t.Errorf("first by total: %s", got)
	}
	p.click(`#kernel-table button[data-sort=calls]`)
	p.wait(firstKernel + `.startsWith("vectorized")`)
	if got := eval[string](p, `document.querySelector("#kernel-table th[aria-sort]").textContent + document.querySelector("#kernel-table th[aria-sort]").ariaSort`); got != "Launches▼descending" {
		t.Errorf("sorted column: %s", got)
	}
	p.focus(`#kernel-table button[data-sort=calls]`)
	p.press(kb.Enter)
	p.wait(firstKernel + `.startsWith("evil")`)
	p.wait(`document.querySelector("#live").textContent === "Kernels: sorted by Launches, ascending"`)
}

func TestSearch(t *testing.T) {
	p := open(t, sample())
	p.press("/")
	p.wait(`document.activeElement.id === "kernel-search"`)
	// The driver sends the character of a key even where the page took the key,
	// and it may come late.
	for range 25 {
		if eval[string](p, `document.activeElement.value`) != "" {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	eval[chromedp.Void](p, `document.activeElement.select()`)
	p.press("flash FWD")
	p.wait(`document.querySelectorAll("#kernel-table tbody tr").length === 1`)
	if got := p.text("#kernel-count"); !strings.HasPrefix(got, "1 of 4 kernels by grid and block") {
		t.Errorf("count: %s", got)
	}
	p.press(" nothing")
	p.wait(`document.querySelector("#kernels").textContent.includes("No kernel matches")`)
	p.wait(`document.querySelector("#live").textContent === "0 of 4 kernels"`)
}

func TestTimeline(t *testing.T) {
	p := open(t, sample())
	eval[chromedp.Void](p, `document.querySelector("#timeline").scrollIntoView({behavior: "instant"})`)
	span := func() float64 {
		return eval[float64](p, `document.querySelector("#timeline-range").dataset.to - document.querySelector("#timeline-range").dataset.from`)
	}
	from := func() float64 { return eval[float64](p, `+document.querySelector("#timeline-range").dataset.from`) }
	whole := span()
	if whole != 520_000_000 {
		t.Fatalf("whole timeline: %v ns", whole)
	}
	smaller := func(than float64, how string) float64 {
		t.Helper()
		deadline := time.Now().Add(patience)
		for time.Now().Before(deadline) {
			if now := span(); now < than {
				return now
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatalf("%s does not zoom in", how)
		return 0
	}
	p.click("#zoom-in")
	now := smaller(whole, "the button")
	p.focus("#timeline-canvas")
	p.press("+")
	now = smaller(now, "the + key")

	box := eval[[]float64](p, `(() => { const r = document.querySelector("#timeline-canvas").getBoundingClientRect(); return [r.left, r.top, r.width, r.height] })()`)
	x, y := box[0]+box[2]/2, box[1]+box[3]-20
	p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseWheel, x, y, func(e *input.DispatchMouseEventParams) { e.DeltaX, e.DeltaY = 0.1, -120 }))
	now = smaller(now, "the wheel")

	before := from()
	p.do(
		chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1)),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x+40, y, chromedp.ButtonLeft, held),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x+90, y, chromedp.ButtonLeft, held),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, x+90, y, chromedp.ButtonLeft, chromedp.ClickCount(1)),
	)
	p.wait(fmt.Sprintf(`+document.querySelector("#timeline-range").dataset.from < %f`, before))
	if got := span(); got != now && (got < now-1 || got > now+1) {
		t.Errorf("dragging changed the length from %v to %v", now, got)
	}
	p.press("0")
	p.wait(`document.querySelector("#timeline-range").dataset.to === "520000000"`)

	for range 4 {
		p.press(kb.ArrowDown)
	}
	p.wait(`document.querySelector("#timeline-selected")?.textContent.includes("GPU 0 stream 7")`)
	p.press(kb.ArrowRight, chromedp.ModifierShift)
	p.wait(`document.querySelector("#timeline-selected a")?.textContent.startsWith("flash")`)
	p.wait(`document.querySelector("#live").textContent.startsWith("flash_fwd_kernel")`)
	p.press(kb.Enter)
	smaller(whole, "Enter on a box")
	if got := eval[int](p, `document.querySelectorAll("#lane-table tbody tr").length`); got != 4 {
		t.Errorf("table in place of the canvas has %d lanes", got)
	}
	if !eval[bool](p, `(() => { const c = document.querySelector("#timeline-canvas"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data; return new Set(new Uint32Array(d.buffer)).size > 20 })()`) {
		t.Error("nothing is drawn on the canvas")
	}
}

func held(e *input.DispatchMouseEventParams) { e.Buttons = 1 }

func TestTimelineTip(t *testing.T) {
	p := open(t, sample())
	eval[chromedp.Void](p, `document.querySelector("#timeline").scrollIntoView({behavior: "instant"})`)
	box := eval[[]float64](p, `(() => { const r = document.querySelector("#timeline-canvas").getBoundingClientRect(); return [r.left, r.top, r.width] })()`)
	p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, box[0]+box[2]*0.7, box[1]+52))
	p.wait(`document.querySelector(".tip:not([hidden]) strong")?.textContent === "decode"`)
}

func TestKernelPage(t *testing.T) {
	p := open(t, sample())
	p.click(`#kernel-table button[data-sort=calls]`)
	p.wait(firstKernel + `.startsWith("vectorized")`)
	p.rest(`#kernel-table a[href="#/kernel/k-gemm"]`)
	scrolled := eval[float64](p, `scrollY`)
	p.click(`#kernel-table a[href="#/kernel/k-gemm"]`)
	p.wait(`document.querySelector("#kernel-page h1")?.textContent.startsWith("nvjet_sm90")`)
	if eval[bool](p, `document.querySelector("#kernels").getClientRects().length > 0`) {
		t.Error("the overview is still shown")
	}
	for selector, want := range map[string]string{
		"#limiter":  "tensor pipe (bf16) 81 % in use",
		"#rules":    "local estimate 18.6 %",
		"#counters": "Compute (SM) Throughput sm__throughput.avg.pct_of_peak_sustained_elapsed 81.4 %",
	} {
		if got := p.text(selector); !strings.Contains(got, want) {
			t.Errorf("%s does not say %q: %s", selector, want, got)
		}
	}
	if got := p.text("#limiter .evidence"); !strings.Contains(got, "at least 60 %") {
		t.Errorf("evidence: %s", got)
	}
	if got := eval[int](p, `document.querySelectorAll("#kernel-roofline .point").length`); got != 2 {
		t.Errorf("%d points on the roofline of the kernel", got)
	}
	if got := eval[int](p, `document.querySelectorAll("#kernel-page .bin").length`); got != 5 {
		t.Errorf("%d bins in the histogram", got)
	}
	p.focus("#counter-search")
	p.press("occupancy")
	p.wait(`document.querySelectorAll("#counters details").length === 1`)

	p.do(chromedp.NavigateBack())
	p.wait(`!document.querySelector("#kernel-page")`)
	if got := eval[string](p, firstKernel); !strings.HasPrefix(got, "vectorized") {
		t.Errorf("the order of the table was lost: %s comes first", got)
	}
	p.wait(fmt.Sprintf(`Math.abs(scrollY - %f) < 2`, scrolled))
	p.wait(`document.activeElement.getAttribute("href") === "#/kernel/k-gemm"`)
}

func TestUnknownKernel(t *testing.T) {
	p := open(t, sample())
	eval[chromedp.Void](p, `location.hash = "#/kernel/%zz"`)
	p.wait(`document.querySelector("#kernel-page h1")?.textContent === "No such kernel"`)
	p.click("#back")
	p.wait(`!document.querySelector("#kernel-page")`)
}

func TestKeyboard(t *testing.T) {
	p := open(t, sample())
	p.press(kb.Tab)
	p.wait(`document.activeElement.className === "skip"`)

	p.focus(`#kernel-table tr[data-row="0"]`)
	p.press(kb.ArrowDown)
	p.wait(`document.activeElement.dataset.row === "1"`)
	p.press(kb.Enter)
	p.wait(`document.querySelector("#kernel-page h1")?.textContent.startsWith("flash_fwd")`)
	p.wait(`document.activeElement.tagName === "H1"`)
	p.do(chromedp.NavigateBack())
	p.wait(`!document.querySelector("#kernel-page")`)

	p.focus(`#region-tree tr[data-region="0"]`)
	p.press(kb.ArrowLeft)
	p.wait(`document.querySelector('#region-tree tr[data-region="0"]').ariaExpanded === "false"`)
	p.press(kb.ArrowRight)
	p.wait(`document.querySelector('#region-tree tr[data-region="0"]').ariaExpanded === "true"`)
	p.press(kb.ArrowRight)
	p.wait(`document.activeElement.dataset.region === "2"`)
	p.press(kb.Enter)
	p.wait(`document.querySelector("#region-detail h3")?.textContent === "prefill/attn"`)
	if got := p.text("#region-detail"); !strings.Contains(got, "dram__bytes.sum 2.40 GB sum") {
		t.Errorf("counters of the region: %s", got)
	}

	p.focus(`#flame .box[tabindex="0"]`)
	p.press(kb.ArrowDown)
	p.wait(`document.activeElement.textContent === "attn"`)
	p.press(kb.ArrowRight)
	p.wait(`document.activeElement.textContent === "mlp"`)
	p.press(kb.Enter)
	p.wait(`document.querySelector("#region-detail h3").textContent === "prefill/mlp"`)
	p.press("z")
	p.wait(`document.querySelector("#flame .box").textContent === "mlp"`)

	p.focus(`#roofline-plot .point[tabindex="0"]`)
	p.press(kb.ArrowRight)
	p.wait(`document.querySelector("#live").textContent.startsWith("flash_fwd_kernel<64, 128>, 210")`)
	p.press(kb.Enter)
	p.wait(`document.querySelector("#kernel-page h1")?.textContent.startsWith("flash_fwd")`)
}

func TestRoofline(t *testing.T) {
	p := open(t, sample())
	if got := eval[int](p, `document.querySelectorAll("#roofline-plot .point").length`); got != 3 {
		t.Errorf("%d points at DRAM", got)
	}
	if got := p.text("#roofline-plot"); !strings.Contains(got, "DRAM 4.81 TB/s") || !strings.Contains(got, "bf16 tensor, dense 989 TFLOP/s") {
		t.Errorf("roofs: %s", got)
	}
	if got := eval[int](p, `document.querySelectorAll("#roofline-plot .roof.assumed").length`); got != 1 {
		t.Errorf("%d roofs are marked as not measured", got)
	}
	eval[chromedp.Void](p, `document.querySelector("#roofline-plot").scrollIntoView({behavior: "instant", block: "center"})`)
	at := eval[[]float64](p, `(() => { const r = document.querySelector("#roofline-plot .point circle").getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2] })()`)
	p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at[0], at[1]))
	p.wait(`document.querySelector(".tip:not([hidden])")?.textContent.includes("of the roof")`)
	p.click(`#roofline input[name=roof-level]:not(:checked)`)
	p.wait(`document.querySelectorAll("#roofline-plot .point").length === 1`)
}

func TestCategories(t *testing.T) {
	p := open(t, sample())
	p.click(`#kernels .chips li:nth-child(3) button`)
	p.wait(`document.querySelectorAll("#kernel-table tbody tr").length === 1 && ` + firstKernel + `.startsWith("vectorized")`)
	p.click(`#kernels .chips button[aria-pressed=true]`)
	p.wait(`document.querySelectorAll("#kernel-table tbody tr").length === 4`)
}
