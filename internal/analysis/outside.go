package analysis

import (
	"fmt"
	"slices"
	"strings"
)

// farOutside is the share of the timeline outside the stages that is told.
const farOutside = 0.5

// findOutside tells when most of the timeline is no part of a stage. A scope says
// itself what lies outside.
func (a *analyzer) findOutside() {
	wall := a.res.Totals.WallNS
	if a.tl == nil || a.scope != nil || a.res.Totals.Split == nil || wall <= 0 || len(a.res.Stages) == 0 || len(a.stageRegions[0]) == 0 {
		return
	}
	inside := a.tl.union(slices.Concat(a.stageRegions...), -1)
	outside := wall - inside
	if float64(outside) < farOutside*float64(wall) {
		return
	}
	var names []string
	var kernels int64
	for i := range a.res.Stages {
		names = append(names, a.res.Stages[i].Name)
	}
	for i := range a.res.Kernels {
		k := &a.res.Kernels[i]
		kernels += k.TotalNS
		for _, s := range k.Stages {
			kernels -= s.NS
		}
	}
	text := fmt.Sprintf("%s of the timeline (%s of %s) lies outside the stages (%s)", shareOf(outside, wall), duration(outside), duration(wall), strings.Join(names, ", "))
	if kernels > 0 {
		text += fmt.Sprintf(", with %s of kernel time", duration(kernels))
	}
	if r := a.largestOutside(); r != nil {
		text += fmt.Sprintf("; the largest region there is %s with %s", r.Path, duration(r.WallNS))
		if r.Split.LaunchBound {
			text += ", launch-bound"
		}
	}
	are := strings.Join(names, " or ")
	if len(names) > 3 {
		are = "any of the stages"
	}
	a.find("outside-stages", weightLow, text+". Savings are held against the whole timeline.",
		fmt.Sprintf("%s of the recorded time is not %s but what comes before, between and after, such as starting, loading and warming up.", shareOf(outside, wall), are))
}

// largestOutside is the outermost region of the most time that is no stage and
// neither in one nor around one; nil without one.
func (a *analyzer) largestOutside() *Region {
	var best *Region
	for i := range a.regionIDs {
		r := &a.res.Regions[i]
		related := slices.ContainsFunc(a.res.Stages, func(s Stage) bool {
			return slices.ContainsFunc(s.paths(), func(p string) bool {
				return p == r.Path || strings.HasPrefix(p, r.Path+"/") || strings.HasPrefix(r.Path, p+"/")
			})
		})
		if !related && (best == nil || r.WallNS > best.WallNS) {
			best = r
		}
	}
	return best
}

// findCleanTimes speaks of what the workload measured of itself where there is
// no timeline.
func (a *analyzer) findCleanTimes() {
	var parts []string
	var total float64
	for i := range a.res.Stages {
		if ms := a.res.Stages[i].CleanMS; ms != nil {
			parts = append(parts, fmt.Sprintf("%s %s", a.res.Stages[i].Name, duration(int64(*ms*1e6))))
			total += *ms
		}
	}
	if len(parts) > 0 {
		text := fmt.Sprintf("One pass takes %s without a profiler: %s.", duration(int64(total*1e6)), strings.Join(parts, ", "))
		a.find("clean-times", weightMedium, text, text)
	}
	var self float64
	var best *Operator
	device := slices.ContainsFunc(a.res.Operators, func(o Operator) bool { return o.SelfDeviceUS > 0 })
	where := "the CPU"
	if device {
		where = "the GPU"
	}
	for i := range a.res.Operators {
		o := &a.res.Operators[i]
		self += o.self(device)
		if best == nil || o.self(device) > best.self(device) {
			best = o
		}
	}
	if best != nil && self > 0 {
		text := fmt.Sprintf("Of the operators, %s takes the most time of its own on %s: %s of %s (%.0f %%), in %d calls.", best.Name, where,
			duration(int64(best.self(device)*1e3)), duration(int64(self*1e3)), best.self(device)/self*100, best.Calls)
		a.find("largest-operator", weightLow, text, text)
	}
}

// self is the time of an operator without those that it calls.
func (o *Operator) self(device bool) float64 {
	if device {
		return o.SelfDeviceUS
	}
	return o.SelfCPUUS
}
