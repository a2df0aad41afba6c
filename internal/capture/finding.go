package capture

import (
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/tool"
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
		o.Warnings = append(o.Warnings, Warning{Fact: ofFile(warnStale, path)})
	}
}

// warnings are the doubts about a report: what the profiler said, what it left,
// and what the report lacks.
func warnings(e *Evidence, found []Finding, but string) []Warning {
	list := messagesOf(e, found, but)
	if len(e.Left) > 0 {
		list = append(list, warningOf(warnLeft, fact.Names("processes", fact.KindName, e.Left), fact.ID("after", "ran", "profiler")))
	}
	for _, name := range e.Expect.absent(e.Content) {
		list = append(list, Warning{Fact: fact.New(warnTraceEmpty, fact.ID("what", dataDomain, name)), Scope: name})
	}
	here, _ := e.good()
	if n := e.Expect.Reports; len(here) > 0 && len(here) < n {
		list = append(list, fewer(warnReports, len(here), n))
	}
	for _, f := range e.notes {
		list = append(list, Warning{Fact: f})
	}
	if e.Content == nil {
		return list
	}
	for _, f := range e.Content.Warnings { // they may quote the report
		list = append(list, Warning{Fact: f.Map(tool.Quote)})
	}
	if n, got := e.Expect.Launches, e.Content.Launches; e.Tool == Ncu && got > 0 && got < n {
		list = append(list, fewer(warnLaunches, got, n))
	}
	return list
}

func fewer(code fact.Code, n, of int) Warning {
	return warningOf(code, fact.Count("n", n), fact.Count("of", of))
}

// messagesOf are the messages of the profiler that ride on a report. Of the
// failures only those of the importer count beside a good report: the others are
// words that the workload may have printed.
func messagesOf(e *Evidence, found []Finding, but string) []Warning {
	var list []Warning
	for i := range found {
		f := &found[i]
		importer := f.Effect == Fail && (f.Kind == ImportFailed || f.Kind == ImporterBroken)
		if f.ID != but && (f.Effect == Warn || f.Effect == Always || importer) {
			list = append(list, Warning{Fact: f.fact()})
		}
	}
	for _, d := range e.Diagnostics {
		stored := MessageOf(d.Text)
		known := func(w Warning) bool { return w.Text(VendorText) == stored.Text(VendorText) }
		if d.serious() && !slices.ContainsFunc(list, known) {
			list = append(list, Warning{Fact: stored})
		}
	}
	return list
}
