package analysis

// Baseline is another run that this one is held against: medians and means of both,
// without a verdict. Whether a difference is more than noise is told by compare,
// which takes several runs.
type Baseline struct {
	Name     string            `json:"name"`
	Measures []BaselineMeasure `json:"measures,omitempty"`
	Kernels  []BaselineKernel  `json:"kernels,omitempty"`
	Uses     []BaselineUse     `json:"uses,omitempty"`
}

// A BaselineMeasure is a measure of the unprofiled run, or of a server's clients, that
// both runs have.
type BaselineMeasure struct {
	Name   string  `json:"name"` // as Aggregate.Name; ttft_ms, token_ms and tokens_per_s also of a server
	Value  float64 `json:"median"`
	Change float64 `json:"change_share"` // of this run, relative: 0.03 is 3 % more
}

// A BaselineUse is the MFU or MBU of a stage by the first method that tells it.
type BaselineUse struct {
	Name  string  `json:"name"` // mfu, mbu
	Stage string  `json:"stage"`
	Share float64 `json:"share"`
}

// A BaselineKernel is the same kernel, grid and block there.
type BaselineKernel struct {
	Kernel   string  `json:"kernel"` // ID in this result
	Calls    int64   `json:"calls"`
	TotalNS  int64   `json:"total_ns"`
	MedianNS float64 `json:"median_ns"`
	Change   float64 `json:"change_share"` // of the median, relative
}

// HoldAgainst puts the numbers of another run beside those of r.
// It keeps nothing of base, which may be of another version of deepprof; what one of
// the two lacks is left out.
func (r *Result) HoldAgainst(name string, base *Result) {
	b := &Baseline{Name: name}
	there := base.measures()
	for _, m := range r.measures() {
		for _, o := range there {
			if o.Name == m.Name && o.Value > 0 {
				b.Measures = append(b.Measures, BaselineMeasure{Name: m.Name, Value: o.Value, Change: m.Value/o.Value - 1})
				break
			}
		}
	}
	for i := range base.Stages {
		s := &base.Stages[i]
		for _, use := range []struct {
			name string
			list []Utilization
		}{{"mfu", s.MFU}, {"mbu", s.MBU}} {
			if u := FirstUse(use.list); u != nil {
				b.Uses = append(b.Uses, BaselineUse{Name: use.name, Stage: s.Name, Share: *u})
			}
		}
	}
	b.Kernels = sameKernels(r, base)
	r.Baseline = b
}

// FirstUse is the value of the first method that tells one; nil where none does.
func FirstUse(list []Utilization) *float64 {
	if u := firstValue(list); u != nil {
		return u.Value
	}
	return nil
}

// measures are the medians of the unprofiled run, or those of the last window that
// the clients of a server measured.
func (r *Result) measures() (out []BaselineMeasure) {
	if w := r.Serving.LastMeasured(); w != nil {
		return []BaselineMeasure{{Name: "ttft_ms", Value: w.Stats.TTFT.P50 / 1e6}, {Name: "token_ms", Value: w.Stats.TPOT.P50 / 1e6}, {Name: "tokens_per_s", Value: w.Stats.TokensPerSecond}}
	}
	for _, a := range r.Totals.Aggregates {
		out = append(out, BaselineMeasure{Name: a.Name, Value: a.P50})
	}
	return out
}

// LastMeasured is the last window whose clients saw a token; nil without one.
func (s *Serving) LastMeasured() *ServingWindow {
	if s == nil {
		return nil
	}
	for i := len(s.Windows) - 1; i >= 0; i-- {
		if w := &s.Windows[i]; w.Stats != nil && w.Stats.TTFT.N > 0 {
			return w
		}
	}
	return nil
}

// sameKernels are those that both runs launched with the same grid and block, in the
// order of r. One with a median of 0 there has no change to tell and is left out.
func sameKernels(r, base *Result) (out []BaselineKernel) {
	there := map[kernelKey]*Kernel{}
	for i := range base.Kernels {
		k := &base.Kernels[i]
		if at := k.key(); there[at] == nil && k.Calls > 0 {
			there[at] = k
		}
	}
	for i := range r.Kernels {
		k := &r.Kernels[i]
		if o := there[k.key()]; o != nil && k.Calls > 0 && o.MedianNS > 0 {
			out = append(out, BaselineKernel{Kernel: k.ID, Calls: o.Calls, TotalNS: o.TotalNS, MedianNS: o.MedianNS, Change: k.MedianNS/o.MedianNS - 1})
		}
	}
	return out
}
