package pick

import (
	"cmp"
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/ncu"
)

// maxAccept bounds the launches of one group that are weighed.
const maxAccept = 4096

// A numbering is the numbers that --kernel-id gives to launches: it counts
// those of a name within a process that pass the NVTX filter, from 1. Seen with
// ncu 2025.3: the name is that of --kernel-name-base.
type numbering struct {
	l      *Launches
	names  []numbered // by their first launch
	nameOf []int32    // by kind: its name, -1 where the NVTX filter stops it

	typicals map[int]accepted // by group, as far as asked for
}

// accepted are launches that have the same number in every run, any of which will do, with
// these numbers.
// Both lists have the same length and order.
type accepted struct {
	launches []int
	numbers  []int32
}

// numbered are the launches of one name in a process, in their order.
type numbered struct {
	nameKey
	launches deltas
	thread   uint32 // that made the first of them
	// shaky is the first launch that another thread made: from there on the order may
	// change from run to run. len of all launches where one thread made all.
	shaky int
}

// A nameKey is a name within a process: ncu numbers launches of each process apart.
type nameKey struct {
	process uint32
	name    string
}

// numbering numbers the launches by names of the given form.
func (c *choice) numbering(base string) *numbering {
	if n := c.numberings[base]; n != nil {
		return n
	}
	n := c.nameKinds(base)
	n.list()
	c.numberings[base] = n
	return n
}

// nameKinds finds the names; list, which goes through all launches, has to follow.
func (c *choice) nameKinds(base string) *numbering {
	n := &numbering{l: c.l, nameOf: make([]int32, len(c.l.kinds)), typicals: map[int]accepted{}}
	known := map[nameKey]int32{}
	for i := range c.l.kinds {
		n.nameOf[i] = -1
		if !c.seen[i] {
			continue
		}
		k := &c.l.kinds[i]
		name := nameKey{c.l.t.Queues[k.queue].Process, c.l.names[k.function].in(base)}
		at, ok := known[name]
		if !ok {
			at = int32(len(n.names))
			known[name] = at
			n.names = append(n.names, numbered{nameKey: name, thread: k.thread, shaky: c.l.len()})
		}
		n.nameOf[i] = at
		if m := &n.names[at]; k.thread != m.thread {
			m.shaky = min(m.shaky, k.first)
		}
	}
	return n
}

// list lists the launches of each name.
func (n *numbering) list() {
	counts := make([]int, len(n.names))
	for i, name := range n.nameOf {
		if name >= 0 {
			counts[name] += n.l.kinds[i].launches
		}
	}
	for i, count := range counts {
		n.names[i].launches = makeDeltas(count)
	}
	for r := n.l.reader(); r.next(); {
		if name := n.nameOf[r.kind()]; name >= 0 {
			n.names[name].launches.add(uint32(r.at))
		}
	}
}

// of is the name of a launch; nil where the NVTX filter stops it.
func (n *numbering) of(launch int) *numbered {
	if name := n.nameOf[n.l.kindOf(launch)]; name >= 0 {
		return &n.names[name]
	}
	return nil
}

// number is that of a launch; 0 where the NVTX filter stops it.
func (n *numbering) number(launch int) int32 {
	m := n.of(launch)
	if m == nil {
		return 0
	}
	return int32(m.launches.find(uint32(launch))) + 1
}

// steady tells whether a launch has the same number in every run.
func (n *numbering) steady(launch int) bool {
	m := n.of(launch)
	return m == nil || launch < m.shaky
}

// accepted numbers what a want accepts. Typical launches are asked for again and again.
func (n *numbering) accepted(w *want) accepted {
	a, known := n.typicals[w.group]
	if known && w.exact == "" {
		return a
	}
	a = accepted{}
	for _, i := range w.accept {
		if n.steady(i) {
			a.launches, a.numbers = append(a.launches, i), append(a.numbers, n.number(i))
		}
	}
	if w.exact == "" {
		n.typicals[w.group] = a
	}
	return a
}

// numbered tells whether a launch has the same number in every run. A launch
// that has by its function name has by its mangled name as well.
func (c *choice) numbered(launch int, base string) bool { return c.numbering(base).steady(launch) }

// A want is a launch to be counted by its number: any of accept will do.
type want struct {
	group  int
	accept []int  // launches; the typical ones of the group where no role is given
	exact  string // their role, where it is not told by their duration
}

// typicalWants take any launch of a group that is as long as its median.
func (c *choice) typicalWants(groups []int) []want {
	var out []want
	for _, g := range groups {
		out = append(out, want{group: g, accept: c.typical(g)})
	}
	return out
}

// typical lists the first launches of a group that are near its median.
// There are maxAccept at most, in the order of the launches. The list is kept: do not change
// it.
func (c *choice) typical(g int) []int {
	c.findTypicals()
	return c.typicals[g].near
}

// slowestWants take the slowest launch of each group and no other.
func (c *choice) slowestWants(groups []int) []want {
	var out []want
	for _, g := range groups {
		out = append(out, want{group: g, accept: []int{c.slowest(g)}, exact: RoleSlowest})
	}
	return out
}

// split parts the wants into those that can be met by number and the others.
func (c *choice) split(wants []want) (can, cannot []want) {
	base := c.bases(groupsOf(wants))[0]
	for _, w := range wants {
		if slices.ContainsFunc(w.accept, func(i int) bool { return c.numbered(i, base) }) {
			can = append(can, w)
		} else {
			cannot = append(cannot, w)
		}
	}
	return can, cannot
}

// groupsOf may name a group more than once.
func groupsOf(wants []want) []int {
	var out []int
	for _, w := range wants {
		out = append(out, w.group)
	}
	return out
}

// byNumber finds launch numbers that, applied to every name of the wants, hold
// a launch of each want, and add the fewest others: by mangled or by function
// names, whichever is cheaper.
// best is nil where no form of the names works; why is the first reason then.
func (c *choice) byNumber(wants []want) (best *translation, why fact.Fact) {
	if c.p.Partial {
		return nil, fact.New(whyPartial)
	}
	for _, w := range c.each(c.bases(groupsOf(wants)), func(base string) way { return c.byNumberOf(base, wants) }) {
		if w.t == nil {
			why = firstOf(why, w.why)
			continue
		}
		if c.settle(w.t); best == nil || w.t.seconds < best.seconds {
			best = w.t
		}
	}
	return best, why
}

// byNumberOf numbers by one form of the names. ncu takes one list of names and
// one of numbers a process, so that each number counts a launch of each name.
func (c *choice) byNumberOf(base string, wants []want) way {
	chosen, exact, named := map[int]bool{}, map[int]string{}, map[string]bool{}
	accept, numbers := make([]accepted, len(wants)), c.numbering(base)
	for k := range wants {
		w := &wants[k]
		accept[k] = numbers.accepted(w)
		def := &c.l.groups[w.group]
		if len(accept[k].launches) == 0 {
			return way{why: fact.New(closedThreads, fact.Kernel("kernel", def.names.short))}
		}
		chosen[w.group], named[def.names.in(base)] = true, true
		if w.exact == "" {
			continue
		}
		for _, i := range accept[k].launches {
			if w.exact != RoleOther || !c.isTypical(i) {
				exact[i] = w.exact
			}
		}
	}
	n := c.numbersOf(base, named)
	taken := n.cover(accept)
	var list []string
	for name := range named {
		list = append(list, name)
	}
	slices.Sort(list)
	id, err := ncu.KernelIDs(list, taken, c.p.MaxFilter)
	if err != nil {
		return way{why: fact.New(closedFilter, fact.Error("error", err))}
	}
	r := runPlan{Run: Run{Way: WayNumbers, KernelID: id, KernelNameBase: base, FilterMode: "global"}}
	for _, i := range n.launches(taken) {
		r.picks = append(r.picks, planned{i, cmp.Or(exact[i], c.roleOf(i, chosen))})
	}
	return way{t: &translation{way: wayNumbers, runs: []runPlan{r}}}
}

// numbers knows the launches of some names by their number.
type numbers struct {
	*numbering
	c     *choice
	names []*numbered // in the order of their launches of the number that was asked for last
	list  []int       // of with
}

// numbersOf are the numbers of launches under the names that a filter lets through.
func (c *choice) numbersOf(base string, named map[string]bool) *numbers {
	n := &numbers{numbering: c.numbering(base), c: c}
	for i := range n.numbering.names {
		if m := &n.numbering.names[i]; named[m.name] {
			n.names = append(n.names, m)
		}
	}
	return n
}

// with lists the launches of a number, in their order. The list is valid until the next
// call.
func (n *numbers) with(number int32) []int {
	n.list = n.list[:0]
	for at, m := range n.names {
		if int(number) > m.launches.n {
			continue
		}
		// Names come in the same order number for number, nearly, so that few move.
		launch, to := int(m.launches.get(int(number)-1)), len(n.list)
		n.list = append(n.list, launch)
		for ; to > 0 && n.list[to-1] > launch; to-- {
			n.list[to] = n.list[to-1]
		}
		n.list[to] = launch
		if to < len(n.list)-1 {
			copy(n.names[to+1:at+1], n.names[to:at])
			n.names[to] = m
		}
	}
	return n.list
}

// launches are those that have one of the numbers, in their order.
func (n *numbers) launches(list []int) []int {
	var out []int
	for _, number := range list {
		out = append(out, n.with(int32(number))...)
	}
	slices.Sort(out)
	return out
}

// prices are what ncu takes for all launches of each number that has a place, in seconds, by
// that place: it counts that of every name. They are added up in the order of the launches.
func (n *numbers) prices(place []int32, places int) []float64 {
	sums, number := make([]float64, places+1), make([]int32, len(n.numbering.names)) // that was met last, by name
	for i := range number {
		if !slices.Contains(n.names, &n.numbering.names[i]) {
			number[i] = int32(len(place)) // it never has a place
		}
	}
	for r := n.l.reader(); r.next(); {
		name := n.nameOf[r.kind()]
		if name < 0 || int(number[name]) >= len(place)-1 {
			continue
		}
		number[name]++
		if at := place[number[name]]; at > 0 {
			sums[at] += n.c.cost.launch(r.at, r.ns())
		}
	}
	return sums
}
