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
	launched, captured := tr.tl.at.LaunchPlaces(), tr.tl.recalled.LaunchPlaces()
	steps := tr.tl.countSteps(len(tr.made.Kernels))
	all := map[LaunchPlace]*LaunchPlace{}
	lists := make([]map[LaunchPlace]*LaunchPlace, len(tr.made.Kernels)) // several places can have one name
	for i := range tr.tl.tape.Kinds {
		k, kernel := &tr.tl.tape.Kinds[i], tr.tl.rowOf[i]
		if kernel == noKernel || !tr.tl.counts(k) {
			continue
		}
		if lists[kernel] == nil {
			lists[kernel] = map[LaunchPlace]*LaunchPlace{}
		}
		by, in := launched[k.Place], captured[k.Captured]
		name := LaunchPlace{Stage: cmp.Or(by.Stage, in.Stage), Module: cmp.Or(in.Module, by.Module)}
		for _, sums := range []map[LaunchPlace]*LaunchPlace{all, lists[kernel]} {
			sum := sums[name]
			if sum == nil {
				sum = new(name)
				sums[name] = sum
			}
			sum.Calls, sum.NS = sum.Calls+k.Launches, sum.NS+k.NS
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
	steps int
	seen  []marks // by row of kernels and step
	calls []int64 // in steps
}

// countSteps goes through all launches of the scope; nil where the timeline has no steps.
func (tl *timed) countSteps(kernels int) *stepCount {
	if tl.steps == nil {
		return nil
	}
	c := &stepCount{steps: len(tl.steps.Steps), seen: make([]marks, kernels), calls: make([]int64, kernels)}
	step, counted := tl.tape.StepOf(tl.at), tl.counted()
	for w := tl.tape.Work(); w.Next(); {
		kind := w.Kind()
		row := tl.rowOf[kind]
		if row == noKernel || !counted[kind] {
			continue
		}
		at := step(w)
		if at < 0 {
			continue
		}
		if c.seen[row] == nil {
			c.seen[row] = newMarks(c.steps)
		}
		c.seen[row].set(at)
		c.calls[row]++
	}
	return c
}

// of is nil where no step launches the kernel.
func (c *stepCount) of(group int) *KernelSteps {
	if c == nil || c.calls[group] == 0 {
		return nil
	}
	out := KernelSteps{Of: c.steps}
	out.Steps = c.seen[group].count()
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
