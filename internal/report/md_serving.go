package report

import (
	"fmt"
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
	if windows := clientWindows(s.Windows); len(windows) > 0 {
		d.heading(2, "requests")
		d.say("windows-lead")
		writeView(d, RequestView.without("seconds"), pointers(windows))
		for _, note := range requestNotes(r) {
			d.line("%s", prose(note))
		}
	}
	d.servingSteps(r)
}

// requestNotes say what was asked of the server, what profiling it cost, and why
// numbers of it are absent.
func requestNotes(r *analysis.Result) []string {
	s := r.Serving
	if s == nil {
		return []string{message.Phrase("not-a-server-run")}
	}
	var out []string
	if s.Load != "client" {
		out = append(out, message.Phrase("no-load-client"))
	}
	if l := s.Shape; l != nil {
		if l.Rate > 0 {
			out = append(out, message.Phrase("load-open", l.Endpoint, l.Prompt, l.Output, significant(l.Rate), l.Concurrency))
		} else {
			out = append(out, message.Phrase("load-closed", l.Endpoint, l.Prompt, l.Output, l.Concurrency))
		}
	}
	out = append(out, costNotes(s.Collecting, "collecting-throughput", "collecting-unknown", "collecting-latency")...)
	out = append(out, costNotes(s.Session, "session-throughput", "session-unknown", "session-latency")...)
	lacks := func(id string, of func(*analysis.ServingWindow) bool) {
		windows := clientWindows(s.Windows)
		if len(windows) > 0 && !slices.ContainsFunc(windows, func(w analysis.ServingWindow) bool { return of(&w) }) {
			out = append(out, message.Phrase(id))
		}
	}
	lacks("no-goodput", func(w *analysis.ServingWindow) bool { return w.Stats.GoodPerSecond != nil })
	lacks("no-cache-use", func(w *analysis.ServingWindow) bool { return w.CacheUse != nil })
	lacks("no-peak-memory", func(w *analysis.ServingWindow) bool { return w.Memory != nil || w.GPUMemory != nil })
	return out
}

// costNotes say what something costs, by the IDs of three phrases; nothing where it was not
// compared.
func costNotes(c *analysis.ServingCost, throughput, unknown, latency string) (out []string) {
	if c == nil {
		return nil
	}
	if c.Throughput != nil {
		out = append(out, message.Phrase(throughput, fmt.Sprintf("%.1f %%", 100**c.Throughput)))
	} else {
		out = append(out, message.Phrase(unknown))
	}
	if c.PerToken != nil {
		out = append(out, message.Phrase(latency, fmt.Sprintf("%+.1f %%", 100**c.PerToken)))
	}
	return out
}

// clientWindows are the windows in which a client of ours counted.
func clientWindows(windows []analysis.ServingWindow) []analysis.ServingWindow {
	return slices.DeleteFunc(slices.Clone(windows), func(w analysis.ServingWindow) bool { return w.Stats == nil })
}
