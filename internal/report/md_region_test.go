package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/analysis"
)

// nestedCounters has a region with launches in and outside a nested one.
func nestedCounters() *analysis.Result {
	r := sample()
	r.Regions[0].SelfKernels, r.Regions[0].SelfNS = 40, 1_600_000
	r.Regions[0].Counters = &analysis.RegionCounters{
		Method: "kernel", Coverage: 0.982,
		Metrics:   []analysis.RegionMetric{{Name: "dram__bytes.sum", Unit: "byte", Value: 1.9e10, How: "sum"}, {Name: "lts__t_sector_hit_rate.pct", Unit: "%", Value: 45, How: "mean"}},
		Exclusive: &analysis.ExclusiveCounters{Coverage: 0.75, Metrics: []analysis.RegionMetric{{Name: "dram__bytes.sum", Unit: "byte", Value: 4e9, How: "sum"}}},
	}
	return r
}

// TestExclusiveBesideInclusive: both are shown where they differ, on the page of
// the region and in the sections of what is nested.
func TestExclusiveBesideInclusive(t *testing.T) {
	r := nestedCounters()
	var b strings.Builder
	if err := regionPage(&b, r, 0); err != nil {
		t.Fatal(err)
	}
	checkMarkdown(t, b.String())
	golden(t, filepath.Join("testdata", "golden", "nested", "region.md"), []byte(b.String()))
	r.Regions[0].Counters.Exclusive = nil
	b.Reset()
	if err := regionPage(&b, r, 0); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); !strings.Contains(got, " Value | Over the region |") || strings.Contains(got, "Outside nested") {
		t.Errorf("without nested launches there is one column:\n%s", got)
	}
	r = nestedCounters()
	outer := analysis.Region{Path: "run", Name: "run", Parent: -1, Instances: 1, WallNS: 90_000_000, Kernels: 180, KernelNS: 9_000_000}
	r.Regions[0].Parent, r.Regions[0].Depth = 0, 1
	r.Regions = []analysis.Region{outer, r.Regions[0]}
	b.Reset()
	if err := regionPage(&b, r, 0); err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(b.String(), "## Nested: `decode`")
	if !ok || !strings.Contains(section, "Outside nested regions") {
		t.Errorf("the section of a nested region:\n%s", b.String())
	}
}

func TestIndexHasOwnCoverage(t *testing.T) {
	for _, c := range []struct {
		r    *analysis.Result
		want bool
	}{{nestedCounters(), true}, {sample(), false}} {
		dir := t.TempDir()
		if _, err := WriteRegionReports(dir, c.r); err != nil {
			t.Fatal(err)
		}
		page, err := os.ReadFile(filepath.Join(dir, "report.md"))
		if err != nil {
			t.Fatal(err)
		}
		checkMarkdown(t, string(page))
		if got := strings.Contains(string(page), "Counted, of own %"); got != c.want {
			t.Errorf("own coverage %t, want %t:\n%s", got, c.want, page)
		}
	}
}

// A range that ncu measured as a whole has its place on the roofline, and no wall
// time.
func TestRangeOnTheRoofline(t *testing.T) {
	r := sample()
	g := &r.Regions[2]
	g.Times, g.WallNS, g.Split, g.Top, g.ProjectedNS = "ncu", 0, analysis.Split{}, nil, 2_498_400
	g.Counters = &analysis.RegionCounters{Method: "range", Coverage: 1, Limiter: &analysis.Limiter{Kind: "l1", Units: []string{"l1"}, Level: at(0.73)},
		Point: []analysis.Point{{DType: "fp32", Memory: "dram", Intensity: 12.5, FLOPS: 3e12, Attained: 0.05, NS: 2_498_400}}}
	var b strings.Builder
	if err := regionPage(&b, r, 2); err != nil {
		t.Fatal(err)
	}
	checkMarkdown(t, b.String())
	text := blanks.ReplaceAllString(b.String(), " ")
	for _, want := range []string{"| fp32 | dram | 12.5 | 3.00 TFLOP/s | 5.0 % |", "Limiter: L1 cache or shared memory."} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	if strings.Contains(text, "Wall time") {
		t.Errorf("a wall time that nobody measured: %s", text)
	}
}
