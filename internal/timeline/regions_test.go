package timeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/nvtx"
)

// regionLines writes what matters of region rows: path, style, instances,
// range, projected, kernels, inclusive, exclusive, busy, idle.
func regionLines(rows []RegionRow) []string {
	var lines []string
	for _, r := range rows {
		lines = append(lines, fmt.Sprintf("%s %s n=%d range=%d proj=%d k=%d incl=%d excl=%d busy=%d idle=%d",
			r.Path, r.Style, r.Instances, r.RangeNS, r.ProjectedNS, r.KernelCalls, r.InclusiveNS, r.ExclusiveNS, r.BusyNS, r.IdleNS))
	}
	slices.Sort(lines)
	return lines
}

func TestRegionRows(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"nested, kernel runs after the range", `
			push 1.1 a 0 100
			push 1.1 b 10 50
			call 1.1 launch 20 22 1
			call 1.1 launch 60 62 2
			kernel 1 k 200 230 1
			kernel 1 k 240 250 2`,
			[]string{
				"a PushPop n=1 range=100 proj=50 k=2 incl=40 excl=10 busy=40 idle=10",
				"a/b PushPop n=1 range=40 proj=30 k=1 incl=30 excl=30 busy=30 idle=0",
			}},
		{"two instances of one path, overlapping kernels", `
			push 1.1 a 0 10
			push 1.1 a 20 30
			call 1.1 launch 1 2 1
			call 1.1 launch 21 22 2
			call 1.1 launch 23 24 3
			kernel 1 k 5 9 1
			kernel 1 k 30 40 2 stream=7
			kernel 1 k 35 50 3 stream=8`,
			[]string{"a PushPop n=2 range=20 proj=24 k=3 incl=29 excl=29 busy=24 idle=0"}},
		{"another thread's range does not hold", `
			push 1.1 a 0 100
			call 1.2 launch 10 12 1
			kernel 1 k 20 30 1`,
			[]string{"a PushPop n=1 range=100 proj=0 k=0 incl=0 excl=0 busy=0 idle=0"}},
		{"start/end is process-wide", `
			start 1.1 s 0 100
			start 2.1 s 0 100
			call 1.2 launch 10 12 1
			kernel 1 k 20 30 1`,
			[]string{"s StartEnd n=2 range=200 proj=10 k=1 incl=10 excl=10 busy=10 idle=0"}},
		{"start/end ranges overlap, a kernel counts once in a region", `
			start 1.1 s 0 60
			start 1.1 s 40 100
			start 1.1 u 45 90
			call 1.1 launch 50 52 1
			kernel 1 k 60 70 1`,
			[]string{
				"s StartEnd n=2 range=120 proj=20 k=1 incl=10 excl=10 busy=20 idle=0",
				"u StartEnd n=1 range=45 proj=10 k=1 incl=10 excl=10 busy=10 idle=0",
			}},
		{"domains are stacks of their own", `
			push 1.1 a 0 100
			push 1.1 a 10 90 domain=D
			call 1.1 launch 20 22 1
			kernel 1 k 30 40 1`,
			[]string{
				"D@a PushPop n=1 range=80 proj=10 k=1 incl=10 excl=10 busy=10 idle=0",
				"a PushPop n=1 range=100 proj=10 k=1 incl=10 excl=10 busy=10 idle=0",
			}},
		{"badly nested: the call belongs to the range opened last that holds it", `
			push 1.1 a 0 50
			push 1.1 b 30 80
			call 1.1 launch 40 42 1
			call 1.1 launch 45 60 2
			call 1.1 launch 10 12 3
			kernel 1 k 100 101 1
			kernel 1 k 200 202 2
			kernel 1 k 300 304 3`,
			[]string{
				"a PushPop n=1 range=50 proj=4 k=1 incl=4 excl=4 busy=4 idle=0",
				"b PushPop n=1 range=50 proj=102 k=2 incl=3 excl=3 busy=3 idle=99",
			}},
		{"the kernels of a graph belong to its launch", `
			push 1.1 step 0 100
			call 1.1 cudaGraphLaunch 10 12 1
			kernel 1 k 20 30 1 node=4294967297
			kernel 1 k 30 40 1 node=4294967298`,
			[]string{"step PushPop n=1 range=100 proj=20 k=2 incl=20 excl=20 busy=20 idle=0"}},
		{"a whole graph keeps the GPU busy and has no kernels", `
			push 1.1 step 0 100
			call 1.1 cudaGraphLaunch 10 12 1
			call 1.1 launch 13 14 2
			graph 1 20 60 1
			kernel 1 k 70 80 2`,
			[]string{"step PushPop n=1 range=100 proj=10 k=1 incl=10 excl=10 busy=50 idle=10"}},
		{"an unclosed range stays open", `
			push 1.1 a 0 ?
			push 1.1 b 10 20
			call 1.1 launch 30 32 1
			kernel 1 k 40 50 1`,
			[]string{
				"a PushPop n=1 range=20 proj=10 k=1 incl=10 excl=10 busy=10 idle=0",
				"a/b PushPop n=1 range=10 proj=0 k=0 incl=0 excl=0 busy=0 idle=0",
			}},
		{"slashes in names are escaped", `
			push 1.1 a/b 0 10
			push 1.1 c\d 2 8`,
			[]string{
				`a\/b PushPop n=1 range=10 proj=0 k=0 incl=0 excl=0 busy=0 idle=0`,
				`a\/b/c\\d PushPop n=1 range=6 proj=0 k=0 incl=0 excl=0 busy=0 idle=0`,
			}},
		{"the same correlation id in two processes", `
			push 1.1 a 0 100
			push 2.1 b 0 100
			call 1.1 launch 10 12 1
			call 2.1 launch 20 22 1
			kernel 1 k 30 31 1
			kernel 2 k 30 32 1`,
			[]string{
				"a PushPop n=1 range=100 proj=1 k=1 incl=1 excl=1 busy=1 idle=0",
				"b PushPop n=1 range=100 proj=2 k=1 incl=2 excl=2 busy=2 idle=0",
			}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := regionLines(parse(t, test.text).RegionRows(Query{}).Rows)
			if !slices.Equal(got, test.want) {
				t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

const twoOfAll = `
	push 1.1 a 0 100
	push 1.1 b 10 90
	push 2.1 a 0 100
	call 1.1 launch 20 22 1
	call 1.1 launch 95 96 2
	call 2.1 launch 20 22 1
	kernel 1 gemm 30 40 1 device=0
	kernel 1 relu 100 105 2 device=1
	kernel 2 gemm 30 37 1 device=1
	copy 1 50 60 2 bytes=64`

func TestRegionSplits(t *testing.T) {
	tests := []struct {
		name string
		q    Query
		want []string
	}{
		{"by device", Query{By: ByDevice}, []string{
			"a dev=0 n=1 incl=10", "a dev=1 n=2 incl=12", "a/b dev=0 n=1 incl=10",
		}},
		{"by process", Query{By: ByProcess}, []string{
			"a pid=1 n=1 incl=15", "a pid=2 n=1 incl=7", "a/b pid=1 n=1 incl=10",
		}},
		{"one process", Query{Processes: []int{2}}, []string{"a n=1 incl=7"}},
		{"one device", Query{Devices: []int{1}}, []string{"a n=2 incl=12", "a/b n=1 incl=0"}},
		{"one region", Query{Region: func(s nvtx.State) bool {
			return len(s.Stacks) == 1 && len(s.Stacks[0]) == 2
		}}, []string{"a/b n=1 incl=10"}},
		{"top", Query{Top: 1}, []string{"a n=2 incl=22"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, r := range parse(t, twoOfAll).RegionRows(test.q).Rows {
				line := r.Path
				if r.Device != nil {
					line += fmt.Sprintf(" dev=%d", *r.Device)
				}
				if r.Process != nil {
					line += fmt.Sprintf(" pid=%d", *r.Process)
				}
				got = append(got, fmt.Sprintf("%s n=%d incl=%d", line, r.Instances, r.InclusiveNS))
			}
			slices.Sort(got)
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestKernelSplits(t *testing.T) {
	expr := func(s nvtx.State) bool {
		return slices.ContainsFunc(s.Stacks, func(stack []nvtx.Range) bool {
			return slices.ContainsFunc(stack, func(r nvtx.Range) bool { return r.Name == "b" })
		})
	}
	tests := []struct {
		name string
		q    Query
		want []string
	}{
		{"plain", Query{}, []string{"gemm calls=2 total=17 pct=77.3", "relu calls=1 total=5 pct=22.7"}},
		{"by region", Query{By: ByRegion}, []string{
			"gemm calls=1 total=10 pct=45.5 region=a/b", "gemm calls=1 total=7 pct=31.8 region=a", "relu calls=1 total=5 pct=22.7 region=a",
		}},
		{"in region", Query{Region: expr}, []string{"gemm calls=1 total=10 pct=100.0"}},
		{"by device", Query{By: ByDevice}, []string{
			"gemm calls=1 total=10 pct=45.5 dev=0", "gemm calls=1 total=7 pct=31.8 dev=1", "relu calls=1 total=5 pct=22.7 dev=1",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, r := range parse(t, twoOfAll).KernelRows(test.q).Rows {
				line := fmt.Sprintf("%s calls=%d total=%d pct=%.1f", r.Name, r.Calls, r.TotalNS, r.TimePct)
				if r.Region != nil {
					line += " region=" + *r.Region
				}
				if r.Device != nil {
					line += fmt.Sprintf(" dev=%d", *r.Device)
				}
				got = append(got, line)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestLaunchAndRangeRows(t *testing.T) {
	tl := parse(t, `
		push 1.1 a 0 100
		start 1.2 s 5 90
		push 1.1 d 10 80 domain=D
		call 1.1 launch 20 22 9
		kernel 1 late 60 70 9
		kernel 1 lost 10 20 77`)
	launches := launchRows(tl, Query{})
	if len(launches.Rows) != 2 || launches.Rows[0].Kernel != "lost" || launches.Rows[0].NVTX != "" || launches.Rows[0].LaunchNS != nil {
		t.Fatalf("got %+v", launches.Rows)
	}
	late := launches.Rows[1]
	if late.ID != 1 || late.NVTX != "D@d" || *late.QueueNS != 40 || *late.Thread != 1 || !slices.Equal(late.NVTXAll, []string{"a", "D@d", "s"}) {
		t.Errorf("got %+v", late)
	}
	if len(launches.Warnings) != 1 || !launches.Warnings[0].Is(CodeNoLaunchCall) {
		t.Errorf("warnings %v", launches.Warnings)
	}
	ranges := tl.RangeRows(Query{})
	if len(ranges.Rows) != 3 {
		t.Fatalf("got %d ranges", len(ranges.Rows))
	}
	for i, want := range []string{"a", "s", "D@d"} {
		r := ranges.Rows[i]
		if r.Path != want || r.KernelCalls != 1 || r.ProjectedNS != 10 || *r.ProjectedStart != 60 {
			t.Errorf("range %d: %+v", i, r)
		}
	}
}

func TestGapRows(t *testing.T) {
	tl := parse(t, `
		push 1.1 step 0 400
		call 1.1 sync 12 50 5
		call 1.1 launch 60 62 1
		call 1.2 other 20 30 6
		call 1.1 launch 1 2 2
		call 1.1 launch 3 4 3
		kernel 1 a 0 10 2 stream=7
		kernel 1 b 5 20 3 stream=8
		kernel 1 c 100 110 1 stream=7
		kernel 1 d 105 120 1 stream=7`)
	var got []string
	for _, g := range gapRows(tl, Query{}).Rows {
		stream := "all"
		if g.Stream != nil {
			stream = fmt.Sprint(*g.Stream)
		}
		line := fmt.Sprintf("%s %d-%d %s>%s in %s host=%d", stream, g.StartNS, g.EndNS, g.Before, g.After, g.NVTX, *g.HostNS)
		for _, c := range g.Calls {
			line += fmt.Sprintf(" %s:%d", c.Name, c.NS)
		}
		got = append(got, line)
	}
	want := []string{
		"7 10-100 a>c in step host=50 sync:38 other:10 launch:2",
		"all 20-100 b>c in step host=48 sync:30 other:10 launch:2",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if rows := gapRows(tl, Query{MinGap: 85}); len(rows.Rows) != 1 {
		t.Errorf("%d gaps of 85 ns or more", len(rows.Rows))
	}
	if rows := gapRows(tl, Query{Top: 1}); len(rows.Rows) != 1 || rows.Cut != 1 || rows.Rows[0].DurationNS != 90 {
		t.Errorf("top 1: %+v", rows)
	}
}

// Ranges that differ by a number alone are one group with its spread; a range
// that only launches is asynchronous.
func TestRegionGroups(t *testing.T) {
	tl := &Timeline{Names: []string{"", "decode"}, Domains: []Domain{{Process: None}}, Processes: []Process{{}}, Threads: []Thread{{}}, Queues: []Queue{{}},
		Functions: []Function{{}}, Configs: []LaunchConfig{{}}}
	add := func(start, end int64, name string) {
		tl.Names = append(tl.Names, name)
		tl.Ranges = append(tl.Ranges, Range{Start: start, End: end, Name: StringID(len(tl.Names) - 1), EndThread: None, Payload: None})
	}
	tl.Ranges = append(tl.Ranges, Range{Start: 0, End: 10_000, Name: 1, EndThread: None, Payload: None})
	for i := range int64(8) {
		length := int64(100)
		if i == 5 {
			length = 900
		}
		add(i*1000, i*1000+length, "step"+string(rune('0'+i)))
		tl.Calls.Add(Call{Start: i*1000 + 1, End: i*1000 + 2, Correlation: uint32(i)})
		tl.Kernels = append(tl.Kernels, Kernel{Start: i*1000 + 50, End: i*1000 + 150, Correlation: uint32(i)})
	}
	if rows := tl.RegionRows(Query{}).Rows; len(rows) != 9 || rows[1].Group != "decode/step#" {
		t.Fatalf("%d rows, the second of group %q", len(rows), rows[1].Group)
	}
	rows := tl.RegionRows(Query{Grouped: true}).Rows
	if len(rows) != 2 || rows[1].Path != "decode/step#" {
		t.Fatalf("grouped: %+v", rows)
	}
	step := rows[1]
	if step.Instances != 8 || step.KernelCalls != 8 || step.MinNS != 100 || step.MedianNS != 100 || step.MaxNS != 900 || step.Outliers != 1 {
		t.Errorf("%+v", step)
	}
	if step.Async != 7 || rows[0].Async != 0 {
		t.Errorf("asynchronous: %d steps, %d of decode", step.Async, rows[0].Async)
	}
}

// TestStepGroups: steps of a serving engine are one group by kind, whatever their batch, with
// the modules below them.
func TestStepGroups(t *testing.T) {
	tl := &Timeline{Names: []string{"", "Llama"}, Domains: []Domain{{Process: None}}, Processes: []Process{{}}, Threads: []Thread{{}}, Queues: []Queue{{}},
		Functions: []Function{{}}, Configs: []LaunchConfig{{}}}
	for i, name := range []string{
		"[Executor] _forward_step 7: 1 ctx reqs, 512 ctx tokens, 0 gen reqs", "[Executor] _forward_step 8: 1 ctx reqs, 512 ctx tokens, 1 gen reqs",
		"[Executor] _forward_step 9: 0 ctx reqs, 0 ctx tokens, 2 gen reqs", "[Executor] _forward_step 11: 0 ctx reqs, 0 ctx tokens, 8 gen reqs",
	} {
		at := int64(i) * 1000
		tl.Names = append(tl.Names, name)
		tl.Ranges = append(tl.Ranges, Range{Start: at, End: at + 900, Name: StringID(len(tl.Names) - 1), EndThread: None, Payload: None},
			Range{Start: at + 10, End: at + 800, Name: 1, EndThread: None, Payload: None})
		tl.Calls.Add(Call{Start: at + 20, End: at + 30, Correlation: uint32(i)})
		tl.Kernels = append(tl.Kernels, Kernel{Start: at + 50, End: at + 150, Correlation: uint32(i)})
	}
	got := map[string]int64{}
	for _, r := range tl.RegionRows(Query{Grouped: true}).Rows {
		got[r.Path] = r.InclusiveNS
	}
	want := map[string]int64{"prefill": 100, "prefill/Llama": 100, "mixed": 100, "mixed/Llama": 100, "decode": 200, "decode/Llama": 200}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
