package analysis

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/deepprof/deepprof/internal/timeline"
)

// The leads of the toy by a separate program over its SQLite file: from the opening
// of a range, or the end of earlier work, to its first kernel.
func TestLeadOfRecordedRegions(t *testing.T) {
	r := analyzeFiles(t, toyTimeline)
	for path, want := range map[string]int64{"prefill/attention": 2304, "prefill/mlp": 5120, "prefill": 0, "decode": 0} {
		g := regionAt(t, r, path)
		var got int64
		if g.Lead != nil {
			got = g.Lead.NS
			var sum int64
			for _, p := range g.Lead.Idle {
				sum += p.NS
			}
			if sum != got {
				t.Errorf("%s: the causes add up to %d of %d ns", path, sum, got)
			}
		}
		if got != want {
			t.Errorf("%s: no kernel ran for %d ns before its work, want %d", path, got, want)
		}
	}
}

// steps are ranges of one launch each that close at once: the host prepares for
// wait, then a kernel runs for busy. Ahead puts all launches before the first kernel.
func steps(n int, wait, busy int64, ahead bool) *timeline.Timeline {
	var s scene
	at, kernel := int64(1000), int64(0)
	for i := range n {
		begin := at
		call := begin + wait
		if ahead {
			call = begin + 100
		}
		s.calls = append(s.calls, sceneCall{start: call, end: call + 50, name: "cudaLaunchKernel_v7000"})
		kernel = max(kernel, call+60)
		s.kernels = append(s.kernels, sceneKernel{start: kernel, end: kernel + busy, name: "gemm", call: i})
		kernel += busy
		s.ranges = append(s.ranges, [2]int64{begin, call + 55})
		at = call + 60
		if !ahead {
			at = kernel
		}
	}
	s.end = max(at, kernel) + 1000
	t := s.timeline()
	for i := range t.Ranges {
		t.Ranges[i].Name = t.Ranges[0].Name
	}
	return t
}

// Ranges with one launch each that close before it runs show their launch gaps, and
// none while the GPU still works off earlier launches.
func TestLaunchGapsOfOneLaunchAnInstance(t *testing.T) {
	finds := func(r *Result) bool {
		return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Fact.Is(codeWaitsBefore) })
	}
	for _, c := range []struct {
		wait, busy int64
		ahead      bool
		lead       int64
		finds      bool
	}{
		{5000, 1000, false, 20 * 5060, true},
		{500, 5000, false, 20 * 560, false},
		{5000, 1000, true, 160, false},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			r := take(t, steps(20, c.wait, c.busy, c.ahead), Thresholds{})
			g := regionAt(t, r, "r0")
			if *g.Synchronous || g.Lead == nil || g.Lead.NS != c.lead {
				t.Fatalf("lead is %+v, want %d ns", g.Lead, c.lead)
			}
			if g.Split.WallNS != g.ProjectedNS || g.Split.BusyNS != 20*c.busy {
				t.Errorf("the time of its work is %d ns with %d ns of kernels", g.Split.WallNS, g.Split.BusyNS)
			}
			if finds(r) != c.finds {
				t.Errorf("findings %+v", r.Findings)
			}
		})
	}
}

// TestIdleBeforeWork: since when no kernel had run before the first work of a range is the same by
// the work as by the painting.
func TestIdleBeforeWork(t *testing.T) {
	list, err := filepath.Glob("../nsys/testdata/exports/*.sqlite.gz")
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]*state{}
	for _, fixture := range append(list, llmTimeline) {
		s := analyzerWith(Input{Timelines: []string{unpacked(t, fixture)}})
		if err := s.readTimeline(t0()); err != nil {
			t.Fatal(err)
		}
		states[filepath.Base(fixture)] = s
	}
	for _, ahead := range []bool{false, true} { // synthetic: no capture at hand has work that waits for other work
		s := analyzerWith(Input{})
		if err := s.takeTimeline(t0(), steps(20, 300, 900, ahead)); err != nil {
			t.Fatal(err)
		}
		states[fmt.Sprint("steps, ahead ", ahead)] = s
	}
	idle, busy := 0, 0 // ranges before whose work no kernel ran, and before whose work one did
	for name, s := range states {
		tl := s.tl
		if tl == nil || !tl.single() {
			continue
		}
		p, ranges := tl.whole(), tl.tape.Ranges()
		for r, span := range tl.own.spans {
			opened, _ := ranges.Span(uint32(r))
			if span == (moment{}) || opened >= span.start {
				continue
			}
			want, got := p.idleSince(span.start, opened, tl.p.categories), max(opened, tl.own.idle[r])
			if got != want {
				t.Errorf("%s, range %d: idle since %d, by the painting since %d; it opened at %d and worked from %d", name, r, got, want, opened, span.start)
			}
			if want < span.start {
				idle++
			} else {
				busy++
			}
		}
	}
	if idle < 100 || busy < 10 {
		t.Errorf("%d ranges begin to work when no kernel runs, %d when one does", idle, busy)
	}
}
