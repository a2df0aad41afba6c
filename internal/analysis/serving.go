package analysis

import (
	"cmp"
	"math"
	"path/filepath"
	"slices"

	"github.com/deepprof/deepprof/internal/engine"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/load"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/timeline"
)

// readServing reads what the clients of a server saw, and sums up its steps. It is
// nil for other programs.
func (a *analyzer) readServing(steps []timeline.StepRow) *Serving {
	s := &Serving{Windows: []ServingWindow{}}
	for _, path := range a.in.Windows {
		record, err := load.ReadRecord(path)
		if err != nil {
			a.notes.unreadable(err)
			continue
		}
		a.notes.use(path, "windows")
		step := filepath.Base(filepath.Dir(path))
		s.Engine, s.Load, s.Shape = cmp.Or(s.Engine, record.Engine), cmp.Or(s.Load, record.Load), cmp.Or(s.Shape, record.Shape)
		s.Steady = s.Steady || step == plan.StepNsys && record.Steady
		for _, w := range record.Window {
			s.Windows = append(s.Windows, ServingWindow{Start: step, Window: w})
		}
	}
	if len(s.Windows) == 0 && len(steps) == 0 {
		return nil
	}
	order := []string{plan.StepUnprofiled, plan.StepNsys, plan.StepNcu}
	slices.SortStableFunc(s.Windows, func(x, y ServingWindow) int {
		return cmp.Compare(slices.Index(order, x.Start), slices.Index(order, y.Start))
	})
	s.Session = s.cost(load.Unprofiled, load.Idle)
	s.Collecting = s.cost(load.Idle, load.Profiled)
	s.Steps, s.NextToken, s.OverTime = classSteps(steps), nextToken(steps), overTime(steps)
	return s
}

// cost compares two kinds of windows, the second of which is to cost more; nil where one is
// missing.
func (s *Serving) cost(base, dearer load.WindowKind) *ServingCost {
	x, ok := s.mean(base)
	y, also := s.mean(dearer)
	if !ok || !also || x.tokens <= 0 {
		return nil
	}
	c := &ServingCost{PerToken: more(x.itl, y.itl), TTFT: more(x.ttft, y.ttft)}
	if s.even(base) && s.even(dearer) {
		c.Throughput = new(1 - y.tokens/x.tokens)
	}
	return c
}

// even tells whether windows of a kind have about the same throughput: requests
// that come in waves make short windows incomparable.
func (s *Serving) even(kind load.WindowKind) bool {
	low, high := math.Inf(1), 0.0
	for _, w := range s.Windows {
		if w.Kind == kind && w.Stats != nil {
			low, high = min(low, w.Stats.TokensPerSecond), max(high, w.Stats.TokensPerSecond)
		}
	}
	return low >= 0.75*high
}

// more is how much y exceeds x, as a share of x; absent where one of them is not known.
func more(x, y float64) *float64 {
	if x <= 0 || y <= 0 {
		return nil
	}
	return new(y/x - 1)
}

// clientMeans are means over windows, weighted by their time; of the medians for
// latencies.
type clientMeans struct {
	seconds, tokens, itl, ttft, prompt, output float64
	context                                    float64 // tokens in the cache of a request while it decodes; 0 where that is not known
	read                                       float64 // the most places of the cache that a decode step reads for a sequence; 0 where that is not known
}

// mean is false where no window of these kinds saw a token.
func (s *Serving) mean(kinds ...load.WindowKind) (clientMeans, bool) {
	var m clientMeans
	var itl, ttft, answers, contexts float64
	for _, w := range s.Windows {
		if w.Stats == nil || w.Stats.Tokens == 0 || !slices.Contains(kinds, w.Kind) {
			continue
		}
		t := w.Stats.Seconds
		m.seconds += t
		m.tokens += float64(w.Stats.Tokens)
		if w.Stats.ITL.N > 0 {
			itl, m.itl = itl+t, m.itl+t*w.Stats.ITL.P50
		}
		if w.Stats.TTFT.N > 0 {
			ttft, m.ttft = ttft+t, m.ttft+t*w.Stats.TTFT.P50
		}
		if n := float64(w.Stats.ITL.N); n > 0 && w.Stats.Context > 0 {
			contexts, m.context = contexts+n, m.context+n*w.Stats.Context
		}
		if w.CacheRead != nil {
			m.read = max(m.read, *w.CacheRead)
		}
		if n := float64(w.Stats.Output.N); n > 0 {
			answers, m.prompt, m.output = answers+n, m.prompt+n*w.Stats.Prompt.Mean, m.output+n*w.Stats.Output.Mean
		}
	}
	if m.seconds <= 0 {
		return m, false
	}
	over := func(sum, of float64) float64 {
		if of <= 0 {
			return 0
		}
		return sum / of
	}
	m.tokens, m.itl, m.ttft = m.tokens/m.seconds, over(m.itl, itl), over(m.ttft, ttft)
	m.prompt, m.output, m.context = over(m.prompt, answers), over(m.output, answers), over(m.context, contexts)
	return m, true
}

// classSteps sums steps up by kind and batch size, those with most time first.
func classSteps(steps []timeline.StepRow) []StepClass {
	byKey := map[timeline.StepClassKey][]timeline.StepRow{}
	var total float64
	for _, s := range steps {
		byKey[s.Class()] = append(byKey[s.Class()], s)
		total += float64(s.StepNS) + gapOf(s)
	}
	var out []StepClass
	for k, list := range byKey {
		out = append(out, classOf(StepClass{Kind: k.Kind, BatchMin: k.BatchMin, BatchMax: k.BatchMax, compositions: map[engine.Step]int{}}, list, total))
	}
	slices.SortFunc(out, func(x, y StepClass) int {
		return cmp.Or(cmp.Compare(y.Share, x.Share), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.BatchMin, y.BatchMin))
	})
	return out
}

// gapOf is 0 for the first step of a window, which has no gap before it.
func gapOf(s timeline.StepRow) float64 {
	if s.GapNS == nil {
		return 0
	}
	return float64(*s.GapNS)
}

// classOf fills in a class from its steps, of which there is at least one. total is the time of
// all steps and gaps in nanoseconds.
func classOf(c StepClass, list []timeline.StepRow, total float64) StepClass {
	var times, busy, gaps, kernels, context, generation []float64
	var launches, spent float64
	var sampled moments
	for _, s := range list {
		times, busy, kernels = append(times, float64(s.StepNS)), append(busy, float64(s.BusyNS)), append(kernels, float64(s.GPUNS))
		if s.GapNS != nil {
			gaps = append(gaps, float64(*s.GapNS))
		}
		if n := s.Composition.ContextTokens; n >= 0 {
			context = append(context, float64(n))
		}
		if n := s.Composition.GenerationTokens; n >= 0 {
			generation = append(generation, float64(n))
		}
		sampled.add(s.Sampled)
		c.compositions[s.Composition]++
		launches += float64(s.Launches)
		spent += float64(s.StepNS) + gapOf(s)
	}
	c.Sampled = sampled.rows()
	c.Steps, c.Launches = len(list), launches/float64(len(list))
	c.Time, c.Busy, c.Gap, c.GPU = load.Summarize(times), load.Summarize(busy), load.Summarize(gaps), load.Summarize(kernels)
	if total > 0 {
		c.Share = spent / total
	}
	// Summaries have sorted the values.
	c.TimeHistogram, c.BusyHistogram, c.GapHistogram = histogramOf(times), histogramOf(busy), histogramOf(gaps)
	if n := load.Summarize(context); n.N == len(list) {
		c.ContextTokens, c.ContextSpread = &n.Mean, &n
	}
	if n := load.Summarize(generation); n.N == len(list) {
		c.GenerationTokens, c.GenerationSpread = &n.Mean, &n
	}
	return c
}

// histogramOf is a histogram of whole nanoseconds; nil for a handful.
func histogramOf(sorted []float64) *Histogram {
	if len(sorted) == 0 {
		return nil
	}
	whole := make([]int64, len(sorted))
	for i, v := range sorted {
		whole[i] = int64(v)
	}
	return histogram(timeline.SampleOf(whole))
}

// nextToken divides the time of steps and of the gaps before them; nil where no
// step decodes.
func nextToken(steps []timeline.StepRow) *NextToken {
	var n NextToken
	for _, s := range steps {
		if s.GapNS != nil {
			n.GapNS += float64(*s.GapNS)
		}
		switch t := float64(s.StepNS); s.Kind {
		case engine.Decode:
			n.Steps++
			busy := min(t, float64(s.BusyNS))
			n.BusyNS += busy
			n.IdleNS += t - busy
		case engine.Mixed:
			n.Steps++
			n.MixedNS += t
		case engine.Prefill:
			n.PromptNS += t
		default:
			n.OtherNS += t
		}
	}
	if n.Steps == 0 {
		return nil
	}
	for _, part := range []*float64{&n.BusyNS, &n.IdleNS, &n.MixedNS, &n.PromptNS, &n.GapNS, &n.OtherNS} {
		*part /= float64(n.Steps)
		n.PeriodNS += *part
	}
	return &n
}

// findNextToken says first where the time of the next token goes.
func (cn *conclusion) findNextToken() {
	if cn.res.Serving == nil || cn.res.Serving.NextToken == nil {
		return
	}
	n := cn.res.Serving.NextToken
	params := []fact.Param{fact.NS("period", n.PeriodNS), fact.Count("steps", n.Steps)}
	for _, part := range n.Parts() {
		if part.NS > 0 || slices.Contains([]string{"busy", "idle", "gap"}, part.ID) {
			params = append(params, fact.Share(part.ID, part.Share))
		}
	}
	if c := cn.mostDecode(); c != nil && c.MBU != nil && c.MBU.Value != nil {
		params = append(params, fact.Count("batch_min", c.BatchMin), fact.Count("batch", c.BatchMax), fact.Share("mbu", *c.MBU.Value))
	}
	cn.find("next-token", weightHigh, codeNextToken, params...)
}

// mostDecode is the class of decode steps with the most time; nil where no step only decodes.
// The result is about a server.
func (cn *conclusion) mostDecode() *StepClass {
	for i := range cn.res.Serving.Steps {
		if c := &cn.res.Serving.Steps[i]; c.Kind == engine.Decode {
			return c
		}
	}
	return nil
}
