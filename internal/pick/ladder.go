package pick

import (
	"fmt"
	"time"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/ncu"
	"github.com/deepprof/deepprof/internal/tool"
)

// A Step is one rung of the ladder that replay_mode auto walks: a mode that was
// tried or passed over, and what came of it.
type Step struct {
	Mode    string `json:"mode"` // range, app-range or kernel
	Tried   bool   `json:"tried"`
	Outcome string `json:"outcome,omitempty"` // verdict on the capture, where it was tried
	Reason  string `json:"reason"`            // why it was left, or why it is the answer
}

// A Climb is what the ladder needs to know of the run.
type Climb struct {
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

// First is the mode to begin with, after the steps that cannot work.
func (c Climb) First() (mode string, passed []Step) {
	pass := func(mode, reason string) { passed = append(passed, Step{Mode: mode, Reason: reason}) }
	switch {
	case len(c.Regions) == 0:
		pass(ncu.ReplayRange, "no region is named that could be measured as a whole")
		pass(ncu.ReplayAppRange, "no region is named that could be measured as a whole")
	case c.Graphs:
		pass(ncu.ReplayRange, "CUDA graphs as a whole need kernel replay")
		pass(ncu.ReplayAppRange, "CUDA graphs as a whole need kernel replay")
	case c.Kernels == 0:
		pass(ncu.ReplayRange, "the timeline holds no kernel in the regions: there is nothing to measure")
		pass(ncu.ReplayAppRange, "the timeline holds no kernel in the regions: there is nothing to measure")
	default:
		return ncu.ReplayRange, nil
	}
	return ncu.ReplayKernel, passed
}

// hopeless are verdicts that no replay mode changes.
var hopeless = map[capture.Kind]string{
	capture.Interrupted:       "the run was interrupted",
	capture.Permission:        "no mode may read the counters",
	capture.CountersHeld:      "no mode gets the counters while another program holds them",
	capture.LockHeld:          "another profiler is running",
	capture.NoDriver:          "there is no driver",
	capture.DriverMismatch:    "driver and profiler do not fit together",
	capture.UnsupportedDevice: "ncu cannot profile this GPU",
	capture.DiskFull:          "the disk is full",
	capture.TempUnusable:      "the temporary directory cannot be used",
	capture.BrokenInstall:     "ncu is not installed properly",
	capture.OutputUnwritable:  "the report cannot be written",
	capture.OutputExists:      "the report cannot be written",
	capture.WorkloadMissing:   "the workload cannot be started",
	capture.WorkloadFailed:    "the workload fails by itself",
	capture.ProfilerConflict:  "another profiler is in the way",
}

// reasons say why a verdict leads to the next mode.
var reasons = map[capture.Kind]string{
	capture.UnsupportedAPI:    "the range calls a CUDA function that ncu cannot record and replay",
	capture.DeviceMemory:      "no memory is left on the GPU to save what the range changes",
	capture.NotDeterministic:  "the passes of the program launched different kernels",
	capture.HungCollective:    "a kernel waits for a peer",
	capture.GraphNotSupported: "ncu ignored launches in this mode",
	capture.NothingMatched:    "ncu found no range of that name with kernels in it",
	capture.NothingCollected:  "ncu measured no range",
	capture.MissingData:       "the report lacks what was asked for",
	capture.TimedOut:          "it took longer than the time limit",
	capture.Stalled:           "it hung",
	capture.ToolCrashed:       "ncu crashed",
	capture.WorkloadCrashed:   "the workload crashed under it",
	capture.ReportUnreadable:  "its report cannot be read",
}

// Next says what to try after a mode, given what came of it: another mode, or
// "" where the ladder ends. The step is the record of what was tried; passed
// are modes in between that cannot work. Unmeasured are regions that the
// capture, however good, does not hold.
func (c Climb) Next(mode string, o capture.Outcome, unmeasured []string) (next string, done Step, passed []Step) {
	done = Step{Mode: mode, Tried: true, Outcome: string(o.Kind)}
	if why := hopeless[o.Kind]; why != "" {
		done.Reason = why
		return "", done, nil
	}
	if o.Usable && o.Kind != capture.MissingData && len(unmeasured) == 0 {
		done.Reason = "it measured what was asked for"
		return "", done, nil
	}
	switch {
	case reasons[o.Kind] != "":
		done.Reason = reasons[o.Kind]
	case len(unmeasured) > 0 && o.Usable:
		done.Reason = fmt.Sprintf("it did not measure %q", unmeasured)
	default:
		done.Reason = "it failed: " + o.What
	}
	if o.Evidence != "" {
		done.Reason += " (" + o.Evidence + ")"
	}
	switch mode {
	case ncu.ReplayRange:
		if why := c.noAppRange(); why != "" {
			return ncu.ReplayKernel, done, []Step{{Mode: ncu.ReplayAppRange, Reason: why}}
		}
		return ncu.ReplayAppRange, done, nil
	case ncu.ReplayAppRange:
		return ncu.ReplayKernel, done, nil
	}
	return "", done, nil
}

// noAppRange says why app-range replay is passed over; "" where it is not.
func (c Climb) noAppRange() string {
	if !ncu.AppRange(c.Version) {
		return fmt.Sprintf("ncu %s has no app-range replay", c.Version)
	}
	// A run of the program for each pass.
	cost := time.Duration(c.Passes) * (c.Program + startSeconds*time.Second)
	if c.Budget > 0 && c.Program > 0 && cost > c.Budget {
		return fmt.Sprintf("it runs the whole program once for each of about %d passes: %.0f s, more than the budget of %.0f s", c.Passes, cost.Seconds(), c.Budget.Seconds())
	}
	return ""
}
