package pick

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/deepprof/deepprof/internal/fixture"
	"github.com/deepprof/deepprof/internal/ncurep"
	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/tool"
)

// TestConfigurationsAsSeen holds the interpreter against a real capture: ncu
// --nvtx-include decode/ --filter-mode per-launch-config --launch-count 1 over
// two decode steps of the Llama whose timeline has eight. The launches that ncu
// took are those of the interpreter within the first two steps.
func TestConfigurationsAsSeen(t *testing.T) {
	text, err := os.ReadFile("testdata/llm_full_launches.json")
	if err != nil {
		t.Fatal(err)
	}
	var seen []struct {
		Mangled     string
		Grid, Block [3]int32
	}
	if err := json.Unmarshal(text, &seen); err != nil {
		t.Fatal(err)
	}
	l := load(t, "llm")
	var ends []int64
	for _, r := range l.t.Ranges {
		if l.t.Name(r.Name) == "step" {
			ends = append(ends, r.End)
		}
	}
	slices.Sort(ends)
	r := &Run{FilterMode: "per-launch-config", LaunchCount: 1}
	var got []string
	for _, id := range interpret(t, l.t, &Targets{Include: []string{"decode/"}}, r) {
		call, _ := l.at.KernelCall(id - 1)
		if call.Start > ends[1] {
			continue
		}
		k := &l.t.Kernels[id-1]
		c := &l.t.Configs[k.Config]
		got = append(got, strings.Join([]string{l.t.Name(l.t.Functions[k.Function].Mangled), shape(c.Grid, c.Block)}, " "))
	}
	var want []string
	for _, s := range seen {
		want = append(want, s.Mangled+" "+shape(s.Grid, s.Block))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("ncu counted %d launches, the interpreter %d:\n%s\n\n%s", len(want), len(got), strings.Join(want, "\n"), strings.Join(got, "\n"))
	}
}

func shape(grid, block [3]int32) string {
	text, _ := json.Marshal([][3]int32{grid, block})
	return string(text)
}

// results takes from a report of every launch those that the runs would count.
func results(t *testing.T, l *Launches, targets *Targets, all []Counted) []Counted {
	t.Helper()
	var out []Counted
	for i := range targets.Runs {
		for _, id := range interpret(t, l.t, targets, &targets.Runs[i]) {
			out = append(out, all[id-1])
		}
	}
	return out
}

func TestVerifyToy(t *testing.T) {
	l, all := load(t, "toy"), counted(t, "toy_full")
	if len(all) != l.len() {
		t.Fatalf("%d results, %d launches", len(all), l.len())
	}
	for _, p := range []Policy{{}, {Slowest: true}, {Include: []string{"prefill"}}, {Include: []string{"decode"}}, {Include: []string{"LLM@step"}}, {Include: []string{"prefill/attention"}, Version: tool.Version{Major: 2022, Minor: 3}}} {
		targets, err := Choose(l, p)
		if err != nil {
			t.Fatal(err)
		}
		v, err := Verify(targets, results(t, l, targets, all), l)
		if err != nil {
			t.Fatal(err)
		}
		if len(v.Missing)+len(v.MissingLaunches)+len(v.Warnings) > 0 || v.CoverageRegions != targets.Predicted.CoverageRegions || v.CoverageAll != targets.Predicted.CoverageAll {
			t.Errorf("%q: missing %v %v, coverage %g of %g", p.Include, v.Missing, v.MissingLaunches, v.CoverageRegions, targets.Predicted.CoverageRegions)
		}
		for _, m := range v.Matches {
			if m.Verdict != Sound || !m.RegionInPlan || m.ID+1 != m.Launch {
				t.Errorf("%q: %+v", p.Include, m)
			}
		}
	}
}

func TestVerifyFindsWhatIsWrong(t *testing.T) {
	l, all := load(t, "toy"), counted(t, "toy_full")
	p := Policy{Include: []string{"prefill"}}
	targets, err := Choose(l, p)
	if err != nil {
		t.Fatal(err)
	}
	good := results(t, l, targets, all)
	change := func(f func([]Counted) []Counted) *Verification {
		t.Helper()
		v, err := Verify(targets, f(slices.Clone(good)), l)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if v := change(func(c []Counted) []Counted { return c[1:] }); len(v.Missing) != 1 || v.CoverageRegions >= 1 {
		t.Errorf("a launch that is absent: %+v", v.Missing)
	}
	if v := change(func(c []Counted) []Counted { c[0].Grid[0]++; return c }); v.Matches[0].Verdict != Unknown || len(v.Missing) != 1 || len(v.Warnings) == 0 {
		t.Errorf("another grid: %+v", v.Matches[0])
	}
	if v := change(func(c []Counted) []Counted { c[0].DurationNS *= 50; return c }); v.Matches[0].Verdict != Doubtful || len(v.Missing) != 1 {
		t.Errorf("another duration: %+v", v.Matches[0])
	}
	if v := change(func(c []Counted) []Counted { c[0].State = nvtx.State{}; return c }); v.Matches[0].Verdict != Doubtful {
		t.Errorf("another region: %+v", v.Matches[0])
	}
	if v := change(func(c []Counted) []Counted { c[0].Mangled, c[0].Demangled = "_Zother", "other()"; return c }); v.Matches[0].Verdict != Unknown {
		t.Errorf("another name: %+v", v.Matches[0])
	}
	if v := change(func(c []Counted) []Counted { return append(c, all[3]) }); v.Matches[len(v.Matches)-1].Verdict != Unexpected || len(v.Missing) > 0 {
		t.Errorf("one too many: %+v", v.Matches[len(v.Matches)-1])
	}
}

func TestRetryTakesAnotherWay(t *testing.T) {
	l := load(t, "llm")
	p := defaults()
	p.Include = []string{"decode"}
	targets, err := Choose(l, p)
	if err != nil {
		t.Fatal(err)
	}
	v, err := Verify(targets, nil, l)
	if err != nil {
		t.Fatal(err)
	}
	if v.CoverageRegions != 0 || len(v.Missing) == 0 {
		t.Fatalf("nothing counted covers %g, %d missing", v.CoverageRegions, len(v.Missing))
	}
	for _, missing := range [][]Missing{v.Missing, v.Missing[:1], v.Missing[2:5]} {
		runs, err := retry(targets, missing, l, p)
		if err != nil || len(runs) == 0 {
			t.Fatalf("no second way: %v", err)
		}
		got := map[string]bool{}
		for i := range runs {
			if runs[i].Way == targets.Runs[0].Way {
				t.Errorf("the second way is the first: %s", runs[i].Way)
			}
			if ids := interpret(t, l.t, targets, &runs[i]); !slices.Equal(ids, plannedIDs(&runs[i])) {
				t.Errorf("run %d: ncu counts %v, planned %v", i, ids, plannedIDs(&runs[i]))
			}
			for _, planned := range runs[i].Planned {
				got[planned.Group] = true
			}
		}
		for _, m := range missing {
			if !got[m.Group] {
				t.Errorf("%s is missed again", m.Kernel)
			}
		}
	}
	if runs, err := retry(targets, nil, l, p); err != nil || runs != nil {
		t.Errorf("nothing missing gives %v, %v", runs, err)
	}
}

// TestOtherConfigurationsAreCaught: a version of ncu that takes the instances of
// a template for one configuration, whatever the names, misses one of them; the
// verification says so and the retry, by number of the function, finds it.
func TestOtherConfigurationsAreCaught(t *testing.T) {
	l := templates("_Zmul", "_Zadd")
	targets, err := Choose(l, Policy{})
	if err != nil {
		t.Fatal(err)
	}
	if r := &targets.Runs[0]; r.Way != WayPerConfig || r.KernelNameBase != "mangled" {
		t.Fatalf("planned by %s of %s names", r.Way, r.KernelNameBase)
	}
	v, err := Verify(targets, resultsOf(l, interpret(t, l.t, targets, &Run{FilterMode: "per-launch-config", LaunchCount: 1})), l)
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Missing) != 1 || v.Missing[0].Kernel != "elementwise_kernel<Add>" {
		t.Fatalf("missing %+v", v.Missing)
	}
	runs, err := retry(targets, v.Missing, l, Policy{})
	if err != nil || len(runs) != 1 || runs[0].Way != WayNumbers || runs[0].KernelNameBase != "function" || !strings.Contains(runs[0].KernelID, "elementwise_kernel") {
		t.Fatalf("retry %+v, %v", runs, err)
	}
	targets.Runs = append(targets.Runs, runs...)
	if v, err = Verify(targets, resultsOf(l, interpret(t, l.t, targets, &runs[0])), l); err != nil || slices.ContainsFunc(v.Missing, func(m Missing) bool { return strings.Contains(m.Kernel, "Add") }) {
		t.Errorf("missing after the retry %+v, %v", v.Missing, err)
	}
}

// TestVerifyLlama holds the recorded counters of a prefill with half the layers
// against the timeline.
func TestVerifyLlama(t *testing.T) {
	l := load(t, "llm")
	survey, err := Survey(l, []string{"prefill"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	all := counted(t, "llm_basic")
	v, err := Verify(survey, all, l)
	if err != nil {
		t.Fatal(err)
	}
	verdicts := map[string]int{}
	for _, m := range v.Matches {
		verdicts[m.Verdict]++
	}
	if verdicts[Unexpected] < 100 || v.CoverageRegions < 0.9 {
		t.Errorf("of %d results: %v; coverage %.3f", len(all), verdicts, v.CoverageRegions)
	}
}

func TestLoadIsQuick(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a large timeline")
	}
	b := newBuilder()
	thread := b.process(1, 1)
	b.queue(0, 0, 7)
	var functions, configs []uint32
	for i := range 40 {
		functions = append(functions, b.function("_Z"+string(rune('a'+i)), "f", string(rune('a'+i/2))))
		configs = append(configs, b.config([3]int32{int32(i), 1, 1}, [3]int32{32, 1, 1}, 0))
	}
	done := b.push(thread, "decode")
	for i := range 200000 {
		b.launch(thread, 0, functions[i%40], configs[i*7%40], int64(1000+i%977))
	}
	done()
	began := time.Now()
	l := b.load()
	if _, err := Choose(l, Policy{Include: []string{"decode"}, Slowest: true, Budget: time.Minute}); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("200,000 launches take %v", took)
	}
}

// TestVerifyRecordedPair holds the shipped recording together: four launches of
// a decode step and the timeline of the same model.
func TestVerifyRecordedPair(t *testing.T) {
	l, all := load(t, "llm"), countedIn(t, fixture.Read(t, "../../testdata/h200/llm.ncu-rep.gz"))
	p := defaults()
	p.Include = []string{"decode"}
	targets, err := Choose(l, p)
	if err != nil {
		t.Fatal(err)
	}
	v, err := Verify(targets, all, l)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range v.Matches {
		if !m.usable() || m.TimelineNS == 0 {
			t.Errorf("%+v", m)
		}
	}
	chosen := 0
	for _, g := range targets.Groups {
		if g.Chosen {
			chosen++
		}
	}
	if len(all) != 4 || v.Groups != 4 || len(v.Missing) < chosen-4 || v.CoverageRegions < 0.1 || v.CoverageRegions > 0.5 {
		t.Errorf("%d results, %d groups, %d of %d missing, coverage %.3f", len(all), v.Groups, len(v.Missing), chosen, v.CoverageRegions)
	}
}

// TestVerifyGraphs: nodes of a CUDA graph that ncu counted one by one are found
// among the replays of the timeline.
func TestVerifyGraphs(t *testing.T) {
	l, all := load(t, "graph_node"), counted(t, "graph_node")
	survey, err := Survey(l, []string{"decode"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := Verify(survey, all, l)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range v.Matches {
		if m.Verdict != Unexpected || !m.usable() {
			t.Errorf("%+v", m)
		}
	}
	if v.CoverageRegions != 1 || len(all) == 0 {
		t.Errorf("%d results cover %.3f", len(all), v.CoverageRegions)
	}
	whole := counted(t, "graph_whole")
	for i := range whole {
		if !whole[i].Whole {
			t.Errorf("result %d of graphs as a whole is a kernel", i)
		}
	}
}

// TestVerifyCSV: CSV has one name for a kernel, and its launches are in the
// timeline all the same.
func TestVerifyCSV(t *testing.T) {
	l := load(t, "toy")
	packed, err := os.ReadFile(filepath.Join("..", "ncurep", "testdata", "toy_full.2025.3.raw.csv.zst"))
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	rep, err := ncurep.ReadCSV(z)
	if err != nil {
		t.Fatal(err)
	}
	var got []Counted
	for _, r := range rep.Results {
		got = append(got, FromResult(r))
	}
	survey, err := Survey(l, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := Verify(survey, got, l)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range v.Matches {
		if m.Verdict == Unknown {
			t.Errorf("%s: %v", m.Kernel, m.Why)
		}
	}
	if len(v.Matches) != 31 || v.CoverageAll < 0.99 {
		t.Errorf("%d matches, coverage %v", len(v.Matches), v.CoverageAll)
	}
}
