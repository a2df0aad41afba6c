package analysis

import "github.com/deepprof/deepprof/internal/fact"

// timelineRows are the parts of a Result that a timeline tells. The environment, the
// command and the totals begin with what the run recorded; the rest is empty
// without a timeline, but for the stages that the workload timed.
type timelineRows struct {
	Environment  Environment
	Command      []string
	Totals       Totals
	Scope        *Scope
	Stages       []Stage
	Regions      []Region
	RegionGroups []Region
	Kernels      []Kernel
	Categories   []CategoryTime
	Modules      []ModuleBox
	Steps        *StepTimes
	Sampling     *Sampling
	Sampled      []SampledRegion
	Overview     Overview
}

// rowsOf are the rows of a result, to go on from.
func (r *Result) rowsOf() *timelineRows {
	return &timelineRows{
		r.Environment, r.Workload.Command, r.Totals, r.Scope, r.Stages, r.Regions, r.RegionGroups, r.Kernels, r.Categories, r.Modules,
		r.Steps, r.Sampling, r.Sampled, r.Overview,
	}
}

// takeTimeline takes over the rows that a timeline tells.
func (r *Result) takeTimeline(t *timelineRows) {
	r.Environment, r.Workload.Command, r.Totals, r.Scope = t.Environment, t.Command, t.Totals, t.Scope
	r.Stages, r.Regions, r.RegionGroups, r.Kernels, r.Categories = t.Stages, t.Regions, t.RegionGroups, t.Kernels, t.Categories
	r.Modules, r.Steps, r.Sampling, r.Sampled, r.Overview = t.Modules, t.Steps, t.Sampling, t.Sampled, t.Overview
}

// countedRows are the parts of a Result that counters tell. All but those of the
// method begin with the rows of the timeline.
type countedRows struct {
	Environment Environment
	Command     []string
	Kernels     []Kernel // with those that only reports have, and what was counted of each
	Regions     []Region // of the reports where there is no timeline
	Categories  []CategoryTime
	Ladder      []Note
	Picked      *Picked   // nil where nothing was counted
	Clock       fact.Fact // that the counters were taken under; zero where that is not known
}

// takeCounted takes over the rows that counters tell.
func (r *Result) takeCounted(c *countedRows) {
	r.Environment, r.Workload.Command, r.Kernels, r.Regions, r.Categories = c.Environment, c.Command, c.Kernels, c.Regions, c.Categories
	r.Method.Ladder, r.Method.Picked, r.Method.Clock = c.Ladder, c.Picked, c.Clock
}

// useRows are the parts of a Result that a utilizer adds to, or makes.
type useRows struct {
	stages      []Stage
	kernels     []Kernel  // notes beside their points
	regionRows  []Region  // notes on their counters
	workload    Workload  // with what the work of the model tells of it
	assumptions []Note    // that the work of the model rests on
	found       []Finding // that are doubtful
}

// takeUse takes over how much of the GPUs is used, and what the model is.
func (r *Result) takeUse(u *useRows) {
	r.Stages, r.Kernels, r.Regions, r.Workload = u.stages, u.kernels, u.regionRows, u.workload
	r.Method.Assumptions = append(r.Method.Assumptions, u.assumptions...)
}

// entry is the value of a key, a new zero one where there is none yet.
func entry[K comparable, V any](m map[K]*V, key K) *V {
	v := m[key]
	if v == nil {
		v = new(V)
		m[key] = v
	}
	return v
}
