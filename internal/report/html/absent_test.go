package html

import (
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
)

// countersOnly is what a report of ncu alone gives.
func countersOnly() *analysis.Result {
	r := sample()
	r.Source.Run, r.Workload = "", analysis.Workload{}
	r.Source.Files = []analysis.File{{Path: "reports/llm.ncu-rep", Kind: "counters"}}
	r.Totals, r.Stages, r.Regions, r.Operators, r.Overview = analysis.Totals{}, nil, nil, nil, analysis.Overview{}
	r.Missing = []analysis.Note{{Fact: fact.New(analysis.NoTimeline, fact.IDs("unknown", "quantity", []string{"times"}))}}
	for i := range r.Kernels {
		k := &r.Kernels[i]
		k.Untimed, k.Calls, k.TotalNS, k.MeanNS, k.MedianNS, k.MinNS, k.MaxNS, k.Share, k.Stages, k.Histogram = true, 0, 0, 0, 0, 0, 0, 0, nil, nil
		k.Counted = &analysis.Counted{Report: "llm.ncu-rep", Launch: i, DurationNS: 3520, Verified: true}
	}
	for i := range r.Roofline.Points {
		r.Roofline.Points[i].NS = 0
	}
	return r
}

func TestWithoutATimelineNothingIsZero(t *testing.T) {
	p := open(t, countersOnly())
	if got := p.text(".subject b"); got != "llm.ncu-rep" {
		t.Errorf("title %q", got)
	}
	// What only a timeline tells is said to be absent once, on the first screen.
	if got := eval[int](p, `document.querySelectorAll("#time, #timeline, #regions, .absent").length`); got != 0 {
		t.Errorf("%d sections say that they are empty", got)
	}
	if got := eval[int](p, `document.querySelectorAll("#note-no-timeline, #untold").length`); got != 2 {
		t.Errorf("%d notes say why, want one on the first screen and one among the warnings", got)
	}
	for _, selector := range []string{"#untold", "#totals", "#kernels", "#roofline"} {
		got := p.text(selector)
		for _, bad := range []string{"0 ns", "0.0 %", "1.00 ns", "no NVTX ranges", "0 names"} {
			if strings.Contains(strings.ReplaceAll(got, "\u00a0", " "), " "+bad) {
				t.Errorf("%s says %q: %s", selector, bad, got)
			}
		}
	}
	for selector, want := range map[string]string{
		"#untold":  "Next: capture one with nsys",
		"#kernels": "under ncu",
	} {
		if got := p.text(selector); !strings.Contains(strings.ReplaceAll(got, "\u00a0", " "), want) {
			t.Errorf("%s does not say %q: %s", selector, want, got)
		}
	}
	p.click(`#kernel-table a[href="#/kernel/k-evil"]`)
	p.wait(`!!document.querySelector("#kernel-page h1")`)
	if got := strings.ReplaceAll(p.text("#kernel-page .tiles"), "\u00a0", " "); !strings.Contains(got, "Under ncu3.52 µs") && !strings.Contains(got, "Under ncu 3.52 µs") {
		t.Errorf("tiles of a kernel: %s", got)
	}
}

func TestFailedRunSaysSo(t *testing.T) {
	r := &analysis.Result{Schema: analysis.Schema}
	r.Source.Run, r.Source.Status = "20261115T081227Z-5655-de397dc70337", "failed"
	r.Workload.Kind, r.Workload.Command = "command", []string{"sh", "-c", `echo "it's"; exit 3`}
	r.Missing = []analysis.Note{{Fact: fact.New(analysis.NoKernels)}}
	r.Warnings = []analysis.Note{{Fact: fact.FromText("no kernels were recorded"), Step: "nsys"}}
	p := open(t, r)
	if got := p.text(".head .unfinished"); !strings.Contains(got, "The run failed.") {
		t.Errorf("banner: %s", got)
	}
	if got := p.text("main"); strings.Contains(got, "Nothing stands out") || strings.Contains(got, "0\u00a0ns") {
		t.Errorf("a failed run reads as a quiet one: %s", got)
	}
	if got := p.text("#doubts"); strings.Count(got, "no kernels were recorded") != 1 {
		t.Errorf("warnings: %s", got)
	}
	const command = `sh -c 'echo "it'"'"'s"; exit 3'`
	if got := eval[string](p, `document.querySelector("#environment pre.command").textContent`); got != command {
		t.Errorf("command %s", got)
	}
	if got := eval[string](p, `document.title`); got != command+" - "+r.Source.Run+" - deepprof" {
		t.Errorf("title %s", got)
	}
}

// Shares are rounded as in the Markdown reports, so that both say the same.
func TestSharesAreRounded(t *testing.T) {
	r := sample()
	r.Stages = r.Stages[:1]
	r.Stages[0].Split = analysis.Split{WallNS: 10_000_000, BusyNS: 6_666_667, IdleNS: 3_333_333,
		Busy: []analysis.TimePart{{ID: "gemm", Label: "GEMM", NS: 4_444_445}, {ID: "norm", Label: "Norm", NS: 2_222_222}},
		Idle: []analysis.TimePart{{ID: "launch", NS: 1_111_111}, {ID: "python", NS: 1_111_111}, {ID: "sync", NS: 1_111_111}}}
	p := open(t, r)
	got := eval[string](p, `[...document.querySelectorAll("article.stage .legend b")].map((b) => b.textContent.replace("\u00a0", " ")).join(", ")`)
	if want := "44.4 %, 22.2 %, 11.1 %, 11.1 %, 11.1 %"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
