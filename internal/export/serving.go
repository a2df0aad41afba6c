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
