package pipeline

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/ncurep"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/pick"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/timeline"
)

// TargetsFile is the choice of launches in a run.
const TargetsFile = "targets.json"

// traced is the timeline of a run with what is joined to it; nil without one.
type traced struct {
	t        *timeline.Timeline
	at       *timeline.Attribution
	launches *pick.Launches
}

// seen are the ranges of the timeline, for expressions to be resolved; nil
// where there is no timeline, which is not the same as one without ranges.
func (t *traced) seen() []nvtx.Seen {
	if t == nil {
		return nil
	}
	return append([]nvtx.Seen{}, t.at.Seen()...)
}

func (t *traced) model() *timeline.Timeline {
	if t == nil {
		return nil
	}
	return t.t
}

// readTimeline reads what the timeline of the run tells about launches and
// ranges; nil where there is none.
func (r *run) readTimeline(ctx context.Context) (*traced, error) {
	if r.timeline == "" {
		return nil, nil
	}
	f, err := nsys.OpenSQLite(r.timeline)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := f.Timeline(ctx, nsys.Regions|nsys.Machine)
	if err != nil {
		return nil, err
	}
	at := t.Attribute()
	return &traced{t, at, pick.Load(at)}, nil
}

// notChoosing says why the launches are not chosen from the timeline; "" where
// they are.
func (r *run) notChoosing(t *traced) string {
	n, c := r.Plan.Pipeline.Ncu, r.Plan.Pipeline.Ncu.CLI
	switch {
	case !n.Pick.Enable:
		return "it is turned off"
	case t == nil:
		return "there is no timeline to choose from; pipeline.ncu.ncu_cli alone decides"
	case c.KernelID != "":
		return "pipeline.ncu.ncu_cli.kernel_id names the launches"
	case c.ReplayMode == plan.ReplayRange || c.ReplayMode == plan.ReplayAppRange:
		return "replay_mode " + c.ReplayMode + " measures ranges as a whole"
	case c.GraphProfiling == "graph":
		return "graph_profiling graph measures CUDA graphs as a whole"
	}
	return ""
}

// policy is the choice as the configuration wants it.
func (r *run) policy() pick.Policy {
	n, c := r.Plan.Pipeline.Ncu, r.Plan.Pipeline.Ncu.CLI
	p := pick.Policy{
		Include: c.NVTXInclude, Exclude: c.NVTXExclude, TopN: n.Pick.TopN, Coverage: n.Pick.Coverage, Budget: n.Pick.Budget,
		Alike: n.Pick.Alike, Slowest: n.Pick.Slowest, Collectives: n.Pick.Collectives, Collect: pick.Collect{Set: c.Set, Sections: c.Sections, Metrics: c.Metrics},
		Version: r.ncu.Version, RootOnly: c.TargetProcesses == "application-only", Partial: !r.wholeTimeline() || !c.ProfileFromStart,
	}
	if c.KernelName != "" {
		p.KernelInclude, p.KernelBase, p.KernelKey = []string{c.KernelName}, c.KernelNameBase, "pipeline.ncu.ncu_cli.kernel_name"
	}
	if !r.wholeTimeline() {
		p.Program, p.ProgramSource = r.cleanTime(), "unprofiled"
	}
	return p
}

// foresee tells what counters will cost before there is a timeline, for a dry
// run.
func (r *run) foresee() {
	r.Say("note: " + r.runsOfWorkload())
	p := r.policy()
	switch mode := r.Plan.Pipeline.Ncu.CLI.ReplayMode; {
	case !r.Plan.Pipeline.Ncu.Enable:
	case r.willChoose() && mode == plan.ReplayAuto:
		r.Say("note: ncu measures the ranges as a whole where it can, else launches that are chosen from the timeline, so that its filters will differ from the line shown: " + p.Foresee())
	case r.willChoose():
		r.Say("note: the launches that ncu counts are chosen from the timeline, so that its filters will differ from the line shown: " + p.Foresee())
	default:
		passes, _ := p.Collect.Passes()
		r.Say(fmt.Sprintf("note: what ncu costs is not known before: nothing says how many launches or ranges the line shown selects; each is repeated about %d times", passes))
	}
}

// runsOfWorkload says how often the workload runs before ncu: what a run costs
// at least.
func (r *run) runsOfWorkload() string {
	p := r.Plan.Pipeline
	var parts []string
	add := func(on bool, n int, how string) {
		if on {
			parts = append(parts, fmt.Sprintf("%d %s", n, how))
		}
	}
	add(p.Unprofiled.Enable, max(1, p.Unprofiled.Repeats), "without a profiler")
	add(r.shipped() && p.DirectInference.Enable, 1, "for its predictions")
	add(r.shipped() && p.TorchProfiler.Enable, 1, "under the torch profiler")
	add(r.shipped() && p.StaticAnalysis.TorchFlopCounter, 1, "to count its FLOPs")
	add(p.Nsys.Enable, 1, "under nsys, and then the export of its report")
	if len(parts) == 0 {
		return "the workload does not run before ncu"
	}
	return "runs of the workload: " + strings.Join(parts, ", ") + "; how long one takes is not known before"
}

// willChoose tells whether launches will be chosen, as far as that shows before
// there is a timeline.
func (r *run) willChoose() bool {
	return r.Plan.Pipeline.Nsys.Enable && r.notChoosing(&traced{}) == ""
}

// wholeTimeline tells whether the timeline shows the program from its start to
// its end.
func (r *run) wholeTimeline() bool {
	n := r.Plan.Pipeline.Nsys
	return n.CaptureRange == plan.CaptureNone && n.Delay == 0 && n.Duration == 0
}

// cleanTime is how long one run of the workload took without a profiler; 0
// where that is not known.
func (r *run) cleanTime() time.Duration {
	for _, s := range r.summary.Stages {
		if s.Name == "unprofiled" && s.Seconds > 0 {
			return r.once(s.Seconds)
		}
	}
	if r.store != nil { // a run that goes on kept it
		m := r.store.Manifest()
		if s := m.Step("unprofiled"); s != nil && s.State == runs.StateDone && s.Seconds != nil {
			return r.once(*s.Seconds)
		}
	}
	return 0
}

// once is the time of one of the repeated runs of the baseline.
func (r *run) once(seconds float64) time.Duration {
	return time.Duration(seconds / float64(max(1, r.Plan.Pipeline.Unprofiled.Repeats)) * float64(time.Second))
}

// chosen is a counter capture of chosen launches under way.
type chosen struct {
	r        *run
	t        *traced
	policy   pick.Policy
	targets  *pick.Targets
	metrics  *metricList
	counted  []pick.Counted
	outcomes []capture.Outcome
}

// countChosen chooses launches, counts them in as few processes as possible,
// verifies that they are the ones meant, and takes up once, in another way,
// what was missed.
func (r *run) countChosen(ctx context.Context, t *traced, steps []pick.Step) (capture.Outcome, error) {
	c := &chosen{r: r, t: t, policy: r.policy(), metrics: newMetricList(r.Plan.Pipeline.Ncu.CLI.Metrics)}
	var err error
	if c.targets, err = pick.Choose(t.launches, c.policy); err != nil {
		return r.unmatched(ctx, steps, err)
	}
	c.targets.Timeline = relative(r.store.Dir(), r.timeline)
	c.targets.Ladder, c.targets.Regions = steps, r.regionOptions()
	c.say()
	if err := c.write(); err != nil {
		return capture.Outcome{}, err
	}
	if err := c.runs(ctx, 0); err != nil {
		return capture.Outcome{}, err
	}
	if err := c.again(ctx); err != nil {
		return capture.Outcome{}, err
	}
	return c.outcome(), c.enter(ctx)
}

// regionOptions say what the reports of regions show.
func (r *run) regionOptions() *pick.RegionOptions {
	g, c := r.Plan.Pipeline.Regions, r.Plan.Pipeline.Ncu.CLI
	return &pick.RegionOptions{
		Include: c.NVTXInclude, Exclude: c.NVTXExclude, KernelInclude: g.KernelInclude, KernelExclude: g.KernelExclude, Aggregate: g.Aggregate,
	}
}

// enter adds targets.json, which is final now, to the files of the stage.
func (c *chosen) enter(ctx context.Context) error {
	return c.r.enter(ctx, "ncu", TargetsFile)
}

// mostNamed is how many kernels a line on the screen names.
const mostNamed = 5

// say tells what will be counted and what it will cost, before it starts.
func (c *chosen) say() {
	t, n := c.targets, 0
	for _, g := range t.Groups {
		if g.Chosen {
			n++
		}
	}
	p := t.Predicted
	processes := "one process"
	if p.Processes > 1 {
		processes = fmt.Sprintf("%d processes", p.Processes)
	}
	c.r.Say(fmt.Sprintf("ncu: %s for %s (by name, grid and block) in %s, about %.0f s; they stand for %.1f %% of the GPU time in the regions, %.1f %% of all",
		plural(p.Launches, "launch", "launches"), plural(n, "kernel", "kernels"), processes, p.Seconds, 100*p.CoverageRegions, 100*p.CoverageAll))
	for _, w := range t.Warnings {
		c.r.Say("note: " + w)
	}
	share := func(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }
	for _, l := range t.LeftOut {
		if strings.Contains(l.Reason, "peer") {
			c.r.Say(fmt.Sprintf("note: left out: %s, %.1f %% of the GPU time in the regions: %s: %s", plural(l.Launches, "launch", "launches"), 100*l.Share, l.Names(mostNamed, share), l.Reason))
		}
	}
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func (c *chosen) write() error {
	text, err := c.targets.JSON()
	if err != nil {
		return err
	}
	return c.r.store.WriteFile(TargetsFile, text)
}

// runs starts the ncu processes from number first on and verifies after each.
// A process that ended badly ends them where the next would end the same way.
func (c *chosen) runs(ctx context.Context, first int) error {
	for i := first; i < len(c.targets.Runs); i++ {
		run := &c.targets.Runs[i]
		if v := c.targets.Verification; v != nil && !run.Needed(v) {
			run.Skipped = "earlier processes counted its launches already"
			continue
		}
		c.r.at.foretold = time.Duration(run.Seconds * float64(time.Second)) // the live line counts from the start of a process
		output := "ncu/run"
		if i > 0 {
			output = fmt.Sprintf("ncu/run%d/run", i+1)
		}
		options := run.Options(c.r.ncuOptions(c.r.store.Path(output)), c.targets)
		command, err := c.r.ncuLine(options)
		if err != nil {
			return err
		}
		if err := c.r.makeFolder(output); err != nil {
			return err
		}
		result, err := c.r.countWith(ctx, command, output, len(run.Planned))
		if err != nil {
			return err
		}
		c.outcomes = append(c.outcomes, result.Outcome)
		if err := c.take(run, result.Outcome); err != nil {
			return err
		}
		if hopeless(result.Outcome) {
			break
		}
	}
	return c.write()
}

// take reads what a process counted and verifies everything so far.
func (c *chosen) take(run *pick.Run, o capture.Outcome) error {
	for _, report := range o.Reports {
		run.Report = relative(c.r.store.Dir(), report)
		results, err := readCounted(report, run.Report, c.metrics)
		if err != nil {
			return err
		}
		c.counted = append(c.counted, results...)
	}
	c.targets.Regions.Metrics = c.metrics.list()
	v, err := pick.Verify(c.targets, c.counted, c.t.launches)
	if err != nil {
		return err
	}
	c.targets.Verification = v
	return nil
}

// again takes up what was missed, once.
func (c *chosen) again(ctx context.Context) error {
	v := c.targets.Verification
	if v == nil || len(v.Missing) == 0 || len(c.outcomes) == 0 || hopeless(c.outcomes[len(c.outcomes)-1]) {
		return nil
	}
	missing := slices.Clone(v.Missing)
	for _, p := range v.MissingLaunches {
		if p.Role == pick.RoleTypical {
			missing = append(missing, pick.Missing{Group: p.Group})
		}
	}
	more, err := pick.Retry(c.targets, missing, c.t.launches, c.policy)
	if err != nil || len(more) == 0 {
		return err
	}
	seconds := 0.0
	for _, run := range more {
		seconds += run.Seconds
	}
	c.r.Say(fmt.Sprintf("ncu: %s not counted; once more, by %s, about %.0f s", plural(len(missing), "of the chosen kernels was", "of the chosen kernels were"), more[0].Way, seconds))
	first := len(c.targets.Runs)
	c.targets.Runs = append(c.targets.Runs, more...)
	return c.runs(ctx, first)
}

// hopeless tells whether another process of ncu would end the same way.
func hopeless(o capture.Outcome) bool {
	switch o.Kind {
	case capture.NothingMatched, capture.NothingCollected:
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
		all.Usable, all.Kind, all.What = false, capture.NothingMatched, "ncu counted launches, and none of them is one that was chosen"
		all.Next = "compare " + TargetsFile + " with deepprof show launches " + c.r.store.Dir() + "; the program may launch other kernels under ncu than under nsys"
		return all
	}
	c.r.Say(fmt.Sprintf("ncu: counted launches stand for %.1f %% of the GPU time in the regions, %.1f %% of all", 100*v.CoverageRegions, 100*v.CoverageAll))
	warn := func(id, text, next string) {
		all.Warnings = append(all.Warnings, capture.Warning{ID: id, Text: text, Next: next})
		if all.Kind == capture.Captured {
			all.Kind, all.Evidence = capture.WithWarnings, text
		}
	}
	for _, o := range failed {
		if len(v.Missing) == 0 && !hopeless(o) {
			if slices.ContainsFunc(c.targets.Runs, func(r pick.Run) bool { return r.Retry && r.Report != "" }) {
				warn("another-way", "counted in another way after a process that counted nothing: "+o.What, "")
			} else {
				warn("counted-nothing", "one process of ncu counted nothing: "+o.What, "")
			}
			continue
		}
		all = worse(all, o)
	}
	for _, w := range v.Warnings {
		warn("verify", w, "compare "+TargetsFile+" with deepprof show launches")
	}
	if n := len(v.Missing); n > 0 {
		var list []string
		for _, m := range v.Missing[:min(n, 5)] {
			list = append(list, fmt.Sprintf("%s (%.1f %%)", m.Kernel, 100*m.Share))
		}
		warn("missed", fmt.Sprintf("%d of the chosen kernels were not counted, in either way: %s", n, strings.Join(list, ", ")),
			"the program may launch other kernels under ncu than under nsys; "+TargetsFile+" has the details")
	}
	if n := len(v.MissingLaunches); n > 0 {
		var list []string
		for _, p := range v.MissingLaunches[:min(n, 5)] {
			list = append(list, fmt.Sprintf("%s of %.1f µs (%s)", c.kernelOf(p.Group), float64(p.DurationNS)/1e3, p.Role))
		}
		warn("missed-launches", fmt.Sprintf("%s not counted; other launches of these kernels stand for them, scaled by time: %s",
			plural(n, "launch that was planned was", "launches that were planned were"), strings.Join(list, ", ")), TargetsFile+" has the details")
	}
	return all
}

// kernelOf is the short name of a group.
func (c *chosen) kernelOf(group string) string {
	for _, g := range c.targets.Groups {
		if g.ID == group {
			return g.Kernel
		}
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
		out.What = "one process of ncu failed and another did not: " + bad.What
	}
	if x.OK() && y.OK() && good.Kind == capture.WithWarnings {
		out.Kind, out.Evidence = good.Kind, good.Evidence
	}
	return out
}

// readCounted reads the launches of a report; name is what messages call it.
// Metrics, where it is not nil, learns what was collected.
func readCounted(report, name string, metrics *metricList) ([]pick.Counted, error) {
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
	var out []pick.Counted
	for _, result := range rep.Results {
		if metrics != nil {
			metrics.add(result)
		}
		c := pick.FromResult(result)
		c.Report = name
		out = append(out, c)
	}
	return out, nil
}

// relative names a file within the run, or by its own path outside.
func relative(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}
