package report

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/fixture"
)

// captures are real ones of an H200; their results are made once.
var captures = map[string][]string{
	"llm": {"../../testdata/h200/llm.sqlite.gz", "../../testdata/h200/llm.ncu-rep.gz"},
	"toy": {"../nsys/testdata/exports/toy.sqlite.gz", "../ncurep/testdata/toy_full.ncu-rep.zst"},
}

var analyzed sync.Map // results as JSON, by the name of the captures

// recorded analyzes real captures, and marks those of llm as a recording.
func recorded(t *testing.T, name string) *analysis.Result {
	t.Helper()
	data, ok := analyzed.Load(name)
	if !ok {
		data = analyzeCaptures(t, name)
		analyzed.Store(name, data)
	}
	var r analysis.Result
	if err := json.Unmarshal(data.([]byte), &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

func analyzeCaptures(t *testing.T, name string) []byte {
	t.Helper()
	dir, in := t.TempDir(), analysis.Input{Recorded: name == "llm"}
	for _, path := range captures[name] {
		to := filepath.Join(dir, strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
		unpack(t, path, to)
		if err := in.Add(to); err != nil {
			t.Fatal(err)
		}
	}
	r, err := analysis.Analyze(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func unpack(t *testing.T, path, to string) {
	t.Helper()
	if err := os.WriteFile(to, fixture.Read(t, path), 0o600); err != nil {
		t.Fatal(err)
	}
}

// cases are results of every shape.
func cases(t *testing.T) map[string]*analysis.Result {
	all := map[string]*analysis.Result{
		"llm": recorded(t, "llm"), "toy": recorded(t, "toy"),
		"full": sample(), "timeline_only": timelineOnly(), "counters_only": countersOnly(), "doubtful": doubtful(), "hostile": hostile(), "scope": scoped(),
		"empty": {Schema: analysis.Schema},
	}
	for _, r := range all {
		r.Derive()
	}
	return all
}

// doubtful holds a value over 100 %, too much overhead, parts of a stage, no
// ranges and a run that failed.
func doubtful() *analysis.Result {
	r := sample()
	r.Source.Status, r.Source.Recorded, r.Workload.Kind = "interrupted", true, "vlm"
	s := &r.Stages[0]
	s.Overhead, s.NsysMS = at(0.384), at(11.24)
	r.Warnings = append(r.Warnings, analysis.Note{Stage: "prefill", Fact: fact.New(analysis.OverheadHigh, fact.Stage("stage", "prefill"), fact.Share("overhead", 0.384), fact.Because("advice", fact.New("use-nsys-light")))})
	s.Sub = []analysis.SubMS{{Name: "sam", MS: 3.1}, {Name: "clip", MS: 1.2}, {Name: "projector", MS: 0.1}}
	s.MFU[0].Value, s.MFU[0].Raw, s.MFU[0].Contradiction, s.MFU[0].Why = nil, at(1.32), true, facts("the clean time is shorter than the peak allows")
	r.Regions = nil
	r.Derive()
	return r
}

// unclean has no clean times.
func unclean() *analysis.Result {
	r := sample()
	s := &r.Stages[0]
	s.CleanMS, s.Overhead, s.Sub = nil, nil, []analysis.SubMS{{Name: "sam", MS: 3.1}}
	return r
}

// onCPU is a stage that nsys timed and in which no GPU worked.
func onCPU() *analysis.Result {
	r := sample()
	s := &r.Stages[0]
	s.NsysMS, s.Split = at(11.24), analysis.Split{}
	return r
}

// partly has a region of a domain that lies in the scope in part.
func partly() *analysis.Result {
	r, ns := scoped(), int64(10_000)
	r.Regions = append(r.Regions, analysis.Region{Path: "CCCL@scan", Name: "scan", Domain: "CCCL", Parent: -1, Instances: 1, WallNS: 1_000_000, Kernels: 1, KernelNS: 20_000, SelfKernels: 1, SelfNS: 20_000, ScopeNS: &ns})
	return r
}

// unused has an MFU near nothing.
func unused() *analysis.Result {
	r := sample()
	r.Stages[0].MFU[0].Value = at(6.6e-8)
	r.Method.Assumptions = []analysis.Note{{Fact: fact.New("test-assumption", fact.Key("key", "a_key"))}}
	return r
}

// scoped is about its two stages alone: a region of warm-up lies outside.
func scoped() *analysis.Result {
	r := sample()
	split := analysis.Split{WallNS: 90_000_000, BusyNS: 14_666_667, IdleNS: 75_333_333, LaunchBound: true, LaunchNS: 72_222_222,
		Busy: []analysis.TimePart{{ID: "gemm", Label: "GEMM", NS: 12_434_445}, {ID: "norm", Label: "normalisation", NS: 2_222_222}, {ID: "sampling", Label: "sampling", NS: 10_000}},
		Idle: []analysis.TimePart{{ID: "python", NS: 61_111_111}, {ID: "launch", NS: 11_111_111}, {ID: "sync", NS: 3_111_111}}}
	r.Scope = &analysis.Scope{Expressions: []string{"prefill", "decode"}, Regions: []string{"prefill", "decode"}, Name: says("prefill and decode"),
		Text:    says("prefill and decode: 90.0 ms of a timeline of 5.00 s; 40.0 ms of kernel time in 2,000 launches outside (such as loading and warm-up) are not counted below."),
		StartNS: 4_000_000_000, EndNS: 4_090_000_000, WallNS: 90_000_000, BusyNS: 14_700_000, KernelNS: 10_000_000, Launches: 340, KernelNames: 3, OutsideKernelNS: 40_000_000, OutsideLaunches: 2000, Split: &split}
	r.Totals.WallNS, r.Totals.KernelNS, r.Totals.Launches, r.Totals.KernelNames, r.Totals.BusyNS = 5_000_000_000, 50_000_000, 2340, 5, 55_000_000
	r.Totals.Aggregates = append(r.Totals.Aggregates,
		analysis.Aggregate{Name: "token_ms", Unit: "ms", N: 93, Mean: 1.062, Std: 0.00203, Min: 1.06, P50: 1.06, P90: 1.06, P99: 1.07, Max: 1.07},
		analysis.Aggregate{Name: "peak_memory_bytes", Unit: "byte", N: 5, Mean: 1_121_001_472, Min: 1_121_001_472, P50: 1_121_001_472, P90: 1_121_001_472, P99: 1_121_001_472, Max: 1_121_001_472})
	r.Regions = append(r.Regions, analysis.Region{Path: "warm up", Name: "warm up", Parent: -1, Instances: 1, WallNS: 200_000_000, ProjectedNS: 190_000_000, Kernels: 2000, KernelNS: 40_000_000, SelfKernels: 2000, SelfNS: 40_000_000, Why: said("no launch of it was counted")})
	r.Method.Deviations = []analysis.Deviation{{Stage: "nsys, ncu", Key: "infer.repeats", Configured: "3", Used: "1", Why: facts("one pass shows every launch")}}
	return r
}

const hostileName = "void evil<\"|`*_~$x$ [a](javascript:alert(1)) <img src=x onerror=alert(1)> &lt; \\| http://example.com/ \n## Heading\u202e>(int)"

// hostile has names that would be markup.
func hostile() *analysis.Result {
	r := sample()
	r.Kernels[0].Name, r.Kernels[0].Short = hostileName, hostileName
	r.Regions[0].Path, r.Regions[0].Name = hostileName, hostileName
	r.Stages[0].Name = hostileName
	r.Operators[0].Name = hostileName
	r.Findings[0].Fact = says("# " + hostileName)
	r.Opportunities[0].Title = says(hostileName)
	r.Warnings[0].Fact = fact.FromText(hostileName)
	r.Method.Commands[0].Command = "run ``` " + hostileName
	r.Method.Deviations[0].Used = hostileName
	r.Environment.Software[0].Value = hostileName
	r.Categories[0].Unnamed = []string{hostileName}
	return r
}

func TestPages(t *testing.T) {
	for name, r := range cases(t) {
		for _, p := range pages {
			if !strings.HasSuffix(p.Name, ".md") {
				continue
			}
			t.Run(name+"/"+p.Name, func(t *testing.T) {
				var got bytes.Buffer
				if err := p.Write(&got, r); err != nil {
					t.Fatal(err)
				}
				checkMarkdown(t, got.String())
				pinned(t, name, p.Name, got.Bytes())
			})
		}
	}
}

// pinnedPages are the pages that are compared to the byte: each once, of a real run or of
// a result with everything in it. The others are checked for facts.
var pinnedPages = []string{"llm/report.md", "llm/summary_120.txt", "llm/show_stages.txt", "full/stakeholder_summary.md", "full/operators.md", "full/regions.md", "full/summary_80.txt"}

// pinned compares a page that is kept.
func pinned(t *testing.T, result, page string, got []byte) {
	t.Helper()
	if slices.Contains(pinnedPages, result+"/"+page) {
		golden(t, filepath.Join("testdata", "golden", result, page), got)
	}
}

// golden compares with a file, or writes it.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; run go test ./internal/report -update and read the difference\n%s", path, firstDifference(string(got), string(want)))
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return "got:  " + g[i] + "\nwant: " + w[i]
		}
	}
	return "one is longer"
}

var (
	reference  = regexp.MustCompile(`\[\^(\d+)\]`)
	definition = regexp.MustCompile(`(?m)^\[\^(\d+)\]: \S`)
	fencedText = regexp.MustCompile("(?ms)^(`{3,})text\n.*?^`{3,}$")
	literal    = regexp.MustCompile(`\\[!-/:-@\[-` + "`{-~]|`[^`\n]+`|<code>[^<>]*</code>") // escapes and code
)

// checkMarkdown checks what every page must hold: tables of even rows, footnotes
// that meet their references, and no markup that comes from data.
func checkMarkdown(t *testing.T, page string) {
	t.Helper()
	text := fencedText.ReplaceAllString(page, "")
	bare := literal.ReplaceAllString(text, "")
	columns := 0
	for _, line := range strings.Split(bare, "\n") {
		if !strings.HasPrefix(line, "|") {
			columns = 0
			continue
		}
		n := strings.Count(line, "|")
		if columns != 0 && n != columns {
			t.Errorf("a row of %d bars in a table of %d: %s", n, columns, line)
		}
		columns = n
	}
	for _, bad := range []string{"<img", "<script", "](javascript", "\n## Heading", "\n# Heading", "`", "NaN", "Inf", "%!", "\u202e"} {
		if strings.Contains(bare, bad) {
			t.Errorf("the page holds %q outside of code", bad)
		}
	}
	defined := map[string]bool{}
	for _, m := range definition.FindAllStringSubmatch(bare, -1) {
		defined[m[1]] = true
	}
	used := map[string]bool{}
	for _, m := range reference.FindAllStringSubmatch(definition.ReplaceAllString(bare, ""), -1) {
		used[m[1]] = true
	}
	for n := range used {
		if !defined[n] {
			t.Errorf("footnote %s is not there", n)
		}
	}
	for n := range defined {
		if !used[n] {
			t.Errorf("footnote %s is never referred to, so renderers drop it", n)
		}
	}
	if strings.Contains(page, "\n\n\n") {
		t.Error("two blank lines in a row")
	}
}

func page(t *testing.T, write func(io.Writer, *analysis.Result) error, r *analysis.Result) string {
	t.Helper()
	r.Derive() // tests change results
	var b bytes.Buffer
	if err := write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var blanks = regexp.MustCompile(" +")

func TestReportSaysWhatMatters(t *testing.T) {
	for _, c := range []struct {
		what  string
		text  string
		holds []string
		lacks []string
	}{
		{"launch-bound before any counter", page(t, WriteReport, sample()), []string{"**`decode` is launch-bound**", "at most 70.0 ms of 80.0 ms under nsys (87.5 %)"}, nil},
		{"a contradiction is no result", page(t, WriteReport, doubtful()), []string{"| contradiction (132.0 %)[^"}, nil},
		{"too much overhead names the preset", page(t, WriteReport, doubtful()), []string{"Over 25.0 % in `prefill`", "pipeline/nsys=light"}, nil},
		{"little overhead names none", page(t, WriteReport, sample()), nil, []string{"pipeline/nsys=light"}},
		{"parts of a stage are a note", page(t, WriteStakeholder, doubtful()), []string{"`prefill` includes `sam` 3.10 ms, `clip` 1.20 ms, `projector` 100 µs. They are parts of it and are not added to it."}, []string{"| `sam`"}},
		{"parts of a stage under nsys say so", page(t, WriteReport, unclean()), []string{"`prefill` includes `sam` 3.10 ms under nsys. They are parts of it"}, nil},
		{"a stage without GPU work", page(t, WriteStakeholder, onCPU()), []string{" 11.2 ms |", "The timeline of this stage has no work of a GPU."}, []string{"There is no timeline of this stage"}},
		{"a region partly in the scope", page(t, WriteRegions, partly()), []string{"GPU time in the scope (ms)", "| 0.010 | 0.10 |", "\nCCCL@scan ", " 1 launch\n"}, []string{"1 launches"}},
		{"hardly any use of the GPU", page(t, WriteReport, unused()), []string{"| &lt;0.001 |", "### Assumptions about the model's work\n\n- test-assumption (key a"}, []string{"e-0"}},
		{"a failed run says so", page(t, WriteReport, doubtful()), []string{"**The run was interrupted.**"}, nil},
		{"no ranges", page(t, WriteReport, doubtful()), []string{"Regions: n/a", "no NVTX ranges"}, nil},
		{"no counters", page(t, WriteKernels, timelineOnly()), []string{"a report of ncu with the section SpeedOfLight"}, []string{"DRAM bandwidth"}},
		{"no clean run", page(t, WriteStakeholder, timelineOnly()), []string{"there is no unprofiled run", "Next: run with pipeline.unprofiled.enable=true."}, nil},
		{"no timeline", page(t, WriteReport, countersOnly()), []string{"Busy and idle time: n/a", "there is no timeline: times are not known. Next: capture one with nsys"}, []string{"| GPU busy               | 0"}},
		{"operators without device time", page(t, WriteOperators, sample()), []string{"No device self because", "it changes the shape alone"}, nil},
		{"no operators", page(t, WriteOperators, timelineOnly()), []string{"Operators: n/a", "pipeline.torch_profiler.enable=true"}, nil},
		{"a table of peaks is marked", page(t, WriteReport, sample()), []string{"| no | NVIDIA H200 data sheet |"}, nil},
		{"why a kernel was counted", page(t, WriteKernels, sample()), []string{"Why this kernel: 64.0 % of the GPU time of decode"}, nil},
	} {
		narrow := blanks.ReplaceAllString(c.text, " ") // however wide a column is
		for _, s := range c.holds {
			if !strings.Contains(narrow, s) && !strings.Contains(c.text, s) {
				t.Errorf("%s: %q is not in the page", c.what, s)
			}
		}
		for _, s := range c.lacks {
			if strings.Contains(c.text, s) {
				t.Errorf("%s: %q is in the page", c.what, s)
			}
		}
	}
	text := page(t, WriteReport, sample())
	if strings.Index(text, "is launch-bound**") > strings.Index(text, "## MFU") {
		t.Error("counters come before the launches")
	}
}

func TestStakeholderHasItsTables(t *testing.T) {
	text := page(t, WriteStakeholder, sample())
	at := 0
	for _, h := range []string{"Environment", "Aggregates", "Per-Stage Timings", "MFU", "Top Operators", "Top Kernels", "Findings"} {
		i := strings.Index(text, "\n## "+h+"\n")
		if i < at {
			t.Errorf("section %s is missing or out of order", h)
		}
		at = i
	}
}

func TestRecordedRunsAreMarkedOnEveryPage(t *testing.T) {
	r := doubtful()
	r.Regions = sample().Regions
	dir := t.TempDir()
	paths, err := WriteAll(dir, r)
	if err != nil {
		t.Fatal(err)
	}
	more, err := WriteRegionReports(filepath.Join(dir, "ncu", "regions"), r)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range append(paths, more...) {
		if e := filepath.Ext(p); e != ".md" && e != ".json" {
			continue
		}
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		mark := "**Recorded run.**"
		if strings.HasSuffix(p, ".json") {
			mark = `"recorded": true`
		}
		if !strings.Contains(string(text), mark) {
			t.Errorf("%s is not marked as recorded", p)
		}
	}
}

func TestWriteAllReplacesWholeFiles(t *testing.T) {
	dir := t.TempDir()
	broken := Page{"broken.html", func(w io.Writer, _ *analysis.Result) error {
		io.WriteString(w, "half")
		return errors.New("no ink")
	}}
	old := filepath.Join(dir, broken.Name)
	if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	extra := Page{"report.html", func(w io.Writer, _ *analysis.Result) error { _, err := io.WriteString(w, "page"); return err }}
	paths, err := WriteAll(dir, sample(), broken, extra)
	if err == nil || !strings.Contains(err.Error(), "broken.html: no ink") {
		t.Errorf("error is %v", err)
	}
	written := len(pages) + 1
	if len(paths) != written {
		t.Errorf("wrote %v", paths)
	}
	if text, _ := os.ReadFile(old); string(text) != "old" {
		t.Errorf("a page that failed left %q", text)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != written+1 {
		t.Errorf("left %v", entries)
	}
}

func TestWriteAllRefusesOtherSchemas(t *testing.T) {
	for _, r := range []*analysis.Result{nil, {}, {Schema: analysis.Schema + 1}} {
		if paths, err := WriteAll(t.TempDir(), r); err == nil || len(paths) > 0 {
			t.Errorf("wrote %v of %v", paths, r)
		}
	}
}

func TestLongListsEndWithTheRest(t *testing.T) {
	r := sample()
	kernel, region, operator := r.Kernels[2], r.Regions[2], r.Operators[1]
	r.Kernels, r.Regions, r.Operators, r.Totals.KernelNS = nil, nil, nil, 0
	for i := range 350 {
		kernel.ID, kernel.Name, kernel.TotalNS = fmt.Sprint("k", i), fmt.Sprintf("kernel_%d", i), int64(350-i)*1000
		r.Kernels = append(r.Kernels, kernel)
		r.Totals.KernelNS += kernel.TotalNS
		region.Path, region.Name = fmt.Sprintf("region_%d", i), fmt.Sprintf("region_%d", i)
		r.Regions = append(r.Regions, region)
		operator.Name = fmt.Sprintf("aten::op_%d", i)
		r.Operators = append(r.Operators, operator)
	}
	for _, c := range []struct {
		text string
		want []string
	}{
		{page(t, WriteKernels, r), []string{"| `50 more` ", "50 more kernels are in result.json."}},
		{page(t, WriteRegions, r), []string{"50 more regions are in result.json.", "and 50 more"}},
		{page(t, WriteOperators, r), []string{"50 more operators are in result.json."}},
		{page(t, WriteReport, r), []string{"| `340 more` "}},
	} {
		checkMarkdown(t, c.text)
		for _, s := range c.want {
			if !strings.Contains(c.text, s) {
				t.Errorf("%q is not in the page", s)
			}
		}
		if len(c.text) > 200_000 {
			t.Errorf("the page has %d bytes", len(c.text))
		}
	}
}
