package compare

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/timeline"
)

// samples are the values of one side, one of each run that has it.
type samples struct {
	order []Key
	of    map[Key]*series
}

// A series is one value over the runs of a side.
type series struct {
	values []float64
	clock  Clock
	weight float64
	// by holds the values by clock, until alignTimes chose one.
	by     map[Clock][]float64
	status Status // of kernels; "" is common
	was    string
	alike  float64
}

// worth is the share, 0 to 1, of the GPU time below which kernels, regions, layers and operators are
// left out: the resolution of their times says nothing, and each would make every other
// verdict harder.
const worth = 0.001

// collect takes the values out of the runs, but for kernels.
func collect(side []Run, operators Clock) *samples {
	s := &samples{of: map[Key]*series{}}
	for i := range side {
		if side[i].Wall > 0 {
			s.add(Key{Total, "", Time}, Unprofiled, side[i].Wall*1e9, 1)
		}
		if r := side[i].Result; r != nil {
			s.addTotals(r, side[i].Wall > 0)
			s.addStages(r)
			s.addRegions(r)
			s.addOperators(r, operators)
			s.addRequests(r)
			s.addSamples(r)
			s.addRanks(r)
		}
	}
	for _, k := range s.order {
		s.of[k].choose(s.of[k].fullest())
	}
	return s
}

// add notes the value of one run. A run gives at most one value by each clock; the largest
// weight of all runs counts.
func (s *samples) add(k Key, clock Clock, v, weight float64) {
	x := s.of[k]
	if x == nil {
		x = &series{by: map[Clock][]float64{}}
		s.of[k] = x
		s.order = append(s.order, k)
	}
	x.by[clock] = append(x.by[clock], v)
	x.weight = max(x.weight, weight)
}

// preferred are the clocks from best to worst.
var preferred = []Clock{"", Unprofiled, IdleNsys, UnderNsys, SpanNsys, OnGPU, Torch}

// fullest is the best clock among those that most runs have.
func (x *series) fullest() Clock {
	var best Clock
	for _, c := range preferred {
		if len(x.by[c]) > len(x.by[best]) {
			best = c
		}
	}
	return best
}

// choose shares the slice of values with x.by.
func (x *series) choose(c Clock) { x.clock, x.values = c, x.by[c] }

// alignTimes makes both sides take the same clock: the best that each side has in
// as many runs as any.
func (s *samples) alignTimes(t *samples) {
	for _, k := range s.order {
		x, y := s.of[k], t.of[k]
		if y == nil || x.clock == y.clock {
			continue
		}
		for _, c := range preferred {
			if len(x.by[c]) > 0 && len(y.by[c]) > 0 {
				x.choose(c)
				y.choose(c)
				break
			}
		}
	}
}

// addTotals takes the whole: the stages without a profiler where they were timed,
// else the program, else the timeline.
func (s *samples) addTotals(r *analysis.Result, timed bool) {
	whole := Key{Total, "", Time}
	if sum := unprofiledStages(r); sum > 0 {
		s.add(whole, Unprofiled, sum, 1)
	} else if r.Method.UnprofiledS > 0 && !timed {
		s.add(whole, Unprofiled, r.Method.UnprofiledS*1e9, 1)
	}
	t := &r.Totals
	wall, gpu, launches, names := t.WallNS, t.KernelNS, t.Launches, t.KernelNames
	if r.Scope != nil {
		wall, gpu, launches, names = r.Scope.WallNS, r.Scope.KernelNS, r.Scope.Launches, r.Scope.KernelNames
	}
	if wall == 0 {
		return
	}
	s.add(whole, UnderNsys, float64(wall), 1)
	if launches > 0 {
		s.add(Key{Total, "", GPUTime}, OnGPU, float64(gpu), 1)
		s.add(Key{Total, "", Launches}, "", float64(launches), 0.5)
		s.add(Key{Total, "", Kernels}, "", float64(names), 0.4)
	}
	if t.Copies > 0 {
		s.add(Key{Total, "", CopyBytes}, "", float64(t.CopyBytes), 0.3)
	}
}

// unprofiledStages is one pass through all stages in ns; 0 where a stage was not
// timed.
func unprofiledStages(r *analysis.Result) (ns float64) {
	for i := range r.Stages {
		t := unprofiledNS(&r.Stages[i])
		if t == 0 {
			return 0
		}
		ns += t
	}
	return ns
}

// unprofiledNS is a pass of a stage: the median of a process, or its mean.
func unprofiledNS(st *analysis.Stage) float64 {
	switch {
	case st.CleanTimes != nil:
		return st.CleanTimes.MedianMS * 1e6
	case st.CleanMS != nil:
		return *st.CleanMS * 1e6
	}
	return 0
}

// Times and counts are those of one pass; a stage without passes counts as one.
func (s *samples) addStages(r *analysis.Result) {
	for i := range r.Stages {
		st := &r.Stages[i]
		weight := float64(len(r.Stages) - i)
		if ns := unprofiledNS(st); ns > 0 {
			s.add(Key{Stage, st.Name, Time}, Unprofiled, ns, weight)
		}
		switch {
		case st.NsysTimes != nil:
			s.add(Key{Stage, st.Name, Time}, nsysClock(st), st.NsysTimes.MedianMS*1e6, weight)
		case st.NsysMS != nil:
			s.add(Key{Stage, st.Name, Time}, nsysClock(st), *st.NsysMS*1e6, weight)
		}
		if passes := float64(max(st.Passes, 1)); st.Kernels > 0 {
			if ns, ok := stageGPU(r, st); ok {
				s.add(Key{Stage, st.Name, GPUTime}, OnGPU, float64(ns)/passes, weight)
			}
			s.add(Key{Stage, st.Name, Launches}, "", float64(st.Kernels)/passes, weight)
		}
		if st.TokensPS != nil {
			s.add(Key{Stage, st.Name, Throughput}, Unprofiled, cmp.Or(medianTokens(r), *st.TokensPS), weight)
		}
		if st.FLOPs != nil {
			s.add(Key{Stage, st.Name, ModelFLOPs}, "", *st.FLOPs, weight)
		}
		if st.Bytes != nil {
			s.add(Key{Stage, st.Name, ModelBytes}, "", *st.Bytes, weight)
		}
		s.addUse(MFU, st, st.MFU, weight)
		s.addUse(MBU, st, st.MBU, weight)
	}
	for _, a := range r.Totals.Aggregates {
		s.addAggregate(&a)
	}
}

// medianTokens is the median of tokens/s over the passes of a process, as the row of the
// workload has it: Stage.TokensPS is their mean. 0 where the workload did not tell.
func medianTokens(r *analysis.Result) float64 {
	for i := range r.Totals.Aggregates {
		if a := &r.Totals.Aggregates[i]; a.Name == string(Throughput) {
			return a.P50
		}
	}
	return 0
}

// nsysClock is what the times of a stage under nsys were measured by.
func nsysClock(st *analysis.Stage) Clock {
	if st.NsysClock == "gpu" {
		return SpanNsys
	}
	return UnderNsys
}

// stageGPU is the GPU time of all passes of a stage: that of its regions, or of the
// whole; false where a region is not listed.
func stageGPU(r *analysis.Result, st *analysis.Stage) (ns int64, ok bool) {
	if st.Region == "" {
		return gpuTime(r), true
	}
	want := st.Regions
	if len(want) == 0 {
		want = []string{st.Region}
	}
	found := 0
	for i := range r.Regions {
		if g := &r.Regions[i]; g.Times != "ncu" && g.Process == nil && g.Device == nil && slices.Contains(want, g.Path) {
			found++
			ns += g.KernelNS
		}
	}
	return ns, found == len(want)
}

// addUse takes the analytic value, which is there without counters: over the
// unprofiled time where there is one, and over the time under nsys.
func (s *samples) addUse(kind Kind, st *analysis.Stage, list []analysis.Utilization, weight float64) {
	for _, u := range list {
		switch {
		case u.Method != "analytic" || u.Value == nil || u.Contradiction:
		case st.CleanMS == nil:
			s.add(Key{kind, st.Name, Share}, nsysClock(st), *u.Value, weight)
		default:
			s.add(Key{kind, st.Name, Share}, Unprofiled, *u.Value, weight)
			if st.NsysMS != nil && *st.NsysMS > 0 {
				s.add(Key{kind, st.Name, Share}, nsysClock(st), *u.Value**st.CleanMS / *st.NsysMS, weight)
			}
		}
	}
}

// Units of the workload become those of metrics: ms become ns.
func (s *samples) addAggregate(a *analysis.Aggregate) {
	metric, scale := Value, 1.0
	switch {
	case a.Unit == "ms":
		metric, scale = Time, 1e6
	case a.Unit == "byte":
		metric = Memory
	case strings.HasSuffix(a.Unit, "/s"):
		metric = Rate
	}
	s.add(Key{Workload, a.Name, metric}, Unprofiled, a.P50*scale, 1)
}

// grouped are the sums over the regions that repeat each other.
type grouped struct {
	instances, wall, gpu, launches int64
	own                            int64 // GPU time outside nested ranges
	ownLaunches                    int64
	median                         int64 // of the only region of the group; 0 where there are several
	paths                          int
}

// groupsOf sums the regions that take chooses by their group: those that repeat each other.
// Regions of one process or device, and those that only ncu saw, are in no group.
func groupsOf(r *analysis.Result, take func(*analysis.Region) bool) map[string]*grouped {
	out := map[string]*grouped{}
	for i := range r.Regions {
		g := &r.Regions[i]
		if g.Times == "ncu" || g.Process != nil || g.Device != nil || !take(g) {
			continue
		}
		name := groupName(g)
		x := out[name]
		if x == nil {
			x = &grouped{median: g.MedianNS}
			out[name] = x
		}
		x.paths++
		x.instances += g.Instances
		x.wall += g.WallNS
		x.gpu += g.KernelNS
		x.launches += g.Kernels
		x.own += g.SelfNS
		x.ownLaunches += g.SelfKernels
		if x.paths > 1 {
			x.median = 0
		}
	}
	return out
}

// groupName is the path for a region that repeats no other.
func groupName(g *analysis.Region) string { return cmp.Or(g.Group, g.Path) }

// addRegions takes regions, layers and steps.
func (s *samples) addRegions(r *analysis.Result) {
	least := worth * float64(max(r.Totals.KernelNS, 1))
	all := groupsOf(r, func(*analysis.Region) bool { return true })
	for _, name := range slices.Sorted(maps.Keys(all)) {
		g := all[name]
		if r.Totals.KernelNS > 0 && float64(g.gpu) < least || g.instances == 0 {
			continue
		}
		kind := Region
		if parts := nvtx.SplitPath(name); timeline.IsStep(parts[len(parts)-1]) {
			kind = Step
		}
		each, n := float64(g.wall)/float64(g.instances), float64(g.instances)
		if g.median > 0 {
			each = float64(g.median)
		}
		s.add(Key{kind, name, Time}, UnderNsys, each, float64(g.wall))
		if g.launches > 0 {
			s.add(Key{kind, name, GPUTime}, OnGPU, float64(g.gpu)/n, float64(g.wall))
			s.add(Key{kind, name, Launches}, "", float64(g.launches), float64(g.wall))
		}
	}
	for _, l := range timeline.Layers(regionRows(r), false) {
		if l.Layer == "" || float64(l.NS) < least {
			continue
		}
		name := l.Stage + "/" + l.Layer
		s.add(Key{Layer, name, Time}, OnGPU, float64(l.NS), float64(l.NS))
		s.add(Key{Layer, name, Launches}, "", float64(l.Launches), float64(l.NS))
	}
}

// regionRows are the regions around modules in the form that layers are made from.
func regionRows(r *analysis.Result) []timeline.RegionRow {
	var rows []timeline.RegionRow
	for i := range r.Regions {
		if g := &r.Regions[i]; g.Times == "" && g.Process == nil && g.Device == nil && g.Source == "injected" {
			rows = append(rows, timeline.RegionRow{Path: g.Path, Instances: g.Instances, InclusiveNS: g.KernelNS, ExclusiveNS: g.SelfNS, KernelCalls: g.Kernels, ExclusiveCalls: g.SelfKernels})
		}
	}
	return rows
}

// isOperator tells ranges that torch opens around its operators.
func isOperator(name string) bool { return strings.Contains(name, "::") }

// operatorSource is where the operators of both sides come from: the torch
// profiler, or the ranges of the timeline; "" where the sides have no source in
// common.
func operatorSource(base, fresh []Run) Clock {
	torch := func(r Run) bool { return r.Result != nil && len(r.Result.Operators) > 0 }
	ranges := func(r Run) bool { return r.Result != nil && len(ownByOperator(r.Result)) > 0 }
	switch {
	case slices.ContainsFunc(base, torch) && slices.ContainsFunc(fresh, torch):
		return Torch
	case slices.ContainsFunc(base, ranges) && slices.ContainsFunc(fresh, ranges):
		return OnGPU
	}
	return ""
}

// addOperators takes the operators of a source; where it is "", those of the torch
// profiler, or else of ranges.
func (s *samples) addOperators(r *analysis.Result, source Clock) {
	if source == "" && len(r.Operators) > 0 {
		source = Torch
	}
	type sum struct {
		ns    float64
		calls int64
	}
	sums, all := map[string]*sum{}, 0.0
	note := func(name string, ns float64, calls int64) {
		if sums[name] == nil {
			sums[name] = &sum{}
		}
		sums[name].ns += ns
		sums[name].calls += calls
		all += ns
	}
	if source == Torch {
		for i := range r.Operators {
			o := &r.Operators[i]
			note(o.Name, o.SelfDeviceUS*1e3, o.Calls)
		}
	} else {
		source = OnGPU
		for name, ns := range ownByOperator(r) {
			note(name, float64(ns.own), ns.ownLaunches)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		if x := sums[name]; x.ns >= worth*all && x.ns > 0 {
			s.add(Key{Operator, name, Time}, source, x.ns, x.ns)
			s.add(Key{Operator, name, Launches}, source, float64(x.calls), x.ns) // calls, or launches of kernels
		}
	}
}

// ownByOperator sums the GPU time of kernels by the name of the innermost operator
// range that launched them.
func ownByOperator(r *analysis.Result) map[string]*grouped {
	out := ownByRange(r)
	maps.DeleteFunc(out, func(name string, _ *grouped) bool { return !isOperator(name) })
	return out
}

// ownByRange is the same for ranges of any kind, of the trees that have operators:
// those of other domains cross them, and what lies in both would count twice.
func ownByRange(r *analysis.Result) map[string]*grouped {
	all, trees := groupsOf(r, func(g *analysis.Region) bool { return g.Domain == "" && g.Style != "startend" }), map[string]bool{}
	for path := range all {
		if parts := nvtx.SplitPath(path); slices.ContainsFunc(parts, isOperator) {
			trees[parts[0]] = true
		}
	}
	out := map[string]*grouped{}
	for path, g := range all {
		parts := nvtx.SplitPath(path)
		if g.own == 0 || !trees[parts[0]] {
			continue
		}
		name := parts[len(parts)-1]
		if out[name] == nil {
			out[name] = &grouped{}
		}
		out[name].own += g.own
		out[name].ownLaunches += g.ownLaunches
	}
	return out
}
