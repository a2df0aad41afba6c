package analysis

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/deepprof/deepprof/internal/pick"
)

// TestRegionsAddUp: what adds up over launches does over regions too: a region
// is the regions nested in it and its launches outside of them.
func TestRegionsAddUp(t *testing.T) {
	for _, c := range []struct {
		name     string
		fixtures []string
		apart    []string // regions with launches in and outside nested ones
		within   float64
	}{
		{"llm", []string{llmTimeline, llmCounters}, []string{"decode/step"}, 1e-9},
		// One kernel was counted in all three places, and its bytes differ by a
		// little: each place takes its own.
		{"toy", []string{toyTimeline, toyCounters}, []string{"prefill"}, 1e-9},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := analyzeFiles(t, c.fixtures...)
			var apart []string
			for i := range r.Regions {
				g := &r.Regions[i]
				if g.Counters == nil {
					continue
				}
				if g.Counters.Exclusive != nil {
					apart = append(apart, g.Path)
				}
				if len(sums(g.Counters.Metrics)) == 0 {
					t.Errorf("%s: nothing adds up", g.Path)
				}
				addsUp(t, r, i, c.within)
			}
			if !slices.Equal(apart, c.apart) {
				t.Errorf("exclusive counters in %q, want %q", apart, c.apart)
			}
		})
	}
}

func sums(list []RegionMetric) map[string]float64 {
	out := map[string]float64{}
	for _, m := range list {
		if m.How == pick.HowSum {
			out[m.Name] = m.Value
		}
	}
	return out
}

func addsUp(t *testing.T, r *Result, index int, within float64) {
	t.Helper()
	g := &r.Regions[index]
	got := map[string]float64{}
	add := func(list []RegionMetric) {
		for name, v := range sums(list) {
			got[name] += v
		}
	}
	switch x := g.Counters.Exclusive; {
	case x != nil:
		add(x.Metrics)
	case g.SelfKernels == g.Kernels:
		add(g.Counters.Metrics)
	case g.SelfKernels != 0:
		t.Errorf("%s: %d of %d launches are its own, and their counters are not told", g.Path, g.SelfKernels, g.Kernels)
	}
	for i := range r.Regions {
		if k := &r.Regions[i]; k.Parent == index && k.Counters != nil {
			add(k.Counters.Metrics)
		}
	}
	for name, want := range sums(g.Counters.Metrics) {
		if math.Abs(got[name]-want) > within*math.Abs(want) {
			t.Errorf("%s: %s is %g, and its parts make %g", g.Path, name, want, got[name])
		}
	}
}

// TestExclusiveCounters: they are there where launches in and outside nested
// regions differ, also where none outside was counted.
func TestExclusiveCounters(t *testing.T) {
	read := func(v, coverage float64) []pick.RegionMetric {
		return []pick.RegionMetric{{Name: "gpu__time_duration.sum", Value: 7, How: pick.HowSum}, {Name: "dram__bytes_read.sum", Unit: "byte", Value: v, How: pick.HowSum, Coverage: coverage}}
	}
	all := pick.RegionSums{Launches: 10, KernelNS: 1000, Coverage: 0.9, Metrics: read(64, 0.9)}
	patterned := all
	patterned.Launches, patterned.ExcludedLaunches = 6, 4
	process := 7
	for _, c := range []struct {
		name      string
		inclusive pick.RegionSums
		exclusive pick.RegionSums
		want      *ExclusiveCounters
	}{
		{"no nested region", all, all, nil},
		{"all nested", all, pick.RegionSums{}, nil},
		{"some nested", all, pick.RegionSums{Launches: 4, KernelNS: 400, Coverage: 0.8, Metrics: read(24, 0.6)}, &ExclusiveCounters{0.8, []RegionMetric{{"dram__bytes_read.sum", "byte", 24, pick.HowSum, new(0.6)}}}},
		{"outside not counted", all, pick.RegionSums{Launches: 4, KernelNS: 400}, &ExclusiveCounters{0, []RegionMetric{}}},
		{"outside left out by patterns", patterned, pick.RegionSums{ExcludedLaunches: 4, ExcludedNS: 400}, &ExclusiveCounters{0, []RegionMetric{}}},
		{"half of it left out", patterned, pick.RegionSums{Launches: 2, KernelNS: 200, ExcludedLaunches: 2, ExcludedNS: 200, Coverage: 1, Metrics: read(8, 1)}, &ExclusiveCounters{0.5, []RegionMetric{{"dram__bytes_read.sum", "byte", 8, pick.HowSum, nil}}}},
	} {
		row := &pick.Region{Parts: []pick.RegionPart{{}, {Process: &process, Inclusive: c.inclusive, Exclusive: c.exclusive}}}
		got, why := bare.judgment().regionCounters(row, &Region{Process: &process})
		if why != nil || !reflect.DeepEqual(got.Exclusive, c.want) {
			t.Errorf("%v: %+v %v, want %+v", c.name, got.Exclusive, why, c.want)
		}
	}
	whole := &pick.Region{Whole: &pick.WholeSums{Ranges: 1, Of: 1, Metrics: read(1, 1)}, Parts: []pick.RegionPart{{Inclusive: all, Exclusive: pick.RegionSums{Launches: 4}}}}
	if got, _ := bare.judgment().regionCounters(whole, &Region{}); got.Exclusive != nil {
		t.Errorf("a range that was measured as a whole was divided: %+v", got.Exclusive)
	}
}

// bare is an analysis with nothing but a result.
var bare = analyzerWith(Input{})
