package compare

import (
	"fmt"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/load"
	"github.com/deepprof/deepprof/internal/nvtx"
)

// clockOf says what was on while a window of a server was measured; false for
// windows whose times say nothing.
func clockOf(k load.WindowKind) (Clock, bool) {
	switch k {
	case load.Unprofiled:
		return Unprofiled, true
	case load.Idle:
		return IdleNsys, true
	case load.Profiled:
		return UnderNsys, true
	}
	return "", false
}

// requestValues are what clients saw of a server: a percentile of a latency, or a
// rate. n is how many requests or tokens a value is made from.
var requestValues = []struct {
	name   string
	metric Metric
	of     func(*load.Stats) (v float64, n int)
}{
	{"ttft_p50", Time, func(s *load.Stats) (float64, int) { return s.TTFT.P50, s.TTFT.N }},
	{"ttft_p99", Time, func(s *load.Stats) (float64, int) { return s.TTFT.P99, s.TTFT.N }},
	{"tpot_p50", Time, func(s *load.Stats) (float64, int) { return s.TPOT.P50, s.TPOT.N }},
	{"tpot_p99", Time, func(s *load.Stats) (float64, int) { return s.TPOT.P99, s.TPOT.N }},
	{"itl_p50", Time, func(s *load.Stats) (float64, int) { return s.ITL.P50, s.ITL.N }},
	{"itl_p99", Time, func(s *load.Stats) (float64, int) { return s.ITL.P99, s.ITL.N }},
	{"e2e_p50", Time, func(s *load.Stats) (float64, int) { return s.EndToEnd.P50, s.EndToEnd.N }},
	{"e2e_p99", Time, func(s *load.Stats) (float64, int) { return s.EndToEnd.P99, s.EndToEnd.N }},
	{"tokens", Rate, func(s *load.Stats) (float64, int) { return s.TokensPerSecond, s.Tokens }},
	{"requests", Rate, func(s *load.Stats) (float64, int) { return s.RequestsPerSec, s.Requests }},
	{"goodput", Rate, func(s *load.Stats) (float64, int) {
		if s.GoodPerSecond == nil {
			return 0, 0
		}
		return *s.GoodPerSecond, s.Requests
	}},
}

// addRequests takes what the clients of a server saw: one sample of each kind of
// window, since its windows share a process. It is the median over the windows.
func (s *samples) addRequests(r *analysis.Result) {
	if r.Serving == nil {
		return
	}
	of, errors := map[Key]map[Clock][]float64{}, map[Clock]float64{}
	note := func(k Key, clock Clock, x float64) {
		if of[k] == nil {
			of[k] = map[Clock][]float64{}
		}
		of[k][clock] = append(of[k][clock], x)
	}
	for i := range r.Serving.Windows {
		w := &r.Serving.Windows[i]
		clock, ok := clockOf(w.Kind)
		if !ok || w.Stats == nil {
			continue
		}
		errors[clock] += float64(w.Stats.Errors)
		for _, v := range requestValues {
			if x, n := v.of(w.Stats); n > 0 {
				note(Key{Request, v.name, v.metric}, clock, x)
			}
		}
		for k, x := range map[Key]*float64{cacheUse: w.CacheUse, memoryPeak: w.Memory, memoryUsed: w.GPUMemory} {
			if x != nil {
				note(k, clock, *x)
			}
		}
	}
	order := []Key{}
	for _, v := range requestValues {
		order = append(order, Key{Request, v.name, v.metric})
	}
	order = append(order, memoryPeak, memoryUsed, cacheUse)
	for i, k := range order {
		for _, clock := range preferred {
			if values := of[k][clock]; len(values) > 0 {
				s.add(k, clock, median(values), float64(len(order)-i))
			}
		}
	}
	for _, clock := range preferred {
		if n, ok := errors[clock]; ok {
			s.add(Key{Request, "errors", Errors}, clock, n, 0)
		}
	}
	s.addServingSteps(r.Serving.Steps)
}

// What a server uses: the share of its key-value cache, the peak of GPU memory by its
// own count, and the memory in use on a GPU, of all processes.
var (
	cacheUse   = Key{Request, "cache_use", Used}
	memoryPeak = Key{Request, "memory_peak", Memory}
	memoryUsed = Key{Request, "memory_used", Memory}
)

// addServingSteps takes the steps of a server by kind and batch size, with their use
// of the peaks and the counters that were sampled in them.
func (s *samples) addServingSteps(list []analysis.StepClass) {
	for i := range list {
		c := &list[i]
		name := string(c.Kind)
		if c.BatchMin >= 0 {
			name = fmt.Sprintf("%s batch %d-%d", c.Kind, c.BatchMin, c.BatchMax)
		}
		weight := c.Share * c.Time.Mean * float64(c.Steps)
		s.add(Key{Step, name, Time}, UnderNsys, c.Time.P50, weight)
		if c.GPU.N > 0 && c.GPU.P50 > 0 {
			s.add(Key{Step, name, GPUTime}, OnGPU, c.GPU.P50, weight)
		}
		if c.Gap.N > 0 {
			s.add(Key{Step, name, Gap}, UnderNsys, c.Gap.P50, weight)
		}
		s.addStepUse(MFU, name, c.MFU, weight)
		s.addStepUse(MBU, name, c.MBU, weight)
		s.addSampled(name, c.Sampled, weight)
	}
}

// addStepUse leaves out lower bounds: their ratio says nothing.
func (s *samples) addStepUse(kind Kind, name string, use *analysis.Utilization, weight float64) {
	if use != nil && use.Value != nil && !use.AtLeast {
		s.add(Key{kind, "step " + name, Share}, UnderNsys, *use.Value, weight)
	}
}

// sampledDepth is how deep a region may lie whose sampled counters are compared: the
// phases of a program and their steps. More would only make every verdict harder.
const sampledDepth = 2

// addSamples takes the counters that nsys sampled in regions; those of a server are
// taken by kind of step.
func (s *samples) addSamples(r *analysis.Result) {
	if r.Serving != nil && len(r.Serving.Steps) > 0 {
		return
	}
	for i := range r.Sampled {
		if g := &r.Sampled[i]; len(nvtx.SplitPath(g.Path)) <= sampledDepth {
			s.addSampled(g.Path, g.Metrics, float64(g.SpanNS))
		}
	}
}

// addSampled takes the means of counters that nsys sampled; their names are metrics of their
// own, which no rule can name.
func (s *samples) addSampled(name string, list []analysis.Sampled, weight float64) {
	for _, m := range list {
		s.add(Key{Sample, name, Metric(m.Metric)}, UnderNsys, m.Mean, weight)
	}
}

// loadOf is what the client sent to a server, by the keys of its settings; "" for
// other programs.
func loadOf(r *Run) string {
	s := r.Result.Serving
	if s == nil || s.Shape == nil {
		return ""
	}
	text := fmt.Sprintf("endpoint=%s prompt=%s output=%s concurrency=%d", s.Shape.Endpoint, s.Shape.Prompt, s.Shape.Output, s.Shape.Concurrency)
	if s.Shape.Rate > 0 {
		text += fmt.Sprintf(" rate=%g/s", s.Shape.Rate)
	}
	return text
}
