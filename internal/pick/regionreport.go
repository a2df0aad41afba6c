package pick

import "strings"

// A RegionReport is what was measured of each region.
type RegionReport struct {
	Regions []Region // by path and style
	// Unmatched are regions that never opened and patterns that matched nothing.
	Unmatched []Unmatched

	stands *representation
}

// Stand calls fn with each of the counted launches that stand for
// a launch in a region, of a kind of the tape and so long, by their index in the results of
// Regions. What adds up counts amount times; 1 in all for a launch that is like
// a counted one. It calls nothing for a launch that none stands for.
func (r *RegionReport) Stand(kind uint32, ns int64, path string, fn func(result int, amount float64, scaled bool)) {
	s := r.stands
	if s == nil || s.l == nil || int(kind) >= len(s.l.ofTape) || s.l.ofTape[kind] == 0 {
		return
	}
	list := s.of(s.l.kinds[s.l.ofTape[kind]-1].group, path, false)
	weigh(list, ns, func(i int, part, times float64) {
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

// A Region is one region path.
type Region struct {
	Path      string
	Name      string
	Domain    string
	Style     string
	Parent    string // path; "" for an outermost region
	Depth     int
	Instances int

	Why *Reason // nothing in it was measured; nil where something was

	Whole *WholeSums // of ranges measured as a whole
	// Parts have the one of everything first, where there is one.
	Parts []RegionPart
}

// A RegionPart is a region as a whole, or its share in a process or a device.
type RegionPart struct {
	Process   *int
	Device    *int
	Inclusive RegionSums // with what is nested in it
	Exclusive RegionSums
}

// RegionSums are the kernels of a region and what their counters add up to.
type RegionSums struct {
	Launches int
	KernelNS int64
	// Excluded are launches that kernel patterns leave out. The numbers above
	// and below do not hold them.
	ExcludedLaunches int
	ExcludedNS       int64

	CountedGroups int
	CountedNS     int64   // of the launches that counted ones stand for
	Coverage      float64 // share of KernelNS
	// ElsewhereNS is the part of CountedNS whose counters come from a launch of
	// the same kernel, grid and block in another region.
	ElsewhereNS int64
	// ScaledNS is the part of CountedNS of launches that last much longer or
	// shorter than any counted one: what adds up is taken in proportion to their
	// time.
	ScaledNS int64

	Metrics []RegionMetric // without those that no counted launch has
}

// A RegionMetric is one metric over the launches of a region.
type RegionMetric struct {
	Name  string
	Unit  string
	How   string // HowSum or HowMean
	Value float64
	// Coverage is the share of the kernel time whose launches have the metric.
	// A sum covers those launches alone; nothing is added for the rest.
	Coverage float64
}

// WholeSums are ranges that ncu measured as a whole.
type WholeSums struct {
	Ranges  int   // measured; launches of graphs where those were
	Of      int   // instances, or launches of graphs, in the timeline
	NS      int64 // under ncu
	Metrics []RegionMetric
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
