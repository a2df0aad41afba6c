package report

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/timeline"
)

func TestTextNeverExceedsTheTerminal(t *testing.T) {
	regions := timeline.Rows[timeline.RegionRow]{Rows: []timeline.RegionRow{{Path: strings.Repeat("decode/", 9), Style: "PushPop", Instances: 8, RangeNS: 521_749_000, ProjectedNS: 520_177_000, BusyNS: 3_968_839, IdleNS: 516_209_000, KernelCalls: 1496, InclusiveNS: 3_968_839, ExclusiveNS: 1_498_466}}}
	facts := []Fact{{strings.Repeat("section", 9), strings.Repeat("name", 20), strings.Repeat("value ", 50)}}
	for _, width := range []int{20, 40, 60, 80, 130, 200} {
		tables := map[string]Printable{"regions": Regions(regions), "facts": FactView.Table(facts)}
		for name, r := range cases(t) {
			tables["stages of "+name], tables["operators of "+name], tables["roofline of "+name] = Stages(r), Operators(r), RooflinePoints(r)
		}
		for name, table := range tables {
			var b bytes.Buffer
			if err := table.WriteText(&b, width); err != nil {
				t.Fatal(err)
			}
			for _, line := range strings.Split(b.String(), "\n") {
				if n := utf8.RuneCountInString(line); n > width {
					t.Errorf("%s: %d columns of %d: %s", name, n, width, line)
				}
			}
		}
	}
	narrow := Regions(regions)
	var b bytes.Buffer
	if err := narrow.WriteText(&b, 60); err != nil {
		t.Fatal(err)
	}
	if notes := strings.Join(narrow.Footnotes(), "\n"); !strings.Contains(notes, "style") || !strings.Contains(notes, "--csv has every column") {
		t.Errorf("what was left out is not named: %s", notes)
	}
	if head, _, _ := strings.Cut(b.String(), "\n"); !strings.Contains(head, "region") || !strings.Contains(head, "wall (ms)") || !strings.Contains(head, "GPU time (ms)") {
		t.Errorf("the wrong columns stayed: %s", head)
	}
	id := "20260102T030405Z-4711-9f86d081884c"
	for _, width := range []int{20, 40, 60, 80} {
		b.Reset()
		list := RunView.Table([]runs.Summary{{ID: id, Status: "interrupted", Label: strings.Repeat("label", 9)}})
		if err := list.WriteText(&b, width); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), id) {
			t.Errorf("at %d columns the id cannot be copied: %s", width, b.String())
		}
		if notes := strings.Join(list.Footnotes(), "\n"); width < 60 && !strings.Contains(notes, "--json has every column") {
			t.Errorf("at %d columns: %s", width, notes)
		}
	}
	b.Reset()
	if err := OptionView.Table([]Option{{Group: "pipeline/nsys", Option: "deepseek_ocr2_small", Comment: strings.Repeat("word ", 20)}}).WriteText(&b, 40); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "pipeline/nsys  deepseek_ocr2_small") {
		t.Errorf("an option cannot be copied: %s", b.String())
	}
	wide := Regions(regions)
	b.Reset()
	if err := wide.WriteText(&b, 0); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), regions.Rows[0].Path) {
		t.Error("a file does not get whole names")
	}
}

func TestTablesInMarkdownStayTables(t *testing.T) {
	rows := timeline.Rows[timeline.RegionRow]{Rows: []timeline.RegionRow{{Path: hostileName, Style: "PushPop"}}}
	var b bytes.Buffer
	if err := Regions(rows).WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	checkMarkdown(t, b.String())
	b.Reset()
	if err := FactView.Table([]Fact{{hostileName, "1. " + hostileName, hostileName}}, hostileName).WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	checkMarkdown(t, b.String())
}

func TestUnitsForPeople(t *testing.T) {
	table := &Table[float64]{Rows: Slice([]float64{2.79e12, 4e9}), View: View[float64]{Columns: []Column[float64]{
		{Key: "work", Unit: FLOP, Value: func(x *float64) any { return *x }},
		{Key: "weights_bytes", Unit: Bytes, Value: func(x *float64) any { return *x }},
		{Key: "mean_ns", Unit: Nanoseconds, Value: func(x *float64) any { return *x / 1e8 }},
	}}}
	var text, rows bytes.Buffer
	if err := table.WriteText(&text, 0); err != nil {
		t.Fatal(err)
	}
	if err := table.WriteCSV(&rows); err != nil {
		t.Fatal(err)
	}
	if want := "       work   weights  mean (µs)\n2.790 TFLOP  2.790 TB     27.900\n4.000 GFLOP  4.000 GB      0.040\n"; text.String() != want {
		t.Errorf("got\n%s\nwant\n%s", text.String(), want)
	}
	if want := "work,weights_bytes,mean_ns\n2790000000000,2790000000000,27900\n4000000000,4000000000,40\n"; rows.String() != want {
		t.Errorf("CSV is not exact: %s", rows.String())
	}
}

func TestOneMeaningOfGPUBusy(t *testing.T) {
	r := sample()
	r.Totals.Split = &analysis.Split{WallNS: 90_000_000, BusyNS: 2_000_000, IdleNS: 88_000_000}
	var b bytes.Buffer
	if err := Summary(&b, r, SummaryOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ text, row, want string }{
		{b.String(), "under nsys", "GPU busy 16.3 %"},
		{page(t, WriteReport, r), "GPU busy with kernels or copies", " 16.3 % |"},
		{page(t, WriteReport, r), "A kernel runs, on any GPU", " 2.2 % |"},
		{page(t, WriteStakeholder, r), "GPU at work", " 16.3 % |"},
	} {
		found := false
		for _, line := range strings.Split(c.text, "\n") {
			found = found || strings.Contains(line, c.row) && strings.Contains(line, c.want)
		}
		if !found {
			t.Errorf("no line with %q says %q", c.row, c.want)
		}
	}
}

func TestOperatorsWithoutDeviceTime(t *testing.T) {
	r := sample()
	for i := range r.Operators {
		r.Operators[i].TotalDeviceUS, r.Operators[i].SelfDeviceUS, r.Operators[i].Why = 0, 0, says("it ran on the CPU")
	}
	text := page(t, WriteOperators, r)
	checkMarkdown(t, text)
	for _, s := range []string{"CPU self", "CPU total", "No operator has device time: it ran on the CPU.", "| `aten::mm` "} {
		if !strings.Contains(text, s) {
			t.Errorf("%q is not in\n%s", s, text)
		}
	}
	checkMarkdown(t, page(t, WriteStakeholder, r))
	var b bytes.Buffer
	if err := Operators(r).WriteText(&b, 100); err != nil {
		t.Fatal(err)
	}
	if head, _, _ := strings.Cut(b.String(), "\n"); strings.Contains(head, "device total") || !strings.Contains(head, "CPU total") {
		t.Errorf("columns: %s", head)
	}
}

// IDs are never left out, however narrow the terminal is.
func TestIDsStay(t *testing.T) {
	var b strings.Builder
	options := OptionView.Table([]Option{{Group: "pipeline/torch_profiler", Option: "deepseek_ocr2_small", Comment: "what it is for"}})
	if err := options.WriteText(&b, 30); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); !strings.Contains(got, "pipeline/torch_profiler  deepseek_ocr2_small") || strings.Contains(got, "what") {
		t.Errorf("\n%s", got)
	}
}
