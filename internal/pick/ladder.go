package pick

import (
	"time"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/ncu"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/tool"
)

// A Step is one rung of the ladder that replay_mode auto walks: a mode that was
// tried or passed over, and what came of it.
type Step struct {
	Mode    string `json:"mode"` // range, app-range or kernel
	Tried   bool   `json:"tried"`
	Outcome string `json:"outcome,omitempty"` // verdict on the capture, where it was tried
	Reason  Reason `json:"reason"`            // why it was left, or why it is the answer
}

// A replayLadder is what the ladder of replay modes needs to know of the run.
type replayLadder struct {
	Version tool.Version
	Regions []string // the regions to measure as a whole, as ncu spells them
	Kernels int      // launches in them according to the timeline; -1 where there is none
	Graphs  bool     // graphs are to be taken as a whole

	// Program and Passes predict app-range replay, which runs the whole program
	// once for each pass. Budget is what it may cost; 0 is no limit.
	Program time.Duration
	Passes  int
	Budget  time.Duration
}

// first is the mode to begin with, after the steps that cannot work.
func (c replayLadder) first() (mode string, passed []Step) {
	var why Reason
	switch {
	case len(c.Regions) == 0:
		why = because(stepNoRegion)
	case c.Graphs:
		why = because(stepGraphs)
	case c.Kernels == 0:
		why = because(stepNoKernel)
	default:
		return plan.ReplayRange, nil
	}
	return plan.ReplayKernel, []Step{{Mode: plan.ReplayRange, Reason: why}, {Mode: plan.ReplayAppRange, Reason: why}}
}

// hopeless are verdicts that no replay mode changes.
var hopeless = map[capture.Kind]bool{
	capture.Interrupted:       true,
	capture.Permission:        true,
	capture.CountersHeld:      true,
	capture.LockHeld:          true,
	capture.NoDriver:          true,
	capture.DriverMismatch:    true,
	capture.UnsupportedDevice: true,
	capture.DiskFull:          true,
	capture.TempUnusable:      true,
	capture.BrokenInstall:     true,
	capture.OutputUnwritable:  true,
	capture.OutputExists:      true,
	capture.WorkloadMissing:   true,
	capture.WorkloadFailed:    true,
	capture.ProfilerConflict:  true,
}

// leads are the verdicts that lead to the next mode for a reason of their own.
var leads = map[capture.Kind]bool{
	capture.UnsupportedAPI:    true,
	capture.DeviceMemory:      true,
	capture.NotDeterministic:  true,
	capture.HungCollective:    true,
	capture.GraphNotSupported: true,
	capture.NothingMatched:    true,
	capture.NothingCollected:  true,
	capture.MissingData:       true,
	capture.TimedOut:          true,
	capture.Stalled:           true,
	capture.ToolCrashed:       true,
	capture.WorkloadCrashed:   true,
	capture.ReportUnreadable:  true,
}

// next says what to try after a mode, given what came of it: another mode, or
// "" where the ladder ends. The step is the record of what was tried; passed
// are modes in between that cannot work. Unmeasured are regions that the
// capture, however good, does not hold.
func (c replayLadder) next(mode string, o capture.Outcome, unmeasured []string) (next string, done Step, passed []Step) {
	done = Step{Mode: mode, Tried: true, Outcome: string(o.Kind)}
	kind := fact.ID("kind", "replay-verdict", string(o.Kind))
	if hopeless[o.Kind] {
		done.Reason = because(stepHopeless, kind)
		return "", done, nil
	}
	if o.Usable && o.Kind != capture.MissingData && len(unmeasured) == 0 {
		done.Reason = because(stepMeasured)
		return "", done, nil
	}
	var evidence []fact.Param
	if !o.Evidence.IsZero() {
		evidence = []fact.Param{fact.Because("evidence", o.Evidence)}
	}
	switch {
	case leads[o.Kind]:
		done.Reason = because(stepVerdict, append(evidence, kind)...)
	case len(unmeasured) > 0 && o.Usable:
		done.Reason = because(stepUnmeasured, append(evidence, fact.Names("regions", fact.KindRegion, unmeasured))...)
	default:
		done.Reason = because(stepFailed, append(evidence, fact.Because("what", o.What))...)
	}
	switch mode {
	case plan.ReplayRange:
		if why := c.noAppRange(); !why.IsZero() {
			return plan.ReplayKernel, done, []Step{{Mode: plan.ReplayAppRange, Reason: why}}
		}
		return plan.ReplayAppRange, done, nil
	case plan.ReplayAppRange:
		return plan.ReplayKernel, done, nil
	}
	return "", done, nil
}

// noAppRange says why app-range replay is passed over; zero where it is not.
func (c replayLadder) noAppRange() Reason {
	if !ncu.AppRange(c.Version) {
		return because(stepNoAppRange, fact.Name("version", c.Version.String()))
	}
	// A run of the program for each pass.
	cost := time.Duration(c.Passes) * (c.Program + startSeconds*time.Second)
	if c.Budget > 0 && c.Program > 0 && cost > c.Budget {
		return because(stepOverBudget, fact.Count("passes", c.Passes), fact.NS("time", cost), fact.NS("budget", c.Budget))
	}
	return Reason{}
}
