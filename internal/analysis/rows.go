package analysis

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
