package html

import (
	"fmt"
	"net/url"
	"os"
	"regexp"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/deepprof/deepprof/internal/message"
)

// TestPageWithoutResultSaysSo empties the data of a page: its note then has the words
// that deepprof wrote beside it.
func TestPageWithoutResultSaysSo(t *testing.T) {
	p := open(t, sample())
	at, err := url.Parse(p.url)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(at.Path)
	if err != nil {
		t.Fatal(err)
	}
	empty := regexp.MustCompile(`(<script [^>]*id="data"[^>]*>)[^<]*`).ReplaceAll(whole, []byte("$1"))
	if len(empty) == len(whole) {
		t.Fatal("the page carries no data")
	}
	if err := os.WriteFile(at.Path, empty, 0o600); err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.Navigate(p.url))
	want := message.Phrase("report-cannot-be-shown", message.Phrase("file-carries-no-result"))
	p.wait(fmt.Sprintf(`document.getElementById("static-note")?.textContent === %q`, want))
}
