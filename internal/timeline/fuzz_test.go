package timeline

import (
	"cmp"
	"slices"
	"testing"

	"github.com/deepprof/deepprof/internal/nvtx"
)

// decode makes a timeline of any bytes: few threads and names, small times, so
// that ranges collide in every way; some references lead nowhere.
func decode(data []byte) *Timeline {
	t := &Timeline{
		Names:     []string{"", "a", "b", "D", "k\x00\n|", "\xff"},
		Functions: []Function{{4, 4, 4}, {5, 99, 0}},
		Configs:   []LaunchConfig{{}},
		Processes: []Process{{PID: 1, Global: 1 << 24}, {PID: 2, Global: 2 << 24}},
		Threads:   []Thread{{1<<24 + 1, 0, 1, 0, 0}, {1<<24 + 2, 0, 2, 0, 0}, {2<<24 + 1, 1, 1, 0, 0}, {0, None, 0, 0, 0}},
		Queues:    []Queue{{Process: 0}, {Process: 1, Device: 1}, {Process: None, Device: -1}, {Process: 0, Stream: 3}},
		Domains:   []Domain{{Process: None}, {Process: 0, ID: 1, Name: 3}},
	}
	for len(data) >= 6 {
		op, a, b, c, d, e := data[0], data[1], data[2], data[3], data[4], data[5]
		data = data[6:]
		start, end := int64(a), int64(a)+int64(int8(b))
		switch op % 8 {
		case 0, 1, 2, 3:
			r := Range{
				Start: start, End: start + int64(b), Name: StringID(c % 7), Domain: uint32(c / 7 % 3), Thread: uint32(d % 4),
				EndThread: None, Kind: RangeKind(op % 8 / 3), Unclosed: e%16 == 0, Unnamed: e%32 == 1, Payload: None,
			}
			if e%64 == 2 {
				r.End = end // may end before it starts
			}
			if e%16 == 3 {
				r.EndThread = uint32(e / 64)
			}
			t.Ranges = append(t.Ranges, r)
			t.LastNVTX = Time{max(t.LastNVTX.NS, r.End), true}
		case 4, 5:
			t.Calls.Add(Call{Start: start, End: start + int64(b%8), Thread: uint32(c % 5), Correlation: uint32(d % 32), Name: StringID(e)})
		case 6:
			t.Kernels = append(t.Kernels, Kernel{Start: start, End: end, Queue: uint32(c % 4), Correlation: uint32(d % 32), Function: uint32(e % 2)})
		case 7:
			t.Copies = append(t.Copies, Copy{Start: start, End: end, Queue: uint32(c % 4), Correlation: uint32(d % 32), Bytes: int64(e)})
			t.Graphs = append(t.Graphs, GraphLaunch{Start: start, End: end, Queue: uint32(c % 4), Correlation: uint32(d % 32)})
		}
	}
	t.LastRange = t.LastNVTX
	for i := range t.Ranges {
		if t.Ranges[i].Unclosed {
			t.Ranges[i].End = t.LastNVTX.NS
		}
	}
	return t
}

// FuzzAttribution holds the sweeps against the rules of docs/regions.md
// written down plainly, and runs every computation.
func FuzzAttribution(f *testing.F) {
	f.Add([]byte("\x00\x00\x64\x01\x00\x05\x00\x0a\x28\x02\x00\x05\x04\x14\x02\x00\x01\x00\x06\x1e\x0a\x00\x01\x00"))
	f.Add([]byte("\x00\x00\x32\x01\x00\x05\x00\x1e\x32\x02\x00\x05\x04\x28\x02\x00\x01\x00\x06\x64\x01\x00\x01\x00"))
	f.Add([]byte("\x03\x00\x64\x01\x00\x05\x03\x0a\x28\x01\x01\x00\x04\x14\x02\x01\x01\x00\x07\x1e\xf0\x00\x01\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 6*(maxDepth-1) {
			return // the model below does not fold deep stacks; TestDeepStack does
		}
		tl := decode(data)
		a := tl.Attribute()
		launched := a.launchesByStart()
		for c := range uint32(tl.Calls.Len()) {
			if slices.Contains(launched, c) {
				checkCall(t, tl, a, uint32(c))
			}
		}
		for i := range tl.Ranges {
			checkParent(t, tl, a, uint32(i))
		}
		checkSums(t, tl)
		tl.RegionRows(Query{By: ByDevice | ByProcess})
		tl.RangeRows(Query{})
		launchRows(tl, Query{Region: func(s nvtx.State) bool { return len(s.Open) == 0 }})
		gapRows(tl, Query{})
		tl.KernelRows(Query{By: ByRegion | ByDevice | ByProcess | ByLaunchConfig})
		tl.Info()
	})
}

// after orders ranges as their pushes are: by start, longest first, then as in
// the file.
func after(tl *Timeline, x, y uint32) int {
	p, q := &tl.Ranges[x], &tl.Ranges[y]
	return cmp.Or(cmp.Compare(p.Start, q.Start), cmp.Compare(q.open(), p.open()), cmp.Compare(x, y))
}

func checkCall(t *testing.T, tl *Timeline, a *Attribution, c uint32) {
	call := tl.Calls.At(c)
	inner := map[uint32]uint32{} // by domain
	var open []uint32
	for i := range tl.Ranges {
		r := &tl.Ranges[i]
		if r.Start > call.Start || r.open() < call.End || r.open() < call.Start {
			continue
		}
		if r.Kind == StartEnd {
			if tl.ThreadProcess(r.Thread) == tl.ThreadProcess(call.Thread) {
				open = append(open, uint32(i))
			}
			continue
		}
		if r.Thread != call.Thread {
			continue
		}
		if best, ok := inner[r.Domain]; !ok || after(tl, uint32(i), best) > 0 {
			inner[r.Domain] = uint32(i)
		}
	}
	var want []uint32
	for _, r := range inner {
		want = append(want, r)
	}
	slices.SortFunc(want, func(x, y uint32) int { return cmp.Compare(tl.Ranges[x].Domain, tl.Ranges[y].Domain) })
	if got := a.innermost(c); !slices.Equal(got, want) {
		t.Fatalf("call %+v lies in push/pop ranges %v, want %v of %+v", call, got, want, tl.Ranges)
	}
	got := slices.Sorted(slices.Values(a.openAround(c)))
	if !slices.Equal(got, open) {
		t.Fatalf("call %+v lies in start/end ranges %v, want %v of %+v", call, got, open, tl.Ranges)
	}
}

func checkParent(t *testing.T, tl *Timeline, a *Attribution, r uint32) {
	want := uint32(None)
	rng := &tl.Ranges[r]
	if rng.Kind == PushPop {
		for i := range tl.Ranges {
			o := &tl.Ranges[i]
			// A damaged range ends before it starts; what was closed at its start holds it no more.
			if o.Kind == PushPop && o.Thread == rng.Thread && o.Domain == rng.Domain && o.open() >= max(rng.open(), rng.Start) &&
				after(tl, uint32(i), r) < 0 && (want == None || after(tl, uint32(i), want) > 0) {
				want = uint32(i)
			}
		}
	}
	if got := a.rangeParent[r]; got != want {
		t.Fatalf("range %d has the parent %d, want %d of %+v", r, got, want, tl.Ranges)
	}
}

// checkSums: in each stack the exclusive times add up to what the outermost
// ranges include, and no region is busy for longer than its work.
func checkSums(t *testing.T, tl *Timeline) {
	var roots, exclusive int64
	for _, r := range tl.RegionRows(Query{}).Rows {
		if r.Style == "PushPop" {
			exclusive += r.ExclusiveNS
			if r.Depth == 0 {
				roots += r.InclusiveNS
			}
		}
		if r.BusyNS < 0 || r.IdleNS < 0 || r.Path == "" || r.KernelCalls < r.ExclusiveCalls {
			t.Fatalf("region %+v", r)
		}
	}
	if roots != exclusive {
		t.Fatalf("outermost ranges include %d ns, all ranges have %d ns of their own", roots, exclusive)
	}
}
