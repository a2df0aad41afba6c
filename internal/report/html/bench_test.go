package html

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

func BenchmarkWrite(b *testing.B) {
	r := large()
	for b.Loop() {
		if err := Write(io.Discard, r); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpen is the time from asking Chromium for the file of a result of
// 500,000 launches to a page that is drawn and can be used.
func BenchmarkOpen(b *testing.B) {
	ctx, err := chromium.get()
	if err != nil {
		b.Skipf("no Chromium to show the page in (set DEEPPROF_CHROMIUM or install chromium): %v", err)
	}
	path := filepath.Join(b.TempDir(), "report.html")
	file, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	if err := Write(file, large()); err != nil {
		b.Fatal(err)
	}
	if err := file.Close(); err != nil {
		b.Fatal(err)
	}
	tab, stop := chromedp.NewContext(ctx)
	defer stop()
	if err := chromedp.Do(tab, chromedp.EmulateViewport(1400, 1000)); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := chromedp.Do(tab, chromedp.Navigate("file://"+path)); err != nil {
			b.Fatal(err)
		}
		for ready := false; !ready; time.Sleep(2 * time.Millisecond) {
			if ready, err = chromedp.Run(tab, chromedp.Evaluate[bool](`document.documentElement.dataset.ready === "true" && document.querySelectorAll("#kernel-table tr").length > 10`)); err != nil {
				b.Fatal(err)
			}
		}
	}
}
