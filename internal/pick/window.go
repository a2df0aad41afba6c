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
	sequences [][]weighed // first launches of each configuration
	last      int         // the largest skip that can still hold every group; -1 where none can
}

// A configKey is what ncu calls a launch configuration: name, sizes, and shared memory in
// bytes.
type configKey struct {
	name        string
	grid, block [3]int32
	shared      int32
}

// A configuration is what ncu counts as one, with its first launches.
type configuration struct {
	configKey
	first []int
}

// A weighed launch is one that windows may take.
type weighed struct {
	launch, group int
	typical       bool
	seconds       float64
}

// configurations lists them for a form of the names, in the order in which they
// were launched first.
func (c *choice) configurations(base string) []*configuration {
	if _, ok := c.configs[base]; !ok {
		c.configs[base] = c.findConfigurations(base)
	}
	return c.configs[base]
}

// findConfigurations lists the configurations that the NVTX filter lets through, each with
// as many of its first launches as ncu can skip and count.
func (c *choice) findConfigurations(base string) []*configuration {
	byKey, of := map[configKey]*configuration{}, make([]*configuration, len(c.l.kinds)) // by kind; nil where the NVTX filter stops it
	var list []*configuration
	for i := range c.l.kinds {
		if !c.seen[i] {
			continue
		}
		key := c.l.configKey(&c.l.kinds[i], base)
		f := byKey[key]
		if f == nil {
			f = &configuration{configKey: key}
			byKey[key] = f
			list = append(list, f)
		}
		of[i] = f
	}
	for r := c.l.reader(); r.next(); {
		if f := of[r.kind()]; f != nil && len(f.first) < maxSkip+maxCount {
			f.first = append(f.first, r.at)
		}
	}
	return list
}

// configKey is the configuration of launches by a form of the names.
func (l *Launches) configKey(k *kind, base string) configKey {
	c := &l.t.Configs[k.config]
	return configKey{l.names[k.function].in(base), c.Grid, c.Block, c.DynamicShared}
}

// windows are the sequences of launches, one a configuration, in which a window of ncu is
// looked for that holds a typical launch of each group.
func (c *choice) windows(groups []int, base string, named map[string]bool) *windows {
	w := &windows{c: c, groups: groups, chosen: map[int]bool{}, last: maxSkip - 1}
	for _, g := range groups {
		w.chosen[g] = true
	}
	place := map[int]int{} // the last of a group in any sequence, from 1
	for _, f := range c.configurations(base) {
		if !named[f.name] {
			continue
		}
		seq := make([]weighed, len(f.first))
		for n, i := range f.first {
			g := c.l.group(i)
			place[g] = max(place[g], n+1)
			seq[n] = weighed{i, g, c.isTypical(i), c.cost.launch(i, c.l.ns(i))}
		}
		w.sequences = append(w.sequences, seq)
	}
	for _, g := range groups {
		w.last = min(w.last, place[g]-1)
	}
	return w
}

// A window is a choice of skip and count, and what it takes.
type window struct {
	skip, count int
	taken       []int // of the one that search finds
	missing     []int
	// in seconds, the less the better: the counting, and a share of one more process for
	// groups that have no typical launch in the window
	worth float64
}

// search finds the best window: one that holds every group, or, with one set,
// the best of a single launch, which may miss some. Nil where there is none.
func (w *windows) search(one bool) *window {
	counts, skips := maxCount, w.last+1
	if one {
		counts, skips = 1, maxSkip
	}
	if w.c.p.Served {
		skips = 1
	}
	var best *window
	met := make([]groupMet, len(w.c.l.groups))
	for count := 1; count <= counts; count++ {
		for skip := range skips {
			got := w.weigh(skip, count, met)
			if len(got.missing) > 0 && !one {
				continue
			}
			if best == nil || len(got.missing) < len(best.missing) || len(got.missing) == len(best.missing) && got.worth < best.worth {
				best = &got
			}
		}
	}
	if best != nil {
		best.taken = w.take(best.skip, best.count)
	}
	return best
}

// take lists what a window takes.
func (w *windows) take(skip, count int) (taken []int) {
	for _, seq := range w.sequences {
		for _, e := range part(seq, skip, count) {
			taken = append(taken, e.launch)
		}
	}
	slices.Sort(taken)
	return taken
}

// part is what a window takes of the launches of a configuration.
func part(seq []weighed, skip, count int) []weighed {
	return seq[min(skip, len(seq)):min(skip+count, len(seq))]
}

// groupMet tells whether a window holds a launch of a group, and a typical one.
type groupMet struct{ any, typical bool }

// weigh tells what a window misses and what it is worth; met is room for each group.
func (w *windows) weigh(skip, count int, met []groupMet) window {
	c := w.c
	got := window{skip: skip, count: count}
	clear(met)
	for _, seq := range w.sequences {
		for _, e := range part(seq, skip, count) {
			got.worth += e.seconds
			m := &met[e.group]
			m.any, m.typical = true, m.typical || e.typical
		}
	}
	for _, g := range w.groups {
		if !met[g].any {
			got.missing = append(got.missing, g)
		}
	}
	var off int64
	for g, m := range met {
		if m.any && !m.typical {
			off += c.totalNS[g]
		}
	}
	got.worth += share(off, c.totals.RegionNS) * c.cost.process()
	got.worth = math.Round(got.worth*10) / 10 // among equals the smaller window is the safer
	return got
}
