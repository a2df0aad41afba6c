package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/runs"
)

// A RunDetail is a run as `runs show` prints it, with its facts in words.
type RunDetail struct {
	*runs.Detail
	// Reason is why the run failed, in words; "" where it did not.
	Reason string `json:"reason,omitempty"`
	// Steps and Files are lists in JSON, also where they are empty.
	Steps    []stepRow `json:"stages"`
	Files    []fileRow `json:"files"`
	Warnings []string  `json:"warnings,omitempty"`
}

// A fileRow is a file of a run in words; Omitted and Problem are "" for one that is there
// and as it was written.
type fileRow struct {
	runs.FileRow
	// Omitted is why a pack does not hold the file, Problem how it differs from what was recorded.
	Omitted string `json:"omitted,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// A stepRow is a pipeline step in words. Outcome is that of the attempt that counts, Outcomes
// those of several processes.
type stepRow struct {
	*runs.StepRow
	Reason   string       `json:"reason,omitempty"`
	Outcomes []outcomeRow `json:"outcomes,omitempty"`
	Outcome  *outcomeRow  `json:"outcome,omitempty"`
}

// An outcomeRow is what came of a capture in words; texts are "" where nothing is said.
type outcomeRow struct {
	// Kind is a code of docs/outcomes.md; Text says it.
	Kind string `json:"kind"`
	// Usable: what it left can be analyzed, whatever Kind is.
	Usable   bool   `json:"usable"`
	Text     string `json:"text"`
	Evidence string `json:"evidence,omitempty"`
	Cause    string `json:"cause,omitempty"`
	// Next is what to do about Cause.
	Next     string   `json:"next,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// Run words what is known of a run. More are warnings beside those of the run.
// d is held, and the texts of its warnings are filled.
func Run(d *runs.Detail, more ...string) *RunDetail {
	out := &RunDetail{Detail: d, Reason: message.Text(d.Reason), Steps: []stepRow{}, Files: []fileRow{}, Warnings: append(message.Texts(d.Warnings), more...)}
	for i := range d.Steps {
		s := &d.Steps[i]
		row := stepRow{StepRow: s, Reason: message.Text(s.Reason)}
		if s.Outcome != nil {
			row.Outcome = outcomeOf(s.Outcome)
		}
		for _, o := range s.Outcomes {
			row.Outcomes = append(row.Outcomes, *outcomeOf(o))
		}
		out.Steps = append(out.Steps, row)
	}
	for _, f := range d.Files {
		out.Files = append(out.Files, fileRow{f, message.Text(f.Omitted.Fact), message.Text(f.Problem)})
	}
	if d.Resume != nil {
		WordWarnings(d.Resume.Problems)
	}
	return out
}

// Verified says how many files of a run were compared and how many are not there to be,
// if none differs.
func Verified(d *runs.Detail) string {
	omitted := 0
	for _, f := range d.Files {
		if !f.Omitted.IsZero() {
			omitted++
		}
	}
	return message.Phrase("run-verified", len(d.Files)-omitted, when(omitted > 0, omitted))
}

// StatsTable is how the steps of a store went, with what is not in it as notes.
func StatsTable(s *runs.Stats) *Table[runs.StepStats] {
	t := StepStatsView.Table(s.Steps, WordWarnings(s.Warnings)...)
	if s.Recorded > 0 {
		t.Note(message.Phrase("stats-recorded", s.Recorded, s.Runs))
	}
	return t
}

// WordWarnings fills the texts of warnings and returns them as lines.
func WordWarnings(list []runs.Warning) []string {
	var lines []string
	for i := range list {
		if w := &list[i]; !w.Why.IsZero() {
			w.Text = message.Text(w.Why)
		}
		lines = append(lines, list[i].Path+": "+list[i].Text)
	}
	return lines
}

// WordCleaned fills the texts of what Clean did.
func WordCleaned(r *runs.CleanReport) {
	wordKept(r.Kept)
	WordWarnings(r.Failed)
}

// WordPacked fills the texts of what went into a pack.
func WordPacked(r *runs.PackReport) {
	WordWarnings(r.Omitted)
	WordWarnings(r.Notes)
}

// WordPackedRuns fills the texts of what PackOld did.
func WordPackedRuns(r *runs.PackedRuns) {
	wordKept(r.Kept)
	for i := range r.Packs {
		WordPacked(&r.Packs[i])
	}
}

// wordKept fills the reasons why runs were kept.
func wordKept(list []runs.Kept) {
	for i := range list {
		list[i].Reason = message.Text(list[i].Why)
	}
}

// outcomeOf words an outcome, which is not nil.
func outcomeOf(o *runs.Outcome) *outcomeRow {
	row := &outcomeRow{
		Kind: o.Kind, Usable: o.Usable, Text: message.Text(o.Text), Evidence: message.Text(o.Evidence),
		Cause: message.Text(o.Cause), Next: message.Next(o.Cause),
	}
	for _, w := range o.Warnings {
		row.Warnings = append(row.Warnings, message.Texts([]fact.Fact{w.Fact})...)
	}
	return row
}

// WriteRun describes one run for people.
func WriteRun(w io.Writer, d *RunDetail) error {
	var b strings.Builder
	writeRunHead(&b, d)
	for _, s := range d.Steps {
		writeStep(&b, d, s)
	}
	if len(d.Annotation) > 0 {
		b.WriteString("\nannotation\n")
	}
	for _, f := range d.Annotation {
		fmt.Fprintf(&b, "  %s\n", oneLine(message.Text(f)))
	}
	if r := d.Resume; r != nil && r.Next != "" {
		fmt.Fprintln(&b, "\n"+message.Phrase("run-resume-hint", d.Summary.ID, r.Next))
	}
	for _, warning := range d.Warnings {
		fmt.Fprintln(&b, message.Phrase("warning-line", oneLine(warning)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeRunHead writes what is known of the run as a whole, a line a fact.
func writeRunHead(b *strings.Builder, d *RunDetail) {
	field := func(name, text string) {
		if text != "" {
			fmt.Fprintf(b, "%-8s %s\n", name, text)
		}
	}
	field("run", d.Summary.ID)
	field("status", message.Phrase("status-because", d.Summary.Status, oneLine(d.Reason)))
	field("path", d.Summary.Path)
	field("created", d.Summary.Created.Local().Format(time.DateTime))
	if d.Summary.Recorded != nil {
		field("note", message.Phrase("recorded-at", RecordedRun(), d.Summary.Recorded.Local().Format(time.DateTime)))
	}
	field("note", d.Summary.Note)
	field("GPU", d.Summary.GPU)
	field("command", oneLine(shellescape.QuoteCommand(d.Command)))
}

// writeStep writes one step with its outcomes and the files that it left.
func writeStep(b *strings.Builder, d *RunDetail, s stepRow) {
	outcomes := s.Outcomes
	if len(outcomes) <= 1 && s.Outcome != nil {
		outcomes = []outcomeRow{*s.Outcome}
	}
	time, code := "", ""
	if s.Seconds != nil {
		time = elapsed(*s.Seconds * 1e9)
	}
	if s.ExitCode != nil {
		code = strconv.Itoa(*s.ExitCode)
	}
	fmt.Fprintln(b, "\n"+message.Phrase("step-line", s.Name, s.State, time, when(len(s.Outcomes) > 1, len(s.Outcomes)), when(s.Attempts > max(len(outcomes), 1), s.Attempts), code))
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(b, "  %-9s %s\n", name, oneLine(text))
		}
	}
	for _, o := range outcomes {
		line("outcome", o.Kind+": "+o.Text)
		line("evidence", o.Evidence)
		line("cause", o.Cause)
		line("next", o.Next)
		for _, warning := range o.Warnings {
			line("warning", warning)
		}
	}
	if len(outcomes) == 0 {
		line("reason", s.Reason)
	}
	for _, f := range d.Files {
		if f.Step != s.Name {
			continue
		}
		line("file", message.Phrase("file-size", f.Path, f.Size, f.Problem))
	}
}

// WriteCleaned says what was removed, or would be.
func WriteCleaned(w io.Writer, r *runs.CleanReport) error {
	wordKept(r.Kept)
	run, sum := "removed-run", "removed-sum"
	if r.DryRun {
		run, sum = "would-remove-run", "would-remove-sum"
	}
	var b strings.Builder
	for _, s := range r.Removed {
		fmt.Fprintln(&b, message.Phrase(run, s.Path, megabytes(s.Bytes)))
	}
	writeKept(&b, r.Kept)
	for _, f := range WordWarnings(r.Failed) {
		fmt.Fprintln(&b, message.Phrase("remove-failed", f))
	}
	fmt.Fprintln(&b, message.Phrase(sum, len(r.Removed), megabytes(r.Bytes), r.Others+len(r.Kept)))
	_, err := io.WriteString(w, b.String())
	return err
}

// writeKept says which runs stay, and why.
func writeKept(b *strings.Builder, list []runs.Kept) {
	for _, k := range list {
		fmt.Fprintln(b, message.Phrase("run-kept", k.Path, k.Reason))
	}
}

// megabytes writes a size so that those of several runs compare.
func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// WritePacked says what went into a pack.
func WritePacked(w io.Writer, r *runs.PackReport) error {
	var b strings.Builder
	fmt.Fprintln(&b, message.Phrase("pack-size", r.Path, r.Files, megabytes(r.Bytes), megabytes(r.RunSize)))
	for _, f := range r.Altered {
		fmt.Fprintln(&b, message.Phrase("packed-changed", f.Path, f.Altered))
	}
	for _, o := range WordWarnings(r.Omitted) {
		fmt.Fprintln(&b, message.Phrase("packed-left-out", o))
	}
	for _, n := range WordWarnings(r.Notes) {
		fmt.Fprintln(&b, message.Phrase("packed-note", n))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WritePackedRuns writes what became of the old runs of a store.
func WritePackedRuns(w io.Writer, r *runs.PackedRuns) error {
	wordKept(r.Kept)
	for i := range r.Packs {
		if err := WritePacked(w, &r.Packs[i]); err != nil {
			return err
		}
	}
	var b strings.Builder
	for _, path := range r.Removed {
		fmt.Fprintln(&b, message.Phrase("removed-run", path))
	}
	writeKept(&b, r.Kept)
	fmt.Fprintln(&b, message.Phrase("clean-summary", len(r.Packs), len(r.Removed), megabytes(r.Bytes), r.Others))
	_, err := io.WriteString(w, b.String())
	return err
}
