package analysis

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/workload"
)

// A difference that lies within the noise is no overhead, and no reason for a
// lighter capture.
func TestOverhead(t *testing.T) {
	for _, c := range []struct {
		name             string
		clean, std, nsys float64
		want             float64 // 0 is none
		why, warning     fact.Code
	}{
		{"clear", 10, 0.1, 12, 0.2, "", ""},
		{"heavy", 10, 0.1, 15, 0.5, "", OverheadHigh},
		{"one clean pass", 10, 0, 12, 0.2, "", ""},
		{"the clean run was slower", 10.308, 1.2, 8.717, 0, NoiseFaster, cleanMayBe},
		{"the clean run was far slower", 10, 0.1, 8, 0, fasterUnderNsys, CleanSlower},
		{"a little slower", 10, 0.1, 9.9, 0, NoiseFaster, ""},
		{"within two deviations", 10, 1.5, 12.9, 0, noiseWithin, ""},
		{"spread too far", 0.127, 0.182, 0.625, 0, noiseWide, cleanSpread},
	} {
		over, why := overheadOf(workload.Distribution{N: 3, Mean: &c.clean, Std: &c.std}, c.nsys)
		if (over != nil) != (c.want > 0) || over != nil && (*over < c.want-1e-9 || *over > c.want+1e-9) || (why == nil) != (c.why == "") || why != nil && !why.Is(c.why) {
			t.Errorf("%s: %v, %v", c.name, over, why)
		}
		a := analyzerWith(Input{})
		a.res.Stages = []Stage{{Name: "x", CleanMS: &c.clean, CleanStdMS: &c.std, NsysMS: &c.nsys, Overhead: over, OverheadWhy: why}}
		a.told((*conclusion).tellOverhead)
		switch {
		case c.warning == "" && len(a.notes.warnings) > 0 || c.warning != "" && !hasNote(a.notes.warnings, c.warning):
			t.Errorf("%s: %+v", c.name, a.notes.warnings)
		case over == nil && hasNote(a.notes.warnings, OverheadHigh):
			t.Errorf("%s: a lighter preset is advised for noise: %+v", c.name, a.notes.warnings)
		}
	}
}

// What is lighter is named, and where nothing is, that is said.
func TestLighterPreset(t *testing.T) {
	none := plan.Nsys{Trace: []string{"cuda", "nvtx"}, Sample: "none", CPUCtxSw: "none", CUDAGraphTrace: "node"}
	for _, c := range []struct {
		graphs  int64
		capture plan.Nsys
		want    fact.Fact
	}{
		{9, none, fact.New(UseLight)},
		{0, none, fact.New(lightNoBetter)},
		{0, plan.Nsys{}, fact.New(lightNoBetter)},
		{0, plan.Nsys{CUDAGraphTrace: "graph"}, fact.New(lightAlready)},
		{0, plan.Nsys{Trace: []string{"cuda", "nvtx", "osrt"}, Sample: "process-tree", CPUCtxSw: "process-tree", CUDAGraphTrace: "node"}, fact.New(UseDefault, fact.Names("costs", fact.KindKey, []string{"trace=osrt", "sample=process-tree", "cpuctxsw=process-tree"}))},
		{0, plan.Nsys{ExtraArgs: []string{"--cuda-memory-usage=true", "--cudabacktrace=none", "--stats=true"}}, fact.New(UseDefault, fact.Names("costs", fact.KindKey, []string{"--cuda-memory-usage"}))},
		{9, plan.Nsys{Sample: "process-tree"}, fact.New(UseLight)},
	} {
		a := analyzerWith(Input{capture: c.capture})
		a.res.Stages = []Stage{{Name: "x", CleanMS: ptr(10), NsysMS: ptr(15), Overhead: ptr(0.5), Kernels: 10, GraphKernels: c.graphs}}
		a.told((*conclusion).tellOverhead)
		if w := a.notes.warnings; len(w) != 1 || !slices.EqualFunc(w[0].Params["advice"].Facts, []fact.Fact{c.want}, fact.Fact.Equal) {
			t.Errorf("%+v, want %v", w, c.want)
		}
	}
}

// An unprofiled pass cannot be shorter than its kernels.
func TestCleanPassTooShort(t *testing.T) {
	in, err := FromRun(toyRun(t, "0.5", "0.125"))
	if err != nil {
		t.Fatal(err)
	}
	r := analyzed(t, in)
	if i := slices.IndexFunc(r.Warnings, func(n Note) bool { return n.Is(cleanShort) }); i < 0 || r.Warnings[i].Stage != "prefill" {
		t.Errorf("%+v", r.Warnings)
	}
}

// The two times under nsys are told apart.
func TestClockOfStages(t *testing.T) {
	in, err := FromRun(toyRun(t, "1.0", "0.125"))
	if err != nil {
		t.Fatal(err)
	}
	if s := stageNamed(t, analyzed(t, in), "prefill"); s.NsysClock != clockOfWorkload || *s.NsysMS != 1.5 {
		t.Errorf("%v by %s", *s.NsysMS, s.NsysClock)
	}
	if s := stageNamed(t, analyzeFiles(t, toyTimeline), "prefill"); s.NsysClock != clockOfRange || *s.NsysMS*1e6*float64(s.Passes) != float64(s.Split.WallNS) {
		t.Errorf("%v by %s", *s.NsysMS, s.NsysClock)
	}
	for _, c := range []struct {
		stage    Stage
		told     bool
		overhead float64 // 0 within the noise
	}{
		{Stage{CleanMS: ptr(1.38), NsysMS: ptr(2.36), Overhead: ptr(0.71), NsysClock: clockOfWorkload}, true, 0.71},
		{Stage{CleanMS: ptr(1.38), NsysMS: ptr(1.2), OverheadWhy: &fact.Fact{Code: NoiseFaster}, NsysClock: clockOfRange}, true, 0},
		{Stage{NsysMS: ptr(1.2), NsysClock: clockOfRange}, false, 0},
	} {
		f, told := c.stage.passTimes()
		if told != c.told || f.Number("overhead") != c.overhead || told && (f.Text("clock") != "clock:"+c.stage.NsysClock || f.Number("clean") != *c.stage.CleanMS*1e6) {
			t.Errorf("%+v, want %+v", f, c)
		}
	}
}

// oldConfig writes the configuration of a run of schema 1 into a folder, with some texts of it
// replaced: old, new, ...
func oldConfig(t *testing.T, dir string, oldnew ...string) {
	t.Helper()
	data, err := os.ReadFile("../pipeline/testdata/schema1/config.yaml")
	for i := 0; i < len(oldnew); i += 2 {
		if !strings.Contains(string(data), oldnew[i]) {
			t.Fatalf("no %q in the configuration", oldnew[i])
		}
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, runs.ConfigName), []byte(strings.NewReplacer(oldnew...).Replace(string(data))), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The limit is that of the run's configuration, also of one from before plans were stored.
func TestOverheadLimitOfTheRun(t *testing.T) {
	for limit, warned := range map[string]bool{"0.6": false, "0.4": true} {
		for _, key := range []string{"unprofiled:", "baseline:"} { // as in older runs
			in := Input{Run: t.TempDir()}
			oldConfig(t, in.Run, "baseline:", key, "overhead_limit: 0.25", "overhead_limit: "+limit)
			in.configured()
			a := analyzerWith(in)
			a.res.Stages = []Stage{{Name: "x", CleanMS: ptr(10), NsysMS: ptr(15), Overhead: ptr(0.5)}}
			a.told((*conclusion).tellOverhead)
			if hasNote(a.notes.warnings, OverheadHigh) != warned || a.res.Method.OverheadLimit != a.th.Overhead || in.unread != nil {
				t.Errorf("%s %s: limit %g, warnings %+v, error %v", key, limit, a.res.Method.OverheadLimit, a.notes.warnings, in.unread)
			}
		}
	}
}

// What the configuration of an older run says and nobody can read is told; that of a run with a
// plan was refused before it began.
func TestUnreadableConfiguration(t *testing.T) {
	in := Input{Run: t.TempDir()}
	oldConfig(t, in.Run, "overhead_limit: 0.25", "overhead_limit: abc")
	in.configured()
	var n notes
	readRun(&in, &n)
	if !hasNote(n.warnings, fileUnreadable) || !strings.Contains(n.warnings[0].Text("error"), "abc") {
		t.Errorf("%+v", n.warnings)
	}
}

// The plan of a run goes before its configuration.
func TestConfiguredByPlan(t *testing.T) {
	p := &plan.Plan{}
	p.Pipeline.Unprofiled.OverheadLimit, p.Pipeline.Ncu.CLI.NVTXInclude = 0.6, []string{"decode"}
	data, err := plan.Marshal(p)
	in := Input{Run: t.TempDir()}
	if err == nil {
		err = os.WriteFile(filepath.Join(in.Run, runs.PlanName), data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	in.configured()
	if in.unread != nil || in.Thresholds.Overhead != 0.6 || !slices.Equal(in.Include, []string{"decode"}) {
		t.Errorf("%+v: %v", in, in.unread)
	}
}

// Without an unprofiled run the parts of prefill are those of the run under nsys.
func TestSubstagesUnderNsys(t *testing.T) {
	parts := func(ms float64) *workload.Metrics {
		return &workload.Metrics{Summary: workload.Summary{
			Measures:  map[string]workload.Distribution{"prefill_ms": {N: 1, Mean: ptr(10 * ms)}},
			Substages: map[string]workload.Distribution{"sam": {N: 1, Mean: ptr(ms)}},
		}}
	}
	for _, clean := range []*workload.Metrics{nil, parts(3)} {
		s := &Stage{Name: "prefill"}
		selfTimes{clean, parts(4)}.addTo(s)
		want := 4.0
		if clean != nil {
			want = 3
		}
		if len(s.Sub) != 1 || s.Sub[0] != (SubMS{"sam", want}) || (s.CleanMS == nil) != (clean == nil) {
			t.Errorf("%+v, want %v ms", s.Sub, want)
		}
	}
}

// TestServerOverhead: the lightest preset that still tells what is asked is named
// where collecting slows a server too much.
func TestServerOverhead(t *testing.T) {
	for _, c := range []struct {
		more   float64
		graphs int64
		want   []fact.Code
	}{{0.2, 9, nil}, {0.3, 9, []fact.Code{UseLight}}, {0.3, 0, []fact.Code{UseSampled}}} {
		a := newState(&analyzer{rules: rules{th: Thresholds{}.withDefaults()}, res: &Result{Serving: &Serving{Collecting: &ServingCost{PerToken: &c.more}}, Sampling: &Sampling{}, Stages: []Stage{{GraphKernels: c.graphs}}}}, nil, counters{})
		a.told((*conclusion).tellServerOverhead)
		var got []fact.Code
		for _, n := range a.notes.warnings {
			if n.Is(serverOverhead) {
				got = append(got, n.Params["advice"].Facts[0].Code)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
