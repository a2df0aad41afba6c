package nsys

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/timeline"
)

// In graph_node a CUDA graph of 8 kernels is captured in a range `capture` and
// replayed five times in `decode/step`.
func TestCapturedRegions(t *testing.T) {
	f := openExport(t, "graph_node")
	ctx := context.Background()
	launched, err := f.RegionRows(ctx, timeline.Query{})
	if err != nil {
		t.Fatal(err)
	}
	captured, err := f.RegionRows(ctx, timeline.Query{Captured: true})
	if err != nil {
		t.Fatal(err)
	}
	kernels := func(rows []timeline.RegionRow, path string) (n, ns int64) {
		for _, r := range rows {
			if r.Path == path {
				return r.KernelCalls, r.InclusiveNS
			}
		}
		return 0, 0
	}
	replayed, replayedNS := kernels(launched.Rows, "decode/step")
	if replayed != 40 {
		t.Fatalf("decode/step launches %d kernels, want 40", replayed)
	}
	before, beforeNS := kernels(launched.Rows, "capture")
	if n, ns := kernels(captured.Rows, "capture"); n != before+40 || ns != beforeNS+replayedNS {
		t.Errorf("captured in capture: %d kernels of %d ns, want %d of %d", n, ns, before+40, beforeNS+replayedNS)
	}
	if n, _ := kernels(captured.Rows, "decode/step"); n != 0 {
		t.Errorf("%d replayed kernels are still counted to decode/step", n)
	}
}

// The same graph was captured once, inside its range, and each of its nodes ran five
// times; the eager warm-up of that range is no replay.
func TestReplays(t *testing.T) {
	f := openExport(t, "graph_node")
	ctx := context.Background()
	replays, err := f.Replays(ctx, timeline.Query{Captured: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := replays["capture"]; len(replays) != 1 || !slices.Equal(got, []float64{5}) {
		t.Errorf("replays %v, want 5 of capture alone", replays)
	}
	rows, err := f.RegionRows(ctx, timeline.Query{Captured: true})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range timeline.WithReplays(rows.Rows, replays) {
		want := rows.Rows[i].Instances
		if r.Path == "capture" {
			want += 5 - 1
		}
		if r.Instances != want {
			t.Errorf("%s ran %d times, want %d", r.Path, r.Instances, want)
		}
	}
}

// Chains that are broken, or have no end, leave work outside every range and are
// counted; ids of one process mean nothing in another.
func TestCapturedBrokenChains(t *testing.T) {
	tl := &timeline.Timeline{
		Names:     []string{"", "a"},
		Processes: []timeline.Process{{}, {}},
		Threads:   []timeline.Thread{{Process: 0}, {Process: 1}},
		Queues:    []timeline.Queue{{Process: 0}, {Process: 1}},
		Ranges:    []timeline.Range{{Start: 0, End: 10, Name: 1, Thread: 0, EndThread: timeline.None}},
		GraphNodes: []timeline.GraphNode{
			{Time: 5, Node: 1, Thread: 0}, {Time: 20, Node: 2, Original: 1, Thread: 0}, // a clone of 1
			{Time: 5, Node: 3, Original: 4, Thread: 0}, {Time: 5, Node: 4, Original: 3, Thread: 0}, // a circle
		},
		Kernels: []timeline.Kernel{
			{Start: 100, End: 110, GraphNode: 2}, {Start: 110, End: 120, GraphNode: 3}, {Start: 120, End: 130, GraphNode: 9},
			{Start: 130, End: 140, GraphNode: 2, Queue: 1},
		},
	}
	c := tl.Captured()
	if c.Replayed != (timeline.Replays{Count: 4, NS: 40}) || c.Found != (timeline.Replays{Count: 1, NS: 10}) {
		t.Errorf("replayed %+v, found %+v", c.Replayed, c.Found)
	}
	at := c.Attribute()
	if path := at.Path(at.KernelNode(0)); path != "a" {
		t.Errorf("the clone was captured in %q", path)
	}
	if path := at.Path(at.KernelNode(3)); path != "" {
		t.Errorf("a node of another process was captured in %q", path)
	}
}

// What has no layer is told with its GPU time, each cause by itself; a file that lacks
// nothing tells nothing.
func TestCaptureCoverage(t *testing.T) {
	for name, c := range map[string]struct {
		timeline timeline.Timeline
		want     map[fact.Code]float64 // GPU time without a layer, ns
	}{
		"complete": {timeline.Timeline{
			GraphNodes: []timeline.GraphNode{{Time: 5, Node: 1}}, Kernels: []timeline.Kernel{{Start: 10, End: 17, GraphNode: 1}, {Start: 20, End: 30}},
		}, nil},
		"whole, lost and early": {timeline.Timeline{
			Graphs: []timeline.GraphLaunch{{Start: 10, End: 15}, {Start: 20, End: 26}}, GraphNodes: []timeline.GraphNode{{Time: -5, Node: 1}},
			Kernels: []timeline.Kernel{{Start: 30, End: 37, GraphNode: 1}, {Start: 40, End: 43, GraphNode: 2}},
		}, map[fact.Code]float64{timeline.CodeCaptureWhole: 11, timeline.CodeCaptureLost: 3, timeline.CodeCaptureEarly: 7}},
		"no rows of nodes": {timeline.Timeline{
			Kernels: []timeline.Kernel{{Start: 30, End: 37, GraphNode: 1}},
		}, map[fact.Code]float64{timeline.CodeCaptureNoNodes: 7}},
	} {
		c.timeline.Processes, c.timeline.Threads, c.timeline.Queues = []timeline.Process{{}}, []timeline.Thread{{}}, []timeline.Queue{{}}
		got := map[fact.Code]float64{}
		for _, f := range capturedWarnings(c.timeline.Captured().CaptureCoverage) {
			time, ok := f.Params["time"]
			if !ok {
				time = f.Params["of_time"]
			}
			got[f.Code] = time.Number
			if message.Next(f) == "" {
				t.Errorf("%s: nobody is told what to change: %s", name, f.Code)
			}
		}
		if !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// A graph that was captured before the window opened: its kernels have no range of
// capture, and stay in the stage that launched the graph where a query asks for that.
func TestCapturedOrLaunched(t *testing.T) {
	tl := &timeline.Timeline{
		Names: []string{"", "decode"}, Processes: []timeline.Process{{}}, Threads: []timeline.Thread{{}}, Queues: []timeline.Queue{{}}, Domains: []timeline.Domain{{Process: timeline.None}},
		Ranges:     []timeline.Range{{Start: 10, End: 90, Name: 1, EndThread: timeline.None, Payload: timeline.None}},
		GraphNodes: []timeline.GraphNode{{Time: -5, Node: 1}},
		Kernels:    []timeline.Kernel{{Start: 30, End: 37, GraphNode: 1, Correlation: 1}, {Start: 40, End: 43, GraphNode: 2, Correlation: 1}},
	}
	tl.Calls.Add(timeline.Call{Start: 20, End: 25, Correlation: 1})
	for want, c := range map[string]*timeline.Captured{"": tl.Captured(), "decode": tl.CapturedOrLaunched()} {
		at := c.Attribute()
		for i := range tl.Kernels {
			if path := at.Path(at.KernelNode(i)); path != want {
				t.Errorf("kernel %d is in %q, want %q", i, path, want)
			}
		}
	}
}
