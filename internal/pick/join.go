package pick

import (
	"cmp"
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
	o.Aggregate = o.Aggregate || l.alone()
	j := &joiner{l: l, o: o, results: results, stands: map[int][]int{}, units: map[string]string{}}
	if err := j.choose(); err != nil {
		return nil, err
	}
	j.represent(v)
	for i := range l.groups {
		j.kept = append(j.kept, kernels.keep(l.groups[i].names) == "")
	}
	j.add()
	r := &RegionReport{Schema: RegionSchema, Timeline: l.t.Source.Path, Regions: j.regions(), Unmatched: append(j.unmatched, kernels.unmatched(l.knownKernels())...)}
	return r, nil
}

// joiner is the work of Regions under way.
type joiner struct {
	l         *Launches
	o         RegionOptions
	results   []Counted
	values    []map[string]float64 // by result
	units     map[string]string
	metrics   []string
	stands    map[int][]int // by group: the results that stand for it
	where     []map[string]bool
	kept      []bool // by group: the patterns keep it
	nodes     []timeline.Region
	shown     map[uint32]bool
	unmatched []Unmatched

	sums   map[partKey]*partSum
	byNode map[uint32][]partKey // inclusive ones
}

// partKey is one region, or its part in a process or device, with or without
// what is nested in it.
type partKey struct {
	node      uint32
	scope     string
	number    int // of the process or device
	exclusive bool
}

type partSum struct {
	launches map[int]int // by group
	ns       map[int]int64
	cut      int
	cutNS    int64
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
	seen := j.l.at.Seen()
	if seen == nil {
		seen = []nvtx.Seen{}
	}
	f := &regionFilter{}
	var err error
	if f.include, f.in, err = f.resolve("nvtx_include", j.o.Include, seen); err != nil {
		return err
	}
	if f.exclude, f.ex, err = f.resolve("nvtx_exclude", j.o.Exclude, seen); err != nil {
		return err
	}
	j.unmatched = f.unmatched
	if len(j.o.Include) > 0 && len(f.in) == 0 {
		return nil
	}
	for _, n := range j.nodes {
		state := nvtx.State{Stacks: [][]nvtx.Range{n.Stack}}
		if n.Kind == timeline.StartEnd {
			state = nvtx.State{Open: n.Stack}
		}
		j.shown[n.ID] = f.match(state)
	}
	return nil
}

// represent finds the results that stand for each group: typical launches where
// there are any, never the slowest beside another.
func (j *joiner) represent(v *Verification) {
	j.values, j.where = make([]map[string]float64, len(j.results)), make([]map[string]bool, len(j.results))
	ids := map[string]int{}
	for g := range j.l.groups {
		ids[j.l.groups[g].id] = g
	}
	best := map[int]int{}
	order := map[string]int{RoleTypical: 4, RoleSame: 3, RoleAlong: 3, "": 2, RoleSlowest: 1}
	for _, m := range v.Matches {
		g, ok := ids[m.Group]
		if !ok || !m.Usable() || m.Result >= len(j.results) {
			continue
		}
		switch rank := order[m.Role]; {
		case rank > best[g]:
			best[g], j.stands[g] = rank, []int{m.Result}
		case rank == best[g]:
			j.stands[g] = append(j.stands[g], m.Result)
		}
	}
	wanted := map[string]bool{}
	for _, name := range j.o.Metrics {
		wanted[name] = true
	}
	seen := map[string]bool{}
	for i := range j.results {
		c := &j.results[i]
		j.values[i], j.where[i] = map[string]float64{}, c.enclosing()
		for _, m := range c.Metrics {
			if len(wanted) > 0 && !wanted[m.Name] || len(wanted) == 0 && !Meaningful(m.Name) {
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

// Meaningful tells metrics that stand for themselves from those that ncu keeps
// to compute others, or to draw a breakdown or a series.
func Meaningful(name string) bool {
	return !strings.HasPrefix(name, "derived_tempMetric") && !strings.Contains(name, ":") && !strings.Contains(name, ".Triage")
}

// alone tells whether one process launched everything, on one device.
func (l *Launches) alone() bool {
	var process uint32
	var device int32
	for i := range l.launches {
		e := &l.launches[i]
		d := l.t.Queues[l.t.Kernels[e.kernel].Queue].Device
		if i > 0 && (uint32(e.process) != process || d != device) {
			return false
		}
		process, device = uint32(e.process), d
	}
	return true
}

// enclosing are the paths of all regions around a result.
func (c *Counted) enclosing() map[string]bool {
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
	j.sums, j.byNode = map[partKey]*partSum{}, map[uint32][]partKey{}
	around := j.l.around()
	for i := range j.l.launches {
		e := &j.l.launches[i]
		own, all := around(e.kernel)
		device := int(j.l.t.Queues[j.l.t.Kernels[e.kernel].Queue].Device)
		for _, node := range all {
			if !j.shown[node] {
				continue
			}
			j.credit(e, node, device, false)
			if slices.Contains(own, node) {
				j.credit(e, node, device, true)
			}
		}
	}
}

func (j *joiner) credit(e *launch, node uint32, device int, exclusive bool) {
	keys := []partKey{{node, scopeProcess, j.l.pid(e.process), exclusive}, {node, scopeDevice, device, exclusive}}
	if j.o.Aggregate {
		keys = append(keys, partKey{node, scopeAll, 0, exclusive})
	}
	for _, k := range keys {
		s := j.sums[k]
		if s == nil {
			s = &partSum{launches: map[int]int{}, ns: map[int]int64{}}
			j.sums[k] = s
			if !exclusive {
				j.byNode[node] = append(j.byNode[node], k)
			}
		}
		if !j.kept[e.group] {
			s.cut++
			s.cutNS += e.ns
			continue
		}
		s.launches[e.group]++
		s.ns[e.group] += e.ns
	}
}

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
			Folder: Folder(n.Path, n.Kind.String()), Instances: int(row.Instances), RangeNS: row.RangeNS,
		}
		j.parts(&r, n.ID)
		j.whole(&r, int(row.GraphLaunches))
		j.judge(&r, int(row.KernelCalls), row.GraphNS)
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(x, y Region) int { return cmp.Or(cmp.Compare(x.Path, y.Path), cmp.Compare(x.Style, y.Style)) })
	return out
}

// judge says whether and how a region was measured.
func (j *joiner) judge(r *Region, kernels int, graphNS int64) {
	counted := slices.ContainsFunc(r.Parts, func(p RegionPart) bool { return p.Inclusive.CountedGroups > 0 })
	switch {
	case r.Whole != nil:
		r.Measured = ByRange
	case counted:
		r.Measured = ByLaunches
	case kernels == 0 && graphNS > 0:
		r.Measured, r.Why = NotAtAll, "it launched CUDA graphs that were traced as a whole: their kernels are not known"
	case kernels == 0:
		r.Measured, r.Why = NotAtAll, "it is empty: no kernel was launched in it"
	case len(j.results) == 0:
		r.Measured, r.Why = NotAtAll, "nothing was counted"
	default:
		r.Measured, r.Why = NotAtAll, "none of its kernels was counted"
	}
}

func (j *joiner) parts(r *Region, node uint32) {
	keys := j.byNode[node]
	slices.SortFunc(keys, func(x, y partKey) int {
		return cmp.Or(cmp.Compare(x.scope, y.scope), cmp.Compare(x.number, y.number)) // aggregate comes first
	})
	r.Parts = []RegionPart{}
	for _, k := range keys {
		p := RegionPart{Scope: k.scope, Inclusive: j.sum(k, r.Path)}
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
	out := RegionSums{ExcludedLaunches: s.cut, ExcludedNS: s.cutNS, Groups: len(s.launches)}
	groups := make([]int, 0, len(s.launches))
	for g := range s.launches {
		groups = append(groups, g)
		out.Launches += s.launches[g]
		out.KernelNS += s.ns[g]
	}
	slices.SortFunc(groups, func(x, y int) int {
		return cmp.Or(cmp.Compare(s.ns[y], s.ns[x]), cmp.Compare(j.l.groups[x].id, j.l.groups[y].id))
	})
	use := map[int][]int{}
	for _, g := range groups {
		def := &j.l.groups[g]
		here := j.here(g, path)
		use[g] = here
		if len(here) == 0 {
			use[g] = j.stands[g]
		}
		if len(use[g]) > 0 {
			out.CountedGroups++
			out.CountedNS += s.ns[g]
			if len(here) == 0 {
				out.ElsewhereNS += s.ns[g]
			}
		}
		out.Kernels = append(out.Kernels, RegionKernel{
			Group: def.id, Kernel: def.names.short, Grid: def.key.grid, Block: def.key.block,
			Launches: s.launches[g], NS: s.ns[g], Share: share(s.ns[g], out.KernelNS), Counted: len(use[g]),
		})
	}
	out.Coverage = share(out.CountedNS, out.KernelNS)
	for _, name := range j.metrics {
		m, why := j.metric(name, groups, use, s, out.KernelNS)
		if why != "" {
			out.Absent = append(out.Absent, Absent{name, why})
			continue
		}
		out.Metrics = append(out.Metrics, m)
	}
	return out
}

// here are the results that stand for a group and were counted in the region.
func (j *joiner) here(g int, path string) []int {
	var out []int
	for _, i := range j.stands[g] {
		if j.where[i][path] {
			out = append(out, i)
		}
	}
	return out
}

// metric weighs one metric over groups: launches for what adds up, time for
// the rest.
func (j *joiner) metric(name string, groups []int, use map[int][]int, s *partSum, total int64) (RegionMetric, string) {
	m := RegionMetric{Name: name, Unit: j.units[name], How: HowMean}
	if Additive(name, m.Unit) {
		m.How = HowSum
	}
	var ns int64
	var sum float64
	have := false
	for _, g := range groups {
		value, ok := j.mean(name, use[g])
		if !ok {
			continue
		}
		have = true
		ns += s.ns[g]
		if m.How == HowSum {
			sum += value * float64(s.launches[g])
		} else {
			sum += value * float64(s.ns[g])
		}
	}
	switch {
	case !have && len(use) == 0:
		return m, "no kernel was launched here"
	case !have:
		return m, "no counted launch of these kernels has it"
	case m.How == HowMean && ns == 0:
		return m, "its kernels took no time in the timeline"
	case m.How == HowMean:
		sum /= float64(ns)
	}
	m.Value, m.Coverage = sum, share(ns, total)
	return m, ""
}

func (j *joiner) mean(name string, results []int) (float64, bool) {
	sum, n := 0.0, 0
	for _, i := range results {
		if v, ok := j.values[i][name]; ok {
			sum += v
			n++
		}
	}
	if n == 0 {
		return 0, false
	}
	return sum / float64(n), true
}
