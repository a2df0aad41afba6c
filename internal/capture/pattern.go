package capture

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/tool"
)

//go:embed patterns.tsv
var patternTable string

// An Effect says what a message means for the verdict.
type Effect string

const (
	Fact   Effect = "fact"   // used by judge, says nothing alone
	Hint   Effect = "hint"   // explains a verdict that another message decides
	Warn   Effect = "warn"   // rides on a good report
	Fail   Effect = "fail"   // decides where there is no good report
	Always Effect = "always" // decides even where there is one
)

// A Pattern is one known message. The order of the table is the order of
// precedence among those that decide.
type Pattern struct {
	ID       string
	Tools    []Tool
	Effect   Effect
	Kind     Kind // "" for facts
	Retry    bool
	Regexp   *regexp.Regexp
	Explains bool     // its words say more about the cause than those of Kind
	Fixtures []string // recorded outputs that it must match
}

// patterns returns the table.
var patterns = sync.OnceValue(func() []Pattern {
	rows, err := parsePatterns(patternTable)
	if err != nil {
		panic(err) // the table is part of the program; TestPatterns covers it
	}
	return rows
})

// printed is how a message of the table looks; it panics for an ID that is not there.
func printed(id string) *regexp.Regexp {
	rows := patterns()
	return rows[slices.IndexFunc(rows, func(p Pattern) bool { return p.ID == id })].Regexp
}

// parsePatterns reads the embedded table. Order is precedence, so rows stay as they are.
func parsePatterns(text string) ([]Pattern, error) {
	var rows []Pattern
	for n, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 8 {
			return nil, fmt.Errorf("read patterns.tsv:%d: %d fields, want 8", n+1, len(f))
		}
		re, err := regexp.Compile(f[5])
		if err != nil {
			return nil, fmt.Errorf("read patterns.tsv:%d: %w", n+1, err)
		}
		p := Pattern{
			ID: f[0], Effect: Effect(f[2]), Kind: Kind(f[3]), Retry: f[4] == "retry",
			Regexp: re, Explains: f[6] == "yes", Fixtures: strings.Fields(f[7]),
		}
		for t := range strings.SplitSeq(f[1], ",") {
			p.Tools = append(p.Tools, Tool(t))
		}
		rows = append(rows, p)
	}
	return rows, nil
}

// A Finding is a pattern that was seen, with the line it was seen in.
type Finding struct {
	*Pattern
	Line   string   // fit for a screen
	Groups []string // the submatches as they were printed, Groups[0] the whole match
}

// find looks for every pattern of the tool in the output, in table order.
func (e *Evidence) find() []Finding {
	var found []Finding
	rows, text := patterns(), e.text()
	for i := range rows {
		p := &rows[i]
		if !p.appliesTo(e.Tool) {
			continue
		}
		if p.Effect == Always && e.Tool == Nsys {
			if f := e.findOwn(p); f != nil {
				found = append(found, *f)
			}
			continue
		}
		if at := p.Regexp.FindStringSubmatchIndex(text); at != nil {
			found = append(found, newFinding(p, text, at))
		}
	}
	return found
}

// newFinding takes the line that the match lies in as the evidence.
func newFinding(p *Pattern, text string, at []int) Finding {
	return Finding{Pattern: p, Line: tool.Quote(lineAt(text, at[0], at[1])), Groups: groups(text, at)}
}

// findOwn looks for a message that decides even beside a good report. The
// workload may print the same words, so it must be about an option that nsys was
// given, and not on standard output.
func (e *Evidence) findOwn(p *Pattern) *Finding {
	text := e.messages()
	for _, at := range p.Regexp.FindAllStringSubmatchIndex(text, -1) {
		f := newFinding(p, text, at)
		if e.asked(&f) {
			return &f
		}
	}
	return nil
}

// asked reports whether the option that a message is about was given.
func (e *Evidence) asked(f *Finding) bool {
	if e.Options == nil {
		return true
	}
	return slices.ContainsFunc(e.Options, func(option string) bool {
		if name := f.Groups[len(f.Groups)-1]; name != f.Groups[0] && name != "" {
			return option == name
		}
		return f.Kind == Permission && strings.HasPrefix(option, "gpu-metrics")
	})
}

// appliesTo: a pattern of nsys holds for all its commands, one of ncu for its imports too.
func (p *Pattern) appliesTo(which Tool) bool {
	for _, t := range p.Tools {
		if t == which || (t == Nsys && which.ofNsys()) || (t == Ncu && which == NcuImport) {
			return true
		}
	}
	return false
}

// groups are the submatches at the given offsets; "" for one that took no part.
func groups(text string, at []int) []string {
	var g []string
	for i := 0; i+1 < len(at); i += 2 {
		if at[i] < 0 {
			g = append(g, "")
			continue
		}
		g = append(g, text[at[i]:at[i+1]])
	}
	return g
}

// params are what a message says beside its code.
func (f *Finding) params() []fact.Param {
	switch f.ID {
	case "diag_no_events", "diag_not_started":
		return []fact.Param{fact.Name(Untraced, f.Groups[1])}
	case "ncu_metrics_absent":
		names := strings.Split(strings.TrimSpace(f.Groups[2]), ", ")
		if strconv.Itoa(len(names)) == f.Groups[1] { // else the list was cut short
			return []fact.Param{fact.Names(Absent, fact.KindMetric, names)}
		}
	}
	return nil
}

// fact is the message with its line.
func (f *Finding) fact() fact.Fact {
	return fact.New(fact.Code(f.ID), append(f.params(), vendorLine(f.Line))...)
}

// Parameters of messages that other packages look at.
const (
	// of NoEvents and NotStarted: what a process did not let nsys trace, "CUDA" or "NVTX"
	Untraced = "untraced"
	// of ncu_metrics_absent: the counters that a machine does not have; absent where the list was cut
	Absent = "absent"
)

// Codes of messages that other packages look at.
const (
	NoEvents   fact.Code = "diag_no_events"
	NotStarted fact.Code = "diag_not_started"
)

// Recognize is the fact for a line that a profiler has printed or stored in its
// report; it is false for a line that means nothing known.
func Recognize(t Tool, line string) (fact.Fact, bool) {
	e := Evidence{Tool: t, Stderr: line}
	for _, f := range e.find() {
		if f.Effect != Fact {
			return f.fact(), true
		}
	}
	return fact.Fact{}, false
}

// MessageOf is the fact for a message that nsys stored in its report.
func MessageOf(text string) fact.Fact {
	if f, ok := Recognize(Nsys, text); ok {
		return f
	}
	return fact.New(warnDiagnostic, vendorLine(text))
}

// lineAt is the line in which a match begins, or the whole match where that
// spans lines.
func lineAt(text string, from, to int) string {
	start := strings.LastIndexByte(text[:from], '\n') + 1
	end := len(text)
	if i := strings.IndexByte(text[to:], '\n'); i >= 0 {
		end = to + i
	}
	return strings.TrimSuffix(strings.TrimSpace(text[start:end]), stderrMark)
}

// firstEffect goes by the order of the patterns, which is that of their weight.
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

// has tells whether a message was printed, whatever came of it.
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

// beforeWorkload are verdicts that a workload which was seen to run cannot have.
var beforeWorkload = map[Kind]bool{WorkloadMissing: true, StartFailed: true, TempUnusable: true, ToolUsage: true}

// warn sets the doubts of an outcome; but is the ID of the one that is the verdict already.
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

// fewer warns that n came of so many.
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
