package report

import (
	"fmt"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/load"
	"github.com/deepprof/deepprof/internal/message"
)

// RequestView is what the clients of a server saw in each window. Latencies are whole
// nanoseconds, of requests that ended in the window; a percentile of nothing is absent.
var RequestView = View[analysis.ServingWindow]{
	Name: "requests", Order: Order{Words: "start and time"},
	Legend: "unprofiled: a start without nsys; idle: the session collects nothing; profiled: it collects",
	Columns: []Column[analysis.ServingWindow]{
		{Key: "window", Value: func(w *analysis.ServingWindow) any { return w.Name }},
		{Key: "kind", Value: func(w *analysis.ServingWindow) any { return string(w.Kind) }},
		{Key: "seconds", Priority: 4, Unit: Seconds, Value: ofStats(func(s *load.Stats) any { return s.Seconds })},
		{Key: "requests", Priority: 2, Unit: Count, Value: ofStats(func(s *load.Stats) any { return s.Requests })},
		{Key: "errors", Priority: 3, Unit: Count, Value: ofStats(func(s *load.Stats) any { return s.Errors })},
		{Key: "ttft_p50_ns", Title: "TTFT p50", Unit: Nanoseconds, Group: "latency", Value: ofSummary(func(s *load.Stats) load.Summary { return s.TTFT }, p50)},
		{Key: "ttft_p99_ns", Title: "p99", Priority: 5, Unit: Nanoseconds, Group: "latency", Value: ofSummary(func(s *load.Stats) load.Summary { return s.TTFT }, p99)},
		{Key: "tpot_p50_ns", Title: "per token p50", Priority: 1, Unit: Nanoseconds, Group: "latency", Value: ofSummary(func(s *load.Stats) load.Summary { return s.TPOT }, p50)},
		{Key: "tpot_p99_ns", Title: "p99", Priority: 6, Unit: Nanoseconds, Group: "latency", Value: ofSummary(func(s *load.Stats) load.Summary { return s.TPOT }, p99)},
		{Key: "itl_p50_ns", Title: "between tokens p50", Unit: Nanoseconds, Group: "latency", Value: ofSummary(func(s *load.Stats) load.Summary { return s.ITL }, p50)},
		{Key: "itl_p99_ns", Title: "p99", Priority: 5, Unit: Nanoseconds, Group: "latency", Value: ofSummary(func(s *load.Stats) load.Summary { return s.ITL }, p99)},
		{Key: "e2e_p50_ns", Title: "end to end p50", Priority: 2, Unit: Nanoseconds, Group: "whole", Value: ofSummary(func(s *load.Stats) load.Summary { return s.EndToEnd }, p50)},
		{Key: "e2e_p99_ns", Title: "p99", Priority: 7, Unit: Nanoseconds, Group: "whole", Value: ofSummary(func(s *load.Stats) load.Summary { return s.EndToEnd }, p99)},
		{Key: "tokens_per_s", Title: "tokens/s", Unit: Count, Value: ofStats(func(s *load.Stats) any { return int64(s.TokensPerSecond + 0.5) })},
		{Key: "goodput_per_s", Title: "good requests/s", Priority: 3, Format: Number, Value: ofStats(func(s *load.Stats) any {
			if s.GoodPerSecond == nil {
				return nil
			}
			return fmt.Sprintf("%.2f", *s.GoodPerSecond)
		})},
		{Key: "cache_use", Title: "KV cache used", Priority: 8, Unit: Share, Value: func(w *analysis.ServingWindow) any { return w.CacheUse }},
		{Key: "memory_peak_bytes", Title: "GPU memory, peak", Help: "By the engine's own count", Priority: 9, Unit: Bytes, Value: func(w *analysis.ServingWindow) any { return w.Memory }},
		{Key: "gpu_memory_used_bytes", Title: "GPU memory in use", Help: "The most on one GPU in the window, of all processes, by samples of nvidia-smi", Priority: 9, Unit: Bytes, Value: func(w *analysis.ServingWindow) any { return w.GPUMemory }},
	},
}

// ofStats is nil for a window in which no client of deepprof's own counted.
func ofStats(get func(*load.Stats) any) func(*analysis.ServingWindow) any {
	return func(w *analysis.ServingWindow) any {
		if w.Stats == nil {
			return nil
		}
		return get(w.Stats)
	}
}

// p50 and p99 are percentiles of a summary, in its unit.
func p50(s load.Summary) float64 { return s.P50 }
func p99(s load.Summary) float64 { return s.P99 }

// ofSummary is a percentile in whole nanoseconds; null where there was nothing to
// measure.
func ofSummary(of func(*load.Stats) load.Summary, which func(load.Summary) float64) func(*analysis.ServingWindow) any {
	return ofStats(func(s *load.Stats) any { return percentileNS(of(s), which) })
}

// Requests shows what the clients of a server saw.
func Requests(r *analysis.Result) Printable {
	return RequestView.Table(servingOf(r).Windows, requestNotes(r)...)
}

// ServingStepView are the steps of a server by kind and batch size, those that take most of
// the time first. Times are under nsys; shares are of the time of all steps and the gaps
// between them.
var ServingStepView = View[analysis.StepClass]{
	Name: "steps", Order: Order{Key: "share", Descending: true}, Everything: "--all",
	Legend: "over all profiled windows; MFU and MBU by the model's config, over the mean time of a step under nsys",
	Columns: []Column[analysis.StepClass]{
		{Key: "kind", Value: func(c *analysis.StepClass) any { return string(c.Kind) }},
		{Key: "batch", Value: func(c *analysis.StepClass) any { return batchName(c) }},
		{Key: "steps", Priority: 1, Unit: Count, Value: func(c *analysis.StepClass) any { return c.Steps }},
		{Key: "share", Unit: Share, Value: func(c *analysis.StepClass) any { return c.Share }},
		{Key: "context_tokens", Title: "prompt tokens", Priority: 5, Unit: Count, Value: func(c *analysis.StepClass) any { return rounded(c.ContextTokens) }},
		{Key: "context_tokens_p99", Title: "p99", Priority: 9, Unit: Count, Value: func(c *analysis.StepClass) any { return tokensP99(c.ContextSpread) }},
		{Key: "generation_tokens", Title: "decode tokens", Priority: 6, Unit: Count, Value: func(c *analysis.StepClass) any { return rounded(c.GenerationTokens) }},
		{Key: "generation_tokens_p99", Title: "p99", Priority: 9, Unit: Count, Value: func(c *analysis.StepClass) any { return tokensP99(c.GenerationSpread) }},
		{Key: "step_median_ns", Title: "median", Unit: Nanoseconds, Group: "time", Value: func(c *analysis.StepClass) any { return int64(c.Time.P50) }},
		{Key: "step_p99_ns", Title: "p99", Priority: 3, Unit: Nanoseconds, Group: "time", Value: func(c *analysis.StepClass) any { return int64(c.Time.P99) }},
		{Key: "busy_median_ns", Title: "GPU busy, median", Priority: 1, Unit: Nanoseconds, Group: "time", Value: func(c *analysis.StepClass) any { return int64(c.Busy.P50) }},
		{Key: "busy_p99_ns", Title: "p99", Priority: 8, Unit: Nanoseconds, Group: "time", Value: func(c *analysis.StepClass) any { return percentileNS(c.Busy, p99) }},
		{Key: "gap_before_median_ns", Title: "gap before, median", Priority: 2, Unit: Nanoseconds, Group: "time", Value: func(c *analysis.StepClass) any { return percentileNS(c.Gap, p50) }},
		{Key: "gap_before_p99_ns", Title: "p99", Priority: 8, Unit: Nanoseconds, Group: "time", Value: func(c *analysis.StepClass) any { return percentileNS(c.Gap, p99) }},
		{Key: "launches", Priority: 4, Unit: Count, Value: func(c *analysis.StepClass) any { return int64(c.Launches + 0.5) }},
		{Key: "mfu", Title: "MFU", Priority: 2, Unit: Share, Value: func(c *analysis.StepClass) any { return useValue(c.MFU) }, Note: func(c *analysis.StepClass) string { return useNote(c.MFU) }},
		{Key: "mbu", Title: "MBU", Unit: Share, Value: func(c *analysis.StepClass) any { return useValue(c.MBU) }, Note: func(c *analysis.StepClass) string { return useNote(c.MBU) }},
		{Key: "roof", Title: "limiting roof", Priority: 6, Value: func(c *analysis.StepClass) any {
			return orNil(map[string]string{"flops": "arithmetic", "dram": message.Phrase("memory-bandwidth")}[c.Roof])
		}, Show: func(c *analysis.StepClass) any { return orNil(message.Label("step_roof", c.Roof)) }},
		{Key: "bytes", Priority: 7, Unit: Bytes, Value: func(c *analysis.StepClass) any { return orNil(c.Bytes) }},
		{Key: "tensor_sampled", Title: "tensor cores, sampled", Priority: 4, Unit: Share, Value: sampledShare("tensor_active")},
		{Key: "dram_sampled", Title: "DRAM, sampled", Priority: 3, Unit: Share, Value: sampledShare("dram_read", "dram_write")},
	},
}

// batchName is the sizes of a class; nil where names do not tell.
func batchName(c *analysis.StepClass) any {
	switch {
	case c.BatchMin < 0:
		return nil
	case c.BatchMin == c.BatchMax:
		return fmt.Sprint(c.BatchMin)
	}
	return fmt.Sprintf("%d-%d", c.BatchMin, c.BatchMax)
}

// rounded is nil where the names of steps do not tell the value.
func rounded(v *float64) any {
	if v == nil {
		return nil
	}
	return int64(*v + 0.5)
}

// useValue is the use of a peak; nil where it is not known.
func useValue(u *analysis.Utilization) any {
	if u == nil {
		return nil
	}
	return value(u.Value)
}

// useNote says what to know of the use of a peak, such as why it is absent.
func useNote(u *analysis.Utilization) string {
	if u == nil {
		return ""
	}
	return message.Join(u.Why)
}

// tokensP99 is a percentile of tokens; nil where names of steps do not tell them.
func tokensP99(s *load.Summary) any {
	if s == nil {
		return nil
	}
	return int64(s.P99)
}

// percentileNS is a percentile of a distribution in whole nanoseconds; nil for an
// empty one.
func percentileNS(s load.Summary, which func(load.Summary) float64) any {
	return when(s.N > 0, int64(which(s)))
}

// ServingSteps shows the steps of a server.
func ServingSteps(r *analysis.Result) Printable {
	return ServingStepView.Table(r.Serving.Steps, stepNotes(r.Serving.Steps)...)
}

// stepNotes say of each kind of step what is to be known of its MFU and MBU: each
// sentence once, with the kinds that it is about.
func stepNotes(steps []analysis.StepClass) []string {
	of := map[string][]string{}
	var order []string
	for i := range steps {
		c := &steps[i]
		why := useNote(c.MFU)
		if why == "" || useValue(c.MFU) != nil && !c.MFU.AtLeast {
			continue
		}
		if of[why] == nil {
			order = append(order, why)
		}
		of[why] = append(of[why], stepClassName(c))
	}
	for i, why := range order {
		order[i] = message.Phrase("mfu-and-mbu-of", strings.Join(of[why], "; "), why)
	}
	return order
}
