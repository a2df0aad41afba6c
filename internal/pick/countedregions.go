package pick

import (
	"cmp"
	"slices"

	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/timeline"
)

// CountedRegions makes a report of regions from results of ncu alone, by the
// ranges that were open around each. Launches, instances and times are those
// under ncu: what it did not count is not known, so that coverage is of what it
// counted.
func CountedRegions(results []Counted, o RegionOptions) *RegionReport {
	j := &joiner{o: o, results: results, units: map[string]string{}, stands: &representation{}}
	for i := range results {
		j.stands.where = append(j.stands.where, results[i].Enclosing())
	}
	j.take()
	order, launches := j.openRegions()
	out := []Region{}
	for _, key := range order {
		r := key.region()
		of := launches[key]
		if len(of.all) > 0 {
			r.Parts = []RegionPart{{Inclusive: j.sumCounted(of.all), Exclusive: j.sumCounted(of.own)}}
		}
		r.Instances = of.ranges
		j.whole(&r, of.graphs)
		j.judge(&r, len(of.all), 0)
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(x, y Region) int { return cmp.Or(cmp.Compare(x.Path, y.Path), cmp.Compare(x.Style, y.Style)) })
	return &RegionReport{Regions: out}
}

// An openRegion is a region that was open around a result of ncu.
type openRegion struct {
	path, name, domain, parent string
	depth                      int
	kind                       timeline.RangeKind
}

// region is the row of a region that only counted launches tell of: it has no times.
func (k openRegion) region() Region {
	style := k.kind.String()
	return Region{Path: k.path, Name: k.name, Domain: k.domain, Style: style, Parent: k.parent, Depth: k.depth, Parts: []RegionPart{}}
}

// insideRegion are the results inside a region, by index: launches with and
// without those of nested regions, and how many ranges and graphs.
type insideRegion struct {
	all, own       []int
	ranges, graphs int
}

// openRegions lists the regions around the results, in the order of the results,
// each after the one that it is nested in.
func (j *joiner) openRegions() ([]openRegion, map[openRegion]*insideRegion) {
	var order []openRegion
	inside := map[openRegion]*insideRegion{}
	add := func(result int, key openRegion, innermost bool) {
		in := inside[key]
		if in == nil {
			in = &insideRegion{}
			inside[key] = in
			order = append(order, key)
		}
		switch c := &j.results[result]; {
		case c.Graph:
			in.graphs++
		case c.Whole && innermost:
			in.ranges++
		case !c.Whole:
			in.all = append(in.all, result)
			if innermost {
				in.own = append(in.own, result)
			}
		}
	}
	for i := range j.results {
		state := &j.results[i].State
		for _, stack := range state.Stacks {
			parent := ""
			for depth, r := range stack {
				key := openRegion{nvtx.Path(stack[:depth+1]), r.Name, r.Domain, parent, depth, timeline.PushPop}
				add(i, key, depth == len(stack)-1)
				parent = key.path
			}
		}
		for _, r := range state.Open {
			add(i, openRegion{nvtx.Path([]nvtx.Range{r}), r.Name, r.Domain, "", 0, timeline.StartEnd}, true)
		}
	}
	return order, inside
}

// sumCounted adds up counted launches; each stands for itself alone.
func (j *joiner) sumCounted(list []int) RegionSums {
	s := RegionSums{Launches: len(list)}
	groups := map[looseKey]bool{}
	for _, i := range list {
		c := &j.results[i]
		s.KernelNS += c.DurationNS
		groups[looseKey{cmp.Or(c.Demangled, c.Function, c.Mangled), c.Grid, c.Block}] = true
	}
	s.CountedGroups, s.CountedNS = len(groups), s.KernelNS
	if len(list) > 0 {
		s.Coverage = 1
	}
	s.Metrics = j.metricsOf(list, len(list))
	return s
}
