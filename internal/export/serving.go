package export

import (
	"strconv"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/load"
)

// stepLabels name the steps of a kind and their batch sizes, of which there are none
// where names do not tell them.
// Classes of one result have different labels.
func stepLabels(c *analysis.StepClass) []label {
	of := []label{{"kind", string(c.Kind)}}
	switch {
	case c.BatchMin < 0:
	case c.BatchMin == c.BatchMax:
		of = append(of, label{"batch", strconv.Itoa(c.BatchMin)})
	default:
		of = append(of, label{"batch", strconv.Itoa(c.BatchMin) + "-" + strconv.Itoa(c.BatchMax)})
	}
	return of
}

// quantiles adds the median and the 99th percentile of times in ns; nothing for an
// empty summary.
func (f *family) quantiles(s load.Summary, of []label) {
	if s.N > 0 {
		f.add(s.P50/1e9, append(of[:len(of):len(of)], label{"quantile", "0.5"})...)
		f.add(s.P99/1e9, append(of[:len(of):len(of)], label{"quantile", "0.99"})...)
	}
}

// requestFamilies are what the clients of a server saw in each window, with the window and its
// kind as labels; none where no client of deepprof's own drove it. Latencies are seconds.
func requestFamilies(r *analysis.Result) []family {
	if r.Serving == nil {
		return nil
	}
	ttft := family{name: "deepprof_request_ttft_seconds", unit: "seconds", help: "From sending a request to its first token."}
	tpot := family{name: "deepprof_request_tpot_seconds", unit: "seconds", help: "Time per token of a request after its first."}
	itl := family{name: "deepprof_request_itl_seconds", unit: "seconds", help: "Between two tokens that follow each other."}
	e2e := family{name: "deepprof_request_e2e_seconds", unit: "seconds", help: "From sending a request to its end."}
	tokens := family{name: "deepprof_request_tokens_per_second", help: "Tokens that clients received per second."}
	requests := family{name: "deepprof_request_ended_per_second", help: "Requests that ended well per second."}
	good := family{name: "deepprof_request_good_per_second", help: "Requests that met the target of latency per second."}
	errors := family{name: "deepprof_request_errors", help: "Requests that failed in the window."}
	cache := family{name: "deepprof_kv_cache_used_ratio", unit: "ratio", help: "Used share of the key-value cache at the end of the window, by the server's own count."}
	memory := family{name: "deepprof_gpu_memory_peak_bytes", unit: "bytes", help: "Peak of GPU memory, by the server's own count."}
	used := family{name: "deepprof_gpu_memory_used_bytes", unit: "bytes", help: "Most memory that one GPU had in use in the window, of all processes, by samples of nvidia-smi."}
	for i := range r.Serving.Windows {
		w := &r.Serving.Windows[i]
		of := []label{{"window", w.Name}, {"kind", string(w.Kind)}}
		if s := w.Stats; s != nil {
			ttft.quantiles(s.TTFT, of)
			tpot.quantiles(s.TPOT, of)
			itl.quantiles(s.ITL, of)
			e2e.quantiles(s.EndToEnd, of)
			tokens.add(s.TokensPerSecond, of...)
			requests.add(s.RequestsPerSec, of...)
			errors.add(float64(s.Errors), of...)
			if s.GoodPerSecond != nil {
				good.add(*s.GoodPerSecond, of...)
			}
		}
		if w.CacheUse != nil {
			cache.add(*w.CacheUse, of...)
		}
		if w.Memory != nil {
			memory.add(*w.Memory, of...)
		}
		if w.GPUMemory != nil {
			used.add(*w.GPUMemory, of...)
		}
	}
	return []family{ttft, tpot, itl, e2e, tokens, requests, good, errors, cache, memory, used}
}

// stepFamilies are the steps of a server by kind and batch size, and where the time of
// the next token goes.
func stepFamilies(r *analysis.Result) []family {
	if r.Serving == nil {
		return nil
	}
	times := family{name: "deepprof_step_seconds", unit: "seconds", help: "Time of a step of a serving engine under Nsight Systems."}
	busy := family{name: "deepprof_step_gpu_busy_seconds", unit: "seconds", help: "Time in which the GPU ran work of a step."}
	gap := family{name: "deepprof_step_gap_seconds", unit: "seconds", help: "Time between the step before and a step: the scheduler."}
	steps := family{name: "deepprof_step_count", help: "Steps in all profiled windows."}
	share := family{name: "deepprof_step_time_ratio", unit: "ratio", help: "Share of the time of all steps and gaps."}
	mfu := family{name: "deepprof_step_mfu_ratio", unit: "ratio", help: "FLOPs of the model over the peak of the GPU; with bound=at_least a lower bound."}
	mbu := family{name: "deepprof_step_mbu_ratio", unit: "ratio", help: "Bytes of the model over the peak of the memory; with bound=at_least a lower bound."}
	for i := range r.Serving.Steps {
		c := &r.Serving.Steps[i]
		of := stepLabels(c)
		times.quantiles(c.Time, of)
		busy.quantiles(c.Busy, of)
		gap.quantiles(c.Gap, of)
		steps.add(float64(c.Steps), of...)
		share.add(c.Share, of...)
		mfu.use(c.MFU, of)
		mbu.use(c.MBU, of)
	}
	next := family{name: "deepprof_next_token_seconds", unit: "seconds", help: "What the mean time from one step that decodes to the next goes to."}
	for _, p := range r.Serving.NextToken.Parts() {
		next.add(p.NS/1e9, label{"part", p.ID})
	}
	return []family{times, busy, gap, steps, share, mfu, mbu, next}
}

// use adds the use of a peak where it is known; a lower bound has a label that says so.
func (f *family) use(u *analysis.Utilization, of []label) {
	if u == nil || u.Value == nil {
		return
	}
	bound := ""
	if u.AtLeast {
		bound = "at_least"
	}
	f.add(*u.Value, append(of[:len(of):len(of)], label{"bound", bound})...)
}

// eachSampled visits the sampled counters of the kinds of steps of a server and of
// regions.
// of may be kept: each visit has its own.
func eachSampled(r *analysis.Result, visit func(of []label, list []analysis.Sampled)) {
	if r.Serving != nil {
		for i := range r.Serving.Steps {
			c := &r.Serving.Steps[i]
			visit(append([]label{{"of", "steps"}}, stepLabels(c)...), c.Sampled)
		}
	}
	for i := range r.Sampled {
		visit([]label{{"of", "region"}, {"region", r.Sampled[i].Path}}, r.Sampled[i].Metrics)
	}
}

// sampledFamilies are the means of the counters that Nsight Systems sampled, of regions and of
// the steps of a server: 0 to 1 of what the unit can do.
func sampledFamilies(r *analysis.Result) []family {
	mean := family{name: "deepprof_sampled_ratio", unit: "ratio", help: "Mean of a counter that Nsight Systems sampled, of what the unit can do."}
	err := family{name: "deepprof_sampled_error_ratio", unit: "ratio", help: "Its standard error, and what rounding of readings to whole percents can hide."}
	readings := family{name: "deepprof_sampled_readings", help: "Readings that the mean is made from."}
	eachSampled(r, func(of []label, list []analysis.Sampled) {
		for _, m := range list {
			at := append(of[:len(of):len(of)], label{"metric", m.Metric})
			mean.add(m.Mean, at...)
			err.add(m.Error, at...)
			readings.add(float64(m.Samples), at...)
		}
	})
	return []family{mean, err, readings}
}

// named writes a line whose name has labels, as key=value.
func (b *benchWriter) named(kind string, of []label, n int64, list ...measure) {
	if len(list) == 0 {
		return
	}
	name := []string{kind}
	for _, l := range of {
		if l.value != "" {
			name = append(name, l.name+"="+l.value)
		}
	}
	b.line(name, n, list...)
}

// serving writes a line for each window of a server, each kind of step and each
// region with sampled counters. What was not measured is left out.
func (b *benchWriter) serving(r *analysis.Result) {
	if r.Serving != nil {
		for i := range r.Serving.Windows {
			b.window(&r.Serving.Windows[i])
		}
		for i := range r.Serving.Steps {
			c := &r.Serving.Steps[i]
			list := []measure{{c.Time.Mean, "ns/op"}, {c.Busy.Mean, "gpu-busy-ns/op"}, {c.Launches, "launches/op"}}
			if c.Gap.N > 0 {
				list = append(list, measure{c.Gap.Mean, "gap-ns/op"})
			}
			for _, u := range []struct {
				of   *analysis.Utilization
				unit string
			}{{c.MFU, "mfu"}, {c.MBU, "mbu"}} {
				if u.of != nil && u.of.Value != nil && !u.of.AtLeast {
					list = append(list, measure{*u.of.Value, u.unit})
				}
			}
			b.named("Step", stepLabels(c), int64(c.Steps), list...)
		}
	}
	eachSampled(r, func(of []label, metrics []analysis.Sampled) {
		var list []measure
		readings := 0
		for _, m := range metrics {
			list, readings = append(list, measure{m.Mean, m.Metric}), max(readings, m.Samples)
		}
		b.named("Sampled", of, int64(readings), list...)
	})
}

// window writes what clients saw in a window; nothing where it has no request and no
// token.
func (b *benchWriter) window(w *analysis.ServingWindow) {
	s := w.Stats
	if s == nil || s.Tokens == 0 || w.Kind == load.Counted {
		return
	}
	list := []measure{{s.TokensPerSecond, "tokens/s"}, {s.RequestsPerSec, "requests/s"}}
	if s.GoodPerSecond != nil {
		list = append(list, measure{*s.GoodPerSecond, "good-requests/s"})
	}
	for _, t := range []struct {
		of   load.Summary
		name string
	}{{s.TTFT, "ttft"}, {s.TPOT, "tpot"}, {s.ITL, "itl"}, {s.EndToEnd, "e2e"}} {
		if t.of.N > 0 {
			list = append(list, measure{t.of.P50, t.name + "-p50-ns"}, measure{t.of.P99, t.name + "-p99-ns"})
		}
	}
	b.named("Requests", []label{{"kind", string(w.Kind)}, {"window", w.Name}}, int64(max(1, s.Requests)), list...)
}
