package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/engine"
	"github.com/deepprof/deepprof/internal/nvtx"
)

// A StepRow is one step of a stage: the work for one token, or for one batch of
// tokens; or one iteration of a serving engine.
type StepRow struct {
	Stage    string `json:"stage"`    // the ranges around it, "step" where there are none; of a serving engine: what the step computes
	Step     int    `json:"step"`     // in the order of the file, from 0
	StartNS  int64  `json:"start_ns"` // on the clock of the capture
	StepNS   int64  `json:"step_ns"`  // of the range
	BusyNS   int64  `json:"busy_ns"`  // its work ran, as far as known
	GPUNS    int64  `json:"gpu_ns"`   // GPU time of its kernels
	Launches int64  `json:"launches"` //
	// GapNS is the time between the end of the step before, in the same stage (for
	// a serving engine: on the same thread), and the start of this one; absent for
	// the first.
	GapNS *int64 `json:"gap_before_ns,omitempty"`
	// Sizes of the step where the program was annotated, or the name of the step
	// tells them: sequences, tokens that are computed, tokens in the cache.
	Batch  *int64 `json:"batch,omitempty"`
	Tokens *int64 `json:"tokens,omitempty"`
	Cached *int64 `json:"cached,omitempty"`
	// Kind is that of a step of a serving engine, "" for others; Composition is
	// what its name tells.
	Kind        engine.StepKind `json:"kind,omitempty"`
	Composition engine.Step     `json:"-"`
	// Sampled are the sampled counters within the step; nil where there are none.
	Sampled []Moments `json:"-"`
	// Window is the window of the timeline, from 1; 0 where there is one timeline.
	Window int `json:"-"`
}

// looseStep is the stage of steps that lie in no range, such as those of a training loop.
const looseStep = "step"

// Steps lists the ranges that are steps: those of ours, numbered ones, those that
// serving engines open, and what was detected to repeat. Rows are those of RangeRows.
func Steps(rows []RangeRow) []StepRow {
	type found struct {
		*RangeRow
		engine.Step
	}
	var ranges []found
	for i := range rows {
		if s, ok := engine.ParseStep(rows[i].Name); ok {
			ranges = append(ranges, found{&rows[i], s})
		} else if IsStep(rows[i].Name) || rows[i].detectedStep() {
			ranges = append(ranges, found{&rows[i], engine.Step{}})
		}
	}
	slices.SortStableFunc(ranges, func(x, y found) int { return cmp.Compare(x.StartNS, y.StartNS) })
	type lane struct {
		stage           string
		process, thread int
	}
	last := map[lane]*RangeRow{}
	var out []StepRow
	for i, r := range ranges {
		s := StepRow{Step: i, StartNS: r.StartNS, StepNS: r.RangeNS, BusyNS: r.BusyNS, GPUNS: r.InclusiveNS, Launches: r.KernelCalls}
		at := lane{process: r.Process, thread: r.Thread}
		if r.Kind != "" {
			s.compose(r.Step)
		} else {
			s.Stage = r.Path
			if !r.detectedStep() {
				parts := nvtx.SplitPath(r.Path)
				s.Stage = cmp.Or(strings.Join(parts[:len(parts)-1], "/"), looseStep)
			}
			at.stage = s.Stage
		}
		if before := last[at]; before != nil && r.StartNS >= before.EndNS {
			s.GapNS = new(r.StartNS - before.EndNS)
		}
		last[at] = r.RangeRow
		out = append(out, s)
	}
	return out
}

// detectedStep tells whether a range is a time through a sequence that was detected.
func (r *RangeRow) detectedStep() bool {
	return r.Domain == DetectedDomain && slices.Contains(detectedSteps, r.Name)
}

// compose takes over what the name of a step tells.
func (s *StepRow) compose(e engine.Step) {
	s.Kind, s.Stage, s.Composition = e.Kind, string(e.Kind), e
	if n := int64(e.Batch()); n >= 0 {
		s.Batch = &n
	}
	if e.ContextTokens >= 0 && e.GenerationTokens >= 0 {
		s.Tokens = new(int64(e.ContextTokens + e.GenerationTokens))
	}
}

// class names the kind and batch size of a step of a serving engine.
func (s *StepRow) class() string {
	if s.Batch == nil {
		return s.Stage
	}
	lo, hi := batchClass(int(*s.Batch))
	if lo == hi {
		return fmt.Sprintf("%s, batch %d", s.Stage, lo)
	}
	return fmt.Sprintf("%s, batch %d-%d", s.Stage, lo, hi)
}

// batchClass are the bounds of the class that a batch size is counted in: single
// sizes up to 8, then from one power of two to the next.
func batchClass(n int) (lo, hi int) {
	if n <= 8 {
		return n, n
	}
	for lo, hi = 9, 16; n > hi; lo, hi = hi+1, 2*hi {
	}
	return lo, hi
}
