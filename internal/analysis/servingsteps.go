package analysis

import (
	"cmp"
	"context"
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/timeline"
)

// A StepPart is a kernel or a layer in the steps of a class, in the window that
// the details of the result are about.
type StepPart struct {
	Name     string  `json:"name"` // short name of the kernel; place in the model, "" for work in no module
	Launches int64   `json:"launches"`
	NS       int64   `json:"gpu_ns"`
	Share    float64 `json:"share"` // of the GPU time of the class in that window
}

// StepsAt are the steps that began in one interval of a window.
type StepsAt struct {
	Window       int     `json:"window"`   // from 1; 0 where there is one timeline
	StartNS      int64   `json:"start_ns"` // from the first step of the window
	LengthNS     int64   `json:"length_ns"`
	Steps        int     `json:"steps"`
	PromptTokens int64   `json:"context_tokens"`    // of prompts
	DecodeTokens int64   `json:"generation_tokens"` // of sequences that decode
	StepNS       float64 `json:"step_mean_ns"`
	BusyShare    float64 `json:"busy_share"` // of the time of these steps
	GapNS        float64 `json:"gap_before_mean_ns"`
}

const (
	maxStepParts = 20 // kernels and layers of a class
	stepBins     = 20 // intervals of a window
)

// overTime sums up steps by intervals of their window.
func overTime(steps []timeline.StepRow) []StepsAt {
	windows := map[int][]timeline.StepRow{}
	for _, s := range steps {
		windows[s.Window] = append(windows[s.Window], s)
	}
	var out []StepsAt
	for window, list := range windows {
		slices.SortFunc(list, func(x, y timeline.StepRow) int { return cmp.Compare(x.StartNS, y.StartNS) })
		first, last := list[0].StartNS, list[len(list)-1]
		width := max(1, (last.StartNS+last.StepNS-first)/stepBins+1)
		bins := make([][]timeline.StepRow, stepBins)
		for _, s := range list {
			at := min(stepBins-1, (s.StartNS-first)/width)
			bins[at] = append(bins[at], s)
		}
		for i, steps := range bins {
			if len(steps) > 0 {
				out = append(out, stepsAt(window, int64(i)*width, width, steps))
			}
		}
	}
	slices.SortFunc(out, func(x, y StepsAt) int {
		return cmp.Or(cmp.Compare(x.Window, y.Window), cmp.Compare(x.StartNS, y.StartNS))
	})
	return out
}

// stepsAt sums up the steps of one interval, of which there is at least one. Times are
// nanoseconds from the first step of the window.
func stepsAt(window int, start, length int64, steps []timeline.StepRow) StepsAt {
	at := StepsAt{Window: window, StartNS: start, LengthNS: length, Steps: len(steps)}
	var sum, busy, gaps, gapSum int64
	for _, s := range steps {
		sum += s.StepNS
		busy += min(s.BusyNS, s.StepNS)
		at.PromptTokens += int64(max(0, s.Composition.ContextTokens))
		at.DecodeTokens += int64(max(0, s.Composition.GenerationTokens))
		if s.GapNS != nil {
			gaps, gapSum = gaps+1, gapSum+*s.GapNS
		}
	}
	at.StepNS, at.BusyShare = float64(sum)/float64(len(steps)), ratio(busy, sum)
	at.GapNS = ratio(gapSum, gaps)
	return at
}

// divideSteps tells kernels and layers of each class of steps.
func (a *analyzer) divideSteps(tl *timed) {
	if a.res.Serving == nil || len(a.res.Serving.Steps) == 0 || tl == nil {
		return
	}
	t := tl.t
	type class = timeline.StepClassKey
	kernels, layers := map[class]map[string]*StepPart{}, map[class]map[string]*StepPart{}
	for _, w := range tl.tape.StepWork(tl.at, tl.recalled) {
		addStepPart(kernels, w, a.kinds.of(fullName(t, t.Functions[w.Function])).short)
		addStepPart(layers, w, w.Layer)
	}
	for i := range a.res.Serving.Steps {
		c := &a.res.Serving.Steps[i]
		k := class{Kind: c.Kind, BatchMin: c.BatchMin, BatchMax: c.BatchMax}
		c.Kernels, c.Layers = stepParts(kernels[k]), stepParts(layers[k])
		if len(c.Layers) == 1 && c.Layers[0].Name == "" { // no module is known
			c.Layers = nil
		}
	}
}

// recall is the attribution with work of CUDA graphs where it was captured, by the
// window over the start of the server where the run has one; at itself without graphs. Where that
// window cannot be read, the timeline alone tells.
func (tr *timelineReader) recall(ctx context.Context, at *timeline.Attribution) *timeline.Attribution {
	t := at.Timeline()
	if startup := startups(tr.in.Run); len(startup) > 0 {
		earlier, err := readGraphs(ctx, startup[0])
		if err == nil {
			return t.WithEarlier(earlier).Captured().Attribute()
		}
		tr.notes.lose(startup[0], inputUnreadable, fact.Error("error", err))
	}
	if len(t.GraphNodes) == 0 {
		return at
	}
	return at.Captured()
}

// readGraphs reads where nodes of CUDA graphs were captured.
func readGraphs(ctx context.Context, path string) (*timeline.Timeline, error) {
	f, err := nsys.OpenSQLite(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Timeline(ctx, nsys.NVTX|nsys.Graphs)
}

// startups are the windows over the start of the server of a run; none without a run.
func startups(run string) []string {
	if run == "" {
		return nil
	}
	return runs.Files(run, runs.StartupFile)
}

// addStepPart adds work to the part of a class that has the name; "" is work in no module.
func addStepPart(to map[timeline.StepClassKey]map[string]*StepPart, w timeline.StepWork, name string) {
	parts := to[w.StepClassKey]
	if parts == nil {
		parts = map[string]*StepPart{}
		to[w.StepClassKey] = parts
	}
	p := entry(parts, name)
	p.Name = name
	p.Launches, p.NS = p.Launches+w.Launches, p.NS+w.NS
}

// stepParts are the parts of a class with most time, with their share of all its GPU time.
func stepParts(of map[string]*StepPart) []StepPart {
	var out []StepPart
	var total int64
	for _, p := range of {
		out, total = append(out, *p), total+p.NS
	}
	slices.SortFunc(out, func(x, y StepPart) int { return cmp.Or(cmp.Compare(y.NS, x.NS), cmp.Compare(x.Name, y.Name)) })
	for i := range out {
		if total > 0 {
			out[i].Share = float64(out[i].NS) / float64(total)
		}
	}
	return out[:min(len(out), maxStepParts)]
}

// engineSteps are the steps of a serving engine in a timeline; none where it has
// no such range.
func (tl *timed) engineSteps(window int) []timeline.StepRow {
	t := tl.t
	var steps []timeline.StepRow
	for _, s := range tl.tape.Steps {
		if s.Kind != "" {
			steps = append(steps, s)
		}
	}
	for i := range steps {
		steps[i].Window = window
		steps[i].Sampled = t.SampledWithin(steps[i].StartNS, steps[i].StartNS+steps[i].StepNS)
	}
	return steps
}
