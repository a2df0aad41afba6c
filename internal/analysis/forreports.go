package analysis

import (
	"cmp"
	"maps"
	"slices"
)

// What reports ask of a finished result: orders, sums and comparisons of what it holds.
// Reports print them; none of them changes a result.

// GPUs is how many GPUs the times of a result are added up over, at least 1.
func (r *Result) GPUs() int { return max(1, len(r.Totals.Devices)) }

// PerGPU is the mean over GPUs of a time in ns that is added up over them.
func (r *Result) PerGPU(ns int64) int64 { return ns / int64(r.GPUs()) }

// BusyRange is how busy the least and the most busy GPU are, as shares of the wall time;
// both nil where there is one GPU or no timeline.
func (r *Result) BusyRange() (least, most *float64) {
	list := r.Totals.Devices
	if len(list) < 2 || r.Totals.WallNS <= 0 {
		return nil, nil
	}
	byShare := func(x, y DeviceBusy) int { return cmp.Compare(*x.Share, *y.Share) }
	return slices.MinFunc(list, byShare).Share, slices.MaxFunc(list, byShare).Share
}

// HasTimes reports whether the timeline holds a launch of any kernel.
func (r *Result) HasTimes() bool {
	return slices.ContainsFunc(r.Kernels, func(k Kernel) bool { return !k.NoLaunch() })
}

// NoLaunch reports whether the timeline, or the scope, holds no launch of a kernel: its
// calls and times are then unknown, not 0.
func (k *Kernel) NoLaunch() bool { return k.Untimed || k.Calls == 0 }

// SharedBytes is the shared memory that a block takes.
func (k *Kernel) SharedBytes() int64 { return int64(k.StaticShared) + int64(k.DynamicShared) }

// CountedKernels is how many kernels have counters.
func (r *Result) CountedKernels() (n int) {
	for i := range r.Kernels {
		if r.Kernels[i].Counted != nil {
			n++
		}
	}
	return n
}

// TopRules are the rules of NVIDIA that report more than success, the largest promised speedup
// first and at most as many as asked for, and how many more there are. A promise about a part
// of the kernel comes after those about all of it.
func (c *Counted) TopRules(most int) (rules []RuleWords, more int) {
	rules = slices.DeleteFunc(slices.Clone(c.Rules), func(rule RuleWords) bool { return rule.Kind == "ok" })
	slices.SortStableFunc(rules, func(a, b RuleWords) int {
		switch {
		case a.Speedup == nil || b.Speedup == nil:
			return btoi(a.Speedup == nil) - btoi(b.Speedup == nil)
		case a.Local != b.Local:
			return btoi(a.Local) - btoi(b.Local)
		}
		return cmp.Compare(*b.Speedup, *a.Speedup)
	})
	shown := min(len(rules), most)
	return rules[:shown], len(rules) - shown
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// OperatorsByTotal orders operators by total device time, then by the CPU time of their
// own and name.
func (r *Result) OperatorsByTotal() []*Operator {
	return sorted(r.Operators, func(x, y *Operator) int {
		return cmp.Or(cmp.Compare(y.TotalDeviceUS, x.TotalDeviceUS), cmp.Compare(y.SelfCPUUS, x.SelfCPUUS), cmp.Compare(x.Name, y.Name))
	})
}

// OperatorsBySelf are those with device time of their own, most first.
func (r *Result) OperatorsBySelf() []*Operator {
	own := slices.DeleteFunc(r.OperatorsByTotal(), func(o *Operator) bool { return o.SelfDeviceUS <= 0 })
	slices.SortStableFunc(own, func(x, y *Operator) int { return cmp.Compare(y.SelfDeviceUS, x.SelfDeviceUS) })
	return own
}

// sorted are pointers to the elements of a list, which stays as it is.
func sorted[T any](list []T, order func(x, y *T) int) []*T {
	out := make([]*T, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	slices.SortStableFunc(out, order)
	return out
}

// ByTime orders regions by GPU time, then wall time; paths make the order total.
func ByTime(x, y *Region) int {
	return cmp.Or(cmp.Compare(y.KernelNS, x.KernelNS), cmp.Compare(y.WallNS, x.WallNS), cmp.Compare(x.Path, y.Path))
}

// RegionTree is the places in lines of the regions of all processes and devices, as they
// are nested: each before those inside it, siblings by ByTime. lines are RegionLines.
func RegionTree(lines []Region) (order []int) {
	children := map[int][]int{}
	for i := range lines {
		if g := &lines[i]; g.Process == nil && g.Device == nil {
			children[g.Parent] = append(children[g.Parent], i)
		}
	}
	var walk func(int)
	walk = func(parent int) {
		slices.SortStableFunc(children[parent], func(a, b int) int { return ByTime(&lines[a], &lines[b]) })
		for _, i := range children[parent] {
			order = append(order, i)
			walk(i)
		}
	}
	walk(-1)
	return order
}

// PartIDs are the IDs of the parts that any of some splits has, those that take the largest
// share of one of them first. of is Busy or Idle of a split.
func PartIDs(splits []*Split, of func(*Split) []TimePart) []string {
	most, first := map[string]float64{}, map[string]int{}
	for _, s := range splits {
		for _, p := range of(s) {
			if _, ok := first[p.ID]; !ok {
				first[p.ID] = len(first)
			}
			if p.Share != nil {
				most[p.ID] = max(most[p.ID], *p.Share)
			}
		}
	}
	return slices.SortedFunc(maps.Keys(first), func(x, y string) int { return cmp.Or(cmp.Compare(most[y], most[x]), first[x]-first[y]) })
}

// PartOf is the part of an ID; the zero value, without a share, where there is none.
func PartOf(parts []TimePart, id string) TimePart {
	for _, p := range parts {
		if p.ID == id {
			return p
		}
	}
	return TimePart{}
}

// SampledSum is the sum of the means of sampled counters, shares of what a unit can do; nil
// where none of them was sampled.
func (c *StepClass) SampledSum(metrics ...string) *float64 {
	var sum *float64
	for _, m := range c.Sampled {
		if slices.Contains(metrics, m.Metric) {
			if sum == nil {
				sum = new(float64)
			}
			*sum += m.Mean
		}
	}
	return sum
}

// SpanNS is the time of all steps of a class, by their mean.
func (c *StepClass) SpanNS() int64 { return int64(c.Time.Mean * float64(c.Steps)) }

// Unchanged reports whether a relative change is too small to be told from none: under
// half of what a tenth of a percent rounds to.
func Unchanged(change float64) bool { return change > -0.0005 && change < 0.0005 }

// Change is how much more than in the baseline the use of a stage is now, relative.
func (u *BaselineUse) Change(now float64) float64 { return now/u.Share - 1 }

// Above is by how much a layer took longer in a step than its median, in ns.
func (o *StripOutlier) Above() int64 { return o.NS - o.MedianNS }
