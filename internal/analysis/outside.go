package analysis

import (
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
)

// farOutside is the share of the timeline outside the stages that is told.
const farOutside = 0.5

// findOutside tells when most of the timeline is no part of a stage. A scope says
// itself what lies outside.
func (cn *conclusion) findOutside() {
	wall := cn.res.Totals.WallNS
	if cn.tl == nil || cn.tl.scope != nil || cn.res.Totals.Split == nil || wall <= 0 || len(cn.res.Stages) == 0 || len(cn.res.Stages[0].ids) == 0 {
		return
	}
	inside := cn.tl.union(cn.res.stageIDs(), -1)
	outside := wall - inside
	if float64(outside) < farOutside*float64(wall) {
		return
	}
	var names []string
	var kernels int64
	for i := range cn.res.Stages {
		names = append(names, cn.res.Stages[i].Name)
	}
	for i := range cn.res.Kernels {
		k := &cn.res.Kernels[i]
		kernels += k.TotalNS
		for _, s := range k.Stages {
			kernels -= s.NS
		}
	}
	params := []fact.Param{fact.Share("share", ratio(outside, wall)), fact.NS("outside", outside), fact.NS("of", wall), fact.Names("stages", fact.KindStage, names)}
	if kernels > 0 {
		params = append(params, fact.NS("gpu_time", kernels))
	}
	if r := cn.largestOutside(); r != nil {
		params = append(params, fact.Region("region", r.Path), fact.NS("region_ns", r.WallNS))
		if r.Split.LaunchBound {
			params = append(params, fact.ID("region_bound", "bound", "launch"))
		}
	}
	cn.find("outside-stages", weightLow, codeOutsideStages, params...)
}

// largestOutside is the outermost region of the most time that is no stage and
// neither in one nor around one; nil without one.
func (cn *conclusion) largestOutside() *Region {
	var best *Region
	regions := undivided(cn.res.Regions)
	for i := range regions {
		r := &regions[i]
		related := slices.ContainsFunc(cn.res.Stages, func(s Stage) bool {
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
func (cn *conclusion) findCleanTimes() {
	var parts []fact.Fact
	var total float64
	for i := range cn.res.Stages {
		if ms := cn.res.Stages[i].CleanMS; ms != nil {
			parts = append(parts, fact.New(codeStageTime, cn.res.Stages[i].param(), fact.NS("ns", *ms*1e6)))
			total += *ms
		}
	}
	if len(parts) > 0 {
		cn.find("clean-times", weightMedium, codeCleanTimes, fact.NS("total", total*1e6), fact.Because("times", parts...))
	}
	var self float64
	var best *Operator
	device := slices.ContainsFunc(cn.res.Operators, func(o Operator) bool { return o.SelfDeviceUS > 0 })
	where := "cpu"
	if device {
		where = "gpu"
	}
	for i := range cn.res.Operators {
		o := &cn.res.Operators[i]
		self += o.selfUS(!device)
		if best == nil || o.selfUS(!device) > best.selfUS(!device) {
			best = o
		}
	}
	if best != nil && self > 0 {
		own := best.selfUS(!device)
		cn.find("largest-operator", weightLow, codeLargestOperator, fact.Name("operator", best.Name), fact.ID("where", "where", where),
			fact.NS("ns", own*1e3), fact.NS("of", self*1e3), fact.Share("share", own/self), fact.Count("n", best.Calls))
	}
}
