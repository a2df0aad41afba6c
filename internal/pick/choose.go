package pick

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/deepprof/deepprof/internal/timeline"
)

// typicalSlack is how far from the median a launch may be and still stand for
// its group: a tenth of the median, or the jitter of a small kernel.
func typicalSlack(median int64) int64 { return max(median/10, 200) }

// A choice is the work of Choose under way.
type choice struct {
	l      *Launches
	p      Policy
	filter *regionFilter
	in     []bool  // by launch: passes the NVTX filter
	number []int32 // by launch: its number among those of its function and process that pass
	cost   costModel

	members [][]int     // by group: its launches that pass the NVTX filter
	barred  []string    // by group: why it cannot be chosen, "" if it can
	ranked  []int       // groups that can be chosen, by time
	totalNS []int64     // by group, within the regions
	medians map[int]int // by group, as far as asked for: its typical launch
	// orderly is the last number of a function up to which one thread alone
	// launched it: beyond, the order may change from run to run.
	orderly map[functionKey]int32
	totals  Totals
}

// functionKey is what ncu numbers launches by.
type functionKey struct {
	process  uint32
	function string
}

// Choose takes the launches worth counting. An expression or pattern that
// selects nothing is named in the answer; it is an error where nothing at all
// is left to count.
func Choose(l *Launches, p Policy) (*Targets, error) {
	filter, err := newRegionFilter(p.Include, p.Exclude, l.at.Seen())
	if err != nil {
		return nil, err
	}
	kernels, err := newSelection(cmp.Or(p.KernelKey, "kernel_include"), "kernel_exclude", p.KernelBase, p.KernelInclude, p.KernelExclude)
	if err != nil {
		return nil, err
	}
	c := &choice{l: l, p: p, filter: filter, medians: map[int]int{}}
	c.pass()
	c.sort(kernels)
	t := &Targets{Schema: Schema, Timeline: l.t.Source.Path, Include: filter.include, Exclude: filter.exclude, Totals: c.totals}
	t.Unmatched = append(filter.unmatched, kernels.unmatched(l.knownKernels())...)
	t.Limits = Limits{TopN: p.TopN, Coverage: p.Coverage, BudgetS: p.Budget.Seconds(), Slowest: p.Slowest, Collectives: p.Collectives, Collect: p.Collect}
	if len(c.ranked) == 0 {
		return nil, c.nothing(t)
	}
	passes, basis := p.Collect.Passes()
	t.Predicted = Prediction{PassesPerLaunch: passes, Basis: basis}
	c.price(t, passes)
	n, reached := c.limit()
	plan, err := c.translate(c.ranked[:n])
	if err != nil {
		return nil, err
	}
	if limit := p.Budget.Seconds(); limit > 0 && plan.seconds > limit && n > 1 {
		if n, plan, err = c.afford(n, limit); err != nil {
			return nil, err
		}
		reached = "budget_s"
	}
	t.Limits.Reached = reached
	c.fill(t, c.ranked[:n], plan)
	t.Warnings = append(t.Warnings, c.warnings(plan)...)
	return t, nil
}

// pass applies the NVTX filter and numbers what passes.
func (c *choice) pass() {
	l := c.l
	c.in, c.number = make([]bool, len(l.launches)), make([]int32, len(l.launches))
	match := l.at.KernelMatcher(c.filter.match)
	counts := map[functionKey]int32{}
	thread := map[functionKey]uint32{}
	c.orderly = map[functionKey]int32{}
	for i := range l.launches {
		e := &l.launches[i]
		c.totals.Launches++
		c.totals.KernelNS += e.ns
		if c.in[i] = c.filter.all() || match(e.kernel); !c.in[i] {
			continue
		}
		c.totals.RegionLaunches++
		c.totals.RegionNS += e.ns
		key := functionKey{e.process, l.names[e.function].function}
		counts[key]++
		c.number[i] = counts[key]
		if _, ok := thread[key]; !ok {
			thread[key] = e.thread
		}
		if thread[key] == e.thread && c.orderly[key] == counts[key]-1 {
			c.orderly[key] = counts[key]
		}
	}
	graphIn := l.at.OpMatcher(c.filter.match)
	for i := range l.t.Graphs {
		g := &l.t.Graphs[i]
		ns := max(0, g.End-g.Start)
		c.totals.GraphNS += ns
		op := timeline.Op{Kind: timeline.OpGraph, Index: i, Start: g.Start, End: g.End, Queue: g.Queue, Correlation: g.Correlation}
		if c.filter.all() || graphIn(op) {
			c.totals.RegionGraphNS += ns
		}
	}
}

// sort puts the launches into groups and ranks those that can be chosen by
// total time, the rarer first among equals.
func (c *choice) sort(kernels *selection) {
	l := c.l
	c.members, c.totalNS = make([][]int, len(l.groups)), make([]int64, len(l.groups))
	for i := range l.launches {
		if c.in[i] {
			g := l.launches[i].group
			c.members[g] = append(c.members[g], i)
			c.totalNS[g] += l.launches[i].ns
		}
	}
	c.barred = make([]string, len(l.groups))
	reasons := map[*names]string{}
	for g := range l.groups {
		n := l.groups[g].names
		why, known := reasons[n]
		if !known {
			why = kernels.keep(n)
			if why == "" && !c.p.Collectives && n.collective() {
				why = "waits for a peer: replayed alone it would hang; pipeline.ncu.pick.collectives=true counts it in a program with one rank"
			}
			reasons[n] = why
		}
		c.barred[g] = why
		if why == "" && len(c.members[g]) > 0 {
			c.ranked = append(c.ranked, g)
			c.totals.EligibleNS += c.totalNS[g]
		}
	}
	c.totals.EligibleGroups = len(c.ranked)
	slices.SortFunc(c.ranked, func(x, y int) int {
		return cmp.Or(
			cmp.Compare(c.totalNS[y], c.totalNS[x]),
			cmp.Compare(len(c.members[x]), len(c.members[y])),
			cmp.Compare(l.groups[x].key.ident, l.groups[y].key.ident),
			slices.Compare(l.groups[x].key.grid[:], l.groups[y].key.grid[:]),
			slices.Compare(l.groups[x].key.block[:], l.groups[y].key.block[:]),
			cmp.Compare(l.groups[x].key.gpu, l.groups[y].key.gpu))
	})
}

// limit applies top_n and coverage.
func (c *choice) limit() (n int, reached string) {
	enough := c.p.Coverage
	if enough <= 0 || enough > 1 {
		enough = 1
	}
	var have int64
	for n < len(c.ranked) {
		if c.p.TopN > 0 && n >= c.p.TopN {
			return n, "top_n"
		}
		if n > 0 && enough < 1 && share(have, c.totals.EligibleNS) >= enough {
			return n, "coverage"
		}
		have += c.totalNS[c.ranked[n]]
		n++
	}
	return n, "all"
}

// afford finds the largest number of groups that the budget pays for; one is
// always counted.
func (c *choice) afford(n int, limit float64) (int, *translation, error) {
	low, high := 1, n
	best, err := c.translate(c.ranked[:1])
	if err != nil {
		return 0, nil, err
	}
	for high-low > 1 {
		middle := (low + high) / 2
		plan, err := c.translate(c.ranked[:middle])
		if err != nil {
			return 0, nil, err
		}
		if plan.seconds <= limit {
			low, best = middle, plan
		} else {
			high = middle
		}
	}
	return low, best, nil
}

// price fixes the cost model.
func (c *choice) price(t *Targets, passes int) {
	program, source := c.p.Program, c.p.ProgramSource
	if program <= 0 {
		program, source = time.Duration(c.l.t.Session.DurationNS), "the length of the timeline"
	}
	if program <= 0 {
		program = time.Duration(max(0, c.l.t.Session.LastNS-c.l.t.Session.FirstNS))
		source = "the first to the last event of the timeline"
	}
	c.cost = costModel{passes: passes, program: program.Seconds()}
	t.Predicted.ProgramSeconds, t.Predicted.ProgramSource = round3(program.Seconds()), source
	every := c.cost.process()
	for i := range c.l.launches {
		if c.in[i] {
			every += c.cost.launch(c.l.launches[i].ns)
		}
	}
	t.Predicted.EverySeconds = round3(every)
}

// nothing words that no launch is left to count.
func (c *choice) nothing(t *Targets) error {
	err := &NothingError{Unmatched: t.Unmatched, Totals: c.totals}
	switch {
	case c.totals.Launches == 0 && c.totals.GraphNS > 0:
		err.Why = "the timeline holds CUDA graphs as a whole and no kernels; trace them with pipeline.nsys.cuda_graph_trace=node"
	case c.totals.Launches == 0:
		err.Why = "the timeline holds no kernels"
	case c.totals.RegionLaunches == 0:
		err.Why = fmt.Sprintf("no kernel was launched in the chosen regions; %d were launched elsewhere", c.totals.Launches)
	default:
		err.Why = fmt.Sprintf("patterns and the rule on collectives leave none of the %d launches in the regions", c.totals.RegionLaunches)
	}
	return err
}

// A NothingError says that no launch is left to count, and why.
type NothingError struct {
	Why       string
	Unmatched []Unmatched
	Regions   bool // no region is left, as opposed to no kernel
	Totals    Totals
	exist     string // the ranges that there are, in words
}

func (e *NothingError) Error() string {
	text := "choose launches: " + e.Why
	for _, u := range e.Unmatched {
		text += "; " + u.String()
	}
	if e.exist != "" {
		text += "; " + e.exist
	}
	return text
}

func (u Unmatched) String() string {
	text := fmt.Sprintf("%s %q: %s", u.Key, u.Expr, u.Why)
	for i, near := range u.Near {
		text += [...]string{"; did you mean ", " or ", " or "}[min(i, 2)] + fmt.Sprintf("%q", near)
	}
	if len(u.Near) > 0 {
		text += "?"
	}
	return text
}

func (l *Launches) knownKernels() []string {
	var out []string
	for i := range l.names {
		out = append(out, l.names[i].function, l.names[i].short)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
