package pick

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/deepprof/deepprof/internal/engine"
	"github.com/deepprof/deepprof/internal/nvtx"
)

// Serving says what a server must compute so that the chosen launches come: its
// batches differ from start to start, and answers take minutes under ncu.
type Serving struct {
	// Prompts are the steps with prompts that hold chosen launches, most GPU time
	// first. None where the names of steps do not tell.
	Prompts []Prompts `json:"prompts,omitempty"`
	// Batch is the number of sequences in the middle one of the steps that decode; 0
	// where that is not told.
	Batch int `json:"batch,omitempty"`
	// GraphNodes is how many kernels of CUDA graphs a step has on average.
	GraphNodes float64 `json:"graph_nodes,omitempty"`
}

// Prompts are those of one step: their number and all their tokens, 0 where the
// name of the step does not tell these.
type Prompts struct {
	N      int `json:"n"`
	Tokens int `json:"tokens,omitempty"`
}

// Lengths are the tokens of each prompt, step by step; 0 where they are not told.
func (s Serving) Lengths() (list [][]int) {
	for _, p := range s.Prompts {
		step := make([]int, p.N)
		for i := range step {
			step[i] = p.Tokens/p.N + (i+1)*(p.Tokens%p.N)/p.N - i*(p.Tokens%p.N)/p.N
		}
		list = append(list, step)
	}
	return list
}

// mostPrompts is how many steps with prompts are asked for: each takes a step of the
// server under ncu, which may last for half a minute.
const mostPrompts = 4

// serving finds what a server must compute for groups, which are sorted by time.
func (c *choice) serving(groups []int) *Serving {
	steps := c.l.at.PlaceSteps()
	s := &Serving{}
	if len(steps) == 0 {
		return s
	}
	stepOf := func(launch int) (engine.Step, bool) {
		step, ok := steps[c.l.at.KernelPlace(int(c.l.kernels.At(launch)))]
		return step, ok
	}
	for _, g := range groups {
		with, decodes := map[Prompts]int{}, false
		for _, i := range c.members[g] {
			step, ok := stepOf(int(i))
			if p := promptsOf(step); ok && p.N > 0 {
				with[p]++
			} else {
				decodes = true
			}
		}
		done := decodes || slices.ContainsFunc(s.Prompts, func(p Prompts) bool { return with[p] > 0 })
		if done || len(with) == 0 || len(s.Prompts) == mostPrompts {
			continue
		}
		best := Prompts{}
		for p, n := range with {
			if best.N == 0 || cmp.Or(cmp.Compare(n, with[best]), cmp.Compare(best.N, p.N), cmp.Compare(best.Tokens, p.Tokens)) > 0 {
				best = p
			}
		}
		s.Prompts = append(s.Prompts, best)
	}
	s.Batch, s.GraphNodes = c.l.decodeBatch(), c.l.graphNodes()
	return s
}

// promptsOf is what a step computes of prompts; N is 0 where it has none, or does
// not tell.
func promptsOf(s engine.Step) Prompts {
	if s.Context <= 0 {
		return Prompts{}
	}
	return Prompts{s.Context, max(0, s.ContextTokens)}
}

// steps are the ranges of the timeline that are steps of a serving engine.
func (l *Launches) steps() (list []engine.Step) {
	for i := range l.t.Ranges {
		if s, ok := engine.ParseStep(l.t.Name(l.t.Ranges[i].Name)); ok && s.Kind != engine.Empty {
			list = append(list, s)
		}
	}
	return list
}

// decodeBatch is the number of sequences in the middle one of the steps that decode.
func (l *Launches) decodeBatch() int {
	var sizes []int
	for _, s := range l.steps() {
		if s.Generation > 0 {
			sizes = append(sizes, s.Generation)
		}
	}
	if len(sizes) == 0 {
		return 0
	}
	slices.Sort(sizes)
	return sizes[len(sizes)/2]
}

// graphNodes is how many kernels of CUDA graphs a step has on average; 0 without
// steps.
func (l *Launches) graphNodes() float64 {
	nodes, steps := 0, len(l.steps())
	for i := range l.t.Kernels {
		if l.t.Kernels[i].GraphNode != 0 {
			nodes++
		}
	}
	if steps == 0 {
		return 0
	}
	return float64(nodes) / float64(steps)
}

// StepRanges are NVTX expressions that select the steps of a serving engine, where
// most of the GPU time is in them; nil where not.
func (t *Traced) StepRanges() []string {
	steps := t.at.PlaceSteps()
	var in, all int64
	for i := range t.timeline.Kernels {
		ns := max(0, t.timeline.Kernels[i].Duration())
		all += ns
		if _, ok := steps[t.at.KernelPlace(i)]; ok {
			in += ns
		}
	}
	if 2*in <= all {
		return nil
	}
	var out []string
	for _, r := range t.at.Regions() {
		part, ok := engine.StepFilter(r.Name)
		if !ok {
			continue
		}
		e := "regex:" + part
		if r.Domain != "" && r.Domain != nvtx.DefaultDomain {
			e = "regex:" + regexp.QuoteMeta(r.Domain) + "@" + part
		}
		if !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	slices.Sort(out)
	return out
}
