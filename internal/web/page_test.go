package web

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestPage opens the page in a browser: the list, every view of a run, its
// timeline, the report, and a run that is not there.
func TestPage(t *testing.T) {
	path, err := exec.LookPath(cmp.Or(os.Getenv("DEEPPROF_CHROMIUM"), "chromium"))
	if err != nil {
		t.Skipf("no Chromium to show the page in (scripts/packages installs it): %v", err)
	}
	s := serve(t, nil)
	id := recorded.run
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1280, 800))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	tab, closeTab := chromedp.NewContext(allocator)
	t.Cleanup(closeTab)
	var mu sync.Mutex
	var complaints []string
	messages := chromedp.Console(tab)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			mu.Lock()
			complaints = append(complaints, m.String())
			mu.Unlock()
		}
	}()
	open := func(url, ready string) {
		t.Helper()
		if err := chromedp.Do(tab, chromedp.Navigate(url)); err != nil {
			t.Fatal(err)
		}
		waitFor(t, tab, url, ready)
	}
	open(s.URL+"/", `document.querySelectorAll("#main table tbody tr").length > 0`)
	for _, view := range pageViews(t, tab) {
		hash := "#run/" + id + "/" + view
		open(s.URL+"/"+hash, fmt.Sprintf(`document.getElementById("main").dataset.ready === %q`, hash))
		if view == "timeline" {
			waitFor(t, tab, view, `document.querySelector("canvas").height > 40 && document.getElementById("tile").textContent.includes("kernel")`)
		}
	}
	open(s.URL+"/api/v1/runs/"+id+"/report", `document.documentElement.dataset.ready === "true" && document.querySelectorAll("#kernel-table tbody tr").length > 5`)
	mu.Lock()
	if len(complaints) > 0 {
		t.Errorf("the page complains: %q", complaints)
	}
	mu.Unlock()
	open(s.URL+"/#run/nosuch", `document.getElementById("status").className === "error"`)
}

// pageViews are the views that the page of a run links to.
func pageViews(t *testing.T, tab context.Context) []string {
	t.Helper()
	link := `document.querySelector("#main a[href^='#run/']")`
	waitFor(t, tab, "the list", link+` !== null`)
	if _, err := chromedp.Run(tab, chromedp.Evaluate[bool](`location.hash = `+link+`.getAttribute("href"), true`)); err != nil {
		t.Fatal(err)
	}
	waitFor(t, tab, "a run", `document.querySelectorAll("nav a[href^='#run/']").length > 10`)
	names, err := chromedp.Run(tab, chromedp.Evaluate[string](`[...document.querySelectorAll("nav a[href^='#run/']")].map(a => a.getAttribute("href").split("/").pop()).join(" ")`))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(names)
}

func waitFor(t *testing.T, tab context.Context, what, condition string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if ok, err := chromedp.Run(tab, chromedp.Evaluate[bool](`!!(`+condition+`)`)); err == nil && ok {
			return
		}
	}
	told, _ := chromedp.Run(tab, chromedp.Evaluate[string](`document.body.innerText.slice(0, 300)`))
	t.Fatalf("%s: did not become true: %s; the page says %q", what, condition, told)
}
