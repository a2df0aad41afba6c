package analysis

import (
	"cmp"
	"slices"

	"github.com/deepprof/deepprof/internal/nvtx"
)

// stageNames are the phases that workloads are known to mark.
var stageNames = []string{"prefill", "decode"}

// wholeProgram is the stage of a program that marks none.
const wholeProgram = "all"

// maxStages bounds the stages of a program that marks its own phases.
const maxStages = 12

// pickStages finds the stages: those that the workload timed, else the regions of
// the scope, else prefill and decode, else the outermost regions, else the whole.
func (a *analyzer) pickStages() {
	names := stagesOf(a.self.unprofiled)
	if len(names) == 0 {
		names = stagesOf(a.self.profiled)
	}
	if len(names) == 0 && a.tl.scope != nil {
		a.scopeStages()
	} else if len(names) == 0 {
		names = stageNames
	}
	for _, name := range names {
		if list := a.outermost(name); len(list) > 0 {
			a.addStage(name, list)
		}
	}
	if len(a.res.Stages) == 0 {
		for _, group := range a.mostlyStages(a.ownStages()) {
			name := a.res.Regions[group[0]].Path
			if len(group) > 1 {
				name = a.groupName(group)
			}
			a.addStage(name, group)
		}
	}
	if len(a.res.Stages) == 0 && a.res.Totals.Split != nil {
		ms := float64(a.res.Totals.Split.WallNS) / 1e6
		a.res.Stages = append(a.res.Stages, Stage{Name: wholeProgram, NsysMS: &ms, NsysClock: clockOfRange, Passes: 1, Split: *a.res.Totals.Split, Kernels: a.res.Totals.Launches, GraphKernels: a.tl.graphKernels()})
	}
	a.stageTimes()
}

// scopeStages makes a stage of the regions of each name in the scope.
func (a *analyzer) scopeStages() {
	var names []string
	byName := map[string][]int{}
	for i := range a.res.undivided() {
		r := &a.res.Regions[i]
		same := func(j int) bool { return a.res.Regions[j].Path == r.Path }
		if !slices.Contains(a.tl.scope.regions, r.id) || slices.ContainsFunc(byName[r.Name], same) {
			continue
		}
		if byName[r.Name] == nil {
			names = append(names, r.Name)
		}
		byName[r.Name] = append(byName[r.Name], i)
	}
	for _, name := range names[:min(len(names), maxStages)] {
		a.addStage(name, byName[name])
	}
}

// timedStages are those that the workload timed where there is no timeline.
func (a *analyzer) timedStages() {
	for _, name := range stagesOf(a.self.best()) {
		s := Stage{Name: name, Split: Split{Busy: []TimePart{}, Idle: []TimePart{}}}
		a.self.addTo(&s)
		a.res.Stages = append(a.res.Stages, s)
	}
}

// outermost lists the regions of that name that lie least deep. A push/pop and a
// start/end range of one path are the same moments: the one with more kernels
// counts.
func (a *analyzer) outermost(name string) []int {
	var list []int
	depth := 0
	for i := range a.res.undivided() {
		r := &a.res.Regions[i]
		switch {
		case r.Name != name || len(list) > 0 && r.Depth > depth:
			continue
		case len(list) == 0 || r.Depth < depth:
			list, depth = []int{i}, r.Depth
			continue
		}
		if at := slices.IndexFunc(list, func(j int) bool { return a.res.Regions[j].Path == r.Path }); at < 0 {
			list = append(list, i)
		} else if r.KernelNS > a.res.Regions[list[at]].KernelNS {
			list[at] = i
		}
	}
	return list
}

// mostlyStages keeps regions of the program as its stages only where they hold at
// least half of the GPU time: ranges of a library around little of it are none.
func (a *analyzer) mostlyStages(list [][]int) [][]int {
	var in int64
	for _, group := range list {
		for _, i := range group {
			in += a.res.Regions[i].KernelNS
		}
	}
	if 2*in < a.res.Totals.KernelNS {
		return nil
	}
	return list
}

// groupName is what the names of several regions have in common.
func (a *analyzer) groupName(regions []int) string {
	var names nvtx.Grouper
	for _, i := range regions {
		names.Add("", a.res.Regions[i].Name)
	}
	return names.Group("", a.res.Regions[regions[0]].Name)
}

// ownStages are the outermost regions that hold kernels, those that differ by an
// id or a number alone as one, largest first and then in their order. Operators
// are no stages.
func (a *analyzer) ownStages() [][]int {
	var names nvtx.Grouper
	var outermost []int
	for i := range a.res.undivided() {
		if r := &a.res.Regions[i]; r.Depth == 0 && r.Kernels > 0 && !nvtx.IsOperator(r.Name) {
			outermost = append(outermost, i)
			names.Add("", r.Name)
		}
	}
	byName := map[string]int{}
	var list [][]int
	for _, i := range outermost {
		r := &a.res.Regions[i]
		key := r.Domain + "\x00" + names.Group("", r.Name)
		at, ok := byName[key]
		if !ok {
			at = len(list)
			byName[key] = at
			list = append(list, nil)
		}
		list[at] = append(list[at], i)
	}
	took := func(group []int) (ns int64) { // of one that only launches on the GPU
		for _, i := range group {
			ns += a.res.Regions[i].Split.WallNS
		}
		return ns
	}
	slices.SortStableFunc(list, func(x, y []int) int { return cmp.Compare(took(y), took(x)) })
	if len(list) > maxStages {
		list = list[:maxStages]
	}
	slices.SortFunc(list, func(x, y []int) int { return cmp.Compare(x[0], y[0]) })
	return list
}

func (a *analyzer) addStage(name string, regions []int) {
	s := Stage{Name: name, Region: a.res.Regions[regions[0]].Path}
	var wall, async, ops int64
	for _, i := range regions {
		r := &a.res.Regions[i]
		if len(regions) > 1 {
			s.Regions = append(s.Regions, r.Path)
		}
		s.ids = append(s.ids, r.id)
		s.Passes += int(r.Instances)
		wall += r.WallNS
		async += r.AsyncInstances
		if r.Synchronous != nil {
			ops++
		}
		s.Kernels += r.Kernels
		s.GraphKernels += a.tl.nodes[r.id]
	}
	s.Synchronous = synchronous(ops, async)
	a.tl.wantOwn(s.ids, async > 0)
	s.Split = a.tl.split(a.tl.splitOf(s.ids, workKey{-1, -1}, async > 0))
	if async > 0 {
		s.Lead = a.tl.leadOf(s.ids, workKey{-1, -1})
	}
	a.tl.passTimes(&s, wall, async > 0)
	a.self.addTo(&s)
	a.res.Stages = append(a.res.Stages, s)
}

// wantOwn sees to it that the own work of all regions of a stage is known where
// one of them closes early.
func (tl *timed) wantOwn(ids []uint32, async bool) {
	known := func(id uint32) bool { return tl.own.work[id] != nil }
	if !async && !slices.ContainsFunc(ids, known) {
		return
	}
	wanted := map[uint32]bool{}
	for id := range tl.own.work {
		wanted[id] = true
	}
	before := len(wanted)
	for _, id := range ids {
		wanted[id] = true
	}
	if len(wanted) > before {
		tl.collectOwn(wanted)
	}
}

// passTimes tells how long the passes of a stage took: on the host where it is
// synchronous, and else on the GPU, from the first to the last work of a pass.
func (tl *timed) passTimes(s *Stage, wall int64, async bool) {
	if s.Passes == 0 {
		return
	}
	host := float64(wall) / float64(s.Passes) / 1e6
	ms, clock := host, clockOfRange
	if async {
		ms, clock = float64(s.Split.WallNS)/float64(s.Passes)/1e6, clockOfGPU
	}
	s.NsysMS, s.NsysClock, s.HostMS = &ms, clock, &host
	s.NsysTimes = spreadOf(tl.lasted(s.ids, async))
}

// stageTimes tells each kernel's time within each stage, of what is in the scope.
func (a *analyzer) stageTimes() {
	for s := range a.res.Stages {
		for k := range a.res.Kernels {
			if calls, ns := a.res.inStage(s, k, a.tl.inScope); calls > 0 {
				a.res.Kernels[k].Stages = append(a.res.Kernels[k].Stages, StageTime{Stage: a.res.Stages[s].Name, Calls: calls, NS: ns})
			}
		}
	}
}

// inStage is how often and how long a kernel ran in a stage, by sums over regions.
func (r *Result) inStage(stage, kernel int, sums map[regionGroup]*callTime) (calls, ns int64) {
	if len(r.Stages[stage].ids) == 0 {
		return r.Kernels[kernel].Calls, r.Kernels[kernel].TotalNS
	}
	for _, id := range r.Stages[stage].ids {
		if c := sums[regionGroup{id, uint32(kernel)}]; c != nil {
			calls += c.calls
			ns += c.ns
		}
	}
	return calls, ns
}

// graphKernels counts the kernels that nodes of CUDA graphs launched.
func (tl *timed) graphKernels() (n int64) {
	for i := range tl.t.Kernels {
		if tl.t.Kernels[i].GraphNode != 0 {
			n++
		}
	}
	return n
}

// fromGraphs tells of a stage most of whose work comes from CUDA graphs already.
func (s *Stage) fromGraphs() bool {
	if 2*s.GraphKernels > s.Kernels {
		return true
	}
	for _, p := range s.Split.Busy {
		if p.ID == graphCategory { // traced as a whole
			return 2*p.NS > s.Split.BusyNS
		}
	}
	return false
}
