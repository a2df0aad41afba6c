package html

import (
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/browser"
)

// TestBothBrowsers goes through the page in every browser: sections, sort, search,
// keys, a kernel, a region, links to an event, both themes. Chromium alone has the
// details, in the other tests.
func TestBothBrowsers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.html")
	r := sample()
	r.Overview.Lanes = []analysis.Lane{
		{Kind: "nvtx", Label: laneText("ranges"), Events: 1, Exact: true, Boxes: []analysis.Box{{Start: 90_000_000, Len: 30_000_000, Name: 0}}},
		{Kind: "kernel", Label: laneText("stream 7"), Events: 2, Exact: true, Boxes: []analysis.Box{{Start: 1_000_000, Len: 10_000, Name: 3}, {Start: 104_203_517, Len: 359_000, Name: 4}}},
	}
	r.Overview.EndNS += 3_900_000_000 - r.Overview.StartNS
	r.Overview.StartNS = 3_900_000_000
	r.Derive()
	f, err := os.Create(path)
	if err == nil {
		err = errors.Join(Write(f, r), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	address := (&url.URL{Scheme: "file", Path: path}).String()
	for _, name := range browser.Names() {
		t.Run(name, func(t *testing.T) {
			tab, stop, err := browser.Start(name)
			if errors.Is(err, exec.ErrNotFound) {
				t.Skipf("the browser is not installed (scripts/packages installs it): %v", err)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			goThrough(t, tab, address)
		})
	}
}

const kernelsInFlame = `[...document.querySelectorAll("#flame .box")].some((e) => e.getAttribute("aria-label").includes("nvjet"))`

// goThrough opens the page and does what a reader does, step by step.
func goThrough(t *testing.T, tab browser.Tab, address string) {
	const ready = `document.documentElement.dataset.ready === "true"`
	wait := func(condition string) func() error { return func() error { return browser.Wait(tab, condition) } }
	click := func(selector string) func() error { return func() error { return tab.Click(selector) } }
	press := func(key string) func() error { return func() error { return tab.Press(key) } }
	pressUntil := func(key, condition string) func() error { // the page may not listen yet
		return func() error {
			for range 50 {
				if err := tab.Press(key); err != nil {
					return err
				}
				if ok, _ := browser.Value[bool](tab, condition); ok {
					return nil
				}
				time.Sleep(20 * time.Millisecond)
			}
			return browser.Wait(tab, condition)
		}
	}
	open := func(hash string) func() error { return func() error { return tab.Open(address + hash) } }
	for i, step := range []func() error{
		func() error { return tab.Size(1280, 720) }, open(""), wait(ready),
		wait(`["findings", "time", "timeline", "regions", "kernels", "roofline", "utilisation", "operators", "doubts"].every((id) => document.querySelector("section#" + id + " h2")?.getBoundingClientRect().height > 0)`),
		wait(`document.documentElement.scrollWidth <= 1280`),
		// sort, search, and a kernel with its way back
		click(`#kernel-table button[data-sort=calls]`), wait(firstKernel + `.startsWith("vectorized")`),
		press("/"), wait(`document.activeElement.id === "kernel-search"`),
		open("#/kernel/k-gemm"), wait(`document.querySelector("#kernel-page h1")?.textContent.startsWith("nvjet") && document.querySelectorAll("#kernel-page .bin").length > 2`),
		pressUntil("Escape", `!document.querySelector("#kernel-page")`),
		// the timeline counts from its first event, zooms by keys, and its state is in the address
		wait(`document.querySelector("#timeline-canvas").focus() === undefined && document.querySelector("#timeline-canvas").height > 40`),
		press("0"), wait(`document.querySelector("#timeline-range").textContent.startsWith("0 to")`),
		press("w"), wait(`+document.querySelector("#timeline-range").dataset.from > 0 && location.hash.includes("t=")`),
		press("0"), press("ArrowDown"), press("ArrowDown"), wait(`document.querySelector("#timeline-selected")?.textContent.includes("stream 7") && location.hash.includes("event=1.0")`),
		open("#timeline?event=1.1"), func() error { _, err := tab.Eval(`location.reload()`); return err },
		wait(ready + ` && document.querySelector("#timeline-selected")?.textContent.includes("104.2")`),
		// the flame graph ends in kernels, by GPU time and by wall time
		wait(kernelsInFlame), click(`#regions input[name=flame-by]:not(:checked)`), wait(`document.querySelector("#regions input[name=flame-by]:checked").parentElement.textContent.includes("wall") && ` + kernelsInFlame),
		// both themes
		wait(`((e) => { e.value = "dark"; e.dispatchEvent(new Event("change", { bubbles: true })); return true })(document.querySelector("#theme"))`),
		wait(`document.documentElement.dataset.theme === "dark"`),
	} {
		if err := step(); err != nil {
			t.Fatalf("step %d: %v", i+1, err)
		}
	}
	if told := tab.Messages(); len(told) > 0 {
		t.Errorf("the page complains: %q", told)
	}
	if png, err := tab.Screenshot(); err != nil || len(png) < 10_000 {
		t.Errorf("screenshot: %d bytes, %v", len(png), err)
	}
}
