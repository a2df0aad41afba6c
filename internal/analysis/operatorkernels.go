package analysis

import (
	"cmp"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/cxx"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/workload"
)

// maxOperatorKernels bounds the kernels that an operator of the result names.
const maxOperatorKernels = 4

// A linker finds the kernels of operators among those of the result. torch and
// Nsight spell one kernel in two ways: torch as the demanglers of Linux do, with
// all types written out, Nsight as the CUDA compiler does, with T1 and (int)4. The
// mangled name, which Nsight has too, gives torch's spelling.
type linker struct {
	// kernels of the result; all maps have indexes into it.
	kernels []Kernel
	counted bool             // any kernel was
	exact   map[string][]int // by name and mangled name
	spelled map[string][]int // by what the mangled name says, without blanks
	short   map[string][]int // by short name: kernels without a mangled name
	torch   map[string]int   // names of torch that have a short name
	found   map[string][]int
}

// newLinker is nil where the recording has no links.
func (or *operatorReader) newLinker(rows []workload.Operator) *linker {
	if !slices.ContainsFunc(rows, func(r workload.Operator) bool { return r.Kernels != nil }) {
		return nil
	}
	l := &linker{kernels: or.res.Kernels, counted: len(or.counted) > 0, exact: map[string][]int{}, spelled: map[string][]int{}, short: map[string][]int{},
		torch: map[string]int{}, found: map[string][]int{}}
	spellings := map[string]string{}
	for i := range l.kernels {
		k := &l.kernels[i]
		l.exact[k.Name] = append(l.exact[k.Name], i)
		if k.Mangled == "" || k.Mangled == k.Name {
			l.short[k.Short] = append(l.short[k.Short], i)
			continue
		}
		l.exact[k.Mangled] = append(l.exact[k.Mangled], i)
		s, ok := spellings[k.Mangled]
		if !ok {
			s = spelling(k.Mangled)
			spellings[k.Mangled] = s
		}
		l.spelled[s] = append(l.spelled[s], i)
	}
	seen := map[string]bool{}
	for _, r := range rows {
		for _, k := range r.Kernels {
			if !seen[k.Name] {
				seen[k.Name] = true
				l.torch[cxx.Short(k.Name)]++
			}
		}
	}
	return l
}

// spelling is a name without the blanks in which demanglers differ.
func spelling(name string) string {
	return strings.Join(strings.Fields(cxx.Demangle(name)), "")
}

// rows are the kernels of a name, one for each grid, those of the timeline where
// it has any. A short name alone decides only where it stands for one kernel on
// both sides and there is nothing better.
func (l *linker) rows(name string) []int {
	if list, ok := l.found[name]; ok {
		return list
	}
	list := l.exact[name]
	if len(list) == 0 {
		list = l.spelled[spelling(name)]
	}
	if short := cxx.Short(name); len(list) == 0 && l.torch[short] == 1 {
		list = l.short[short]
		if slices.ContainsFunc(list, func(i int) bool { return l.kernels[i].Name != l.kernels[list[0]].Name }) {
			list = nil
		}
	}
	if timed := slices.DeleteFunc(slices.Clone(list), func(i int) bool { return l.kernels[i].TotalNS <= 0 }); len(timed) > 0 {
		list = timed
	}
	l.found[name] = list
	return list
}

// weight is what a grid counts for among those of the same name: its GPU time, else that under
// ncu; never 0.
func (l *linker) weight(i int) float64 {
	k := &l.kernels[i]
	switch {
	case k.TotalNS > 0:
		return float64(k.TotalNS)
	case k.Counted != nil && k.Counted.DurationNS > 0:
		return k.Counted.DurationNS
	}
	return 1
}

// link tells an operator its kernels, what holds most of them back, and, where it
// launches nothing itself, what runs for it.
func (l *linker) link(o *Operator, r *workload.Operator) {
	if l == nil || len(r.Kernels) == 0 {
		return
	}
	links := slices.Clone(r.Kernels)
	slices.SortStableFunc(links, func(x, y workload.OperatorKernel) int { return cmp.Compare(y.US, x.US) })
	var rest OperatorRest
	if m := r.KernelsMore; m != nil {
		rest = *m
	}
	o.Limiter = l.limiter(links, rest.US)
	o.Kernels = nil
	for i, k := range links {
		if i >= maxOperatorKernels {
			rest.Kernels++
			rest.Calls += k.Calls
			rest.US += k.US
			continue
		}
		row := OperatorKernel{Name: cxx.Short(k.Name), Calls: k.Calls, US: k.US, Own: k.Own, By: k.By}
		if list := l.rows(k.Name); len(list) > 0 {
			main := slices.MaxFunc(list, func(x, y int) int { return cmp.Compare(l.weight(x), l.weight(y)) })
			row.Kernel = l.kernels[main].ID
		}
		o.Links = append(o.Links, row)
		if !slices.Contains(o.Kernels, row.Name) {
			o.Kernels = append(o.Kernels, row.Name)
		}
	}
	if rest != (OperatorRest{}) {
		o.LinksMore = &rest
	}
	if o.SelfDeviceUS == 0 && o.TotalDeviceUS > 0 {
		o.Why = o.through()
	}
}

// through is what runs for an operator that launches nothing itself.
func (o *Operator) through() fact.Fact {
	main, total, others := &o.Links[0], 0.0, int64(len(o.Links)-1)
	for i := range o.Links {
		total += o.Links[i].US
	}
	if m := o.LinksMore; m != nil {
		total, others = total+m.US, others+m.Kernels
	}
	params := []fact.Param{fact.Kernel("kernel", main.Name)}
	if main.By != "" {
		params = append(params, fact.Name("by", main.By))
	}
	if total > 0 && others > 0 {
		params = append(params, fact.Share("share", main.US/total), fact.Count("more", others))
	}
	return fact.New(operatorThrough, params...)
}

// limiter is what holds back more of the time of the kernels than anything else. The time of a name
// with several grids is divided as it is in the timeline, because torch does not
// tell grids apart.
func (l *linker) limiter(links []workload.OperatorKernel, rest float64) *OperatorLimiter {
	var sums []RegionLimiter
	total, told, found, copies := rest, 0.0, 0.0, 0.0
	for _, k := range links {
		total += k.US
		if strings.HasPrefix(k.Name, "Memcpy ") || strings.HasPrefix(k.Name, "Memset ") { // torch's names of copies and fills
			copies += k.US
			continue
		}
		list := l.rows(k.Name)
		whole := 0.0
		for _, i := range list {
			whole += l.weight(i)
		}
		for _, i := range list {
			part := k.US * l.weight(i) / whole
			found += part
			if v := &l.kernels[i].Limiter; v.Kind != "" {
				told += part
				sums = addLimiter(sums, v, part)
			}
		}
	}
	best := largestLimiter(sums)
	if best.Kind == "" || total <= 0 {
		return &OperatorLimiter{Why: l.abstain(total, found, copies)}
	}
	return &OperatorLimiter{Kind: best.Kind, Units: best.Units, Share: min(1, best.Share/total), Coverage: min(1, told/total)}
}

// abstain is why the kernels of an operator have no verdict together.
func (l *linker) abstain(total, found, copies float64) fact.Fact {
	switch {
	case total <= 0:
		return fact.New(codeOpNoTime)
	case copies >= total:
		return fact.New(codeOpCopies)
	case len(l.kernels) == 0:
		return fact.New(codeOpNothing)
	case found == 0:
		return fact.New(codeOpNotSeen)
	case !l.counted:
		return fact.New(codeOpNotCounted)
	}
	return fact.New(codeOpNoVerdict)
}
