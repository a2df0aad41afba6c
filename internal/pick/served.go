package pick

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/engine"
	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/timeline"
)

// Serving says what a server must compute so that the chosen launches come: its
// batches differ from start to start, and answers take minutes under ncu.
type Serving struct {
	// Prompts are the steps with prompts that hold chosen launches, most GPU time
	// first. None where the names of steps do not tell.
	Prompts []Prompts `json:"prompts,omitempty"`
	// Batch is the number of sequences in the steps without prompts that take the most
	// GPU time; 0 where that is not told.
	Batch int `json:"batch,omitempty"`
	// GraphNodes is how many kernels of CUDA graphs a step has on average.
	GraphNodes float64 `json:"graph_nodes,omitempty"`
	// Begins says where counting begins, and why there; absent in files of earlier
	// versions.
	Begins *Reason `json:"begins,omitempty"`

	mixes bool // the engine puts prompts and sequences that decode into one step
}

// Prompts are those of one step: their number and all their tokens, 0 where the
// name of the step does not tell these, and the sequences that decode beside them,
// or that wait for them where the engine has them wait.
type Prompts struct {
	N        int `json:"n"`
	Tokens   int `json:"tokens,omitempty"`
	Decoding int `json:"decoding,omitempty"`
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
	s.Batch, s.GraphNodes = c.l.decodeBatch(steps), c.l.graphNodes()
	for _, step := range steps {
		s.mixes = s.mixes || step.Kind == engine.Mixed
	}
	for _, g := range groups {
		with, decodes := map[Prompts]int{}, false
		for i := range c.l.kinds {
			k := &c.l.kinds[i]
			if k.group != g || !c.in[i] {
				continue
			}
			if p := s.promptsOf(steps[k.place]); p.N > 0 {
				with[p] += k.launches
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
			if best.N == 0 || cmp.Or(cmp.Compare(n, with[best]), cmp.Compare(best.N, p.N), cmp.Compare(best.Tokens, p.Tokens), cmp.Compare(p.Decoding, best.Decoding)) > 0 {
				best = p
			}
		}
		s.Prompts = append(s.Prompts, best)
	}
	return s
}

// promptsOf is what a step computes of prompts; N is 0 where it has none, or does
// not tell. In an engine that does not mix the other sequences wait meanwhile.
func (s *Serving) promptsOf(step engine.Step) Prompts {
	if step.Context <= 0 {
		return Prompts{}
	}
	p := Prompts{N: step.Context, Tokens: max(0, step.ContextTokens), Decoding: max(0, step.Generation)}
	if !s.mixes {
		p.Decoding = max(0, s.Batch-p.N)
	}
	return p
}

// made tells whether a client that follows s makes a server compute such a step; a
// name that does not tell may be any.
func (s *Serving) made(step engine.Step) bool {
	switch {
	case step.Context > 0:
		return slices.Contains(s.Prompts, s.promptsOf(step))
	case step.Kind == engine.Decode && s.Batch > 0:
		return step.Generation == s.Batch
	}
	return step.Kind != engine.Empty
}

// narrow has ncu see the steps alone that the client makes, where the names of steps
// tell them: what else passes would be counted in the place of what was chosen.
// Groups that none of these steps has cannot be chosen. It gives the expressions, nil
// where it changes nothing.
func (c *choice) narrow(s *Serving) ([]string, error) {
	only := stepExprs(c.l.at, s.made)
	if len(only) == 0 || s.Batch == 0 {
		return nil, nil
	}
	filter, err := newRegionFilter(only, nil, c.l.at.Seen())
	if err != nil {
		return nil, err
	}
	match, shown := c.l.matches(filter.match), make([]bool, len(c.l.groups))
	for i := range c.l.kinds {
		c.seen[i] = c.seen[i] && match[i]
		shown[c.l.kinds[i].group] = shown[c.l.kinds[i].group] || c.seen[i]
	}
	c.ranked = slices.DeleteFunc(c.ranked, func(g int) bool {
		if shown[g] {
			return false
		}
		c.barred[g] = because(stepNotMade)
		c.totals.EligibleNS -= c.totalNS[g]
		for r := range c.regions {
			c.regions[r].eligibleNS -= c.regions[r].groups[g]
		}
		return true
	})
	c.totals.EligibleGroups = len(c.ranked)
	return filter.include, nil
}

// steps are the ranges of the timeline that are steps of a serving engine.
func (l *Launches) steps() (list []engine.Step) {
	l.eachRange(func(r *timeline.Range) {
		if s, ok := engine.ParseStep(l.t.Name(r.Name)); ok && s.Kind != engine.Empty {
			list = append(list, s)
		}
	})
	return list
}

// decodeBatch is the number of sequences in the steps without prompts that take the
// most GPU time; the fewest among equals, 0 where no name tells.
func (l *Launches) decodeBatch(steps map[uint32]engine.Step) int {
	times := map[int]int64{}
	for i := range l.kinds {
		k := &l.kinds[i]
		if s := steps[k.place]; s.Kind == engine.Decode && s.Generation > 0 {
			times[s.Generation] += k.ns
		}
	}
	best := 0
	for _, n := range slices.Sorted(maps.Keys(times)) {
		if best == 0 || times[n] > times[best] {
			best = n
		}
	}
	return best
}

// graphNodes is how many kernels of CUDA graphs a step has on average; 0 without
// steps.
func (l *Launches) graphNodes() float64 {
	nodes, steps := 0, len(l.steps())
	for i := range l.kinds {
		if k := &l.kinds[i]; k.node {
			nodes += k.launches
		}
	}
	if steps == 0 {
		return 0
	}
	return float64(nodes) / float64(steps)
}

// StepRanges are NVTX expressions that select the steps of a serving engine, where
// most of the GPU time is in them; nil where not.
func (l *Launches) StepRanges() []string {
	steps := l.at.PlaceSteps()
	var in, all int64
	for i := range l.kinds {
		k := &l.kinds[i]
		all += k.ns
		if _, ok := steps[k.place]; ok {
			in += k.ns
		}
	}
	if 2*in <= all {
		return nil
	}
	return stepExprs(l.at, nil)
}

// stepExprs are NVTX expressions that select the steps of a serving engine, one for
// each domain: those that compute the same batch as one that only wants, nil for all.
func stepExprs(at *timeline.Attribution, only func(engine.Step) bool) []string {
	parts := map[string][]string{} // by domain
	for _, r := range at.Regions() {
		part, same, ok := engine.StepFilter(r.Name)
		if !ok {
			continue
		}
		if only != nil {
			if s, _ := engine.ParseStep(r.Name); !only(s) {
				continue
			}
			part = same
		}
		if list := parts[r.Domain]; !slices.Contains(list, part) {
			parts[r.Domain] = append(list, part)
		}
	}
	var out []string
	for domain, list := range parts {
		slices.Sort(list)
		e := list[0]
		if len(list) > 1 {
			e = "(" + strings.Join(list, "|") + ")"
		}
		if domain != "" && domain != nvtx.DefaultDomain {
			e = regexp.QuoteMeta(domain) + "@" + e
		}
		out = append(out, "regex:"+e)
	}
	slices.Sort(out)
	return out
}
