package analysis

import (
	"cmp"
	"slices"
)

// A Flame lays regions out as a flame graph, by GPU time and by wall time: below a
// region stand those nested in it, then the kernels launched in it outside of them.
type Flame struct {
	GPUNS   int64         `json:"gpu_ns"`  // what the whole width stands for
	WallNS  int64         `json:"wall_ns"` // as GPUNS, by wall time
	Regions []FlameRegion `json:"regions"` // by the index of the region
}

// A FlameRegion is how wide a region is, and what stands below it.
type FlameRegion struct {
	// Left out: the row repeats a part of another for one process or GPU.
	Part bool `json:"part,omitempty"`
	// GPUNS and WallNS are what the box is as wide as; what ncu took where there is
	// no timeline.
	GPUNS  int64 `json:"gpu_ns"`
	WallNS int64 `json:"wall_ns"`
	// GPUAcross and WallAcross are what the width of the box stands for below it: more than
	// its own time where what is nested ran side by side, or kernels ran on after it.
	GPUAcross  int64         `json:"gpu_across"`
	WallAcross int64         `json:"wall_across"`
	Kernels    []FlameKernel `json:"kernels,omitempty"` // by time
	// Launches of kernels that are not listed, and their GPU time.
	Launches int64 `json:"launches,omitempty"`
	RestNS   int64 `json:"rest,omitempty"`
}

// A FlameKernel is a kernel that stands below a region.
type FlameKernel struct {
	Kernel int   `json:"kernel"` // index into Result.Kernels
	NS     int64 `json:"ns"`
	// Share of the GPU time of the region; absent where that is not known.
	Share *float64 `json:"share,omitempty"`
	// Launches and RestNS count this kernel and those after it, the unlisted ones included.
	Launches int64 `json:"launches"`
	RestNS   int64 `json:"rest"`
}

// FlameOf lays out regions, of which parents come first.
func FlameOf(regions []Region) Flame {
	f := Flame{Regions: make([]FlameRegion, len(regions))}
	inside := make([]FlameRegion, len(regions)) // times of what is nested directly
	whole := slices.ContainsFunc(regions, func(r Region) bool { return r.Parent < 0 && !r.ofPart() })
	for i := range regions {
		r := &regions[i]
		x := &f.Regions[i]
		x.GPUNS, x.WallNS = r.KernelNS, r.WallNS
		if r.Times == timesOfNcu {
			x.GPUNS, x.WallNS = r.NcuNS, r.NcuNS
		}
		if r.Parent >= 0 && r.Parent < i {
			x.Part = f.Regions[r.Parent].Part
			inside[r.Parent].GPUNS += x.GPUNS
			inside[r.Parent].WallNS += x.WallNS
			inside[r.Parent].Part = true // it has some
			continue
		}
		if x.Part = whole && r.ofPart(); !x.Part {
			f.GPUNS += x.GPUNS
			f.WallNS += x.WallNS
		}
	}
	for i := range regions {
		x := &f.Regions[i]
		own := x.placeKernels(&regions[i], inside[i].Part)
		x.GPUAcross = max(x.GPUNS, inside[i].GPUNS+own, 1)
		x.WallAcross = max(x.WallNS, inside[i].WallNS+own, 1)
	}
	return f
}

// ofPart tells that a row is of one process or GPU.
func (r *Region) ofPart() bool { return r.Process != nil || r.Device != nil }

// placeKernels puts the kernels below a region that have no nested one around
// them, and returns their time.
func (x *FlameRegion) placeKernels(r *Region, nests bool) int64 {
	own, launches := r.KernelNS, r.Kernels
	if nests {
		own, launches = r.SelfNS, r.SelfKernels
	} else if r.Times == timesOfNcu {
		own = r.NcuNS
	}
	listed := make([]RegionKernel, 0, len(r.Top))
	for _, k := range r.Top {
		if nests {
			k.NS, k.Calls = k.OwnNS, k.OwnCalls
		}
		if k.Calls > 0 {
			listed = append(listed, k)
		}
	}
	slices.SortStableFunc(listed, func(x, y RegionKernel) int { return cmp.Compare(y.NS, x.NS) })
	left, rest := launches, own
	for _, k := range listed {
		x.Kernels = append(x.Kernels, FlameKernel{Kernel: k.Kernel, NS: k.NS, Share: shareOf(k.NS, r.KernelNS), Launches: left, RestNS: rest})
		left, rest = left-k.Calls, rest-k.NS
	}
	if left > 0 && rest > 0 {
		x.Launches, x.RestNS = left, rest
	}
	return max(0, own)
}
