package analysis

import "testing"

// The boxes of a flame graph fit below each other: what stands below a region is at
// most as wide as it is, and every launch is in a box of a kernel or in the rest.
func TestFlame(t *testing.T) {
	one := 1
	regions := []Region{
		{Path: "decode", Parent: -1, WallNS: 100, KernelNS: 90, Kernels: 9, SelfKernels: 2, SelfNS: 20, Top: []RegionKernel{{Kernel: 3, Calls: 4, NS: 60}, {Kernel: 5, Calls: 2, NS: 25, OwnCalls: 1, OwnNS: 15}}},
		{Path: "decode/attn", Parent: 0, WallNS: 80, KernelNS: 50, Kernels: 5, Top: []RegionKernel{{Kernel: 3, Calls: 4, NS: 40}}},
		{Path: "decode/mlp", Parent: 0, WallNS: 30, KernelNS: 20, Kernels: 2, Top: []RegionKernel{{Kernel: 5, Calls: 2, NS: 20}}},
		{Path: "decode", Parent: -1, Device: &one, WallNS: 100, KernelNS: 90},
		{Path: "decode/attn", Parent: 3, Device: &one, WallNS: 80, KernelNS: 50},
	}
	f := FlameOf(regions)
	if f.GPUNS != 90 || f.WallNS != 100 {
		t.Errorf("the width stands for %d and %d ns", f.GPUNS, f.WallNS)
	}
	if !f.Regions[3].Part || !f.Regions[4].Part || f.Regions[0].Part {
		t.Errorf("parts: %+v", f.Regions)
	}
	top := f.Regions[0]
	if top.GPUAcross != 90 || top.WallAcross != 130 {
		t.Errorf("below decode the width stands for %d and %d ns, want 90 and 80 + 30 + 20", top.GPUAcross, top.WallAcross)
	}
	if len(top.Kernels) != 1 || top.Kernels[0].Kernel != 5 || top.Kernels[0].NS != 15 || top.Kernels[0].Launches != 2 || top.Launches != 1 || top.RestNS != 5 {
		t.Errorf("its own kernels: %+v, rest %d launches of %d ns", top.Kernels, top.Launches, top.RestNS)
	}
	attn := f.Regions[1]
	if attn.Kernels[0].Launches != 5 || attn.Kernels[0].RestNS != 50 || attn.Launches != 1 || attn.RestNS != 10 || *attn.Kernels[0].Share != 0.8 {
		t.Errorf("attn: %+v", attn)
	}
	if mlp := f.Regions[2]; mlp.Launches != 0 || mlp.RestNS != 0 {
		t.Errorf("mlp: %+v", mlp)
	}
}

// Without a timeline boxes are as wide as ncu measured.
func TestFlameOfCounters(t *testing.T) {
	f := FlameOf([]Region{{Parent: -1, Times: timesOfNcu, NcuNS: 70, KernelNS: 60, Kernels: 3, Top: []RegionKernel{{Calls: 3, NS: 60}}}})
	if f.GPUNS != 70 || f.WallNS != 70 || f.Regions[0].GPUAcross != 70 {
		t.Errorf("%+v", f)
	}
}
