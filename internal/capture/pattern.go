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
	raw    string   // the line as it was printed
	Groups []string // the submatches, Groups[0] the whole match
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

func newFinding(p *Pattern, text string, at []int) Finding {
	line := lineAt(text, at[0], at[1])
	return Finding{Pattern: p, Line: tool.Quote(line), raw: line, Groups: groups(text, at)}
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

func (p *Pattern) appliesTo(which Tool) bool {
	for _, t := range p.Tools {
		if t == which || (t == Nsys && which.ofNsys()) || (t == Ncu && which == NcuImport) {
			return true
		}
	}
	return false
}

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
		if names, whole := absentMetrics(f.raw); whole {
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
	Untraced = "untraced" // of NoEvents and NotStarted: what a process did not let nsys trace, "CUDA" or "NVTX"
	Absent   = "absent"   // of metricsAbsent: the counters that a machine does not have; absent where the list was cut
)

// Codes of messages that other packages look at.
const (
	NoEvents      fact.Code = "diag_no_events"
	NotStarted    fact.Code = "diag_not_started"
	metricsAbsent fact.Code = "ncu_metrics_absent"
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

// metricList is how ncu lists the counters that a machine does not have.
var metricList = regexp.MustCompile(`Unable to access the following (\d+) metrics?: (.+)$`)

// absentMetrics are the counters that a message of ncu lists as absent. Whole is
// false for a list that was cut short.
func absentMetrics(line string) (names []string, whole bool) {
	m := metricList.FindStringSubmatch(line)
	if m == nil {
		return nil, false
	}
	names = strings.Split(m[2], ", ")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names, strconv.Itoa(len(names)) == m[1]
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
