package report

import (
	"math"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/timeline"
)

// ofNoColumn are the shares that have no column of what they are a part of: they
// are held against a peak, a limit or a number of runs.
var ofNoColumn = map[string]bool{
	"stages overhead": true, "stages mfu_analytic": true, "stages mfu_counters": true, "stages hfu_counters": true, "stages mbu_analytic": true, "stages mbu_counters": true,
	"operators limiter_share": true, "operators limiter_coverage": true, "roofline attained": true, "result_kernels level": true,
	"result_regions coverage": true, "result_regions own_coverage": true, "region_counters coverage": true,
	"layers mfu": true, "layers mfu_counters": true, "layers hfu_counters": true, "layers mbu_counters": true, "layers coverage": true,
	"use value": true, "use of_roof": true, "use coverage": true, "opportunities stage_gain": true, "run_stats success_rate": true,
}

// TestSharesNameTheirBase: every declared share is a part of a column beside it or
// of something that has none, and its title or help names the whole.
func TestSharesNameTheirBase(t *testing.T) {
	for _, v := range views() {
		info := v.Info()
		for _, c := range info.Columns {
			if c.Unit != "share" && c.Unit != "percent" {
				continue
			}
			if words := strings.ToLower(" " + c.Title + " " + c.Help); !strings.Contains(words, " of ") {
				t.Errorf("%s: %s (%s) does not say what it is a share of", info.Name, c.Key, c.Title)
			}
			if (c.Part == "") != ofNoColumn[info.Name+" "+c.Key] {
				t.Errorf("%s: %s is a part of the column %q", info.Name, c.Key, c.Part)
			}
		}
	}
}

// TestSharesAreOfTheirBase holds every share of every table of a result against the
// value beside it: value over share is the same whole for all rows.
func TestSharesAreOfTheirBase(t *testing.T) {
	for name, r := range cases(t) {
		if name == "full" || name == "doubtful" || name == "hostile" || name == "scope" || name == "timeline_only" {
			continue // made up by hand, and not by an analysis
		}
		n := newNames(r)
		checked := checkShares(t, name, resultKernelView, kernelLines(r, n, 5, true)) + checkShares(t, name, categoryView, pointers(r.Categories)) +
			checkShares(t, name, OperatorView, pointers(operatorRows(r, n, r.OperatorsByTotal()))) + checkShares(t, name, resultRegionView, pointers(regionLines(r))) +
			checkShares(t, name, StageView, stageRows(r)) + checkShares(t, name, opportunityView, opportunityLines(r)) + checkShares(t, name, laneView, laneLines(r, n))
		for i := range r.Regions {
			checked += checkShares(t, name, regionKernelView, regionKernels(r, n, &r.Regions[i]))
		}
		if (name == "llm" || name == "toy") && checked < 30 {
			t.Errorf("%s: only %d shares were checked", name, checked)
		}
	}
	rows := timeline.Rows[timeline.KernelRow]{Rows: []timeline.KernelRow{{Name: "a", TotalNS: 30, TimePct: 75}, {Name: "b", TotalNS: 10, TimePct: 20}}}
	probe := &testing.T{}
	var kernels []*KernelRow
	for _, k := range rows.Rows {
		kernels = append(kernels, &KernelRow{KernelRow: k})
	}
	if checkShares(probe, "probe", KernelView, kernels); !probe.Failed() {
		t.Error("a share of another whole passes")
	}
}

// checkShares counts the shares that it compared.
func checkShares[T any](t *testing.T, result string, v View[T], rows []*T) (checked int) {
	t.Helper()
	for i := range v.Columns {
		c := &v.Columns[i]
		if c.Part == "" {
			continue
		}
		wholes := map[string]float64{}
		for _, row := range rows {
			share, ok := number(deref(c.Value(row)))
			part, has := number(deref(v.column(c.Part).Value(row)))
			if !ok || !has || share == 0 {
				continue
			}
			within := ""
			if c.Within != "" {
				within = plain(v.column(c.Within).Value(row))
			}
			whole := part / share
			if known, ok := wholes[within]; ok && math.Abs(whole-known) > 1e-6*known {
				t.Errorf("%s: %s of %s is %v of %v, that is of %v, and others are of %v", result, c.Key, v.Name, share, part, whole, known)
			}
			wholes[within] = whole
			checked++
		}
	}
	return checked
}

// The whole of a region's share is the GPU time of the scope.
func TestRegionSharesAreOfTheScope(t *testing.T) {
	r := scoped()
	r.Derive()
	for _, g := range regionLines(r) {
		if g.Region.Share != nil && math.Abs(*g.Region.Share*float64(r.Scope.KernelNS)-float64(*g.ScopeNS)) > 1 {
			t.Errorf("%s: %v of %d is not %d", g.Path, *g.Region.Share, r.Scope.KernelNS, *g.ScopeNS)
		}
	}
	if g := regionLines(r)[3]; !g.outside || g.Region.Share != nil {
		t.Errorf("%s lies outside: %v", g.Path, g.Region.Share)
	}
}
