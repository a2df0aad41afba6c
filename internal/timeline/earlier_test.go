package timeline

import "testing"

// TestWithEarlier gives replayed work of a late window (synthetic) the ranges of
// the window in which its graph was captured.
func TestWithEarlier(t *testing.T) {
	process := []Process{{PID: 7}}
	early := &Timeline{
		Names: []string{"", "capture", "layer", "unrelated"}, Processes: process, Threads: []Thread{{TID: 70}, {TID: 71}}, Domains: []Domain{{Process: None}},
		Ranges: []Range{
			{Start: 1000, End: 2000, Name: 1, Thread: 1, EndThread: None, Payload: None}, {Start: 1100, End: 1200, Name: 2, Thread: 1, EndThread: None, Payload: None},
			{Start: 3000, End: 3100, Name: 3, Thread: 1, EndThread: None, Payload: None},
		},
		GraphNodes: []GraphNode{{Time: 1150, Node: 5, Thread: 1}, {Time: 1500, Node: 6, Thread: 1}},
	}
	late := &Timeline{
		Names: []string{"", "step", "k"}, Processes: process, Threads: []Thread{{TID: 71}}, Domains: []Domain{{Process: None}}, Queues: []Queue{{}}, Functions: []Function{{2, 2, 2}},
		Configs: []LaunchConfig{{}}, Ranges: []Range{{Start: 10, End: 90, Name: 1, EndThread: None, Payload: None}},
		GraphNodes: []GraphNode{{Time: -8850, Node: 5}, {Time: -8500, Node: 6}},
		Kernels:    []Kernel{{Start: 20, End: 30, GraphNode: 5, Correlation: 1}, {Start: 40, End: 60, GraphNode: 6, Correlation: 1}},
	}
	c := late.WithEarlier(early).Captured()
	if c.Found.Count != 2 || c.Early.Count != 0 {
		t.Errorf("got %+v found, %+v early", c.Found, c.Early)
	}
	times := map[string]int64{}
	for _, r := range c.RegionRows(Query{}).Rows {
		times[r.Path] = r.InclusiveNS
	}
	if times["capture"] != 30 || times["capture/layer"] != 10 || times["step"] != 0 || len(times) != 3 {
		t.Errorf("got %v", times)
	}
	if plain := late.Captured(); plain.Early.Count != 2 {
		t.Errorf("without the earlier window %d are early, want 2", plain.Early.Count)
	}
	other := *early
	other.GraphNodes = nil
	if late.WithEarlier(&other) != late {
		t.Error("windows without a common node are joined")
	}
}
