package report

import (
	"fmt"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/load"
)

// serving writes what the clients of a server saw, and its steps. It writes
// nothing for other programs.
func (d *doc) serving(r *analysis.Result) {
	s := r.Serving
	if s == nil {
		return
	}
	d.line("## Requests")
	d.line("What clients saw in each window: `unprofiled` is a start without nsys, in `idle` windows the session collects nothing. `deepprof show requests` has all numbers.")
	t := newGrid("Window", "Kind", ">Requests", ">Errors", ">TTFT p50 (ms)", ">TTFT p99 (ms)", ">Between tokens p50 (ms)", ">p99 (ms)", ">Tokens/s")
	for i := range s.Windows {
		w := &s.Windows[i]
		if w.Stats == nil {
			continue
		}
		t.add(prose(w.Name), string(w.Kind), fmt.Sprint(w.Stats.Requests), fmt.Sprint(w.Stats.Errors), millisOf(w.Stats.TTFT, p50), millisOf(w.Stats.TTFT, p99),
			millisOf(w.Stats.ITL, p50), millisOf(w.Stats.ITL, p99), fmt.Sprintf("%.0f", w.Stats.TokensPerSecond))
	}
	d.table(t)
	d.servingCost("Collecting costs", s.Collecting, "against idle windows")
	d.servingCost("The session itself costs", s.Session, "against a start without nsys")
	d.servingSteps(s)
}

func (d *doc) servingCost(what string, c *analysis.ServingCost, against string) {
	if c == nil {
		return
	}
	if c.Throughput != nil {
		d.line("%s %.1f %% of the throughput, %s.", what, 100**c.Throughput, against)
	} else {
		d.line("Throughput is not compared %s: windows of one kind differ by more than a quarter, because requests come in waves. Longer windows, or lengths that vary, even them out.", against)
	}
	if c.PerToken != nil {
		d.line("%s %+.1f %% of the median time between tokens, %s.", what, 100**c.PerToken, against)
	}
}

func (d *doc) servingSteps(s *analysis.Serving) {
	if len(s.Steps) == 0 {
		return
	}
	d.line("## Steps of the engine")
	t := newGrid("Kind", ">Batch", ">Steps", ">Share (%)", ">Median (ms)", ">p99 (ms)", ">GPU busy (ms)", ">Gap before (ms)", ">MFU (%)", ">MBU (%)")
	for i := range s.Steps {
		c := &s.Steps[i]
		batch := absent
		if name, ok := batchName(c).(string); ok {
			batch = name
		}
		t.add(string(c.Kind), batch, fmt.Sprint(c.Steps), fmt.Sprintf("%.1f", 100*c.Share), millisOf(c.Time, p50), millisOf(c.Time, p99), millisOf(c.Busy, p50), millisOf(c.Gap, p50),
			utilizedPercent(c.MFU), utilizedPercent(c.MBU))
	}
	d.table(t)
}

func millisOf(s load.Summary, which func(load.Summary) float64) string {
	if s.N == 0 {
		return absent
	}
	return fmt.Sprintf("%.3f", which(s)/1e6)
}

func utilizedPercent(u *analysis.Utilisation) string {
	if u == nil || u.Value == nil {
		return absent
	}
	return fmt.Sprintf("%.1f", 100**u.Value)
}
