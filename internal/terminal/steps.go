package terminal

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/pipeline"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/runs"
)

// PrintRun prints what came of a run on one screen: its steps, the summary of the
// result, the path of the run, and what to do next where it was interrupted. Err is
// what the run ended with, nil where it did not fail; the first error comes back.
func PrintRun(out io.Writer, summary *pipeline.Summary, err error) error {
	width := 9
	for _, st := range summary.Steps {
		width = max(width, len(st.Name))
	}
	var steps bytes.Buffer
	p := stepPrinter{w: &steps, names: width, columns: Width(out), brief: summary.Result != nil}
	shown := p.all(summary.Steps)
	if _, height := Size(out); p.brief && height > 0 && report.Rows(steps.String(), p.columns) > height/4 {
		steps.Reset() // the screen is for the report
		p.tight = true
		shown = p.all(summary.Steps)
	}
	if summary.Result != nil {
		steps.WriteString("\n")
	}
	last := message.Phrase("run-ended", string(summary.Status), summary.Dir) + "\n"
	used := report.Rows(steps.String()+last, p.columns)
	if _, werr := steps.WriteTo(out); err == nil {
		err = werr
	}
	if summary.Result != nil {
		page := filepath.Join(summary.Dir, runs.PageName)
		if _, missing := os.Stat(page); missing != nil {
			page = ""
		}
		if serr := Summarize(out, summary.Result, page, used, shown); err == nil {
			err = serr
		}
	}
	fmt.Fprint(out, last)
	if summary.Status == runs.StatusInterrupted {
		if !summary.Recorded {
			fmt.Fprintln(out, message.Phrase("run-resume", reference(summary.Dir)))
		}
		if summary.Captured {
			fmt.Fprintln(out, message.Phrase("run-analyze", reference(summary.Dir)))
		}
	}
	return err
}

// takesEscapes tells whether a terminal is to get escape sequences.
func takesEscapes() bool { return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" }

// Summarize prints one screen, of which some rows are used already, partly by
// warnings, and the path of the report.
// A stream that is no terminal gets the whole summary without escapes.
// used counts rows of the screen; shown are the warnings that stand in them and are not
// repeated. An empty path means that there is no page.
func Summarize(out io.Writer, r *analysis.Result, path string, used int, shown []fact.Fact) error {
	width, height := Size(out)
	o := report.SummaryOptions{Report: path, Shown: shown, Log: height == 0}
	if height > 0 {
		o.Width, o.Height, o.Bold = width, max(height-used, 1), takesEscapes()
	}
	if err := report.Summary(out, r, o); err != nil {
		return fmt.Errorf("print the summary: %w", err)
	}
	return nil
}

// reference is how a person names a run on the command line: by its id in the
// store ./runs, else by its path.
func reference(dir string) string {
	if store, err := filepath.Abs(runs.DefaultRoot); err == nil && filepath.Dir(dir) == store {
		return filepath.Base(dir)
	}
	return shellescape.Quote(dir)
}

// Plural counts things.
func Plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// A stepPrinter prints what came of pipeline steps, in brief where a report tells the
// rest.
type stepPrinter struct {
	w       io.Writer
	names   int // width of the names
	columns int // of the terminal; 0 is none
	brief   bool
	tight   bool // briefer still: a row for each line
}

// Of a step in brief.
const (
	briefRows     = 2 // of one line
	warningRows   = 3 // of one warning, which stands there whole or not at all
	briefWarnings = 3
	tightWarnings = 2
)

// all prints the steps and returns the warnings that it told of. In brief those
// that went well have one row: they were told as they ended.
func (p *stepPrinter) all(steps []pipeline.StepResult) (shown []fact.Fact) {
	well, seconds, playedID, doneID := 0, 0.0, "steps-played", "steps-done"
	played, then := 0, 0.0 // out of a recording, and the time that they took when it was made
	for _, st := range steps {
		switch {
		case st.Quiet && st.State == runs.StateDone && len(st.Outcome.Warnings) == 0:
		case p.brief && st.State == runs.StateDone && len(st.Outcome.Warnings) == 0 && st.Recorded:
			played++
			then += max(0, st.Seconds)
		case p.brief && st.State == runs.StateDone && len(st.Outcome.Warnings) == 0:
			well++
			seconds += max(0, st.Seconds)
		case p.brief && st.State == runs.StateSkipped:
		default:
			shown = append(shown, p.print(st)...)
			playedID, doneID = "steps-played-other", "steps-done-other"
		}
	}
	var told []string
	if played > 0 {
		told = append(told, message.Phrase(playedID, played, report.RunTime(then)))
	}
	if well > 0 {
		told = append(told, message.Phrase(doneID, well, report.RunTime(seconds)))
	}
	if len(told) > 0 {
		fmt.Fprintln(p.w, report.Wrap(strings.Join(told, ", "), p.columns, "  "))
	}
	return shown
}

// print prints one step and returns the warnings that it told of.
func (p *stepPrinter) print(st pipeline.StepResult) (shown []fact.Fact) {
	o := st.Outcome
	if st.State == runs.StateSkipped {
		if !p.brief {
			p.line(st.Name, message.Phrase("step-skipped", message.Text(st.Reason)))
		}
		return nil
	}
	id, time := "step-ended", ""
	if st.Recorded {
		id = "step-played"
	}
	if st.Seconds >= 0 {
		time = report.RunTime(st.Seconds)
	}
	if slices.ContainsFunc(o.Warnings, func(w capture.Warning) bool { return w.Equal(o.Evidence) }) {
		o.Evidence = fact.Fact{} // stands below
	}
	p.line(st.Name, message.Phrase(id, string(st.State), time, runs.Text(message.Verdict(string(o.Kind), o.What, o.Evidence))))
	p.warnings(o.Warnings)
	for _, warning := range o.Warnings {
		shown = append(shown, warning.Fact)
	}
	if next := message.Next(o.Cause); !o.OK() && next != "" {
		whole := *p // it is there to be copied
		whole.brief, whole.tight = false, false
		whole.line("", message.Phrase("step-next", next))
	}
	return shown
}

// warnings prints warnings with what to do about them. In brief on a terminal
// those that are too long or too many are counted.
func (p *stepPrinter) warnings(list []capture.Warning) {
	most, rows := briefWarnings, warningRows
	if p.tight {
		most, rows = tightWarnings, 1
	}
	whole := *p
	whole.brief, whole.tight = false, false
	printed, left := 0, 0
	for i, warning := range list {
		lines := whole.text("", message.Phrase("warning-line", runs.Text(message.Text(warning.Fact)), runs.Text(message.Next(warning.Fact))))
		last := i == len(list)-1 && left == 0
		if p.brief && p.columns > 0 && (report.Rows(lines, p.columns) > rows || printed >= most-1 && !last) {
			left++
			continue
		}
		printed++
		io.WriteString(p.w, lines)
	}
	if left > 0 {
		id := "warnings-in-report"
		if printed > 0 {
			id = "more-warnings-in-report"
		}
		p.line("", message.Phrase(id, left))
	}
}

// line prints a text beside the name of a stage.
func (p *stepPrinter) line(name, text string) { io.WriteString(p.w, p.text(name, text)) }

// text ends with a line feed. Outside a terminal (columns 0) nothing is cut.
func (p *stepPrinter) text(name, text string) string {
	head := fmt.Sprintf("%-*s ", p.names, name)
	switch indent := strings.Repeat(" ", len(head)); {
	case p.tight:
		return report.WrapMost(head+text, p.columns, indent, 1) + "\n"
	case p.brief && p.columns > 0:
		return report.WrapMost(head+text, p.columns, indent, briefRows) + "\n"
	default:
		return report.Wrap(head+text, p.columns, indent) + "\n"
	}
}
