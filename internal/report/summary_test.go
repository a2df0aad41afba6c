package report

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSummaryFitsTheScreen(t *testing.T) {
	long := strings.Repeat("a finding of many words that goes on and on ", 12)
	all := cases(t)
	wordy := sample()
	for i := range wordy.Findings {
		wordy.Findings[i].Text = long
	}
	all["wordy"] = wordy
	for name, r := range all {
		for _, width := range []int{60, 80, 120, 200} {
			var b bytes.Buffer
			if err := Summary(&b, r, SummaryOptions{Width: width, Report: "runs/x/report.md"}); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
			if len(lines) > 24 {
				t.Errorf("%s at %d: %d lines", name, width, len(lines))
			}
			for _, line := range lines {
				if n := utf8.RuneCountInString(line); n > width {
					t.Errorf("%s: %d columns of %d: %s", name, n, width, line)
				}
			}
			if lines[len(lines)-1] != "report: runs/x/report.md" {
				t.Errorf("%s: the last line is %q", name, lines[len(lines)-1])
			}
			if width == 80 || width == 120 && name == "llm" {
				golden(t, filepath.Join("testdata", "golden", name, fmt.Sprintf("summary_%d.txt", width)), b.Bytes())
			}
		}
	}
}

func TestSummarySays(t *testing.T) {
	var b bytes.Buffer
	if err := Summary(&b, doubtful(), SummaryOptions{Bold: true}); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"recorded run", "\x1b[1m1. \x1b[0mdecode is launch-bound", "launches", "pipeline/nsys=light", "1 warning"} {
		if !strings.Contains(b.String(), s) {
			t.Errorf("%q is not in\n%s", s, b.String())
		}
	}
	shown := []string{warnings(doubtful())[0].Text}
	for _, n := range doubtful().Missing {
		shown = append(shown, n.Text+"; and how to mend it")
	}
	b.Reset()
	if err := Summary(&b, doubtful(), SummaryOptions{Shown: shown}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "1 warning") || strings.Contains(b.String(), "not measured") {
		t.Errorf("what the screen has is said again:\n%s", b.String())
	}
	b.Reset()
	if err := Summary(&b, sample(), SummaryOptions{Height: 20, Report: "/" + strings.Repeat("long/", 40)}); err != nil {
		t.Fatal(err)
	}
	if n := Rows(b.String(), 80); n > 20 {
		t.Errorf("a long path makes it %d rows:\n%s", n, b.String())
	}
	b.Reset()
	if err := Summary(&b, sample(), SummaryOptions{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "\x1b") {
		t.Error("escape sequences for no terminal")
	}
}

func TestWrap(t *testing.T) {
	got := wrap("one two three four five six", 9, "  ", 2)
	if len(got) != 2 || got[0] != "one two" || got[1] != "  three …" {
		t.Errorf("got %q", got)
	}
	if got := wrap(strings.Repeat("x", 50), 10, "", 3); len(got) != 1 || utf8.RuneCountInString(got[0]) != 10 {
		t.Errorf("got %q", got)
	}
}
