package timeline

import "testing"

// Synthetic: the thread of backward() holds the ranges of modules open while a
// thread of autograd launches kernels. Those belong to the ranges of their own
// thread or to none, never to a module that another thread has open.
func TestWorkOfOtherThreadsHasNoModule(t *testing.T) {
	tl := &Timeline{
		Names:     []string{"", "cudaLaunchKernel_v7000", "forward", "layers.0", "recompute"},
		Functions: []Function{{}}, Configs: []LaunchConfig{{}},
		Processes: []Process{{PID: 7}}, Threads: []Thread{{TID: 7}, {TID: 8}}, Queues: []Queue{{}}, Domains: []Domain{{Process: None}},
		Ranges: []Range{
			{Start: 0, End: 1000, Name: 2, Thread: 0, EndThread: None, Payload: None},
			{Start: 10, End: 900, Name: 3, Thread: 0, EndThread: None, Payload: None},
			{Start: 500, End: 600, Name: 4, Thread: 1, EndThread: None, Payload: None},
		},
	}
	launch := func(start int64, thread, id uint32, ns int64) {
		tl.Calls.Add(Call{Start: start, End: start + 10, Name: 1, Thread: thread, Correlation: id})
		tl.Kernels = append(tl.Kernels, Kernel{Start: start + 20, End: start + 20 + ns, Correlation: id})
	}
	launch(100, 0, 1, 1)  // by the module
	launch(200, 1, 2, 10) // by autograd, meanwhile
	launch(520, 1, 3, 30) // by autograd, in a range of its own thread
	launch(950, 0, 4, 5)  // by forward, after the module

	want := map[string][2]int64{"forward": {6, 5}, "forward/layers.0": {1, 1}, "recompute": {30, 30}}
	rows := tl.RegionRows(Query{}).Rows
	for _, r := range rows {
		if got := [2]int64{r.InclusiveNS, r.ExclusiveNS}; got != want[r.Path] {
			t.Errorf("%s has %v ns, want %v", r.Path, got, want[r.Path])
		}
	}
	if len(rows) != len(want) {
		t.Errorf("%d regions, want %d", len(rows), len(want))
	}
	var inStages int64
	for _, l := range Layers(rows, true) {
		inStages += l.NS
	}
	if inStages != 36 { // the 10 ns of autograd are in none
		t.Errorf("layers have %d ns", inStages)
	}
}
