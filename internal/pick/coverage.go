package pick

import (
	"cmp"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/engine"
	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/timeline"
)

// A RegionCoverage is how much of the GPU time under one include expression, or
// in one outermost region, counted launches stand for.
type RegionCoverage struct {
	Expr     string  `json:"expr"` // as in nvtx_include; the path of an outermost region
	NS       int64   `json:"ns"`   // GPU time that passes the filters under it
	Coverage float64 `json:"coverage"`
	// Outermost tells an outermost region that no include expression stands for.
	// Those whose names differ by generated ids or a running number are one.
	Outermost bool `json:"outermost,omitempty"`
	// Why says what keeps the coverage below the one asked for.
	Why *Reason `json:"why,omitempty"`
}

// regionTime is the GPU time that one include expression selects, or that one
// outermost region holds, and no exclude takes away. They may overlap.
type regionTime struct {
	expr        string
	outermost   bool // no include expression
	ns, graphNS int64
	groups      []int64 // by group
	in          []bool  // by kind
	eligibleNS  int64   // of groups that can be chosen
}

// regionTimes adds up GPU time for each include expression; in tells which
// kinds pass the whole filter.
func (l *Launches) regionTimes(f *regionFilter, in []bool) []regionTime {
	out := make([]regionTime, len(f.in))
	for r, e := range f.in {
		one := &regionFilter{in: []*nvtx.Expr{e}, ex: f.ex}
		out[r] = regionTime{expr: f.include[r], groups: make([]int64, len(l.groups)), in: l.matches(one.match), graphNS: l.graphTime(one)}
		for i := range l.kinds {
			if out[r].in[i] = out[r].in[i] && in[i]; out[r].in[i] {
				out[r].add(&l.kinds[i])
			}
		}
	}
	return out
}

// add counts the launches of a kind, which lies in the region.
func (r *regionTime) add(k *kind) {
	r.ns += k.ns
	r.groups[k.group] += k.ns
}

// mostOutermost is for how many outermost regions, those with the most time,
// coverage is kept: a program may open one for each request.
const mostOutermost = 64

// allRegions are the include expressions and the outermost regions that hold
// other launches than each of those.
func (l *Launches) allRegions(f *regionFilter, in []bool) []regionTime {
	out := l.regionTimes(f, in)
	named := len(out)
	for _, r := range l.outermost(in) {
		if !slices.ContainsFunc(out[:named], func(x regionTime) bool { return slices.Equal(x.in, r.in) }) {
			out = append(out, r)
		}
	}
	return out
}

// outermost adds up GPU time for each outermost region, by time. Ranges of
// operators are none.
func (l *Launches) outermost(in []bool) []regionTime {
	names := l.outermostNames()
	byName, places := map[string]*regionTime{}, l.at.Places()
	var list []*regionTime
	for i := range l.kinds {
		if !in[i] {
			continue
		}
		for _, node := range places[l.kinds[i].place].All {
			name := names[node]
			if name == "" {
				continue
			}
			r := byName[name]
			if r == nil {
				r = &regionTime{expr: name, outermost: true, groups: make([]int64, len(l.groups)), in: make([]bool, len(l.kinds))}
				byName[name] = r
				list = append(list, r)
			}
			if !r.in[i] {
				r.in[i] = true
				r.add(&l.kinds[i])
			}
		}
	}
	slices.SortStableFunc(list, func(x, y *regionTime) int { return cmp.Compare(y.ns, x.ns) })
	var out []regionTime
	for _, r := range list[:min(len(list), mostOutermost)] {
		out = append(out, *r)
	}
	return out
}

// outermostNames are the names of outermost regions by their ID. Steps of a serving
// engine go by what they compute: their names have the sizes of the batch.
func (l *Launches) outermostNames() map[uint32]string {
	names, nodes := map[uint32]string{}, l.at.Regions()
	var g nvtx.Grouper
	for _, n := range nodes {
		if n.Parent == 0 {
			g.Add("", n.Path)
		}
	}
	for _, n := range nodes {
		if n.Parent != 0 || nvtx.IsOperator(n.Name) {
			continue
		}
		names[n.ID] = g.Group("", n.Path)
		if s, ok := engine.ParseStep(n.Name); ok && s.Kind != engine.Unknown {
			names[n.ID] = string(s.Kind)
		}
	}
	return names
}

// graphTime is the GPU time under the filter of CUDA graphs that were traced as
// a whole.
func (l *Launches) graphTime(f *regionFilter) int64 {
	var sum int64
	match := l.at.OpMatcher(f.match)
	for i := range l.t.Graphs {
		g := &l.t.Graphs[i]
		op := timeline.Op{Kind: timeline.OpGraph, Index: i, Start: g.Start, End: g.End, Queue: g.Queue, Correlation: g.Correlation}
		if f.all() || match(op) {
			sum += max(0, g.End-g.Start)
		}
	}
	return sum
}

// name is the expression without the slash that ncu wants after a name.
func (r *regionTime) name() string { return strings.TrimSuffix(r.expr, "/") }

// coverageOf is the share of GPU time, CUDA graphs included, that groups which are
// counted have in each region. Counted is asked by the index of a group.
func coverageOf(regions []regionTime, counted func(group int) bool) []RegionCoverage {
	var out []RegionCoverage
	for i := range regions {
		r := &regions[i]
		var have int64
		for g, ns := range r.groups {
			if ns > 0 && counted(g) {
				have += ns
			}
		}
		out = append(out, RegionCoverage{Expr: r.expr, NS: r.ns + r.graphNS, Coverage: share(have, r.ns+r.graphNS), Outermost: r.outermost})
	}
	return out
}

// A step is a group that is taken, and for which region; -1 where its total
// time is the reason.
type step struct{ group, region int }

// groupsIn are the groups of steps, in their order.
func groupsIn(steps []step) []int {
	out := make([]int, len(steps))
	for i, s := range steps {
		out[i] = s.group
	}
	return out
}

// enough is the share of the GPU time that ends the choice.
func (c *choice) enough() float64 {
	if c.p.Coverage <= 0 || c.p.Coverage > 1 {
		return 1
	}
	return c.p.Coverage
}

// order lists the groups in the order in which they are taken, up to top_n or
// coverage: by total time until that is covered, then for the regions that are
// not, always the group with the largest share of such a region.
func (c *choice) order() (list []step, reached string) {
	var have int64
	for _, g := range c.ranked {
		if c.p.TopN > 0 && len(list) >= c.p.TopN {
			return list, "top_n"
		}
		if len(list) > 0 && c.enough() < 1 && share(have, c.totals.EligibleNS) >= c.enough() {
			return c.orderRegions(list)
		}
		have += c.totalNS[g]
		list = append(list, step{g, -1})
	}
	return list, "all"
}

// orderRegions goes on until each region has enough of its time: the next step is the
// group that is the largest part of a region which still lacks some. The text is the
// limit that ended it: coverage or top_n.
func (c *choice) orderRegions(list []step) ([]step, string) {
	taken := make([]bool, len(c.l.groups))
	have, next := make([]int64, len(c.regions)), make([][]int, len(c.regions))
	for r := range c.regions {
		of := c.regions[r].groups
		next[r] = slices.Clone(c.ranked)
		slices.SortStableFunc(next[r], func(x, y int) int { return cmp.Compare(of[y], of[x]) })
	}
	take := func(g int) {
		taken[g] = true
		for r := range c.regions {
			have[r] += c.regions[r].groups[g]
		}
	}
	for _, s := range list {
		take(s.group)
	}
	for {
		best, most := step{region: -1}, 0.0
		for r := range c.regions {
			of := &c.regions[r]
			for len(next[r]) > 0 && taken[next[r][0]] {
				next[r] = next[r][1:]
			}
			if len(next[r]) == 0 || of.eligibleNS == 0 || share(have[r], of.eligibleNS) >= c.enough() {
				continue
			}
			if part := share(of.groups[next[r][0]], of.eligibleNS); part > most {
				best, most = step{next[r][0], r}, part
			}
		}
		if best.region < 0 {
			return list, "coverage"
		}
		if c.p.TopN > 0 && len(list) >= c.p.TopN {
			return list, "top_n"
		}
		take(best.group)
		list = append(list, best)
	}
}

// covers tells whether what a plan counts, chosen or along, is enough of
// everything and of each region.
func (c *choice) covers(plan *translation) bool {
	counted := plan.groups(c)
	if share(c.within(c.totalNS, counted), c.totals.EligibleNS) < c.enough() {
		return false
	}
	return !slices.ContainsFunc(c.regions, func(r regionTime) bool { return c.lacks(&r, counted) })
}

// lacks tells that the counted groups are not enough of a region. One in which nothing can
// be counted lacks nothing.
func (c *choice) lacks(r *regionTime, counted map[int]bool) bool {
	return r.eligibleNS > 0 && share(c.within(r.groups, counted), r.eligibleNS) < c.enough()
}

// within adds up the time of the counted groups that can be chosen.
func (c *choice) within(times []int64, counted map[int]bool) (sum int64) {
	for g := range counted {
		if c.barred[g].IsZero() {
			sum += times[g]
		}
	}
	return sum
}

// explain says of each region of which less is counted than was asked for what
// keeps the rest out: graphs without kernels, kernels that are not to be counted,
// or a limit.
func (c *choice) explain(rows []RegionCoverage, limits Limits, counted map[int]bool) {
	for i := range rows {
		row, r := &rows[i], &c.regions[i]
		if row.NS == 0 || row.Coverage >= c.enough() {
			continue
		}
		reason := limitReason(limits, true)
		switch {
		case c.lacks(r, counted):
		case r.graphNS > 0:
			reason = because(graphsWhole)
		default:
			reason = c.mostBarred(r)
		}
		if !reason.IsZero() {
			row.Why = &reason
		}
	}
}

// mostBarred is why the group with the most time in a region of all that cannot be
// chosen is not.
func (c *choice) mostBarred(r *regionTime) Reason {
	var why Reason
	most := int64(0)
	for g, ns := range r.groups {
		if ns > most && !c.barred[g].IsZero() {
			why, most = c.barred[g], ns
		}
	}
	return why
}
