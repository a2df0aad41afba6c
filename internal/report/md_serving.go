package report

import (
	"slices"

	"github.com/deepprof/deepprof/internal/analysis"
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
	writeView(d, RequestView.without("seconds"), pointers(clientWindows(s.Windows)))
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

// clientWindows are the windows in which a client of ours counted.
func clientWindows(windows []analysis.ServingWindow) []analysis.ServingWindow {
	return slices.DeleteFunc(slices.Clone(windows), func(w analysis.ServingWindow) bool { return w.Stats == nil })
}
