package pipeline

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/ncu"
	"github.com/deepprof/deepprof/internal/ncurep"
	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/pick"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/timeline"
	"github.com/deepprof/deepprof/internal/tool"
)

// ncuOptions are those of the configuration, without the choice of launches.
func (r *run) ncuOptions(output string) ncu.Options {
	c, w := r.Plan.Pipeline.Ncu.CLI, r.Plan.Pipeline.Workload
	mode := c.ReplayMode
	if mode == plan.ReplayAuto {
		mode = plan.ReplayKernel
	}
	o := ncu.Options{
		Output: output, Command: w.Command, ReplayMode: mode, Set: c.Set, Sections: c.Sections, Metrics: c.Metrics,
		TargetProcesses: c.TargetProcesses, ClockControl: c.ClockControl, CacheControl: c.CacheControl,
		WaitForProfilerStart: !c.ProfileFromStart, GraphProfiling: c.GraphProfiling, ConfigFile: c.ConfigFile, ExtraArgs: c.ExtraArgs,
	}
	if r.lists != nil {
		o.KnownSets, o.KnownSections = r.lists.Sets, r.lists.Sections
	}
	return o
}

// ncuCommand builds the counter capture as the configuration says. Expressions
// are resolved with the ranges that the timeline holds; seen is nil where there
// is none.
func (r *run) ncuCommand(output string, seen []nvtx.Seen) (tool.Command, error) {
	o, err := r.asWritten(r.ncuOptions(output), seen)
	if err != nil {
		return tool.Command{}, err
	}
	return r.ncuLine(o)
}

// regionFilters are the NVTX filters of the configuration. What selects nothing
// of the timeline is left out and named.
func regionFilters(c plan.NcuCLI, seen []nvtx.Seen) (pick.Filters, error) {
	if seen != nil {
		return pick.ResolveFilters(c.NVTXInclude, c.NVTXExclude, seen)
	}
	include, err := nvtx.Resolve(c.NVTXInclude, nil)
	if err != nil {
		return pick.Filters{}, fmt.Errorf("pipeline.ncu.ncu_cli.nvtx_include: %w", err)
	}
	exclude, err := nvtx.Resolve(c.NVTXExclude, nil)
	if err != nil {
		return pick.Filters{}, fmt.Errorf("pipeline.ncu.ncu_cli.nvtx_exclude: %w", err)
	}
	return pick.Filters{Include: nvtx.Values(include), Exclude: nvtx.Values(exclude)}, nil
}

// asWritten adds the filters of the configuration.
func (r *run) asWritten(o ncu.Options, seen []nvtx.Seen) (ncu.Options, error) {
	c := r.Plan.Pipeline.Ncu.CLI
	filters, err := regionFilters(c, seen)
	if err != nil {
		return o, err
	}
	o.NVTXInclude, o.NVTXExclude = filters.Include, filters.Exclude
	o.KernelName, o.KernelNameBase, o.KernelID = c.KernelName, c.KernelNameBase, c.KernelID
	o.LaunchSkip, o.LaunchCount, o.FilterMode = c.LaunchSkip, c.LaunchCount, c.FilterMode
	if o.ReplayMode == plan.ReplayRange || o.ReplayMode == plan.ReplayAppRange { // launches are not chosen within a range
		o.LaunchSkip, o.LaunchCount, o.FilterMode = 0, 0, ""
	}
	return o, nil
}

func (r *run) ncuLine(o ncu.Options) (tool.Command, error) {
	args, env, err := ncu.Args(o, r.ncu.Version)
	if err != nil {
		return tool.Command{}, err
	}
	return tool.Command{Path: r.ncu.Path, Args: args, Dir: r.dir, Env: tool.Environ(r.env, env...)}, nil
}

// captureCounters counts the launches that pick chooses from the timeline;
// where there is none, or the configuration names the launches itself, what the
// configuration says.
func (r *run) captureCounters(ctx context.Context) (capture.Outcome, error) {
	t, err := r.readTimeline(ctx)
	if err != nil {
		return capture.Outcome{}, err
	}
	count := func() (capture.Outcome, error) { return r.countLaunches(ctx, t, nil) }
	if r.Plan.Pipeline.Ncu.CLI.ReplayMode == plan.ReplayAuto {
		count = func() (capture.Outcome, error) { return r.climb(ctx, t) }
	}
	if t == nil {
		return count()
	}
	filters, err := regionFilters(r.Plan.Pipeline.Ncu.CLI, t.seen())
	if err != nil {
		return r.unmatched(ctx, nil, err)
	}
	for _, u := range filters.Unmatched {
		r.Say("warning: " + u.String())
	}
	o, err := count()
	warnUnmatched(&o, filters.Unmatched)
	return o, err
}

// warnUnmatched tells of filters that select nothing in the verdict on a capture
// by the others.
func warnUnmatched(o *capture.Outcome, list []pick.Unmatched) {
	if !o.Usable {
		return
	}
	for i, u := range list { // first: it is what the user can mend
		o.Warnings = slices.Insert(o.Warnings, i, capture.Warning{ID: "unmatched", Text: u.String()})
		if o.Kind == capture.Captured {
			o.Kind, o.Evidence = capture.WithWarnings, u.String()
		}
	}
}

// countLaunches counts single launches, or ranges where the configuration says
// so. Steps are the replay modes that were tried before.
func (r *run) countLaunches(ctx context.Context, t *traced, steps []pick.Step) (capture.Outcome, error) {
	if why := r.notChoosing(t); why != "" {
		if r.Plan.Pipeline.Ncu.Pick.Enable {
			r.Say("note: pipeline.ncu.pick is not used: " + why)
		}
		return r.countAsWritten(ctx, t, steps)
	}
	return r.countChosen(ctx, t, steps)
}

func (r *run) countAsWritten(ctx context.Context, t *traced, steps []pick.Step) (capture.Outcome, error) {
	command, err := r.ncuCommand(r.store.Path("ncu/run"), t.seen())
	if err != nil {
		return r.unmatched(ctx, steps, err)
	}
	result, err := r.countWith(ctx, command, "ncu/run", r.launches(t.model(), t.seen()))
	if err != nil {
		return capture.Outcome{}, err
	}
	return result.Outcome, r.writeSteps(ctx, t, steps, result.Outcome.Reports)
}

// unmatched tells filters that select nothing, which is a result, from an error.
// Targets.json names them, and an attempt that started nothing holds the verdict.
func (r *run) unmatched(ctx context.Context, steps []pick.Step, err error) (capture.Outcome, error) {
	var nothing *pick.NothingError
	if !errors.As(err, &nothing) {
		return capture.Outcome{}, err
	}
	o := capture.Outcome{
		Kind: capture.NothingMatched, What: "ncu was not started: " + err.Error(), Cause: "no launch of the timeline is left to count",
		Next: "widen the filters; deepprof show kernels " + r.store.Dir() + " lists what ran",
	}
	switch {
	case nothing.Regions:
		o.Cause, o.Next = "the timeline holds no such range", "name a range that exists; deepprof show regions "+r.store.Dir()+" lists them"
	case nothing.Totals.Launches == 0 && nothing.Totals.GraphNS > 0:
		o.Cause, o.Next = "CUDA graphs were traced as a whole", "set pipeline.nsys.cuda_graph_trace=node"
	case nothing.Totals.Launches == 0:
		o.Cause, o.Next = r.noKernels()
	}
	c := &chosen{r: r, targets: &pick.Targets{
		Schema: pick.Schema, Timeline: relative(r.store.Dir(), r.timeline), Unmatched: nothing.Unmatched, Totals: nothing.Totals,
		Groups: []pick.Group{}, Runs: []pick.Run{}, Ladder: steps, Regions: r.regionOptions(),
	}}
	if err := c.write(); err != nil {
		return o, err
	}
	if err := r.store.StartAttempt("ncu", r.dir); err != nil {
		return o, err
	}
	if err := r.store.EndAttempt("ncu", runs.Result{Outcome: record(o)}); err != nil {
		return o, err
	}
	return o, c.enter(ctx)
}

// noKernels says why a timeline may hold no kernel: no filter of ncu's is to
// blame.
func (r *run) noKernels() (cause, next string) {
	cause = "the program did not use CUDA, or nsys could not trace it (no driver, another profiler), or a process launched the kernels that it did not start"
	next = "check that the program launches kernels itself; what a server launches for it shows where the server is profiled"
	if !r.wholeTimeline() {
		cause += ", or outside the part that was captured"
		next += "; capture more with pipeline.nsys.capture_range, delay and duration"
	}
	if !r.Plan.Pipeline.Nsys.TraceForkBeforeExec {
		cause += ", or in a child that was forked without exec"
		next += "; children that are forked without exec need pipeline.nsys.trace_fork_before_exec=true"
	}
	return cause, next
}

// countWith makes one capture; output is its report within the run, without
// extension.
func (r *run) countWith(ctx context.Context, command tool.Command, output string, launches int) (capture.Result, error) {
	cli := r.Plan.Pipeline.Ncu.CLI
	c := r.capture(capture.Ncu, command, output, r.Plan.Pipeline.Ncu.Timeout)
	c.KeepEnv = names(r.env) // ncu stores no environment
	c.Expect.Tables = named(cli.Metrics)
	c.Expect.Launches = launches
	got := map[string]int64{}
	c.Check = func(_ context.Context, report string) (*capture.Content, error) {
		content, err := checkCounters(report)
		add(got, content)
		return content, err
	}
	result := capture.Run(ctx, c)
	asked := c.Expect.Tables
	if cli.Set != "" || len(cli.Sections) > 0 || len(asked) < len(cli.Metrics) || len(asked) == 0 {
		asked = []string{dataResults}
	}
	judgeMissing(&result, asked, got)
	return result, r.record(ctx, path.Dir(output), result, append(slices.Clone(result.Reports), result.Kept...))
}

// dataResults stands for the results of a counter report, whatever they hold.
const dataResults = "results"

// named are the metrics that stand for themselves; regex:, group: and
// breakdown: stand for several.
func named(metrics []string) []string {
	return slices.DeleteFunc(slices.Clone(metrics), func(m string) bool { return strings.Contains(m, ":") })
}

// chips are the chips that a compute capability names without doubt; others
// are shared by several that differ in their counters.
var chips = map[string]string{"7.0": "gv100", "8.0": "ga100", "9.0": "gh100", "10.0": "gb100"}

// checkMetrics refuses metrics that the GPU of this machine cannot count. Where
// its chip, or the answer, cannot be told, the capture itself shows.
func (r *run) checkMetrics(ctx context.Context) error {
	metrics := named(r.Plan.Pipeline.Ncu.CLI.Metrics)
	if len(metrics) == 0 || r.lists == nil {
		return nil
	}
	smi, err := r.tools.Find(ctx, tool.Spec{Name: tool.NvidiaSMI})
	if err != nil {
		return nil
	}
	text, err := output(ctx, smi.Path, "--query-gpu=compute_cap", "--format=csv,noheader")
	if err != nil {
		return nil
	}
	caps := strings.Fields(string(text))
	slices.Sort(caps)
	if caps = slices.Compact(caps); len(caps) != 1 || chips[caps[0]] == "" {
		return nil
	}
	chip := chips[caps[0]]
	var problems []error
	for _, m := range metrics {
		if answer, err := r.lists.Metric(ctx, chip, m); err == nil && answer == tool.No {
			problems = append(problems, fmt.Errorf("pipeline.ncu.ncu_cli.metrics: %s does not count %q on %s; ncu --query-metrics --chips %s lists what it does", r.ncu, m, chip, chip))
		}
	}
	return errors.Join(problems...)
}

// checkCounters counts the results of a report, and the values of each metric:
// ncu passes over metrics that it does not know.
func checkCounters(report string) (*capture.Content, error) {
	r, err := ncurep.Open(report, ncurep.Options{})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	content := &capture.Content{Rows: map[string]int64{}}
	for result := range r.All() {
		content.Launches++
		content.Rows[dataResults]++
		for i := range result.Metrics {
			m := &result.Metrics[i]
			if m.Value.IsZero() && m.NumInstances == 0 {
				continue
			}
			content.Rows[m.Name]++
			if base, _, rolled := strings.Cut(m.Name, "."); rolled {
				content.Rows[base]++ // a metric may be asked for without its roll-up
			}
		}
	}
	for _, w := range r.Warnings() {
		content.Warnings = append(content.Warnings, w.String())
	}
	if content.Launches == 0 && len(content.Warnings) > 0 { // a report without results is damaged, not empty
		return nil, fmt.Errorf("no result can be read: %s", content.Warnings[0])
	}
	return content, nil
}

// launches is how many launches ncu is to profile according to the timeline, 0
// where that cannot be told: only part of the program was traced, or launches
// are chosen by a rule of ncu's own.
func (r *run) launches(t *timeline.Timeline, seen []nvtx.Seen) int {
	n, c := r.Plan.Pipeline.Nsys, r.Plan.Pipeline.Ncu.CLI
	whole := n.CaptureRange == plan.CaptureNone && n.Delay == 0 && n.Duration == 0
	own := c.KernelName != "" || c.KernelID != "" || !c.ProfileFromStart || c.FilterMode == "per-gpu" || c.TargetProcesses != "all" || len(c.ExtraArgs) > 0
	each := c.ReplayMode == plan.ReplayAuto || c.ReplayMode == plan.ReplayKernel || c.ReplayMode == plan.ReplayApplication
	if t == nil || !whole || own || !each || len(t.Graphs) > 0 || c.GraphProfiling == "graph" {
		return 0
	}
	region, err := matcher(c.NVTXInclude, c.NVTXExclude, seen)
	if err != nil {
		return 0
	}
	q := timeline.Query{Region: region}
	split := c.FilterMode == "per-launch-config" // skip and count apply to each
	if split {
		q.By = timeline.ByLaunchConfig
	}
	window := func(calls int64) int64 {
		calls = max(0, calls-int64(c.LaunchSkip))
		if c.LaunchCount > 0 {
			calls = min(calls, int64(c.LaunchCount))
		}
		return calls
	}
	// Configurations are shared by processes.
	type config struct {
		kernel      string
		grid, block [3]int32
		shared      int32
	}
	calls := map[config]int64{}
	for _, row := range t.KernelRows(q).Rows {
		var key config
		if split {
			key = config{row.Name, *row.Grid, *row.Block, *row.DynamicShared}
		}
		calls[key] += row.Calls
	}
	var total int64
	for _, n := range calls {
		total += window(n)
	}
	return int(total)
}

// matcher is the NVTX filter of ncu. It is nil where there is no filter.
func matcher(include, exclude []string, seen []nvtx.Seen) (func(nvtx.State) bool, error) {
	filters, err := pick.ResolveFilters(include, exclude, seen)
	if err != nil || len(filters.Include)+len(filters.Exclude) == 0 {
		return nil, err
	}
	return filters.Match, nil
}
