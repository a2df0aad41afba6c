package report

import (
	"slices"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
)

// A regionLine is a region of a result in a table, or a group of those that repeat
// each other.
type regionLine struct {
	analysis.Region
	// limiter is in words; "" where there is no verdict.
	limiter string
	outside bool   // of the scope
	partly  bool   // some region of the table lies in the scope in part
	folder  string // of its report; "" where there is none
}

// resultRegionView is the regions of a result. Rows overlap: a region holds those that are
// nested in it, so that only the column own adds up. The page, regions.md and the reports of
// single regions show parts of it.
var resultRegionView = View[regionLine]{
	Name: "result_regions", Order: Order{Key: "kernel_ns", Descending: true},
	Columns: []Column[regionLine]{
		{Key: "path", Title: "region", Format: Name, Value: func(g *regionLine) any { return g.Path }},
		{Key: "members", Priority: 5, Title: "regions", Help: "Regions whose names differ by a number alone, in one line", Unit: Count, Value: func(g *regionLine) any { return orNil(len(g.Members)) }},
		{Key: "process", Unit: Count, Value: func(g *regionLine) any { return g.Process }},
		{Key: "device", Unit: Count, Value: func(g *regionLine) any { return g.Device }},
		{Key: "instances", Priority: 2, Unit: Count, Value: func(g *regionLine) any { return g.Instances }},
		{Key: "wall_ns", Title: "wall, all instances", Help: "How long its ranges were open on the host, added up", Unit: Nanoseconds, Group: "wall", Value: func(g *regionLine) any { return g.WallNS }, Note: asyncNote},
		{Key: "median_ns", Priority: 3, Title: "median instance", Unit: Nanoseconds, Group: "instance", Value: func(g *regionLine) any { return g.several(g.MedianNS) }},
		{Key: "min_ns", Title: "fastest instance", Unit: Nanoseconds, Group: "instance", Value: func(g *regionLine) any { return g.several(g.MinNS) }},
		{Key: "max_ns", Priority: 4, Title: "slowest instance", Unit: Nanoseconds, Group: "instance", Value: func(g *regionLine) any { return g.several(g.MaxNS) }, Note: slowestNote},
		{Key: "outliers", Priority: 7, Help: "Instances that took more than twice the median", Unit: Count, Value: func(g *regionLine) any { return orNil(g.Outliers) }},
		{Key: "kernel_ns", Title: "GPU time", Help: "Of the kernels launched inside, with those of nested regions", Unit: Nanoseconds, Group: "gpu", Value: func(g *regionLine) any { return g.KernelNS }},
		{Key: "self_kernel_ns", Title: "own", Help: "GPU time outside nested regions", Unit: Nanoseconds, Group: "gpu", Value: func(g *regionLine) any { return g.SelfNS }},
		{Key: "scope_kernel_ns", Title: "GPU time in the scope", Unit: Nanoseconds, Group: "gpu", Value: func(g *regionLine) any { return g.ScopeNS }, Show: func(g *regionLine) any { return when(g.partly, g.ScopeNS) }},
		{Key: "share", Title: "of GPU time", Help: "Of the GPU time of the scope; of all where there is none", Unit: Share, Part: "scope_kernel_ns", Value: func(g *regionLine) any { return g.Region.Share }, Show: func(g *regionLine) any {
			if g.outside {
				return message.Phrase("outside-scope")
			}
			return scaled(g.Region.Share, 100)
		}},
		{Key: "kernels", Title: "launches", Unit: Count, Value: func(g *regionLine) any { return g.Kernels }},
		{Key: "limiter", Format: Words, Value: func(g *regionLine) any { return orNil(g.limiter) }},
		{Key: "measured", Title: "measured by", Format: Words, Detail: true, Value: func(g *regionLine) any { return orNil(g.how()) }, Note: func(g *regionLine) string {
			if g.Counters == nil {
				return message.Phrase("missing-line", whyNotCounted(&g.Region))
			}
			return ""
		}},
		{Key: "coverage", Priority: 6, Title: "counted, of GPU time", Help: "Share of the GPU time of the region whose kernels were counted", Unit: Share, Value: func(g *regionLine) any { return g.Coverage }, Note: func(g *regionLine) string {
			if g.Coverage == nil && g.Kernels > 0 {
				return message.Phrase("not-counted", whyNotCounted(&g.Region))
			}
			return ""
		}},
		{Key: "own_coverage", Title: "counted, of own", Unit: Share, Detail: true, Value: (*regionLine).ownCoverage},
		{Key: "report", Format: Link, Detail: true, Value: func(g *regionLine) any { return orNil(g.folder) }},
	},
}

// several hides the distribution of one instance.
func (g *regionLine) several(ns int64) any { return when(g.Instances > 1 && ns != 0, ns) }

// ownCoverage is a share of the GPU time outside nested regions; nil where launches in and
// outside nested regions are not told apart.
func (g *regionLine) ownCoverage() any {
	if g.Counters == nil || g.Counters.Exclusive == nil {
		return nil
	}
	return g.Counters.Exclusive.Coverage
}

// how says by which replay the region was counted; "" where it was not.
func (g *regionLine) how() string {
	if g.Counters == nil {
		return ""
	}
	return replayLabel(g.Counters.Method)
}

// asyncNote tells wall times that are the host's alone.
func asyncNote(g *regionLine) string {
	if g.Synchronous == nil || *g.Synchronous {
		return ""
	}
	lead, cause := "", ""
	if g.Lead != nil {
		lead, cause = elapsed(float64(g.Lead.NS)), message.Label("idle", g.Lead.Idle[0].ID)
	}
	return message.Phrase("region-not-synchronous", g.AsyncInstances, elapsed(float64(g.ProjectedNS)), lead, cause)
}

// slowestNote names the slowest instance where it stands out.
func slowestNote(g *regionLine) string {
	if g.Slowest == "" || g.Outliers == 0 {
		return ""
	}
	return message.Phrase("outliers-count", g.Outliers, g.Slowest)
}

// regionLines are the regions of a result as tables show them.
// They are in the order of RegionLines, as many as those.
func regionLines(r *analysis.Result) []regionLine {
	lines := r.RegionLines()
	out := make([]regionLine, len(lines))
	partly := slices.ContainsFunc(lines, func(g analysis.Region) bool {
		ns, in := r.InScope(&g)
		return in && ns < g.KernelNS
	})
	for i := range lines {
		g := &lines[i]
		_, in := r.InScope(g)
		out[i] = regionLine{Region: *g, limiter: regionLimiter(g), outside: !in, partly: partly && r.Scope != nil}
		if out[i].ScopeNS == nil {
			out[i].ScopeNS = &out[i].KernelNS
		}
	}
	return out
}

// NcuRegionView is the regions of a result without a timeline: counts and times are
// those under ncu.
var NcuRegionView = View[regionLine]{
	Name: "regions", Order: Order{Words: "the program"}, Legend: "there is no timeline: ranges, launches and times are those under ncu",
	Columns: []Column[regionLine]{
		{Key: "path", Title: "region", Format: Name, Value: func(g *regionLine) any { return g.Path }},
		{Key: "instances", Title: "ranges under ncu", Unit: Count, Value: func(g *regionLine) any { return orNil(g.Instances) }},
		{Key: "kernels", Title: "launches under ncu", Unit: Count, Value: func(g *regionLine) any { return orNil(g.Kernels) }},
		{Key: "ncu_ns", Title: "time under ncu", Unit: Nanoseconds, Value: func(g *regionLine) any { return g.NcuNS }},
		{Key: "measured", Title: "measured by", Value: func(g *regionLine) any { return orNil(g.how()) }, Note: resultRegionView.column("measured").Note},
		{Key: "limiter", Format: Words, Value: func(g *regionLine) any { return orNil(g.limiter) }},
	},
}

// NcuRegions shows the regions of a result without a timeline.
func NcuRegions(r *analysis.Result) Printable {
	return NcuRegionView.Table(regionLines(r), missingNotes(r)...)
}

// A regionCounter is a counter of a region.
type regionCounter struct {
	analysis.RegionMetric
	own    *analysis.RegionMetric // outside nested regions
	nested bool                   // launches in and outside nested regions are told apart
}

// regionCounterView is the counters of a region, or of its launches outside nested
// regions beside them.
var regionCounterView = View[regionCounter]{
	Name: "region_counters", Order: Order{Words: "the configuration"},
	Columns: []Column[regionCounter]{
		{Key: "name", Title: "metric", Format: Name, Value: func(m *regionCounter) any { return m.Name }},
		{Key: "value", Format: Number, Value: func(m *regionCounter) any { return measured(m.Value, m.Unit) }},
		{Key: "own", Title: "outside nested regions", Format: Number, Value: func(m *regionCounter) any {
			if m.own == nil {
				return nil
			}
			return measured(m.own.Value, m.own.Unit)
		}, Note: func(m *regionCounter) string {
			if m.nested && m.own == nil {
				return message.Phrase("region-exclusive-not-counted")
			}
			return ""
		}},
		{Key: "how", Title: "over the region", Value: func(m *regionCounter) any { return m.How }},
		{Key: "coverage", Title: "counted, of GPU time", Help: "Where it is not that of the other counters", Unit: Share, Value: func(m *regionCounter) any { return m.Coverage }},
	},
}

// regionCounters are in the order of the configuration, each with its value outside nested
// regions where that is known.
func regionCounters(c *analysis.RegionCounters) []*regionCounter {
	own := map[string]*analysis.RegionMetric{}
	if c.Exclusive != nil {
		for i := range c.Exclusive.Metrics {
			own[c.Exclusive.Metrics[i].Name] = &c.Exclusive.Metrics[i]
		}
	}
	rows := make([]*regionCounter, len(c.Metrics))
	for i, m := range c.Metrics {
		rows[i] = &regionCounter{RegionMetric: m, own: own[m.Name], nested: c.Exclusive != nil}
	}
	return rows
}

// timeLimiter says in a word or two what decides how long a stage takes.
func timeLimiter(s *analysis.Split) string {
	l := s.Limiter
	switch {
	case l == nil:
		return ""
	case l.Kind == analysis.TimeIdle:
		return message.Phrase("wait-for", message.Label("wait", l.Part))
	}
	return message.Label("time-limiter", l.Kind)
}
