package analysis

import (
	"cmp"
	"slices"

	"github.com/deepprof/deepprof/internal/timeline"
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

// KernelSteps are the steps that launch a kernel.
type KernelSteps struct {
	Steps int     `json:"steps"`
	Of    int     `json:"of"`            // steps of the timeline
	Each  float64 `json:"launches_mean"` // in a step that launches it, on average
}

// findLaunchPlaces tells for each kernel which modules, ranges and steps of the scope
// launch it. Kernels of a CUDA graph are in the stage that launches the graph, and in
// the module that was open when they were captured.
func (tr *timelineReader) findLaunchPlaces() {
	if tr.brief {
		return
	}
	at, made := tr.tl.at, tr.tl.at
	if tr.tl.recalled != nil {
		made = tr.tl.recalled
	}
	launched, captured := at.LaunchPlaces(), made.LaunchPlaces()
	steps := newStepCount(tr.tl, len(tr.made.Kernels))
	type key struct{ kernel, launched, captured uint32 }
	var sums timeline.Memo[key, *LaunchPlace]
	for i := range tr.tl.t.Kernels {
		kernel := tr.tl.row(i)
		if kernel == noKernel || !tr.tl.counts(i) {
			continue
		}
		steps.add(i, kernel)
		k := key{kernel, at.KernelPlace(i), made.KernelPlace(i)}
		s := sums.At(kernel*7+k.launched, k, func() *LaunchPlace {
			by, in := launched[k.launched], captured[k.captured]
			return &LaunchPlace{Stage: cmp.Or(by.Stage, in.Stage), Module: cmp.Or(in.Module, by.Module)}
		})
		s.Calls++
		s.NS += max(0, tr.tl.t.Kernels[i].Duration())
	}
	all := map[LaunchPlace]*LaunchPlace{}
	lists := make([]map[LaunchPlace]*LaunchPlace, len(tr.made.Kernels)) // several places can have one name
	for k, s := range sums.All() {
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
	tr.made.Modules = moduleTree(places)
	for i := range tr.made.Kernels {
		tr.made.Kernels[i].Places = sortPlaces(lists[i])
		tr.made.Kernels[i].Steps = steps.of(i)
	}
}

// A stepCount counts the steps that launch each kernel; nil counts none.
type stepCount struct {
	step  func(kernel int) int
	steps int
	seen  [][]bool // by group of kernels and step
	calls []int64  // in steps
}

// newStepCount is nil where the timeline has no steps.
func newStepCount(tl *timed, kernels int) *stepCount {
	if tl.steps == nil {
		return nil
	}
	return &stepCount{step: tl.steps.KernelStep(tl.at), steps: len(tl.steps.Steps), seen: make([][]bool, kernels), calls: make([]int64, kernels)}
}

// add counts a launch of a group of kernels.
func (c *stepCount) add(launch int, group uint32) {
	if c == nil {
		return
	}
	at := c.step(launch)
	if at < 0 {
		return
	}
	if c.seen[group] == nil {
		c.seen[group] = make([]bool, c.steps)
	}
	c.seen[group][at] = true
	c.calls[group]++
}

// of is nil where no step launches the kernel.
func (c *stepCount) of(group int) *KernelSteps {
	if c == nil || c.calls[group] == 0 {
		return nil
	}
	out := KernelSteps{Of: c.steps}
	for _, in := range c.seen[group] {
		if in {
			out.Steps++
		}
	}
	out.Each = float64(c.calls[group]) / float64(out.Steps)
	return &out
}

// sortPlaces gives shares of the whole time of the kernel, also where places are cut.
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
