package pick

import (
	"cmp"
	"maps"
	"slices"
	"sort"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/ncu"
	"github.com/deepprof/deepprof/internal/timeline"
)

// A Gate is where counting begins or ends: after a range was opened or closed. What
// annotates the program there (workloads/annotate) opens and closes the gate.
type Gate struct {
	// of the range, outermost first, by the names that were pushed
	Path []string `json:"path"`
	// the how manieth range of this path in the process, from 1
	N    int  `json:"n"`
	Exit bool `json:"exit,omitempty"` // after it was closed, not opened
	Open bool `json:"open,omitempty"` // counting begins; else it ends
}

// stretches are the parts into which openings and closings of ranges cut what the
// launching thread does. A gate can be opened for each.
type stretches struct {
	events []rangeEvent // in their order
	nodes  []rangeNode  // paths of ranges; 0 is none
	// begins is, for each event, the first launch that does not come before it.
	begins []uint32
}

// of is the event before a launch, -1 before the first.
func (s *stretches) of(launch int) int32 {
	return int32(sort.Search(len(s.begins), func(i int) bool { return int(s.begins[i]) > launch })) - 1
}

// A rangeEvent is that a range of the thread opens or closes.
type rangeEvent struct {
	at   int64 // ns
	node int32
	n    int32 // of the path, from 1
	exit bool
}

// A rangeNode is a path of ranges: its last name and the path above, 0 for none.
type rangeNode struct {
	above int32
	name  timeline.StringID
}

// stretches cuts the launches; nil where ranges do not tell them in every run:
// several threads launch, or a call is not known.
func (c *choice) stretches() *stretches {
	if c.cut == nil {
		c.cut = new(c.findStretches())
	}
	return *c.cut
}

// findStretches is nil where gates cannot tell launches apart: annotation opens them in one
// thread, and ncu must count configurations by themselves.
func (c *choice) findStretches() *stretches {
	l := c.l
	if !c.p.Gates || c.p.Partial || l.len() == 0 || !ncu.PerLaunchConfig(c.p.Version) {
		return nil
	}
	thread := l.kinds[0].thread
	if thread == timeline.None || slices.ContainsFunc(l.kinds, func(k kind) bool { return k.thread != thread }) {
		return nil
	}
	s := &stretches{nodes: make([]rangeNode, 1)}
	s.follow(l, thread)
	for r := l.reader(); r.next(); {
		for start := r.called(); len(s.begins) < len(s.events) && s.events[len(s.begins)].at <= start; {
			s.begins = append(s.begins, uint32(r.at))
		}
	}
	return s
}

// follow lists the openings and closings of a thread's ranges. Those of other
// domains than the default one are not seen from Python.
func (s *stretches) follow(l *Launches, thread uint32) {
	var ranges []timeline.Range
	l.eachRange(func(r *timeline.Range) {
		if r.Kind == timeline.PushPop && r.Thread == thread && l.t.DomainName(r.Domain) == "" {
			ranges = append(ranges, *r)
		}
	})
	slices.SortStableFunc(ranges, func(a, b timeline.Range) int { // an outer one begins first, and of equals it ends last
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End))
	})
	type open struct {
		node, n int32
		end     int64
		ends    bool
	}
	var stack []open
	ids, counts := map[rangeNode]int32{}, []int32{0}
	closeUntil := func(now int64) {
		for len(stack) > 0 && stack[len(stack)-1].end <= now {
			top := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if top.ends {
				s.events = append(s.events, rangeEvent{top.end, top.node, top.n, true})
			}
		}
	}
	for i := range ranges {
		r := &ranges[i]
		closeUntil(r.Start)
		key := rangeNode{name: r.Name}
		if len(stack) > 0 {
			key.above = stack[len(stack)-1].node
		}
		id, ok := ids[key]
		if !ok {
			id = int32(len(s.nodes))
			ids[key], s.nodes, counts = id, append(s.nodes, key), append(counts, 0)
		}
		counts[id]++
		s.events = append(s.events, rangeEvent{r.Start, id, counts[id], false})
		stack = append(stack, open{id, counts[id], r.End, !r.Unclosed})
	}
	closeUntil(1<<63 - 1)
}

// gate is the switch at an event.
func (s *stretches) gate(t *timeline.Timeline, event int32, opens bool) Gate {
	e := &s.events[event]
	g := Gate{N: int(e.n), Exit: e.exit, Open: opens}
	for node := e.node; node != 0; node = s.nodes[node].above {
		g.Path = append(g.Path, t.Name(s.nodes[node].name))
	}
	slices.Reverse(g.Path)
	return g
}

// gates are the switches that open the gate behind some events, each until the
// next one.
func (s *stretches) gates(t *timeline.Timeline, events []int32) []Gate {
	var out []Gate
	for i, e := range events {
		if i == 0 || events[i-1]+1 != e {
			out = append(out, s.gate(t, e, true))
		}
		if last := i+1 == len(events) || events[i+1] != e+1; last && int(e)+1 < len(s.events) {
			out = append(out, s.gate(t, e+1, false))
		}
	}
	return out
}

// gateAccept is how many launches of a want are weighed: the first ones are the
// cheapest.
const gateAccept = 512

// A stretch is what follows an event, as far as the names let it through.
type stretch struct {
	candidate
	event    int32
	launches []int
}

// gated counts between gates, so that launches are told by where they are made. It
// finds stretches that hold a launch of each want and few others.
func (c *choice) gated(wants []want) (*translation, fact.Fact) {
	s := c.stretches()
	if s == nil || len(wants) == 0 {
		return nil, fact.Fact{}
	}
	base := c.bases(groupsOf(wants))[0]
	names, chosen := map[string]bool{}, map[int]bool{}
	for _, w := range wants {
		names[c.l.groups[w.group].names.in(base)], chosen[w.group] = true, true
	}
	f, err := ncu.KernelFilter(slices.Sorted(maps.Keys(names)), c.p.MaxFilter)
	if err != nil || len(f.Passes) != 1 {
		return nil, fact.Fact{}
	}
	list := c.candidates(s, wants, base, names)
	taken := cheapest(list, len(wants))
	if taken == nil { // a want is in no stretch
		return nil, fact.Fact{}
	}
	r := runPlan{Run: Run{Way: WayGates, KernelName: f.Passes[0], KernelNameBase: base, FilterMode: "per-launch-config"}}
	var events []int32
	var launches []int
	for _, i := range taken {
		events, launches = append(events, list[i].event), append(launches, list[i].launches...)
	}
	slices.Sort(events)
	slices.Sort(launches)
	r.Gates = s.gates(c.l.t, events)
	exact := c.exactRoles(wants)
	for i, place := range c.placesInConfigs(launches, base, wants, &r.LaunchCount) {
		if place <= r.LaunchCount {
			r.picks = append(r.picks, planned{launches[i], cmp.Or(exact[launches[i]], c.roleOf(launches[i], chosen))})
		}
	}
	t := &translation{way: wayGates, runs: []runPlan{r}}
	c.settle(t)
	return t, fact.Fact{}
}

// exactRoles are the roles of launches that their duration does not tell.
func (c *choice) exactRoles(wants []want) map[int]string {
	exact := map[int]string{}
	for _, w := range wants {
		for _, i := range w.accept {
			if w.exact != "" && (w.exact != RoleOther || !c.isTypical(i)) {
				exact[i] = w.exact
			}
		}
	}
	return exact
}

// candidates are the stretches with a launch of a want, in their order.
func (c *choice) candidates(s *stretches, wants []want, base string, names map[string]bool) []*stretch {
	byEvent := map[int32]*stretch{}
	for k, w := range wants {
		for _, i := range w.accept[:min(len(w.accept), gateAccept)] {
			event := s.of(i)
			if event < 0 {
				continue
			}
			t := byEvent[event]
			if t == nil {
				t = &stretch{event: event, candidate: candidate{meets: newWantSet(len(wants))}}
				byEvent[event] = t
				to := c.l.len()
				if int(event)+1 < len(s.begins) {
					to = int(s.begins[event+1])
				}
				for at := int(s.begins[event]); at < to; at++ {
					if k := c.l.kindOf(at); c.seen[k] && names[c.l.names[c.l.kinds[k].function].in(base)] {
						t.launches = append(t.launches, at)
						t.price += c.cost.launch(at, c.l.ns(at))
					}
				}
			}
			t.meets.add(k)
		}
	}
	out := slices.Collect(maps.Values(byEvent))
	slices.SortFunc(out, func(x, y *stretch) int { return cmp.Compare(x.event, y.event) })
	return out
}

// cheapest takes stretches that together have a launch of each want; nil where a want is
// in none.
func cheapest(list []*stretch, wants int) []int {
	candidates, all := make([]candidate, len(list)), newWantSet(wants)
	for i, t := range list {
		candidates[i] = t.candidate
		all.addAll(t.meets)
	}
	if all.len() < wants {
		return nil
	}
	taken, _ := greedy(candidates, all, -1)
	return taken
}

// placesInConfigs counts launches, which are in their order, by the configurations
// of ncu: their places, from 1. Count becomes how many of a configuration it takes
// until each want is met.
func (c *choice) placesInConfigs(launches []int, base string, wants []want, count *int) []int {
	seen, places, at := map[configKey]int{}, make([]int, len(launches)), map[int]int{}
	for i, launch := range launches {
		key := c.l.configKey(c.l.kind(launch), base)
		seen[key]++
		places[i], at[launch] = seen[key], seen[key]
	}
	for _, w := range wants {
		first := 0
		for _, i := range w.accept {
			if n := at[i]; n > 0 && (first == 0 || n < first) {
				first = n
			}
		}
		*count = max(*count, first)
	}
	return places
}
