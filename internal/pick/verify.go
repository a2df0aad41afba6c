package pick

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/deepprof/deepprof/internal/cxx"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/timeline"
)

// A Verification says which of the launches that were to be counted were, and
// how much of the GPU time that is.
type Verification struct {
	Schema  int       `json:"schema"`
	Matches []Match   `json:"matches"`
	Missing []Missing `json:"missing,omitempty"` // chosen groups without any counted launch
	// MissingLaunches are planned launches that were not met, of groups that have
	// another one counted, which does not stand for them.
	MissingLaunches []Planned `json:"missing_launches,omitempty"`

	Counted int `json:"counted"` // results of ncu
	// with at least one counted launch that is sound
	Groups          int     `json:"groups"`
	CoverageRegions float64 `json:"coverage_regions"` // share of the GPU time in the chosen regions
	CoverageAll     float64 `json:"coverage_all"`
	CoveredNS       int64   `json:"covered_ns"` // in the chosen regions
	// CoverageByRegion has a row for each include expression and each outermost
	// region; absent in files of earlier versions and without ranges.
	CoverageByRegion []RegionCoverage `json:"coverage_by_region,omitempty"`

	Warnings []Reason `json:"warnings,omitempty"`
}

// The verdicts on a counted launch.
const (
	Sound      = "sound"      // name, grid, block, region and duration are as planned
	Doubtful   = "doubtful"   // of the group, but something differs
	Unexpected = "unexpected" // of a group of the timeline that was not planned
	Unknown    = "unknown"    // no such kernel, grid and block in the timeline
)

// A Match is the place of one counted launch in the timeline.
type Match struct {
	Result  int     `json:"result"` // index into the results given
	Report  string  `json:"report,omitempty"`
	ID      int     `json:"id"`
	Kernel  string  `json:"kernel"`
	Group   string  `json:"group,omitempty"` // id
	Launch  int     `json:"launch,omitempty"`
	Role    string  `json:"role,omitempty"`
	Verdict string  `json:"verdict"`
	Why     *Reason `json:"why,omitempty"`

	DurationNS int64 `json:"duration_ns,omitempty"` // under ncu
	// of the planned launch, else the median of the group
	TimelineNS int64 `json:"timeline_ns,omitempty"`
	// the regions around it are those of the planned launch
	RegionInPlan bool `json:"region_in_plan,omitempty"`
}

// A Missing is a chosen group that was not counted.
type Missing struct {
	Group  string  `json:"group"`
	Kernel string  `json:"kernel"`
	Share  float64 `json:"share"` // of the GPU time in the regions
	Why    Reason  `json:"why"`
}

// Verify finds the place of each counted launch in the timeline and says what
// is missing. Results are those of all runs so far, in the order of the runs.
func Verify(t *Targets, results []Counted, l *Launches) (*Verification, error) {
	filter, err := spelledFilter(t.Include, t.Exclude)
	if err != nil {
		return nil, err
	}
	v := &verifier{t: t, l: l, filter: filter, planned: map[string][]expected{}, out: &Verification{Schema: Schema, Counted: len(results)}}
	for _, r := range t.Runs {
		for _, p := range r.Planned {
			v.planned[p.Group] = append(v.planned[p.Group], expected{p, r.Report})
		}
	}
	v.index()
	for i := range results {
		v.out.Matches = append(v.out.Matches, v.place(i, &results[i]))
	}
	v.missing()
	v.coverage()
	return v.out, nil
}

// A verifier holds what ncu counted against what was planned.
type verifier struct {
	t       *Targets
	l       *Launches
	filter  *regionFilter
	planned map[string][]expected // by group, not met yet
	in      []bool                // by kind
	totalNS []int64               // by group, within the regions
	medians []int64
	loose   map[looseKey]int
	out     *Verification
}

// expected is a planned launch with the report that should hold it, "" where
// that is not known.
type expected struct {
	Planned
	report string
}

// looseKey finds a group whose mangled name one of the tools does not know, by
// another of its names; -1 stands for several.
type looseKey struct {
	name        string
	grid, block [3]int32
}

// index finds the times of groups, and the groups by what ncu tells of a launch: names and
// sizes that two groups share lead to none.
func (v *verifier) index() {
	l := v.l
	v.totalNS, v.medians, v.loose = make([]int64, len(l.groups)), make([]int64, len(l.groups)), map[looseKey]int{}
	v.in = l.main(l.matches(v.filter.match), v.t.MainRegions)
	for i := range l.kinds {
		if k := &l.kinds[i]; v.in[i] {
			v.totalNS[k.group] += k.ns
		}
	}
	lasted := make([]timeline.Sample, len(l.groups))
	l.eachDuration(func(kind uint32, ns, n int64) {
		for range n {
			lasted[l.kinds[kind].group].Add(ns)
		}
	})
	for g := range l.groups {
		v.medians[g] = lasted[g].LowerMedian()
		k := l.groups[g].key
		n := l.groups[g].names
		list := []string{n.function, n.demangled, n.short}
		slices.Sort(list)
		for _, name := range slices.Compact(list) {
			key := looseKey{name, k.grid, k.block}
			if _, ok := v.loose[key]; ok {
				v.loose[key] = -1
				continue
			}
			v.loose[key] = g
		}
	}
}

// find gives the group of a result, or -1.
func (v *verifier) find(c *Counted) int {
	models := []string{""}
	if v.l.models {
		models = nil
		for _, g := range v.l.t.GPUs {
			if g.CUDADevice == c.Device {
				models = append(models, g.Name)
			}
		}
	}
	for _, ident := range []string{c.Mangled, c.Demangled} {
		for _, model := range models {
			if g, ok := v.l.byKey[groupKey{ident, c.Grid, c.Block, model}]; ok && ident != "" {
				return g
			}
		}
	}
	// CSV has one name, of whichever kind it was printed in, and tools write
	// template arguments in several ways: f<(int)1> is f<1>.
	for _, name := range []string{c.Demangled, c.Function, cxx.Short(c.Demangled)} {
		if g, ok := v.loose[looseKey{name, c.Grid, c.Block}]; ok && name != "" && g >= 0 && (v.l.groups[g].names.mangled == "" || c.Mangled == "") {
			return g
		}
	}
	return -1
}

// place says what a counted launch is: the planned one, another of a known group, or
// unknown. A launch that was met is not met again.
func (v *verifier) place(i int, c *Counted) Match {
	m := Match{Result: i, Report: c.Report, ID: c.ID, Kernel: cmp.Or(c.Demangled, c.Function, c.Mangled), DurationNS: c.DurationNS}
	if c.Whole {
		m.Verdict, m.Why = Unexpected, why(matchWhole)
		return m
	}
	g := v.find(c)
	if g < 0 {
		m.Verdict, m.Why = Unknown, why(matchUnknown)
		return m
	}
	def := &v.l.groups[g]
	m.Kernel, m.Group, m.TimelineNS = def.names.short, def.id, v.medians[g]
	p, ok := v.next(def.id, c)
	if ok {
		m.Launch, m.Role, m.TimelineNS = p.ID, p.Role, p.DurationNS
		m.RegionInPlan = c.HasState && slices.Equal(sorted(c.Paths()), sorted(v.paths(p.ID)))
	}
	m.Verdict = Sound
	switch {
	case c.HasState && !v.filter.all() && !v.filter.match(c.State):
		m.Verdict, m.Why = Doubtful, why(matchOutside, fact.Names("regions", fact.KindRegion, c.Paths()))
	case c.DurationNS > 0 && !v.reasonable(c, m.TimelineNS):
		m.Verdict, m.Why = Doubtful, why(matchDuration, fact.NS("ncu", c.DurationNS), fact.NS("timeline", m.TimelineNS))
	case !ok:
		m.Verdict, m.Why = Unexpected, why(matchUnplanned)
		if v.t.group(def.id) != nil {
			m.Why = why(matchMore)
		}
	case c.HasState && !m.RegionInPlan:
		m.Why = why(matchElsewhere, fact.Names("planned", fact.KindRegion, v.paths(p.ID)), fact.Names("counted", fact.KindRegion, c.Paths()))
	}
	return m
}

// next takes the planned launch that a result stands for: of its group, one of
// its report and its regions as far as there is such a one. Of several the
// duration decides, and the order where durations are alike.
func (v *verifier) next(group string, c *Counted) (Planned, bool) {
	list := v.planned[group]
	if len(list) == 0 {
		return Planned{}, false
	}
	paths := sorted(c.Paths())
	fits := func(p expected) (n int) {
		if p.report == "" || p.report == c.Report {
			n += 2
		}
		if c.HasState && slices.Equal(paths, sorted(v.paths(p.ID))) {
			n++
		}
		return n
	}
	var best []int
	most := -1
	for i := range list {
		switch n := fits(list[i]); {
		case n > most:
			best, most = []int{i}, n
		case n == most:
			best = append(best, i)
		}
	}
	at := best[0]
	if c.DurationNS > 0 {
		under := max(0, c.DurationNS-timerNS)
		away := func(i int) int64 { return max(list[i].DurationNS-under, under-list[i].DurationNS) }
		near := slices.MinFunc(best, func(x, y int) int { return cmp.Compare(away(x), away(y)) })
		at = best[slices.IndexFunc(best, func(i int) bool { return Alike(list[i].DurationNS, list[near].DurationNS) })]
	}
	p := list[at]
	v.planned[group] = slices.Delete(slices.Clone(list), at, at+1)
	return p.Planned, true
}

// paths are the regions around a launch of the timeline, one for each stack.
func (v *verifier) paths(id int) []string { return v.l.paths(id - 1) }

// sorted leaves the list as it is.
func sorted(list []string) []string {
	out := slices.Clone(list)
	slices.Sort(out)
	return slices.Compact(out)
}

// reasonable compares durations. Under ncu caches are cold and clocks are
// locked, to a base that is up to twice below the boost of the timeline, and
// its timer adds a microsecond or two; a launch that is twice as fast, or
// slower than all that explains, is another one.
func (v *verifier) reasonable(c *Counted, timeline int64) bool {
	slow := 2.5
	for _, g := range v.l.t.GPUs {
		if g.CUDADevice == max(c.Device, 0) && g.ClockHz > 0 && c.ClockHz > 0 {
			slow = 2 * max(1, float64(g.ClockHz)/c.ClockHz)
		}
	}
	const timer = 4000 // ns
	ns := float64(timeline)
	return float64(c.DurationNS) >= ns/2 && float64(c.DurationNS) <= ns*slow+timer
}

// missing names the groups that were chosen and have no sound launch, and the launches that
// had a role of their own.
func (v *verifier) missing() {
	got := v.out.counted()
	for _, g := range v.t.Groups {
		if g.Chosen && !got[g.ID] {
			why := because(missingNone)
			if slices.ContainsFunc(v.out.Matches, func(m Match) bool { return m.Group == g.ID }) {
				why = because(missingDoubtful)
			}
			v.out.Missing = append(v.out.Missing, Missing{Group: g.ID, Kernel: g.Kernel, Share: g.Share, Why: why})
		}
	}
	typical := v.out.typical()
	for _, r := range v.t.Runs {
		for _, p := range r.Planned {
			left := slices.ContainsFunc(v.planned[p.Group], func(q expected) bool { return q.ID == p.ID })
			wanted := p.Role == RoleSlowest || p.Role == RoleOther || p.Role == RoleTypical && !typical[p.Group]
			if left && wanted && got[p.Group] {
				v.out.MissingLaunches = append(v.out.MissingLaunches, p)
			}
		}
	}
}

// typical are the groups with a usable launch that may be a typical one: what
// was not planned may be anything.
func (v *Verification) typical() map[string]bool {
	got := map[string]bool{}
	for _, m := range v.Matches {
		if m.usable() && (m.Role == RoleTypical || m.Role == RoleUnasked || m.Role == "") {
			got[m.Group] = true
		}
	}
	return got
}

// counted are the groups with a launch that can be used.
func (v *Verification) counted() map[string]bool {
	got := map[string]bool{}
	for _, m := range v.Matches {
		if m.usable() {
			got[m.Group] = true
		}
	}
	return got
}

// usable tells whether the counters stand for the group.
func (m *Match) usable() bool {
	return m.Group != "" && (m.Verdict == Sound || m.Verdict == Unexpected)
}

// coverage sums up the GPU time of groups that have a sound launch.
func (v *verifier) coverage() {
	got := v.out.counted()
	o := v.out
	for g := range v.l.groups {
		if got[v.l.groups[g].id] {
			o.CoveredNS += v.totalNS[g]
			o.Groups++
		}
	}
	o.CoverageRegions = share(o.CoveredNS, v.t.Totals.RegionNS+v.t.Totals.RegionGraphNS)
	o.CoverageAll = share(o.CoveredNS, v.t.Totals.KernelNS+v.t.Totals.GraphNS)
	o.CoverageByRegion = coverageOf(v.l.allRegions(v.filter, v.in), func(g int) bool { return got[v.l.groups[g].id] })
	v.explain()
	counts := map[string]int{}
	for _, m := range o.Matches {
		counts[m.Verdict]++
	}
	if n := counts[Unknown]; n > 0 {
		o.Warnings = append(o.Warnings, because(unknownLaunches, fact.Count("n", n)))
	}
	if n := counts[Doubtful]; n > 0 {
		o.Warnings = append(o.Warnings, because(doubtful, fact.Count("n", n)))
	}
}

// explain says of each region of which less was counted than was asked for why:
// as the choice foresaw, or because what was planned was not met.
func (v *verifier) explain() {
	goal := v.t.Limits.Coverage
	if goal <= 0 || goal > 1 {
		return
	}
	for i := range v.out.CoverageByRegion {
		row := &v.out.CoverageByRegion[i]
		at := slices.IndexFunc(v.t.Predicted.CoverageByRegion, func(p RegionCoverage) bool { return p.Expr == row.Expr })
		switch {
		case row.NS == 0 || row.Coverage >= goal || at < 0:
		case row.Coverage < v.t.Predicted.CoverageByRegion[at].Coverage:
			row.Why = why(regionLess, fact.Share("planned", v.t.Predicted.CoverageByRegion[at].Coverage))
		default:
			row.Why = v.t.Predicted.CoverageByRegion[at].Why
		}
	}
}

// Survey gives the totals of a timeline under filters of the user's own, for
// Verify where pick did not choose the launches.
func Survey(l *Launches, include, exclude []string) (*Targets, error) {
	filter, err := newRegionFilter(include, exclude, l.at.Seen())
	if err != nil {
		return nil, fmt.Errorf("survey launches: %w", err)
	}
	c := newChoice(l, Policy{}, filter)
	c.pass()
	return &Targets{Schema: Schema, Timeline: l.t.Source.Path, Include: filter.include, Exclude: filter.exclude, Unmatched: filter.unmatched, Totals: c.totals}, nil
}
