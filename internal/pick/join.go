package pick

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/timeline"
)

// Regions extrapolates the counters of single launches over all launches of
// each region, weighted by the timeline. A verification says which launch
// stands for which group.
func Regions(l *Launches, results []Counted, v *Verification, o RegionOptions) (*RegionReport, error) {
	kernels, err := newSelection(keyRegionInclude, keyRegionExclude, "", o.KernelInclude, o.KernelExclude)
	if err != nil {
		return nil, err
	}
	o.Aggregate = o.Aggregate || l.oneProcess()
	j := &joiner{l: l, o: o, results: results, stands: findRepresentatives(l, results, v), units: map[string]string{}}
	if err := j.choose(); err != nil {
		return nil, err
	}
	j.take()
	for i := range l.groups {
		j.kept = append(j.kept, kernels.keep(l.groups[i].names).IsZero())
	}
	j.add()
	return &RegionReport{Regions: j.regions(), Unmatched: append(j.unmatched, kernels.unmatched(l.knownKernels())...), stands: j.stands}, nil
}

// joiner is the work of Regions under way.
type joiner struct {
	l         *Launches
	o         RegionOptions
	results   []Counted
	values    []map[string]float64 // by result
	units     map[string]string
	metrics   []string
	stands    *representation
	kept      []bool // by group: the patterns keep it
	nodes     []timeline.Region
	shown     map[uint32]bool
	unmatched []Unmatched

	sums   map[partKey]*partSum
	byNode map[uint32][]partKey // inclusive ones
	// one process launched everything, on one device: its parts are the same
	oneProcess bool
}

// partKey is one region, or its part in a process or device, with or without
// what is nested in it.
type partKey struct {
	node      uint32
	scope     string
	number    int // of the process or device
	exclusive bool
}

// A partSum is what a process, a device or all of them launched in a region. What was cut
// is of kernels that reports of regions leave out.
type partSum struct {
	groups map[int]*groupSum
	cut    int
	cutNS  int64
}

// The scopes of a part.
const (
	scopeAll     = "aggregate"
	scopeProcess = "process"
	scopeDevice  = "device"
)

// choose finds the regions to show.
func (j *joiner) choose() error {
	j.nodes, j.shown = j.l.at.Regions(), map[uint32]bool{}
	f, err := newRegionFilter(j.o.Include, j.o.Exclude, j.l.at.Seen())
	if nothing, ok := errors.AsType[*NothingError](err); ok {
		j.unmatched = nothing.Unmatched
		return nil
	}
	if err != nil {
		return err
	}
	j.unmatched = f.unmatched
	for _, n := range j.nodes {
		state := nvtx.State{Stacks: [][]nvtx.Range{n.Stack}}
		if n.Kind == timeline.StartEnd {
			state = nvtx.State{Open: n.Stack}
		}
		j.shown[n.ID] = f.match(state)
	}
	return nil
}

// take reads the values of the results.
func (j *joiner) take() {
	j.values = make([]map[string]float64, len(j.results))
	wanted := map[string]bool{}
	for _, name := range j.o.Metrics {
		wanted[name] = true
	}
	seen := map[string]bool{}
	for i := range j.results {
		c := &j.results[i]
		j.values[i] = map[string]float64{}
		for _, m := range c.Metrics {
			if len(wanted) > 0 && !wanted[m.Name] || len(wanted) == 0 && !meaningful(m.Name) {
				continue
			}
			j.values[i][m.Name] = m.Value
			j.units[m.Name] = m.Unit
			if !seen[m.Name] {
				seen[m.Name] = true
				j.metrics = append(j.metrics, m.Name)
			}
		}
	}
	if len(wanted) > 0 {
		j.metrics = j.o.Metrics
	} else {
		slices.Sort(j.metrics)
	}
}

// meaningful tells metrics that stand for themselves from those that ncu keeps
// to compute others, or to draw a breakdown or a series.
func meaningful(name string) bool {
	return !strings.HasPrefix(name, "derived_tempMetric") && !strings.Contains(name, ":") && !strings.Contains(name, ".Triage")
}

// oneProcess tells whether one process launched everything, on one device.
func (l *Launches) oneProcess() bool {
	return !slices.ContainsFunc(l.kinds, func(k kind) bool {
		q, first := &l.t.Queues[k.queue], &l.t.Queues[l.kinds[0].queue]
		return q.Process != first.Process || q.Device != first.Device
	})
}

// Enclosing are the paths of all regions around a result.
func (c *Counted) Enclosing() map[string]bool {
	out := map[string]bool{}
	for _, s := range c.State.Stacks {
		for depth := range s {
			out[nvtx.Path(s[:depth+1])] = true
		}
	}
	for _, r := range c.State.Open {
		out[nvtx.Path([]nvtx.Range{r})] = true
	}
	return out
}

// add credits each launch of the timeline to the regions around it.
func (j *joiner) add() {
	j.sums, j.byNode, j.oneProcess = map[partKey]*partSum{}, map[uint32][]partKey{}, j.l.oneProcess()
	of := make([][]account, len(j.l.kinds))
	for i := range of {
		k := &j.l.kinds[i]
		of[i] = j.accounts(k.place, k.group, &j.l.t.Queues[k.queue])
	}
	j.l.eachDuration(func(kind uint32, ns, n int64) {
		for a := range of[kind] {
			of[kind][a].add(ns, n)
		}
	})
}

// An account is where launches of one group, place and queue are added up: a part
// of a region.
type account struct {
	part            *partSum
	group           *groupSum // nil where patterns leave the group out
	representatives []representative
}

// add enters launches of one duration. A group that is left out of the reports is counted as cut.
func (a *account) add(ns, n int64) {
	if a.group == nil {
		a.part.cut += int(n)
		a.part.cutNS += n * ns
		return
	}
	a.group.add(ns, n, a.representatives)
}

// accounts lists where launches of a group are added up.
func (j *joiner) accounts(place uint32, group int, q *timeline.Queue) (out []account) {
	p := &j.l.at.Places()[place]
	for _, node := range p.All {
		if !j.shown[node] {
			continue
		}
		out = append(out, j.accountsOf(node, group, q, false)...)
		if slices.Contains(p.Own, node) {
			out = append(out, j.accountsOf(node, group, q, true)...)
		}
	}
	return out
}

// accountsOf are the sums that a launch of a group in a range belongs to: that of its
// process, of its device and, where it is asked for, of all. Where one process is all there
// is, they share one sum.
func (j *joiner) accountsOf(node uint32, group int, q *timeline.Queue, exclusive bool) (out []account) {
	keys := []partKey{{node, scopeProcess, j.l.pid(q.Process), exclusive}, {node, scopeDevice, int(q.Device), exclusive}}
	if j.o.Aggregate {
		keys = append(keys, partKey{node, scopeAll, 0, exclusive})
	}
	representatives := j.stands.of(group, j.nodes[node-1].Path, exclusive)
	for n, k := range keys {
		s := j.sums[k]
		if s == nil {
			s = &partSum{groups: map[int]*groupSum{}}
			if j.oneProcess && n > 0 { // the only process is the only device
				s = j.sums[keys[0]]
			}
			j.sums[k] = s
			if !exclusive {
				j.byNode[node] = append(j.byNode[node], k)
			}
		}
		if j.oneProcess && n > 0 {
			continue
		}
		a := account{part: s, representatives: representatives}
		if j.kept[group] {
			if a.group = s.groups[group]; a.group == nil {
				a.group = &groupSum{by: make([]weight, len(representatives))}
				s.groups[group] = a.group
			}
		}
		out = append(out, a)
	}
	return out
}

// regions are the rows of the ranges that are shown, by path and style. The times of ranges
// come from the timeline, whatever was counted in them.
func (j *joiner) regions() []Region {
	rows := map[[2]string]timeline.RegionRow{}
	for _, row := range j.l.at.RegionRows(timeline.Query{}).Rows {
		rows[[2]string{row.Path, row.Style}] = row
	}
	paths := map[uint32]string{}
	var out []Region
	for _, n := range j.nodes {
		paths[n.ID] = n.Path
		if !j.shown[n.ID] {
			continue
		}
		row := rows[[2]string{n.Path, n.Kind.String()}]
		r := Region{
			Path: n.Path, Name: n.Name, Domain: n.Domain, Style: n.Kind.String(), Parent: paths[n.Parent], Depth: n.Depth,
			Instances: int(row.Instances),
		}
		j.parts(&r, n.ID)
		j.whole(&r, int(row.GraphLaunches))
		j.judge(&r, int(row.KernelCalls), row.GraphNS)
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(x, y Region) int { return cmp.Or(cmp.Compare(x.Path, y.Path), cmp.Compare(x.Style, y.Style)) })
	return out
}

// judge says why nothing of a region was measured, where that is so.
func (j *joiner) judge(r *Region, kernels int, graphNS int64) {
	counted := slices.ContainsFunc(r.Parts, func(p RegionPart) bool { return p.Inclusive.CountedGroups > 0 })
	switch {
	case r.Whole != nil || counted:
	case kernels == 0 && graphNS > 0:
		r.Why = why(regionGraphs)
	case kernels == 0:
		r.Why = why(regionEmpty)
	case len(j.results) == 0:
		r.Why = why(regionNothing)
	default:
		r.Why = why(regionNoneOfIt)
	}
}

// parts fills in the sums of a region, that of everything first.
func (j *joiner) parts(r *Region, node uint32) {
	keys := j.byNode[node]
	slices.SortFunc(keys, func(x, y partKey) int {
		return cmp.Or(cmp.Compare(x.scope, y.scope), cmp.Compare(x.number, y.number)) // aggregate comes first
	})
	r.Parts = []RegionPart{}
	for _, k := range keys {
		p := RegionPart{Inclusive: j.sum(k, r.Path)}
		k.exclusive = true
		p.Exclusive = j.sum(k, r.Path)
		number := k.number
		switch k.scope {
		case scopeProcess:
			p.Process = &number
		case scopeDevice:
			p.Device = &number
		}
		r.Parts = append(r.Parts, p)
	}
}

// sum extrapolates over the launches of one part.
func (j *joiner) sum(k partKey, path string) RegionSums {
	s := j.sums[k]
	if s == nil {
		return RegionSums{}
	}
	out := RegionSums{ExcludedLaunches: s.cut, ExcludedNS: s.cutNS}
	groups := make([]int, 0, len(s.groups))
	for g, sum := range s.groups {
		groups = append(groups, g)
		out.Launches += sum.launches
		out.KernelNS += sum.ns
	}
	slices.SortFunc(groups, func(x, y int) int {
		return cmp.Or(cmp.Compare(s.groups[y].ns, s.groups[x].ns), cmp.Compare(j.l.groups[x].id, j.l.groups[y].id))
	})
	for _, g := range groups {
		sum, representatives := s.groups[g], j.stands.of(g, path, k.exclusive)
		sum.settle(representatives)
		if len(representatives) > 0 {
			out.CountedGroups++
			out.CountedNS += sum.ns
			out.ElsewhereNS += sum.elsewhere(representatives)
			out.ScaledNS += sum.scaledNS
		}
	}
	out.Coverage = share(out.CountedNS, out.KernelNS)
	for _, name := range j.metrics {
		if m, ok := j.metric(name, path, k.exclusive, groups, s, out.KernelNS); ok {
			out.Metrics = append(out.Metrics, m)
		}
	}
	return out
}
