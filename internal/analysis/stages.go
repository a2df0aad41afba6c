package analysis

import (
	"cmp"
	"slices"
)

// stageNames are the phases that workloads are known to mark.
var stageNames = []string{"prefill", "decode"}

// maxStages bounds the stages of a program that marks its own phases.
const maxStages = 12

// pickStages finds the stages: those that the workload timed, else prefill and
// decode, else the outermost regions, else the whole.
func (a *analyzer) pickStages() {
	names := stagesOf(a.clean)
	if len(names) == 0 {
		names = stagesOf(a.profiled)
	}
	if len(names) == 0 {
		names = stageNames
	}
	for _, name := range names {
		if i := a.outermost(name); i >= 0 {
			a.addStage(name, i)
		}
	}
	if len(a.res.Stages) == 0 {
		for _, i := range a.largestOutermost() {
			a.addStage(a.res.Regions[i].Path, i)
		}
	}
	if len(a.res.Stages) == 0 && a.res.Totals.Split != nil {
		a.res.Stages = append(a.res.Stages, Stage{Name: "all", Passes: 1, Split: *a.res.Totals.Split})
		a.stageRegion = append(a.stageRegion, 0)
	}
	a.stageTimes()
}

// outermost is the index of the region by that path with the most wall time,
// or -1.
func (a *analyzer) outermost(path string) int {
	best := -1
	for i := range a.regionIDs {
		r := &a.res.Regions[i]
		if r.Name == path && (best < 0 || r.Depth < a.res.Regions[best].Depth ||
			r.Depth == a.res.Regions[best].Depth && r.KernelNS > a.res.Regions[best].KernelNS) {
			best = i
		}
	}
	return best
}

func (a *analyzer) largestOutermost() []int {
	var list []int
	for i := range a.regionIDs {
		if a.res.Regions[i].Depth == 0 && a.res.Regions[i].Kernels > 0 {
			list = append(list, i)
		}
	}
	slices.SortStableFunc(list, func(x, y int) int { return cmp.Compare(a.res.Regions[y].WallNS, a.res.Regions[x].WallNS) })
	if len(list) > maxStages {
		list = list[:maxStages]
	}
	slices.Sort(list)
	return list
}

func (a *analyzer) addStage(name string, region int) {
	r := &a.res.Regions[region]
	s := Stage{Name: name, Region: r.Path, Passes: int(r.Instances), Split: r.Split}
	if r.Instances > 0 {
		ms := float64(r.WallNS) / float64(r.Instances) / 1e6
		s.NsysMS = &ms
	}
	a.cleanTimes(&s)
	a.res.Stages = append(a.res.Stages, s)
	a.stageRegion = append(a.stageRegion, a.regionIDs[region])
}

// stageTimes tells each kernel's time within each stage.
func (a *analyzer) stageTimes() {
	for s, id := range a.stageRegion {
		for k := range a.res.Kernels {
			if row := &a.res.Kernels[k]; id == 0 {
				row.Stages = append(row.Stages, StageTime{a.res.Stages[s].Name, row.Calls, row.TotalNS})
				continue
			}
			if c := a.tl.inRegion[regionGroup{id, uint32(k)}]; c != nil {
				row := &a.res.Kernels[k]
				row.Stages = append(row.Stages, StageTime{a.res.Stages[s].Name, c.calls, c.ns})
			}
		}
	}
}
