package html

import (
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/analysis"
)

// Counters of launches outside nested ranges stand beside those of all, where
// the two differ.
func TestExclusiveCounters(t *testing.T) {
	r := sample()
	r.Regions[0].Counters = &analysis.RegionCounters{
		Method: "kernel", Coverage: 0.93,
		Metrics:   []analysis.RegionMetric{{Name: "dram__bytes.sum", Unit: "byte", Value: 8e9, How: "sum"}, {Name: "lts__t_sector_hit_rate.pct", Unit: "%", Value: 45, How: "mean"}},
		Exclusive: &analysis.ExclusiveCounters{Coverage: 0.5, Metrics: []analysis.RegionMetric{{Name: "dram__bytes.sum", Unit: "byte", Value: 8e8, How: "sum"}}},
	}
	p := open(t, r)
	p.click(`#region-tree tr[data-region="0"]`)
	p.wait(`document.querySelector("#region-detail h3")?.textContent === "prefill"`)
	got := strings.ReplaceAll(p.text("#region-detail"), "\u00a0", " ")
	for _, want := range []string{"covering 93.0 % of its GPU time (50.0 % outside nested ranges)", "Outside nested regions", "dram__bytes.sum 8.00 GB 800 MB sum", "lts__t_sector_hit_rate.pct 45.0 % n/a mean"} {
		if !strings.Contains(got, want) {
			t.Errorf("the detail does not say %q: %s", want, got)
		}
	}
	p.click(`#region-tree tr[data-region="2"]`)
	p.wait(`document.querySelector("#region-detail h3")?.textContent === "prefill/attn"`)
	if got := p.text("#region-detail"); !strings.Contains(got, "Value") || strings.Contains(got, "nested regions") {
		t.Errorf("a region without nested ones: %s", got)
	}
}
