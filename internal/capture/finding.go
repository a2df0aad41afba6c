package capture

import (
	"slices"
	"strconv"
	"strings"
)

func firstEffect(found []Finding, effect Effect) *Finding {
	for i := range found {
		if found[i].Effect == effect {
			return &found[i]
		}
	}
	return nil
}

// firstOf is the first finding with one of the ids, in the order of the ids.
func firstOf(found []Finding, ids ...string) *Finding {
	for _, id := range ids {
		for i := range found {
			if found[i].ID == id {
				return &found[i]
			}
		}
	}
	return nil
}

func has(found []Finding, id string) bool { return firstOf(found, id) != nil }

// passes reports whether a failure was seen that passes by itself.
func passes(found []Finding) bool {
	return slices.ContainsFunc(found, func(f Finding) bool { return f.Effect == Fail && f.Retry })
}

// firstFailure is the first message that explains a failure. A workload that
// was seen alive may print the same words itself, so messages that say it never
// ran do not count then.
func firstFailure(found []Finding, ran bool) *Finding {
	for i := range found {
		f := &found[i]
		if f.Effect != Fail || (ran && beforeWorkload[f.Kind]) {
			continue
		}
		return f
	}
	return nil
}

var beforeWorkload = map[Kind]bool{WorkloadMissing: true, StartFailed: true, TempUnusable: true, ToolUsage: true}

func (o *Outcome) warn(e *Evidence, found []Finding, but string) {
	o.Warnings = warnings(e, found, but)
	for _, path := range o.Stale {
		o.Warnings = append(o.Warnings, Warning{ID: "stale", Text: path + " is from an earlier run", Next: "do not read it as the result of this one"})
	}
}

// warnings are the messages that ride on a report. Of the failures only those
// of the importer count beside a good report: the others are words that the
// workload may have printed.
func warnings(e *Evidence, found []Finding, but string) []Warning {
	var list []Warning
	for _, f := range found {
		importer := f.Effect == Fail && (f.Kind == ImportFailed || f.Kind == ImporterBroken)
		if f.ID == but || (f.Effect != Warn && f.Effect != Always && !importer) {
			continue
		}
		next := f.Next
		if next == "" && f.Kind != WithWarnings { // whose advice is to read this
			next = advice[f.Kind].next
		}
		list = append(list, Warning{ID: f.ID, Text: f.Line, Next: next})
	}
	for _, d := range e.Diagnostics {
		known := func(w Warning) bool { return w.Text == d.Text }
		if d.serious() && !slices.ContainsFunc(list, known) {
			list = append(list, Warning{ID: "diagnostic", Text: d.Text})
		}
	}
	if len(e.Left) > 0 {
		list = append(list, Warning{ID: "left", Text: "still running after the profiler and ended: " + strings.Join(e.Left, ", "), Next: "make the workload end its processes, or let it react to SIGTERM"})
	}
	for _, name := range e.Expect.absent(e.Content) {
		list = append(list, Warning{
			ID: "trace-empty", Scope: name, Text: name + " was to be recorded, and the timeline holds none",
			Next: "check that the workload uses it in a process that nsys follows, or do not ask for it",
		})
	}
	here, _ := e.good()
	if n := e.Expect.Reports; n > 0 && len(here) > 0 {
		if len(here) < n {
			list = append(list, Warning{ID: "fewer-reports", Text: plural(len(here), "report") + " of " + plural(n, "range") + " expected", Next: "the range was entered less often than the capture was to repeat"})
		}
	}
	if e.Content != nil {
		for _, w := range e.Content.Warnings {
			list = append(list, Warning{ID: "reader", Text: w})
		}
		if n := e.Expect.Launches; e.Tool == Ncu && n > 0 && e.Content.Launches < n && e.Content.Launches > 0 {
			list = append(list, Warning{ID: "fewer-launches", Text: plural(e.Content.Launches, "result") + " of " + plural(n, "launch") + " expected", Next: "the workload launched fewer of them than the timeline showed"})
		}
	}
	return list
}

func plural(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case noun == "launch":
		return strconv.Itoa(n) + " launches"
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
