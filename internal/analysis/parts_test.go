package analysis

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/deepprof/deepprof/internal/timeline"
)

// TestSeveralTimelines holds that a second timeline changes nothing in what is
// said of the first, that both have a row, and that sums are sums.
func TestSeveralTimelines(t *testing.T) {
	toy, llm := unpacked(t, toyTimeline), unpacked(t, llmTimeline)
	alone := analyzed(t, Input{Timelines: []string{toy}})
	if alone.Parts != nil || alone.Across != nil {
		t.Errorf("one timeline has parts: %+v", alone.Parts)
	}
	both := analyzed(t, Input{Timelines: []string{toy, llm}})
	for _, about := range []func(r *Result) any{
		func(r *Result) any { return r.Totals }, func(r *Result) any { return r.Kernels }, func(r *Result) any { return r.Stages },
		func(r *Result) any { return r.Regions }, func(r *Result) any { return r.Overview }, func(r *Result) any { return r.Opportunities },
	} {
		if !reflect.DeepEqual(about(alone), about(both)) {
			t.Errorf("a second timeline changes %T", about(alone))
		}
	}
	if len(both.Parts) != 2 || !both.Parts[0].Details || both.Parts[1].Details || !hasNote(both.Warnings, severalTimelines) {
		t.Fatalf("parts are %+v", both.Parts)
	}
	other := analyzed(t, Input{Timelines: []string{llm}})
	p := both.Parts[1]
	if p.WallNS != other.Totals.WallNS || p.BusyNS != other.Totals.BusyNS || p.Launches != other.Totals.Launches || len(p.Stages) != len(other.Stages) {
		t.Errorf("the row of the second is %+v, alone it has %+v", p, other.Totals)
	}
	x := both.Across
	if !slices.Equal(x.By, []string{"file"}) || x.Parts != 2 { // two programs
		t.Errorf("by %v, %d parts", x.By, x.Parts)
	}
	for _, d := range x.Times {
		if d.Name == "kernels" && (d.SumNS != alone.Totals.KernelNS+other.Totals.KernelNS || d.MaxNS != max(alone.Totals.KernelNS, other.Totals.KernelNS) || d.N != 2) {
			t.Errorf("kernels are %+v", d)
		}
	}
	var launches, kernelNS int64
	for _, k := range x.Kernels {
		launches, kernelNS = launches+k.Launches, kernelNS+k.SumNS
	}
	if x.KernelsCut == 0 && (launches != alone.Totals.Launches+other.Totals.Launches || kernelNS != alone.Totals.KernelNS+other.Totals.KernelNS) {
		t.Errorf("kernels over all have %d launches and %d ns", launches, kernelNS)
	}
}

// TestLostTimeline holds that a timeline that cannot be read has a row that says
// so, and that the rest is analyzed, whichever it is.
func TestLostTimeline(t *testing.T) {
	toy := unpacked(t, toyTimeline)
	broken := filepath.Join(t.TempDir(), "rank1.sqlite")
	if err := os.WriteFile(broken, []byte("SQLite format 3\x00 and nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	whole := analyzed(t, Input{Timelines: []string{toy}})
	for _, list := range [][]string{{toy, broken}, {broken, toy}} {
		r := analyzed(t, Input{Timelines: list})
		if !reflect.DeepEqual(r.Totals, whole.Totals) || len(r.Incomplete()) == 0 || len(r.Parts) != 2 {
			t.Fatalf("%v: totals %+v, incomplete %+v, parts %+v", list, r.Totals, r.Incomplete(), r.Parts)
		}
		at := slices.IndexFunc(r.Parts, func(p Part) bool { return p.Lost != nil })
		if at < 0 || r.Parts[at].Of.Rank == nil || *r.Parts[at].Of.Rank != 1 || r.Across.Parts != 1 {
			t.Errorf("%v: parts are %+v", list, r.Parts)
		}
	}
	if _, err := Analyze(t.Context(), Input{Timelines: []string{broken, broken + "x"}}); err == nil {
		t.Error("nothing that can be read was analyzed")
	}
}

// TestNumberParts holds what makes parts ranks, windows and repeats.
func TestNumberParts(t *testing.T) {
	made := func(name, command string, pid int, begin, end int64) *recording {
		return &recording{path: name, command: command, epoch: 1e18, lo: begin, hi: end, row: Part{Of: timeline.Identity{Process: pid, Host: "a"}}}
	}
	rank := func(n int) timeline.Identity { return timeline.Identity{Rank: &n, Host: "a"} }
	for name, c := range map[string]struct {
		parts []*recording
		want  []timeline.Identity
	}{
		"ranks by name":      {[]*recording{made("r.0.sqlite", "x", 5, 0, 10), made("r.1.sqlite", "x", 6, 2, 11)}, []timeline.Identity{rank(0), rank(1)}},
		"windows of one":     {[]*recording{made("w2.sqlite", "x", 5, 20, 30), made("w1.sqlite", "x", 5, 2, 11)}, []timeline.Identity{{Window: 2}, {Window: 1}}},
		"repeats":            {[]*recording{made("a.sqlite", "x", 5, 0, 10), made("b.sqlite", "x", 6, 12, 20)}, []timeline.Identity{{Repeat: 1}, {Repeat: 2}}},
		"other programs":     {[]*recording{made("a.1.sqlite", "x", 5, 0, 10), made("a.2.sqlite", "y", 6, 2, 11)}, []timeline.Identity{{}, {}}},
		"copies of one":      {[]*recording{made("a.1.sqlite", "x", 5, 0, 10), made("a.2.sqlite", "x", 5, 0, 10)}, []timeline.Identity{{}, {}}},
		"at once, no number": {[]*recording{made("a.sqlite", "x", 5, 0, 10), made("b.sqlite", "x", 6, 2, 11)}, []timeline.Identity{{}, {}}},
	} {
		numberParts(c.parts)
		for i, p := range c.parts {
			got := p.row.Of
			got.Process, c.want[i].Host = 0, "a"
			if g, w := asJSON(t, got), asJSON(t, c.want[i]); g != w {
				t.Errorf("%s: part %d is %s, want %s", name, i, g, w)
			}
		}
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
