package pick

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/deepprof/deepprof/internal/ncu"
)

// maxAccept bounds the launches of one group that are weighed.
const maxAccept = 4096

// A want is a launch to be counted by its number: any of accept will do.
type want struct {
	group  int
	accept []int // launches
	exact  string
}

func (c *choice) typicalWants(groups []int) []want {
	var out []want
	for _, g := range groups {
		w := want{group: g}
		for _, i := range c.members[g] {
			if len(w.accept) < maxAccept && c.numbered(i) && c.isTypical(i) {
				w.accept = append(w.accept, i)
			}
		}
		out = append(out, w)
	}
	return out
}

func (c *choice) slowestWants(groups []int) []want {
	var out []want
	for _, g := range groups {
		w := want{group: g, exact: RoleSlowest}
		if i := c.slowest(g); c.numbered(i) {
			w.accept = []int{i}
		}
		out = append(out, w)
	}
	return out
}

func (c *choice) functionOf(launch int) functionKey {
	e := &c.l.launches[launch]
	return functionKey{e.process, c.l.names[e.function].function}
}

// numbered tells whether a launch has the same number in every run.
func (c *choice) numbered(launch int) bool {
	return c.number[launch] <= c.orderly[c.functionOf(launch)]
}

// byNumber finds launch numbers that, applied to every function of the wants,
// hold a launch of each want, and add the fewest others. ncu takes one list of
// functions and one of numbers a process, so that each number counts a launch
// of each function.
func (c *choice) byNumber(wants []want) (*translation, string) {
	if c.p.Partial {
		return nil, "launches cannot be numbered: the timeline shows only part of the program"
	}
	functions := map[string]bool{}
	for _, w := range wants {
		if len(w.accept) == 0 {
			return nil, fmt.Sprintf("launches of %s cannot be numbered: several threads launch it, in an order that may change", c.l.groups[w.group].names.short)
		}
		for _, i := range w.accept {
			functions[c.functionOf(i).function] = true
		}
	}
	n := c.numbersOf(functions)
	numbers := n.cover(wants)
	var list []string
	for f := range functions {
		list = append(list, f)
	}
	slices.Sort(list)
	id, err := ncu.KernelIDs(list, numbers, c.p.MaxFilter)
	if err != nil {
		return nil, err.Error()
	}
	r := runPlan{Run: Run{Way: WayNumbers, KernelID: id, KernelNameBase: "function", FilterMode: "global"}}
	chosen, exact := map[int]bool{}, map[int]string{}
	for _, w := range wants {
		chosen[w.group] = true
		if w.exact != "" {
			exact[w.accept[0]] = w.exact
		}
	}
	for _, number := range numbers {
		for _, i := range n.at[int32(number)] {
			r.picks = append(r.picks, planned{i, cmp.Or(exact[i], c.roleOf(i, chosen))})
		}
	}
	slices.SortFunc(r.picks, func(x, y planned) int { return cmp.Compare(x.launch, y.launch) })
	return &translation{name: "launches by number", runs: []runPlan{r}}, ""
}

// numbering knows the launches of some functions by their number.
type numbering struct {
	c  *choice
	at map[int32][]int
}

func (c *choice) numbersOf(functions map[string]bool) *numbering {
	n := &numbering{c: c, at: map[int32][]int{}}
	pass := make([]bool, len(c.l.names))
	for i := range c.l.names {
		pass[i] = functions[c.l.names[i].function]
	}
	for i := range c.l.launches {
		if c.in[i] && pass[c.l.launches[i].function] {
			n.at[c.number[i]] = append(n.at[c.number[i]], i)
		}
	}
	return n
}

func (n *numbering) price(number int32) float64 {
	sum := 0.0
	for _, i := range n.at[number] {
		sum += n.c.cost.launch(n.c.l.launches[i].ns)
	}
	return sum
}

// cover takes numbers one by one, the one with the most wants for its price
// first, then drops those that later ones made unnecessary.
func (n *numbering) cover(wants []want) []int {
	holds := map[int32][]int{} // wants by number
	for w := range wants {
		for _, i := range wants[w].accept {
			number := n.c.number[i]
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
