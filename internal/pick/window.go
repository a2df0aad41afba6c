package pick

import (
	"math"
	"slices"
)

// windows holds the launches that pass all filters, in the two ways in which
// ncu may tell launch configurations apart. Seen with ncu 2025.3: a
// configuration is the function name (without template arguments), grid, block
// and shared memory. That a filter by mangled names makes it the mangled name
// instead is possible, and a window must then hold every group as well.
type windows struct {
	c          *choice
	groups     []int
	chosen     map[int]bool
	byFunction [][]int // first launches of each configuration, by function name
	longest    map[int]int
}

type configKey struct {
	process     uint32
	function    string
	grid, block [3]int32
	shared      int32
}

type identKey struct {
	process uint32
	group   int
	shared  int32
}

func (c *choice) windows(groups []int, wanted func(*names) bool) *windows {
	w := &windows{c: c, groups: groups, chosen: map[int]bool{}, longest: map[int]int{}}
	for _, g := range groups {
		w.chosen[g] = true
	}
	pass := make([]bool, len(c.l.names))
	for i := range c.l.names {
		pass[i] = wanted(&c.l.names[i])
	}
	index := map[configKey]int{}
	counts := map[identKey]int{}
	for i := range c.l.launches {
		e := &c.l.launches[i]
		if !c.in[i] || !pass[e.function] {
			continue
		}
		k := &c.l.groups[e.group].key
		key := configKey{e.process, c.l.names[e.function].function, k.grid, k.block, e.shared}
		at, ok := index[key]
		if !ok {
			at = len(w.byFunction)
			index[key] = at
			w.byFunction = append(w.byFunction, nil)
		}
		if len(w.byFunction[at]) < maxSkip+maxCount {
			w.byFunction[at] = append(w.byFunction[at], i)
		}
		ident := identKey{e.process, e.group, e.shared}
		counts[ident]++
		w.longest[e.group] = max(w.longest[e.group], counts[ident])
	}
	return w
}

// A window is a choice of skip and count, and what it takes.
type window struct {
	skip, count int
	taken       []int
	missing     []int
	worth       float64
}

// search finds the best window: one that holds every group, or, with one set,
// the best of a single launch, which may miss some. Nil where there is none.
func (w *windows) search(one bool) *window {
	counts := maxCount
	if one {
		counts = 1
	}
	var best *window
	for count := 1; count <= counts; count++ {
		for skip := range maxSkip {
			if !w.every(skip) {
				break
			}
			got := w.take(skip, count)
			if len(got.missing) > 0 && !one {
				continue
			}
			if best == nil || len(got.missing) < len(best.missing) || len(got.missing) == len(best.missing) && got.worth < best.worth {
				best = got
			}
		}
	}
	return best
}

// every tells whether each group has a launch after skip where configurations
// are told apart by the full name.
func (w *windows) every(skip int) bool {
	return !slices.ContainsFunc(w.groups, func(g int) bool { return w.longest[g] <= skip })
}

func (w *windows) take(skip, count int) *window {
	c := w.c
	got := &window{skip: skip, count: count}
	hit, typical := map[int]bool{}, map[int]bool{}
	for _, seq := range w.byFunction {
		if skip >= len(seq) {
			continue
		}
		for _, i := range seq[skip:min(skip+count, len(seq))] {
			e := &c.l.launches[i]
			got.taken = append(got.taken, i)
			got.worth += c.cost.launch(e.ns)
			hit[e.group] = true
			typical[e.group] = typical[e.group] || c.isTypical(i)
		}
	}
	slices.Sort(got.taken)
	for _, g := range w.groups {
		switch {
		case !hit[g]:
			got.missing = append(got.missing, g)
		case !typical[g]:
			got.worth += share(c.totalNS[g], c.totals.RegionNS) * c.cost.process()
		}
	}
	got.worth = math.Round(got.worth*10) / 10 // among equals the smaller window is the safer
	return got
}
