package analysis

import (
	"cmp"
	"slices"
)

// A LaunchPlace is a place of the program that launches a kernel.
type LaunchPlace struct {
	// Stage is the outermost range; "" outside all. Module is the place in the model
	// below it and its steps, or the ranges there; "" for none.
	Stage  string  `json:"stage"`
	Module string  `json:"module"`
	Calls  int64   `json:"calls"`
	NS     int64   `json:"ns"`
	Share  float64 `json:"share"` // of the kernel's GPU time
}

const maxLaunchPlaces = 12 // of a kernel

// findLaunchPlaces tells for each kernel which modules and ranges of the scope launch
// it.
func (tr *timelineReader) findLaunchPlaces() {
	if tr.brief {
		return
	}
	at := tr.tl.at
	if tr.tl.recalled != nil {
		at = tr.tl.recalled
	}
	names := at.LaunchPlaces()
	type key struct{ kernel, place uint32 }
	sums := map[key]*LaunchPlace{}
	for i := range tr.tl.t.Kernels {
		kernel := tr.tl.kernel[i]
		if kernel == noKernel || !tr.tl.counts(i) {
			continue
		}
		k := key{kernel, at.KernelPlace(i)}
		s := sums[k]
		if s == nil {
			name := names[k.place]
			s = &LaunchPlace{Stage: name.Stage, Module: name.Module}
			sums[k] = s
		}
		s.Calls++
		s.NS += max(0, tr.tl.t.Kernels[i].Duration())
	}
	all := map[LaunchPlace]*LaunchPlace{}
	lists := make([]map[LaunchPlace]*LaunchPlace, len(tr.res.Kernels)) // several places can have one name
	for k, s := range sums {
		if lists[k.kernel] == nil {
			lists[k.kernel] = map[LaunchPlace]*LaunchPlace{}
		}
		name := LaunchPlace{Stage: s.Stage, Module: s.Module}
		sum := all[name]
		if sum == nil {
			sum = &LaunchPlace{Stage: s.Stage, Module: s.Module}
			all[name] = sum
		}
		sum.Calls, sum.NS = sum.Calls+s.Calls, sum.NS+s.NS
		if old := lists[k.kernel][name]; old != nil {
			old.Calls, old.NS = old.Calls+s.Calls, old.NS+s.NS
		} else {
			lists[k.kernel][name] = s
		}
	}
	var places []LaunchPlace
	for _, s := range all {
		places = append(places, *s)
	}
	tr.res.Modules = moduleTree(places)
	for i := range tr.res.Kernels {
		tr.res.Kernels[i].Places = sortPlaces(lists[i])
	}
}

func sortPlaces(of map[LaunchPlace]*LaunchPlace) []LaunchPlace {
	var total int64
	out := make([]LaunchPlace, 0, len(of))
	for _, s := range of {
		out, total = append(out, *s), total+s.NS
	}
	for i := range out {
		if total > 0 {
			out[i].Share = float64(out[i].NS) / float64(total)
		}
	}
	slices.SortFunc(out, func(x, y LaunchPlace) int {
		return cmp.Or(cmp.Compare(y.NS, x.NS), cmp.Compare(x.Stage, y.Stage), cmp.Compare(x.Module, y.Module))
	})
	return out[:min(len(out), maxLaunchPlaces)]
}
