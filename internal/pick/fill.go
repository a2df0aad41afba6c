package pick

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
)

// mostKernels is how many kernels a row of LeftOut lists.
const mostKernels = 20

// fill writes the choice into targets.
func (c *choice) fill(t *Targets, chosen []step, plan *translation) {
	isChosen, isCounted := map[int]bool{}, map[int]bool{}
	var have int64
	haveIn := make([]int64, len(c.regions))
	for i, s := range chosen {
		g := s.group
		isChosen[g] = true
		have += c.totalNS[g]
		for r := range haveIn {
			haveIn[r] += c.regions[r].groups[g]
		}
		row := c.group(g, i+1)
		row.Chosen = true
		row.Reason = c.reason(s, i+1, have, haveIn)
		if c.p.Slowest {
			row.Slowest = new(c.launch(c.slowest(g)))
		}
		t.Groups = append(t.Groups, row)
	}
	for i := range plan.runs {
		r := &plan.runs[i]
		for _, p := range r.picks {
			g := c.l.group(p.launch)
			r.Planned = append(r.Planned, Planned{Group: c.l.groups[g].id, Role: p.role, Launch: c.launch(p.launch)})
			isCounted[g] = true
		}
		r.Note = append(r.Note, c.noteOf(r)...)
		t.Runs = append(t.Runs, r.Run)
		t.Predicted.Launches += len(r.picks)
	}
	have += c.addUnasked(t, isChosen, isCounted)
	c.explainRoles(t)
	t.LeftOut = c.leftOut(t.Limits, isCounted)
	t.Trade = plan.trade
	p := &t.Predicted
	p.Processes, p.Seconds = len(plan.runs), round3(plan.seconds)
	p.SecondsPerLaunch = round3(c.cost.least())
	p.CoverageRegions = share(have, c.totals.RegionNS+c.totals.RegionGraphNS)
	p.CoverageAll = share(have, c.totals.KernelNS+c.totals.GraphNS)
	p.CoverageByRegion = coverageOf(c.regions, func(g int) bool { return isCounted[g] })
	c.explain(p.CoverageByRegion, t.Limits, isCounted)
	p.OffTypical = share(plan.offNS, c.totals.RegionNS)
}

// reason says why a group was taken; have and haveIn are what is covered with
// it, of everything and of each region.
func (c *choice) reason(s step, rank int, have int64, haveIn []int64) Reason {
	of := fact.Share("share", share(c.totalNS[s.group], c.totals.RegionNS))
	launches := fact.Count("launches", c.counts[s.group])
	if s.region < 0 {
		return because(chosenByRank, fact.Count("rank", rank), of, launches, fact.Share("covered", share(have, c.totals.RegionNS)))
	}
	r := &c.regions[s.region]
	return because(chosenByRegion, fact.Share("enough", c.enough()), fact.Region("region", r.name()), fact.Share("of_region", share(r.groups[s.group], r.ns)), of, launches,
		fact.Share("covered", share(haveIn[s.region], r.ns)))
}

// addUnasked adds the groups that are counted because the filters let them through,
// and gives their GPU time.
// Their ranks go on after those of the chosen groups. The time is in ns.
func (c *choice) addUnasked(t *Targets, isChosen, isCounted map[int]bool) int64 {
	var sum int64
	rank := len(t.Groups)
	for _, g := range c.byTime() {
		if !isCounted[g] || isChosen[g] {
			continue
		}
		rank++
		row := c.group(g, rank)
		row.Reason = because(countedAlong)
		if why := c.barred[g]; !why.IsZero() {
			row.Reason = because(countedAlong, fact.Because("why", why.Fact))
		}
		t.Groups = append(t.Groups, row)
		sum += c.totalNS[g]
	}
	return sum
}

// byTime lists all groups with launches in the regions by their time.
func (c *choice) byTime() []int {
	var out []int
	for g := range c.l.groups {
		if c.counts[g] > 0 {
			out = append(out, g)
		}
	}
	slices.SortFunc(out, func(x, y int) int {
		return cmp.Or(cmp.Compare(c.totalNS[y], c.totalNS[x]), cmp.Compare(c.l.groups[x].id, c.l.groups[y].id))
	})
	return out
}

// explainRoles says for each chosen group which of its launches is counted.
func (c *choice) explainRoles(t *Targets) {
	roles, others := map[string]Planned{}, map[string][]string{} // others in nanoseconds
	for _, r := range t.Runs {
		for _, p := range r.Planned {
			if p.Role == RoleOther {
				others[p.Group] = append(others[p.Group], fmt.Sprintf("%d ns", p.DurationNS))
				continue
			}
			if old, ok := roles[p.Group]; !ok || old.Role != RoleTypical && p.Role == RoleTypical {
				roles[p.Group] = p
			}
		}
	}
	for i := range t.Groups {
		g := &t.Groups[i]
		p, ok := roles[g.ID]
		if !ok || !g.Chosen {
			continue
		}
		times := []fact.Param{fact.NS("time", p.DurationNS), fact.NS("median", g.MedianNS)}
		if list := others[g.ID]; len(list) > 0 {
			times = append(times, fact.Names("others", fact.KindName, list))
		}
		code := offMedian
		switch {
		case p.ID == g.Typical.ID:
			code = atMedian
		case p.Role == RoleTypical:
			code = nearMedian
		}
		g.Counts = new(because(code, times...))
	}
}

// launch describes a launch, with its numbers where the whole program is in the timeline:
// ncu counts from the start of the process.
func (c *choice) launch(i int) Launch {
	out := c.l.describe(i)
	if c.p.Partial {
		return out
	}
	if c.numbered(i, baseFunction) {
		out.Number = int(c.numbering(baseFunction).number(i))
	}
	if c.l.names[c.l.kind(i).function].in(baseMangled) != "" && c.numbered(i, baseMangled) {
		out.MangledNumber = int(c.numbering(baseMangled).number(i))
	}
	return out
}

// group is the row of a group in targets.json; rank is its place by GPU time, from 1.
func (c *choice) group(g, rank int) Group {
	def := &c.l.groups[g]
	row := Group{
		ID: def.id, Rank: rank, Kernel: def.names.short, Function: def.names.function, Mangled: def.names.mangled, Demangled: def.names.demangled,
		Grid: def.key.grid, Block: def.key.block, GPU: def.key.gpu, Launches: c.counts[g], TotalNS: c.totalNS[g],
		Share: share(c.totalNS[g], c.totals.RegionNS), ShareAll: share(c.totalNS[g], c.totals.KernelNS+c.totals.GraphNS),
		Typical: c.launch(c.median(g)),
	}
	row.MedianNS = row.Typical.DurationNS
	row.MinNS, row.MaxNS = row.MedianNS, row.MedianNS
	regions := map[string]*RegionShare{}
	queues := make([]bool, len(c.l.t.Queues))
	for i := range c.l.kinds {
		k := &c.l.kinds[i]
		if k.group != g || !c.in[i] {
			continue
		}
		row.MinNS, row.MaxNS = min(row.MinNS, k.min), max(row.MaxNS, k.max)
		queues[k.queue] = true
		if k.node {
			row.InGraphs += k.launches
		}
		path := c.l.at.Path(k.region)
		r := regions[path]
		if r == nil {
			r = &RegionShare{Path: path}
			regions[path] = r
		}
		r.Launches += k.launches
		r.NS += k.ns
	}
	for q, used := range queues {
		if !used {
			continue
		}
		row.Processes, row.Devices = append(row.Processes, c.l.pid(c.l.t.Queues[q].Process)), append(row.Devices, int(c.l.t.Queues[q].Device))
	}
	row.Processes, row.Devices = unique(row.Processes), unique(row.Devices)
	for _, r := range regions {
		row.Regions = append(row.Regions, *r)
	}
	slices.SortFunc(row.Regions, func(x, y RegionShare) int {
		return cmp.Or(cmp.Compare(y.NS, x.NS), cmp.Compare(x.Path, y.Path))
	})
	return row
}

// unique sorts the list in place.
func unique(list []int) []int {
	slices.Sort(list)
	return slices.Compact(list)
}

// noteOf says why a run counts more than one launch of a configuration, or counts
// from the first on.
func (c *choice) noteOf(r *runPlan) []fact.Fact {
	switch {
	case r.Way == WayPerConfig && r.LaunchCount > 1 && r.KernelNameBase == baseFunction:
		return []fact.Fact{fact.New(noteSameName, fact.Count("n", r.LaunchCount))}
	case r.Way == WayPerConfig && r.LaunchCount > 1:
		return []fact.Fact{fact.New(noteTypical, fact.Count("n", r.LaunchCount))}
	case r.Way == WayFirst:
		return []fact.Fact{fact.New(noteFirst)}
	}
	return nil
}

// leftOut sums what is not counted, by reason, the largest first.
// Whole graphs, and launches outside the regions, come last, however long they took.
func (c *choice) leftOut(limits Limits, isCounted map[int]bool) []LeftOut {
	var why []Reason
	var groups [][]int // beside why
	for _, g := range c.byTime() {
		if isCounted[g] {
			continue
		}
		r := c.barred[g]
		if r.IsZero() {
			r = limitReason(limits, len(c.regions) > 0)
		}
		at := slices.IndexFunc(why, func(x Reason) bool { return x.Equal(r.Fact) })
		if at < 0 {
			at, why, groups = len(why), append(why, r), append(groups, nil)
		}
		groups[at] = append(groups[at], g)
	}
	var out []LeftOut
	for i := range why {
		row := c.leftRow(why[i], groups[i])
		row.Cut = c.barred[groups[i][0]].IsZero() // a limit is the only other reason
		row.Collective = c.peers[groups[i][0]]
		out = append(out, row)
	}
	slices.SortFunc(out, func(x, y LeftOut) int {
		return cmp.Or(cmp.Compare(y.NS, x.NS), cmp.Compare(x.Reason.Code, y.Reason.Code))
	})
	if c.totals.RegionGraphNS > 0 {
		out = append(out, LeftOut{
			Reason: because(graphsWhole),
			NS:     c.totals.RegionGraphNS, Share: share(c.totals.RegionGraphNS, c.totals.RegionNS+c.totals.RegionGraphNS),
		})
	}
	if n := c.totals.Launches - c.totals.RegionLaunches; n > 0 {
		ns := c.totals.KernelNS - c.totals.RegionNS
		out = append(out, LeftOut{Reason: because(outsideRegions), Launches: n, NS: ns, Share: share(ns, c.totals.KernelNS+c.totals.GraphNS)})
	}
	return out
}

// limitReason is why groups were left that could have been counted.
func limitReason(l Limits, regions bool) Reason {
	switch l.Reached {
	case "top_n":
		return because(limitTopN, fact.Count("n", l.TopN))
	case "coverage":
		params := []fact.Param{fact.Share("share", l.Coverage)}
		if regions {
			params = append(params, fact.ID("each_region", "scope-of-limit", "each"))
		}
		return because(limitCoverage, params...)
	case "budget_s":
		return because(limitBudget, fact.Seconds("time", l.BudgetS))
	}
	return because(noWayToCount)
}

// leftRow sums up groups that are left out for one reason, by kernel; the largest are
// named and the others counted.
func (c *choice) leftRow(why Reason, groups []int) LeftOut {
	row := LeftOut{Reason: why, Groups: len(groups)}
	kernels := map[*names]*LeftRow{}
	var order []*LeftRow
	for _, g := range groups {
		n := c.l.groups[g].names
		k := kernels[n]
		if k == nil {
			k = &LeftRow{Kernel: n.short}
			kernels[n] = k
			order = append(order, k)
		}
		k.Launches += c.counts[g]
		k.NS += c.totalNS[g]
		row.Launches += c.counts[g]
		row.NS += c.totalNS[g]
	}
	row.Share = share(row.NS, c.totals.RegionNS)
	slices.SortStableFunc(order, func(x, y *LeftRow) int { return cmp.Or(cmp.Compare(y.NS, x.NS), cmp.Compare(x.Kernel, y.Kernel)) })
	for i, k := range order {
		if i >= mostKernels {
			row.More = len(order) - mostKernels
			break
		}
		k.Share = share(k.NS, c.totals.RegionNS)
		row.Kernels = append(row.Kernels, *k)
	}
	return row
}

// warnings say what a reader of the choice must know.
func (c *choice) warnings(plan *translation) []Reason {
	var out []Reason
	if c.totals.RegionGraphNS > 0 {
		out = append(out, because(graphsUnchosen, fact.Share("share", share(c.totals.RegionGraphNS, c.totals.RegionNS+c.totals.RegionGraphNS))))
	}
	if limit := c.p.Budget.Seconds(); limit > 0 && plan.seconds > limit {
		out = append(out, because(overBudget, fact.Seconds("time", plan.seconds), fact.Seconds("budget", limit)))
	}
	if n := c.graphNodes(plan); n > 0 {
		out = append(out, because(graphNodes, fact.Count("n", n)))
	}
	queues := make([]bool, len(c.l.t.Queues))
	for i := range c.l.kinds {
		if c.in[i] {
			queues[c.l.kinds[i].queue] = true
		}
	}
	processes := map[uint32]bool{}
	for q, used := range queues {
		if used {
			processes[c.l.t.Queues[q].Process] = true
		}
	}
	switch {
	case c.p.RootOnly:
		out = append(out, c.rootOnly(processes))
	case len(processes) > 1:
		out = append(out, because(manyProcesses, fact.Count("n", len(processes))))
	}
	return out
}

// graphNodes is how many of the launches to count are nodes of CUDA graphs.
func (c *choice) graphNodes(plan *translation) (n int) {
	for _, r := range plan.runs {
		for _, p := range r.picks {
			if c.l.kind(p.launch).node {
				n++
			}
		}
	}
	return n
}

// rootOnly tells of the launches that will be missing: the timeline does not
// have which process started which.
func (c *choice) rootOnly(processes map[uint32]bool) Reason {
	var list []string
	for _, p := range slices.Sorted(maps.Keys(processes)) {
		list = append(list, fmt.Sprint(c.l.pid(p)))
	}
	return because(rootOnly, fact.Key("key", "pipeline.ncu.ncu_cli.target_processes=application-only"), fact.Names("processes", fact.KindName, list))
}
