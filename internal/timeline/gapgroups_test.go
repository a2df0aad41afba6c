package timeline

import "testing"

// A thread that launches a kernel, waits for it, computes on the host and launches
// another one: each gap goes to what took most of it, and all of them add up to the
// gaps one by one.
func TestGapGroups(t *testing.T) {
	tl := &Timeline{
		Names:     []string{"", "cudaLaunchKernel_v7000", "cudaStreamSynchronize_v3020", "step"},
		Functions: []Function{{}}, Configs: []LaunchConfig{{}},
		Processes: []Process{{PID: 7}}, Threads: []Thread{{TID: 7}}, Queues: []Queue{{}}, Domains: []Domain{{Process: None}},
		Ranges: []Range{{Start: 0, End: 10_000, Name: 3, EndThread: None, Payload: None}},
	}
	call := func(start, end int64, name StringID, id uint32) {
		tl.Calls.Add(Call{Start: start, End: end, Name: name, Correlation: id})
	}
	kernel := func(start, end int64, id uint32) {
		tl.Kernels = append(tl.Kernels, Kernel{Start: start, End: end, Correlation: id})
	}
	call(0, 100, 1, 1)
	kernel(200, 300, 1)
	call(110, 900, 2, 2) // waits until long after the kernel
	call(950, 1000, 1, 3)
	kernel(1020, 1100, 3) // sync 600, host 50, launch 70
	call(2900, 3000, 1, 4)
	kernel(3010, 3100, 4) // host 1800
	call(3005, 3050, 1, 5)
	call(3020, 3030, 2, 6)      // within the launch
	kernel(5000, 5100, 5)       // on its way since 3050
	kernel(20_000, 20_100, 999) // of a call that is not known
	rows := tl.GapGroups(Query{}).Rows
	want := map[string]GapGroupRow{
		"none": {Gaps: 1, TotalNS: 14_900, CauseNS: 14_900}, "host": {Gaps: 1, TotalNS: 1910, CauseNS: 1800, NVTX: "step"},
		"launch": {Gaps: 1, TotalNS: 1900, CauseNS: 1900, NVTX: "step"}, "sync": {Gaps: 1, TotalNS: 720, CauseNS: 600, NVTX: "step"},
	}
	var total, single int64
	for _, r := range rows {
		w := want[r.Cause]
		if r.Gaps != w.Gaps || r.TotalNS != w.TotalNS || r.CauseNS != w.CauseNS || r.NVTX != w.NVTX || r.MaxNS != w.TotalNS {
			t.Errorf("%+v, want %+v", r, w)
		}
		total += r.TotalNS
	}
	for _, g := range gapRows(tl, Query{}).Rows {
		single += g.DurationNS
	}
	if len(rows) != len(want) || total != single {
		t.Errorf("%d groups of %d ns, %d ns one by one", len(rows), total, single)
	}
}
