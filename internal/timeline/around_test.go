package timeline

import (
	"slices"
	"testing"

	"github.com/deepprof/deepprof/internal/nvtx"
)

// TestAround: a launch lies in the ranges of its thread, in what encloses them,
// and in the start/end ranges of the process; each region is named once.
func TestAround(t *testing.T) {
	tl := &Timeline{
		Names:     []string{"", "decode", "attn", "async", "k"},
		Functions: []Function{{Demangled: 4, Short: 4, Mangled: 4}},
		Configs:   []LaunchConfig{{}},
		Processes: []Process{{PID: 7}},
		Threads:   []Thread{{Process: 0, TID: 7}},
		Queues:    []Queue{{}},
		Domains:   []Domain{{Process: None}},
		Ranges: []Range{
			{Start: 0, End: 100, Name: 1, EndThread: None, Payload: None},
			{Start: 10, End: 40, Name: 2, EndThread: None, Payload: None},
			{Start: 15, End: 30, Name: 3, EndThread: None, Payload: None, Kind: StartEnd},
			{Start: 16, End: 31, Name: 3, EndThread: None, Payload: None, Kind: StartEnd},
		},
		Kernels: []Kernel{{Start: 25, End: 26, Correlation: 1}, {Start: 60, End: 61, Correlation: 2}, {Start: 70, End: 71, Correlation: 3}},
		Graphs:  []GraphLaunch{{Start: 62, End: 63, Correlation: 2}},
	}
	tl.Calls.Add(Call{Start: 20, End: 21, Correlation: 1})
	tl.Calls.Add(Call{Start: 50, End: 51, Correlation: 2})
	a := tl.Attribute()
	paths := map[uint32]string{}
	for _, r := range a.Regions() {
		paths[r.ID] = r.Path
		if r.Parent != 0 && paths[r.Parent] == "" {
			t.Errorf("%s comes before its parent", r.Path)
		}
	}
	name := func(ids []uint32) (out []string) {
		for _, id := range ids {
			out = append(out, paths[id])
		}
		slices.Sort(out)
		return out
	}
	for i, want := range [][2][]string{
		{{"async", "decode/attn"}, {"async", "decode", "decode/attn"}},
		{{"decode"}, {"decode"}},
		{nil, nil},
	} {
		p := a.Places()[a.KernelPlace(i)]
		if !slices.Equal(name(p.Own), want[0]) || !slices.Equal(name(p.All), want[1]) {
			t.Errorf("kernel %d: own %q, all %q; want %q", i, name(p.Own), name(p.All), want)
		}
	}
	if call, ok := a.KernelCall(0); !ok || call.Start != 20 {
		t.Errorf("call of kernel 0: %+v, %v", call, ok)
	}
	if _, ok := a.KernelCall(2); ok {
		t.Error("a kernel without a call has one")
	}
	e, err := nvtx.Parse("attn/")
	if err != nil {
		t.Fatal(err)
	}
	if in := a.KernelMatcher(e.Match); !in(0) || in(1) || in(2) {
		t.Error("attn holds the first kernel alone")
	}
	if in := a.OpMatcher(e.Match); in(Op{Kind: OpGraph, Correlation: 2}) {
		t.Error("the graph lies outside attn")
	}
}
