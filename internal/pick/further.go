package pick

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
)

// A mode is the launches of a counted group that last about equally long and
// that no counted launch is like: what they did would be guessed by their time.
type mode struct {
	group   int
	members []int   // launches
	near    []int   // of them, those near the median
	ns      []int64 // by scope
}

// A scope is a part of the launches within which guesses are limited: a region
// that is asked for, or everything.
type scope struct {
	name      string
	in        []bool // by launch
	countedNS int64  // of groups with a launch that is counted
	guessedNS int64  // of launches that no counted one is like
}

func (s *scope) guessed() float64 { return share(s.guessedNS, s.countedNS) }

func (c *choice) scopes() []scope {
	if len(c.regions) == 0 {
		return []scope{{name: "the program", in: c.in}}
	}
	var out []scope
	for i := range c.regions {
		out = append(out, scope{name: c.regions[i].name(), in: c.regions[i].in})
	}
	return out
}

// modes finds what a plan leaves to guesses, in all scopes.
func (c *choice) modes(plan *translation) ([]scope, []mode) {
	picked := map[int][]int64{}
	for _, r := range plan.runs {
		for _, p := range r.picks {
			e := &c.l.launches[p.launch]
			picked[e.group] = append(picked[e.group], e.ns)
		}
	}
	scopes := c.scopes()
	var out []mode
	for g := range c.l.groups {
		if len(picked[g]) == 0 || c.barred[g] != "" {
			continue
		}
		var unlike []int
		for _, i := range c.members[g] {
			ns := c.l.launches[i].ns
			for s := range scopes {
				if scopes[s].in[i] {
					scopes[s].countedNS += ns
				}
			}
			if !slices.ContainsFunc(picked[g], func(other int64) bool { return Alike(ns, other) }) {
				unlike = append(unlike, i)
			}
		}
		out = append(out, c.modesOf(g, unlike, scopes)...)
	}
	return scopes, out
}

// modesOf parts launches of a group by their duration, and adds their time to
// what is guessed.
func (c *choice) modesOf(g int, launches []int, scopes []scope) []mode {
	slices.SortStableFunc(launches, func(x, y int) int { return cmp.Compare(c.l.launches[x].ns, c.l.launches[y].ns) })
	var out []mode
	for len(launches) > 0 {
		median := c.l.launches[launches[(len(launches)-1)/2]].ns
		m := mode{group: g, ns: make([]int64, len(scopes))}
		var rest []int
		for _, i := range launches {
			ns := c.l.launches[i].ns
			if !Alike(ns, median) {
				rest = append(rest, i)
				continue
			}
			m.members = append(m.members, i)
			if max(ns-median, median-ns) <= typicalSlack(median) && len(m.near) < refineAccept {
				m.near = append(m.near, i)
			}
			for s := range scopes {
				if scopes[s].in[i] {
					m.ns[s] += ns
					scopes[s].guessedNS += ns
				}
			}
		}
		out, launches = append(out, m), rest
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
	refineMost   = 8   // further launches at most, and as many again as there are groups
)

const byNumberNot = "launches of these durations cannot be told to ncu by number"

// refine adds launches of other durations to a plan where it leaves too much to
// guesses: in a further process, or with everything by number in one, whichever
// is cheaper. There are not many more of them than groups, and the budget may
// allow fewer, or none; what is then left to guesses is told.
func (c *choice) refine(groups []int, plan *translation) (refined *translation, warnings []string) {
	if c.p.Alike <= 0 || len(c.guesses(plan)) == 0 {
		return plan, nil
	}
	best, why := c.add(plan, refineMost+len(groups), func(wants []want) *translation {
		second, _ := c.byNumber(wants)
		if second == nil {
			return nil
		}
		return &translation{runs: slices.Concat(plan.runs, second.runs)}
	})
	if one, limit := c.allByNumber(groups); one != nil && (c.covers(one) || !c.covers(plan)) && c.better(one, best) {
		best, why = one, limit
	}
	if c.p.Partial {
		why = "launches cannot be numbered, because the timeline shows only part of the program"
	}
	if best == nil || c.excess(best) >= c.excess(plan) {
		best = plan
	} else {
		launches := 0
		for _, r := range best.runs {
			launches += len(r.picks)
		}
		best.trade = fmt.Sprintf("%s; with launches of other durations %d in %s, %.0f s: else %s", plan.trade, launches,
			plural(len(best.runs), "process", "processes"), best.seconds, strings.Join(c.guesses(plan), " and "))
	}
	for _, text := range c.guesses(best) {
		warnings = append(warnings, text+": "+why)
	}
	return best, warnings
}

// allByNumber takes the typical launches and those of other durations by number
// in one process; nil where that cannot be done within the budget.
func (c *choice) allByNumber(groups []int) (t *translation, why string) {
	all := c.typicalWants(groups)
	if c.p.Slowest {
		all = append(all, c.slowestWants(groups)...)
	}
	one, _ := c.byNumber(all)
	if one == nil || !c.affordable(one) {
		return nil, ""
	}
	t, why = c.add(one, refineMost+len(groups), func(wants []want) *translation {
		t, _ := c.byNumber(slices.Concat(all, wants))
		return t
	})
	return cmp.Or(t, one), why
}

// better tells whether a plan leaves less to guesses than another, or costs less.
func (c *choice) better(one, other *translation) bool {
	if other == nil {
		return true
	}
	left, leaves := c.excess(one), c.excess(other)
	return left < leaves || left == leaves && c.worth(one) < c.worth(other)
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
func (c *choice) add(plan *translation, limit int, build func([]want) *translation) (best *translation, why string) {
	var wants []want
	for range refineRounds {
		more := c.further(cmp.Or(best, plan))
		if len(more) == 0 {
			break
		}
		wants = append(wants, more...)
		if len(wants) > limit {
			wants, why = wants[:limit], fmt.Sprintf("durations are spread out, and no more than %s are counted beside the typical ones", plural(limit, "launch", "launches"))
		}
		if most := c.pays(plan); len(wants) > most {
			wants, why = wants[:most], "budget_s pays for no more"
		}
		t, n := c.most(wants, build)
		if t != nil {
			best = t
		}
		switch {
		case n < len(wants) && c.p.Budget > 0:
			why = "budget_s pays for no more"
		case n < len(wants):
			why = byNumberNot
		}
		if why != "" {
			return best, why
		}
	}
	return best, byNumberNot
}

// pays is the largest number of launches that the budget can pay for beside
// those of a plan.
func (c *choice) pays(plan *translation) int {
	limit := c.p.Budget.Seconds()
	if limit <= 0 {
		return math.MaxInt
	}
	return max(0, int((limit-plan.seconds)/c.cost.launch(0)))
}

func (c *choice) affordable(t *translation) bool {
	limit := c.p.Budget.Seconds()
	return limit <= 0 || t.seconds <= limit
}

// most builds a plan with as many of the wants as the budget pays for, and says
// how many these are.
func (c *choice) most(wants []want, build func([]want) *translation) (best *translation, n int) {
	sort.Search(len(wants), func(left int) bool {
		t := build(wants[:len(wants)-left])
		if t == nil {
			return false
		}
		if c.settle(t); !c.affordable(t) {
			return false
		}
		best, n = t, len(wants)-left
		return true
	})
	return best, n
}

// guesses names the scopes of which a plan leaves too much to guesses.
func (c *choice) guesses(plan *translation) []string {
	var out []string
	scopes, _ := c.modes(plan)
	for i := range scopes {
		if s := &scopes[i]; s.guessed() > 1-c.p.Alike {
			out = append(out, fmt.Sprintf("%s of what is counted of %s would be scaled from launches of another duration, more than the %.4g %% allowed",
				percent(s.guessedNS, s.countedNS), s.name, 100*(1-c.p.Alike)))
		}
	}
	return out
}
