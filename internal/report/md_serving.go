package report

import (
	"slices"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
)

// serving writes what the clients of a server saw, and its steps. It writes
// nothing for other programs.
func (d *doc) serving(r *analysis.Result) {
	s := r.Serving
	if s == nil {
		return
	}
	d.heading(2, "requests")
	d.say("windows-lead")
	writeView(d, RequestView.without("seconds"), pointers(clientWindows(s.Windows)))
	d.servingCost(message.Phrase("collecting-costs"), s.Collecting, message.Phrase("against-idle-windows"))
	d.servingCost(message.Phrase("session-itself-costs"), s.Session, message.Phrase("against-start-without-nsys"))
	d.servingSteps(s)
}

func (d *doc) servingCost(what string, c *analysis.ServingCost, against string) {
	if c == nil {
		return
	}
	if c.Throughput != nil {
		d.say("session-cost-throughput", what, 100**c.Throughput, against)
	} else {
		d.say("session-cost-unknown", against)
	}
	if c.PerToken != nil {
		d.say("session-cost-latency", what, 100**c.PerToken, against)
	}
}

// clientWindows are the windows in which a client of ours counted.
func clientWindows(windows []analysis.ServingWindow) []analysis.ServingWindow {
	return slices.DeleteFunc(slices.Clone(windows), func(w analysis.ServingWindow) bool { return w.Stats == nil })
}
