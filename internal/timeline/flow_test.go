package timeline

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/deepprof/deepprof/internal/nvtx"
)

// memoryFlow gives the kernels and calls of a timeline as a file does.
type memoryFlow struct {
	kernels []Kernel
	calls   Calls
	order   []uint32
	ranges  []Range
}

// parcel is how many events a memoryFlow gives at a time: few, so that most of what is
// looked for comes with another parcel.
const parcel = 3

func (f *memoryFlow) NextKernels() []Kernel {
	n := min(parcel, len(f.kernels))
	given := f.kernels[:n]
	f.kernels = f.kernels[n:]
	return given
}

func (f *memoryFlow) NextCalls() (given []FlowCall) {
	n := min(parcel, len(f.order))
	for _, i := range f.order[:n] {
		given = append(given, FlowCall{f.calls.Start(i), f.calls.End(i), f.calls.Correlation(i), f.calls.Site(i)})
	}
	f.order = f.order[n:]
	return given
}

func (f *memoryFlow) Ranges() func() []Range {
	rest := f.ranges
	return func() []Range {
		n := min(parcel, len(rest))
		given := slices.Clone(rest[:n])
		rest = rest[n:]
		return given
	}
}

// flowing is the timeline without kernels, calls and ranges, and the flow of those.
func flowing(t *Timeline) (*Timeline, *memoryFlow) {
	made := *t
	made.Kernels, made.Calls, made.Ranges = nil, Calls{sites: slices.Clone(t.Calls.sites)}, nil
	return &made, &memoryFlow{slices.Clone(t.Kernels), t.Calls, upTo(t.Calls.Len()), t.Ranges}
}

// busyProgram is synthetic: two processes with two threads each, which nest ranges in two
// domains, launch kernels and copies on two devices and several streams, wait, and let
// kernels overlap and queue up.
func busyProgram(seed uint64) *Timeline {
	random := rand.New(rand.NewPCG(seed, 7))
	t := &Timeline{
		Names:     []string{"", "cudaLaunchKernel", "cudaMemcpyAsync", "cudaStreamSynchronize", "step", "layer", "D", "gemm"},
		Functions: []Function{{7, 7, 7}, {4, 4, 4}}, Configs: []LaunchConfig{{}},
		Processes: []Process{{PID: 1, Global: 1 << 24}, {PID: 2, Global: 2 << 24}},
		Domains:   []Domain{{Process: None}, {Process: 0, ID: 1, Name: 6}},
	}
	for p := range uint32(2) {
		for n := range uint32(2) {
			t.Threads = append(t.Threads, Thread{Global: int64(p+1)<<24 + int64(n+1), Process: p, TID: int(n + 1)})
			t.Queues = append(t.Queues, Queue{Process: p, Device: int32(n), Stream: int32(p*2 + n)})
		}
	}
	var free [4]int64 // by queue
	id := [2]uint32{}
	type range_ struct{ start, end int64 }
	now := int64(1000)
	until := [4]int64{}
	for range 3000 {
		now += int64(random.IntN(40))
		thread := uint32(random.IntN(4))
		if now > until[thread] {
			until[thread] = now + 2000
			r := range_{now, until[thread]}
			t.Ranges = append(t.Ranges, Range{Start: r.start, End: r.end, Name: 4, Thread: thread, EndThread: None, Payload: None})
			t.Ranges = append(t.Ranges, Range{Start: r.start + 100, End: r.end - 500, Name: 5, Thread: thread, Domain: uint32(random.IntN(2)) * (1 - thread/2), EndThread: None, Payload: None})
		}
		process := thread / 2
		id[process] += uint32(1 + random.IntN(3))
		call := Call{Start: now, End: now + int64(random.IntN(30)), Correlation: id[process], Thread: thread, Name: StringID(1 + random.IntN(3))}
		t.Calls.Add(call)
		q := process*2 + uint32(random.IntN(2))
		start := max(now+int64(random.IntN(300)), free[q])
		free[q] = start + int64(random.IntN(60))
		switch call.Name {
		case 1:
			t.Kernels = append(t.Kernels, Kernel{Start: start, End: free[q], Correlation: call.Correlation, Queue: q, Function: uint32(random.IntN(2))})
		case 2:
			t.Copies = append(t.Copies, Copy{Start: start, End: free[q], Correlation: call.Correlation, Queue: q, Bytes: 8, Kind: 1})
		}
	}
	slices.SortStableFunc(t.Kernels, func(x, y Kernel) int { return int(x.Start - y.Start) })
	slices.SortStableFunc(t.Ranges, func(x, y Range) int { return int(x.Start - y.Start) })
	return t
}

// badlyNested gives ranges ends and starts that stacks cannot have, as damaged files do.
func badlyNested(t *Timeline, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 11))
	last := t.Ranges[len(t.Ranges)-1].End
	for i := range t.Ranges {
		r := &t.Ranges[i]
		switch random.IntN(8) {
		case 0:
			r.End += int64(random.IntN(3000))
		case 1:
			r.End, r.Unclosed = last, true
		case 2:
			r.End = r.Start - int64(random.IntN(2))
		case 3:
			if i > 0 { // the longer one may be the second
				r.Start, r.Thread, r.Domain = t.Ranges[i-1].Start, t.Ranges[i-1].Thread, t.Ranges[i-1].Domain
			}
		}
	}
	slices.SortStableFunc(t.Ranges, func(x, y Range) int { return int(x.Start - y.Start) })
}

func asText(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestFlowEqualsMemory: what is told while kernels and calls come is what is told of them
// in memory.
func TestFlowEqualsMemory(t *testing.T) {
	inStep := func(s nvtx.State) bool { return len(s.Stacks) == 1 }
	for seed := range uint64(20) {
		tl := busyProgram(seed)
		if seed%2 == 1 {
			badlyNested(tl, seed)
		}
		for i, q := range []Query{
			{}, {Grouped: true}, {By: ByProcess}, {MinGap: 30}, {Top: 5}, {Region: inStep}, {Devices: []int{1}}, {Processes: []int{2}, Top: 3},
		} {
			q.WholeDevices = true
			if len(q.Devices)+len(q.Processes) == 0 {
				made, flow := flowing(tl)
				rows, ok := made.FlowRegions(q, flow)
				if want := tl.RegionRows(q); !ok || asText(t, rows) != asText(t, want) || len(want.Rows) == 0 {
					t.Fatalf("seed %d, query %d: regions %v\n%s\n%s", seed, i, ok, asText(t, rows), asText(t, want))
				}
			}
			made, flow := flowing(tl)
			groups, ok := made.FlowGapGroups(q, flow)
			if want := tl.GapGroups(q); !ok || asText(t, groups) != asText(t, want) || len(want.Rows) == 0 {
				t.Fatalf("seed %d, query %d: groups of gaps %v\n%s\n%s", seed, i, ok, asText(t, groups), asText(t, want))
			}
			made, flow = flowing(tl)
			gaps, ok := made.FlowGaps(q, flow)
			want := gapRows(tl, q)
			if !ok || asText(t, collect(gaps)) != asText(t, want) || len(want.Rows) == 0 || gaps.Len != len(want.Rows) {
				t.Fatalf("seed %d, query %d: gaps %v\n%s\n%s", seed, i, ok, asText(t, collect(gaps)), asText(t, want))
			}
		}
	}
}

// TestFlowLaunchesEqualMemory: kernels that come in a flow are launched from the same
// places, and the regions that the program is about are the same.
func TestFlowLaunchesEqualMemory(t *testing.T) {
	type launch struct {
		Kernel
		from LaunchedFrom
		path string
		all  []string
	}
	list := func(a func(func(*Kernel, LaunchedFrom)) *Attribution) (out []launch, main []uint32) {
		at := a(func(k *Kernel, from LaunchedFrom) { out = append(out, launch{Kernel: *k, from: from}) })
		for i := range out {
			l := &out[i]
			l.path = at.Path(l.from.Region)
			for _, id := range at.Places()[l.from.Place].All {
				l.all = append(l.all, at.Path(id))
			}
			l.from.Place = 0 // numbered as they come, which the other work has part in
		}
		return out, at.MainRegions()
	}
	for seed := range uint64(20) {
		tl := busyProgram(seed)
		if seed%2 == 0 { // the regions that hold the time begin late
			tl.Names[4] = "warm-up"
		}
		want, wantMain := list(func(visit func(*Kernel, LaunchedFrom)) *Attribution {
			a := tl.Attribute()
			a.EachLaunch(visit)
			return a
		})
		got, gotMain := list(func(visit func(*Kernel, LaunchedFrom)) *Attribution {
			made, flow := flowing(tl)
			a, ok := made.FlowLaunches(flow, visit, func(*Range) {})
			if !ok {
				t.Fatalf("seed %d: the flow is broken", seed)
			}
			return a
		})
		if !reflect.DeepEqual(got, want) || len(want) == 0 {
			t.Fatalf("seed %d: launches\n%+v\n%+v", seed, got[:3], want[:3])
		}
		if !slices.Equal(gotMain, wantMain) {
			t.Fatalf("seed %d: main regions %v, want %v", seed, gotMain, wantMain)
		}
	}
}

// TestRangesPass: ranges of a flow take no more memory than those that are open and those
// around calls whose work may still come.
func TestRangesPass(t *testing.T) {
	tl := &Timeline{
		Names: []string{"", "run", "step", "cudaLaunchKernel"}, Functions: []Function{{}}, Configs: []LaunchConfig{{}}, Domains: []Domain{{Process: None}},
		Processes: []Process{{PID: 1, Global: 1 << 24}}, Threads: []Thread{{Global: 1<<24 + 1, TID: 1}}, Queues: []Queue{{}},
	}
	const steps, most = 100_000, mostPages * pageIDs / 4
	tl.Ranges = append(tl.Ranges, Range{End: steps * 100, Name: 1, EndThread: None, Payload: None})
	for i := range int64(steps) {
		tl.Ranges = append(tl.Ranges, Range{Start: 100 * i, End: 100*i + 90, Name: 2, EndThread: None, Payload: None})
		for n := range int64(4) {
			at := 100*i + 10*n
			tl.Calls.Add(Call{Start: at, End: at + 5, Correlation: uint32(4*i + n), Name: 3})
		}
		tl.Kernels = append(tl.Kernels, Kernel{Start: 100*i + 60, End: 100*i + 95, Correlation: uint32(4*i + 3)})
	}
	made, flow := flowing(tl)
	if rows, ok := made.FlowRegions(Query{}, flow); !ok || asText(t, rows) != asText(t, tl.RegionRows(Query{})) {
		t.Errorf("regions %v", ok)
	}
	if n := len(made.Ranges); n > most+10 {
		t.Errorf("%d of %d ranges were in memory, want at most %d", n, steps, most+10)
	}
	made, flow = flowing(tl)
	search, ok := made.flowSearch(&Query{WholeDevices: true}, flow, true)
	if !ok {
		t.Fatal("gaps do not flow")
	}
	if rows, ok := search.groups(); !ok || asText(t, rows) != asText(t, tl.GapGroups(Query{WholeDevices: true})) {
		t.Errorf("groups of gaps %v", ok)
	}
	if n := len(made.Ranges); n > most+10 || search.hosts.held > 2*leastTurns {
		t.Errorf("%d of %d ranges and %d turns were in memory", n, steps, search.hosts.held)
	}
}

// TestSpilledGaps: gaps that went to a file come back as they were, in their order, as
// often as they are asked for; what the file does not give any more is counted.
func TestSpilledGaps(t *testing.T) {
	usual := spilledChunks
	defer func() { spilledChunks = usual }()
	for seed := range uint64(10) {
		tl, q := busyProgram(seed), Query{WholeDevices: seed%2 == 0}
		for i := range tl.Kernels { // so that there are gaps that share a chain, and some in the last
			k, longer := &tl.Kernels[i], int64(1)<<(seed*4)
			k.Start, k.End = k.Start*longer, k.End*longer
		}
		spilledChunks = usual
		want := asText(t, gapRows(tl, q))
		spilledChunks = 40
		search := tl.gapSearch(&q, false)
		g := newGapStore(search)
		if !search.each(g.add) || len(g.spill.runs) < 2 {
			t.Fatalf("seed %d: %d runs in the file", seed, len(g.spill.runs))
		}
		s := Stream[GapRow]{Rows: g.rows, Len: g.n, Warnings: search.a.Warnings, Late: g.late}
		for range 2 {
			if got := asText(t, collect(s)); got != want || len(g.late()) > 0 {
				t.Fatalf("seed %d: %v\n%s\n%s", seed, g.late(), got, want)
			}
		}
		if err := g.spill.file.Truncate(g.spill.size / 2); err != nil {
			t.Fatal(err)
		}
		n := 0
		for range s.Rows {
			n++
		}
		if late := s.Late(); n >= g.n || len(late) != 1 || late[0].Number("n") != float64(g.n-n) {
			t.Fatalf("seed %d: %d of %d gaps of a file that was cut, %v", seed, n, g.n, late)
		}
	}
}

// TestGapsPlainly: every gap has the calls that reach into it, found plainly, and the
// gaps come with the longest first.
func TestGapsPlainly(t *testing.T) {
	for seed := range uint64(10) {
		tl := busyProgram(seed)
		rows := gapRows(tl, Query{}).Rows
		for i, r := range rows {
			if i > 0 && (r.DurationNS > rows[i-1].DurationNS || r.DurationNS == rows[i-1].DurationNS && r.StartNS < rows[i-1].StartNS) {
				t.Fatalf("seed %d: gap %d of %d ns comes after %d ns", seed, i, r.DurationNS, rows[i-1].DurationNS)
			}
			if r.Process == nil {
				continue // of a device: the work after it may be of either process
			}
			var ns, calls int64
			for c := range uint32(tl.Calls.Len()) {
				start, end := max(tl.Calls.Start(c), r.StartNS), min(tl.Calls.End(c), r.EndNS)
				if tl.Calls.Start(c) < r.EndNS && tl.Calls.End(c) > r.StartNS && tl.pid(tl.ThreadProcess(tl.Calls.Thread(c))) == *r.Process {
					ns, calls = ns+end-start, calls+1
				}
			}
			for _, c := range r.Calls {
				ns, calls = ns-c.NS, calls-c.Calls
			}
			if ns != 0 || calls != 0 {
				t.Fatalf("seed %d: %s lacks %d ns in %d calls", seed, asText(t, r), ns, calls)
			}
		}
	}
}

// TestBrokenFlow: a flow that cannot be trusted is not.
func TestBrokenFlow(t *testing.T) {
	for name, breakIt := range map[string]func(*Timeline){
		"kernels out of order": func(t *Timeline) { t.Kernels[10], t.Kernels[90] = t.Kernels[90], t.Kernels[10] },
		"calls out of order": func(t *Timeline) {
			var late Starts
			for i := range uint32(t.Calls.Len()) {
				from, ok := map[uint32]uint32{50: 800, 800: 50}[i]
				if !ok {
					from = i
				}
				late.Add(t.Calls.Start(from))
			}
			t.Calls.start = late
		},
		"ranges out of order":   func(t *Timeline) { t.Ranges[3], t.Ranges[30] = t.Ranges[30], t.Ranges[3] },
		"a start/end range":     func(t *Timeline) { t.Ranges[3].Kind = StartEnd },
		"a kernel without call": func(t *Timeline) { t.Kernels[20].Correlation = 1 << 30 },
		"a kernel without id":   func(t *Timeline) { t.Kernels[20].Correlation = NoCorrelation },
		"two calls of one id": func(t *Timeline) {
			var ids List
			for i := range uint32(t.Calls.Len()) {
				if i == 41 {
					i = 40
				}
				ids.Add(t.Calls.Correlation(i))
			}
			t.Calls.correlation, t.Calls.site.narrow[41] = ids, t.Calls.site.narrow[40]
		},
		"an end before a start": func(t *Timeline) { t.Kernels[20].End = t.Kernels[20].Start - 1 },
		"a call long ago": func(t *Timeline) {
			last := t.Kernels[len(t.Kernels)-1]
			for i := range uint32((mostPages + 2) * pageIDs) {
				t.Calls.Add(Call{Start: last.End + int64(i), End: last.End + int64(i), Correlation: 1<<20 + i, Name: 3})
			}
			t.Kernels = append(t.Kernels, Kernel{Start: last.End + 1<<30, End: last.End + 1<<30, Correlation: t.Kernels[0].Correlation, Queue: t.Kernels[0].Queue})
		},
	} {
		tl := busyProgram(1)
		breakIt(tl)
		q := Query{WholeDevices: true}
		made, flow := flowing(tl)
		if _, ok := made.FlowRegions(q, flow); ok {
			t.Errorf("%s: regions are told", name)
		}
		made, flow = flowing(tl)
		if _, ok := made.FlowGapGroups(q, flow); ok {
			t.Errorf("%s: groups of gaps are told", name)
		}
		made, flow = flowing(tl)
		if _, ok := made.FlowGaps(q, flow); ok {
			t.Errorf("%s: gaps are told", name)
		}
	}
}
