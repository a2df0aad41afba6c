package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
)

// SummaryOptions fit a summary to a terminal.
type SummaryOptions struct {
	// Width is in columns: 0, an unknown terminal, means 80, and 120 in a log. Less than 40
	// counts as 40.
	Width int
	// Height is in lines, with the one of the prompt; 0 means 24.
	Height int
	Bold   bool // the terminal takes escape sequences
	// Report is the path of the report to open; it is never cut, and "" leaves the line out.
	Report string
	// Shown are warnings that the screen has already; they are not repeated.
	Shown []fact.Fact
	// Log is for a pipe or a log, which has no last line: every finding and every
	// note stands there, whole. Height means nothing then.
	Log bool
}

// What a screen shows at most.
const (
	summaryFindings = 3
	mostKernels     = 10
	sentenceLines   = 4 // of a sentence that stands whole in any terminal
)

// A screenful is how many lines the parts of a screen may take.
type screenful struct {
	findings [summaryFindings]int // 0 leaves one to the report
	warning  int                  // a warning that needs more is left to the report
	missing  int                  // what was not measured, likewise
	kernels  int                  // rows at least; with 0 the table may be left out
	// scope is for the line that says what the numbers are about.
	scope int
	brief bool // of each finding two sentences at most: what is, and what it is worth
	few   bool // of a server no table of steps: the first finding says where their time goes
}

// screenfuls are tried until one fits: kernels give way before findings and
// warnings, and the first finding gives way last.
var screenfuls = []screenful{
	{[...]int{5, 4, 4}, 3, 3, 3, 2, false, false}, {[...]int{5, 4, 4}, 3, 2, 3, 2, false, false}, {[...]int{5, 4, 4}, 3, 0, 3, 2, false, false},
	{[...]int{5, 3, 3}, 3, 0, 3, 1, false, false}, {[...]int{4, 3, 3}, 3, 0, 2, 1, false, false}, {[...]int{4, 3, 3}, 3, 0, 0, 1, false, false},
	{[...]int{4, 3, 3}, 3, 0, 0, 1, true, false}, {[...]int{4, 3, 3}, 0, 0, 0, 1, true, false}, {[...]int{4, 3, 2}, 0, 0, 0, 1, true, false}, {[...]int{4, 3, 0}, 0, 0, 0, 1, true, false},
	{[...]int{4, 0, 0}, 0, 0, 0, 1, true, false}, {[...]int{4, 0, 0}, 0, 0, 0, 1, true, true}, {[...]int{3, 0, 0}, 0, 0, 0, 1, true, true}, {[...]int{2, 0, 0}, 0, 0, 0, 1, true, true}, {[...]int{1, 0, 0}, 0, 0, 0, 1, true, true},
}

// everything is what a log gets.
var everything = screenful{[...]int{noLimit, noLimit, noLimit}, noLimit, noLimit, mostKernels, noLimit, false, false}

// noLimit is more lines than any text has.
const noLimit = math.MaxInt32

// Summary writes one screen: the findings that matter, the stages, the kernels
// and where the report is.
func Summary(w io.Writer, r *analysis.Result, o SummaryOptions) error {
	if o.Width <= 0 && o.Log {
		o.Width = 120 // room for names
	}
	if o.Width <= 0 {
		o.Width = 80
	}
	if o.Height <= 0 {
		o.Height = 24
	}
	o.Width = max(o.Width, 40)
	tries := screenfuls
	if o.Log {
		o.Height, tries = noLimit, []screenful{everything}
	}
	var lines []string
	for _, f := range tries {
		var err error
		if lines, err = summaryScreen(r, o, f); err != nil {
			return err
		}
		if Rows(strings.Join(lines, "\n")+"\n", o.Width) < o.Height { // the prompt needs a line too
			break
		}
	}
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

// summaryScreen gives findings and notes the lines that f gives, and the kernels
// what is left, but so many rows at least.
func summaryScreen(r *analysis.Result, o SummaryOptions, f screenful) ([]string, error) {
	lines := summaryTitle(r, o)
	if r.Source.Recorded {
		lines = append(lines, wrap(RecordedRun(), o.Width, "  ", sentenceLines)...)
	}
	if text := unfinished(r); text != "" {
		lines = append(lines, wrap(message.Phrase("screen-unfinished", lowerFirst(text)), o.Width, "  ", sentenceLines)...)
	}
	for _, n := range r.FirstNotes() {
		lines = append(lines, wrap(message.Text(n.AsFact()), o.Width, "  ", sentenceLines)...)
	}
	lines = append(lines, summaryScope(r, o.Width, f.scope)...)
	lines = append(lines, "")
	found, told := summaryLines(r, o, f)
	lines = append(lines, found...)
	tables, err := timeTables(r, o, f.few)
	if err != nil {
		return nil, err
	}
	lines = append(lines, tables...)
	foot := summaryFoot(r, o, f, len(r.Findings)-told)
	// A table of kernels needs a blank line and its header; the prompt that
	// follows needs a line too.
	room := min(max(o.Height-len(lines)-Rows(strings.Join(foot, "\n")+"\n", o.Width)-3, f.kernels), mostKernels)
	if room <= 0 {
		return append(lines, foot...), nil
	}
	kernels, dropped, err := tableLines(summaryKernels(r, room), o.Width, levelNote(r, room), "limiter")
	if err != nil {
		return nil, err
	}
	if len(kernels) == 0 {
		return append(lines, foot...), nil
	}
	if spare := o.Height - len(lines) - Rows(strings.Join(foot, "\n")+"\n", o.Width) - 2 - len(kernels); len(dropped) > spare {
		least := 1 + max(f.kernels, 1) // with the header
		kernels = kernels[:max(min(len(kernels), least), len(kernels)+spare-len(dropped))]
	}
	lines = append(append(append(lines, ""), kernels...), dropped...)
	return append(lines, foot...), nil
}

// summaryScope says how much of the timeline the summary is about, the last parts
// left out where rows are few.
func summaryScope(r *analysis.Result, width, most int) []string {
	p := partOf(r)
	if r.Scope == nil || p.wall <= 0 {
		return nil
	}
	parts := []string{
		message.Phrase("screen-scope-time", p.name, elapsed(float64(p.wall)), elapsed(float64(r.Totals.WallNS))),
		message.Phrase("gpu-busy", orAbsent(p.busy)),
		message.Phrase("n-launches", p.launches),
		message.Phrase("screen-launches-outside", p.outsideCalls, elapsed(float64(p.outsideNS))),
	}
	if beside := r.Scope.Text.Params["parts"].Facts; len(beside) > 0 {
		parts = append(parts, message.Phrase("screen-outside", strings.Join(message.Texts(beside), ", ")))
	}
	for n := len(parts); n > 1; n-- {
		if lines := whole(strings.Join(parts[:n], "; "), width, "  ", most); lines != nil {
			return lines
		}
	}
	return wrap(oneLine(parts[0]), width, "  ", max(most, sentenceLines))
}

// summaryTitle is what ran, and the whole timeline in numbers where that is what
// the summary is about.
func summaryTitle(r *analysis.Result, o SummaryOptions) []string {
	title := oneLine(subject(r))
	if title == "" {
		title = "deepprof"
	}
	p := partOf(r)
	if r.Scope != nil || !r.HasTimeline() || p.wall <= 0 {
		return []string{bold(shorten(title, o.Width), o.Bold)}
	}
	least, most := r.BusyRange()
	numbers := message.Phrase("screen-timeline-summary", elapsed(float64(p.wall)), orAbsent(p.busy), when(least != nil, r.GPUs()), orAbsent(least), orAbsent(most), p.launches)
	if both := message.Phrase("title-of", title, numbers); utf8.RuneCountInString(both) <= o.Width {
		return []string{bold(both, o.Bold)}
	}
	return append([]string{bold(shorten(title, o.Width), o.Bold)}, wrap(numbers, o.Width, "  ", 2)...)
}

// summaryLines are the findings, wrapped, and how many there are. Of the first one
// what fits is shown; one after it of which no whole sentence fits is left out.
func summaryLines(r *analysis.Result, o SummaryOptions, f screenful) (out []string, told int) {
	if len(r.Findings) == 0 {
		return wrap(message.Phrase("findings-untold"), o.Width, "", f.findings[0]), 0
	}
	shown := min(len(r.Findings), summaryFindings)
	if o.Log {
		shown = len(r.Findings)
	}
	for i := range r.Findings[:shown] {
		most := f.findings[min(i, summaryFindings-1)]
		text := message.SentencesOf(r.Findings[i].Fact)
		if f.brief {
			text = text[:min(len(text), 2)]
		}
		if i > 0 && whole(text[0], o.Width-3, "", most) == nil {
			break
		}
		told++
		for j, line := range wrapSentences(text, o.Width-3, most) {
			mark := "   "
			if j == 0 {
				mark = bold(fmt.Sprintf("%d. ", i+1), o.Bold)
			}
			out = append(out, mark+line)
		}
	}
	return out, told
}

// summaryFoot says what to be careful with and where to read on. A note stands
// there whole, with what to do about it, or is counted; more is the number of
// findings that are left to the report.
func summaryFoot(r *analysis.Result, o SummaryOptions, f screenful, more int) []string {
	out := summaryHeavy(r, o, f.warning)
	var left []string
	if more > 0 {
		left = append(left, message.Phrase("n-more-findings", more))
	}
	for _, notes := range []struct {
		line, all, others string // IDs of phrases: a note, how many there are, and how many besides those shown
		most              int
		list              []analysis.Note
	}{
		{"warning-line", "n-warnings", "n-more-warnings", f.warning, o.unshown(withoutHeavy(r))},
		{"missing-line", "n-not-measured", "n-more-not-measured", f.missing, o.unshown(r.Missing)},
	} {
		n := len(notes.list)
		for i := range notes.list {
			note := notes.list[i].AsFact()
			lines := whole(message.Phrase(notes.line, oneLine(message.Short(note)), oneLine(message.Next(note))), o.Width, "  ", notes.most)
			if lines == nil {
				break
			}
			out = append(out, lines...)
			n--
			notes.all = notes.others
			if !o.Log {
				break
			}
		}
		if n > 0 {
			left = append(left, message.Phrase(notes.all, n))
		}
	}
	if len(left) > 0 {
		out = append(out, wrap(message.Phrase("in-report", strings.Join(left, ", ")), o.Width, "  ", sentenceLines)...)
	}
	if o.Report != "" { // never cut: it is there to be copied
		head := bold(message.Phrase("report-head"), o.Bold)
		out = append(out, message.Phrase("report-at", head, oneLine(o.Report)))
	}
	if len(out) > 0 {
		out = append([]string{""}, out...)
	}
	return out
}

// summaryHeavy tells of stages that nsys slowed too much, and what to do.
func summaryHeavy(r *analysis.Result, o SummaryOptions, most int) []string {
	var slowed []string
	next := ""
	for i := range r.Stages {
		if s := &r.Stages[i]; s.OverheadHigh {
			slowed = append(slowed, fmt.Sprintf("%s %s", oneLine(s.Name), percent(*s.Overhead)))
			if do := oneLine(lighter(r, s)); next == "" || preset(r, s) { // a preset is the run's
				next = do
			}
		}
	}
	if len(slowed) == 0 {
		return nil
	}
	if lines := whole(message.Phrase("nsys-slowed", strings.Join(slowed, ", "), next), o.Width, "  ", max(most, 2)); lines != nil {
		return lines
	}
	return wrap(message.Phrase("nsys-slowed", message.Phrase("n-stages", len(slowed)), next), o.Width, "  ", sentenceLines)
}

// withoutHeavy leaves out the warnings that summaryHeavy tells.
func withoutHeavy(r *analysis.Result) []analysis.Note {
	return slices.DeleteFunc(slices.Clone(r.Warnings), func(n analysis.Note) bool {
		return slices.ContainsFunc(r.Stages, func(s analysis.Stage) bool { return s.OverheadHigh && n.Is(analysis.OverheadHigh) && n.Stage == s.Name })
	})
}

// unshown are the notes that the screen does not have yet.
func (o *SummaryOptions) unshown(notes []analysis.Note) []analysis.Note {
	return slices.DeleteFunc(slices.Clone(notes), func(n analysis.Note) bool {
		return slices.ContainsFunc(o.Shown, n.Equal)
	})
}
