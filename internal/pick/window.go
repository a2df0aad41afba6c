package pick

import (
	"math"
	"slices"
)

// windows holds the launches that pass all filters, by launch configuration.
// Seen with ncu 2025.3: a configuration is the name in the form of
// --kernel-name-base, grid, block and dynamic shared memory, and its launches
// are counted over all processes together.
type windows struct {
	c         *choice
	groups    []int
	chosen    map[int]bool
	sequences [][]int // first launches of each configuration
	last      int     // the largest skip that can still hold every group; -1 where none can
}

type configKey struct {
	name        string
	grid, block [3]int32
	shared      int32
}

func (c *choice) windows(groups []int, base string, named map[string]bool) *windows {
	w := &windows{c: c, groups: groups, chosen: map[int]bool{}, last: maxSkip - 1}
	for _, g := range groups {
		w.chosen[g] = true
	}
	pass := make([]bool, len(c.l.names))
	for i := range c.l.names {
		pass[i] = named[c.l.names[i].in(base)]
	}
	index, place := map[configKey]int{}, map[int]int{} // place: the last of a group in any sequence, from 1
	for i := range c.l.len() {
		e := c.l.launch(i)
		if !c.seen[i] || !pass[e.function] {
			continue
		}
		k := &c.l.groups[e.group].key
		key := configKey{c.l.names[e.function].in(base), k.grid, k.block, e.shared}
		at, ok := index[key]
		if !ok {
			at = len(w.sequences)
			index[key] = at
			w.sequences = append(w.sequences, nil)
		}
		if n := len(w.sequences[at]); n < maxSkip+maxCount {
			w.sequences[at] = append(w.sequences[at], i)
			place[e.group] = max(place[e.group], n+1)
		}
	}
	for _, g := range groups {
		w.last = min(w.last, place[g]-1)
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
	counts, skips := maxCount, w.last+1
	if one {
		counts, skips = 1, maxSkip
	}
	var best *window
	for count := 1; count <= counts; count++ {
		for skip := range skips {
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

func (w *windows) take(skip, count int) *window {
	c := w.c
	got := &window{skip: skip, count: count}
	typical := map[int]bool{} // by group that is met
	for _, seq := range w.sequences {
		if skip >= len(seq) {
			continue
		}
		for _, i := range seq[skip:min(skip+count, len(seq))] {
			e := c.l.launch(i)
			got.taken = append(got.taken, i)
			got.worth += c.cost.launch(e.ns)
			typical[e.group] = typical[e.group] || c.isTypical(i)
		}
	}
	slices.Sort(got.taken)
	for _, g := range w.groups {
		if _, hit := typical[g]; !hit {
			got.missing = append(got.missing, g)
		}
	}
	var off int64
	for g, is := range typical {
		if !is {
			off += c.totalNS[g]
		}
	}
	got.worth += share(off, c.totals.RegionNS) * c.cost.process()
	got.worth = math.Round(got.worth*10) / 10 // among equals the smaller window is the safer
	return got
}
