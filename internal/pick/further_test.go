package pick

import (
	"slices"
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/fact"
)

// roles counts the planned launches by role and gives the durations of those of
// other durations.
func roles(t *Targets) (count map[string]int, others []int64) {
	count = map[string]int{}
	for _, r := range t.Runs {
		for _, p := range r.Planned {
			if count[p.Role]++; p.Role == RoleOther {
				others = append(others, p.DurationNS)
			}
		}
	}
	return count, others
}

// spread makes launches of n durations, each a third longer than the last.
func spread(n int) (out []madeMode) {
	ns := 1000.0
	for range n {
		out = append(out, madeMode{"prefill", 1, int64(ns)})
		ns *= 1.3
	}
	return out
}

// TestFurtherLaunches: synthetic groups of launches that differ in work get a
// counted launch for each duration that matters, and no more.
func TestFurtherLaunches(t *testing.T) {
	two := []madeMode{{"prefill", 16, 9200}, {"prefill", 8, 19300}}
	for _, c := range []struct {
		name   string
		modes  []madeMode
		policy Policy
		others []int64
		warn   fact.Code
	}{
		{"not asked for", two, Policy{}, nil, ""},
		{"half of the time", two, Policy{Alike: 0.95}, []int64{19300}, ""},
		{"enough without", two, Policy{Alike: 0.4}, nil, ""},
		{"three durations", append(two, madeMode{"prefill", 6, 40000}), Policy{Alike: 0.95}, []int64{19300, 40000}, ""},
		{"the largest first", append(two, madeMode{"prefill", 1, 40000}), Policy{Alike: 0.8}, []int64{19300}, ""},
		{"within a quarter", []madeMode{{"prefill", 5, 9200}, {"prefill", 4, 11400}}, Policy{Alike: 0.95}, nil, ""},
		{"a small part of all and a large one of a region", []madeMode{{"decode", 1000, 9200}, {"prefill", 2, 19300}},
			Policy{Alike: 0.95, Include: []string{"prefill", "decode"}}, []int64{19300}, ""},
		{"the same without regions", []madeMode{{"decode", 1000, 9200}, {"prefill", 2, 19300}}, Policy{Alike: 0.95}, nil, ""},
		{"spread out: not worth it", spread(60), Policy{Alike: 0.95}, nil, whySpread},
		{"no budget", two, Policy{Alike: 0.95, Budget: 8500 * time.Millisecond}, nil, whyBudget},
		{"cannot be numbered", two, Policy{Alike: 0.95, Partial: true}, nil, whyPartial},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := bimodal(c.modes...)
			got, err := Choose(l, c.policy)
			if err != nil {
				t.Fatal(err)
			}
			checkPlan(t, l, got)
			checkVerify(t, l, got)
			count, others := roles(got)
			if len(others) != len(c.others) || count[RoleTypical] != 1 {
				t.Fatalf("roles %v, other durations %v", count, others)
			}
			for i, ns := range c.others {
				if others[i] != ns {
					t.Errorf("other durations %v, not %v", others, c.others)
				}
			}
			if counts := got.Groups[0].Counts; counts == nil || slices.Contains(counts.Params["others"].List, "19300 ns") != (len(c.others) > 0) {
				t.Errorf("counts %+v", counts)
			}
			if why := got.Groups[0].Reason; !why.Is(chosenByRank, chosenByRegion) {
				t.Errorf("why the group: %+v", why)
			}
			said := func(w Reason) bool { return w.Is(scaledLaunches) && w.Params["why"].Facts[0].Is(c.warn) }
			if c.warn == "" && len(got.Warnings) > 0 || c.warn != "" && !slices.ContainsFunc(got.Warnings, said) {
				t.Errorf("warnings %v", got.Warnings)
			}
			if slices.ContainsFunc(got.Trade, func(f fact.Fact) bool { return f.Is(tradeFurther) }) != (len(c.others) > 0) {
				t.Errorf("trade %+v", got.Trade)
			}
		})
	}
}

// TestFurtherLaunchesOfLlama: on the recorded Llama the launches beside the typical
// ones are few, and what is left to guesses is what was allowed.
func TestFurtherLaunchesOfLlama(t *testing.T) {
	l := load(t, "llm")
	policy := Policy{Include: []string{"prefill", "decode"}, Coverage: 0.95}
	before, err := Choose(l, policy)
	if err != nil {
		t.Fatal(err)
	}
	policy.Alike = 0.95
	after, err := Choose(l, policy)
	if err != nil {
		t.Fatal(err)
	}
	checkPlan(t, l, after)
	checkVerify(t, l, after)
	count, _ := roles(after)
	t.Logf("%d launches, %.0f s; with other durations %d, %.0f s: %v", before.Predicted.Launches, before.Predicted.Seconds, after.Predicted.Launches, after.Predicted.Seconds, count)
	if count[RoleOther] == 0 || len(after.Warnings) > len(before.Warnings) {
		t.Errorf("roles %v, warnings %v", count, after.Warnings)
	}
	if after.Predicted.Seconds > before.Predicted.Seconds+before.Predicted.ProgramSeconds+startSeconds+5 {
		t.Errorf("%.0f s became %.0f s", before.Predicted.Seconds, after.Predicted.Seconds)
	}
	if after.Predicted.Processes != 1 {
		t.Errorf("%d processes", after.Predicted.Processes)
	}
	for _, r := range after.Predicted.CoverageByRegion {
		if r.Coverage < policy.Coverage {
			t.Errorf("%s is covered to %g", r.Expr, r.Coverage)
		}
	}
}

// TestResultsGoToTheirRun: where the first process missed a kernel, what the
// second one counted of it is still the launch planned there.
func TestResultsGoToTheirRun(t *testing.T) {
	l := bimodal(madeMode{"prefill", 16, 9200}, madeMode{"prefill", 8, 19300})
	targets, err := Choose(l, Policy{Alike: 0.95})
	if err != nil {
		t.Fatal(err)
	}
	all := targets.Runs[0].Planned
	if len(all) != 2 || len(targets.Runs) != 1 {
		t.Fatalf("%d launches in %d runs", len(all), len(targets.Runs))
	}
	targets.Runs = []Run{{Planned: all[:1], Report: "ncu/run.ncu-rep"}, {Planned: all[1:], Report: "ncu/run2/run.ncu-rep"}}
	result := gemm("prefill", 20900)
	result.Report = "ncu/run2/run.ncu-rep"
	v, err := Verify(targets, []Counted{result}, l)
	if err != nil {
		t.Fatal(err)
	}
	if m := v.Matches[0]; m.Launch != all[1].ID || m.TimelineNS != 19300 || m.Verdict != Sound {
		t.Errorf("%+v", m)
	}
	if len(v.MissingLaunches) != 1 || v.MissingLaunches[0].ID != all[0].ID {
		t.Errorf("missing: %+v", v.MissingLaunches)
	}
}

// TestLongLaunchAlone: where only the longer of two planned launches was counted,
// its duration tells which one it is.
func TestLongLaunchAlone(t *testing.T) {
	l := bimodal(madeMode{"prefill", 16, 9200}, madeMode{"prefill", 8, 19300})
	got, err := Choose(l, Policy{Alike: 0.95})
	if err != nil {
		t.Fatal(err)
	}
	c := gemm("prefill", 20300, MetricValue{bytesMetric, "byte", 270}) // the long one alone was counted
	v, err := Verify(got, []Counted{c}, l)
	if err != nil {
		t.Fatal(err)
	}
	if m := v.Matches[0]; m.TimelineNS != 19300 {
		t.Errorf("%d ns under ncu matched to %d ns, %s, %s", m.DurationNS, m.TimelineNS, m.Role, m.Verdict)
	}
}

// TestDurationsTellProcessesApart: a report may list one process after the other,
// the plan has their launches in the order of time.
func TestDurationsTellProcessesApart(t *testing.T) {
	b := newBuilder()
	t1, t2 := b.process(10, 1), b.process(20, 1)
	q1, q2 := b.queue(0, 0, 7), b.queue(1, 0, 7)
	f, c := b.function("_Zg", "gemm()", "gemm"), b.config([3]int32{2, 64, 1}, [3]int32{384, 1, 1}, 0)
	e1, e2 := b.push(t1, "prefill"), b.push(t2, "prefill")
	for i := range 24 {
		ns := int64(9200)
		if i >= 16 {
			ns = 16000
		}
		b.launch(t1, q1, f, c, ns)
		b.launch(t2, q2, f, c, ns)
	}
	e2()
	e1()
	l := b.load()
	got, err := Choose(l, Policy{Alike: 0.95, Include: []string{"prefill"}})
	if err != nil {
		t.Fatal(err)
	}
	var rs []Counted
	for i := range got.Runs {
		for _, pid := range []int{10, 20} { // one process after the other in the report
			for _, p := range got.Runs[i].Planned {
				if p.Process == pid {
					rs = append(rs, gemm("prefill", p.DurationNS+1000, MetricValue{bytesMetric, "byte", float64(p.DurationNS)}))
				}
			}
		}
	}
	v, err := Verify(got, rs, l)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range v.Matches {
		if m.DurationNS-m.TimelineNS != 1000 {
			t.Errorf("%d ns under ncu matched to %d ns, %s", m.DurationNS, m.TimelineNS, m.Verdict)
		}
	}
}

// targets.json of earlier versions has texts for reasons.
func TestReasonOfAnEarlierVersion(t *testing.T) {
	const text = "rank 10 by GPU time: 3.2 % of the chosen regions in 528 launches; with it 62.9 % are covered"
	got, err := ParseTargets([]byte(`{"schema":1,"groups":[{"reason":"` + text + `"}],"left_out":[{"reason":""}],"ladder":[{"mode":"range","reason":"it hung"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if r := got.Groups[0].Reason; !r.Is(fact.Text) || r.Text("text") != text || !got.LeftOut[0].Reason.IsZero() || got.Ladder[0].Reason.Text("text") != "it hung" {
		t.Errorf("%+v", got)
	}
}

// TestRetryOfTypical: that a launch of another duration was asked for by number
// does not close this way for the typical one.
func TestRetryOfTypical(t *testing.T) {
	l := bimodal(madeMode{"prefill", 16, 9200}, madeMode{"prefill", 8, 19300})
	policy := Policy{Alike: 0.95}
	targets, err := Choose(l, policy)
	if err != nil {
		t.Fatal(err)
	}
	var typical, other []Planned
	for _, p := range targets.Runs[0].Planned {
		if p.Role == RoleOther {
			other = append(other, p)
		} else {
			typical = append(typical, p)
		}
	}
	targets.Runs = []Run{{Way: WayPerConfig, Planned: typical}, {Way: WayNumbers, Planned: other}}
	again, err := retry(targets, []Missing{{Group: targets.Groups[0].ID}}, l, policy)
	if err != nil || len(other) != 1 || len(again) != 1 || again[0].Way != WayNumbers || !again[0].Retry {
		t.Errorf("%v: %d launches of another duration, again by %+v", err, len(other), again)
	}
}
