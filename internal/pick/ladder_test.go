package pick

import (
	"slices"
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/tool"
)

func TestLadder(t *testing.T) {
	ladderInput := replayLadder{Version: tool.Version{Major: 2025, Minor: 3}, Regions: []string{"decode/"}, Kernels: 10, Program: 25 * time.Second, Passes: 9}
	old, rich := ladderInput, ladderInput
	old.Version = tool.Version{Major: 2022, Minor: 3}
	rich.Budget = 2 * time.Minute
	for _, test := range []struct {
		name        string
		ladderInput replayLadder
		outcomes    []capture.Outcome // of the modes in the order in which they are tried
		unmeasured  []string
		tried       []string
		passed      []string
		reason      fact.Code // of the last step that was left or passed over
	}{
		{"range works", ladderInput, []capture.Outcome{{Kind: capture.Captured, Usable: true}}, nil, []string{"range"}, nil, stepMeasured},
		{"PyTorch", ladderInput, []capture.Outcome{{Kind: capture.UnsupportedAPI, Evidence: fact.New("tool-printed", fact.Vendor("text_of_vendor", "cuKernelSetAttribute"))}, {Kind: capture.Captured, Usable: true}}, nil, []string{"range", "app-range"}, nil, stepMeasured},
		{"nothing but kernels", ladderInput, []capture.Outcome{{Kind: capture.UnsupportedAPI}, {Kind: capture.NotDeterministic}, {Kind: capture.WithWarnings, Usable: true}}, nil, []string{"range", "app-range", "kernel"}, nil, stepMeasured},
		{"old ncu", old, []capture.Outcome{{Kind: capture.UnsupportedAPI}, {Kind: capture.Captured, Usable: true}}, nil, []string{"range", "kernel"}, []string{"app-range"}, stepMeasured},
		{"app-range over the budget", rich, []capture.Outcome{{Kind: capture.UnsupportedAPI}, {Kind: capture.Captured, Usable: true}}, nil, []string{"range", "kernel"}, []string{"app-range"}, stepMeasured},
		{"no permission", ladderInput, []capture.Outcome{{Kind: capture.Permission}}, nil, []string{"range"}, nil, stepHopeless},
		{"interrupted with a report", ladderInput, []capture.Outcome{{Kind: capture.Interrupted, Usable: true}}, nil, []string{"range"}, nil, stepHopeless},
		{"kernel replay fails too", ladderInput, []capture.Outcome{{Kind: capture.Unknown, What: fact.New("tool-not-started", fact.Name("tool", "x"))}, {Kind: capture.Unknown, What: fact.New("tool-not-started", fact.Name("tool", "y"))}, {Kind: capture.HungCollective}}, nil, []string{"range", "app-range", "kernel"}, nil, stepVerdict},
		{"part of the regions", ladderInput, []capture.Outcome{{Kind: capture.Captured, Usable: true}, {Kind: capture.Captured, Usable: true}, {Kind: capture.Captured, Usable: true}}, []string{"decode/"}, []string{"range", "app-range", "kernel"}, nil, stepUnmeasured},
	} {
		t.Run(test.name, func(t *testing.T) {
			mode, steps := test.ladderInput.first()
			var tried, passed []string
			for _, o := range test.outcomes {
				if mode == "" {
					t.Fatal("the ladder ends early")
				}
				next, done, skipped := test.ladderInput.next(mode, o, test.unmeasured)
				steps = append(append(steps, done), skipped...)
				mode = next
			}
			if mode != "" {
				t.Errorf("the ladder goes on with %s", mode)
			}
			for _, s := range steps {
				if s.Reason.IsZero() || s.Tried != (s.Outcome != "") {
					t.Errorf("step %+v", s)
				}
				if s.Tried {
					tried = append(tried, s.Mode)
				} else {
					passed = append(passed, s.Mode)
				}
			}
			if !slices.Equal(tried, test.tried) || !slices.Equal(passed, test.passed) || !steps[len(steps)-1].Reason.Is(test.reason) {
				t.Errorf("tried %v, passed over %v, last: %+v", tried, passed, steps[len(steps)-1])
			}
		})
	}
	for _, c := range []replayLadder{{Kernels: 5}, {Regions: []string{"idle/"}}, {Regions: []string{"decode/"}, Kernels: 3, Graphs: true}} {
		if mode, steps := c.first(); mode != plan.ReplayKernel || len(steps) != 2 {
			t.Errorf("%+v begins with %s after %v", c, mode, steps)
		}
	}
}
