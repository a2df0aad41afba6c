package html

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/deepprof/deepprof/internal/message"
)

var (
	askedWord   = regexp.MustCompile(`\b(?:say|draw)\(\s*(?:[^?\n)]*\? )?"([a-z][a-z0-9-]*)"(?: : "([a-z][a-z0-9-]*)")?`)
	wordFamily  = regexp.MustCompile("\\b(?:say|draw)\\(`([a-z-]+)\\$\\{")
	namedPlace  = regexp.MustCompile(`(?m)^  \["[a-z]+", "([a-z-]+)"\],$`)
	textOfJSX   = regexp.MustCompile(`>[^<>{}=;&|]*[A-Za-z]{3,}[^<>{}=;&|]*</`)
	textAttrib  = regexp.MustCompile(`\b(?:title|caption|lead|aria-label|placeholder|label|name|note|empty|what|axis)="([^"]+)"`)
	namesOfPage = []string{"deepprof", "plain", "theme", "timeline", "roof-level", "flame-by"}
)

// TestWordsOfPage: the page asks for words that deepprof has, and deepprof has none
// that the page does not ask for.
func TestWordsOfPage(t *testing.T) {
	texts := message.PageTexts()
	asked := map[string]bool{}
	for path, source := range pageSources(t) {
		for _, m := range append(askedWord.FindAllStringSubmatch(source, -1), namedPlace.FindAllStringSubmatch(source, -1)...) {
			for _, id := range m[1:] {
				if id == "" {
					continue
				}
				if asked[id] = true; texts[id] == "" {
					t.Errorf("%s: no words for %q", path, id)
				}
			}
		}
		for _, m := range wordFamily.FindAllStringSubmatch(source, -1) {
			found := false
			for id := range texts {
				if strings.HasPrefix(id, m[1]) {
					asked[id], found = true, true
				}
			}
			if !found {
				t.Errorf("%s: no words for %q", path, m[1]+"...")
			}
		}
	}
	for id := range texts {
		if !asked[id] {
			t.Errorf("the page does not ask for %q", id)
		}
	}
}

// pageSources are the programs of the page, by path.
func pageSources(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "..", "..", "web", "src", "*.ts*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no programs of the page: %v", err)
	}
	sources := map[string]string{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sources[filepath.Base(path)] = string(data)
	}
	return sources
}

// TestPageHasNoWords: texts between tags, and in attributes that are read, come from
// deepprof.
func TestPageHasNoWords(t *testing.T) {
	for path, source := range pageSources(t) {
		if !strings.HasSuffix(path, ".tsx") {
			continue
		}
		for _, text := range textOfJSX.FindAllString(source, -1) {
			if text = strings.TrimSpace(strings.Trim(text, "></")); text != "deepprof" {
				t.Errorf("%s has words of its own: %q", path, text)
			}
		}
		for _, m := range textAttrib.FindAllStringSubmatch(source, -1) {
			if !strings.Contains(strings.Join(namesOfPage, " "), m[1]) && !asksTable(m[0]) {
				t.Errorf("%s has words of its own: %s", path, m[0])
			}
		}
	}
}

// asksTable tells a property that names a table of the data.
func asksTable(attribute string) bool {
	return regexp.MustCompile(`^name="[a-z_-]+"$`).MatchString(attribute)
}

// TestPageOfCodes: a browser shows the same parts, with as many rows, where every
// word is its code.
func TestPageOfCodes(t *testing.T) {
	shown := func() string {
		p := open(t, sample())
		eval[chromedp.Void](p, `location.hash = "#/kernel/k-gemm"`)
		p.wait(`!!document.querySelector("#kernel-page")`)
		return eval[string](p, `JSON.stringify([...document.querySelectorAll("[id]")].map((e) => [e.id, e.querySelectorAll("tr").length]), null, 1)`)
	}
	want := shown()
	defer message.CodesOnly()()
	if got := shown(); got != want {
		t.Errorf("parts of the page depend on words:\n%s\nwith words:\n%s", got, want)
	}
}
