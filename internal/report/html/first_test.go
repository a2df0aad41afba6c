package html

import (
	"testing"

	"github.com/chromedp/chromedp"
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
	if dead := eval[[]string](p, `[...document.querySelectorAll("#actions a")].map(a => a.hash.slice(1).split("?")[0]).filter(id => !id.startsWith("/kernel/") && !document.getElementById(id))`); len(dead) > 0 {
		t.Errorf("links that lead nowhere: %v", dead)
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
