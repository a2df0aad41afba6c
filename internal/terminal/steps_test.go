package terminal

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/pipeline"
	"github.com/deepprof/deepprof/internal/runs"
)

// TestStageLines: what is printed of a stage fits the terminal, and says each
// warning once.
func TestStageLines(t *testing.T) {
	first := fact.FromText("the workload ended with exit code 7, which is not what a workload that did all of its work does")
	st := pipeline.StepResult{Name: "nsys", State: runs.StateDone, Seconds: 1.5, Outcome: capture.Outcome{
		Kind: capture.WithWarnings, What: fact.FromText("nsys ended with exit code 7 and left one good report"), Evidence: first, Usable: true,
		Warnings: []capture.Warning{{Fact: first}, {Fact: fact.FromText("second")}, {Fact: fact.FromText("third")}, {Fact: fact.FromText("fourth")}},
	}}
	var b strings.Builder
	p := stepPrinter{w: &b, names: 9, columns: 60, brief: true}
	shown := p.print(st)
	if len(shown) != 4 || !shown[0].Equal(first) { // told or counted
		t.Errorf("shown %v", shown)
	}
	if strings.Count(strings.Join(strings.Fields(b.String()), " "), "exit code 7, which") != 1 {
		t.Errorf("the first warning stands not once in\n%s", b.String())
	}
	if !strings.Contains(b.String(), "2 warnings more, in the report") {
		t.Errorf("nothing is said of the rest in\n%s", b.String())
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 60 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if n := strings.Count(b.String(), "\n"); n != 2+3+1+1 {
		t.Errorf("%d rows:\n%s", n, b.String())
	}
	b.Reset()
	p.tight = true
	good := pipeline.StepResult{Name: "baseline", State: runs.StateDone, Seconds: 2, Outcome: capture.Outcome{Kind: capture.Captured, Usable: true}}
	if shown := p.all([]pipeline.StepResult{good, st, good}); len(shown) != 4 || strings.Count(b.String(), "\n") != 4 || !strings.Contains(b.String(), "2 other steps done in 4.00 s\n") || !strings.Contains(b.String(), "warning: second\n") || !strings.Contains(b.String(), "3 warnings more, in the report") {
		t.Errorf("%v:\n%s", shown, b.String())
	}
	b.Reset()
	if p.all([]pipeline.StepResult{good, good}); b.String() != "2 steps done in 4.00 s\n" {
		t.Errorf("what went well is\n%s", b.String())
	}
	b.Reset()
	played := good
	played.Recorded, played.Seconds = true, 60
	if p.all([]pipeline.StepResult{played, played, good}); strings.Join(strings.Fields(b.String()), " ") != "2 steps played (2 min 0 s when recorded), 1 step done in 2.00 s" {
		t.Errorf("a recording: %s", b.String())
	}
	b.Reset()
	narrow := stepPrinter{w: &b, names: 9, columns: 60, brief: true, tight: true}
	if narrow.all([]pipeline.StepResult{st, played, played, good}); slices.ContainsFunc(strings.Split(b.String(), "\n"), func(line string) bool { return utf8.RuneCountInString(line) > 60 }) {
		t.Errorf("wider than 60:\n%s", b.String())
	}
	b.Reset()
	next := st
	next.Outcome.Warnings = []capture.Warning{
		{Fact: fact.Stored{Fact: fact.FromText("short")}.WithNext(strings.Repeat("do this and that ", 12))},
		{Fact: fact.Stored{Fact: fact.FromText("brief")}.WithNext("fix it")},
	}
	p.tight = false
	if p.print(next); strings.Contains(b.String(), "short") || !strings.Contains(b.String(), "warning: brief; next: fix it\n") || !strings.Contains(b.String(), "1 warning more, in the report") {
		t.Errorf("a warning without its next step:\n%s", b.String())
	}
	b.Reset()
	p = stepPrinter{w: &b, names: 9} // no terminal: nothing is wrapped or left out
	if shown := p.print(st); len(shown) != 4 || strings.Count(b.String(), "\n") != 5 {
		t.Errorf("%v:\n%s", shown, b.String())
	}
}
