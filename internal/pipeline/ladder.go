package pipeline

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/ncu"
	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/pick"
)

// climb walks the ladder of replay_mode auto: range, app-range, then single
// launches, each step with its reason.
func (r *run) climb(ctx context.Context, t *traced) (capture.Outcome, error) {
	options, err := r.asWritten(r.ncuOptions(""), t.seen())
	if err != nil {
		return r.unmatched(ctx, nil, err)
	}
	c := r.ladder(t, options.NVTXInclude)
	mode, steps := c.First()
	r.saySteps(steps)
	for mode != "" && mode != ncu.ReplayKernel {
		o, err := r.countRanges(ctx, options, mode)
		if err != nil {
			return capture.Outcome{}, err
		}
		next, done, passed := c.Next(mode, o, unmeasured(options.NVTXInclude, o.Reports))
		added := append([]pick.Step{done}, passed...)
		r.saySteps(added)
		steps = append(steps, added...)
		if next == "" {
			return o, r.writeSteps(ctx, t, steps, o.Reports)
		}
		mode = next
	}
	return r.countLaunches(ctx, t, append(steps, pick.Step{Mode: ncu.ReplayKernel, Tried: true, Outcome: "last step", Reason: "counters of single launches, joined to the regions by the timeline"}))
}

func (r *run) saySteps(steps []pick.Step) {
	for _, s := range steps {
		r.Say(fmt.Sprintf("ncu: replay mode %s: %s", s.Mode, s.Reason))
	}
}

// ladder says what the steps depend on.
func (r *run) ladder(t *traced, regions []string) pick.Climb {
	p := r.policy()
	c := pick.Climb{Version: r.ncu.Version, Regions: regions, Kernels: -1, Graphs: r.Plan.Pipeline.Ncu.CLI.GraphProfiling == "graph", Program: r.cleanTime(), Budget: p.Budget}
	c.Passes, _ = p.Collect.Passes()
	if t == nil {
		return c
	}
	if c.Program == 0 { // nothing shorter is known than the run under nsys
		c.Program = time.Duration(t.t.Session.DurationNS)
	}
	if survey, err := pick.Survey(t.launches, p.Include, p.Exclude); err == nil {
		c.Kernels = survey.Totals.RegionLaunches
	}
	return c
}

// countRanges measures ranges as a whole in one mode.
func (r *run) countRanges(ctx context.Context, o ncu.Options, mode string) (capture.Outcome, error) {
	output := "ncu/" + mode + "/run"
	o.Output, o.ReplayMode = r.store.Path(output), mode
	// Launches are not chosen within a range.
	o.KernelName, o.KernelID, o.LaunchSkip, o.LaunchCount, o.FilterMode = "", "", 0, 0, ""
	command, err := r.ncuLine(o)
	if err != nil {
		return capture.Outcome{}, err
	}
	if err := r.makeFolder(output); err != nil {
		return capture.Outcome{}, err
	}
	result, err := r.countWith(ctx, command, output, 0)
	return result.Outcome, err
}

// unmeasured are the expressions that select none of the ranges in the reports.
func unmeasured(include, reports []string) []string {
	var left []string
	var results []pick.Counted
	for _, report := range reports {
		got, err := readCounted(report, report, nil)
		if err != nil {
			return nil // the verdict on the capture says so
		}
		results = append(results, got...)
	}
	for _, text := range include {
		e, err := nvtx.Parse(text)
		if err != nil {
			continue
		}
		e = e.As(nvtx.StartEnd)
		if !slices.ContainsFunc(results, func(c pick.Counted) bool { return e.Match(c.State) }) {
			left = append(left, text)
		}
	}
	return left
}

// writeSteps records the regions and the ladder where no launches are chosen.
func (r *run) writeSteps(ctx context.Context, t *traced, steps []pick.Step, reports []string) error {
	if t == nil && len(steps) == 0 {
		return nil
	}
	targets := &pick.Targets{Schema: pick.Schema}
	if t != nil {
		p := r.policy()
		var err error
		if targets, err = pick.Survey(t.launches, p.Include, p.Exclude); err != nil {
			return err
		}
		targets.Timeline = relative(r.store.Dir(), r.timeline)
	}
	targets.Ladder, targets.Regions = steps, r.regionOptions()
	metrics := newMetricList(r.Plan.Pipeline.Ncu.CLI.Metrics)
	for _, report := range reports { // one that cannot be read is judged elsewhere
		_, _ = readCounted(report, report, metrics)
	}
	targets.Regions.Metrics = metrics.list()
	c := &chosen{r: r, targets: targets}
	if err := c.write(); err != nil {
		return err
	}
	return c.enter(ctx)
}

// makeFolder makes the folder of a further report.
func (r *run) makeFolder(output string) error {
	if err := os.MkdirAll(filepath.Dir(r.store.Path(output)), 0o777); err != nil {
		return fmt.Errorf("make the folder of a report: %w", err)
	}
	return nil
}
