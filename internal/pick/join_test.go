package pick

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/metric"
	"github.com/deepprof/deepprof/internal/ncurep"
	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/timeline"
)

func region(t *testing.T, r *RegionReport, path string) *Region {
	t.Helper()
	for i := range r.Regions {
		if r.Regions[i].Path == path {
			return &r.Regions[i]
		}
	}
	t.Fatalf("no region %q", path)
	return nil
}

func metricOf(t *testing.T, s *RegionSums, name string) RegionMetric {
	t.Helper()
	for _, m := range s.Metrics {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("no metric %q", name)
	return RegionMetric{}
}

// TestRegionsOfEveryLaunch: where every launch was counted, the extrapolation
// is the plain sum over the launches in the region.
func TestRegionsOfEveryLaunch(t *testing.T) {
	l, all := load(t, "toy"), counted(t, "toy_full")
	survey, err := Survey(l, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := Verify(survey, all, l)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Regions(l, all, v, RegionOptions{Aggregate: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"prefill", "prefill/attention", "prefill/mlp", "LLM@step", "decode"} {
		got := region(t, r, path)
		want := map[string]float64{}
		launches := 0
		for i := range all {
			if !all[i].Enclosing()[path] {
				continue
			}
			launches++
			for _, m := range all[i].Metrics {
				want[m.Name] += m.Value
			}
		}
		sums := &got.Parts[0].Inclusive
		if got.Why != nil || got.Whole != nil || scopeOf(got.Parts[0]) != scopeAll || sums.Launches != launches || sums.Coverage != 1 || sums.ElsewhereNS != 0 {
			t.Errorf("%s: %v, %d launches of %d, coverage %g", path, got.Why, sums.Launches, launches, sums.Coverage)
		}
		for _, name := range []string{"dram__bytes_write.sum", "smsp__inst_executed.sum", "gpu__time_duration.sum", "dram__bytes_read.sum"} {
			m := metricOf(t, sums, name)
			if m.How != HowSum || math.Abs(m.Value-want[name]) > 1e-9*want[name] || m.Value == 0 {
				t.Errorf("%s: %s is %g (%s), the launches have %g", path, name, m.Value, m.How, want[name])
			}
		}
		if m := metricOf(t, sums, "sm__throughput.avg.pct_of_peak_sustained_elapsed"); m.How != HowMean || m.Value <= 0 || m.Value > 100 {
			t.Errorf("%s: throughput %+v", path, m)
		}
	}
	if idle := region(t, r, "idle"); idle.Why == nil || !idle.Why.Is(regionEmpty) || len(idle.Parts) != 0 {
		t.Errorf("an empty region: %+v", idle)
	}
}

// TestRegionsOfChosenLaunches: totals from a few launches come near to those
// of all.
func TestRegionsOfChosenLaunches(t *testing.T) {
	l, all := load(t, "toy"), counted(t, "toy_full")
	targets, err := Choose(l, Policy{})
	if err != nil {
		t.Fatal(err)
	}
	few := results(t, l, targets, all)
	report := func(c []Counted) *RegionReport {
		v, err := Verify(targets, c, l)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Regions(l, c, v, RegionOptions{Aggregate: true, Metrics: []string{"smsp__inst_executed.sum", "dram__bytes_read.sum", "no__such.sum"}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	some, every := report(few), report(all)
	for _, path := range []string{"prefill", "prefill/attention", "decode"} {
		a, b := &region(t, some, path).Parts[0].Inclusive, &region(t, every, path).Parts[0].Inclusive
		x, y := metricOf(t, a, "smsp__inst_executed.sum").Value, metricOf(t, b, "smsp__inst_executed.sum").Value
		if math.Abs(x-y) > 0.01*y {
			t.Errorf("%s: %g instructions from %d launches, %g from all", path, x, len(few), y)
		}
		if len(a.Metrics) != 2 {
			t.Errorf("%s: metrics %+v, one of them was not collected", path, a.Metrics)
		}
	}
	if decode := &region(t, some, "decode").Parts[0].Inclusive; decode.ElsewhereNS == 0 {
		t.Error("counters taken in another region are not disclosed")
	}
}

// TestRegionsAddUp: exclusive time and the children make the parent, and the
// processes and devices make the whole.
func TestRegionsAddUp(t *testing.T) {
	for _, name := range []string{"llm", "multi_node", "toy", "graph_node"} {
		l := load(t, name)
		r, err := Regions(l, nil, &Verification{}, RegionOptions{Aggregate: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range r.Regions {
			if g.Why == nil {
				t.Errorf("%s: %s was measured by nothing, and nothing says so", name, g.Path)
			}
			sums := map[string][2]int64{}
			var whole [2]int64
			for _, p := range g.Parts {
				s := sums[scopeOf(p)]
				s[0] += p.Inclusive.KernelNS
				s[1] += int64(p.Inclusive.Launches)
				sums[scopeOf(p)] = s
				if scopeOf(p) == scopeAll {
					whole = [2]int64{p.Inclusive.KernelNS - p.Exclusive.KernelNS, int64(p.Inclusive.Launches - p.Exclusive.Launches)}
				}
			}
			if sums["aggregate"] != sums["process"] || sums["aggregate"] != sums["device"] {
				t.Errorf("%s: %s: %v", name, g.Path, sums)
			}
			var children [2]int64
			for _, c := range r.Regions {
				if c.Parent == g.Path && c.Depth == g.Depth+1 && c.Style == g.Style && len(c.Parts) > 0 {
					children[0] += c.Parts[0].Inclusive.KernelNS
					children[1] += int64(c.Parts[0].Inclusive.Launches)
				}
			}
			if g.Style == "PushPop" && children != whole {
				t.Errorf("%s: %s: children %v, inclusive less exclusive %v", name, g.Path, children, whole)
			}
		}
		without, err := Regions(l, nil, &Verification{}, RegionOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range without.Regions {
			has := slices.ContainsFunc(g.Parts, func(p RegionPart) bool { return scopeOf(p) == scopeAll })
			if has != (l.oneProcess() && len(g.Parts) > 0) {
				t.Errorf("%s: %s: an aggregate that was turned off: %v", name, g.Path, has)
			}
		}
	}
}

func TestRegionsAgreeWithTheTimeline(t *testing.T) {
	l := load(t, "llm")
	r, err := Regions(l, nil, &Verification{}, RegionOptions{Aggregate: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range l.t.RegionRows(timeline.Query{}).Rows {
		got := region(t, r, row.Path)
		if int64(got.Instances) != row.Instances || len(got.Parts) == 0 || got.Parts[0].Inclusive.KernelNS != row.InclusiveNS || got.Parts[0].Exclusive.KernelNS != row.ExclusiveNS {
			t.Errorf("%s differs from the timeline", row.Path)
		}
	}
}

func TestRegionSelection(t *testing.T) {
	l := load(t, "llm")
	r, err := Regions(l, nil, &Verification{}, RegionOptions{
		Aggregate: true, Include: []string{"decode", "decoed"}, Exclude: []string{"mlp"},
		KernelInclude: []string{"regex:nvjet"}, KernelExclude: []string{"regex:splitK", "regex:nosuch"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, g := range r.Regions {
		paths = append(paths, g.Path)
	}
	if want := []string{"decode", "decode/step", "decode/step/attn"}; !slices.Equal(paths, want) {
		t.Errorf("regions %q, want %q", paths, want)
	}
	sums := &region(t, r, "decode").Parts[0].Inclusive
	if sums.ExcludedLaunches == 0 || sums.ExcludedLaunches+sums.Launches != 1496 {
		t.Errorf("%d launches and %d excluded", sums.Launches, sums.ExcludedLaunches)
	}
	shown := 0
	for i := range l.len() {
		k := l.kind(i)
		short := l.names[k.function].short
		if slices.ContainsFunc(l.at.Places()[k.place].All, func(node uint32) bool { return l.at.Path(node) == "decode" }) && strings.Contains(short, "nvjet") && !strings.Contains(short, "splitK") {
			shown++
		}
	}
	if sums.Launches != shown {
		t.Errorf("%d launches are shown, the patterns keep %d", sums.Launches, shown)
	}
	if len(r.Unmatched) != 2 || r.Unmatched[0].Expr != "decoed" || !slices.Contains(r.Unmatched[0].Near, "decode") || r.Unmatched[1].Expr != "regex:nosuch" {
		t.Errorf("unmatched %+v", r.Unmatched)
	}
}

func TestWholeRanges(t *testing.T) {
	l := load(t, "toy")
	all := counted(t, "toy_range")
	for i := range all {
		if !all[i].Whole {
			t.Fatalf("result %d is no range", i)
		}
	}
	r, err := Regions(l, all, &Verification{}, RegionOptions{Aggregate: true})
	if err != nil {
		t.Fatal(err)
	}
	measured := 0
	for _, g := range r.Regions {
		if g.Whole == nil {
			continue
		}
		measured++
		if g.Whole.Ranges == 0 || len(g.Whole.Metrics) == 0 {
			t.Errorf("%s: %+v", g.Path, g.Whole)
		}
	}
	if measured == 0 {
		t.Errorf("no region is measured as a whole; the results lie in %q", all[0].Paths())
	}
}

// TestWholeGraphs: a graph counts in every region around its launch, against the
// launches of graphs that the timeline has there.
func TestWholeGraphs(t *testing.T) {
	l := load(t, "graph_whole")
	all := counted(t, "graph_whole")
	r, err := Regions(l, all, &Verification{}, RegionOptions{Aggregate: true})
	if err != nil {
		t.Fatal(err)
	}
	step, decode := region(t, r, "decode/step"), region(t, r, "decode")
	if step.Whole == nil || decode.Whole == nil {
		t.Fatalf("step %v, decode %v", step.Why, decode.Why)
	}
	if step.Whole.Ranges != decode.Whole.Ranges || decode.Whole.Of != step.Whole.Of || decode.Whole.Of < decode.Whole.Ranges || decode.Whole.NS != step.Whole.NS {
		t.Errorf("step %+v, decode %+v", step.Whole, decode.Whole)
	}
}

// TestOddValues: what is no number, or a step of ncu's own arithmetic, is not
// shown.
func TestOddValues(t *testing.T) {
	result := &ncurep.Result{Metrics: []ncurep.Metric{
		{Name: "a.sum", Value: metric.Float64(math.NaN())}, {Name: "b.sum", Value: metric.Float64(math.Inf(1))}, {Name: "c.sum", Value: metric.Float64(1)},
	}}
	if c := FromResult(result); len(c.Metrics) != 1 || c.Metrics[0].Name != "c.sum" {
		t.Errorf("%+v", c.Metrics)
	}
	for name, want := range map[string]bool{
		"derived_tempMetric4": false, "breakdown:sm__throughput.avg.pct_of_peak_sustained_elapsed": false, "pmsampling:dram__read_throughput": false,
		"FBSP.TriageCompute.dramc__throughput.avg.pct_of_peak_sustained_elapsed": false, "dram__bytes.sum": true, "derived__memory_l1_conflicts_shared_nway": true,
	} {
		if meaningful(name) != want {
			t.Errorf("Meaningful(%q) = %v", name, !want)
		}
	}
}

func TestNeverFilled(t *testing.T) {
	b := newBuilder()
	thread := b.process(10, 1)
	queue := b.queue(0, 0, 7)
	known, other := b.function("_Zk", "k()", "k"), b.function("_Zo", "o()", "o")
	c := b.config([3]int32{1, 1, 1}, [3]int32{32, 1, 1}, 0)
	done := b.push(thread, "r")
	for range 3 {
		b.launch(thread, queue, known, c, 1000)
		b.launch(thread, queue, other, c, 3000)
	}
	done()
	l := b.load()
	got := []Counted{{
		Mangled: "_Zk", Function: "k", Grid: [3]int32{1, 1, 1}, Block: [3]int32{32, 1, 1}, HasState: true, State: nvtx.State{Stacks: [][]nvtx.Range{{{Name: "r"}}}},
		Metrics: []MetricValue{{"dram__bytes.sum", "byte", 64}, {"sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", 30}},
	}}
	survey, err := Survey(l, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := Verify(survey, got, l)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Regions(l, got, v, RegionOptions{Aggregate: true})
	if err != nil {
		t.Fatal(err)
	}
	sums := &region(t, r, "r").Parts[0].Inclusive
	if m := metricOf(t, sums, "dram__bytes.sum"); m.Value != 192 || m.Coverage != 0.25 {
		t.Errorf("three launches of 64 bytes: %+v", m)
	}
	if m := metricOf(t, sums, "sm__throughput.avg.pct_of_peak_sustained_elapsed"); m.Value != 30 || m.Coverage != 0.25 {
		t.Errorf("a mean over what was counted: %+v", m)
	}
	if sums.Coverage != 0.25 || sums.CountedGroups != 1 {
		t.Errorf("coverage %+v", sums)
	}
}

func TestAdditive(t *testing.T) {
	for name, test := range map[string]struct {
		unit string
		want bool
	}{
		"dram__bytes.sum":                                   {"byte", true},
		"dram__bytes.sum.per_second":                        {"byte/s", false},
		"dram__bytes.sum.pct_of_peak_sustained_elapsed":     {"%", false},
		"smsp__inst_executed.sum":                           {"inst", true},
		"smsp__inst_executed.avg":                           {"inst", false},
		"gpu__time_duration.sum":                            {"ns", true},
		"smsp__cycles_elapsed.max":                          {"cycle", false},
		"sm__throughput.avg.pct_of_peak_sustained_elapsed":  {"%", false},
		"launch__registers_per_thread":                      {"register/thread", false},
		"launch__grid_size":                                 {"", false},
		"l1tex__t_sector_hit_rate.pct":                      {"%", false},
		"inst_executed":                                     {"inst", true},
		"sm__maximum_warps_per_active_cycle_pct":            {"%", false},
		"smsp__average_warps_active.ratio":                  {"warp", false},
		"sm__sass_thread_inst_executed_op_hfma_pred_on.sum": {"inst", true},
	} {
		if got := additive(name, test.unit); got != test.want {
			t.Errorf("Additive(%q, %q) = %v", name, test.unit, got)
		}
	}
}

// scopeOf is what a part is of.
func scopeOf(p RegionPart) string {
	switch {
	case p.Process != nil:
		return scopeProcess
	case p.Device != nil:
		return scopeDevice
	}
	return scopeAll
}
