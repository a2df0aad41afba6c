package pick

import (
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
)

// maxRetries is how many further processes what was missed is worth.
const maxRetries = 2

// retry translates the groups that were missed in another way than before:
// by configuration what was asked for by number, by number what was asked for
// by configuration. It gives no runs where there is no other way,
// and at most two.
func retry(t *Targets, missing []Missing, l *Launches, p Policy) ([]Run, error) {
	if len(missing) == 0 {
		return nil, nil
	}
	c, _, _, err := sortedChoice(l, p)
	if err != nil {
		return nil, err
	}
	c.cost = costModel{passes: t.Predicted.PassesPerLaunch, program: t.Predicted.ProgramSeconds, before: c.before()}
	var groups []int
	for g := range l.groups {
		if slices.ContainsFunc(missing, func(m Missing) bool { return m.Group == l.groups[g].id }) && c.counts[g] > 0 {
			groups = append(groups, g)
		}
	}
	if len(groups) == 0 {
		return nil, nil
	}
	tried := waysTried(t, missing)
	plan := c.otherWay(groups, tried)
	if plan == nil {
		return nil, nil
	}
	plan.runs = plan.runs[:min(len(plan.runs), maxRetries)]
	c.settle(plan)
	out := &Targets{}
	var steps []step
	for _, g := range groups {
		steps = append(steps, step{g, -1})
	}
	c.fill(out, steps, plan)
	for i := range out.Runs {
		out.Runs[i].Retry = true
		out.Runs[i].Note = slices.Insert(out.Runs[i].Note, 0, fact.New(noteAgain, fact.Count("n", len(groups))))
	}
	return out.Runs, nil
}

// waysTried are the ways by which typical launches of the missing groups were
// planned.
func waysTried(t *Targets, missing []Missing) map[string]bool {
	tried := map[string]bool{}
	for _, r := range t.Runs {
		for _, p := range r.Planned {
			if p.Role != RoleOther && p.Role != RoleSlowest && slices.ContainsFunc(missing, func(m Missing) bool { return m.Group == p.Group }) {
				tried[r.Way] = true
			}
		}
	}
	return tried
}

// otherWay is a way to count the groups that was not tried yet; nil where none is left.
func (c *choice) otherWay(groups []int, tried map[string]bool) *translation {
	if !tried[WayPerConfig] {
		if t, _, _ := c.perConfig(groups, false); t != nil {
			return t
		}
		if t, _ := c.rounds(groups); t != nil {
			return t
		}
	}
	if !tried[WayNumbers] {
		// A version of ncu may tell configurations apart in another way than the
		// one that was seen; numbers of function names depend on it least.
		c.plain = tried[WayPerConfig]
		can, _ := c.split(c.typicalWants(groups))
		if t, _ := c.byNumber(can); t != nil {
			return t
		}
	}
	if !tried[WayFirst] {
		if t, err := c.firstLaunches(groups); err == nil && t.runs[0].LaunchCount <= maxSkip {
			return t
		}
	}
	return nil
}
