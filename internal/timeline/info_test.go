package timeline

import "testing"

// All work of one launch of a graph carries its correlation; the same number in
// another process is another launch.
func TestGraphLaunches(t *testing.T) {
	tl := &Timeline{
		Queues: []Queue{{Process: 0}, {Process: 1}}, Processes: []Process{{}, {}},
		Kernels: []Kernel{
			{GraphNode: 1 << 32, Correlation: 5}, {GraphNode: 1<<32 + 1, Correlation: 5}, {GraphNode: 1 << 32, Correlation: 6},
			{GraphNode: 1 << 32, Correlation: 5, Queue: 1}, {Correlation: 9}, {GraphNode: 1 << 32, Correlation: NoCorrelation},
		},
		Copies:    []Copy{{GraphNode: 1<<32 + 2, Correlation: 6}, {GraphNode: 1<<32 + 2, Correlation: 7}},
		Functions: []Function{{}},
		Graphs:    []GraphLaunch{{Correlation: 11}},
	}
	if c := tl.Info().Counts; c.GraphLaunches != 5 || c.GraphKernels != 5 {
		t.Errorf("%+v", c)
	}
}

// The span is that of work and closed ranges, also before the zero of the clock.
func TestSpan(t *testing.T) {
	tl := &Timeline{
		Kernels: []Kernel{{Start: -50, End: -20}},
		Ranges:  []Range{{Start: -100, End: -90}, {Start: -95, End: 1000, Unclosed: true}},
	}
	if got := tl.Span(); got != 80 {
		t.Errorf("span %d, want 80", got)
	}
	if got := new(Timeline).Span(); got != 0 {
		t.Errorf("an empty timeline spans %d", got)
	}
}
