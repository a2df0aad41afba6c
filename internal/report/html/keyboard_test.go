package html

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Escape closes the page of a kernel, and the focus is where it was.
func TestEscapeClosesAKernel(t *testing.T) {
	p := open(t, sample())
	p.focus(`#kernel-table tr[data-row="1"]`)
	p.press(" ")
	p.wait(`document.querySelector("#kernel-page h1")?.textContent.startsWith("flash_fwd") && document.activeElement.tagName === "H1"`)
	p.press(kb.Escape)
	p.wait(`!document.querySelector("#kernel-page")`)
	p.wait(`document.activeElement.closest("#kernel-table tr")?.dataset.row === "1"`)

	p.focus(`#roofline-plot .point[tabindex="0"]`)
	p.press(kb.Enter)
	p.wait(`document.querySelector("#kernel-page h1")?.textContent.startsWith("nvjet") && document.activeElement.tagName === "H1"`)
	p.focus("#counter-search")
	p.press("occupancy")
	p.wait(`document.querySelectorAll("#counters details").length === 1`)
	p.press(kb.Escape) // empties the search first
	p.wait(`document.querySelector("#counter-search")?.value === ""`)
	p.press(kb.Escape)
	p.wait(`!document.querySelector("#kernel-page")`)
	p.wait(`document.activeElement.matches("#roofline-plot .point")`)
}

// From the page of a kernel the slash leads to the search of the table.
func TestSlashOnAKernelPage(t *testing.T) {
	p := open(t, large())
	eval[chromedp.Void](p, `location.hash = "#/kernel/k0"`)
	p.wait(`document.activeElement.matches("#kernel-page h1")`)
	p.press("/")
	p.wait(`!document.querySelector("#kernel-page") && document.activeElement.id === "kernel-search"`)
	p.wait(`((r) => r.top >= 0 && r.bottom < innerHeight / 2)(document.querySelector("#kernel-search").getBoundingClientRect())`)
}

// A report that is opened at a kernel leads from there to the table.
func TestBackFromALinkedKernel(t *testing.T) {
	p := open(t, large())
	p.do(chromedp.Navigate(p.url + "#/kernel/k0"))
	p.do(chromedp.Reload())
	p.wait(`document.documentElement.dataset.ready === "true" && document.activeElement.matches("#kernel-page h1")`)
	p.press(kb.Escape)
	p.wait(`!document.querySelector("#kernel-page") && (r => r.top >= 0 && r.top < innerHeight / 2)(document.querySelector("#kernels").getBoundingClientRect())`)
}

// A table of thousands of rows is one stop of the Tab key beside its headings.
func TestTabLeavesALongTable(t *testing.T) {
	p := open(t, large())
	headings := eval[int](p, `document.querySelectorAll("#kernel-table thead button").length`)
	p.focus("#kernel-table")
	for range headings + 1 {
		p.press(kb.Tab)
	}
	p.wait(`document.activeElement.dataset.row === "0"`)
	if !eval[bool](p, `(s => s.outlineStyle === "solid" && parseFloat(s.outlineWidth) >= 2)(getComputedStyle(document.activeElement))`) {
		t.Error("the focus on a row is not seen")
	}
	p.press(kb.Tab)
	p.wait(`!document.activeElement.closest("#kernel-table") && document.activeElement !== document.body`)
	p.press(kb.Tab, chromedp.ModifierShift)
	p.wait(`document.activeElement.dataset.row === "0"`)
}

// Names that are empty, endless, of several lines or written from right to left
// leave the page as it is.
func TestStrangeNames(t *testing.T) {
	r := sample()
	names := []string{"", strings.Repeat("x", 3000), strings.Repeat("many words ", 200), "\u202eturned מרחבא", "line\n\tline\nline", strings.Repeat("a::b<c>", 300)}
	for i, name := range names {
		k := mul(fmt.Sprintf("k-%d", i), "4", "float", int64(i))
		k.Name, k.Short = name, name
		r.Kernels = append(r.Kernels, k)
	}
	r.Stages[0].Name, r.Regions[0].Name, r.Regions[1].Name = names[1], names[1], ""
	r.Workload.Model.Name, r.Source.Run = names[2], names[3]
	r.Overview.Names[3], r.Overview.Lanes[0].Label, r.Overview.Lanes[0].Group = names[1], laneText(names[2]), laneText(names[1])
	r.Findings[0].Fact = says(names[1])
	p := open(t, r)
	for _, width := range []int64{1280, 400} {
		p.do(chromedp.EmulateViewport(width, 900))
		p.wait(fmt.Sprintf(`innerWidth === %d`, width))
		if got := eval[int64](p, `document.documentElement.scrollWidth`); got > width {
			t.Errorf("%d pixels wide on a screen of %d: %s", got, width, eval[string](p, fmt.Sprintf(`[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > %d + 1 && !e.closest(".scroll, .contents, .unseen, .flame")).slice(0, 5).map(e => e.tagName + "." + e.getAttribute("class")).join(" ")`, width)))
		}
		if got := eval[[]float64](p, `[...new Set([...document.querySelectorAll("#kernel-table tbody tr")].map(e => Math.round(e.getBoundingClientRect().height)))]`); len(got) != 1 {
			t.Errorf("rows of the kernels are %v pixels high", got)
		}
		if got := eval[float64](p, `document.querySelector(".head").getBoundingClientRect().height`); got > 900 {
			t.Errorf("the head is %g pixels high", got)
		}
	}
	if got := eval[string](p, `document.querySelector('#kernel-table a[href="#/kernel/k-0"]').textContent`); got != "unnamed" {
		t.Errorf("a kernel without a name is called %q", got)
	}
	if got := eval[[]string](p, `[...document.querySelectorAll("#kernel-table a, .head bdi")].map(e => getComputedStyle(e).unicodeBidi).filter(v => v !== "isolate")`); len(got) != 0 {
		t.Errorf("the direction of a name reaches beyond it: %q", got)
	}
}
