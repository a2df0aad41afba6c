package compare

import (
	"cmp"
	"maps"
	"slices"

	"github.com/deepprof/deepprof/internal/analysis"
)

// A Fall says where the change of a total comes from. Values are the means of the
// runs of a side in whole nanoseconds; the parts add up to the totals exactly.
type Fall struct {
	// Of is what is divided: time (wall time of the scope under nsys), stage:NAME,
	// gpu_time by kernel, or operators: the same GPU time by operator.
	Of     string     `json:"of"`
	BaseNS int64      `json:"base_ns"`
	NewNS  int64      `json:"new_ns"`
	Parts  []FallPart `json:"parts"` // by size of the change
}

// A FallPart is one cause of a change.
type FallPart struct {
	// Kind: busy (a category of kernels), idle (a cause of waiting), kernel,
	// operator, region (the innermost range is no operator), rest (kernels that
	// results do not list) or outside (no operator).
	Kind string `json:"kind"`
	Name string `json:"name"`
	Was  string `json:"was,omitempty"` // name of a kernel on the base side, where it is another

	BaseNS  int64 `json:"base_ns"`
	NewNS   int64 `json:"new_ns"`
	DeltaNS int64 `json:"delta_ns"`
	// LaunchesNS is the part of DeltaNS by more or fewer launches, at the duration
	// of the base; DurationNS that by longer or shorter ones. Absent where it is no
	// kernel, or on one side only.
	LaunchesNS *int64 `json:"launches_ns,omitempty"`
	DurationNS *int64 `json:"duration_ns,omitempty"`
}

// falls makes all of them, as far as the runs have what they need.
func falls(base, fresh []Run, pairs []pair) []Fall {
	out := []Fall{}
	add := func(f Fall, ok bool) {
		if ok {
			out = append(out, f)
		}
	}
	add(splitFall("time", base, fresh, wholeSplit))
	for _, name := range commonStages(base, fresh) {
		add(splitFall("stage:"+name, base, fresh, func(r *analysis.Result) *analysis.Split { return stageSplit(r, name) }))
	}
	add(kernelFall(base, fresh, pairs))
	add(operatorFall(base, fresh))
	return out
}

// A part is named by its kind and ID.
type partKey struct{ kind, id string }

// splitFall divides wall time into busy and idle parts.
func splitFall(of string, base, fresh []Run, split func(*analysis.Result) *analysis.Split) (Fall, bool) {
	a, okA := sumSplits(base, split)
	b, okB := sumSplits(fresh, split)
	if !okA || !okB {
		return Fall{}, false
	}
	return fall(of, means(a, len(base)), means(b, len(fresh))), true
}

// fall joins the parts of both sides.
func fall(of string, a, b map[partKey]int64) Fall {
	f := Fall{Of: of, Parts: []FallPart{}}
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	for _, k := range slices.SortedFunc(maps.Keys(keys), func(x, y partKey) int { return cmp.Or(cmp.Compare(x.kind, y.kind), cmp.Compare(x.id, y.id)) }) {
		f.add(FallPart{Kind: k.kind, Name: k.id, BaseNS: a[k], NewNS: b[k]})
	}
	f.sort()
	return f
}

func (f *Fall) add(p FallPart) {
	p.DeltaNS = p.NewNS - p.BaseNS
	f.BaseNS += p.BaseNS
	f.NewNS += p.NewNS
	f.Parts = append(f.Parts, p)
}

// Summed are the largest parts, one part of kind others that sums the remaining
// ones, and one of kind sum with the total.
func (f *Fall) Summed(most int) []FallPart {
	out := slices.Clone(f.Parts[:min(most, len(f.Parts))])
	rest := FallPart{Kind: "others"}
	for _, p := range f.Parts[len(out):] {
		rest.BaseNS, rest.NewNS, rest.DeltaNS = rest.BaseNS+p.BaseNS, rest.NewNS+p.NewNS, rest.DeltaNS+p.DeltaNS
	}
	if len(f.Parts) > len(out) {
		out = append(out, rest)
	}
	return append(out, FallPart{Kind: "sum", BaseNS: f.BaseNS, NewNS: f.NewNS, DeltaNS: f.NewNS - f.BaseNS})
}

func (f *Fall) sort() {
	slices.SortStableFunc(f.Parts, func(x, y FallPart) int { return cmp.Compare(abs(y.DeltaNS), abs(x.DeltaNS)) })
}

func abs(x int64) int64 { return max(x, -x) }

func wholeSplit(r *analysis.Result) *analysis.Split {
	if r.Scope != nil && r.Scope.Split != nil {
		return r.Scope.Split
	}
	return r.Totals.Split
}

func stageSplit(r *analysis.Result, name string) *analysis.Split {
	for i := range r.Stages {
		if st := &r.Stages[i]; st.Name == name && st.Split.WallNS > 0 {
			return &st.Split
		}
	}
	return nil
}

// commonStages are the stages that every run has; none where there is only one,
// which is the whole.
func commonStages(base, fresh []Run) []string {
	var names []string
	all := slices.Concat(base, fresh)
	if all[0].Result == nil || len(all[0].Result.Stages) < 2 {
		return nil
	}
	for _, st := range all[0].Result.Stages {
		if !slices.ContainsFunc(all, func(r Run) bool { return r.Result == nil || stageSplit(r.Result, st.Name) == nil }) {
			names = append(names, st.Name)
		}
	}
	return names
}

// sumSplits adds the splits of all runs; false where one has none.
func sumSplits(side []Run, split func(*analysis.Result) *analysis.Split) (map[partKey]int64, bool) {
	sums := map[partKey]int64{}
	for _, r := range side {
		if r.Result == nil {
			return nil, false
		}
		s := split(r.Result)
		if s == nil {
			return nil, false
		}
		left := s.WallNS
		for _, p := range s.Busy {
			sums[partKey{"busy", p.ID}] += p.NS
			left -= p.NS
		}
		for _, p := range s.Idle {
			sums[partKey{"idle", p.ID}] += p.NS
			left -= p.NS
		}
		if left != 0 { // rounding of concurrent work that is shared out
			sums[partKey{"busy", "rest"}] += left
		}
	}
	return sums, true
}

// means divides sums by n so that the results add up to the rounded total: what
// rounding down leaves goes to those that lost most.
func means(sums map[partKey]int64, n int) map[partKey]int64 {
	out, total, given := map[partKey]int64{}, int64(0), int64(0)
	keys := slices.SortedFunc(maps.Keys(sums), func(x, y partKey) int { return cmp.Or(cmp.Compare(x.kind, y.kind), cmp.Compare(x.id, y.id)) })
	for _, k := range keys {
		total += sums[k]
		out[k] = floorDiv(sums[k], int64(n))
		given += out[k]
	}
	left := floorDiv(total+int64(n)/2, int64(n)) - given
	slices.SortStableFunc(keys, func(x, y partKey) int {
		return cmp.Compare(sums[y]-out[y]*int64(n), sums[x]-out[x]*int64(n))
	})
	for i := range left {
		out[keys[i]]++
	}
	return out
}

func floorDiv(a, b int64) int64 {
	if q := a / b; a%b >= 0 {
		return q
	}
	return a/b - 1
}

// kernelFall divides the GPU time of the scope by kernel.
func kernelFall(base, fresh []Run, pairs []pair) (Fall, bool) {
	sumsA, sumsB := map[partKey]int64{}, map[partKey]int64{}
	for _, p := range pairs {
		k := partKey{"kernel", p.key()}
		sumsA[k], sumsB[k] = sumOf(p.base), sumOf(p.fresh)
	}
	okA, okB := addRest(sumsA, base), addRest(sumsB, fresh)
	if !okA || !okB || len(pairs) == 0 {
		return Fall{}, false
	}
	a, b := means(sumsA, len(base)), means(sumsB, len(fresh))
	f, names := Fall{Of: "gpu_time", Parts: []FallPart{}}, shortNames(pairs)
	for _, p := range pairs {
		k := partKey{"kernel", p.key()}
		part := FallPart{Kind: "kernel", Name: names[p.key()], BaseNS: a[k], NewNS: b[k]}
		if p.status == Renamed {
			part.Was = p.base.short
		}
		if p.base != nil && p.fresh != nil && p.base.calls > 0 {
			part.split(p.base.calls*int64(len(fresh)), p.fresh.calls*int64(len(base)))
		}
		f.add(part)
	}
	if k := (partKey{"rest", ""}); a[k] != 0 || b[k] != 0 {
		f.add(FallPart{Kind: "rest", BaseNS: a[k], NewNS: b[k]})
	}
	f.sort()
	return f, true
}

// split divides the change into that by the number of launches, at the duration
// of the base, and that by duration. The counts may be scaled alike.
func (p *FallPart) split(base, fresh int64) {
	launches := int64(float64(p.BaseNS) * float64(fresh-base) / float64(base))
	duration := p.NewNS - p.BaseNS - launches
	p.LaunchesNS, p.DurationNS = &launches, &duration
}

// addRest adds what the results do not list, so that the parts add up.
func addRest(sums map[partKey]int64, side []Run) bool {
	var listed, whole int64
	for _, ns := range sums {
		listed += ns
	}
	for _, r := range side {
		if r.Result == nil {
			return false
		}
		whole += gpuTime(r.Result)
	}
	sums[partKey{"rest", ""}] = whole - listed
	return true
}

func gpuTime(r *analysis.Result) int64 {
	if r.Scope != nil {
		return r.Scope.KernelNS
	}
	return r.Totals.KernelNS
}

// operatorFall divides the GPU time of the whole timeline by the innermost range,
// mostly an operator, that launched it.
func operatorFall(base, fresh []Run) (Fall, bool) {
	a, okA := operatorSums(base)
	b, okB := operatorSums(fresh)
	if !okA || !okB {
		return Fall{}, false
	}
	return fall("operators", means(a, len(base)), means(b, len(fresh))), true
}

func operatorSums(side []Run) (map[partKey]int64, bool) {
	sums := map[partKey]int64{}
	for _, r := range side {
		if r.Result == nil {
			return nil, false
		}
		if len(ownByOperator(r.Result)) == 0 {
			return nil, false
		}
		left := r.Result.Totals.KernelNS
		for name, g := range ownByRange(r.Result) {
			kind := "region"
			if isOperator(name) {
				kind = "operator"
			}
			sums[partKey{kind, name}] += g.own
			left -= g.own
		}
		sums[partKey{"outside", ""}] += left
	}
	return sums, true
}
