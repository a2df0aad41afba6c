package web

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/compare"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/report/folder"
	"github.com/deepprof/deepprof/internal/runs"
)

// A shown page is one that a test looks at. Every failure of the browser ends the
// test.
type shownPage struct {
	t     *testing.T
	tab   Tab
	heard int // messages on the console before the test
}

func (p *shownPage) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *shownPage) wait(condition string) { p.t.Helper(); p.must(waitFor(p.tab, condition)) }
func (p *shownPage) click(selector string) { p.t.Helper(); p.must(p.tab.Click(selector)) }

// open goes to a page, and waits until it shows what its hash asks for.
func (p *shownPage) open(s *httptest.Server, hash string) {
	p.t.Helper()
	p.must(p.tab.Open(s.URL + "/" + hash))
	p.wait(fmt.Sprintf(`document.getElementById("main").dataset.ready === %q`, hash))
}

// fill sets a field of a form.
func (p *shownPage) fill(selector, value string) {
	p.t.Helper()
	p.wait(fmt.Sprintf(`((e) => { e.value = %q; return true })(document.querySelector(%q))`, value, selector))
}

// complaints are what the console got since the test began.
func (p *shownPage) complaints() []string { return p.tab.Messages()[p.heard:] }

// inBrowsers runs a test in each browser that is installed.
func inBrowsers(t *testing.T, do func(*shownPage)) {
	for _, name := range browsers() {
		t.Run(name, func(t *testing.T) {
			tab, err := sharedTab(name)
			if errors.Is(err, exec.ErrNotFound) {
				t.Skipf("the browser is not installed (scripts/packages installs it): %v", err)
			}
			if err != nil {
				t.Fatal(err)
			}
			do(&shownPage{t, tab, len(tab.Messages())})
		})
	}
}

// TestPage opens the list, every view of a run, its timeline, the report, and a
// run that is not there, in both browsers. The page must log nothing.
func TestPage(t *testing.T) {
	s := serve(t, nil)
	inBrowsers(t, func(p *shownPage) {
		p.must(p.tab.Size(1280, 720))
		p.open(s, "#")
		p.wait(fmt.Sprintf(`document.querySelector("tbody a").textContent === %q`, recorded.run))
		if cells, err := valueOf[string](p.tab, `document.querySelector("tbody tr").innerText`); err != nil || !strings.Contains(cells, "NVIDIA H200") || strings.Contains(cells, "T0") {
			p.t.Errorf("row: %q %v", cells, err)
		}
		for _, v := range questions() {
			if v.Store {
				continue
			}
			p.open(s, "#run/"+recorded.run+"/"+v.Name)
		}
		p.open(s, "#run/"+recorded.run+"/timeline")
		p.wait(`document.querySelector("canvas").height > 40 && document.getElementById("tile").textContent.includes("kernel 34,485")`)
		p.wait(`document.querySelector("canvas").focus() === undefined`)
		p.must(p.tab.Press("w"))
		p.wait(`location.hash.includes("start_ns=") && !document.getElementById("tile").textContent.includes("kernel 34,485")`)
		p.must(p.tab.Press("0"))
		p.wait(`!location.hash.includes("start_ns=") && document.getElementById("tile").textContent.includes("kernel 34,485")`)
		p.must(p.tab.Open(s.URL + "/api/v1/runs/" + recorded.run + "/report"))
		p.wait(`document.documentElement.dataset.ready === "true" && document.querySelectorAll("#kernel-table tbody tr").length > 5`)
		if told := p.complaints(); len(told) > 0 {
			p.t.Errorf("the page complains: %q", told)
		}
		p.must(p.tab.Open(s.URL + "/#run/nosuch"))
		p.wait(`document.getElementById("status").className === "error"`)
	})
}

// TestPageChanges filters, sorts, compares with a baseline, writes a note, and
// deletes a run, in both browsers. A name of HTML stays text.
func TestPageChanges(t *testing.T) {
	inBrowsers(t, func(p *shownPage) {
		store := filepath.Join(p.t.TempDir(), "runs")
		const hostile = "<img src=x onerror=document.title='run'>"
		id := addRun(p.t, store, hostile+" \u202edesrever")
		other := addRun(p.t, store, "other")
		result, err := folder.Read(filepath.Join(recorded.store, recorded.run, runs.ResultName))
		p.must(err)
		_, err = compare.SetBaseline(store, "main", []compare.Run{{Name: "kept", Result: result}})
		p.must(err)
		s := serve(p.t, func(o *ServeOptions) { o.Store = store })

		p.open(s, "#")
		p.wait(`document.querySelectorAll("tbody tr").length === 2`)
		p.fill("#filter input[name=model]", "other")
		p.click("#filter button")
		p.wait(`location.hash.includes("model=other") && document.querySelectorAll("tbody tr").length === 1`)
		p.open(s, "#runs?sort=label")
		p.wait(fmt.Sprintf(`document.querySelector("tbody").innerText.includes(%q) && !document.body.textContent.includes("\u202e") && document.title === "deepprof"`, hostile))
		p.wait(`[...document.querySelectorAll("tbody bdi")].every((e) => getComputedStyle(e).unicodeBidi === "isolate")`)
		p.click(`th button[data-key=label]`)
		p.wait(`document.querySelector("th[aria-sort=descending] button").dataset.key === "label" && document.querySelector("tbody a").textContent === ` + fmt.Sprintf("%q", other))

		p.click(`input[aria-label="compare ` + id + `"]`)
		p.fill("#base", "main")
		p.wait(`document.getElementById("base").dispatchEvent(new Event("change"))`)
		p.click("#compare")
		p.wait(fmt.Sprintf(`document.getElementById("main").dataset.ready === "#compare/main/%s" && document.querySelectorAll("tbody tr").length > 20`, id))
		p.wait(`[...document.querySelectorAll("tbody td")].some((e) => e.innerText === "decode")`)

		p.open(s, "#run/"+id)
		p.fill("#tags input", "<b>x</b>, nightly")
		p.fill("#tags textarea", "before the change")
		p.click("#tags button")
		p.wait(`document.getElementById("status").textContent === "saved"`)
		if got := runs.ReadTags(filepath.Join(store, id)); len(got.Tags) != 2 || got.Comment != "before the change" {
			p.t.Errorf("tags: %+v", got)
		}
		p.click("#delete")
		p.click("#delete-sure")
		p.wait(`document.querySelectorAll("tbody tr").length === 1`)
		if _, err := runs.InStore(store, id); err == nil {
			p.t.Error("the run is still there")
		}
		if told := p.complaints(); len(told) > 0 {
			p.t.Errorf("the page complains: %q", told)
		}
	})
}

// addRun makes a run of the recorded captures, as an upload does.
func addRun(t *testing.T, store, label string) string {
	t.Helper()
	r, err := runs.Create(store, runs.CreateOptions{Label: label, Version: "test", Steps: []runs.Step{{Name: "report"}}})
	if err != nil {
		t.Fatal(err)
	}
	result, err := folder.Read(filepath.Join(recorded.store, recorded.run, runs.ResultName))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := folder.Write(r.Dir(), result); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.StartStep("report"), r.EndStep("report", runs.StateDone, fact.Fact{}), r.Finish(runs.StatusDone, fact.Fact{}), r.Close()); err != nil {
		t.Fatal(err)
	}
	return r.ID()
}
