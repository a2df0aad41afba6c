package web

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/report/folder"
	"github.com/deepprof/deepprof/internal/report/html"
	"github.com/deepprof/deepprof/internal/runs"
)

// TestReportInBothBrowsers goes through the report of the recorded run in every browser:
// sections, sort, search, keys, a kernel, links to an event, the flame graph, both themes. The
// tests of internal/report/html have the details, in Chromium alone.
func TestReportInBothBrowsers(t *testing.T) {
	result, err := folder.Read(filepath.Join(recorded.store, recorded.run, runs.ResultName))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "report.html")
	f, err := os.Create(path)
	if err == nil {
		err = errors.Join(html.Write(f, result), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	inBrowsers(t, func(p *shownPage) {
		goThrough(p.t, p.tab, (&url.URL{Scheme: "file", Path: path}).String())
		if told := p.complaints(); len(told) > 0 {
			p.t.Errorf("the page complains: %q", told)
		}
	})
}

const kernelsInFlame = `[...document.querySelectorAll("#flame .box")].some((e) => e.getAttribute("aria-label").includes("grid "))`

// goThrough opens the page and does what a reader does, step by step.
func goThrough(t *testing.T, tab Tab, address string) {
	const ready = `document.documentElement.dataset.ready === "true"`
	wait := func(condition string) func() error { return func() error { return waitFor(tab, condition) } }
	click := func(selector string) func() error { return func() error { return tab.Click(selector) } }
	press := func(key string) func() error { return func() error { return tab.Press(key) } }
	pressUntil := func(key, condition string) func() error { // the page may not listen yet
		return func() error {
			for range 50 {
				if err := tab.Press(key); err != nil {
					return err
				}
				if ok, _ := valueOf[bool](tab, condition); ok {
					return nil
				}
				time.Sleep(20 * time.Millisecond)
			}
			return waitFor(tab, condition)
		}
	}
	open := func(hash string) func() error { return func() error { return tab.Open(address + hash) } }
	for i, step := range []func() error{
		func() error { return tab.Size(1280, 720) }, open(""), wait(ready),
		wait(`["findings", "time", "timeline", "regions", "kernels", "roofline", "utilisation", "doubts"].every((id) => document.querySelector("section#" + id + " h2")?.getBoundingClientRect().height > 0)`),
		wait(`document.documentElement.scrollWidth <= 1280`),
		// sort, search, and a kernel with its way back
		click(`#kernel-table button[data-sort=calls]`), wait(`document.querySelector("#kernel-table th[aria-sort=descending] button").dataset.sort === "calls"`),
		wait(`location.hash = document.querySelector("#kernel-table a.kernel-link").getAttribute("href")`), wait(`document.querySelector("#kernel-page h1")?.textContent && document.querySelectorAll("#kernel-page .bin").length > 2`),
		pressUntil("Escape", `!document.querySelector("#kernel-page")`),
		press("/"), wait(`document.activeElement.id === "kernel-search"`),
		// the timeline counts from its first event, zooms by keys, and its state is in the address
		wait(`document.querySelector("#timeline-canvas").focus() === undefined && document.querySelector("#timeline-canvas").height > 40`),
		press("0"), wait(`document.querySelector("#timeline-range").textContent.startsWith("0 to")`),
		press("w"), wait(`+document.querySelector("#timeline-range").dataset.from > 0 && location.hash.includes("t=")`),
		press("0"), press("ArrowDown"), press("ArrowDown"), wait(`document.querySelector("#timeline-selected") && /event=1\.\d/.test(location.hash)`),
		open("#timeline?event=1.1"), func() error { _, err := tab.Eval(`location.reload()`); return err },
		wait(ready + ` && document.querySelector("#timeline-selected")`),
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
	if png, err := tab.Screenshot(); err != nil || len(png) < 10_000 {
		t.Errorf("screenshot: %d bytes, %v", len(png), err)
	}
}
