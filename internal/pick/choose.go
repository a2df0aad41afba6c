package pick

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
)

// typicalSlack is how far from the median a launch may be and still stand for
// its group: a tenth of the median, or the jitter of a small kernel.
func typicalSlack(median int64) int64 { return max(median/10, 200) }

// A choice is the work of Choose under way.
type choice struct {
	l      *Launches
	p      Policy
	filter *regionFilter
	in     []bool // by kind: passes the NVTX filter and is what the program is about
	seen   []bool // by kind: ncu's filter lets it through
	cost   costModel

	counts   []int     // by group: launches that pass the NVTX filter
	barred   []Reason  // by group: why it cannot be chosen, "" if it can
	peers    []bool    // by group: it is barred because its kernel waits for a peer
	ranked   []int     // groups that can be chosen, by time
	totalNS  []int64   // by group, within the regions
	typicals []typical // by group, once asked for
	totals   Totals
	regions  []regionTime // include expressions, then outermost regions
	plain    bool         // names go by function alone

	numberings map[string]*numbering       // by the form of the names, as far as asked for
	configs    map[string][]*configuration // the same
	prepared   bool                        // what each needs is there
	cut        **stretches                 // nil where nobody asked yet
}

// newChoice makes a choice that knows nothing yet: medians, numberings and
// configurations are found when they are first asked for.
func newChoice(l *Launches, p Policy, filter *regionFilter) *choice {
	return &choice{l: l, p: p, filter: filter, numberings: map[string]*numbering{}, configs: map[string][]*configuration{}}
}

// sortedChoice sorts the launches that a policy selects; filter and kernels know
// what selected nothing.
func sortedChoice(l *Launches, p Policy) (c *choice, filter *regionFilter, kernels *selection, err error) {
	if filter, err = newRegionFilter(p.Include, p.Exclude, l.at.Seen()); err != nil {
		return nil, nil, nil, err
	}
	if kernels, err = newSelection(cmp.Or(p.KernelKey, "kernel_include"), "kernel_exclude", p.KernelBase, p.KernelInclude, p.KernelExclude); err != nil {
		return nil, nil, nil, err
	}
	c = newChoice(l, p, filter)
	c.pass()
	c.sort(kernels)
	return c, filter, kernels, nil
}

// Choose takes the launches worth counting. An expression or pattern that
// selects nothing is named in the answer; it is an error where nothing at all
// is left to count.
func Choose(l *Launches, p Policy) (*Targets, error) {
	c, filter, kernels, err := sortedChoice(l, p)
	if err != nil {
		return nil, err
	}
	t := &Targets{Schema: Schema, Timeline: l.t.Source.Path, Include: filter.include, Exclude: filter.exclude, MainRegions: p.MainRegions && filter.all(), Totals: c.totals}
	t.Unmatched = append(filter.unmatched, kernels.unmatched(l.knownKernels())...)
	if p.Client && len(c.ranked) > 0 {
		if t.Steps, err = c.narrow(c.serving(c.ranked)); err != nil {
			return nil, err
		}
	}
	t.Limits = Limits{TopN: p.TopN, Coverage: p.Coverage, BudgetS: p.Budget.Seconds(), Alike: p.Alike, Slowest: p.Slowest, Collectives: p.Collectives, Collect: p.Collect}
	if len(c.ranked) == 0 {
		return nil, c.nothing(t)
	}
	passes, basis := p.Collect.Passes()
	t.Predicted = Prediction{PassesPerLaunch: passes, Basis: basis}
	c.price(t, passes)
	steps, reached := c.order()
	plan, err := c.translate(groupsIn(steps))
	if err != nil {
		return nil, err
	}
	if reached == "coverage" {
		if steps, plan, err = c.fewest(steps, plan); err != nil {
			return nil, err
		}
	}
	if limit := p.Budget.Seconds(); limit > 0 && plan.seconds > limit && len(steps) > 1 {
		if steps, plan, err = c.afford(steps, limit); err != nil {
			return nil, err
		}
		reached = "budget_s"
	}
	t.Limits.Reached = reached
	steps, plan, guessed := c.refine(steps, plan)
	c.fill(t, steps, plan)
	t.Warnings = append(t.Warnings, c.warnings(plan)...)
	t.Warnings = append(t.Warnings, guessed...)
	return t, nil
}

// pass applies the NVTX filter.
func (c *choice) pass() {
	l := c.l
	c.seen = l.matches(c.filter.match)
	c.in = l.main(c.seen, c.p.MainRegions && c.filter.all())
	for i := range l.kinds {
		k := &l.kinds[i]
		c.totals.Launches += k.launches
		c.totals.KernelNS += k.ns
		if c.in[i] {
			c.totals.RegionLaunches += k.launches
			c.totals.RegionNS += k.ns
		}
	}
	c.totals.GraphNS, c.totals.RegionGraphNS = l.graphTime(&regionFilter{}), l.graphTime(c.filter)
	c.regions = l.allRegions(c.filter, c.in)
}

// main tells the kinds, of those given, that the program is about; all where nobody asks,
// or the program has no regions that hold most of its time.
func (l *Launches) main(of []bool, asked bool) []bool {
	out := slices.Clone(of)
	if !asked {
		return out
	}
	if regions := l.at.MainRegions(); len(regions) > 0 {
		in := l.at.InRegions(regions)
		for i := range out {
			out[i] = out[i] && in[l.kinds[i].place]
		}
	}
	return out
}

// sort puts the launches into groups and ranks those that can be chosen by
// total time, the rarer first among equals.
func (c *choice) sort(kernels *selection) {
	l := c.l
	c.counts, c.totalNS = make([]int, len(l.groups)), make([]int64, len(l.groups))
	for i := range l.kinds {
		if k := &l.kinds[i]; c.in[i] {
			c.counts[k.group] += k.launches
			c.totalNS[k.group] += k.ns
		}
	}
	c.barred, c.peers = make([]Reason, len(l.groups)), make([]bool, len(l.groups))
	reasons, waits := map[*names]Reason{}, map[*names]bool{}
	for g := range l.groups {
		n := l.groups[g].names
		why, known := reasons[n]
		if !known {
			why = kernels.keep(n)
			if waits[n] = why.IsZero() && !c.p.Collectives && n.collective(); waits[n] {
				why = because(waitsForPeer)
			}
			reasons[n] = why
		}
		c.barred[g], c.peers[g] = why, waits[n]
		if why.IsZero() && c.counts[g] > 0 {
			c.ranked = append(c.ranked, g)
			c.totals.EligibleNS += c.totalNS[g]
			for r := range c.regions {
				c.regions[r].eligibleNS += c.regions[r].groups[g]
			}
		}
	}
	c.totals.EligibleGroups = len(c.ranked)
	slices.SortFunc(c.ranked, func(x, y int) int {
		return cmp.Or(
			cmp.Compare(c.totalNS[y], c.totalNS[x]),
			cmp.Compare(c.counts[x], c.counts[y]),
			cmp.Compare(l.groups[x].key.ident, l.groups[y].key.ident),
			slices.Compare(l.groups[x].key.grid[:], l.groups[y].key.grid[:]),
			slices.Compare(l.groups[x].key.block[:], l.groups[y].key.block[:]),
			cmp.Compare(l.groups[x].key.gpu, l.groups[y].key.gpu))
	})
}

// fewest drops groups from the end as long as what is counted along covers
// enough without them.
func (c *choice) fewest(steps []step, plan *translation) ([]step, *translation, error) {
	low, high := 0, len(steps) // high covers enough, low does not
	for high-low > 1 {
		middle := (low + high) / 2
		less, err := c.translate(groupsIn(steps[:middle]))
		if err != nil {
			return nil, nil, err
		}
		if c.covers(less) && less.seconds <= plan.seconds {
			high, plan = middle, less
		} else {
			low = middle
		}
	}
	return steps[:high], plan, nil
}

// afford finds the largest number of groups that the budget pays for; one is
// always counted.
func (c *choice) afford(steps []step, limit float64) ([]step, *translation, error) {
	low, high := 1, len(steps)
	best, err := c.translate(groupsIn(steps[:1]))
	if err != nil {
		return nil, nil, err
	}
	for high-low > 1 {
		middle := (low + high) / 2
		plan, err := c.translate(groupsIn(steps[:middle]))
		if err != nil {
			return nil, nil, err
		}
		if plan.seconds <= limit {
			low, best = middle, plan
		} else {
			high = middle
		}
	}
	return steps[:low], best, nil
}

// before is how many launches come before those that can be counted, as far as
// the program makes them under ncu too.
func (c *choice) before() int {
	switch {
	case c.p.BriefStart:
		return 0
	case c.p.Served: // its start and its warm-up are not in the window
		return servedBefore
	}
	return c.first()
}

// first is the index of the first launch that can be counted, 0 where none can.
func (c *choice) first() int {
	if i := slices.Index(c.in, true); i >= 0 { // kinds are by their first launch
		return c.l.kinds[i].first
	}
	return 0
}

// price fixes the cost model.
func (c *choice) price(t *Targets, passes int) {
	program, source := c.p.Program, c.p.ProgramSource
	if program <= 0 {
		program, source = time.Duration(c.l.t.Session.DurationNS), "timeline-length"
	}
	if program <= 0 {
		program = time.Duration(max(0, c.l.t.Session.LastNS-c.l.t.Session.FirstNS))
		source = "timeline-events"
	}
	c.cost = costModel{passes: passes, program: program.Seconds(), before: c.before(), first: c.first()}
	if c.p.Served {
		t.Serving = c.serving(c.ranked)
		c.cost.steps = t.Serving.seconds()
	}
	t.Predicted.ProgramSeconds, t.Predicted.ProgramSource = round3(program.Seconds()), source
	every := c.cost.process()
	for r := c.l.reader(); r.next(); {
		if c.in[r.kind()] {
			every += c.cost.launch(r.at, r.ns())
		}
	}
	t.Predicted.EverySeconds = round3(every)
}

// nothing says that no launch is left to count.
func (c *choice) nothing(t *Targets) error {
	err := &NothingError{Unmatched: t.Unmatched, Totals: c.totals}
	switch {
	case c.totals.Launches == 0 && c.totals.GraphNS > 0:
		err.Why = fact.New(onlyGraphs)
	case c.totals.Launches == 0:
		err.Why = fact.New(noKernelsAtAll)
	case c.totals.RegionLaunches == 0:
		err.Why = fact.New(noneInRegions, fact.Count("elsewhere", c.totals.Launches))
	default:
		err.Why = fact.New(noneEligible, fact.Count("launches", c.totals.RegionLaunches))
	}
	return err
}

// A NothingError says that no launch is left to count, and why.
type NothingError struct {
	Why       fact.Fact
	Unmatched []Unmatched
	Regions   bool // no region is left, as opposed to no kernel
	Totals    Totals
	exist     fact.Fact // the ranges that there are
}

// Error is in words: the error ends a command where no capture can tell it.
func (e *NothingError) Error() string { return "choose launches: " + message.Text(e.fact()) }

// fact is the error with all that it knows.
func (e *NothingError) fact() fact.Fact {
	params := []fact.Param{fact.Because("why", e.Why)}
	var unmatched []fact.Fact
	for _, u := range e.Unmatched {
		unmatched = append(unmatched, u.Fact())
	}
	if len(unmatched) > 0 {
		params = append(params, fact.Because("unmatched", unmatched...))
	}
	if !e.exist.IsZero() {
		params = append(params, fact.Because("exist", e.exist))
	}
	return fact.New(nothingChosen, params...)
}

// Fact states what selects nothing.
func (u Unmatched) Fact() fact.Fact {
	params := []fact.Param{fact.Key("key", u.Key), fact.Name("expr", u.Expr), fact.Because("why", u.Why.Fact)}
	if len(u.Near) > 0 {
		params = append(params, fact.Names("near", fact.KindRegion, u.Near))
	}
	return fact.New(unmatchedCode, params...)
}

// String is Fact in words.
func (u Unmatched) String() string { return strings.Join(message.Texts([]fact.Fact{u.Fact()}), "") }

// knownKernels are the names that a filter may be meant for, sorted and each once: those
// of functions and the short ones.
func (l *Launches) knownKernels() []string {
	var out []string
	for i := range l.names {
		out = append(out, l.names[i].function, l.names[i].short)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
