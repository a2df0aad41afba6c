package analysis

import (
	"github.com/deepprof/deepprof/internal/fact"
)

// A Region is an NVTX region path with everything inside it.
type Region struct {
	// id is that of a row for all work together, for timed.regions; such rows come
	// first. 0 in rows per process or device, in rows of ncu, and in a result that was
	// read from a file.
	id uint32

	Path string `json:"path"` // as docs/regions.md writes it
	Name string `json:"name"` // last part
	// Parent is an index into Result.Regions, -1 for an outermost one; Depth is 0
	// there.
	Parent  int  `json:"parent"`
	Depth   int  `json:"depth"`
	Process *int `json:"process,omitempty"` // set in rows per process
	// Device is the CUDA number, set in rows per device.
	Device *int   `json:"device,omitempty"`
	Style  string `json:"style,omitempty"` // pushpop or startend
	// Source says who made it: program, injected (deepprof run put it around
	// modules and stages) or detected (found in what repeats; nobody marked it).
	Source string `json:"source,omitempty"`
	Domain string `json:"domain,omitempty"`

	// Times is "ncu" where there is no timeline: then Instances, Kernels, KernelNS
	// and the like count what ncu measured, at its times, and ProjectedNS is the
	// time of ranges that it measured as a whole. Wall and idle times are not known.
	Times string `json:"times,omitempty"`
	// NcuNS is what ncu took for its ranges or launches, where Times is "ncu".
	NcuNS int64 `json:"ncu_ns,omitempty"`

	// Instances are the ranges of this path in the timeline.
	Instances   int64 `json:"instances"`
	WallNS      int64 `json:"wall_ns"`      // on the host, summed
	ProjectedNS int64 `json:"projected_ns"` // first to last GPU work launched inside, summed
	// Kernels were launched inside, nested ranges included; KernelNS is their GPU time.
	Kernels     int64 `json:"kernels"`
	KernelNS    int64 `json:"kernel_ns"`
	SelfKernels int64 `json:"self_kernels"` // outside nested ranges
	SelfNS      int64 `json:"self_kernel_ns"`
	Split       Split `json:"split"`
	// Synchronous: every instance stayed open until the work that it launched had
	// ended; AsyncInstances did not. Where it is false, WallNS is the host's time
	// alone, and Split is of the time in which the work ran: the union of the
	// projected spans. Absent without GPU work.
	Synchronous    *bool `json:"synchronous,omitempty"`
	AsyncInstances int64 `json:"async_instances,omitempty"`
	// Lead is how long no kernel ran before the first work of its instances; absent
	// where it is synchronous, or where the GPU was busy then.
	Lead *Lead `json:"lead,omitempty"`
	// Group is the path without generated ids and with "#" for numbers that count
	// instances: regions of one group repeat each other.
	Group string `json:"group,omitempty"`
	// How long single instances were open; Outliers took more than twice the median.
	MinNS    int64 `json:"min_ns,omitempty"`
	MedianNS int64 `json:"median_ns,omitempty"`
	MaxNS    int64 `json:"max_ns,omitempty"`
	Outliers int64 `json:"outliers,omitempty"`
	// ScopeNS is the part of KernelNS that lies in the scope; absent where there
	// is no scope.
	ScopeNS *int64 `json:"scope_kernel_ns,omitempty"`
	// Share is ScopeNS of the GPU time of the scope, or KernelNS of all GPU time
	// where there is no scope; absent outside the scope and without a timeline.
	Share *float64 `json:"share,omitempty"`
	// Limiter is what holds back most of the GPU time, or launch-bound.
	Limiter *RegionLimiter `json:"limiter,omitempty"`
	// Coverage is the share of KernelNS that was counted; absent where nothing was.
	Coverage *float64 `json:"coverage,omitempty"`
	// Members are the indexes of the regions that a group sums, and Slowest is the
	// path of the one with the longest instance; absent in a region by itself.
	Members []int  `json:"members,omitempty"`
	Slowest string `json:"slowest,omitempty"`

	// Counters extrapolated over the launches of the region; absent where
	// nothing in it was counted.
	Counters *RegionCounters `json:"counters,omitempty"`
	Top      []RegionKernel  `json:"top,omitempty"` // kernels inside, by time
	Why      *fact.Fact      `json:"why,omitempty"` // why it was not counted
}

// RegionCounters are counters over the launches of a region.
type RegionCounters struct {
	Method   string         `json:"method"`         // kernel, range, app-range
	Coverage float64        `json:"coverage"`       // of the region's kernel time
	Metrics  []RegionMetric `json:"metrics"`        // no times: those of ncu are not the timeline's
	Note     []fact.Fact    `json:"note,omitempty"` // what limits their meaning
	// ScaledNS is the counted time of launches that last much longer or shorter
	// than any counted one: what adds up is scaled by their time. ElsewhereNS is
	// that for which launches counted in other regions stand.
	ScaledNS    int64 `json:"scaled_ns,omitempty"`
	ElsewhereNS int64 `json:"elsewhere_ns,omitempty"`
	// Partial: Coverage leaves out more than rounding does. Elsewhere is ElsewhereNS
	// of the counted time, where it is worth telling.
	Partial   bool     `json:"partial,omitempty"`
	Elsewhere *float64 `json:"elsewhere,omitempty"`
	// Limiter and Point are of the range of median duration where ranges were
	// measured as a whole; absent otherwise. A Point names no kernel.
	Limiter *Limiter `json:"limiter,omitempty"`
	Point   []Point  `json:"point,omitempty"`
	// Exclusive holds the launches outside nested regions. It is absent where all
	// launches are, where none is, and for a range that was measured as a whole.
	Exclusive *ExclusiveCounters `json:"exclusive,omitempty"`
}

// ExclusiveCounters are counters over the launches of a region that are in none
// of its nested regions. Names, units and ways are those of the inclusive ones; a
// metric that none of these launches has is not there.
type ExclusiveCounters struct {
	Coverage float64        `json:"coverage"` // of the kernel time outside nested regions
	Metrics  []RegionMetric `json:"metrics"`
}

// A RegionMetric is one counter over a region.
type RegionMetric struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit,omitempty"`
	Value float64 `json:"value"`
	How   string  `json:"how"` // sum or mean (weighted by time)
	// Coverage is the share of the GPU time whose launches have this counter, where
	// it is not that of all counters of the region.
	Coverage *float64 `json:"coverage,omitempty"`
}

// A RegionKernel refers to Result.Kernels.
type RegionKernel struct {
	Kernel int   `json:"kernel"`
	Calls  int64 `json:"calls"`
	NS     int64 `json:"ns"`
	// Of these the launches outside nested ranges; absent without a timeline.
	OwnCalls int64 `json:"own_calls,omitempty"`
	OwnNS    int64 `json:"own_ns,omitempty"`

	Share  *float64 `json:"share,omitempty"`   // of the GPU time of the region
	MeanNS float64  `json:"mean_ns,omitempty"` // of a launch in the region
	// BasisNS is set where the limiter of the kernel rests on launches that last
	// this long, and those of the region last longer or shorter in the mean.
	BasisNS float64 `json:"basis_ns,omitempty"`
}
