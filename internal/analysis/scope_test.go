package analysis

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/gpu"
	"github.com/deepprof/deepprof/internal/timeline"
	"github.com/deepprof/deepprof/internal/workload"
)

func scopedTo(t *testing.T, include, exclude []string, fixtures ...string) *Result {
	t.Helper()
	var paths []string
	for _, f := range fixtures {
		paths = append(paths, unpacked(t, f))
	}
	in, err := fromFiles(paths...)
	if err != nil {
		t.Fatal(err)
	}
	in.Include, in.Exclude = include, exclude
	r := analyzed(t, in)
	checkResult(t, strings.Join(include, " "), r)
	checkScope(t, r)
	return r
}

// checkScope holds the parts of a result against its scope.
func checkScope(t *testing.T, r *Result) {
	t.Helper()
	s := r.Scope
	if s == nil {
		return
	}
	var calls, ns int64
	share, byCategory := 0.0, int64(0)
	for i := range r.Kernels {
		k := &r.Kernels[i]
		calls, ns, share = calls+k.Calls, ns+k.TotalNS, share+k.Share
		var inStages int64
		for _, st := range k.Stages {
			inStages += st.Calls
		}
		if inStages > k.Calls*int64(len(r.Stages)) {
			t.Errorf("%s: %d calls in stages of %d", k.Short, inStages, k.Calls)
		}
	}
	for _, c := range r.Categories {
		byCategory += c.NS
	}
	if calls != s.Launches || ns != s.KernelNS || byCategory != s.KernelNS || calls > 0 && math.Abs(share-1) > 1e-9 {
		t.Errorf("kernels: %d calls, %d ns, share %g, categories %d ns; scope %+v", calls, ns, share, byCategory, s)
	}
	if s.Launches+s.OutsideLaunches != r.Totals.Launches || s.KernelNS+s.OutsideKernelNS != r.Totals.KernelNS {
		t.Errorf("scope %+v and what lies outside are not the whole %+v", s, r.Totals)
	}
	if s.Split == nil || s.Split.WallNS != s.WallNS || s.WallNS > r.Totals.WallNS || s.EndNS-s.StartNS < s.WallNS {
		t.Errorf("wall time of %+v", s)
	}
	for _, o := range r.Opportunities {
		if o.Seconds*1e9 > float64(o.OfNS)+1 || o.Times == timesNsys && o.OfNS != s.WallNS {
			t.Errorf("%s saves %g s of %d ns (%s)", o.ID, o.Seconds, o.OfNS, o.Times)
		}
		if want := float64(o.OfNS) / (float64(o.OfNS) - o.Seconds*1e9); o.Speedup > 0 && math.Abs(o.Speedup-want) > 1e-6*want {
			t.Errorf("%s: speedup %g, want %g of the scope", o.ID, o.Speedup, want)
		}
	}
}

func TestScope(t *testing.T) {
	whole := analyzeFiles(t, llmTimeline, llmCounters)
	r := scopedTo(t, []string{"prefill", "decode"}, nil, llmTimeline, llmCounters)
	s := r.Scope
	if s == nil || !s.Name.Is(ScopeName) || !slices.Equal(s.Regions, []string{"prefill", "decode"}) {
		t.Fatalf("scope %+v", s)
	}
	// From deepprof show regions: 183 and 1,496 launches in 8,669,968 and
	// 521,882,878 ns, and no work after a region closed.
	if s.Launches != 1679 || s.WallNS != 8669968+521882878 || s.KernelNS != stageNamed(t, r, "prefill").Split.BusyNS+stageNamed(t, r, "decode").Split.BusyNS {
		t.Errorf("scope %+v", s)
	}
	if s.BusyNS <= s.KernelNS || s.BusyNS >= whole.Totals.BusyNS {
		t.Errorf("busy %d ns with copies, %d of kernels, %d of the whole", s.BusyNS, s.KernelNS, whole.Totals.BusyNS)
	}
	if !s.Text.Is(scopePart) || s.Text.Number("time") != float64(s.WallNS) || s.Text.Number("launches") != float64(s.OutsideLaunches) {
		t.Errorf("text %v", s.Text)
	}
	if r.Totals.Launches != whole.Totals.Launches || r.Totals.WallNS != whole.Totals.WallNS || r.Totals.KernelNS != whole.Totals.KernelNS {
		t.Errorf("totals %+v are not those of the whole timeline", r.Totals)
	}
	if len(r.Kernels) >= len(whole.Kernels) {
		t.Errorf("%d kernels of %d", len(r.Kernels), len(whole.Kernels))
	}
	if findingNamed(r, "outside-stages") != nil || findingNamed(whole, "outside-stages") == nil {
		t.Error("what lies outside is told by the scope alone")
	}
	if f := findingNamed(r, "first-saving"); f == nil || math.Abs(f.Number("of")-530.6e6) > 1e5 || !slices.Equal(f.Params["scope"].List, []string{"prefill", "decode"}) {
		t.Errorf("%+v", f)
	}
}

// Counters of a stage outside the scope still know how much of it was counted.
func TestStageOutsideScope(t *testing.T) {
	whole := analyzeFiles(t, llmTimeline, llmCounters)
	in, err := fromFiles(unpacked(t, llmTimeline), unpacked(t, llmCounters))
	if err != nil {
		t.Fatal(err)
	}
	in.Include = []string{"decode"}
	in.Metrics = map[string]string{"unprofiled": filepath.Join(toyRun(t, "1.0", "0.125"), "workload/baseline/metrics.json")}
	r := analyzed(t, in)
	checkScope(t, r)
	p, want := stageNamed(t, r, "prefill"), stageNamed(t, whole, "prefill")
	if len(r.Stages) != 2 || p.Split.BusyNS != want.Split.BusyNS {
		t.Fatalf("stages %+v", r.Stages)
	}
	for i := range p.HFU {
		if u, w := &p.HFU[i], &want.HFU[i]; u.Method == "counters" && math.Abs(*u.Coverage-*w.Coverage) > 1e-9 {
			t.Errorf("coverage of prefill is %g, was %g", *u.Coverage, *w.Coverage)
		}
	}
	for _, f := range r.Findings {
		if strings.HasSuffix(f.ID, "-prefill") {
			t.Errorf("a finding about what lies outside: %+v", f)
		}
	}
	for _, o := range r.Opportunities {
		if o.Stage == "prefill" {
			t.Errorf("an opportunity outside: %+v", o.Title)
		}
	}
}

func TestScopeExcludes(t *testing.T) {
	r := scopedTo(t, []string{"decode"}, []string{"attn"}, llmTimeline)
	// 521,882,878 ns of decode without 480,038,940 of attn, and without its 544
	// launches of 1,496; the work of attn that ran later belongs to attn.
	if s := r.Scope; s.Launches != 1496-544 || s.WallNS < 521882878-480038940 || s.WallNS > 521882878 {
		t.Errorf("scope %+v", s)
	}
	if !slices.Equal(r.Scope.Exclude, []string{"attn"}) {
		t.Errorf("exclude %q", r.Scope.Exclude)
	}
}

// A region that closes before its work ends lasts as long as that.
func TestScopeOfLateWork(t *testing.T) {
	r := scopedTo(t, []string{"prefill/attention"}, nil, toyTimeline, toyCounters)
	if s := r.Scope; s.Launches != 6 || s.WallNS < 1431972 || s.BusyNS > s.WallNS || len(r.Stages) != 1 || r.Stages[0].Name != "attention" {
		t.Errorf("scope %+v, stages %+v", s, r.Stages)
	}
}

func TestScopeStyles(t *testing.T) {
	for _, c := range []struct {
		include  []string
		launches int64
		regions  []string
	}{
		{[]string{"decode"}, 16, []string{"decode"}}, // start/end
		{[]string{"LLM@step"}, 16, []string{"LLM@step"}},
		{[]string{"prefill;decode"}, 28, []string{"prefill", "decode"}},
		{[]string{"prefill", "nosuch"}, 12, []string{"prefill"}},
		{[]string{"prefill", "prefill/mlp"}, 12, []string{"prefill"}}, // nested in it
	} {
		r := scopedTo(t, c.include, nil, toyTimeline)
		if s := r.Scope; s == nil || s.Launches != c.launches || !slices.Equal(s.Regions, c.regions) {
			t.Errorf("%q: %+v", c.include, s)
		}
		if unknown := slices.Contains(c.include, "nosuch"); unknown != hasNote(r.Missing, "unmatched") {
			t.Errorf("%q: missing %+v", c.include, r.Missing)
		}
	}
}

// CUDA graphs that were traced as a whole are in the scope without a kernel.
func TestScopeOfWholeGraphs(t *testing.T) {
	r := scopedTo(t, []string{"decode"}, nil, "../nsys/testdata/exports/graph_whole.sqlite.gz")
	if r.Scope == nil || r.Scope.Launches != 0 || r.Scope.BusyNS != 124800 || findingNamed(r, "graphs-whole") == nil {
		t.Errorf("scope %+v, findings %+v", r.Scope, r.Findings)
	}
}

func TestScopeThatSelectsNothing(t *testing.T) {
	whole := analyzeFiles(t, toyTimeline)
	for _, include := range []string{"nosuch", "idle", "regex:("} {
		r := scopedTo(t, []string{include}, nil, toyTimeline)
		if r.Scope != nil || !hasNote(r.Warnings, scopeUnused) || len(r.Kernels) != len(whole.Kernels) || r.Kernels[0].Calls != whole.Kernels[0].Calls {
			t.Errorf("%s: scope %+v, warnings %+v", include, r.Scope, r.Warnings)
		}
	}
}

func TestScopeOfRun(t *testing.T) {
	dir := toyRun(t, "1.0", "0.125")
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func() Input {
		in, err := FromRun(dir)
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	if in := read(); len(in.Include) > 0 {
		t.Errorf("regions %q of a run that names none", in.Include)
	}
	write("targets.json", `{"schema":1,"nvtx_include":["prefill/"],"nvtx_exclude":["mlp/"],"totals":{},"groups":[],"runs":[],"predicted":{}}`)
	if in := read(); !slices.Equal(in.Include, []string{"prefill/"}) || !slices.Equal(in.Exclude, []string{"mlp/"}) {
		t.Errorf("%q without %q", in.Include, in.Exclude)
	}
	const asked = "nvtx_include:\n      - prefill\n      - decode\n"
	for text, want := range map[string][]string{"[prefill, decode]": {"prefill", "decode"}, "prefill;decode": {"prefill", "decode"}, "[]": {}} {
		oldConfig(t, dir, asked, "nvtx_include: "+text+"\n")
		if in := read(); !slices.Equal(in.Include, want) || in.unread != nil {
			t.Errorf("%s: %q, %v", text, in.Include, in.unread)
		}
	}
	oldConfig(t, dir, asked, "nvtx_include: [prefill]\n")
	r := analyzed(t, read())
	checkScope(t, r)
	if r.Scope == nil || r.Scope.Launches != 12 {
		t.Errorf("scope %+v", r.Scope)
	}
}

func TestMoments(t *testing.T) {
	list := disjoint([]moment{{50, 60}, {0, 10}, {10, 20}, {15, 30}})
	if !slices.Equal(list, []moment{{0, 30}, {50, 60}}) {
		t.Errorf("disjoint %v", list)
	}
	if got := without(list, []moment{{5, 8}, {20, 55}, {58, 99}}); !slices.Equal(got, []moment{{0, 5}, {8, 20}, {55, 58}}) {
		t.Errorf("without %v", got)
	}
	tl := &timed{t: &timeline.Timeline{Queues: []timeline.Queue{{Device: 1}, {Device: 1}, {Device: 2}}, Configs: make([]timeline.LaunchConfig, 1)}, hi: 100, scope: &scoped{places: []bool{true}}}
	for i, m := range []moment{{0, 10}, {5, 20}, {5, 12}, {15, 30}, {50, 60}} { // devices 1, 1, 2, 1, 2
		tl.t.Kernels = append(tl.t.Kernels, timeline.Kernel{Start: m.start, End: m.end, Queue: []uint32{0, 1, 2, 0, 2}[i]})
	}
	tl.t.Functions = make([]timeline.Function, 1)
	at := tl.t.Attribute()
	tl.tape = at.Tape(at, nil)
	if got := tl.busyWithin([]moment{{5, 8}, {20, 55}, {58, 99}}); got != 3+10+3+5+2 {
		t.Errorf("busy for %d", got)
	}
}

// One change of several stages is one row.
func TestDeviations(t *testing.T) {
	enough, same, bound := fact.New("enough"), fact.New("same"), fact.New("bound")
	list := mergedDeviations([]workload.Deviation{
		{Stage: "ncu", Key: "infer.repeats", Configured: "3", Used: "1", Why: []fact.Fact{enough, same}},
		{Stage: "nsys", Key: "infer.repeats", Configured: "3", Used: "1", Why: []fact.Fact{enough, same}},
		{Stage: "torch_profiler", Key: "infer.repeats", Configured: "3", Used: "1", Why: []fact.Fact{enough}},
		{Stage: "torch_profiler", Key: "infer.max_new_tokens", Configured: "32", Used: "16", Why: []fact.Fact{bound}},
		{Stage: "nsys", Key: "infer.max_new_tokens", Configured: "32", Used: "8", Why: []fact.Fact{bound}},
	})
	want := []Deviation{
		{Stage: "ncu, nsys, torch_profiler", Key: "infer.repeats", Configured: "3", Used: "1", Why: []fact.Fact{enough, same}},
		{Stage: "torch_profiler", Key: "infer.max_new_tokens", Configured: "32", Used: "16", Why: []fact.Fact{bound}},
		{Stage: "nsys", Key: "infer.max_new_tokens", Configured: "32", Used: "8", Why: []fact.Fact{bound}},
	}
	if !reflect.DeepEqual(list, want) {
		t.Errorf("%+v", list)
	}
}

func TestVersionsOfLibraries(t *testing.T) {
	for in, want := range map[string]string{"91900": "9.19.0", "8907": "8.9.7", "": "", "9.1": "9.1"} {
		if got := cudnnVersion(in); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
}

// Counters that exceed the model's FLOPs are explained: what runs is not all
// useful.
func TestExecutedMoreThanNeeded(t *testing.T) {
	for _, c := range []struct {
		dtype gpu.DType
		times float64
		want  fact.Code
	}{
		{gpu.TensorBF16, 11, codeExecutedPadding},
		{gpu.FP32, 1.5, codeExecutedMore},
		{gpu.TensorBF16, 1.2, ""},
		{gpu.TensorBF16, 0.5, ""},
	} {
		a := newState(&analyzer{rules: rules{th: defaultThresholds}, res: &Result{}}, nil, counters{})
		needed, value, cover := 1e9, 0.5, 0.7
		a.res.Stages = []Stage{{Name: "decode", Passes: 2, FLOPs: &needed, MFU: []Utilization{{Method: "analytic", Value: &value}},
			HFU: []Utilization{{Method: "counters", Value: &value, Coverage: &cover, Why: because("partial")}}}}
		a.res.Kernels = []Kernel{{TotalNS: 10, Stages: []StageTime{{Stage: "decode", Calls: 1, NS: 10}}, Point: []Point{{DType: "tensor_bf16"}}}}
		a.executed(&a.res.Stages[0], &stageCounts{ops: map[gpu.DType]float64{c.dtype: 2 * needed * c.times}, opsCover: cover})
		s, f := &a.res.Stages[0], findingNamed(a.res, "executed-decode")
		why := s.HFU[0].Why
		if len(s.MFU[0].Why) > 0 || why[len(why)-1].Code != "partial" {
			t.Errorf("%g times: %+v and %+v", c.times, s.MFU, s.HFU)
		}
		if c.want == "" {
			if f != nil || len(why) != 1 {
				t.Errorf("%g times: %+v, %+v", c.times, f, why)
			}
			continue
		}
		if tensor := c.want == codeExecutedPadding; a.res.Kernels[0].PointNote.IsZero() == tensor {
			t.Errorf("%g times: beside the points of its kernel stands %+v", c.times, a.res.Kernels[0].PointNote)
		}
		if f == nil || f.Code != c.want || f.Number("factor") != c.times || f.Number("counted") != cover || !why[0].Equal(f.Fact) {
			t.Errorf("%g times: %+v", c.times, f)
		}
	}
}

// A region that is not nested in the scope can lie in it all the same, with some
// of its calls: here decode is start/end, and the domain LLM has its own ranges.
func TestRegionsPartlyInScope(t *testing.T) {
	r := scopedTo(t, []string{"decode"}, nil, toyTimeline)
	want := map[string]int64{"prefill": 0, "decode": 216001, "LLM@step": 216001, "idle": 0}
	for _, g := range r.Regions {
		if ns, ok := want[g.Path]; ok && g.Process == nil && g.Device == nil && (g.ScopeNS == nil || *g.ScopeNS != ns) {
			t.Errorf("%s: %v ns in the scope, want %d", g.Path, g.ScopeNS, ns)
		}
	}
	r = scopedTo(t, []string{"worker"}, nil, "../nsys/testdata/exports/multi_node.sqlite.gz")
	for _, g := range r.Regions {
		if g.Path == "inner_se" && g.Process == nil && g.Device == nil && (g.ScopeNS == nil || *g.ScopeNS <= 0 || *g.ScopeNS >= g.KernelNS) {
			t.Errorf("inner_se: %v of %d ns in the scope, want a part", g.ScopeNS, g.KernelNS)
		}
	}
	for _, g := range analyzeFiles(t, toyTimeline).Regions {
		if g.ScopeNS != nil {
			t.Errorf("%s: %d ns in a scope that there is not", g.Path, *g.ScopeNS)
		}
	}
}

func TestOneVersionOfCUDA(t *testing.T) {
	for of, want := range map[string]string{"13.0": "PyTorch", "12.8": "PyTorch, torch_cuda"} {
		env := Environment{CUDA: "13.0", Software: []Fact{{"PyTorch", "2.11"}, {"CUDA", of}}}
		env.mergeCUDA()
		var names []string
		for _, f := range env.Software {
			names = append(names, f.Name)
		}
		if got := strings.Join(names, ", "); got != want {
			t.Errorf("%s: %s", of, got)
		}
	}
}
