package compare

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/deepprof/deepprof/internal/analysis"
)

// A Fall says where the change of a total comes from. BaseNS and NewNS are those of
// the row that is divided, the median of the runs, in whole nanoseconds. Parts are
// measured under nsys and are means of the runs; a part of kind unprofiled or
// median leads from their sum to the row, so that all add up exactly.
type Fall struct {
	// Of is what is divided: time (the total), stage:NAME (a pass of it), gpu_time by
	// kernel, or operators: the GPU time of the whole timeline by operator.
	Of     string     `json:"of"`
	Clock  Clock      `json:"clock,omitempty"` // of BaseNS and NewNS
	BaseNS int64      `json:"base_ns"`
	NewNS  int64      `json:"new_ns"`
	Parts  []FallPart `json:"parts"` // by size of the change; median or unprofiled is the last
}

// A FallPart is one cause of a change.
type FallPart struct {
	// Kind: busy (a category of kernels), idle (a cause of waiting), kernel,
	// operator, region (the innermost range is no operator), rest (kernels that
	// results do not list), outside (no operator), unprofiled (from the sum of the
	// other parts, under nsys, to the unprofiled time) or median (from the mean of
	// the runs to their median).
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
func (c *Comparison) falls(base, fresh []Run, pairs []pair) []Fall {
	out := []Fall{}
	add := func(f Fall, ok bool, of *Row) {
		if ok && of != nil && of.both() && of.BaseClock == "" {
			f.close(of)
			out = append(out, f)
		}
	}
	total, split := c.find(Key{Total, "", Time}), wholeSplit
	if total != nil && total.Clock == Unprofiled && everyRun(base, fresh, func(r *analysis.Result) bool { return unprofiledStages(r) > 0 && passSplit(r) != nil }) {
		split = passSplit // the unprofiled total is one pass through all stages
	}
	f, ok := splitFall("time", base, fresh, split)
	add(f, ok, total)
	for _, name := range commonStages(base, fresh) {
		f, ok := splitFall("stage:"+name, base, fresh, func(r *analysis.Result) map[partKey]int64 { return stageSplit(r, name) })
		add(f, ok, c.find(Key{Stage, name, Time}))
	}
	f, ok = kernelFall(base, fresh, pairs)
	add(f, ok, c.find(Key{Total, "", GPUTime}))
	f, ok = fallOf("operators", base, fresh, operatorSums)
	add(f, ok, wholeGPU(base, fresh))
	return out
}

// everyRun tells what holds for all runs of both sides; a run without a result has nothing.
func everyRun(base, fresh []Run, is func(*analysis.Result) bool) bool {
	return !slices.ContainsFunc(slices.Concat(base, fresh), func(r Run) bool { return r.Result == nil || !is(r.Result) })
}

// wholeGPU is the GPU time of whole timelines, which is no row where a scope is set.
func wholeGPU(base, fresh []Run) *Row {
	times := func(side []Run) (ns []float64) {
		for _, r := range side {
			if r.Result != nil {
				ns = append(ns, float64(r.Result.Totals.KernelNS))
			}
		}
		return ns
	}
	r := &Row{Clock: OnGPU, BaseSamples: times(base), NewSamples: times(fresh)}
	r.summarize()
	return r
}

// close adds what leads from the parts to the row that they divide.
func (f *Fall) close(of *Row) {
	f.Clock = of.Clock
	p := FallPart{Kind: "median", BaseNS: int64(math.Round(*of.Base)) - f.BaseNS, NewNS: int64(math.Round(*of.New)) - f.NewNS}
	if of.Clock == Unprofiled {
		p.Kind = "unprofiled"
	}
	if p.BaseNS != 0 || p.NewNS != 0 {
		f.add(p)
	}
}

// closing tells the part that close added.
func (p *FallPart) closing() bool { return p.Kind == "median" || p.Kind == "unprofiled" }

// A partKey names a part by its kind and ID, as FallPart has them.
type partKey struct{ kind, id string }

// fallOf divides what the sums of both sides are; false where a side has none.
func fallOf(of string, base, fresh []Run, sums func([]Run) (map[partKey]int64, bool)) (Fall, bool) {
	a, okA := sums(base)
	b, okB := sums(fresh)
	if !okA || !okB {
		return Fall{}, false
	}
	return fall(of, means(a, len(base)), means(b, len(fresh))), true
}

// splitFall divides wall time into busy and idle parts.
func splitFall(of string, base, fresh []Run, split func(*analysis.Result) map[partKey]int64) (Fall, bool) {
	return fallOf(of, base, fresh, func(side []Run) (map[partKey]int64, bool) { return sumSplits(side, split) })
}

// fall joins the parts of both sides; one that a side lacks is 0 there.
func fall(of string, a, b map[partKey]int64) Fall {
	f := Fall{Of: of, Parts: []FallPart{}}
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	for _, k := range sortedParts(keys) {
		f.add(FallPart{Kind: k.kind, Name: k.id, BaseNS: a[k], NewNS: b[k]})
	}
	f.sort()
	return f
}

// sortedParts make falls the same in every run.
func sortedParts(of map[partKey]int64) []partKey {
	return slices.SortedFunc(maps.Keys(of), func(x, y partKey) int { return cmp.Or(cmp.Compare(x.kind, y.kind), cmp.Compare(x.id, y.id)) })
}

// add keeps BaseNS and NewNS the sums of the parts.
func (f *Fall) add(p FallPart) {
	p.DeltaNS = p.NewNS - p.BaseNS
	f.BaseNS += p.BaseNS
	f.NewNS += p.NewNS
	f.Parts = append(f.Parts, p)
}

// Summed are the largest parts, one part of kind others that sums the remaining
// ones, what leads from them to the total, and one of kind sum with the total.
func (f *Fall) Summed(most int) []FallPart {
	parts, last := f.Parts, []FallPart{}
	if n := len(parts); n > 0 && parts[n-1].closing() {
		parts, last = parts[:n-1], parts[n-1:]
	}
	out := slices.Clone(parts[:min(most, len(parts))])
	rest := FallPart{Kind: "others"}
	for _, p := range parts[len(out):] {
		rest.BaseNS, rest.NewNS, rest.DeltaNS = rest.BaseNS+p.BaseNS, rest.NewNS+p.NewNS, rest.DeltaNS+p.DeltaNS
	}
	if len(parts) > len(out) {
		out = append(out, rest)
	}
	return append(append(out, last...), FallPart{Kind: "sum", BaseNS: f.BaseNS, NewNS: f.NewNS, DeltaNS: f.NewNS - f.BaseNS})
}

// sort puts the largest changes first, in either direction; equal ones keep their order.
func (f *Fall) sort() {
	slices.SortStableFunc(f.Parts, func(x, y FallPart) int { return cmp.Compare(abs(y.DeltaNS), abs(x.DeltaNS)) })
}

// abs is not for the smallest int64, which no time is.
func abs(x int64) int64 { return max(x, -x) }

// wholeSplit are the parts of the scope, or of the whole timeline; nil without them.
func wholeSplit(r *analysis.Result) map[partKey]int64 {
	s := r.Totals.Split
	if r.Scope != nil && r.Scope.Split != nil {
		s = r.Scope.Split
	}
	if s == nil {
		return nil
	}
	return splitParts(s)
}

// stageSplit are the parts of one pass of a stage; nil without a timeline.
func stageSplit(r *analysis.Result, name string) map[partKey]int64 {
	for i := range r.Stages {
		if st := &r.Stages[i]; st.Name == name && st.Split.WallNS > 0 {
			return means(splitParts(&st.Split), max(st.Passes, 1))
		}
	}
	return nil
}

// passSplit are the parts of one pass through all stages; nil where a stage has none.
func passSplit(r *analysis.Result) map[partKey]int64 {
	sums := map[partKey]int64{}
	for i := range r.Stages {
		parts := stageSplit(r, r.Stages[i].Name)
		if parts == nil {
			return nil
		}
		for k, ns := range parts {
			sums[k] += ns
		}
	}
	return sums
}

// splitParts are the parts of a split, which add up to its wall time.
func splitParts(s *analysis.Split) map[partKey]int64 {
	parts, left := map[partKey]int64{}, s.WallNS
	for _, p := range s.Busy {
		parts[partKey{"busy", p.ID}] += p.NS
		left -= p.NS
	}
	for _, p := range s.Idle {
		parts[partKey{"idle", p.ID}] += p.NS
		left -= p.NS
	}
	if left != 0 { // rounding of concurrent work that is shared out
		parts[partKey{"busy", "rest"}] += left
	}
	return parts
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

// sumSplits adds the parts of all runs, in ns; false where one has none, since the mean of the
// others would be of other runs than the row.
func sumSplits(side []Run, split func(*analysis.Result) map[partKey]int64) (map[partKey]int64, bool) {
	sums := map[partKey]int64{}
	for _, r := range side {
		if r.Result == nil {
			return nil, false
		}
		parts := split(r.Result)
		if parts == nil {
			return nil, false
		}
		for k, ns := range parts {
			sums[k] += ns
		}
	}
	return sums, true
}

// means divides sums by n so that the results add up to the rounded total: what
// rounding down leaves goes to those that lost most.
func means(sums map[partKey]int64, n int) map[partKey]int64 {
	out, total, given := map[partKey]int64{}, int64(0), int64(0)
	keys := sortedParts(sums)
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

// floorDiv rounds toward minus infinity; b is positive.
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
	p.LaunchesNS, p.DurationNS = &launches, new(p.NewNS-p.BaseNS-launches)
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

// gpuTime is that of the scope where there is one, in ns.
func gpuTime(r *analysis.Result) int64 {
	if r.Scope != nil {
		return r.Scope.KernelNS
	}
	return r.Totals.KernelNS
}

// operatorSums divides the GPU time of the whole timeline by the innermost range, mostly an
// operator, that launched it. It reports false where a run has no ranges of operators.
func operatorSums(side []Run) (map[partKey]int64, bool) {
	sums := map[partKey]int64{}
	for _, r := range side {
		if r.Result == nil || len(ownByOperator(r.Result)) == 0 {
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
