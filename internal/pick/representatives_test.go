package pick

import (
	"math"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/timeline"

	"github.com/deepprof/deepprof/internal/nvtx"
)

const (
	bytesMetric = "dram__bytes.sum"
	busyMetric  = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
)

// A madeMode is synthetic launches of one kernel and grid in a region.
type madeMode struct {
	path string
	n    int
	ns   int64
}

// bimodal makes a synthetic timeline of one kernel with one grid, whose launches
// differ in work.
func bimodal(modes ...madeMode) *Launches {
	b := newBuilder()
	thread := b.process(10, 1)
	queue := b.queue(0, 0, 7)
	f, c := b.function("_Zg", "gemm()", "gemm"), b.config([3]int32{2, 64, 1}, [3]int32{384, 1, 1}, 0)
	for _, m := range modes {
		var ends []func()
		for _, name := range strings.Split(m.path, "/") {
			ends = append(ends, b.push(thread, name))
		}
		for range m.n {
			b.launch(thread, queue, f, c, m.ns)
		}
		for i := len(ends) - 1; i >= 0; i-- {
			ends[i]()
		}
	}
	return b.load()
}

// gemm is a synthetic result of that kernel.
func gemm(path string, under int64, values ...MetricValue) Counted {
	var stack []nvtx.Range
	for _, name := range strings.Split(path, "/") {
		stack = append(stack, nvtx.Range{Name: name})
	}
	return Counted{
		Mangled: "_Zg", Function: "gemm", Grid: [3]int32{2, 64, 1}, Block: [3]int32{384, 1, 1}, DurationNS: under,
		HasState: true, State: nvtx.State{Stacks: [][]nvtx.Range{stack}}, Metrics: values,
	}
}

// matched places results at launches that were planned, of a role and duration.
func matched(l *Launches, matches ...Match) *Verification {
	for i := range matches {
		m := &matches[i]
		m.Result, m.Group, m.Verdict, m.RegionInPlan = i, l.groups[0].id, Sound, true
		m.Launch = i + 1
	}
	return &Verification{Matches: matches}
}

func regionsOf(t *testing.T, l *Launches, results []Counted, v *Verification) *RegionReport {
	t.Helper()
	if v == nil {
		survey, err := Survey(l, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if v, err = Verify(survey, results, l); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Regions(l, results, v, RegionOptions{Aggregate: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestLaunchesOfOtherDurations: on synthetic groups of two kinds of launches, one
// like the counted one counts as it is and another by its time.
func TestLaunchesOfOtherDurations(t *testing.T) {
	long := 19.3 / 9.2 // times as long as the counted one
	two := []madeMode{{"prefill/attn", 16, 9200}, {"prefill/mlp", 8, 19300}}
	short := MetricValue{bytesMetric, "byte", 100}
	tests := []struct {
		name    string
		modes   []madeMode
		results []Counted
		planned []Match // nil: none of the results was planned
		moved   bool    // counted in another region than planned
		want    float64
		scaled  int64
	}{
		{"one of the short ones", two, []Counted{gemm("prefill/attn", 9700, short)}, []Match{{Role: RoleTypical, TimelineNS: 9200}}, false,
			100 * (16 + 8*long), 8 * 19300},
		{"the slowest as well", two, []Counted{gemm("prefill/attn", 9700, short), gemm("prefill/mlp", 20000, MetricValue{bytesMetric, "byte", 270})},
			[]Match{{Role: RoleTypical, TimelineNS: 9200}, {Role: RoleSlowest, TimelineNS: 19300}}, false, 16*100 + 8*270, 0},
		{"of two alike the typical one", two[:1], []Counted{gemm("prefill/attn", 9700, MetricValue{bytesMetric, "byte", 107}), gemm("prefill/attn", 9700, short)},
			[]Match{{Role: RoleSlowest, TimelineNS: 10100}, {Role: RoleTypical, TimelineNS: 9200}}, false, 1600, 0},
		{"the mean of equals", two[:1], []Counted{gemm("prefill/attn", 9700, MetricValue{bytesMetric, "byte", 104}), gemm("prefill/attn", 9700, short)},
			[]Match{{Role: RoleSame, TimelineNS: 9300}, {Role: RoleSame, TimelineNS: 9200}}, false, 16 * 102, 0},
		{"within a quarter", []madeMode{{"prefill", 5, 9200}, {"prefill", 5, 11400}}, []Counted{gemm("prefill", 9700, short)},
			[]Match{{Role: RoleTypical, TimelineNS: 9200}}, false, 1000, 0},
		{"very short ones vary anyway", []madeMode{{"decode", 5, 900}, {"decode", 5, 1390}}, []Counted{gemm("decode", 2100, short)},
			[]Match{{Role: RoleTypical, TimelineNS: 900}}, false, 1000, 0},
		{"not planned: the regions tell", two, []Counted{gemm("prefill/mlp", 0, MetricValue{bytesMetric, "byte", 270})}, nil, false,
			270 * (8 + 16/long), 16 * 9200},
		{"not planned: the time under ncu tells", []madeMode{{"prefill", 16, 9200}, {"prefill", 8, 19300}}, []Counted{gemm("prefill", 20900, MetricValue{bytesMetric, "byte", 270})}, nil, false,
			270 * (8 + 16/long), 16 * 9200},
		{"planned in another region", two, []Counted{gemm("prefill/mlp", 20900, MetricValue{bytesMetric, "byte", 270})},
			[]Match{{Role: RoleTypical, TimelineNS: 9200}}, true, 270 * (8 + 16/long), 16 * 9200},
		{"a duration that is not known", two[:1], []Counted{gemm("prefill/attn", 9700, short)}, []Match{{Role: RoleTypical}}, false, 1600, 0},
	}
	for _, test := range tests {
		l := bimodal(test.modes...)
		var v *Verification
		if test.planned != nil {
			v = matched(l, test.planned...)
			for i := range v.Matches {
				v.Matches[i].RegionInPlan = !test.moved
			}
		}
		tape := l.at.Tape(l.at, nil)
		r := regionsOf(t, LoadTape(l.at, tape), test.results, v)
		root, _, _ := strings.Cut(test.modes[0].path, "/")
		sums := &region(t, r, root).Parts[0].Inclusive
		got := metricOf(t, sums, bytesMetric)
		if math.Abs(got.Value-test.want) > 1e-9*test.want || got.Coverage != 1 || sums.Coverage != 1 {
			t.Errorf("%s: %g, want %g (coverage %g)", test.name, got.Value, test.want, got.Coverage)
		}
		if sums.ScaledNS != test.scaled {
			t.Errorf("%s: %d ns by time, want %d", test.name, sums.ScaledNS, test.scaled)
		}
		if amount, scaled := sumByLaunch(r, test.results, tape, root); math.Abs(amount-got.Value) > 1e-9*test.want || scaled != test.scaled {
			t.Errorf("%s: launch by launch %g and %d ns, in the region %g", test.name, amount, scaled, got.Value)
		}
	}
}

// sumByLaunch adds the bytes of launches up one by one, by Stand.
func sumByLaunch(r *RegionReport, results []Counted, tape *timeline.Tape, path string) (float64, int64) {
	sum, scaledNS := 0.0, int64(0)
	for w := tape.Work(); w.Next(); {
		byTime := false
		r.Stand(w.Kind(), w.NS(), path, func(result int, amount float64, scaled bool) {
			m, _ := results[result].Metric(bytesMetric)
			sum += amount * m.Value
			byTime = byTime || scaled
		})
		if byTime {
			scaledNS += w.NS()
		}
	}
	return sum, scaledNS
}

// TestUniformGroupsAreExact: n equal launches of a synthetic group give n times
// the value, to the bit.
func TestUniformGroupsAreExact(t *testing.T) {
	l := bimodal(madeMode{"prefill", 24, 9200})
	value := 0.1 + 4.29e9
	r := regionsOf(t, l, []Counted{gemm("prefill", 9700, MetricValue{bytesMetric, "byte", value})}, matched(l, Match{Role: RoleTypical, TimelineNS: 9200}))
	sums := &region(t, r, "prefill").Parts[0].Inclusive
	if m := metricOf(t, sums, bytesMetric); m.Value != 24*value || sums.ScaledNS != 0 {
		t.Errorf("%v, want %v; %d ns by time", m.Value, 24*value, sums.ScaledNS)
	}
}

// TestScaledRegionsAddUp: children and what lies in the parent alone make the
// parent, in synthetic bimodal groups too, and means go by time.
func TestScaledRegionsAddUp(t *testing.T) {
	l := bimodal(madeMode{"prefill/attn", 16, 9200}, madeMode{"prefill/mlp", 8, 19300}, madeMode{"prefill", 3, 30000})
	results := []Counted{
		gemm("prefill/attn", 9700, MetricValue{bytesMetric, "byte", 100}, MetricValue{busyMetric, "%", 40}),
		gemm("prefill/mlp", 20000, MetricValue{busyMetric, "%", 70}), // bytes were not asked for
	}
	r := regionsOf(t, l, results, matched(l, Match{Role: RoleTypical, TimelineNS: 9200}, Match{Role: RoleUnasked, TimelineNS: 19300}))
	whole := region(t, r, "prefill").Parts[0]
	attn, mlp := &region(t, r, "prefill/attn").Parts[0].Inclusive, &region(t, r, "prefill/mlp").Parts[0].Inclusive
	parts := metricOf(t, attn, bytesMetric).Value + metricOf(t, mlp, bytesMetric).Value + metricOf(t, &whole.Exclusive, bytesMetric).Value
	sum := metricOf(t, &whole.Inclusive, bytesMetric).Value
	if want := 100 * (16 + (8*19.3+3*30)/9.2); math.Abs(sum-want) > 1e-9*want || math.Abs(parts-want) > 1e-9*want {
		t.Errorf("%g in all, %g in parts, want %g", sum, parts, want)
	}
	if s := whole.Inclusive.ScaledNS; s != 90000 || s != attn.ScaledNS+mlp.ScaledNS+whole.Exclusive.ScaledNS {
		t.Errorf("%d ns by time in all; %d, %d and %d in parts", s, attn.ScaledNS, mlp.ScaledNS, whole.Exclusive.ScaledNS)
	}
	if m, want := metricOf(t, &whole.Inclusive, busyMetric), (40*16*9.2+70*(8*19.3+3*30))/(16*9.2+8*19.3+3*30); math.Abs(m.Value-want) > 1e-9 {
		t.Errorf("a mean of %g, want %g", m.Value, want)
	}
	if attn.ElsewhereNS != 0 || mlp.ElsewhereNS != 0 || whole.Inclusive.ElsewhereNS != 0 {
		t.Errorf("elsewhere: %d, %d, %d", attn.ElsewhereNS, mlp.ElsewhereNS, whole.Inclusive.ElsewhereNS)
	}
	if p := r.Part("prefill/mlp", "pushpop", "", nil, nil); p == nil || p.Inclusive.KernelNS != 8*19300 {
		t.Errorf("part %+v", p)
	}
	if p := r.Part("prefill/none", "pushpop", "", nil, nil); p != nil {
		t.Errorf("part %+v", p)
	}
}

// Metric looks a value up by its name.
func (c *Counted) Metric(name string) (MetricValue, bool) {
	for _, m := range c.Metrics {
		if m.Name == name {
			return m, true
		}
	}
	return MetricValue{}, false
}
