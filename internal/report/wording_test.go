package report

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/timeline"
)

// The label of a compute pipe, or of two limits, says all: IDs stay out.
func TestLimiterHasNoIDs(t *testing.T) {
	for _, c := range []struct {
		l    analysis.Limiter
		want string
	}{
		{analysis.Limiter{Kind: "compute", Units: []string{"tensor_bf16"}, Level: at(0.93)}, "tensor pipe (bf16) (93 %)"},
		{analysis.Limiter{Kind: "mixed", Units: []string{"dram", "l2"}, Level: at(0.7)}, "DRAM bandwidth and L2 cache (70 %)"},
		{analysis.Limiter{Kind: "latency", Detail: "long_scoreboard", Level: at(0.4)}, "latency, waiting for data from L2 or DRAM (40 %)"},
		{analysis.Limiter{Kind: "small", Level: at(0.0019)}, "too little work (0.19 % of one wave)"},
		{analysis.Limiter{}, ""},
	} {
		if got := limiter(&c.l); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// Two times of one stage under nsys are explained where they differ, and only
// there.
func TestOwnClock(t *testing.T) {
	r := sample()
	if text := page(t, WriteReport, r); strings.Contains(text, "own clock") {
		t.Error("the same time is explained as two")
	}
	r.Stages[1].NsysMS = at(60)
	for name, text := range map[string]string{"report.md": page(t, WriteReport, r), "stakeholder_summary.md": page(t, WriteStakeholder, r)} {
		checkMarkdown(t, text)
		if !strings.Contains(text, "the session's own clock") || !strings.Contains(text, "80.0 ms") {
			t.Errorf("%s does not explain the two times", name)
		}
	}
}

func TestOverheadWithinTheNoise(t *testing.T) {
	r := sample()
	r.Stages[0].Overhead, r.Stages[0].OverheadWhy = nil, &fact.Fact{Code: analysis.NoiseFaster, Params: fact.New("", fact.NS("mean", 8.12e6)).Params}
	text := page(t, WriteReport, r)
	checkMarkdown(t, text)
	if !strings.Contains(text, "| within noise[^") || !strings.Contains(text, ": Within the noise: it took no longer") {
		t.Errorf("the noise is not told:\n%s", text)
	}
}

// A bound in clean time stands where there is one.
func TestGainIsOfTheCleanTime(t *testing.T) {
	r := sample()
	saved := int64(62_000_000)
	r.Stages[1].LaunchGain = &analysis.Bound{NS: saved, OfNS: 70_000_000, Times: "clean"}
	if text := page(t, WriteReport, r); !strings.Contains(text, "at most 62.0 ms of 70.0 ms "+message.Label("times", "clean")+" (88.6 %)") {
		t.Errorf("the bound is not of the clean time:\n%s", text)
	}
}

func TestCommandOfARecording(t *testing.T) {
	for _, c := range []struct {
		command  string
		recorded bool
		shown    bool
	}{
		{"deepprof demo --output x", true, false}, {"deepprof run session=llm", true, true}, {"./prog 3", true, true}, {"deepprof demo --output x", false, true},
	} {
		r := sample()
		r.Source.Recorded, r.Workload.Command = c.recorded, strings.Fields(c.command)
		if got := strings.Contains(page(t, WriteReport, r), "`"+c.command+"`"); got != c.shown {
			t.Errorf("%q, recorded %v: shown %v", c.command, c.recorded, got)
		}
	}
}

// The page for stakeholders lists what takes time, once.
func TestStakeholderOperators(t *testing.T) {
	r := sample()
	r.Operators = append(r.Operators, analysis.Operator{Name: "aten::bmm", Calls: 2, SelfDeviceUS: 9000, TotalDeviceUS: 9000})
	_, text, _ := strings.Cut(page(t, WriteStakeholder, r), "## Top Operators")
	text, _, _ = strings.Cut(text, "## Top Kernels")
	bmm, mm := strings.Index(text, "`aten::bmm`"), strings.Index(text, "`aten::mm`")
	if bmm < 0 || mm < bmm || strings.Contains(text, "aten::linear") || strings.Contains(text, "aten::view") {
		t.Errorf("got %s", text)
	}
	r.Operators = []analysis.Operator{{Name: "aten::linear", Calls: 1, TotalDeviceUS: 5}}
	if text := page(t, WriteStakeholder, r); !strings.Contains(text, "No operator has GPU time of its own") {
		t.Errorf("got %s", text)
	}
}

// Findings end with a sentence or a word, never within one.
func TestFindingsEndWithWords(t *testing.T) {
	const first = "decode is launch-bound: a kernel runs in 9.5 % of its 291.2 ms, and the GPU waits for the host in 89.4 %."
	sentences := []string{first, "CUDA graphs or fusion gain at most 217.8 ms."}
	text := strings.Join(sentences, " ")
	words := map[string]bool{"…": true}
	for _, w := range strings.Fields(strings.NewReplacer(",", " ", ".", " ", ":", " ").Replace(text)) {
		words[w] = true
	}
	for width := 24; width < 90; width++ {
		for most := 1; most < 6; most++ {
			lines := wrapSentences(sentences, width, most)
			if len(lines) > most {
				t.Fatalf("%d lines of %d: %q", len(lines), most, lines)
			}
			for _, line := range lines {
				if utf8.RuneCountInString(line) > width {
					t.Fatalf("%q is wider than %d", line, width)
				}
				for _, w := range strings.Fields(strings.NewReplacer(",", " ", ".", " ", ":", " ").Replace(line)) {
					if !words[w] {
						t.Fatalf("%q is no word of the finding: %q", w, lines)
					}
				}
			}
		}
	}
	if got := strings.Join(wrapSentences(sentences, 70, 2), " "); got != first {
		t.Errorf("got %q", got)
	}
	if got := strings.Join(wrapSentences(sentences, 70, 1), " "); got != "decode is launch-bound: a kernel runs in 9.5 % of its 291.2 ms, and …" {
		t.Errorf("got %q", got)
	}
}

func TestTimeLimiter(t *testing.T) {
	for _, c := range []struct {
		s    analysis.Split
		want string
	}{
		{analysis.Split{LaunchBound: true}, "launch-bound"},
		{analysis.Split{BusyNS: 62, IdleNS: 38}, "GPU work"},
		{analysis.Split{BusyNS: 10, IdleNS: 90, Idle: []analysis.TimePart{{ID: "copy", NS: 20}, {ID: "sync", NS: 70}}}, "wait: synchronization"},
	} {
		r := analysis.Result{Stages: []analysis.Stage{{Split: c.s}}}
		r.Stages[0].Split.WallNS = 100
		r.Derive()
		if got := timeLimiter(&r.Stages[0].Split); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// Kernels of a run say what limits them; those of a file have no such column.
func TestKernelsHaveTheLimitersOfTheResult(t *testing.T) {
	r := sample()
	small := r.Kernels[0]
	small.ID, small.Grid, small.Limiter = "k9", [3]int64{1, 1, 1}, analysis.Limiter{Kind: "launch"}
	small.TotalNS--
	r.Kernels = append(r.Kernels, small)
	rows := timeline.Rows[timeline.KernelRow]{Rows: []timeline.KernelRow{
		{Name: r.Kernels[0].Name, ShortName: "a", TotalNS: 9, Calls: 1},
		{Name: r.Kernels[0].Name, ShortName: "b", TotalNS: 8, Calls: 1, Grid: &[3]int32{1, 1, 1}, Block: &[3]int32{32, 1, 1}},
		{Name: r.Kernels[1].Name, ShortName: "c", TotalNS: 7, Calls: 1}, {Name: "unknown", ShortName: "d", TotalNS: 6, Calls: 1},
	}}
	r.Kernels[0].Limiter.Cause = &analysis.Cause{Fact: fact.New(analysis.CauseFewBlocks, fact.Share("wave", 0.48))}
	written := func() (csv, text string) {
		var c, w bytes.Buffer
		if err := errors.Join(Kernels(rows, r, 0).WriteCSV(&c), Kernels(rows, r, 0).WriteText(&w, 200)); err != nil {
			t.Fatal(err)
		}
		return c.String(), w.String()
	}
	csv, text := written()
	for _, want := range []string{",small,too-few-blocks,a,", ",launch,,b,", ",,,c,", ",,,d,"} {
		if !strings.Contains(csv, want) {
			t.Errorf("%q is not in\n%s", want, csv)
		}
	}
	if !strings.Contains(text, "mostly too little work (48 %)") {
		t.Errorf("in words:\n%s", text)
	}
	r.Kernels = append(r.Kernels, small) // twice as long as that of most time
	if _, text := written(); !strings.Contains(text, "partly too little work (48 %)") {
		t.Errorf("mostly is more than a half:\n%s", text)
	}
	var b bytes.Buffer
	*r.Kernels[0].Limiter.Level = 0.0014
	for _, width := range []int{80, 100, 120} {
		b.Reset()
		if err := Kernels(rows, r, 0).WriteText(&b, width); err != nil || !strings.Contains(b.String(), "partly too little work (0.14 %)") && !strings.Contains(b.String(), "partly too little work … ") {
			t.Errorf("%v: a number is cut at %d:\n%s", err, width, b.String())
		}
	}
	b.Reset()
	if err := Kernels(rows, nil, 0).WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "limiter") {
		t.Errorf("limiters without a result:\n%s", b.String())
	}
}

// The entry of a kernel says what its verdict rests on, what would tell more, and
// what limits launches of another duration.
func TestKernelEntry(t *testing.T) {
	r := sample()
	k := &r.Kernels[2]
	k.Counted = &analysis.Counted{Report: "ncu/run2/run.ncu-rep", Launch: 3, DurationNS: 2_912, TimelineNS: 1_568, Verified: true, Note: []fact.Fact{fact.New("counted-alike", fact.Count("calls", 1), fact.Count("of", 10), fact.Share("share", 0.039))}}
	k.Limiter = analysis.Limiter{Kind: "latency", Level: at(0.49), Why: facts("no unit is busy: warps wait"), Need: says("the section WarpStateStats of ncu, which has what they wait for")}
	k.OtherLimiters = []analysis.OtherLimiter{{Report: "ncu/run.ncu-rep", Launch: 1, TimelineNS: 18_720, Calls: 8, Share: 0.508, Limiter: analysis.Limiter{Kind: "l2", Units: []string{"l2"}, Level: at(0.65), Why: facts("L2 cache is in use at 65 % of its peak")}}}
	k.Point, k.NoPoint = nil, says("it executes no floating-point operations")
	got := page(t, WriteKernels, r)
	checkMarkdown(t, got)
	for _, want := range []string{
		"**Limiter: latency (49 %).** No unit is busy: warps wait. What would tell: the section WarpStateStats of ncu, which has what they wait for.",
		"- Launches of about 18.7 µs (8 launches, 50.8 % of its time): **L2 cache (65 %).** L2 cache is in use at 65 % of its peak. By launch 1 of `ncu/run.ncu-rep`.",
		"- Roofline: no point, because it executes no floating-point operations.",
		"launch 3 of `ncu/run2/run.ncu-rep`, 2.91 µs under ncu; such launches last 1.57 µs in the timeline. Launches that last about as long: 1 of 10, 3.9 % of the kernel's time.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in the page", want)
		}
	}
}

// A verdict about launches unlike those of a region says so there, and does not
// count for the region.
func TestVerdictOfOtherLaunches(t *testing.T) {
	r := sample()
	g := &r.Regions[0]
	g.Split.LaunchBound = false
	g.Top = []analysis.RegionKernel{{Kernel: 0, Calls: 32, NS: 132_800, BasisNS: 1_760}, {Kernel: 2, Calls: 1, NS: 100_000}}
	var b strings.Builder
	if err := regionPage(&b, r, 0); err != nil {
		t.Fatal(err)
	}
	checkMarkdown(t, b.String())
	for _, want := range []string{"too little work (48 % of one wave)[^", "The verdict is about launches of 1.76 µs; those of the region last 4.15 µs on average.", "Limiter: DRAM bandwidth ("} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}

// What is cut of words leaves whole ones, and no other number.
func TestWordsAreCutAtTheirEnd(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"work for 0.14 % of a wave", 25, "work for 0.14 % of a wave"},
		{"work for 0.14 % of a wave", 24, "work for 0.14 % of a …"},
		{"work for 0.14 % of a wave", 13, "work for …"},
		{"indivisible", 5, "in…le"},
	} {
		if got := Words.shorten(c.text, c.width); got != c.want {
			t.Errorf("%q in %d: got %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

// A region outside the named ones has a share where some of its calls lie within.
func TestShareOfARegionPartlyInScope(t *testing.T) {
	r := &analysis.Result{Scope: &analysis.Scope{Regions: []string{"decode"}, KernelNS: 100}}
	part, none := int64(30), int64(0)
	for _, c := range []struct {
		region analysis.Region
		ns     int64
		in     bool
	}{
		{analysis.Region{Path: "decode", KernelNS: 90}, 90, true},
		{analysis.Region{Path: "decode/step", KernelNS: 0}, 0, true},
		{analysis.Region{Path: "decoder", KernelNS: 50}, 0, false}, // of a result that does not hold it
		{analysis.Region{Path: "CCCL@scan", KernelNS: 50, ScopeNS: &part}, 30, true},
		{analysis.Region{Path: "load", KernelNS: 50, ScopeNS: &none}, 0, false},
	} {
		if ns, in := r.InScope(&c.region); ns != c.ns || in != c.in {
			t.Errorf("%s: %d ns, %v", c.region.Path, ns, in)
		}
	}
}

// A shipped category is a code in result.json; one of the user's own keeps its label.
func TestCategoriesHaveWords(t *testing.T) {
	shipped, err := analysis.LoadCategories()
	if err != nil || len(shipped.List) < 20 {
		t.Fatalf("%d categories, %v", len(shipped.List), err)
	}
	for _, c := range shipped.List {
		if c.Label != c.ID || categoryLabel(c.Label, c.ID) == c.ID {
			t.Errorf("category %s: label %q, in words %q", c.ID, c.Label, categoryLabel(c.Label, c.ID))
		}
	}
	if got := categoryLabel("Paged cache", "paged_cache"); got != "Paged cache" {
		t.Errorf("a label of the user's: %q", got)
	}
	for unit, want := range map[string]string{"percent-of-busiest-sm": "45.0 % of the busiest SM", "cycles-per-issue": "45.0 cycles per issue", "warp": "45.0 warp"} {
		if got := CounterText(45, unit); got != want {
			t.Errorf("45 %s: %q, want %q", unit, got, want)
		}
	}
}
