package pick

import "strings"

// regionSchema is the version of ncu/regions/report.json.
const regionSchema = 1

// A RegionReport is what was measured of each region. It is stored as
// ncu/regions/report.json.
type RegionReport struct {
	Schema   int      `json:"schema"`
	Timeline string   `json:"timeline"`
	Regions  []Region `json:"regions"`
	// Unmatched are regions that never opened and patterns that matched nothing.
	Unmatched []Unmatched `json:"unmatched,omitempty"`
	// Ladder is how the replay mode was found, where it was left open.
	Ladder   []Step   `json:"ladder,omitempty"`
	Warnings []string `json:"warnings,omitempty"`

	stands *standing
}

// Stand calls fn with each of the counted launches that stand for the launch of
// a kernel of the timeline in a region, by their index in the results of
// Regions. What adds up counts amount times; 1 in all for a launch that is like
// a counted one. It calls nothing for a launch that none stands for.
func (r *RegionReport) Stand(kernel int, path string, fn func(result int, amount float64, scaled bool)) {
	s := r.stands
	if s == nil || kernel < 0 || kernel >= len(s.groupOf) {
		return
	}
	list := s.of(int(s.groupOf[kernel]), path, false)
	weigh(list, max(0, s.l.t.Kernels[kernel].Duration()), func(i int, part, times float64) {
		for _, result := range list[i].results {
			fn(result, part*times/float64(len(list[i].results)), times != 1)
		}
	})
}

// Lasting tells for each counted launch that stands for others how long it, or
// launches like it, last in the timeline, by its index in the results of Regions.
func (r *RegionReport) Lasting() map[int]int64 {
	out := map[int]int64{}
	if r.stands == nil {
		return out
	}
	for _, list := range r.stands.groups {
		for _, p := range list {
			for _, result := range p.results {
				out[result] = p.ns
			}
		}
	}
	return out
}

// Part finds a region as a whole, or its share in a process or a device; nil
// where there is none. Style counts without case.
func (r *RegionReport) Part(path, style, domain string, process, device *int) *RegionPart {
	same := func(x, y *int) bool { return x == y || x != nil && y != nil && *x == *y }
	for i := range r.Regions {
		g := &r.Regions[i]
		if g.Path != path || g.Domain != domain || !strings.EqualFold(g.Style, style) {
			continue
		}
		for k := range g.Parts {
			if p := &g.Parts[k]; same(p.Process, process) && same(p.Device, device) {
				return p
			}
		}
	}
	return nil
}

// The settings that choose the kernels of a region's report.
const (
	keyRegionInclude = "pipeline.regions.kernel_include"
	keyRegionExclude = "pipeline.regions.kernel_exclude"
)

// How a region was measured.
const (
	byLaunches = "launches" // counters of single launches, extrapolated by the timeline
	byRange    = "range"    // as a whole
	notAtAll   = "none"
)

// A Region is one region path.
type Region struct {
	Path      string `json:"path"`
	Name      string `json:"name"`
	Domain    string `json:"domain,omitempty"`
	Style     string `json:"style"`
	Parent    string `json:"parent,omitempty"`
	Depth     int    `json:"depth"`
	Instances int    `json:"instances"`
	RangeNS   int64  `json:"range_ns"` // on the host, added up

	Measured string  `json:"measured"`      // launches, range or none
	Why      *Reason `json:"why,omitempty"` // where it was not measured

	Whole *WholeSums   `json:"whole,omitempty"` // of ranges measured as a whole
	Parts []RegionPart `json:"parts"`
}

// A RegionPart is a region as a whole, or its share in a process or a device.
type RegionPart struct {
	Scope     string     `json:"scope"` // aggregate, process or device
	Process   *int       `json:"process,omitempty"`
	Device    *int       `json:"device,omitempty"`
	Inclusive RegionSums `json:"inclusive"` // with what is nested in it
	Exclusive RegionSums `json:"exclusive"`
}

// RegionSums are the kernels of a region and what their counters add up to.
type RegionSums struct {
	Launches int   `json:"launches"`
	KernelNS int64 `json:"kernel_ns"`
	// Excluded are launches that kernel patterns leave out. The numbers above
	// and below do not hold them.
	ExcludedLaunches int   `json:"excluded_launches,omitempty"`
	ExcludedNS       int64 `json:"excluded_ns,omitempty"`

	Groups        int     `json:"groups"`
	CountedGroups int     `json:"counted_groups"`
	CountedNS     int64   `json:"counted_ns"` // of the launches that counted ones stand for
	Coverage      float64 `json:"coverage"`   // share of kernel_ns
	// ElsewhereNS is the part of counted_ns whose counters come from a launch of
	// the same kernel, grid and block in another region.
	ElsewhereNS int64 `json:"elsewhere_ns,omitempty"`
	// ScaledNS is the part of counted_ns of launches that last much longer or
	// shorter than any counted one: what adds up is taken in proportion to their
	// time.
	ScaledNS int64 `json:"scaled_ns,omitempty"`

	Metrics []RegionMetric `json:"metrics,omitempty"`
	Absent  []Absent       `json:"absent,omitempty"`
	Kernels []RegionKernel `json:"kernels,omitempty"`
}

// A RegionMetric is one metric over the launches of a region.
type RegionMetric struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit,omitempty"`
	How   string  `json:"how"` // sum or mean
	Value float64 `json:"value"`
	// Coverage is the share of the kernel time whose launches have the metric.
	// A sum covers those launches alone; nothing is added for the rest.
	Coverage float64 `json:"coverage"`
}

// An Absent is a metric that was asked for and is not there.
type Absent struct {
	Name string `json:"name"`
	Why  Reason `json:"why"`
}

// A RegionKernel is one group of launches within a region.
type RegionKernel struct {
	Group    string   `json:"group"`
	Kernel   string   `json:"kernel"`
	Grid     [3]int32 `json:"grid"`
	Block    [3]int32 `json:"block"`
	Launches int      `json:"launches"`
	NS       int64    `json:"ns"`
	Share    float64  `json:"share"` // of kernel_ns
	Counted  int      `json:"counted"`
	ScaledNS int64    `json:"scaled_ns,omitempty"` // as in RegionSums
}

// WholeSums are ranges that ncu measured as a whole.
type WholeSums struct {
	Ranges  int            `json:"ranges"` // measured; launches of graphs where those were
	Of      int            `json:"of"`     // instances, or launches of graphs, in the timeline
	NS      int64          `json:"ns"`     // under ncu
	Metrics []RegionMetric `json:"metrics"`
	Absent  []Absent       `json:"absent,omitempty"`
}

// RegionOptions say what the report shows.
type RegionOptions struct {
	// Include are the regions of interest as NVTX expressions; those that never
	// opened are named. The report holds every region that they select, with
	// what is nested in it; all where there are none.
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
	// KernelInclude and KernelExclude select kernels; exclude goes first.
	KernelInclude []string `json:"kernel_include,omitempty"`
	KernelExclude []string `json:"kernel_exclude,omitempty"`
	// Metrics are the ones to show, in their order; nil shows all that have a
	// meaning of their own.
	Metrics []string `json:"metrics,omitempty"`
	// Aggregate adds a part over all processes and devices. Where there is one of
	// each, that part is there anyway.
	Aggregate bool `json:"aggregate"`
}
