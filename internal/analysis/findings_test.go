package analysis

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/timeline"
)

// The savings of the findings are those of the opportunities.
func TestSavingOfTheFindings(t *testing.T) {
	r := analyzeFiles(t, llmTimeline, llmCounters)
	first := r.Opportunities[0]
	f := findingNamed(r, "first-saving")
	if first.Kind != "host" || f == nil || !f.Params["change"].Facts[0].Equal(first.Title) || f.Number("gain") != first.Seconds*1e9 || f.Number("of") != float64(first.OfNS) {
		t.Errorf("%+v of %+v", f, first)
	}
	next := findingNamed(r, "next-saving")
	if next == nil || !next.Params["change"].Facts[0].Is(codeFuseChains) || next.Number("estimate") >= next.Number("gain") {
		t.Errorf("%+v", next)
	}
	for _, o := range r.Opportunities {
		if o.Title.Is(codeLoadBefore, codeLoadLess) != (o.Kind == "calls") || o.Title.Is(codeAllocBefore, codeAllocLess) != (o.Kind == "alloc") {
			t.Errorf("%+v is of kind %s", o.Title, o.Kind)
		}
	}
	if f := findingNamed(r, "outside-stages"); f == nil || f.Text("region") != "attn" || f.Text("region_bound") == "" || !slices.Equal(f.Params["stages"].List, []string{"prefill", "decode"}) {
		t.Errorf("%+v", f)
	}
	f = findingNamed(r, "largest")
	if k := f.Params["more"].Facts[0]; f.Code != codeLargestPart || k.Number("grids") != 2 || k.Text("grid") != "4x22x1" || k.Text("grid_limiter") != "limiter:not_counted" {
		t.Errorf("%+v", f)
	}
}

func TestGraphsAreNoKernelTime(t *testing.T) {
	s := scene{calls: []sceneCall{{0, 10, "cudaLaunchKernel", 0}, {20, 30, "cudaGraphLaunch", 0}}, kernels: []sceneKernel{{10, 110, "gemm", 0, 0}}, end: 2000}
	tl := s.timeline()
	tl.Graphs = []timeline.GraphLaunch{{Start: 200, End: 1200, Correlation: 2}}
	r := take(t, tl, Thresholds{})
	if f := findingNamed(r, "largest"); f == nil || f.Text("base") != "base:gpu_time_outside_graphs" {
		t.Errorf("%+v", f)
	}
	if f := findingNamed(r, "graphs-whole"); f == nil || f.Number("n") != 1 || f.Number("ns") != 1000 {
		t.Errorf("%+v", f)
	}
}

func TestNoKernelIsAFinding(t *testing.T) {
	r := take(t, scene{ranges: [][2]int64{{0, 1000}}, end: 1000}.timeline(), Thresholds{})
	if len(r.Findings) != 1 || r.Findings[0].ID != "no-kernels" {
		t.Errorf("%+v", r.Findings)
	}
}

func TestNotesAreMerged(t *testing.T) {
	a := analyzerWith(Input{})
	a.notes.warn(ClockDamaged)
	a.notes.warn(LanesCut, fact.Count("n", 1))
	a.notes.warn(ClockDamaged)
	a.notes.warn(LanesCut, fact.Count("n", 2))
	a.notes.ofCapture("nsys", runs.Note{Fact: fact.FromText("of two steps")})
	a.notes.ofCapture("ncu", runs.Note{Fact: fact.FromText("of two steps")})
	a.notes.add(Note{Fact: capture.MessageOf("of two steps")})
	if n, _ := a.notes.merged(nil); len(n) != 5 || !n[0].Is(ClockDamaged) || !n[1].Is(LanesCut) || !n[2].Is(LanesCut) || n[3].Step != "nsys" || n[4].Step != "ncu" {
		t.Errorf("%+v", n)
	}
}

// What a capture warned of and its file says again is one warning, which says so
// where it is about one process of several.
func TestWarningsOfOneProcess(t *testing.T) {
	const text = "No CUDA events collected. Does the process use CUDA?"
	busy := scene{end: 10, kernels: []sceneKernel{{1, 2, "k", -1, 0}}}.timeline()
	for _, c := range []struct {
		tl     *timeline.Timeline
		stored fact.Fact
		want   fact.Code
	}{
		{scene{end: 10}.timeline(), capture.MessageOf(text), capture.NoEvents},
		{busy, capture.MessageOf(text), oneProcessNoCUDA},
		{busy, fact.FromText(text), oneProcessNoCUDA}, // of an earlier version
	} {
		a := newState(&analyzer{res: newResult(Input{})}, &timed{t: c.tl}, counters{})
		a.notes.ofCapture("nsys", runs.Note{Fact: c.stored})
		a.notes.add(Note{Fact: capture.MessageOf(text)})
		at := c.tl.Attribute()
		if n, _ := a.notes.merged(at.Tape(at, nil)); len(n) != 1 || !n[0].Is(c.want) || n[0].Step != "nsys" || n[0].Text("text_of_vendor") != text {
			t.Errorf("%+v, want %s", n, c.want)
		}
	}
}

// nsys writes zeros where there is no driver.
func TestNoDriver(t *testing.T) {
	tl := scene{end: 10}.timeline()
	tl.System = []timeline.Property{{Name: "NvDriverVersion", Value: "0"}, {Name: "CudaDriverVersion", Value: "0"}, {Name: "OsDescription", Value: "Linux 0"}}
	if env := take(t, tl, Thresholds{}).Environment; env.Driver != "" || env.CUDA != "" || env.OS != "Linux 0" {
		t.Errorf("%+v", env)
	}
}

func TestWorthwhile(t *testing.T) {
	gain := func(x float64) *float64 { return &x }
	list := []Opportunity{
		{ID: "tiny", Seconds: 0.00001, StageGain: gain(0.01)}, {ID: "stage", Seconds: 0.00002, StageGain: gain(0.5)},
		{ID: "a", Seconds: 0.5}, {ID: "b", Seconds: 0.0002}, {ID: "c", Seconds: 0.0001}, {ID: "d", Seconds: 0.00009},
	}
	var ids []string
	for _, o := range worthwhile(list, worthOfRun*1) {
		ids = append(ids, o.ID)
	}
	if got := strings.Join(ids, " "); got != "a b c stage" {
		t.Errorf("kept %s", got)
	}
}

// A limit of less than half of the time is not called the main one.
func TestMainLimiter(t *testing.T) {
	for _, c := range []struct {
		l2, dram int64
		want     fact.Code
	}{{60, 40, codeLimitedMostly}, {28, 27, codeLimitedOften}} {
		a := analyzerWith(Input{})
		a.res.Totals.KernelNS = 100
		a.res.Kernels = []Kernel{{TotalNS: c.l2, Limiter: Limiter{Kind: limitL2}}, {TotalNS: c.dram, Limiter: Limiter{Kind: limitDRAM}}, {TotalNS: 100 - c.l2 - c.dram, Limiter: Limiter{Kind: limitMixed}}}
		if c.l2+c.dram < 100 {
			a.res.Kernels = append(a.res.Kernels, Kernel{TotalNS: 20, Limiter: Limiter{Kind: limitSmall}})
			a.res.Kernels[2].TotalNS -= 20
		}
		a.told((*conclusion).findLimits)
		if f := findingNamed(a.res, "limiter"); f == nil || f.Code != c.want || f.Text("kind") != "limits:l2" || f.Number("share") != float64(c.l2)/100 || f.Number("covered") != 1 {
			t.Errorf("%+v, want %s", f, c.want)
		}
	}
}

// launch adds n launches, one every so many nanoseconds, of a kernel that runs for
// some of them.
func (s *scene) launch(from, every, runs int64, n int) {
	for i := range int64(n) {
		at := from + i*every
		s.calls = append(s.calls, sceneCall{at, at + 10, "cudaLaunchKernel", 0})
		s.kernels = append(s.kernels, sceneKernel{at + 10, at + 10 + runs, "gemm", len(s.calls) - 1, 0})
	}
}

// The largest stage comes first; a launch-bound one that is a small part of all
// does not go before it.
func TestOrderOfStages(t *testing.T) {
	var s scene
	s.launch(0, 100, 10, 10)      // r0: launch-bound, 1,000 ns
	s.launch(1_000, 100, 85, 500) // r1: busy, 50,000 ns
	s.ranges, s.end = [][2]int64{{0, 1_000}, {1_000, 51_000}}, 51_000
	r := take(t, s.timeline(), Thresholds{})
	if f := r.Findings; len(f) < 2 || f[0].ID != "main-r1" || f[1].ID != "launch-bound-r0" || f[1].Weight != weightMedium || f[0].Code != codeStageIdle || f[0].Number("busy") != 42_500 || f[0].Number("busy_share") != 0.85 {
		t.Errorf("%+v", f)
	}
}

// A stage that takes most of the time comes before a launch-bound one that loses
// much of the rest, and what helps little is said of that one alone.
func TestMainStageComesFirst(t *testing.T) {
	var s scene
	s.launch(0, 100, 10, 100)        // r0: launch-bound, 10 \u00b5s
	s.launch(10_000, 1_000, 985, 30) // r1: busy, 30 \u00b5s
	s.ranges, s.end = [][2]int64{{0, 10_000}, {10_000, 40_000}}, 40_000
	f := take(t, s.timeline(), Thresholds{}).Findings
	if len(f) < 2 || f[0].ID != "main-r1" || f[0].Weight != weightHigh || f[1].ID != "launch-bound-r0" || f[1].Weight != weightHigh || f[1].Code != codeLaunchBound {
		t.Errorf("%+v", f)
	}
}

// A program without ranges that leaves the GPU idle is told so first, and not
// under the name of a stage.
func TestIdleProgram(t *testing.T) {
	s := scene{end: 1_000_000}
	for i := range int64(10) {
		at := 60_000 + i*100
		s.calls = append(s.calls, sceneCall{at, at + 10, "cudaLaunchKernel", 0})
		s.kernels = append(s.kernels, sceneKernel{at + 10, at + 30, "gemm", int(i), 0})
	}
	s.calls = append(s.calls, sceneCall{0, 50_000, "cuLibraryLoadData", 0})
	r := take(t, s.timeline(), Thresholds{})
	if f := r.Findings[0]; f.ID != "main-all" || f.Weight != weightHigh || f.Code != codeStageIdle || f.Text("stage") != "" || f.Number("busy") != 200 || f.Text("cause") != "idle:none" {
		t.Errorf("%+v", f)
	}
	if s := r.Stages[0]; s.NsysMS == nil || *s.NsysMS != 1 {
		t.Errorf("%+v", s)
	}
	for _, o := range r.Opportunities {
		if o.Title.Text("stage") != "" || o.Title.Is(codeLoadBefore, codeAllocBefore, codeHostOut) {
			t.Errorf("%+v", o.Title)
		}
	}
}

// Tables give one pass; a finding says of how many its time is.
func TestFindingsNameThePasses(t *testing.T) {
	r := analyzeFiles(t, toyTimeline, toyCounters)
	if f := findingNamed(r, "main-prefill"); f == nil || f.Number("passes") != 2 {
		t.Errorf("%+v", f)
	}
}

// MFU is explained where the GPU did not reach the clock of the peak.
func TestClockOfTheRun(t *testing.T) {
	for _, c := range []struct {
		name            string
		hz, counted, in float64
		want            bool
	}{
		{"slower than the peak", 1.61e9, 1000, 1010, true},
		{"at the peak", 1.95e9, 1000, 1010, false},
		{"another speed in the timeline", 1.61e9, 1000, 800, false},
	} {
		a := analyzerWith(Input{})
		peak := Peak{ID: "tensor_bf16", Unit: "flop/s", Value: 1000, ClockHz: 1.98e9}
		a.res.Environment.GPUs = []GPU{{Peaks: []Peak{peak}}}
		a.res.Stages = []Stage{{Name: "gemm", Split: Split{WallNS: 10_000, BusyNS: 9_000}, HFU: []Utilization{{Method: methodCounters, Value: ptr(0.75), Achieved: 750, Peak: peak}}}}
		a.res.Kernels = []Kernel{{MedianNS: c.in, Stages: []StageTime{{Stage: "gemm", Calls: 9, NS: 8_900}}, Counted: &Counted{ClockHz: c.hz, DurationNS: c.counted}}}
		a.told((*conclusion).findUtilization)
		more := a.res.Findings[0].Params["more"].Facts
		if hasFact(more, codeClockReached) != c.want || c.want && (math.Abs(more[0].Number("value")-0.9224) > 1e-3 || more[0].Text("measure") != "measure:HFU") {
			t.Errorf("%s: %+v", c.name, a.res.Findings)
		}
	}
}

// Sets of memory are no copies.
func TestSetsAreNoCopies(t *testing.T) {
	tl := scene{end: 100, copies: []sceneKernel{{0, 10, "", -1, 0}}}.timeline()
	tl.Sets = []timeline.Set{{Start: 20, End: 50, Bytes: 7}}
	if tot := take(t, tl, Thresholds{}).Totals; tot.Copies != 1 || tot.CopyNS != 10 || tot.Sets != 1 || tot.SetNS != 30 || tot.SetBytes != 7 || parts(tot.Split)["copy"] != 40 {
		t.Errorf("%+v", tot)
	}
}

// Counters that a machine lacks and nothing uses are no warning.
func TestCaptureWarnings(t *testing.T) {
	const head = "==WARNING== Unable to access the following "
	for _, c := range []struct{ text, want string }{
		{head + "3 metrics: ctc__rx_bytes_data_user.sum, ctc__rx_bytes_data_user.sum.per_second, ctc__tx_bytes_data_user.sum.pe...", "ctc__rx_bytes_data_user, ctc__tx_bytes_data_user"},
		{head + "2 metrics: ctc__rx_bytes_data_user.sum, dram__bytes_read.sum", ""},
		{head + "9 metrics: ctc__rx_bytes_data_user.sum, ctc__tx_bytes...", ""},
		{"the clock was not locked", ""},
	} {
		a := analyzerWith(Input{})
		a.notes.ofCapture("ncu", runs.Note{Fact: fact.FromText(c.text), Scope: "ctc"})
		switch {
		case c.want == "" && (len(a.notes.missing) > 0 || len(a.notes.warnings) != 1 || a.notes.warnings[0].Step != "ncu" || a.notes.warnings[0].Scope != "ctc"):
			t.Errorf("%s is no warning", c.text)
		case c.want != "" && (len(a.notes.warnings) > 0 || len(a.notes.missing) != 1 || strings.Join(a.notes.missing[0].Params["units"].List, ", ") != c.want):
			t.Errorf("%s: %+v, %+v", c.text, a.notes.warnings, a.notes.missing)
		}
	}
}
