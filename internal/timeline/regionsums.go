package timeline

import (
	"cmp"
	"maps"
	"slices"
)

// regionSums adds ranges up by region.
type regionSums struct {
	a       *Attribution
	q       *Query
	matches []bool   // by region
	groups  []string // as groupPaths gives them
	first   []uint32
	sums    map[regionKey]*regionSum
	over    bool
}

// A regionSum is a row that grows.
type regionSum struct {
	RegionRow
	lasted Sample
	first  uint32 // place in the file of the first range
}

func (a *Attribution) regionSums(q *Query) *regionSums {
	s := &regionSums{a: a, q: q, matches: a.nodeFilter(q), sums: map[regionKey]*regionSum{}}
	s.groups, s.first = a.groupPaths()
	return s
}

// regionsOf gives the sums for one choice of devices. Split by device, a row
// counts only the instances that used the device.
func (a *Attribution) regionsOf(q *Query) *regionSums {
	u, busy := a.measured(q)
	sums := a.regionSums(q)
	for i := range a.t.Ranges {
		work := u.get(i)
		if q.By&ByDevice != 0 && work == nil {
			continue
		}
		sums.add(uint32(i), uint32(i), work, busy[i], u.same[uint32(i)])
	}
	for key, n := range u.once {
		if q.By&ByProcess == 0 {
			key.process = 0
		}
		if q.Grouped {
			key.node = sums.first[key.node]
		}
		if row := sums.sums[key]; row != nil {
			row.creditOnce(n, &sums.over)
		}
	}
	return sums
}

// add takes a range with its place in the file, its work, and that of its own thread: nil
// for none. How long it had the GPU busy is in ns.
func (s *regionSums) add(r, number uint32, work *use, busy int64, same *use) {
	t, rng, id := s.a.t, &s.a.t.Ranges[r], s.a.rangeNode[r]
	process := t.ThreadProcess(rng.Thread)
	if !s.matches[id] || !s.q.wantProcess(t.pid(process)) {
		return
	}
	if s.q.Grouped {
		id = s.first[id]
	}
	key := regionKey{node: id}
	if s.q.By&ByProcess != 0 {
		key.process = process
	}
	row := s.sums[key]
	if row == nil {
		row = &regionSum{RegionRow: *s.a.newRegion(id, s.q, process), first: number}
		if row.Group = s.groups[id]; s.q.Grouped {
			row.Path = row.Group
		}
		s.sums[key] = row
	}
	row.Instances++
	row.first = min(row.first, number)
	accrue(&row.RangeNS, Since(rng.Start, rng.End), &s.over)
	row.lasted.Add(Since(rng.Start, rng.End))
	if rng.Unclosed {
		row.Unclosed++
	}
	accrue(&row.WallBusyNS, busy, &s.over)
	if work != nil {
		row.credit(work, &s.over)
		if work.workEnd > rng.End {
			row.Async++
		}
	}
	if same != nil {
		accrue(&row.SameThread.ProjectedNS, same.projection(), &s.over)
		row.SameThread.KernelCalls += same.kernels
		accrue(&row.SameThread.KernelNS, same.kernelNS, &s.over)
	}
}

// list gives the rows in the order of their first ranges.
func (s *regionSums) list() []RegionRow {
	sums := slices.SortedFunc(maps.Values(s.sums), func(x, y *regionSum) int { return cmp.Compare(x.first, y.first) })
	out := make([]RegionRow, 0, len(sums))
	for _, row := range sums {
		row.spread(&row.lasted)
		out = append(out, row.RegionRow)
	}
	return out
}
