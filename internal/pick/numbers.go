package pick

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/deepprof/deepprof/internal/ncu"
)

// maxAccept bounds the launches of one group that are weighed.
const maxAccept = 4096

// A numbering is the numbers that --kernel-id gives to launches: it counts
// those of a name within a process that pass the NVTX filter, from 1. Seen with
// ncu 2025.3: the name is that of --kernel-name-base.
type numbering struct {
	base string
	of   []int32 // by launch; 0 where the NVTX filter stops it
	// orderly is the last number of a name up to which one thread alone
	// launched it: beyond, the order may change from run to run.
	orderly map[nameKey]int32
}

type nameKey struct {
	process uint32
	name    string
}

// numbering numbers the launches by names of the given form.
func (c *choice) numbering(base string) *numbering {
	if n := c.numberings[base]; n != nil {
		return n
	}
	n := &numbering{base: base, of: make([]int32, c.l.len()), orderly: map[nameKey]int32{}}
	counts, thread := map[nameKey]int32{}, map[nameKey]uint32{}
	for i := range c.l.len() {
		if !c.seen[i] {
			continue
		}
		by, key := c.l.thread(i), c.nameKey(i, base)
		counts[key]++
		n.of[i] = counts[key]
		if counts[key] == 1 {
			thread[key] = by
		}
		if thread[key] == by && n.orderly[key] == counts[key]-1 {
			n.orderly[key] = counts[key]
		}
	}
	c.numberings[base] = n
	return n
}

func (c *choice) nameKey(launch int, base string) nameKey {
	e := c.l.launch(launch)
	return nameKey{e.process, c.l.names[e.function].in(base)}
}

// numbered tells whether a launch has the same number in every run. A launch
// that has by its function name has by its mangled name as well.
func (c *choice) numbered(launch int, base string) bool {
	n := c.numbering(base)
	return n.of[launch] <= n.orderly[c.nameKey(launch, base)]
}

// A want is a launch to be counted by its number: any of accept will do.
type want struct {
	group  int
	accept []int  // launches
	exact  string // their role, where it is not told by their duration
}

func (c *choice) typicalWants(groups []int) []want {
	var out []want
	for _, g := range groups {
		w := want{group: g}
		for _, i := range c.members[g] {
			if len(w.accept) == maxAccept {
				break
			}
			if c.isTypical(int(i)) {
				w.accept = append(w.accept, int(i))
			}
		}
		out = append(out, w)
	}
	return out
}

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
func (c *choice) byNumber(wants []want) (best *translation, why string) {
	if c.p.Partial {
		return nil, "launches cannot be numbered: the timeline shows only part of the program"
	}
	for _, base := range c.bases(groupsOf(wants)) {
		t, closed := c.byNumberOf(base, wants)
		if t == nil {
			why = cmp.Or(why, closed)
			continue
		}
		if c.settle(t); best == nil || t.seconds < best.seconds {
			best = t
		}
	}
	return best, why
}

// byNumberOf numbers by one form of the names. ncu takes one list of names and
// one of numbers a process, so that each number counts a launch of each name.
func (c *choice) byNumberOf(base string, wants []want) (*translation, string) {
	chosen, exact, named := map[int]bool{}, map[int]string{}, map[string]bool{}
	wants = slices.Clone(wants)
	for k := range wants {
		w := &wants[k]
		w.accept = slices.DeleteFunc(slices.Clone(w.accept), func(i int) bool { return !c.numbered(i, base) })
		def := &c.l.groups[w.group]
		if len(w.accept) == 0 {
			return nil, fmt.Sprintf("launches of %s cannot be numbered: several threads launch it, in an order that may change", def.names.short)
		}
		chosen[w.group], named[def.names.in(base)] = true, true
		for _, i := range w.accept {
			if w.exact != "" && (w.exact != RoleOther || !c.isTypical(i)) {
				exact[i] = w.exact
			}
		}
	}
	n := c.numbersOf(base, named)
	numbers := n.cover(wants)
	var list []string
	for name := range named {
		list = append(list, name)
	}
	slices.Sort(list)
	id, err := ncu.KernelIDs(list, numbers, c.p.MaxFilter)
	if err != nil {
		return nil, err.Error()
	}
	r := runPlan{Run: Run{Way: WayNumbers, KernelID: id, KernelNameBase: base, FilterMode: "global"}}
	for _, i := range n.launches(numbers) {
		r.picks = append(r.picks, planned{i, cmp.Or(exact[i], c.roleOf(i, chosen))})
	}
	return &translation{name: "launches by number", runs: []runPlan{r}}, ""
}

// numbers knows the launches of some names by their number.
type numbers struct {
	*numbering
	c  *choice
	at map[int32][]int
}

func (c *choice) numbersOf(base string, named map[string]bool) *numbers {
	n := &numbers{c.numbering(base), c, map[int32][]int{}}
	pass := make([]bool, len(c.l.names))
	for i := range c.l.names {
		pass[i] = named[c.l.names[i].in(base)]
	}
	for i := range c.l.len() {
		if c.seen[i] && pass[c.l.launch(i).function] {
			n.at[n.of[i]] = append(n.at[n.of[i]], i)
		}
	}
	return n
}

// launches are those that have one of the numbers, in their order.
func (n *numbers) launches(list []int) []int {
	var out []int
	for _, number := range list {
		out = append(out, n.at[int32(number)]...)
	}
	slices.Sort(out)
	return out
}

func (n *numbers) price(number int32) float64 {
	sum := 0.0
	for _, i := range n.at[number] {
		sum += n.c.cost.launch(n.c.l.ns(i))
	}
	return sum
}

// cover takes numbers one by one, the one with the most wants for its price
// first, then drops those that later ones made unnecessary.
func (n *numbers) cover(wants []want) []int {
	holds := map[int32][]int{} // wants by number
	for w := range wants {
		for _, i := range wants[w].accept {
			number := n.of[i]
			if list := holds[number]; len(list) == 0 || list[len(list)-1] != w {
				holds[number] = append(list, w)
			}
		}
	}
	order := make([]int32, 0, len(holds))
	for number := range holds {
		order = append(order, number)
	}
	slices.Sort(order)
	prices := make([]float64, len(order))
	for i, number := range order {
		prices[i] = n.price(number)
	}
	met := make([]int, len(wants))
	var taken []int32
	for left := len(wants); left > 0; {
		best, bestValue := -1, 0.0
		for i, number := range order {
			fresh := 0
			for _, w := range holds[number] {
				if met[w] == 0 {
					fresh++
				}
			}
			if value := float64(fresh) / prices[i]; fresh > 0 && value > bestValue {
				best, bestValue = i, value
			}
		}
		if best < 0 {
			break
		}
		taken = append(taken, order[best])
		for _, w := range holds[order[best]] {
			if met[w] == 0 {
				left--
			}
			met[w]++
		}
	}
	taken = slices.DeleteFunc(taken, func(number int32) bool {
		if slices.ContainsFunc(holds[number], func(w int) bool { return met[w] == 1 }) {
			return false
		}
		for _, w := range holds[number] {
			met[w]--
		}
		return true
	})
	out := make([]int, len(taken))
	for i, number := range taken {
		out[i] = int(number)
	}
	slices.Sort(out)
	return out
}
