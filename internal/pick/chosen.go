package pick

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/ncurep"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
)

// chosen is a counter capture of chosen launches under way.
type chosen struct {
	*Counting
	targets  *Targets
	metrics  *metricList
	counted  []Counted
	outcomes []capture.Outcome // of each process
}

// countChosen chooses launches, counts them in as few processes as possible,
// verifies that they are the ones meant, and takes up once, in another way,
// what was missed.
func (c *Counting) countChosen(ctx context.Context, steps []Step) (capture.Outcome, error) {
	x := &chosen{Counting: c, metrics: newMetricList(c.Ncu.CLI.Metrics)}
	var err error
	if x.targets, err = Choose(c.Timeline, c.policy()); err != nil {
		return c.unmatched(steps, err)
	}
	x.targets.Timeline = c.TimelineName
	x.targets.Ladder, x.targets.Regions = steps, c.regionOptions()
	if s := x.targets.Serving; s != nil && !c.Begins.IsZero() {
		s.Begins = &Reason{Fact: c.Begins}
	}
	x.announce()
	if err := c.Save(x.targets); err != nil {
		return capture.Outcome{}, err
	}
	if err := x.processes(ctx, 0); err != nil {
		return capture.Outcome{}, err
	}
	if err := x.retry(ctx); err != nil {
		return capture.Outcome{}, err
	}
	return x.outcome(), nil
}

// mostNamed is how many kernels a line on the screen names.
const mostNamed = 5

// announce tells what will be counted and what it will cost, before it starts.
func (c *chosen) announce() {
	t, n := c.targets, 0
	for _, g := range t.Groups {
		if g.Chosen {
			n++
		}
	}
	p := t.Predicted
	c.tell(fact.New(willCount, fact.Count("launches", p.Launches), fact.Count("kernels", n), fact.Count("processes", p.Processes), fact.Seconds("time", p.Seconds),
		fact.Share("regions", p.CoverageRegions), fact.Share("all", p.CoverageAll)))
	for _, w := range t.Warnings {
		c.Say("note: " + message.Text(w.Fact))
	}
	for _, l := range t.LeftOut {
		if l.Collective {
			c.tell(fact.New(leavesOut, fact.Count("launches", l.Launches), fact.Share("share", l.Share), fact.Name("kernels", l.names(mostNamed, message.Share)), fact.Because("why", l.Reason.Fact)))
		}
	}
}

// processes starts the ncu processes from number first on and verifies after
// each. A process that ended badly ends them where the next would end the same
// way.
func (c *chosen) processes(ctx context.Context, first int) error {
	for i := first; i < len(c.targets.Runs); i++ {
		run := &c.targets.Runs[i]
		if v := c.targets.Verification; v != nil && !run.needed(v) {
			run.Skipped = why(alreadyCounted)
			continue
		}
		request := Request{
			Options: run.options(c.Base, c.targets), Output: runs.NcuOutput(""), Gates: run.Gates, Launches: len(run.Planned), Kernels: run.kernels(c.targets, true), Asked: run.kernels(c.targets, false), Narrow: len(c.targets.Steps) > 0,
			Expected: time.Duration(run.Seconds * float64(time.Second)),
		}
		if s := c.targets.Serving; s != nil {
			request.Serving = *s
		}
		if i > 0 {
			request.Output = runs.NcuOutput(fmt.Sprintf("run%d", i+1))
		}
		o, err := c.Count(ctx, request)
		if err != nil {
			return err
		}
		c.outcomes = append(c.outcomes, o)
		if err := c.take(run, o); err != nil {
			return err
		}
		if endsAll(o) {
			break
		}
	}
	return c.Save(c.targets)
}

// take reads what a process counted and verifies everything so far.
func (c *chosen) take(run *Run, o capture.Outcome) error {
	for _, report := range o.Reports {
		run.Report = c.relative(report)
		results, err := readCounted(report, run.Report, c.metrics)
		if err != nil {
			return err
		}
		c.counted = append(c.counted, results...)
	}
	c.targets.Regions.Metrics = c.metrics.list()
	v, err := Verify(c.targets, c.counted, c.Timeline)
	if err != nil {
		return err
	}
	c.targets.Verification = v
	return nil
}

// retry takes up what was missed, once. What a server did not launch in the time
// of its load, another start would not show either.
func (c *chosen) retry(ctx context.Context) error {
	v := c.targets.Verification
	if c.Window || v == nil || len(v.Missing) == 0 || len(c.outcomes) == 0 || endsAll(c.outcomes[len(c.outcomes)-1]) {
		return nil
	}
	missing := slices.Clone(v.Missing)
	for _, p := range v.MissingLaunches {
		if p.Role == RoleTypical {
			missing = append(missing, Missing{Group: p.Group})
		}
	}
	more, err := retry(c.targets, missing, c.Timeline, c.policy())
	if err != nil || len(more) == 0 {
		return err
	}
	seconds := 0.0
	for _, run := range more {
		seconds += run.Seconds
	}
	c.tell(fact.New(countsAgain, fact.Count("n", len(missing)), fact.Name("way", more[0].Way), fact.Seconds("time", seconds)))
	first := len(c.targets.Runs)
	c.targets.Runs = append(c.targets.Runs, more...)
	return c.processes(ctx, first)
}

// endsAll tells whether another process of ncu would end the same way.
func endsAll(o capture.Outcome) bool {
	switch o.Kind {
	case capture.NothingMatched, capture.NothingCollected, capture.GateNeverOpened:
		return false
	case capture.Interrupted, capture.TimedOut, capture.Stalled, capture.HungCollective:
		return true
	}
	return !o.Usable
}

// outcome sums up the processes: good where all that was chosen was counted,
// in whichever of them.
func (c *chosen) outcome() capture.Outcome {
	all, failed := joinOutcomes(c.outcomes)
	v := c.targets.Verification
	if v == nil || !all.Usable {
		return all
	}
	if v.Groups == 0 {
		all.Usable, all.Kind, all.What = false, capture.NothingMatched, fact.New(noneIsChosen)
		all.Cause = fact.New(causeOtherRun, fact.File("dir", c.Dir), fact.File("targets", runs.TargetsName))
		return all
	}
	c.tell(fact.New(hasCounted, fact.Share("regions", v.CoverageRegions), fact.Share("all", v.CoverageAll)))
	for _, o := range failed {
		if len(v.Missing) == 0 && !endsAll(o) {
			if slices.ContainsFunc(c.targets.Runs, func(r Run) bool { return r.Retry && r.Report != "" }) {
				all.Warn(capture.Warning{Fact: fact.New(countedOtherway, fact.Because("why", o.What))})
			} else {
				all.Warn(capture.Warning{Fact: fact.New(countedNothing, fact.Because("why", o.What))})
			}
			continue
		}
		all = worse(all, o)
	}
	for _, w := range v.Warnings {
		all.Warn(capture.Warning{Fact: w.Fact})
	}
	c.warnMissing(v, &all)
	return all
}

// warnMissing names what was chosen and not counted.
func (c *chosen) warnMissing(v *Verification, o *capture.Outcome) {
	if n := len(v.Missing); n > 0 {
		var list []fact.Fact
		for _, m := range v.Missing[:min(n, mostNamed)] {
			list = append(list, fact.New(kernelShare, fact.Kernel("kernel", m.Kernel), fact.Share("share", m.Share)))
		}
		o.Warn(capture.Warning{Fact: fact.New(missedKernels, fact.Count("n", n), fact.Because("kernels", list...), fact.File("targets", runs.TargetsName))})
	}
	if n := len(v.MissingLaunches); n > 0 {
		var list []fact.Fact
		for _, p := range v.MissingLaunches[:min(n, mostNamed)] {
			list = append(list, fact.New(kernelLaunch, fact.Kernel("kernel", c.kernelOf(p.Group)), fact.NS("time", p.DurationNS), fact.ID("role", "role", p.Role)))
		}
		o.Warn(capture.Warning{Fact: fact.New(missedLaunches, fact.Count("n", n), fact.Because("launches", list...), fact.File("targets", runs.TargetsName))})
	}
}

// kernelOf is the short name of a group.
func (c *chosen) kernelOf(group string) string {
	if g := c.targets.group(group); g != nil {
		return g.Kernel
	}
	return group
}

// joinOutcomes joins what is usable; failed are the rest. Where nothing is
// usable, it gives the first of them.
func joinOutcomes(list []capture.Outcome) (all capture.Outcome, failed []capture.Outcome) {
	for _, o := range list {
		switch {
		case !o.Usable:
			failed = append(failed, o)
		case all.Usable:
			all = worse(all, o)
		default:
			all = o
		}
	}
	if !all.Usable && len(failed) > 0 {
		return failed[0], nil
	}
	return all, failed
}

// worse joins the verdicts of two processes: the report is usable if either is.
func worse(x, y capture.Outcome) capture.Outcome {
	bad, good := x, y
	if x.OK() || !y.OK() && y.Kind == capture.Interrupted {
		bad, good = y, x
	}
	out := bad
	out.Usable = x.Usable || y.Usable
	out.Reports = slices.Concat(x.Reports, y.Reports)
	out.Warnings = slices.Concat(x.Warnings, y.Warnings)
	if out.Usable && !bad.Usable && bad.Kind != capture.Interrupted {
		out.Kind = capture.Partial
		out.What = fact.New(oneFailed, fact.Because("why", bad.What))
	}
	if x.OK() && y.OK() && good.Kind == capture.WithWarnings {
		out.Kind, out.Evidence = good.Kind, good.Evidence
	}
	return out
}

// readCounted reads the launches of a report; name is what messages call it.
// Metrics, where it is not nil, learns what was collected.
func readCounted(report, name string, metrics *metricList) ([]Counted, error) {
	o := ncurep.Options{Sections: metrics != nil}
	if metrics == nil {
		o.Metrics = func(m string) bool {
			return m == "gpu__time_duration.sum" || strings.HasSuffix(m, "__cycles_elapsed.avg.per_second")
		}
	}
	rep, err := ncurep.ReadFile(report, o)
	if err != nil {
		return nil, err
	}
	var out []Counted
	for _, result := range rep.Results {
		if metrics != nil {
			metrics.add(result)
		}
		c := FromResult(result)
		c.Report = name
		out = append(out, c)
	}
	return out, nil
}

// expectedLaunches is how many launches ncu is to profile according to the
// timeline, 0 where that cannot be told: only part of the program was traced, or
// launches are chosen by a rule of ncu's own.
func (c *Counting) expectedLaunches() int {
	l, cli := c.Timeline, c.Ncu.CLI
	if l == nil {
		return 0
	}
	own := cli.KernelName != "" || cli.KernelID != "" || !cli.ProfileFromStart || cli.FilterMode == "per-gpu" || cli.TargetProcesses != "all" || len(cli.ExtraArgs) > 0
	each := cli.ReplayMode == plan.ReplayAuto || cli.ReplayMode == plan.ReplayKernel || cli.ReplayMode == plan.ReplayApplication
	if !wholeProgram(c.Nsys) || own || !each || len(l.t.Graphs) > 0 || cli.GraphProfiling == "graph" {
		return 0
	}
	filters, err := c.regionFilters()
	if err != nil {
		return 0
	}
	in := l.matches(filters.Match)
	split := cli.FilterMode == "per-launch-config" // skip and count apply to each
	calls := map[configKey]int{}                   // shared by processes
	for i := range l.kinds {
		k := &l.kinds[i]
		if !in[i] {
			continue
		}
		var key configKey
		if split {
			key = l.configKey(k, "")
			key.name = l.t.Name(l.t.Functions[k.function].Demangled)
		}
		calls[key] += k.launches
	}
	total := 0
	for _, n := range calls {
		n = max(0, n-cli.LaunchSkip)
		if cli.LaunchCount > 0 {
			n = min(n, cli.LaunchCount)
		}
		total += n
	}
	return total
}
