package pick

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/fact"
)

// unequal is a program whose decode takes most of the time: eight kernels of a
// prefill, of which only one is also of the decode.
func unequal() *Launches {
	b := newBuilder()
	thread := b.process(10, 1)
	queue := b.queue(0, 0, 7)
	kernel := func(name string) uint32 { return b.function("_Z"+name, name+"()", name) }
	size := b.config([3]int32{8, 1, 1}, [3]int32{128, 1, 1}, 0)
	done := b.push(thread, "prefill")
	b.launch(thread, queue, kernel("shared"), size, 10000)
	for i := range 7 {
		b.launch(thread, queue, kernel(fmt.Sprint("prefill", i)), size, int64(40000-5000*i))
	}
	done()
	done = b.push(thread, "decode")
	for range 1000 {
		b.launch(thread, queue, kernel("shared"), size, 10000)
		b.launch(thread, queue, kernel("decode"), size, 10000)
	}
	done()
	return b.load()
}

func TestCoverageOfEachRegion(t *testing.T) {
	l := unequal()
	for _, test := range []struct {
		name    string
		policy  Policy
		chosen  int
		reached string
		prefill float64 // covered at least
		below   float64
		short   int // regions that a limit keeps from the goal
	}{
		{"one region", Policy{Include: []string{"decode"}, Coverage: 0.95}, 2, "all", 0, 1, 0},
		{"no region", Policy{Coverage: 0.95}, 9, "coverage", 0.95, 1.01, 0}, // each outermost one
		{"no region, top_n", Policy{Coverage: 0.95, TopN: 4}, 4, "top_n", 0.3, 0.5, 1},
		{"both", Policy{Include: []string{"prefill", "decode"}, Coverage: 0.95}, 9, "coverage", 0.95, 1.01, 0},
		{"less of both", Policy{Include: []string{"prefill", "decode"}, Coverage: 0.7}, 6, "coverage", 0.7, 0.8, 0},
		{"top_n", Policy{Include: []string{"prefill", "decode"}, Coverage: 0.95, TopN: 4}, 4, "top_n", 0.3, 0.5, 1},
		{"budget", Policy{Include: []string{"prefill", "decode"}, Coverage: 0.95, Budget: 10000 * time.Millisecond}, 4, "budget_s", 0.3, 0.5, 1},
		{"one range in another", Policy{Include: []string{"prefill", "regex:prefil."}, Coverage: 0.7}, 4, "coverage", 0.7, 0.8, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Choose(l, test.policy)
			if err != nil {
				t.Fatal(err)
			}
			checkPlan(t, l, got)
			checkVerify(t, l, got)
			if len(got.Groups) != test.chosen || got.Limits.Reached != test.reached {
				t.Errorf("%d groups, %s; want %d, %s", len(got.Groups), got.Limits.Reached, test.chosen, test.reached)
			}
			if want := cmp.Or(len(test.policy.Include), 2); len(got.Predicted.CoverageByRegion) != want {
				t.Errorf("regions %+v", got.Predicted.CoverageByRegion)
			}
			for _, r := range got.Predicted.CoverageByRegion {
				if strings.TrimSuffix(r.Expr, "/") == "prefill" && (r.Coverage < test.prefill || r.Coverage >= test.below || r.NS != 185000) {
					t.Errorf("%+v, want %g to %g", r, test.prefill, test.below)
				}
			}
			short := 0
			for _, r := range got.Predicted.CoverageByRegion {
				if r.Why != nil && r.Why.Is(map[string]fact.Code{"top_n": limitTopN, "budget_s": limitBudget}[test.reached]) {
					short++
				}
			}
			if short != test.short {
				t.Errorf("regions %+v", got.Predicted.CoverageByRegion)
			}
		})
	}
}

// TestRegionsAreServedInOrder: by total time first, then what a region lacks,
// its largest share first, with the reason.
func TestRegionsAreServedInOrder(t *testing.T) {
	got, err := Choose(unequal(), Policy{Include: []string{"prefill", "decode"}, Coverage: 0.95})
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, g := range got.Groups {
		order = append(order, g.Function)
		if of := strings.HasPrefix(g.Function, "prefill"); of != (g.Reason.Is(chosenByRegion) && g.Reason.Text("region") == "prefill" && g.Reason.Number("enough") == 0.95) || !of && !g.Reason.Is(chosenByRank) {
			t.Errorf("%s: %+v", g.Function, g.Reason)
		}
	}
	if want := []string{"shared", "decode", "prefill0", "prefill1", "prefill2", "prefill3", "prefill4", "prefill5", "prefill6"}; !slices.Equal(order, want) {
		t.Errorf("order %q", order)
	}
	if reason := got.Groups[2].Reason; math.Round(1000*reason.Number("of_region")) != 216 || math.Round(1000*reason.Number("covered")) != 270 {
		t.Errorf("reason %+v", reason)
	}
}

// TestAlongCounts: what the filter lets through covers as well, so that fewer
// groups need be chosen.
func TestAlongCounts(t *testing.T) {
	b := newBuilder()
	thread := b.process(10, 1)
	queue := b.queue(0, 0, 7)
	for i, k := range []struct {
		name string
		ns   int64
	}{{"a", 50000}, {"b", 20000}, {"c", 16000}, {"a", 14000}} {
		b.launch(thread, queue, b.function("_Z"+k.name, k.name+"()", k.name), b.config([3]int32{int32(1 + i), 1, 1}, [3]int32{32, 1, 1}, 0), k.ns)
	}
	l := b.load()
	got, err := Choose(l, Policy{Coverage: 0.84, Partial: true})
	if err != nil {
		t.Fatal(err)
	}
	checkPlan(t, l, got)
	chosen := map[string]bool{}
	for _, g := range got.Groups {
		chosen[g.Function+fmt.Sprint(g.Grid[0])] = g.Chosen
	}
	if is, ok := chosen["a4"]; len(chosen) != 3 || !chosen["a1"] || !chosen["b2"] || is || !ok || got.Predicted.CoverageRegions != 0.84 {
		t.Errorf("groups %v cover %g", chosen, got.Predicted.CoverageRegions)
	}
}

// TestOlderTargets: a file without coverage by region is read, and verified with
// it.
func TestOlderTargets(t *testing.T) {
	l := unequal()
	got, err := Choose(l, Policy{Include: []string{"prefill", "decode"}})
	if err != nil {
		t.Fatal(err)
	}
	got.Predicted.CoverageByRegion = nil
	text, err := json.Marshal(got)
	if err != nil || strings.Contains(string(text), "coverage_by_region") {
		t.Fatalf("the field is not left out: %v", err)
	}
	old, err := ParseTargets(text)
	if err != nil {
		t.Fatal(err)
	}
	v, err := Verify(old, resultsOf(l, plannedIDs(&old.Runs[0])), l)
	if want := []RegionCoverage{{Expr: "prefill/", NS: 185000, Coverage: 1}, {Expr: "decode/", NS: 20000000, Coverage: 1}}; err != nil || !slices.Equal(v.CoverageByRegion, want) {
		t.Errorf("%+v, %v", v.CoverageByRegion, err)
	}
}

// TestCoverageReachedWords: regions are spoken of where some were named.
func TestCoverageReachedWords(t *testing.T) {
	l := load(t, "llm")
	for _, test := range []struct {
		include []string
		each    bool // the limit is spoken of each region
	}{
		{nil, true}, // of each outermost one
		{[]string{"prefill", "decode"}, true},
	} {
		got, err := Choose(l, Policy{Include: test.include, Coverage: 0.8})
		if err != nil {
			t.Fatal(err)
		}
		if got.Limits.Reached != "coverage" || !slices.ContainsFunc(got.LeftOut, func(o LeftOut) bool {
			return o.Reason.Is(limitCoverage) && o.Reason.Number("share") == 0.8 && (o.Reason.Text("each_region") != "") == test.each
		}) {
			t.Errorf("%v: %+v", test.include, got.LeftOut)
		}
	}
}
