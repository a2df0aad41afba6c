package html

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func TestTheme(t *testing.T) {
	p := open(t, sample())
	ground := func() string { return eval[string](p, `getComputedStyle(document.body).backgroundColor`) }
	p.media("", "dark")
	p.wait(`document.documentElement.dataset.theme === "dark"`)
	dark := ground()
	p.do(chromedp.SetValue(chromedp.CSS("#theme"), "light"))
	eval[chromedp.Void](p, `document.querySelector("#theme").dispatchEvent(new Event("change", {bubbles: true}))`)
	p.wait(`document.documentElement.dataset.theme === "light"`)
	if light := ground(); light == dark {
		t.Errorf("light and dark are both %s", light)
	}
	p.do(chromedp.Reload())
	p.wait(`document.documentElement.dataset.ready === "true" && document.documentElement.dataset.theme === "light"`)
	eval[chromedp.Void](p, `localStorage.clear()`)
}

func TestMarkupStaysText(t *testing.T) {
	p := open(t, sample())
	check := func(where string) {
		t.Helper()
		if got := eval[string](p, `document.title`); got != "random-llama-1b - llama-sample - deepprof" {
			t.Errorf("%s: the title became %q", where, got)
		}
		if got := eval[int](p, `document.querySelectorAll("img, [onerror]").length`); got != 0 {
			t.Errorf("%s: %d elements came out of a name", where, got)
		}
	}
	check("overview")
	if got := eval[string](p, `document.querySelector('#kernel-table a[href="#/kernel/k-evil"]').textContent`); got != hostile {
		t.Errorf("in the table: %q", got)
	}
	p.click(`#kernel-table a[href="#/kernel/k-evil"]`)
	p.wait(`!!document.querySelector("#kernel-page h1")`)
	if got := eval[string](p, `document.querySelector("#kernel-page h1").textContent`); got != hostile {
		t.Errorf("on its page: %q", got)
	}
	check("kernel page")
}

// TestNoRequestLeaves tries what a page could try, and counts at the other end.
func TestNoRequestLeaves(t *testing.T) {
	var hits atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer server.Close()
	p := open(t, sample())
	p.expected = true
	eval[chromedp.Void](p, `window.refused = 0; addEventListener("securitypolicyviolation", () => window.refused++)`)
	eval[chromedp.Void](p, fmt.Sprintf(`(() => {
		const to = %q;
		fetch(to).catch(() => {});
		const add = (tag, set) => { const e = document.createElement(tag); set(e); document.head.append(e) };
		add("img", e => e.src = to);
		add("link", e => { e.rel = "stylesheet"; e.href = to });
		add("iframe", e => e.setAttribute("src", to));
		const beacon = new XMLHttpRequest();
		try { beacon.open("GET", to); beacon.send() } catch {}
	})()`, server.URL))
	p.wait(`window.refused >= 5`)
	if n := hits.Load(); n != 0 {
		t.Errorf("%d requests left the page", n)
	}
	refused := eval[string](p, `(() => { try { document.body.insertAdjacentHTML("beforeend", "<b>x</b>"); return "" } catch (e) { return e.name } })()`)
	if refused != "TypeError" {
		t.Errorf("text became markup: %q", refused)
	}
	p.mu.Lock()
	p.requests = p.requests[:1] // refused ones are announced, too
	p.mu.Unlock()
}

// TestLarge opens what 500,000 launches become, and checks that the page draws
// what is in view and not everything.
func TestLarge(t *testing.T) {
	p := open(t, large())
	if p.size > maxBytes {
		t.Errorf("%d bytes", p.size)
	}
	if got := eval[int](p, `document.querySelectorAll("#kernel-table tbody tr").length`); got > 60 {
		t.Errorf("%d rows are drawn", got)
	}
	if got := eval[int](p, `document.querySelectorAll("*").length`); got > 12_000 {
		t.Errorf("%d elements", got)
	}
	if got := p.text("#kernel-count"); !strings.HasPrefix(got, "6,000 kernels by grid and block") {
		t.Errorf("count: %s", got)
	}
	eval[chromedp.Void](p, `document.querySelector("#kernel-table").scrollTop = 1e9`)
	p.wait(`!!document.querySelector('#kernel-table tr[data-row="5999"]')`)
	p.click(`#kernel-table button[data-sort=short]`)
	p.wait(`document.querySelector("#kernel-table").scrollTop === 0 && ` + firstKernel + `.startsWith("kernel_0000")`)
	p.focus(`#kernel-table tr[data-row="0"]`)
	p.press(kb.End)
	p.wait(`document.activeElement.dataset.row === "5999"`)
	p.focus("#kernel-search")
	p.press("kernel_4321")
	p.wait(`document.querySelectorAll("#kernel-table tbody tr").length === 1`)
}

func TestPrint(t *testing.T) {
	p := open(t, large())
	p.media("", "dark")
	p.wait(`document.documentElement.dataset.theme === "dark"`)
	eval[chromedp.Void](p, `window.seen = {}; addEventListener("beforeprint", () => { window.seen = { theme: document.documentElement.dataset.theme, rows: document.querySelectorAll("#kernel-table tbody tr").length, closed: document.querySelectorAll("main details:not([open])").length, dots: (c => c.width / c.clientWidth)(document.querySelector("#timeline-canvas")), plain: document.querySelectorAll("#first #plain-findings li").length } })`)
	closed := eval[int](p, `document.querySelectorAll("main details:not([open])").length`)
	if closed == 0 {
		t.Fatal("the page has nothing to unfold")
	}
	pdf, err := chromedp.Run(p.ctx, chromedp.PrintToPDF(chromedp.PDFPrintBackground()))
	if err != nil {
		chromium.judge(err)
		t.Fatal(err)
	}
	if !bytes.HasPrefix(pdf, []byte("%PDF-")) || len(pdf) < 20_000 {
		t.Errorf("a PDF of %d bytes", len(pdf))
	}
	p.wait(`window.seen.theme === "light" && window.seen.rows === 50 && window.seen.closed === 0 && window.seen.dots > 2.9 && window.seen.plain === 3`)
	p.wait(fmt.Sprintf(`document.querySelectorAll("main details:not([open])").length === %d`, closed))
	p.wait(`document.documentElement.dataset.theme === "dark" && document.querySelectorAll("#kernel-table tbody tr").length < 50`)
	p.media("print", "light")
	const page = 269 // mm: A4 without its margins, which are 182 mm apart
	p.do(chromedp.EmulateViewport(688, 1016))
	if high := eval[float64](p, `document.querySelector("#first").getBoundingClientRect().height * 25.4 / 96`); high <= 0 || high > page || eval[string](p, `getComputedStyle(document.querySelector("#first")).breakAfter`) != "page" {
		t.Errorf("the first screen is no page by itself: %.0f of %d mm", high, page)
	}
	if eval[bool](p, `[...document.querySelectorAll(".toolbar, .bar, .contents")].some(e => e.getClientRects().length > 0)`) {
		t.Error("controls are printed")
	}
}

func TestNarrow(t *testing.T) {
	p := open(t, sample())
	for _, width := range []int64{360, 768} {
		p.do(chromedp.EmulateViewport(width, 740))
		for _, hash := range []string{"", "#/kernel/k-gemm", "#/kernel/k-evil"} {
			eval[chromedp.Void](p, fmt.Sprintf(`location.hash = %q`, hash))
			p.wait(fmt.Sprintf(`(%q.startsWith("#/kernel")) === !!document.querySelector("#kernel-page")`, hash))
			if got := eval[int64](p, `document.documentElement.scrollWidth`); got > width {
				t.Errorf("%q is %d pixels wide on a screen of %d: %s", hash, got, width, eval[string](p, fmt.Sprintf(`[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > %d + 1 && !e.closest(".scroll, .plot, .contents, .unseen, .flame")).slice(0, 5).map(e => e.tagName + "." + e.getAttribute("class")).join(" ")`, width)))
			}
		}
	}
}

// TestAccessibility looks at the page as a screen reader does.
func TestAccessibility(t *testing.T) {
	p := open(t, sample())
	for _, hash := range []string{"", "#/kernel/k-gemm"} {
		eval[chromedp.Void](p, fmt.Sprintf(`location.hash = %q`, hash))
		p.wait(fmt.Sprintf(`(%q !== "") === !!document.querySelector("#kernel-page")`, hash))
		tree, err := chromedp.Call(p.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]int{}
		for _, n := range tree.Nodes {
			if n.Ignored || n.Role == nil {
				continue
			}
			role := strings.Trim(string(n.Role.Value), `"`)
			seen[role]++
			switch role {
			case "button", "link", "searchbox", "combobox", "radio", "table", "treegrid", "region", "navigation", "application", "img", "image", "graphics-document":
				if n.Name == nil || strings.Trim(string(n.Name.Value), `" `) == "" {
					t.Errorf("%s: a %s without a name", p.url+hash, role)
				}
			}
		}
		for _, role := range []string{"banner", "main", "heading", "table", "link"} {
			if seen[role] == 0 {
				t.Errorf("%q: no %s", hash, role)
			}
		}
		if got := eval[int](p, `[...document.querySelectorAll("h1")].filter(e => e.getClientRects().length > 0).length`); got != 1 {
			t.Errorf("%q: %d headings of the first level", hash, got)
		}
		if got := eval[[]string](p, `[...document.querySelectorAll("h1, h2, h3, h4")].filter(e => e.getClientRects().length > 0).filter((e, i, all) => +e.tagName[1] > (i === 0 ? 1 : +all[i - 1].tagName[1] + 1)).map(e => e.textContent)`); len(got) != 0 {
			t.Errorf("%q: a level is skipped before the headings %q", hash, got)
		}
		if got := eval[string](p, `[...document.querySelectorAll("[id]")].map(e => e.id).filter((id, i, all) => all.indexOf(id) !== i).join(" ")`); got != "" {
			t.Errorf("%q: used twice as id: %s", hash, got)
		}
	}
}
