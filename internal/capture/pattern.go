package capture

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

//go:embed patterns.tsv
var patternTable string

// An Effect says what a message means for the verdict.
type Effect string

const (
	Fact   Effect = "fact"   // used by Judge, says nothing alone
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
	Cause    string // "" takes the advice of Kind
	Next     string
	Fixtures []string // recorded outputs that it must match
}

// Patterns returns the table.
var Patterns = sync.OnceValue(func() []Pattern {
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
		if len(f) != 9 {
			return nil, fmt.Errorf("read patterns.tsv:%d: %d fields, want 9", n+1, len(f))
		}
		re, err := regexp.Compile(f[5])
		if err != nil {
			return nil, fmt.Errorf("read patterns.tsv:%d: %w", n+1, err)
		}
		p := Pattern{
			ID: f[0], Effect: Effect(f[2]), Kind: Kind(f[3]), Retry: f[4] == "retry",
			Regexp: re, Cause: f[6], Next: f[7], Fixtures: strings.Fields(f[8]),
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
	Line   string
	Groups []string // the submatches, Groups[0] the whole match
}

// find looks for every pattern of a tool in the output, in table order.
func find(tool Tool, text string) []Finding {
	var found []Finding
	rows := Patterns()
	for i := range rows {
		p := &rows[i]
		if !p.appliesTo(tool) {
			continue
		}
		at := p.Regexp.FindStringSubmatchIndex(text)
		if at == nil {
			continue
		}
		found = append(found, Finding{Pattern: p, Line: lineAt(text, at[0], at[1]), Groups: groups(text, at)})
	}
	return found
}

func (p *Pattern) appliesTo(tool Tool) bool {
	for _, t := range p.Tools {
		if t == tool || (t == Nsys && tool.ofNsys()) || (t == Ncu && tool == NcuImport) {
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

// maxEvidence bounds a quoted line; messages with whole C++ types are longer.
const maxEvidence = 400

// lineAt is the line in which a match begins, or the whole match where that
// spans lines.
func lineAt(text string, from, to int) string {
	start := strings.LastIndexByte(text[:from], '\n') + 1
	end := len(text)
	if i := strings.IndexByte(text[to:], '\n'); i >= 0 {
		end = to + i
	}
	line := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text[start:end]), stderrMark))
	line = strings.Join(strings.Fields(line), " ")
	if len(line) > maxEvidence {
		line = strings.ToValidUTF8(line[:maxEvidence], "") + "..."
	}
	return line
}
