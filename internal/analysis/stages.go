package analysis

import (
	"cmp"
	"slices"

	"github.com/deepprof/deepprof/internal/engine"
	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/timeline"
)

// stageNames are the phases that workloads are known to mark.
var stageNames = []string{"prefill", "decode"}

// wholeProgram is the stage of a program that marks none.
const wholeProgram = "all"

// maxStages bounds the stages of a program that marks its own phases.
const maxStages = 12

// pickStages finds the stages: those that the workload timed, else the regions of
// the scope, else prefill and decode, else the outermost regions, else the whole.
// There are maxStages at most, but for those that the workload itself timed.
func (tr *timelineReader) pickStages() {
	names := stagesOf(tr.self.unprofiled)
	if len(names) == 0 {
		names = stagesOf(tr.self.profiled)
	}
	if len(names) == 0 && tr.tl.scope != nil {
		tr.scopeStages()
	} else if len(names) == 0 {
		names = stageNames
	}
	for _, name := range names {
		if list := tr.outermost(name); len(list) > 0 {
			tr.addStage(name, list)
		}
	}
	if len(tr.made.Stages) == 0 {
		for _, group := range tr.mostlyStages(tr.ownStages()) {
			name := tr.made.Regions[group[0]].Path
			if len(group) > 1 {
				name = tr.groupName(group)
			}
			tr.addStage(name, group)
		}
	}
	if len(tr.made.Stages) == 0 && tr.made.Totals.Split != nil {
		tr.made.Stages = append(tr.made.Stages, Stage{Name: wholeProgram, NsysMS: new(float64(tr.made.Totals.Split.WallNS) / 1e6), NsysClock: clockOfRange, Passes: 1, Split: *tr.made.Totals.Split, Kernels: tr.made.Totals.Launches, GraphKernels: tr.tl.graphKernels()})
	}
	tr.stageTimes()
}

// scopeStages makes a stage of the regions of each name in the scope, and one of
// each kind of step of a serving engine, whose names tell every batch apart.
func (tr *timelineReader) scopeStages() {
	var names []string
	byName := map[string][]int{}
	for i := range undivided(tr.made.Regions) {
		r := &tr.made.Regions[i]
		same := func(j int) bool { return tr.made.Regions[j].Path == r.Path }
		name := stageName(r.Name)
		if !slices.Contains(tr.tl.scope.regions, r.id) || slices.ContainsFunc(byName[name], same) {
			continue
		}
		if byName[name] == nil {
			names = append(names, name)
		}
		byName[name] = append(byName[name], i)
	}
	for _, name := range names[:min(len(names), maxStages)] {
		tr.addStage(name, byName[name])
	}
}

// stageName is the stage that regions of a name are counted in.
func stageName(region string) string {
	if s, ok := engine.ParseStep(region); ok {
		return string(s.Kind)
	}
	return region
}

// timedStages are those that the workload timed where there is no timeline.
func (tr *timelineReader) timedStages() {
	for _, name := range stagesOf(tr.self.best()) {
		s := Stage{Name: name, Split: Split{Busy: []TimePart{}, Idle: []TimePart{}}}
		tr.self.addTo(&s)
		tr.made.Stages = append(tr.made.Stages, s)
	}
}

// outermost lists the regions of that name that lie least deep. A push/pop and a
// start/end range of one path are the same moments: the one with more kernels
// counts.
func (tr *timelineReader) outermost(name string) []int {
	var list []int
	depth := 0
	for i := range undivided(tr.made.Regions) {
		r := &tr.made.Regions[i]
		switch {
		case r.Name != name || len(list) > 0 && r.Depth > depth:
			continue
		case len(list) == 0 || r.Depth < depth:
			list, depth = []int{i}, r.Depth
			continue
		}
		if at := slices.IndexFunc(list, func(j int) bool { return tr.made.Regions[j].Path == r.Path }); at < 0 {
			list = append(list, i)
		} else if r.KernelNS > tr.made.Regions[list[at]].KernelNS {
			list[at] = i
		}
	}
	return list
}

// mostlyStages keeps regions of the program as its stages only where they hold at
// least half of the GPU time: ranges of a library around little of it are none.
func (tr *timelineReader) mostlyStages(list [][]int) [][]int {
	var in int64
	for _, group := range list {
		for _, i := range group {
			in += tr.made.Regions[i].KernelNS
		}
	}
	if 2*in < tr.made.Totals.KernelNS {
		return nil
	}
	return list
}

// groupName is what the names of several regions have in common.
func (tr *timelineReader) groupName(regions []int) string {
	var names nvtx.Grouper
	for _, i := range regions {
		names.Add("", tr.made.Regions[i].Name)
	}
	return names.Group("", tr.made.Regions[regions[0]].Name)
}

// ownStages are the outermost regions that hold kernels, those that differ by an
// id or a number alone as one, largest first and then in their order. Operators
// are no stages.
func (tr *timelineReader) ownStages() [][]int {
	var names nvtx.Grouper
	var outermost []int
	for i := range undivided(tr.made.Regions) {
		if r := &tr.made.Regions[i]; r.Depth == 0 && r.Kernels > 0 && !nvtx.IsOperator(r.Name) {
			outermost = append(outermost, i)
			names.Add("", r.Name)
		}
	}
	byName := map[string]int{}
	var list [][]int
	for _, i := range outermost {
		r := &tr.made.Regions[i]
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
			ns += tr.made.Regions[i].Split.WallNS
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

// addStage makes a stage of regions, by their indexes in made.Regions; there is at
// least one.
func (tr *timelineReader) addStage(name string, regions []int) {
	s := Stage{Name: name, Region: tr.made.Regions[regions[0]].Path}
	_, s.Steps = engine.ParseStep(tr.made.Regions[regions[0]].Name)
	var wall, async, ops int64
	for _, i := range regions {
		r := &tr.made.Regions[i]
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
		s.GraphKernels += tr.tl.nodes[r.id]
	}
	s.Synchronous = synchronous(ops, async)
	tr.tl.wantOwn(s.ids, async > 0)
	s.Split = tr.tl.split(tr.tl.splitOf(s.ids, workKey{-1, -1}, async > 0))
	if async > 0 {
		s.Lead = tr.tl.leadOf(s.ids, workKey{-1, -1})
	}
	tr.tl.passTimes(&s, wall, async > 0)
	tr.self.addTo(&s)
	tr.made.Stages = append(tr.made.Stages, s)
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
	s.NsysTimes = spreadOf(lengths(tl.passes(s.ids, async)))
}

// stageTimes tells each kernel's time within each stage, of what is in the scope.
func (tr *timelineReader) stageTimes() {
	for s := range tr.made.Stages {
		for k := range tr.made.Kernels {
			if calls, ns := inStage(&tr.made.Stages[s], &tr.made.Kernels[k], k, tr.tl.inScope); calls > 0 {
				tr.made.Kernels[k].Stages = append(tr.made.Kernels[k].Stages, StageTime{Stage: tr.made.Stages[s].Name, Calls: calls, NS: ns})
			}
		}
	}
}

// inStage is how often and how long a kernel, the n-th, ran in a stage, by sums over
// regions.
func inStage(s *Stage, k *Kernel, n int, sums map[regionGroup]*callTime) (calls, ns int64) {
	if len(s.ids) == 0 {
		return k.Calls, k.TotalNS
	}
	for _, id := range s.ids {
		if c := sums[regionGroup{id, uint32(n)}]; c != nil {
			calls += c.calls
			ns += c.ns
		}
	}
	return calls, ns
}

// graphKernels counts the kernels that nodes of CUDA graphs launched.
func (tl *timed) graphKernels() (n int64) {
	for i := range tl.tape.Kinds {
		if k := &tl.tape.Kinds[i]; k.Kind == timeline.OpKernel && k.Node {
			n += k.Launches
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
