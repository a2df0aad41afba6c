package analysis

import (
	"cmp"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/timeline"
)

// groupRegions sums the regions that repeat each other under one name, with the
// distribution of their instances.
func (tr *timelineReader) groupRegions() {
	type key struct{ group, domain, style string }
	members := map[key][]int{}
	var order []key
	for i := range undivided(tr.made.Regions) {
		r := &tr.made.Regions[i]
		k := key{r.Group, r.Domain, r.Style}
		if members[k] == nil {
			order = append(order, k)
		}
		members[k] = append(members[k], i)
	}
	order = slices.DeleteFunc(order, func(k key) bool { return len(members[k]) < 2 })
	if len(order) == 0 {
		return
	}
	rows := map[key]timeline.RegionRow{}
	for _, r := range tr.tl.at.RegionRows(timeline.Query{Grouped: true}).Rows {
		rows[key{r.Group, r.Domain, strings.ToLower(r.Style)}] = r
	}
	for _, k := range order {
		if row, ok := rows[k]; ok {
			tr.made.RegionGroups = append(tr.made.RegionGroups, tr.regionGroup(&row, members[k]))
		}
	}
}

// regionGroup is one row of a group; the times of its instances are of all of them,
// also of those that the result does not list.
func (tr *timelineReader) regionGroup(row *timeline.RegionRow, members []int) Region {
	first := &tr.made.Regions[members[0]]
	ids := make([]uint32, len(members))
	out := Region{
		Path: row.Path, Name: row.Path, Parent: -1, Depth: first.Depth, Style: first.Style, Domain: first.Domain, Source: first.Source, Group: row.Group, Members: members,
		Instances: row.Instances, WallNS: row.RangeNS, ProjectedNS: row.ProjectedNS,
		Kernels: row.KernelCalls, KernelNS: row.InclusiveNS, SelfKernels: row.ExclusiveCalls, SelfNS: row.ExclusiveNS,
		Synchronous: synchronous(row.GPUOps+row.GraphLaunches, row.Async), AsyncInstances: row.Async,
		MinNS: row.MinNS, MedianNS: row.MedianNS, MaxNS: row.MaxNS, Outliers: row.Outliers,
	}
	top := map[int]*RegionKernel{}
	longest := int64(-1)
	for n, i := range members {
		r := &tr.made.Regions[i]
		ids[n] = tr.made.Regions[i].id
		if r.MaxNS > longest {
			longest, out.Slowest = r.MaxNS, r.Path
		}
		if r.ScopeNS != nil {
			out.ScopeNS = new(*r.ScopeNS + *cmp.Or(out.ScopeNS, new(int64)))
		}
		for _, k := range r.Top {
			sum := entry(top, k.Kernel)
			sum.Kernel = k.Kernel
			sum.Calls, sum.NS = sum.Calls+k.Calls, sum.NS+k.NS
			sum.OwnCalls, sum.OwnNS = sum.OwnCalls+k.OwnCalls, sum.OwnNS+k.OwnNS
		}
	}
	out.Split = tr.tl.split(tr.tl.splitOf(ids, workKey{-1, -1}, row.Async > 0))
	if row.Async > 0 {
		out.Lead = tr.tl.leadOf(ids, workKey{-1, -1})
	}
	for _, k := range top {
		out.Top = append(out.Top, *k)
	}
	out.Top = mostTime(out.Top)
	return out
}

// deriveGroup fills what follows from the members of a group.
func (r *Result) deriveGroup(g *Region) {
	var covered float64
	var all int64
	g.Coverage = nil
	for _, i := range g.Members {
		if m := &r.Regions[i]; m.Coverage != nil {
			covered += *m.Coverage * float64(m.KernelNS)
			all += m.KernelNS
		}
	}
	if all > 0 && g.KernelNS > 0 {
		g.Coverage = new(covered / float64(g.KernelNS))
	}
	r.deriveRegion(g)
}

// RegionLines are the regions as tables show them: those of one group in one line.
// Parent is the index among the lines, and parents come first.
// The rows are copies; Name is the path below the line that holds it.
func (r *Result) RegionLines() []Region {
	groupOf := map[int]int{}
	for n := range r.RegionGroups {
		for _, i := range r.RegionGroups[n].Members {
			groupOf[i] = n
		}
	}
	var lines []Region
	line := make([]int, len(r.Regions)) // of each region
	ofGroup := map[int]int{}
	for i := range r.Regions {
		n, grouped := groupOf[i]
		if at, ok := ofGroup[n]; grouped && ok {
			line[i] = at
			continue
		}
		x := r.Regions[i]
		if grouped {
			x = r.RegionGroups[n]
			ofGroup[n] = len(lines)
		}
		if p := r.Regions[i].Parent; p >= 0 && p < i {
			x.Parent = line[p]
			x.Name = strings.TrimPrefix(x.Path, lines[x.Parent].Path+"/") // with its domain
		} else {
			x.Parent = -1
		}
		line[i] = len(lines)
		lines = append(lines, x)
	}
	return lines
}
