package analysis

import (
	"math"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/pick"
	"github.com/deepprof/deepprof/internal/plan"
)

// readTargets says of each kernel why it was, or was not, counted, and checks
// that the launches counted are those that were meant.
// Without a plan of deepprof every launch is taken as chosen. A plan of another
// timeline is told, and not used.
func (cr *counterReader) readTargets() error {
	if cr.in.Targets == "" && len(cr.counted)+len(cr.ranges) == 0 {
		return nil
	}
	var targets *pick.Targets
	if cr.in.Targets != "" {
		data, err := readFile(cr.in.Targets)
		if err == nil {
			targets, err = pick.ParseTargets(data)
		}
		if err != nil {
			cr.notes.unreadable(err)
		}
	}
	launches := cr.tl.launches()
	if targets != nil && !targets.Fits(launches) {
		cr.notes.warn(targetsStale, fact.File("file", cr.in.rel(cr.in.Targets)))
		targets = nil
	}
	if targets == nil {
		var err error
		if targets, err = pick.Survey(launches, nil, nil); err != nil {
			return err
		}
	} else {
		cr.reasons(targets)
	}
	if len(cr.counted)+len(cr.ranges) == 0 {
		return nil
	}
	return cr.verify(targets, launches)
}

// verify checks that the launches which were counted are those that were chosen, and
// sums their counters up by region. It tells each launch how long it lasts in the
// timeline, so that the speakers are chosen again.
func (cr *counterReader) verify(targets *pick.Targets, launches *pick.Launches) error {
	results := cr.results()
	v, err := pick.Verify(targets, results, launches)
	if err != nil {
		return err
	}
	for _, w := range v.Warnings {
		cr.notes.add(Note{Fact: w.Fact})
	}
	options := pick.RegionOptions{Metrics: regionMetrics, Aggregate: true}
	if targets.Regions != nil {
		options = *targets.Regions
	}
	if cr.regions, err = pick.Regions(launches, results, v, options); err != nil {
		return err
	}
	lasting, checked := cr.regions.Lasting(), map[*launch]pick.Match{}
	for _, m := range v.Matches {
		if m.Result >= len(cr.counted) {
			continue
		}
		l := cr.counted[m.Result]
		checked[l] = m
		l.lastsNS, l.typical = float64(lasting[m.Result]), m.Role == pick.RoleTypical
		if m.Verdict == pick.Doubtful && m.Why != nil {
			l.doubt = &m.Why.Fact
		}
	}
	cr.chooseTypical()
	for i, l := range cr.launchOf {
		if m, ok := checked[l]; ok {
			cr.mark(cr.made.Kernels[i].Counted, l, m)
		}
	}
	cr.picked(targets, v)
	cr.notes.unmatched(cr.regions.Unmatched)
	cr.partsOnly = !options.Aggregate
	return cr.keepKernels(launches, options)
}

// keepKernels leaves out of the regions' lists what patterns leave out of their
// counters.
func (cr *counterReader) keepKernels(l *pick.Launches, o pick.RegionOptions) error {
	if len(o.KernelInclude)+len(o.KernelExclude) == 0 {
		return nil
	}
	keeps, err := l.Keeps(o.KernelInclude, o.KernelExclude)
	if err != nil {
		return err
	}
	left := map[int]bool{}
	for i, row := range cr.tl.rowOf {
		if row != noKernel && !keeps[cr.tl.tape.Kinds[i].Function] {
			left[int(row)] = true
		}
	}
	for i := range cr.made.Regions {
		r := &cr.made.Regions[i]
		r.Top = slices.DeleteFunc(r.Top, func(k RegionKernel) bool { return left[k.Kernel] })
	}
	return nil
}

// unmatched names what the configuration asks for and the timeline lacks.
func (n *notes) unmatched(list []pick.Unmatched) {
	for _, u := range list {
		n.addMissing(Note{Fact: u.Fact()})
	}
}

// mark notes what came of checking the launch that speaks for a kernel.
func (cr *counterReader) mark(c *Counted, l *launch, m pick.Match) {
	c.Verified = m.Verdict == pick.Sound || m.Verdict == pick.Unexpected
	if m.Verdict != pick.Sound && l.alike < 2 && (cr.in.Targets != "" || m.Verdict != pick.Unexpected) {
		c.Note = nil
		if m.Why != nil {
			c.Note = []fact.Fact{m.Why.Fact}
		}
	}
}

// maxNamedKernels is how many kernels that were not counted are named for a reason.
const maxNamedKernels = 10

// picked sums up what was chosen, counted and left out. Without a plan of deepprof,
// every kernel of the timeline could have been counted.
func (cr *counterReader) picked(t *pick.Targets, v *pick.Verification) {
	p := &Picked{Counted: v.Groups, Coverage: v.CoverageRegions, CoverageAll: v.CoverageAll, Groups: t.Totals.EligibleGroups, PredictedSec: t.Predicted.Seconds}
	if t.Serving != nil && t.Serving.Begins != nil {
		p.Begins = &t.Serving.Begins.Fact
	}
	for _, g := range t.Groups {
		if g.Chosen {
			p.Chosen++
		}
	}
	if len(v.CoverageByRegion) > 1 {
		for _, r := range v.CoverageByRegion {
			row := RegionCoverage{Region: strings.TrimSuffix(r.Expr, "/"), Coverage: r.Coverage}
			if r.Why != nil {
				row.Why = &r.Why.Fact
				cr.notes.warn(regionUncovered, fact.Region("region", row.Region), fact.Share("coverage", r.Coverage), fact.Share("goal", t.Limits.Coverage), fact.Because("why", r.Why.Fact))
			}
			p.ByRegion = append(p.ByRegion, row)
		}
	}
	for _, w := range t.Warnings {
		cr.notes.add(Note{Fact: w.Fact, Step: plan.StepNcu})
	}
	if cr.in.Targets == "" { // ncu was told by hand what to count
		p.Chosen = v.Groups
		for i := range cr.made.Kernels {
			if cr.made.Kernels[i].Calls > 0 {
				p.Groups++
			}
		}
	}
	for _, l := range t.LeftOut {
		if n := leftOut(&l); l.Cut {
			p.CutOff = append(p.CutOff, n)
		} else {
			p.LeftOut = append(p.LeftOut, n)
		}
	}
	for _, c := range cr.made.Method.Commands {
		if c.Stage == "ncu" {
			p.ActualSec += c.Seconds
		}
	}
	cr.made.Method.Picked = p
	cr.made.Method.Clock = cr.countersClock()
}

// leftOut is what was not counted for one reason, with its longest kernels, leftNames at most,
// and how many more there are.
func leftOut(l *pick.LeftOut) Note {
	params := []fact.Param{fact.Because("reason", l.Reason.Fact), fact.Count("launches", l.Launches), fact.Share("share", l.Share)}
	var kernels []fact.Fact
	for _, k := range l.Kernels[:min(len(l.Kernels), maxNamedKernels)] {
		kernels = append(kernels, fact.New(KernelShare, fact.Kernel("kernel", k.Kernel), fact.Share("share", k.Share)))
	}
	if len(kernels) > 0 {
		params = append(params, fact.Because("kernels", kernels...))
		if more := len(l.Kernels) - len(kernels) + l.More; more > 0 {
			params = append(params, fact.Count("more", more))
		}
	}
	return Note{Fact: fact.New(LeftOut, params...)}
}

// countersClock is what the counters were taken under: the lowest and the highest clock of all
// launches; zero where no launch has a clock that can be.
func (cr *counterReader) countersClock() fact.Fact {
	low, high, locked := 0.0, 0.0, 0
	for _, l := range cr.counted {
		if hz := cr.clockOf(l); hz > 0 {
			if low == 0 || hz < low {
				low = hz
			}
			high = max(high, hz)
		}
		if l.res.ClockLocked != nil && *l.res.ClockLocked {
			locked++
		}
	}
	if high == 0 {
		return fact.Fact{}
	}
	params := []fact.Param{fact.Num("low", fact.KindHertz, low)}
	if high-low >= clockStep {
		params = append(params, fact.Num("high", fact.KindHertz, high))
	}
	switch {
	case locked == len(cr.counted):
		params = append(params, fact.ID("lock", "clock-lock", "locked"))
	case locked == 0:
		params = append(params, fact.ID("lock", "clock-lock", "free"))
	}
	return fact.New(countersClock, params...)
}

// countersClock is the clock of the SMs while counters were taken. low, high, lock
const countersClock fact.Code = "counters-clock"

// clockStep is the difference in Hz from which two clocks are told apart.
const clockStep = 1e7

// clockSlack is how far a clock may come out above the highest of the device.
const clockSlack = 1.001

// clockOf is the clock of the SMs during a launch, 0 where that is not known: of
// short launches it may come out above what the device can do.
func (cr *counterReader) clockOf(l *launch) float64 {
	hz, _ := l.smClock()
	if highest := cr.highestClock(cr.tl, max(0, l.res.Device)); highest > 0 && hz > clockSlack*highest {
		return 0
	}
	return hz
}

// underNcu is what ncu does to the launches that it counts, where it does
// something.
func (c *counters) underNcu(commands []StageCommand) []fact.Param {
	var does []string
	if emptiesCaches(commands) {
		does = append(does, "empties-caches")
	}
	if slices.ContainsFunc(c.counted, func(l *launch) bool { return l.res.ClockLocked != nil && *l.res.ClockLocked }) {
		does = append(does, "sets-clock")
	}
	if len(does) == 0 {
		return nil
	}
	return []fact.Param{fact.IDs("does", "ncu-does", does)}
}

// emptiesCaches tells whether ncu was left to flush the caches before each pass, as
// it does unless told otherwise; reports do not hold it.
func emptiesCaches(commands []StageCommand) bool {
	return !slices.ContainsFunc(commands, func(c StageCommand) bool {
		return c.Stage == "ncu" && c.has("--cache-control=none")
	})
}

// reasons tells each kernel why it was chosen or not. Rows of the plan are found by
// name, else by the mangled name, since tools write names differently.
func (cr *counterReader) reasons(t *pick.Targets) {
	cr.notes.use(cr.in.Targets, "targets")
	for _, step := range t.Ladder {
		params := []fact.Param{fact.Name("mode", step.Mode), fact.Because("reason", step.Reason.Fact)}
		if step.Outcome != "" {
			params = append(params, fact.ID("outcome", "outcome", step.Outcome))
		}
		cr.made.Method.Ladder = append(cr.made.Method.Ladder, Note{Fact: fact.New(ReplayMode, params...)})
	}
	cr.notes.unmatched(t.Unmatched)
	for i := range t.Groups {
		g := &t.Groups[i]
		key := kernelKey{g.Demangled, wide(g.Grid), wide(g.Block)}
		if k, ok := cr.byKey[key]; ok {
			cr.made.Kernels[k].Reason = &g.Reason.Fact
			cr.chosen[cr.made.Kernels[k].ID] = g.Chosen
			continue
		}
		for k := range cr.made.Kernels {
			row := &cr.made.Kernels[k]
			if row.Grid == key.grid && row.Block == key.block && row.Mangled != "" && row.Mangled == g.Mangled {
				row.Reason = &g.Reason.Fact
				cr.chosen[row.ID] = g.Chosen
			}
		}
	}
	left := map[string]*fact.Fact{}
	for i := range t.LeftOut {
		for _, k := range t.LeftOut[i].Kernels {
			left[k.Kernel] = &t.LeftOut[i].Reason.Fact
		}
	}
	for i := range cr.made.Kernels {
		if k := &cr.made.Kernels[i]; k.Reason == nil {
			k.Reason = left[k.Short]
		}
	}
}

// regionMetrics are the counters that a region of the result shows.
var regionMetrics = []string{
	"gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum",
	counterDRAM[0], counterL2[0], counterL1[0], counterSM[0],
	"sm__pipe_tensor_cycles_active" + ofElapsed, "sm__pipe_fma_cycles_active" + ofElapsed,
	counterIssueActive, counterOccupancy[0], "smsp__inst_executed.sum",
	"lts__t_sector_hit_rate.pct", "l1tex__t_sector_hit_rate.pct",
}

// countRegions gives regions the counters of their launches.
func (j *judgment) countRegions() {
	if j.regions == nil {
		for i := range j.made.Regions {
			j.made.Regions[i].Why = new(fact.New(regionNoCounters))
		}
		return
	}
	rows := map[regionRef]*pick.Region{}
	for i := range j.regions.Regions {
		r := &j.regions.Regions[i]
		rows[regionRef{r.Path, r.Domain, r.Style}] = r
	}
	for i := range j.made.Regions {
		out := &j.made.Regions[i]
		style := "PushPop"
		if out.Style == "startend" {
			style = "StartEnd"
		}
		r := rows[regionRef{out.Path, out.Domain, style}]
		if r == nil {
			out.Why = new(fact.New(regionNotMeasured))
			continue
		}
		out.Counters, out.Why = j.regionCounters(r, out)
		if j.partsOnly && out.Counters == nil && out.Process == nil && out.Device == nil && len(r.Parts) > 1 {
			out.Why = new(fact.New(regionNotSummed))
		}
	}
}

// regionCounters are nil with the reason where nothing in the region was counted. A
// range that was measured as a whole goes before the sum of its launches.
func (j *judgment) regionCounters(r *pick.Region, out *Region) (*RegionCounters, *fact.Fact) {
	if r.Whole != nil && out.Process == nil && out.Device == nil {
		c := &RegionCounters{Method: rangeReplay(j.made.Method.Commands), Coverage: 1, Metrics: []RegionMetric{}}
		if r.Whole.Of > 0 && r.Whole.Ranges < r.Whole.Of {
			c.Coverage = float64(r.Whole.Ranges) / float64(r.Whole.Of)
			c.Note = []fact.Fact{fact.New(rangesPartial, fact.Count("n", r.Whole.Ranges), fact.Count("of", r.Whole.Of))}
		}
		for _, m := range r.Whole.Metrics {
			if !finite(m.Value) {
				continue
			}
			c.Metrics = append(c.Metrics, RegionMetric{Name: m.Name, Unit: m.Unit, Value: m.Value, How: m.How})
		}
		return c, nil
	}
	for _, p := range r.Parts {
		if !same(p.Process, out.Process) || !same(p.Device, out.Device) {
			continue
		}
		if len(p.Inclusive.Metrics) == 0 {
			break
		}
		s := &p.Inclusive
		c := &RegionCounters{Method: "kernel", Coverage: covered(s), Metrics: shownMetrics(s), ScaledNS: s.ScaledNS, ElsewhereNS: s.ElsewhereNS, Exclusive: exclusiveCounters(&p)}
		if n := p.Inclusive.ExcludedLaunches; n > 0 {
			c.Note = append(c.Note, fact.New(launchesExcluded, fact.Count("n", n)))
		}
		c.Note = append(c.Note, j.timesUnderNcu(s)...)
		return c, nil
	}
	if r.Why == nil {
		return nil, new(fact.New(regionNotCounted))
	}
	return nil, &r.Why.Fact
}

// rangeReplay is the mode that whole ranges were counted in: that of the last
// command, for it is the one whose results there are.
func rangeReplay(commands []StageCommand) string {
	mode := "range"
	for _, c := range commands {
		for _, tried := range []string{"range", "app-range"} {
			if c.Stage == "ncu" && c.has("--replay-mode="+tried) {
				mode = tried
			}
		}
	}
	return mode
}

// has tells whether a command, which is a line for a shell, has an argument.
func (c *StageCommand) has(argument string) bool {
	return slices.Contains(strings.Fields(c.Command), argument)
}

// exclusiveCounters are nil where nothing, or everything, is nested.
func exclusiveCounters(p *pick.RegionPart) *ExclusiveCounters {
	own := p.Exclusive.Launches + p.Exclusive.ExcludedLaunches
	if own == 0 || own == p.Inclusive.Launches+p.Inclusive.ExcludedLaunches {
		return nil
	}
	return &ExclusiveCounters{Coverage: covered(&p.Exclusive), Metrics: shownMetrics(&p.Exclusive)}
}

// covered is the share of all kernel time, also of what patterns leave out.
func covered(s *pick.RegionSums) float64 {
	all := s.KernelNS + s.ExcludedNS
	if s.ExcludedNS <= 0 || all <= 0 {
		return s.Coverage
	}
	return s.Coverage * float64(s.KernelNS) / float64(all)
}

// shownMetrics have a coverage of their own where it is not that of the region.
func shownMetrics(s *pick.RegionSums) []RegionMetric {
	out := []RegionMetric{}
	for _, m := range s.Metrics {
		if timeOfNcu(m.Name) || !finite(m.Value) {
			continue
		}
		row := RegionMetric{Name: m.Name, Unit: m.Unit, Value: m.Value, How: m.How}
		if math.Abs(m.Coverage-s.Coverage) >= 1-fullCoverage {
			row.Coverage = new(m.Coverage)
		}
		out = append(out, row)
	}
	return out
}

// timeOfNcu tells counters that are times or elapsed cycles: summed over launches
// they would pass for times of the run.
func timeOfNcu(name string) bool {
	base, _, _ := strings.Cut(name, ".")
	return strings.Contains(base, "__time_") || strings.HasSuffix(base, "__cycles_elapsed") && !strings.Contains(name, "per_second")
}

// minTimesDiffer is how far the times under ncu must be from the timeline's to be told.
const minTimesDiffer = 0.1

// timesUnderNcu compares the launches of a region under ncu with the same in the
// timeline; none where they are about as long, or no times were counted.
func (j *judgment) timesUnderNcu(s *pick.RegionSums) []fact.Fact {
	for _, m := range s.Metrics {
		timeline := m.Coverage * float64(s.KernelNS)
		if m.Name != "gpu__time_duration.sum" || timeline <= 0 {
			continue
		}
		code := longerUnderNcu
		x := m.Value/timeline - 1
		if x < 0 {
			code = shorterUnderNcu
		}
		if math.Abs(x) > minTimesDiffer {
			return []fact.Fact{fact.New(code, append(j.underNcu(j.made.Method.Commands), fact.Share("share", math.Abs(x)))...)}
		}
	}
	return nil
}

// same compares values that may be absent: absent equals absent alone.
func same(x, y *int) bool {
	if x == nil || y == nil {
		return x == y
	}
	return *x == *y
}
