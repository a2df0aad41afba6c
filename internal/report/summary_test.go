package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/timeline"
)

func TestSummaryFitsTheScreen(t *testing.T) {
	long := strings.Repeat("a finding of many words that goes on and on ", 12)
	all := cases(t)
	wordy := sample()
	for i := range wordy.Findings {
		wordy.Findings[i].Fact = says(long)
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
				pinned(t, name, fmt.Sprintf("summary_%d.txt", width), b.Bytes())
			}
		}
	}
}

func TestSummarySays(t *testing.T) {
	var b bytes.Buffer
	if err := Summary(&b, doubtful(), SummaryOptions{Bold: true}); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"recorded run", "\x1b[1m1. \x1b[0mdecode is launch-bound", "launches", "pipeline/nsys=light", "warning: "} {
		if !strings.Contains(b.String(), s) {
			t.Errorf("%q is not in\n%s", s, b.String())
		}
	}
	if strings.Contains(b.String(), "longer under nsys") || strings.Count(b.String(), "pipeline/nsys=light") != 1 {
		t.Errorf("the overhead is told twice:\n%s", b.String())
	}
	both := doubtful()
	both.Stages[1].Overhead = at(0.5)
	both.Warnings = append(both.Warnings, analysis.Note{Stage: "decode", Fact: fact.New(analysis.OverheadHigh, fact.Stage("stage", "decode"), fact.Share("overhead", 0.5), fact.Because("advice", fact.New("use-clean-times")))})
	both.Derive()
	b.Reset()
	if err := Summary(&b, both, SummaryOptions{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "nsys slowed prefill 38.4 %, decode 50.0 %: use pipeline/nsys=light") {
		t.Errorf("a preset that helps one of the stages is not named:\n%s", b.String())
	}
	shown := []fact.Fact{doubtful().Warnings[0].Fact}
	for _, n := range doubtful().Missing {
		shown = append(shown, n.Fact)
	}
	b.Reset()
	if err := Summary(&b, doubtful(), SummaryOptions{Shown: shown}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "warning") || strings.Contains(b.String(), "not measured") {
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

// A narrow terminal keeps the names of kernels, names the columns that it drops and
// wraps what it says.
func TestSummaryIsNarrow(t *testing.T) {
	var b bytes.Buffer
	if err := Summary(&b, doubtful(), SummaryOptions{Width: 40, Height: 50}); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(b.String()), " ")
	for _, s := range []string{RecordedRun(), "of all % time (ms) kernel, by GPU time", "(too narrow for launches, limiter; see the report)"} {
		if !strings.Contains(text, s) {
			t.Errorf("%q is not in\n%s", s, b.String())
		}
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 40 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// What limits a kernel stays in a terminal of 80 columns; its statistics give way.
func TestKernelsKeepLimiters(t *testing.T) {
	r := sample()
	var rows timeline.Rows[timeline.KernelRow]
	for i := range r.Kernels {
		rows.Rows = append(rows.Rows, timeline.KernelRow{Name: r.Kernels[i].Name, ShortName: r.Kernels[i].Short, TotalNS: 6871827, Calls: 992, MeanNS: 6927, MedianNS: 6900, MinNS: 5000, MaxNS: 9000, StddevNS: 1000, TimePct: 23.4})
	}
	var b bytes.Buffer
	if err := Kernels(rows, r, 0).WriteText(&b, 80); err != nil {
		t.Fatal(err)
	}
	if head, _, _ := strings.Cut(b.String(), "\n"); !strings.Contains(head, "limiter") || strings.Contains(head, "mean") {
		t.Errorf("got\n%s", b.String())
	}
}

// What a terminal of 80 by 24 says of the first finding holds what it is worth, no
// finding is cut, and a note stands there with what to do or is counted.
func TestSummaryIsWhole(t *testing.T) {
	r := sample()
	r.Findings = []analysis.Finding{
		{ID: "a", Fact: says("decode is launch-bound: under nsys a kernel runs in 9.5 % of its 291.2 ms, and the GPU waits for the host in 89.4 %. CUDA graphs or fusion can gain at most 217.8 ms, 88.7 % of the 245.4 ms that it takes without the profiler. Counters of its kernels cannot help before the gaps are gone. By its own clock a pass takes 245 ms clean.")},
		{ID: "b", Fact: says("prefill is launch-bound too, and a sentence about it goes on for so long that two lines do not hold it, though three do. It ends.")},
		{ID: "c", Fact: says("A third one " + strings.Repeat("that has no end ", 30))},
	}
	r.Warnings = []analysis.Note{{Fact: fact.New(analysis.CleanSlower, fact.Stage("stage", "prefill"), fact.Share("less", 0.15), fact.NS("mean", 1e6), fact.NS("nsys", 8.5e5)), Stage: "prefill"}}
	r.Missing = nil
	for _, height := range []int{21, 24, 60} {
		var b bytes.Buffer
		if err := Summary(&b, r, SummaryOptions{Height: height, Report: "r.html"}); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(b.String()), " ")
		if Rows(b.String(), 80) >= height || !strings.Contains(text, "at most 217.8 ms, 88.7 % of the 245.4 ms that it takes without the profiler.") || strings.Contains(text, "third one") {
			t.Errorf("at %d:\n%s", height, b.String())
		}
		if strings.Contains(text, "slower than") != strings.Contains(text, "next: repeat on a quiet machine") || strings.Contains(text, "slower than") == strings.Contains(text, "1 warning") {
			t.Errorf("a warning is neither told whole nor counted at %d:\n%s", height, b.String())
		}
		if !strings.Contains(text, "more finding") {
			t.Errorf("findings that are left out are not counted at %d:\n%s", height, b.String())
		}
		if height == 60 && !strings.Contains(text, "next: repeat") {
			t.Errorf("no warning where there is room:\n%s", b.String())
		}
	}
}

// A value that was counted is titled so.
func TestSummaryTitlesCounted(t *testing.T) {
	value := 0.00088
	r := sample()
	counted := []analysis.Utilization{{Method: "counters", Value: &value}}
	model := []analysis.Utilization{{Method: "analytic", Value: &value}}
	for _, c := range []struct {
		stage analysis.Stage
		title string
	}{{analysis.Stage{Name: "decode", HFU: counted}, "HFU %"}, {analysis.Stage{Name: "decode", MFU: model}, "MFU %"}} {
		r.Stages = []analysis.Stage{c.stage}
		var b bytes.Buffer
		if err := Summary(&b, r, SummaryOptions{Width: 100}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), c.title) || strings.Contains(b.String(), "HFU %") != (c.title == "HFU %") || !strings.Contains(b.String(), "0.088") {
			t.Errorf("%s:\n%s", c.title, b.String())
		}
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

// A log has no last line: every finding and every note stands there.
func TestALogGetsEverything(t *testing.T) {
	r := sample()
	for i := range 5 {
		r.Findings = append(r.Findings, r.Findings[0])
		r.Warnings = append(r.Warnings, analysis.Note{Fact: fact.New(fact.Code(fmt.Sprintf("unknown-%d", i)))})
	}
	var b bytes.Buffer
	if err := Summary(&b, r, SummaryOptions{Log: true, Report: "r.html"}); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("\n%d. ", len(r.Findings)); !strings.Contains(b.String(), want) {
		t.Errorf("not every finding is there:\n%s", b.String())
	}
	if n := strings.Count(b.String(), "warning: "); n != len(r.Warnings) {
		t.Errorf("%d of %d warnings:\n%s", n, len(r.Warnings), b.String())
	}
	if strings.Contains(b.String(), "in the report: ") {
		t.Errorf("something is left to the report:\n%s", b.String())
	}
}
