package analysis

import (
	"slices"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/timeline"
)

// Both wordings of the first saving are of the first opportunity.
func TestSavingOfTheFindings(t *testing.T) {
	r := analyzeFiles(t, llmTimeline, llmCounters)
	first := r.Opportunities[0]
	f := findingNamed(r, "first-saving")
	title := strings.ToLower(first.Title[:1]) + first.Title[1:]
	if first.Kind != "host" || f == nil || !strings.Contains(f.Text, title+", at most 435.8 ms of the 4.07 s") || !strings.Contains(f.Plain, title+" (up to 435.8 ms, 10.7 % of the time observed)") {
		t.Errorf("%+v of %+v", f, first)
	}
	next := findingNamed(r, "next-saving")
	if next == nil || !strings.Contains(next.Text, "load before decode the code that it uses, at most 13.7 ms") || !strings.Contains(next.Plain, "load before decode") {
		t.Errorf("%+v", next)
	}
	for _, o := range r.Opportunities {
		if (strings.HasPrefix(o.Title, "Load") || strings.Contains(o.Title, "fewer CUDA calls")) != (o.Kind == "calls") || strings.HasPrefix(o.Title, "Allocate") != (o.Kind == "alloc") {
			t.Errorf("%s is of kind %s", o.Title, o.Kind)
		}
	}
	if f := findingNamed(r, "outside-stages"); f == nil || !strings.Contains(f.Text, "87.0 % of the timeline (3.54 s of 4.07 s) lies outside the stages (prefill, decode)") || !strings.Contains(f.Text, "attn with 1.90 s, launch-bound") {
		t.Errorf("%+v", f)
	}
	if f := findingNamed(r, "largest"); !strings.Contains(f.Text, "with 16 % in 2 grids and blocks; what limits its largest grid (4x22x1, 9 %) was not counted") || !strings.HasPrefix(f.Plain, "The largest part of the GPU's working time, 46 %") {
		t.Errorf("%+v", f)
	}
}

func TestGraphsAreNoKernelTime(t *testing.T) {
	s := scene{calls: []sceneCall{{0, 10, "cudaLaunchKernel", 0}, {20, 30, "cudaGraphLaunch", 0}}, kernels: []sceneKernel{{10, 110, "gemm", 0, 0}}, end: 2000}
	tl := s.timeline()
	tl.Graphs = []timeline.GraphLaunch{{Start: 200, End: 1200, Correlation: 2}}
	r := take(t, tl, Thresholds{})
	if f := findingNamed(r, "largest"); f == nil || !strings.Contains(f.Text, "of kernel time outside CUDA graphs") || !strings.Contains(f.Plain, "outside CUDA graphs") {
		t.Errorf("%+v", f)
	}
	if f := findingNamed(r, "graphs-whole"); f == nil || !strings.Contains(f.Text, "1 launch of CUDA graphs ran for 1.0 \u00b5s") {
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
	a := &analyzer{res: newResult(Input{})}
	a.warn(ClockDamaged)
	a.warn(LanesCut, fact.Count("n", 1))
	a.warn(ClockDamaged)
	a.warn(LanesCut, fact.Count("n", 2))
	a.captureWarning("nsys", "of two steps")
	a.captureWarning("ncu", "of two steps")
	a.warn(timeline.CodeProfilerSays, fact.Vendor("text", "of two steps"))
	if err := a.mergeNotes(t0()); err != nil {
		t.Fatal(err)
	}
	if n := a.res.Warnings; len(n) != 5 || !n[0].Is(ClockDamaged) || !n[1].Is(LanesCut) || !n[2].Is(LanesCut) || n[3].Step != "nsys" || n[4].Step != "ncu" {
		t.Errorf("%+v", n)
	}
}

// What a capture warned of and its file says again is one warning, which says so
// where it is about one process of several.
func TestWarningsOfOneProcess(t *testing.T) {
	const text = "No CUDA events collected. Does the process use CUDA?"
	for _, c := range []struct {
		tl   *timeline.Timeline
		want fact.Code
	}{
		{scene{end: 10}.timeline(), StepWarning},
		{scene{end: 10, kernels: []sceneKernel{{1, 2, "k", -1, 0}}}.timeline(), OneProcessNoCUDA},
	} {
		a := &analyzer{res: newResult(Input{}), tl: &timed{t: c.tl}}
		a.captureWarning("nsys", text)
		a.warn(timeline.CodeProfilerSays, fact.Vendor("text", text))
		if err := a.mergeNotes(t0()); err != nil {
			t.Fatal(err)
		}
		if n := a.res.Warnings; len(n) != 1 || !n[0].Is(c.want) || n[0].Step != "nsys" || n[0].Text("text") != text {
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

// A limit that holds back less than half is not called the main one.
func TestLimiterWords(t *testing.T) {
	for _, c := range []struct {
		l2, dram int64
		want     string
	}{
		{60, 40, "mostly held back by the L2 cache"},
		{28, 27, "most often (28.0 % of the time) it is the L2 cache"},
	} {
		a := &analyzer{res: newResult(Input{})}
		a.res.Totals.KernelNS = 100
		a.res.Kernels = []Kernel{{TotalNS: c.l2, Limiter: Limiter{Kind: LimitL2}}, {TotalNS: c.dram, Limiter: Limiter{Kind: LimitDRAM}}, {TotalNS: 100 - c.l2 - c.dram, Limiter: Limiter{Kind: LimitMixed}}}
		if c.l2+c.dram < 100 {
			a.res.Kernels = append(a.res.Kernels, Kernel{TotalNS: 20, Limiter: Limiter{Kind: LimitSmall}})
			a.res.Kernels[2].TotalNS -= 20
		}
		a.findLimits("kernel time")
		f := findingNamed(a.res, "limiter")
		if f == nil || !strings.Contains(f.Plain, c.want) || !strings.HasPrefix(f.Text, "Of the counted kernel time (100.0 % of kernel time), ") {
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
	if f := r.Findings; len(f) < 2 || f[0].ID != "main-r1" || f[1].ID != "launch-bound-r0" || f[1].Weight != weightMedium || !strings.Contains(f[0].Text, "r1 takes 98.0 % of the time of all stages. In r1 a kernel runs for 42.5 \u00b5s: 85.0 %") {
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
	if len(f) < 2 || f[0].ID != "main-r1" || f[0].Weight != weightHigh || f[1].ID != "launch-bound-r0" || f[1].Weight != weightHigh || !strings.Contains(f[1].Plain, "For r0, a faster GPU would help little") {
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
	if f := r.Findings[0]; f.ID != "main-all" || f.Weight != weightHigh || !strings.HasPrefix(f.Text, "In the program a kernel runs for 200 ns: 0.020 % of its 1.0 ms under nsys. The rest is idle; most of that, under nsys, has no launch under way") {
		t.Errorf("%+v", f)
	}
	if s := r.Stages[0]; s.NsysMS == nil || *s.NsysMS != 1 {
		t.Errorf("%+v", s)
	}
	for _, o := range r.Opportunities {
		if strings.Contains(o.Title, " all") || strings.Contains(o.Title, "efore the program") {
			t.Errorf("%s", o.Title)
		}
	}
}

// Tables give one pass; a finding says of how many its time is.
func TestFindingsNameThePasses(t *testing.T) {
	r := analyzeFiles(t, toyTimeline, toyCounters)
	if f := findingNamed(r, "main-prefill"); f == nil || !strings.Contains(f.Text, " in 2 passes under nsys") {
		t.Errorf("%+v", f)
	}
}

// Host code is called Python only where the program is one.
func TestHostCodeIsPythonInPythonAlone(t *testing.T) {
	for name, want := range map[string]bool{"/usr/bin/python3.12": true, "a.out": false} {
		s := scene{calls: []sceneCall{{0, 10, "cudaLaunchKernel", 0}, {100, 110, "cudaLaunchKernel", 0}}, kernels: []sceneKernel{{10, 20, "gemm", 0, 0}, {110, 120, "gemm", 1, 0}}, end: 200}
		tl := s.timeline()
		tl.Names = append(tl.Names, name)
		tl.Processes[0].Name = timeline.StringID(len(tl.Names) - 1)
		split := take(t, tl, Thresholds{}).Totals.Split
		if !slices.ContainsFunc(split.Idle, func(p TimePart) bool {
			return p.ID == "python" && strings.HasSuffix(p.Label, "(Python)") == want
		}) {
			t.Errorf("%s: %+v", name, split.Idle)
		}
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
		a := &analyzer{res: newResult(Input{}), th: DefaultThresholds}
		a.res.Stages = []Stage{{Name: "gemm", Split: Split{WallNS: 10_000, BusyNS: 9_000}, MFU: []Utilisation{{Method: "counters", Value: ptr(0.75), Peak: Peak{Label: "bf16 tensor, dense", Unit: "flop/s", ClockHz: 1.98e9}}}}}
		a.stageRegions = [][]uint32{nil}
		a.res.Kernels = []Kernel{{MedianNS: c.in, Stages: []StageTime{{"gemm", 9, 8_900}}, Counted: &Counted{ClockHz: c.hz, DurationNS: c.counted}}}
		a.findUtilisation()
		f := a.res.Findings[0]
		if strings.Contains(f.Text, "1.61 GHz of 1.98 GHz: held against the peak at that clock, the MFU is 92.2 %") != c.want || strings.Contains(f.Plain, "highest clock") != c.want {
			t.Errorf("%s: %+v", c.name, f)
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
		a := &analyzer{res: newResult(Input{})}
		a.captureWarning("ncu", c.text)
		switch {
		case c.want == "" && (len(a.res.Missing) > 0 || !hasNote(a.res.Warnings, StepWarning)):
			t.Errorf("%s is no warning", c.text)
		case c.want != "" && (len(a.res.Warnings) > 0 || len(a.res.Missing) != 1 || strings.Join(a.res.Missing[0].Params["units"].List, ", ") != c.want):
			t.Errorf("%s: %+v, %+v", c.text, a.res.Warnings, a.res.Missing)
		}
	}
}
