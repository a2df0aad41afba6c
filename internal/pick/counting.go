package pick

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/ncu"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
)

// A Counting has the counters of a program taken, in as few processes of ncu as
// possible. It decides what each process counts; Count starts them.
type Counting struct {
	Nsys    plan.Nsys // how the timeline was captured
	Ncu     plan.Ncu
	Shown   plan.Regions  // what reports of regions show
	Base    ncu.Options   // of every process; launches are chosen as Ncu says
	Version tool.Version  // of ncu
	Program time.Duration // one unprofiled run of the workload; 0 where that is not known
	// BriefStart and Gates: see Policy.
	BriefStart, Gates bool

	Timeline *Launches // nil where there is none
	Window   bool      // the timeline shows a window of the program
	// Ranges are NVTX expressions that a server is counted in where the configuration
	// names none: its steps. Reports show all regions still.
	Ranges []string
	// Begins says where counting of a server begins, and why there.
	Begins fact.Fact
	// Client says that the client of deepprof drives the server, as Request.Serving says.
	Client bool
	// TimelineName is what targets.json calls it.
	TimelineName string
	Dir          string // of the run: reports are named relative to it

	// Count starts one process of ncu, Refused records that none is started.
	Count   func(context.Context, Request) (capture.Outcome, error)
	Refused func(capture.Outcome) error
	Save    func(*Targets) error // replaces targets.json
	Say     func(line string)
}

// A Request is one process of ncu.
type Request struct {
	Options  ncu.Options    // Output is left to the caller
	Output   string         // of the report within the run, without extension
	Gates    []Gate         // that the program is to open and close; none counts everywhere
	Launches int            // that it is to count; 0 where that is not known
	Kernels  map[string]int // the same by the name that ncu prints; nil where that is not known
	// of Kernels, without those that the filter lets through beside what was chosen
	Asked map[string]int
	// Narrow says that of a server's steps ncu sees the ones that Serving asks for alone.
	Narrow   bool
	Expected time.Duration // 0 where that is not known
	Serving  Serving       // what a server is to compute meanwhile; zero where that is not known
}

// ReadTrace reads what an export of a timeline tells about launches and ranges.
func ReadTrace(ctx context.Context, path string) (*Launches, error) {
	f, err := nsys.OpenSQLite(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadLaunches(ctx, f)
}

// ranges are those of the timeline, for expressions to be resolved; nil
// where there is no timeline, which is not the same as one without ranges.
func (l *Launches) ranges() []nvtx.Seen {
	if l == nil {
		return nil
	}
	return append([]nvtx.Seen{}, l.at.Seen()...)
}

// Do counts what the configuration asks for. Filters that select nothing are a
// result, not an error.
func (c *Counting) Do(ctx context.Context) (capture.Outcome, error) {
	count := func() (capture.Outcome, error) { return c.countLaunches(ctx, nil) }
	switch {
	case len(c.Ranges) > 0 && len(c.Ncu.CLI.NVTXInclude) == 0:
		c.Ncu.CLI.NVTXInclude = c.Ranges
	case c.Ncu.CLI.ReplayMode == plan.ReplayAuto:
		count = func() (capture.Outcome, error) { return c.countByLadder(ctx) }
	}
	if c.Timeline == nil {
		return count()
	}
	filters, err := c.regionFilters()
	if err != nil {
		return c.unmatched(nil, err)
	}
	for _, u := range filters.Unmatched {
		c.Say("warning: " + u.String())
	}
	o, err := count()
	warnUnmatched(&o, filters.Unmatched)
	return o, err
}

// warnUnmatched tells of filters that select nothing in the verdict on a capture
// by the others.
func warnUnmatched(o *capture.Outcome, list []Unmatched) {
	if !o.Usable {
		return
	}
	var warnings []capture.Warning
	for _, u := range list {
		warnings = append(warnings, capture.Warning{Fact: u.Fact(), Scope: u.Key})
	}
	o.WarnFirst(warnings...)
}

// NotChoosing says why launches are not chosen from the timeline; "" where they
// are.
func NotChoosing(n plan.Ncu, timeline bool) fact.Fact {
	switch {
	case !n.Pick.Enable:
		return fact.New(pickOff)
	case !timeline:
		return fact.New(pickBlind)
	case n.CLI.KernelID != "":
		return fact.New(pickByID)
	case n.CLI.ReplayMode == plan.ReplayRange || n.CLI.ReplayMode == plan.ReplayAppRange:
		return fact.New(pickRanges, fact.Name("mode", n.CLI.ReplayMode))
	case n.CLI.GraphProfiling == "graph":
		return fact.New(pickGraphs)
	}
	return fact.Fact{}
}

// PolicyOf is the choice as the configuration wants it. Program is as in
// Counting.
func PolicyOf(timeline plan.Nsys, n plan.Ncu, version tool.Version, program time.Duration) Policy {
	c := n.CLI
	p := Policy{
		Include: c.NVTXInclude, Exclude: c.NVTXExclude, MainRegions: true, TopN: n.Pick.TopN, Coverage: n.Pick.Coverage, Budget: n.Pick.Budget,
		Alike: n.Pick.Alike, Slowest: n.Pick.Slowest, Collectives: n.Pick.Collectives, Collect: Collect{Set: c.Set, Sections: c.Sections, Metrics: c.Metrics},
		Version: version, RootOnly: c.TargetProcesses == "application-only", Partial: !wholeProgram(timeline) || !c.ProfileFromStart,
	}
	if c.KernelName != "" {
		p.KernelInclude, p.KernelBase, p.KernelKey = []string{c.KernelName}, c.KernelNameBase, "pipeline.ncu.ncu_cli.kernel_name"
	}
	if !wholeProgram(timeline) {
		p.Program, p.ProgramSource = program, "unprofiled-run"
	}
	return p
}

// wholeProgram tells whether a timeline shows the program from its start to its
// end.
func wholeProgram(n plan.Nsys) bool {
	return n.CaptureRange == plan.CaptureNone && n.Delay == 0 && n.Duration == 0
}

// policy is the choice for what is known of this run: see PolicyOf and Policy.
func (c *Counting) policy() Policy {
	p := PolicyOf(c.Nsys, c.Ncu, c.Version, c.Program)
	p.BriefStart, p.Gates = c.BriefStart, c.Gates
	p.Partial, p.Served = p.Partial || c.Window, c.Window
	p.Client = c.Client && len(c.Ranges) > 0 && slices.Equal(p.Include, c.Ranges)
	if c.Window { // a window of a server: its start is what a process costs
		p.Program, p.ProgramSource = c.Program, "server-start"
	}
	return p
}

// regionOptions say what the reports of regions show.
func (c *Counting) regionOptions() *RegionOptions {
	o := &RegionOptions{
		Include: c.Ncu.CLI.NVTXInclude, Exclude: c.Ncu.CLI.NVTXExclude,
		KernelInclude: c.Shown.KernelInclude, KernelExclude: c.Shown.KernelExclude, Aggregate: c.Shown.Aggregate,
	}
	if slices.Equal(o.Include, c.Ranges) {
		o.Include = nil
	}
	return o
}

// regionFilters are the NVTX filters of the configuration. What selects nothing
// of the timeline is left out and named.
func (c *Counting) regionFilters() (Filters, error) {
	return configuredFilters(c.Ncu.CLI, c.Timeline.ranges())
}

// Without a timeline (seen is nil) nothing can be told to be unmatched: every form of a
// name is asked for.
func configuredFilters(c plan.NcuCLI, seen []nvtx.Seen) (Filters, error) {
	if seen != nil {
		return ResolveFilters(c.NVTXInclude, c.NVTXExclude, seen)
	}
	include, err := nvtx.Resolve(c.NVTXInclude, nil)
	if err != nil {
		return Filters{}, fmt.Errorf("pipeline.ncu.ncu_cli.nvtx_include: %w", err)
	}
	exclude, err := nvtx.Resolve(c.NVTXExclude, nil)
	if err != nil {
		return Filters{}, fmt.Errorf("pipeline.ncu.ncu_cli.nvtx_exclude: %w", err)
	}
	return Filters{Include: nvtx.Values(include), Exclude: nvtx.Values(exclude)}, nil
}

// AsWritten gives the NVTX filters of the options in ncu's spelling, as far as they can
// be told without a timeline.
func AsWritten(o ncu.Options) (ncu.Options, error) { return asWritten(o, o.NcuCLI, nil) }

// The filters are those of c. Launches are not numbered within a range, and those that wait
// for other ranks are kept out where ranks are counted one by one: ncu would repeat them for
// ever.
func asWritten(o ncu.Options, c plan.NcuCLI, seen []nvtx.Seen) (ncu.Options, error) {
	filters, err := configuredFilters(c, seen)
	if err != nil {
		return o, err
	}
	o.NVTXInclude, o.NVTXExclude = filters.Include, filters.Exclude
	if o.ReplayMode == plan.ReplayRange || o.ReplayMode == plan.ReplayAppRange { // launches are not chosen within a range
		o.LaunchSkip, o.LaunchCount, o.FilterMode = 0, 0, ""
	} else if o.Peers && o.KernelName == "" && o.KernelID == "" {
		o.KernelName, o.KernelNameBase = ncu.NoCollectives, "demangled"
	}
	return o, nil
}

// countLaunches counts single launches, or ranges where the configuration says
// so. Steps are the replay modes that were tried before.
func (c *Counting) countLaunches(ctx context.Context, steps []Step) (capture.Outcome, error) {
	if why := NotChoosing(c.Ncu, c.Timeline != nil); !why.IsZero() {
		if c.Ncu.Pick.Enable {
			c.tell(fact.New(pickUnused, fact.Because("why", why)))
		}
		return c.countAsWritten(ctx, steps)
	}
	return c.countChosen(ctx, steps)
}

// countAsWritten lets ncu choose by the filters of the configuration. Steps are the replay
// modes that were tried before.
func (c *Counting) countAsWritten(ctx context.Context, steps []Step) (capture.Outcome, error) {
	options, err := asWritten(c.Base, c.Ncu.CLI, c.Timeline.ranges())
	if err != nil {
		return c.unmatched(steps, err)
	}
	if options.KernelName == ncu.NoCollectives {
		c.tell(fact.New(peersUncounted))
	}
	o, err := c.Count(ctx, Request{Options: options, Output: runs.NcuOutput(""), Launches: c.expectedLaunches()})
	if err != nil {
		return capture.Outcome{}, err
	}
	if o, _, err = c.countAgain(ctx, options, o); err != nil {
		return capture.Outcome{}, err
	}
	adviseLadder(&o, steps)
	return o, c.saveSteps(steps, o.Reports)
}

// countByLadder walks the ladder of replay_mode auto: range, app-range, then
// single launches, each step with its reason.
func (c *Counting) countByLadder(ctx context.Context) (capture.Outcome, error) {
	options, err := asWritten(c.Base, c.Ncu.CLI, c.Timeline.ranges())
	if err != nil {
		return c.unmatched(nil, err)
	}
	ladder := c.ladder(options.NVTXInclude)
	mode, steps := ladder.first()
	c.saySteps(steps)
	for first := true; mode != "" && mode != plan.ReplayKernel; first = false {
		ranges := asRanges(options, mode)
		o, err := c.Count(ctx, Request{Options: ranges, Output: runs.NcuOutput(mode)})
		if err == nil && first { // one form of the include fits all modes: it is looked for once
			o, ranges, err = c.countAgain(ctx, ranges, o)
		}
		if err != nil {
			return capture.Outcome{}, err
		}
		if o.Usable {
			options.NVTXInclude = ranges.NVTXInclude
		}
		next, done, passed := ladder.next(mode, o, unmeasured(options.NVTXInclude, o.Reports))
		added := append([]Step{done}, passed...)
		c.saySteps(added)
		steps = append(steps, added...)
		if next == "" {
			return o, c.saveSteps(steps, o.Reports)
		}
		mode = next
	}
	last := Step{Mode: plan.ReplayKernel, Tried: true, Outcome: "last-step", Reason: because(stepLast)}
	return c.countLaunches(ctx, append(steps, last))
}

// saySteps tells each mode with the reason for it.
func (c *Counting) saySteps(steps []Step) {
	for _, s := range steps {
		c.tell(fact.New(replayMode, fact.Name("mode", s.Mode), fact.Because("why", s.Reason.Fact)))
	}
}

// ladder says what the steps depend on.
func (c *Counting) ladder(regions []string) replayLadder {
	p := c.policy()
	l := replayLadder{Version: c.Version, Regions: regions, Kernels: -1, Graphs: c.Ncu.CLI.GraphProfiling == "graph", Program: c.Program, Budget: p.Budget}
	l.Passes, _ = p.Collect.Passes()
	if c.Timeline == nil {
		return l
	}
	if l.Program == 0 { // nothing shorter is known than the run under nsys
		l.Program = time.Duration(c.Timeline.t.Session.DurationNS)
	}
	if survey, err := Survey(c.Timeline, p.Include, p.Exclude); err == nil {
		l.Kernels = survey.Totals.RegionLaunches
	}
	return l
}

// asRanges are the options that measure ranges as a whole in one mode.
func asRanges(o ncu.Options, mode string) ncu.Options {
	o.ReplayMode = mode
	// Launches are not chosen within a range.
	o.KernelName, o.KernelID, o.LaunchSkip, o.LaunchCount, o.FilterMode = "", "", 0, 0, ""
	return o
}

// unmeasured are the expressions that select none of the ranges in the reports.
// Without a timeline both forms of a name are asked for, of which one is enough.
func unmeasured(include, reports []string) []string {
	var left []string
	var results []Counted
	for _, report := range reports {
		got, err := readCounted(report, report, nil)
		if err != nil {
			return nil // the verdict on the capture says so
		}
		results = append(results, got...)
	}
	measured := func(text string) bool {
		e, err := nvtx.Parse(text)
		if err != nil {
			return false
		}
		e = e.As(nvtx.StartEnd)
		return slices.ContainsFunc(results, func(c Counted) bool { return e.Match(c.State) })
	}
	for _, text := range include {
		form := otherForm(text)
		if !measured(text) && !(form != "" && slices.Contains(include, form) && measured(form)) {
			left = append(left, text)
		}
	}
	return left
}

// saveSteps records the regions and the ladder where no launches are chosen.
func (c *Counting) saveSteps(steps []Step, reports []string) error {
	if c.Timeline == nil && len(steps) == 0 {
		return nil
	}
	targets := &Targets{Schema: Schema}
	if c.Timeline != nil {
		p := c.policy()
		var err error
		if targets, err = Survey(c.Timeline, p.Include, p.Exclude); err != nil {
			return err
		}
		targets.Timeline = c.TimelineName
	}
	targets.Ladder, targets.Regions = steps, c.regionOptions()
	metrics := newMetricList(c.Ncu.CLI.Metrics)
	for _, report := range reports { // one that cannot be read is judged elsewhere
		_, _ = readCounted(report, report, metrics)
	}
	targets.Regions.Metrics = metrics.list()
	return c.Save(targets)
}

// unmatched tells filters that select nothing, which is a result, from an error.
// Targets.json names them, and an attempt that started nothing holds the verdict.
func (c *Counting) unmatched(steps []Step, err error) (capture.Outcome, error) {
	var nothing *NothingError
	if !errors.As(err, &nothing) {
		return capture.Outcome{}, err
	}
	o := capture.Outcome{Kind: capture.NothingMatched, What: nothing.fact(), Cause: fact.New(causeNoLaunch, fact.File("dir", c.Dir))}
	switch {
	case nothing.Regions:
		o.Cause = fact.New(causeNoRange, fact.File("dir", c.Dir))
	case nothing.Totals.Launches == 0 && nothing.Totals.GraphNS > 0:
		o.Cause = fact.New(causeGraphs)
	case nothing.Totals.Launches == 0:
		o.Cause = noKernels(c.Nsys)
	}
	err = c.Save(&Targets{
		Schema: Schema, Timeline: c.TimelineName, Unmatched: nothing.Unmatched, Totals: nothing.Totals,
		Groups: []Group{}, Runs: []Run{}, Ladder: steps, Regions: c.regionOptions(),
	})
	if err != nil {
		return o, err
	}
	return o, c.Refused(o)
}

// noKernels says why a timeline may hold no kernel: no filter of ncu's is to
// blame.
func noKernels(n plan.Nsys) fact.Fact {
	var more []fact.Param
	if !wholeProgram(n) {
		more = append(more, fact.Names("window", fact.KindKey, []string{"pipeline.nsys.capture_range", "delay", "duration"}))
	}
	if !n.TraceForkBeforeExec {
		more = append(more, fact.Key("fork", "pipeline.nsys.trace_fork_before_exec=true"))
	}
	return fact.New(causeNoKernels, more...)
}

// relative names a file within the run, or by its own path outside.
func (c *Counting) relative(path string) string {
	if rel, err := filepath.Rel(c.Dir, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// tell says on the screen what goes on.
func (c *Counting) tell(f fact.Fact) { c.Say(message.Text(f)) }
