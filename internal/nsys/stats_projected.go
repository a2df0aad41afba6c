package nsys

import (
	"cmp"
	"slices"

	"github.com/deepprof/deepprof/internal/timeline"
)

// projected is one range in the GPU projection.
// Times are in ns; rng is an index into Timeline.Ranges, call into Timeline.Calls.
type projected struct {
	rng        uint32
	call       uint32 // the earliest joined
	start, end int64
	ops        int64  // distinct correlations
	parent     uint32 // index of a range; timeline.None for the outermost
	level      int    // -1 if the parents of a range lead in a circle
	children   int64
}

// projectRanges projects every range that holds a launch. Work of whole graphs
// does not count.
// The list is in the order of the ranges in the file.
func (p *projection) projectRanges() []*projected {
	t := p.t
	type extent struct {
		start, end int64
		any        bool
	}
	extents := make([]extent, t.Calls.Len())
	marked := make([]bool, t.Calls.Len())
	t.EachOp(func(op timeline.Op) {
		if op.Kind == timeline.OpGraph {
			return
		}
		p.eachCall(t.Queues[op.Queue].Process, op.Correlation, func(c uint32) {
			e := &extents[c]
			if !e.any {
				*e = extent{op.Start, op.End, true}
			}
			e.start, e.end = min(e.start, op.Start), max(e.end, op.End)
			marked[c] = true
		})
	})
	p.contain(marked)
	found := map[uint32]*projected{}
	for c := range uint32(t.Calls.Len()) {
		if !marked[c] {
			continue
		}
		e := &extents[c]
		for _, r := range p.within[c] {
			j := found[r]
			if j == nil {
				j = &projected{rng: r, call: uint32(c), start: e.start, end: e.end}
				found[r] = j
			}
			j.start, j.end = min(j.start, e.start), max(j.end, e.end)
			if !p.countedBefore(uint32(c), r) {
				j.ops++
			}
		}
	}
	list := make([]*projected, 0, len(found))
	for _, j := range found {
		list = append(list, j)
	}
	slices.SortFunc(list, func(x, y *projected) int { return cmp.Compare(x.rng, y.rng) })
	p.tree(list, found)
	return list
}

// countedBefore reports whether an earlier call of the same correlation lies in
// the range too: distinct correlations are counted.
func (p *projection) countedBefore(call, rng uint32) bool {
	c := p.t.Calls.At(call)
	for o := p.calls.Call(p.t.ThreadProcess(c.Thread), c.Correlation); o != timeline.None && o != call; o = p.calls.Next(o) {
		if slices.Contains(p.within[o], rng) {
			return true
		}
	}
	return false
}

// tree gives the projected ranges their parents: of the other ranges of the
// thread that hold the range, the shortest.
func (p *projection) tree(list []*projected, found map[uint32]*projected) {
	parents := make([]uint32, len(p.t.Ranges))
	for i := range parents {
		parents[i] = timeline.None
	}
	for _, ranges := range p.byThread() {
		p.threadTree(ranges, parents)
	}
	levels := p.levels(parents)
	for _, j := range list {
		j.parent, j.level = parents[j.rng], levels[j.rng]
		if j.parent != timeline.None && found[j.parent] != nil {
			found[j.parent].children++
		}
	}
}

// threadTree takes the ranges of one thread by start, longest first, and sets parents.
func (p *projection) threadTree(ranges, parents []uint32) {
	all := p.t.Ranges
	var open []uint32
	for len(ranges) > 0 {
		r := ranges[0]
		n := 1
		for n < len(ranges) && all[ranges[n]].Start == all[r].Start && p.ends[ranges[n]] == p.ends[r] {
			n++
		}
		open = slices.DeleteFunc(open, func(o uint32) bool { return p.ends[o] < all[r].Start })
		if n > 1 {
			// Ranges of the same extent are each other's parents.
			parents[r] = ranges[1]
			for _, twin := range ranges[1:n] {
				parents[twin] = r
			}
		} else {
			for _, o := range open {
				if best := parents[r]; p.ends[o] >= p.ends[r] && (best == timeline.None || p.shorter(o, best)) {
					parents[r] = o
				}
			}
		}
		open = append(open, ranges[:n]...)
		ranges = ranges[n:]
	}
}

// shorter orders ranges by their time on the host; of equal ones the first in the file comes first.
func (p *projection) shorter(x, y uint32) bool {
	return cmp.Or(
		cmp.Compare(timeline.Since(p.t.Ranges[x].Start, p.ends[x]), timeline.Since(p.t.Ranges[y].Start, p.ends[y])), cmp.Compare(x, y)) < 0
}

// levels counts the steps to the outermost range, -1 if there is none.
func (p *projection) levels(parents []uint32) []int {
	const unknown, walking = -2, -3
	levels := make([]int, len(parents))
	for i := range levels {
		levels[i] = unknown
	}
	var path []uint32
	for i := range parents {
		path = path[:0]
		at := uint32(i)
		for at != timeline.None && levels[at] == unknown {
			levels[at] = walking
			path = append(path, at)
			at = parents[at]
		}
		base := 0
		switch {
		case at == timeline.None:
		case levels[at] == walking || levels[at] == -1:
			base = -1
		default:
			base = levels[at] + 1
		}
		for j, r := range slices.Backward(path) {
			if base < 0 {
				levels[r] = -1
				continue
			}
			levels[r] = base + len(path) - 1 - j
		}
	}
	return levels
}

// projectionReport is nvtx_gpu_proj_sum.
// Rows with most projected time come first.
func projectionReport(t *timeline.Timeline, d statsDialect) vendorTable {
	p := project(t, d)
	type key struct {
		name statsText
		kind timeline.RangeKind
	}
	type group struct {
		key
		sample                    timeline.Sample
		ranges                    timeline.Sample
		ops, children             int64
		levels, levelled, members int64
	}
	groups := map[key]*group{}
	for _, j := range p.projectRanges() {
		r := &t.Ranges[j.rng]
		k := key{p.names[j.rng], r.Kind}
		if !k.name.valid {
			continue
		}
		g := groups[k]
		if g == nil {
			g = &group{key: k}
			groups[k] = g
		}
		g.sample.Add(timeline.Since(j.start, j.end))
		g.ranges.Add(timeline.Since(r.Start, p.ends[j.rng]))
		g.ops += j.ops
		g.children += j.children
		g.members++
		if j.level >= 0 {
			g.levels += int64(j.level)
			g.levelled++
		}
	}
	order := make([]*group, 0, len(groups))
	for _, g := range groups {
		order = append(order, g)
	}
	slices.SortFunc(order, func(x, y *group) int {
		return cmp.Or(cmp.Compare(y.sample.Sum(), x.sample.Sum()), x.name.compare(y.name), cmp.Compare(x.kind.String(), y.kind.String()))
	})
	report := vendorTable{Columns: []string{
		"Range", "Style", "Total Proj Time (ns)", "Total Range Time (ns)", "Range Instances", "Proj Avg (ns)", "Proj Med (ns)",
		"Proj Min (ns)", "Proj Max (ns)", "Proj StdDev (ns)", "Total GPU Ops", "Avg GPU Ops", "Avg Range Lvl", "Avg Num Child",
	}}
	for _, g := range order {
		s := &g.sample
		level := ""
		if g.levelled > 0 {
			level = d.decimal(float64(g.levels) / float64(g.levelled))
		}
		report.Rows = append(report.Rows, []string{
			g.name.s, g.kind.String(), whole(s.Sum()), whole(g.ranges.Sum()), whole(g.members),
			d.decimal(s.Mean()), d.decimal(s.Median()), whole(s.Min()), whole(s.Max()), d.decimal(s.Stddev()),
			whole(g.ops), d.decimal(float64(g.ops) / float64(g.members)), level,
			d.decimal(float64(g.children) / float64(g.members)),
		})
	}
	return report
}

// projectionTrace is nvtxgpuproj of 2022 and nvtx_gpu_proj_trace after it,
// without the columns that name rows of the file.
func projectionTrace(t *timeline.Timeline, d statsDialect) vendorTable {
	p := project(t, d)
	list := p.projectRanges()
	slices.SortStableFunc(list, func(x, y *projected) int {
		return cmp.Or(cmp.Compare(x.start, y.start), cmp.Compare(timeline.Since(y.start, y.end), timeline.Since(x.start, x.end)))
	})
	report := vendorTable{Columns: []string{
		"Name", "Projected Start (ns)", "Projected Duration (ns)", "Orig Start (ns)", "Orig Duration (ns)",
		"Style", "PID", "TID", "NumGPUOps", "Lvl", "NumChild",
	}}
	for _, j := range list {
		r := &t.Ranges[j.rng]
		global := t.ThreadGlobal(t.Calls.Thread(j.call))
		level := ""
		if j.level >= 0 {
			level = whole(int64(j.level))
		}
		report.Rows = append(report.Rows, []string{
			p.names[j.rng].s, whole(j.start), whole(timeline.Since(j.start, j.end)), whole(r.Start), whole(timeline.Since(r.Start, p.ends[j.rng])),
			r.Kind.String(), whole(int64(timeline.PIDOf(global))), whole(int64(timeline.TIDOf(global))), whole(j.ops), level, whole(j.children),
		})
	}
	return report
}
