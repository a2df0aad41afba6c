package analysis

import (
	"cmp"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/gpu"
	"github.com/deepprof/deepprof/internal/pick"
)

// timesOfNcu is Region.Times where there is no timeline.
const timesOfNcu = "ncu"

// regionsOfNcu makes regions of the ranges around what ncu counted, where there
// is no timeline.
func (cr *counterReader) regionsOfNcu() {
	if len(cr.counted)+len(cr.ranges) == 0 {
		return
	}
	report := pick.CountedRegions(cr.results(), pick.RegionOptions{Metrics: regionMetrics, Aggregate: true})
	if len(report.Regions) == 0 {
		return
	}
	cr.regions = report
	cr.ncuRegionRows(report)
	cr.ncuTopKernels()
	if cr.in.onlyCounters() {
		cr.notes.lackInstead(NoTimeline, fact.New(NoTimeline, fact.IDs("unknown", "quantity", []string{"times", "stages", "gaps"})))
	}
	cr.notes.lack(regionsUnderNcu, cr.underNcu(cr.made.Method.Commands)...)
}

// ncuRegionRows appends a row for each region of the reports; parents come first, as
// pick lists them.
func (cr *counterReader) ncuRegionRows(report *pick.RegionReport) {
	place := map[regionRef]int{}
	for i := range report.Regions {
		r := &report.Regions[i]
		out := Region{
			Path: r.Path, Name: r.Name, Parent: -1, Depth: r.Depth, Style: strings.ToLower(r.Style), Domain: r.Domain,
			Instances: int64(r.Instances), Times: timesOfNcu, Split: Split{Busy: []TimePart{}, Idle: []TimePart{}},
		}
		if parent, ok := place[regionRef{r.Parent, r.Domain, r.Style}]; ok && r.Parent != "" {
			out.Parent = parent
		}
		if r.Whole != nil {
			out.ProjectedNS = r.Whole.NS
		}
		for _, p := range r.Parts {
			out.Kernels, out.KernelNS = int64(p.Inclusive.Launches), p.Inclusive.KernelNS
			out.SelfKernels, out.SelfNS = int64(p.Exclusive.Launches), p.Exclusive.KernelNS
		}
		place[regionRef{r.Path, r.Domain, r.Style}] = len(cr.made.Regions)
		cr.made.Regions = append(cr.made.Regions, out)
	}
}

// ncuTopKernels names the kernels of each region by the time of their counted
// launches under ncu.
func (cr *counterReader) ncuTopKernels() {
	byPath := map[string][]int{}
	for i := range cr.made.Regions {
		byPath[cr.made.Regions[i].Path] = append(byPath[cr.made.Regions[i].Path], i)
	}
	for k := range cr.made.Kernels {
		sums := map[int]*RegionKernel{}
		for _, l := range cr.launches[k] {
			c := pick.FromResult(l.res)
			for path := range c.Enclosing() {
				for _, i := range byPath[path] {
					sum := entry(sums, i)
					sum.Kernel = k
					sum.Calls++
					sum.NS += int64(l.durationNS())
				}
			}
		}
		for i, row := range sums {
			cr.made.Regions[i].Top = append(cr.made.Regions[i].Top, *row)
		}
	}
	for i := range cr.made.Regions {
		cr.made.Regions[i].Top = mostTime(cr.made.Regions[i].Top)
	}
}

// judgeRanges decides what limits each region that ncu measured as a whole, and
// places it on the roofline: by its range of median duration.
func (j *judgment) judgeRanges() {
	byPath := map[string][]*launch{}
	for _, l := range j.ranges {
		c := pick.FromResult(l.res)
		if c.Graph {
			continue
		}
		for _, path := range c.Paths() {
			byPath[path] = append(byPath[path], l)
		}
	}
	placed := 0
	for i := range j.made.Regions {
		r := &j.made.Regions[i]
		list := byPath[r.Path]
		if len(list) == 0 || r.Counters == nil || r.Counters.Method == "kernel" {
			continue
		}
		l := typicalLaunch(list, 0)
		r.Counters.Limiter = new(decide(l))
		flops, bytes := l.limits()
		r.Counters.Point = l.counts().points(flops, bytes) // they name no kernel
		if len(r.Counters.Point) > 0 {
			placed++
		}
	}
	if roof := &j.made.Roofline; placed > 0 && roof.Why.Is(codeNoRoofRanges) {
		roof.Why = fact.New(codeRoofOfRanges, fact.Count("n", placed))
	}
}

// points has one for each type that was computed in and each memory level that
// was counted.
func (d *done) points(flops map[gpu.DType]limit, bytes map[string]limit) []Point {
	var total float64
	for _, n := range d.flops {
		total += n
	}
	var list []Point
	for _, dtype := range gpu.DTypes {
		n := d.flops[dtype]
		roof, ok := flops[dtype]
		if !ok || n < minorShare*total || n == 0 {
			continue
		}
		for _, level := range levels {
			moved := d.bytes[level]
			bandwidth, ok := bytes[level]
			if !ok || moved <= 0 {
				continue
			}
			p := Point{DType: string(dtype), Memory: level, Intensity: n / moved, FLOPS: n / d.seconds, NS: int64(d.seconds * 1e9)}
			p.Attained = p.FLOPS / min(roof.rate, p.Intensity*bandwidth.rate)
			list = append(list, p)
		}
	}
	return list
}

// findRanges tells what limits the regions that were measured as a whole, the
// longest first, where no timeline says more.
func (cn *conclusion) findRanges() {
	if cn.tl != nil {
		return
	}
	var list []*Region
	for i := range cn.res.Regions {
		if c := cn.res.Regions[i].Counters; c != nil && c.Limiter != nil && c.Limiter.Kind != "" {
			list = append(list, &cn.res.Regions[i])
		}
	}
	slices.SortStableFunc(list, func(x, y *Region) int { return cmp.Compare(y.ProjectedNS, x.ProjectedNS) })
	for _, r := range list[:min(len(list), 3)] {
		l := r.Counters.Limiter
		cn.find("region-"+r.Path, weightMedium, codeRegionLimited, fact.Region("region", r.Path), l.param("limiter"), fact.ID("kind", "limits", l.Kind), fact.Because("why", l.Why...),
			fact.Count("ranges", r.Instances), fact.NS("ns", r.ProjectedNS))
	}
}

// param names what limits; the limiter has a kind.
func (l *Limiter) param(key string) fact.Param {
	if len(l.Units) > 0 {
		return fact.IDs(key, "unit", l.Units)
	}
	return fact.ID(key, "limiter", l.Kind)
}

// results are launches and ranges, in this order, in the form that package pick takes them.
func (c *counters) results() (list []pick.Counted) {
	for _, l := range slices.Concat(c.counted, c.ranges) {
		r := pick.FromResult(l.res)
		r.Report = l.report
		list = append(list, r)
	}
	return list
}

// measured are the launches with counters, or the ranges where no launch has.
func (c *counters) measured() []*launch {
	if len(c.counted) > 0 {
		return c.counted
	}
	return c.ranges
}
