package pick

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/timeline"
)

// A RegionCoverage is how much of the GPU time under one include expression
// counted launches stand for.
type RegionCoverage struct {
	Expr     string  `json:"expr"` // as in nvtx_include
	NS       int64   `json:"ns"`   // GPU time that passes the filters under it
	Coverage float64 `json:"coverage"`
}

// regionTime is the GPU time that one include expression selects and no exclude
// takes away. Expressions may overlap.
type regionTime struct {
	expr        string
	ns, graphNS int64
	groups      []int64 // by group
	in          []bool  // by launch
	eligibleNS  int64   // of groups that can be chosen
}

// regionTimes adds up GPU time for each include expression; in tells which
// launches pass the whole filter.
func (l *Launches) regionTimes(f *regionFilter, in []bool) []regionTime {
	out := make([]regionTime, len(f.in))
	for r, e := range f.in {
		one := &regionFilter{in: []*nvtx.Expr{e}, ex: f.ex}
		out[r] = regionTime{expr: f.include[r], groups: make([]int64, len(l.groups)), in: make([]bool, len(l.launches)), graphNS: l.graphTime(one)}
		match := l.at.KernelMatcher(one.match)
		for i := range l.launches {
			if e := &l.launches[i]; in[i] && match(e.kernel) {
				out[r].in[i] = true
				out[r].ns += e.ns
				out[r].groups[e.group] += e.ns
			}
		}
	}
	return out
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
		out = append(out, RegionCoverage{Expr: r.expr, NS: r.ns + r.graphNS, Coverage: share(have, r.ns+r.graphNS)})
	}
	return out
}

// A step is a group that is taken, and for which region; -1 where its total
// time is the reason.
type step struct{ group, region int }

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

// short names the regions of which less is counted than was asked for, where a
// limit is why.
func (c *choice) short(reached string, plan *translation) []string {
	if reached != "top_n" && reached != "budget_s" {
		return nil
	}
	counted := plan.groups(c)
	var out []string
	for i := range c.regions {
		if r := &c.regions[i]; c.lacks(r, counted) {
			out = append(out, fmt.Sprintf("%s: the launches to count stand for %s of its GPU time, less than the %g %% asked for: %s ended the choice",
				r.name(), percent(c.within(r.groups, counted), r.ns+r.graphNS), 100*c.enough(), reached))
		}
	}
	return out
}
