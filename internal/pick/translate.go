package pick

import (
	"cmp"
	"math"
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/ncu"
	"github.com/deepprof/deepprof/internal/timeline"
)

// How far the search for a window of launches goes.
const (
	maxSkip  = 64
	maxCount = 16
)

// Ways to count, IDs of the domain "count-way".
const (
	wayConfigs      = "configs"
	wayRounds       = "rounds"
	wayBoth         = "configs-numbers"
	wayNumbersFirst = "numbers-configs"
	wayNumbers      = "numbers"
	waySlowest      = "configs-slowest"
	wayFirst        = "first"
	wayAllByNumber  = "all-numbers"
	wayGates        = "gates"
)

// A translation is one way to have chosen groups counted.
type translation struct {
	way     string // how, an ID of the domain "count-way"
	runs    []runPlan
	seconds float64
	offNS   int64 // GPU time that a launch away from the median stands for
	trade   []fact.Fact
}

// A runPlan is one ncu process with the launches that it will count.
type runPlan struct {
	Run
	picks []planned
}

// A planned launch is one that a process of ncu is to count, and what for.
type planned struct {
	launch int
	role   string
}

// translate finds the cheapest way to count the groups.
func (c *choice) translate(groups []int) (*translation, error) {
	var ways []*translation
	var closed []fact.Fact
	consider := func(t *translation, why fact.Fact) {
		if t == nil {
			closed = append(closed, why)
			return
		}
		c.settle(t)
		ways = append(ways, t)
	}
	if c.p.Slowest {
		c.slowestWays(groups, consider)
	} else {
		c.typicalWays(groups, consider)
	}
	if len(ways) == 0 {
		t, err := c.firstLaunches(groups)
		if err != nil {
			return nil, err
		}
		consider(t, fact.Fact{})
	}
	slices.SortStableFunc(ways, func(x, y *translation) int {
		// Among equals, to the second, the way that was considered first is the safer.
		return cmp.Or(cmp.Compare(math.Round(c.worth(x)), math.Round(c.worth(y))), cmp.Compare(len(x.runs), len(y.runs)))
	})
	ways[0].trade = c.compare(ways, closed)
	return ways[0], nil
}

// typicalWays offers each way to count one typical launch of every group, or why it is
// closed.
func (c *choice) typicalWays(groups []int, consider func(*translation, fact.Fact)) {
	all, _, why := c.perConfig(groups, false)
	consider(all, why)
	consider(c.byNumber(c.typicalWants(groups)))
	consider(c.both(groups, nil))
	if all == nil {
		consider(c.rounds(groups))
		consider(c.numbersFirst(groups))
	}
}

// numbersFirst takes by number what can be numbered, and the rest in rounds.
func (c *choice) numbersFirst(groups []int) (*translation, fact.Fact) {
	can, cannot := c.split(c.typicalWants(groups))
	if len(can) == 0 || len(cannot) == 0 {
		return nil, fact.Fact{}
	}
	first, why := c.byNumber(can)
	if first == nil {
		return nil, why
	}
	second, why := c.rounds(groupsOf(cannot))
	if second == nil {
		return nil, why
	}
	return &translation{way: wayNumbersFirst, runs: append(first.runs, second.runs...)}, fact.Fact{}
}

// slowestWays offers each way to count the slowest launch of every group beside the typical
// one.
func (c *choice) slowestWays(groups []int, consider func(*translation, fact.Fact)) {
	slowest := c.slowestWants(groups)
	consider(c.byNumber(append(c.typicalWants(groups), slowest...)))
	consider(c.both(groups, slowest))
	first, why := c.rounds(groups)
	if first == nil {
		consider(nil, why)
		return
	}
	// Those that can be numbered; the typical ones must do for the others.
	slowest, _ = c.split(slowest)
	second, why := c.byNumber(slowest)
	if second == nil {
		consider(first, why)
		return
	}
	consider(&translation{way: waySlowest, runs: append(first.runs, second.runs...)}, fact.Fact{})
}

// both takes one launch of each configuration in one process, and what that
// misses, and further wants, by number in another.
func (c *choice) both(groups []int, further []want) (*translation, fact.Fact) {
	first, missing, why := c.perConfig(groups, true)
	if first == nil {
		return nil, why
	}
	if len(missing)+len(further) == 0 {
		return nil, fact.Fact{} // one process holds every group
	}
	second, why := c.byNumber(append(c.typicalWants(missing), further...))
	if second == nil {
		return nil, why
	}
	return &translation{way: wayBoth, runs: append(first.runs, second.runs...)}, fact.Fact{}
}

// rounds takes one launch of each configuration, then in a further process the
// same of what was missed, until nothing is: without mangled names, kernels
// that differ only in their template arguments come one after the other.
func (c *choice) rounds(groups []int) (*translation, fact.Fact) {
	all := &translation{way: wayRounds}
	for left := groups; len(left) > 0; {
		t, missing, why := c.perConfig(left, true)
		if t == nil {
			return nil, why
		}
		if len(missing) >= len(left) {
			return nil, fact.New(closedRound)
		}
		all.runs = append(all.runs, t.runs...)
		left = missing
	}
	return all, fact.Fact{}
}

// groups are those with a launch that is counted.
func (t *translation) groups(c *choice) map[int]bool {
	out := map[int]bool{}
	for _, r := range t.runs {
		for _, p := range r.picks {
			out[c.l.group(p.launch)] = true
		}
	}
	return out
}

// settle adds up what a way costs and how typical its launches are.
func (c *choice) settle(t *translation) {
	t.seconds, t.offNS = 0, 0
	typical := map[int]bool{}
	for i := range t.runs {
		r := &t.runs[i]
		r.Seconds = c.cost.process()
		for _, p := range r.picks {
			g := c.l.group(p.launch)
			r.Seconds += c.cost.launch(p.launch, c.l.ns(p.launch))
			typical[g] = typical[g] || c.isTypical(p.launch)
		}
		t.seconds += r.Seconds
		r.Seconds = round3(r.Seconds)
	}
	for g, is := range typical {
		if !is {
			t.offNS += c.totalNS[g]
		}
	}
}

// worth is what ways are compared by: their time, where launches that are not
// typical are as bad as a further process if they stand for everything.
func (c *choice) worth(t *translation) float64 {
	return t.seconds + share(t.offNS, c.totals.RegionNS)*c.cost.process()
}

// compare says which way was chosen, what else was weighed, and what could not be
// done, each reason once.
func (c *choice) compare(ways []*translation, closed []fact.Fact) []fact.Fact {
	trade := []fact.Fact{fact.New(tradeChosen, c.costs(ways[0])...)}
	for _, t := range ways[1:] {
		trade = append(trade, fact.New(tradeInstead, c.costs(t)...))
	}
	for i, why := range closed {
		if !why.IsZero() && !slices.ContainsFunc(closed[:i], why.Equal) {
			trade = append(trade, fact.New(tradeClosed, fact.Because("why", why)))
		}
	}
	return append(trade, fact.New(tradeProcess, fact.Seconds("time", c.cost.process())))
}

// costs is what a way costs, and what of it is not typical.
func (c *choice) costs(t *translation) []fact.Param {
	n := 0
	for _, r := range t.runs {
		n += len(r.picks)
	}
	p := []fact.Param{fact.ID("way", "count-way", t.way), fact.Count("launches", n), fact.Count("processes", len(t.runs)), fact.Seconds("time", t.seconds)}
	if t.offNS > 0 {
		p = append(p, fact.Share("off", share(t.offNS, c.totals.RegionNS)))
	}
	return p
}

// firstOf is the first fact that says something.
func firstOf(a, b fact.Fact) fact.Fact {
	if a.IsZero() {
		return b
	}
	return a
}

// partsOf says that the names of kernels take several processes; nil where one
// filter holds them.
func partsOf(f ncu.Filter) fact.StoredList {
	if len(f.Passes) < 2 {
		return nil
	}
	names := 0
	for _, list := range f.Names {
		names += len(list)
	}
	return fact.StoredList{fact.New(noteParts, fact.Count("names", names), fact.Count("n", len(f.Passes)))}
}

// roleOf names the part a launch has in its group.
func (c *choice) roleOf(launch int, chosen map[int]bool) string {
	switch {
	case !chosen[c.l.group(launch)]:
		return RoleUnasked
	case c.isTypical(launch):
		return RoleTypical
	}
	return RoleSame
}

// isTypical tells whether a launch lies near the median of its group.
func (c *choice) isTypical(launch int) bool {
	g := c.l.group(launch)
	if c.counts[g] == 0 { // outside what the program is about
		return false
	}
	c.findTypicals()
	return near(c.l.ns(launch), c.typicals[g].ns)
}

// near tells whether a duration lies near the median of a group, ns.
func near(ns, median int64) bool { return max(ns-median, median-ns) <= typicalSlack(median) }

// typical is what tells the launches of a group that stand for it.
type typical struct {
	ns      int64 // lower median
	median  int   // the first launch that took that long: one that ran, not a mean of two
	near    []int // the first launches near the median, maxAccept at most, in their order
	slowest int   // the earliest of the slowest
}

// findTypicals goes through all launches twice, once.
func (c *choice) findTypicals() {
	if c.typicals != nil {
		return
	}
	groups, lasted := c.groupsOfKinds(), make([]timeline.Sample, len(c.l.groups))
	for r := c.l.reader(); r.next(); {
		if g := groups[r.kind()]; g >= 0 {
			lasted[g].Add(r.ns())
		}
	}
	found := make([]typical, len(c.l.groups))
	for g := range found {
		found[g] = typical{ns: lasted[g].LowerMedian(), median: -1, slowest: -1}
	}
	for r := c.l.reader(); r.next(); {
		g := groups[r.kind()]
		if g < 0 {
			continue
		}
		t, ns := &found[g], r.ns()
		if ns == lasted[g].Max() && t.slowest < 0 {
			t.slowest = r.at
		}
		if ns == t.ns && t.median < 0 {
			t.median = r.at
		}
		if len(t.near) < maxAccept && near(ns, t.ns) {
			t.near = append(t.near, r.at)
		}
	}
	c.typicals = found
}

// groupsOfKinds are the groups of the kinds that pass the NVTX filter; -1 for others.
func (c *choice) groupsOfKinds() []int32 {
	out := make([]int32, len(c.l.kinds))
	for i := range out {
		if out[i] = -1; c.in[i] {
			out[i] = int32(c.l.kinds[i].group)
		}
	}
	return out
}

// median is the launch of a group at the median duration: the lower of two
// middles, the earliest among equals.
func (c *choice) median(g int) int {
	c.findTypicals()
	return c.typicals[g].median
}

// slowest is the earliest of the slowest launches of a group.
func (c *choice) slowest(g int) int {
	c.findTypicals()
	return c.typicals[g].slowest
}

// The forms of a name that ncu compares, of which both tools know the same
// spelling.
const (
	baseMangled  = "mangled"
	baseFunction = "function"
)

// bases gives the forms of names to filter by, the better first: mangled names
// tell template instances apart, where the timeline has them for all groups.
func (c *choice) bases(groups []int) []string {
	if c.plain || slices.ContainsFunc(groups, func(g int) bool { return c.l.groups[g].names.mangled == "" }) {
		return []string{baseFunction}
	}
	return []string{baseMangled, baseFunction}
}

// perConfig takes launches of each configuration: after skip of them, count.
// With one set, it takes a single launch and leaves the groups that this
// misses; else it searches for the window that holds them all. Configurations
// go by mangled or by function names, whichever is cheaper.
func (c *choice) perConfig(groups []int, one bool) (best *translation, missing []int, why fact.Fact) {
	if !ncu.PerLaunchConfig(c.p.Version) {
		return nil, nil, fact.New(closedVersion, fact.Name("version", c.p.Version.String()))
	}
	for _, w := range c.each(c.bases(groups), func(base string) way { return c.perConfigOf(base, groups, one) }) {
		if w.t == nil {
			why = firstOf(why, w.why)
			continue
		}
		c.settle(w.t)
		if best == nil || len(w.missing) < len(missing) || len(w.missing) == len(missing) && c.worth(w.t) < c.worth(best) {
			best, missing = w.t, w.missing
		}
	}
	return best, missing, why
}

// A way is what came of a form of the names: a translation with the groups that it
// misses, or why there is none.
type way struct {
	t       *translation
	missing []int
	why     fact.Fact
}

// perConfigOf counts by configuration under one form of the names, in as many processes as
// the filter needs to stay below its bound. With one set each
// configuration is counted once, which may miss groups.
func (c *choice) perConfigOf(base string, groups []int, one bool) way {
	byName := map[string][]int{}
	var list []string
	for _, g := range groups {
		name := c.l.groups[g].names.in(base)
		byName[name] = append(byName[name], g)
		list = append(list, name)
	}
	f, err := ncu.KernelFilter(list, c.p.MaxFilter)
	if err != nil {
		return way{why: fact.New(closedFilter, fact.Error("error", err))}
	}
	t, missing := &translation{way: wayConfigs}, []int(nil)
	for i, pass := range f.Passes {
		var part []int
		named := map[string]bool{}
		for _, name := range f.Names[i] {
			part = append(part, byName[name]...)
			named[name] = true
		}
		slices.Sort(part)
		w := c.windows(part, base, named)
		best := w.search(one)
		if best == nil {
			return way{why: fact.New(closedWindow)}
		}
		missing = append(missing, best.missing...)
		r := runPlan{Run: Run{Way: WayPerConfig, KernelName: pass, KernelNameBase: base, FilterMode: "per-launch-config", LaunchSkip: best.skip, LaunchCount: best.count, Note: partsOf(f)}}
		for _, launch := range best.taken {
			r.picks = append(r.picks, planned{launch, c.roleOf(launch, w.chosen)})
		}
		t.runs = append(t.runs, r)
	}
	return way{t: t, missing: missing}
}

// firstLaunches counts from the first launch of the named kernels on, over all
// processes, until each group was met: what is left where nothing else can be
// used.
func (c *choice) firstLaunches(groups []int) (*translation, error) {
	base := c.bases(groups)[0]
	var list []string
	chosen := map[int]bool{}
	for _, g := range groups {
		list = append(list, c.l.groups[g].names.in(base))
		chosen[g] = true
	}
	f, err := ncu.KernelFilter(list, c.p.MaxFilter)
	if err != nil {
		return nil, err
	}
	t := &translation{way: wayFirst}
	for i, pass := range f.Passes {
		r := runPlan{Run: Run{Way: WayFirst, KernelName: pass, KernelNameBase: base, FilterMode: "global", Note: partsOf(f)}}
		met, named := map[int]bool{}, make([]bool, len(c.l.kinds)) // by kind: a launch that ncu counts
		for k := range named {
			named[k] = c.seen[k] && slices.Contains(f.Names[i], c.l.names[c.l.kinds[k].function].in(base))
		}
		for in := c.l.reader(); in.next(); {
			at, k := in.at, in.kind()
			if !named[k] {
				continue
			}
			r.picks = append(r.picks, planned{at, c.roleOf(at, chosen)})
			if g := c.l.kinds[k].group; chosen[g] && !met[g] {
				met[g] = true
				r.LaunchCount = len(r.picks)
			}
		}
		r.picks = r.picks[:r.LaunchCount]
		t.runs = append(t.runs, r)
	}
	return t, nil
}
