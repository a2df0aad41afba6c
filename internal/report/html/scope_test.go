package html

import (
	"fmt"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/analysis"
)

// A page that is about a part of the timeline says so and begins there; the rest
// is a click away.
func TestScope(t *testing.T) {
	r := sample()
	split := sampleSplit(40_000_000, 13_000_000, 1_000_000)
	r.Scope = &analysis.Scope{
		Expressions: []string{"prefill"}, Regions: []string{"prefill"}, Name: says("prefill " + hostile),
		Text:    says("prefill " + hostile + ": 40.0 ms of a timeline of 520.0 ms; 100.0 ms of kernel time in 2,000 launches outside (such as loading and warm-up) are not counted below."),
		StartNS: 100_000_000, EndNS: 140_000_000, WallNS: 40_000_000, BusyNS: 30_000_000, KernelNS: 28_000_000, Launches: 454, KernelNames: 4,
		OutsideKernelNS: 100_000_000, OutsideLaunches: 2000, Split: &split,
	}
	p := open(t, r)
	if got := p.text("#scope"); !strings.HasSuffix(got, "are not counted below.") || !strings.Contains(got, "40.0 ms of a timeline") {
		t.Errorf("the scope is told as %q", got)
	}
	tiles := p.text("#totals")
	for _, want := range []string{"Wall time under nsys 40.0 ms of 520 ms recorded", "GPU busy 75.0 %", "Kernel launches 454 4 names; 2,000 outside"} {
		if !strings.Contains(tiles, want) {
			t.Errorf("%q is not in the totals: %s", want, tiles)
		}
	}
	if got := p.text("#opportunities"); !strings.Contains(got, "by seconds of prefill") || strings.Contains(got, "whole timeline") {
		t.Errorf("opportunities: %s", got)
	}
	shown := func(from, to float64) {
		t.Helper()
		p.wait(fmt.Sprintf(`(e => Math.abs(e.dataset.from - %f) < 2 && Math.abs(e.dataset.to - %f) < 2)(document.querySelector("#timeline-range"))`, from, to))
	}
	const margin = 0.02 * 40_000_000
	span := float64(r.Overview.EndNS - r.Overview.StartNS)
	if span < 141_000_000 {
		t.Fatalf("the sample is %g ns long: too short for this test", span)
	}
	shown(100_000_000-margin, 140_000_000+margin)
	p.click("#zoom-all")
	shown(0, span)
	p.click("#zoom-scope")
	shown(100_000_000-margin, 140_000_000+margin)
	if got := p.text("#timeline-range"); !strings.Contains(got, "99.2") || !strings.Contains(got, "41.6 ms") {
		t.Errorf("the range reads %q", got)
	}
}

func TestWithoutAScope(t *testing.T) {
	p := open(t, sample())
	if eval[int](p, `document.querySelectorAll("#scope, .scope-tag, #zoom-scope").length`) != 0 {
		t.Error("the page names a scope that there is not")
	}
	if got := p.text("#opportunities"); !strings.Contains(got, "whole timeline") {
		t.Errorf("opportunities: %s", got)
	}
}
