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
