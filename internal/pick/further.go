package pick

import (
	"cmp"
	"maps"
	"slices"
	"sort"

	"github.com/deepprof/deepprof/internal/fact"
)

// A mode is the launches of a counted group that last about equally long and
// that no counted launch is like: what they did would be guessed by their time.
type mode struct {
	group int
	near  []int   // launches near the median, the nearest first
	ns    []int64 // by scope
}

// A scope is a part of the launches within which guesses are limited: a region
// that is asked for, or everything.
type scope struct {
	name      string // of the region; "" is the whole program
	in        []bool // by kind
	countedNS int64  // of groups with a launch that is counted
	guessedNS int64  // of launches that no counted one is like
}

// guessed is the share of the counted time whose duration was guessed.
func (s *scope) guessed() float64 { return share(s.guessedNS, s.countedNS) }

// scopes are the regions that were asked for, or one of everything that counts.
func (c *choice) scopes() []scope {
	var out []scope
	for i := range c.regions {
		if r := &c.regions[i]; !r.outermost {
			out = append(out, scope{name: r.name(), in: r.in})
		}
	}
	if len(out) == 0 {
		return []scope{{in: c.in}}
	}
	return out
}

// modes finds what a plan leaves to guesses, in all scopes.
func (c *choice) modes(plan *translation) ([]scope, []mode) {
	picked := make([][]int64, len(c.l.groups))
	for _, r := range plan.runs {
		for _, p := range r.picks {
			g := c.l.group(p.launch)
			picked[g] = append(picked[g], c.l.ns(p.launch))
		}
	}
	scopes, groups := c.scopes(), c.groupsOfKinds()
	for i, g := range groups {
		if g >= 0 && (len(picked[g]) == 0 || !c.barred[g].IsZero()) {
			groups[i] = -1
		}
		for s := range scopes {
			if groups[i] >= 0 && scopes[s].in[i] {
				scopes[s].countedNS += c.l.kinds[i].ns
			}
		}
	}
	unlike := make([][]int, len(c.l.groups))
	for r := c.l.reader(); r.next(); {
		g := groups[r.kind()]
		if g < 0 {
			continue
		}
		if ns := r.ns(); !slices.ContainsFunc(picked[g], func(other int64) bool { return Alike(ns, other) }) {
			unlike[g] = append(unlike[g], r.at)
		}
	}
	var out []mode
	for g := range c.l.groups {
		out = append(out, c.modesOf(g, unlike[g], scopes)...)
	}
	return scopes, out
}

// modesOf parts launches of a group, which are in their order, by their duration, and adds their
// time to what is guessed.
func (c *choice) modesOf(g int, launches []int, scopes []scope) []mode {
	type unlike struct {
		at   int
		ns   int64
		kind uint32
	}
	all, r := make([]unlike, len(launches)), c.l.reader()
	for i, at := range launches {
		r.to(at)
		all[i] = unlike{at, r.ns(), r.kind()}
	}
	slices.SortStableFunc(all, func(x, y unlike) int { return cmp.Compare(x.ns, y.ns) })
	var out []mode
	for len(all) > 0 {
		median := all[(len(all)-1)/2].ns
		m := mode{group: g, ns: make([]int64, len(scopes))}
		var rest, near []unlike
		for _, u := range all {
			if !Alike(u.ns, median) {
				rest = append(rest, u)
				continue
			}
			if max(u.ns-median, median-u.ns) <= typicalSlack(median) {
				near = append(near, u)
			}
			for s := range scopes {
				if scopes[s].in[u.kind] {
					m.ns[s] += u.ns
					scopes[s].guessedNS += u.ns
				}
			}
		}
		slices.SortStableFunc(near, func(x, y unlike) int {
			away := func(u unlike) int64 { return max(u.ns-median, median-u.ns) }
			return cmp.Or(cmp.Compare(away(x), away(y)), cmp.Compare(x.at, y.at))
		})
		for _, u := range near[:min(len(near), refineAccept)] {
			m.near = append(m.near, u.at)
		}
		out, all = append(out, m), rest
	}
	return out
}

// further lists the launches to count beside those of a plan until no scope
// leaves more than allowed to guesses, the largest share of a scope first.
// Launches that cannot be numbered are passed over.
func (c *choice) further(plan *translation) []want {
	scopes, modes := c.modes(plan)
	var groups []int
	for _, m := range modes {
		groups = append(groups, m.group)
	}
	base := c.bases(groups)[0]
	var out []want
	taken := make([]bool, len(modes))
	for {
		best, most := -1, 0.0
		for m := range modes {
			for s := range scopes {
				part := share(modes[m].ns[s], scopes[s].countedNS)
				if !taken[m] && scopes[s].guessed() > 1-c.p.Alike && part > most {
					best, most = m, part
				}
			}
		}
		if best < 0 {
			return out
		}
		m := &modes[best]
		taken[best] = true
		if !slices.ContainsFunc(m.near, func(i int) bool { return c.numbered(i, base) }) {
			continue
		}
		out = append(out, want{group: m.group, accept: m.near, exact: RoleOther})
		for s := range scopes {
			scopes[s].guessedNS -= m.ns[s]
		}
	}
}

// Bounds of the search, for timelines whose durations are spread out: a launch
// that is taken for some of them leaves others that are like none.
const (
	refineRounds = 4
	refineAccept = 256 // launches of one duration that are weighed
)

// A costLimit is what launches of other durations may cost together with the plan
// that they are added to.
type costLimit struct {
	seconds float64
	empty   fact.Code // why there is no more
}

// costLimit is the budget, and at most twice the plan and a further process.
func (c *choice) costLimit(plan *translation) costLimit {
	most := costLimit{2*plan.seconds + c.cost.process(), whySpread}
	if limit := c.p.Budget.Seconds(); limit > 0 && limit < most.seconds {
		return costLimit{limit, whyBudget}
	}
	return most
}

// refine adds launches of other durations to a plan where it leaves too much to
// guesses: with everything by number or between gates in one process, or in a
// further one where that is clearly cheaper. What is still left to guesses is told. A plan that
// would not even halve it is not worth its price.
func (c *choice) refine(steps []step, plan *translation) (of []step, refined *translation, warnings []Reason) {
	if c.p.Alike <= 0 || len(c.guesses(plan)) == 0 {
		return steps, plan, nil
	}
	most := c.costLimit(plan)
	best, why := c.add(plan, most, func(wants []want) *translation {
		second, _ := c.byNumber(wants)
		if second == nil {
			return nil
		}
		return &translation{runs: slices.Concat(plan.runs, second.runs)}
	})
	way := plan.way
	for _, w := range []struct {
		way   string
		build building
	}{{wayAllByNumber, c.byNumber}, {wayGates, c.gated}} {
		if one, more, limit := c.oneProcess(steps, plan, most, w.build); one != nil && c.better(one, best) {
			best, why, way, steps = one, limit, w.way, more
		}
	}
	if c.p.Partial {
		why = whyPartial
	}
	if best == nil || c.excess(best) > c.excess(plan)/2 {
		best = plan
	} else {
		best.way = way
		best.trade = append(slices.Clone(plan.trade), fact.New(tradeFurther, c.costs(best)...).With(fact.Because("else", c.guesses(plan)...)))
	}
	for _, f := range c.guesses(best, fact.Because("why", fact.New(why))) {
		warnings = append(warnings, Reason{Fact: f})
	}
	return steps, best, warnings
}

// A building makes one process of wants; nil, and why, where that cannot be done.
type building = func([]want) (*translation, fact.Fact)

// oneProcess counts everything in one process: the steps of a plan, and
// of what the plan counts along as much as is needed to cover enough. Nil where
// that cannot be done.
func (c *choice) oneProcess(steps []step, plan *translation, most costLimit, build building) (one *translation, of []step, why fact.Code) {
	of = slices.Clone(steps)
	for {
		if one, why = c.allIn(groupsIn(of), most, build); one == nil || c.covers(one) || c.coversAs(one, plan) {
			return one, of, why
		}
		next := c.lacking(one, plan)
		if next < 0 {
			return nil, nil, why
		}
		of = append(of, step{next, -1})
	}
}

// lacking is the group that a plan counts, another does not, and that has the
// largest share of a region of which the other covers too little, or of all; -1
// where there is none.
func (c *choice) lacking(one, plan *translation) int {
	has, best, most := one.groups(c), -1, 0.0
	for _, g := range slices.Sorted(maps.Keys(plan.groups(c))) {
		if has[g] || !c.barred[g].IsZero() {
			continue
		}
		part := share(c.totalNS[g], c.totals.EligibleNS)
		for i := range c.regions {
			if r := &c.regions[i]; c.lacks(r, has) {
				part = max(part, share(r.groups[g], r.eligibleNS))
			}
		}
		if part > most {
			best, most = g, part
		}
	}
	return best
}

// coversAs tells whether a plan covers no less of anything than another.
func (c *choice) coversAs(one, other *translation) bool {
	has, had := one.groups(c), other.groups(c)
	if c.within(c.totalNS, has) < c.within(c.totalNS, had) {
		return false
	}
	return !slices.ContainsFunc(c.regions, func(r regionTime) bool { return c.within(r.groups, has) < c.within(r.groups, had) })
}

// allIn takes the typical launches and those of other durations in one process;
// nil where that cannot be done at the price.
func (c *choice) allIn(groups []int, most costLimit, build building) (t *translation, why fact.Code) {
	all := c.typicalWants(groups)
	if c.p.Slowest {
		all = append(all, c.slowestWants(groups)...)
	}
	one, _ := build(all)
	if one == nil || one.seconds > most.seconds {
		return nil, ""
	}
	t, why = c.add(one, most, func(wants []want) *translation {
		t, _ := build(slices.Concat(all, wants))
		return t
	})
	return cmp.Or(t, one), why
}

// oneDearer is what one process may cost more than two: a program that starts
// twice need not do the same twice.
const oneDearer = 1.1

// better tells whether one process leaves less to guesses than a plan, or as
// little at about the same cost.
func (c *choice) better(one, other *translation) bool {
	if other == nil {
		return true
	}
	left, leaves, dearer := c.excess(one), c.excess(other), 1.0
	if len(other.runs) > len(one.runs) {
		dearer = oneDearer
	}
	return left < leaves || left == leaves && c.worth(one) <= dearer*c.worth(other)
}

// excess is how much a plan leaves to guesses above what is allowed, over all
// scopes.
func (c *choice) excess(plan *translation) (sum float64) {
	scopes, _ := c.modes(plan)
	for i := range scopes {
		sum += max(0, scopes[i].guessed()-(1-c.p.Alike))
	}
	return sum
}

// add counts launches beside those of a plan, as build tells ncu, until little
// enough is left to guesses. Why says what else ended it; nil is a plan that
// cannot be made.
func (c *choice) add(plan *translation, most costLimit, build func([]want) *translation) (best *translation, why fact.Code) {
	var wants []want
	for range refineRounds {
		more := c.further(cmp.Or(best, plan))
		if len(more) == 0 {
			break
		}
		wants = append(wants, more...)
		pays := max(0, int((most.seconds-plan.seconds)/c.cost.least()))
		t, n, built := c.largest(wants[:min(len(wants), pays)], most, build)
		if t != nil {
			best = t
		}
		switch {
		case n == len(wants):
		case built || pays == 0:
			return best, most.empty
		default:
			return best, whyByNumber
		}
	}
	return best, whyByNumber
}

// largest builds a plan with as many of the wants as the limit pays for, n of
// them. Built says whether any plan could be made at all.
func (c *choice) largest(wants []want, most costLimit, build func([]want) *translation) (best *translation, n int, built bool) {
	sort.Search(len(wants), func(left int) bool {
		t := build(wants[:len(wants)-left])
		if t == nil {
			return false
		}
		built = true
		if c.settle(t); t.seconds > most.seconds {
			return false
		}
		best, n = t, len(wants)-left
		return true
	})
	return best, n, built
}

// guesses names the scopes of which a plan leaves too much to guesses.
func (c *choice) guesses(plan *translation, more ...fact.Param) []fact.Fact {
	var out []fact.Fact
	scopes, _ := c.modes(plan)
	for i := range scopes {
		if s := &scopes[i]; s.guessed() > 1-c.p.Alike {
			out = append(out, fact.New(scaledLaunches, append(more, fact.Share("share", s.guessed()), fact.Stage("of", s.name), fact.Share("allowed", 1-c.p.Alike))...))
		}
	}
	return out
}
