package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
)

// method writes how the numbers came about, so that a reader can repeat and
// doubt them.
func (d *doc) method(r *analysis.Result) {
	d.heading(3, "commands")
	d.commands(r)
	d.heading(3, "overhead")
	d.overhead(r)
	d.heading(3, "coverage-of-counters")
	d.coverage(r)
	d.heading(3, "method-deviations")
	d.deviations(r)
	if len(r.Method.Annotation) > 0 {
		d.heading(3, "annotation")
		d.list(textsOfNotes(r.Method.Annotation))
	}
	if len(r.Method.Ladder) > 0 {
		d.heading(3, "replay-modes")
		d.numbered(textsOfNotes(r.Method.Ladder))
	}
	if len(r.Method.Thresholds) > 0 {
		d.heading(3, "thresholds")
		d.list(each(r.Method.Thresholds, func(f *fact.Fact) string { return prose(upperFirst(message.Text(*f))) }))
	}
	if len(r.Method.Assumptions) > 0 {
		d.heading(3, "method-assumptions")
		d.list(textsOfNotes(r.Method.Assumptions))
	}
	d.heading(3, "method-missing")
	d.untold(r)
	d.heading(3, "files")
	d.files(r)
}

// textsOfNotes are notes in Markdown, each with what to do about it.
func textsOfNotes(notes []analysis.Note) []string { return each(notes, noteText) }

// commands writes what was run, as a block to copy from: a comment with the step, its time
// and outcome, then the line.
func (d *doc) commands(r *analysis.Result) {
	if len(r.Method.Commands) == 0 {
		d.line("%s%s", absent, d.note(missing(r, message.Phrase("analyzed-without-run"))))
		return
	}
	var b strings.Builder
	for _, c := range r.Method.Commands {
		fmt.Fprintf(&b, "# %s", oneLine(c.Stage))
		if c.Seconds > 0 {
			fmt.Fprintf(&b, ", %s", elapsed(c.Seconds*1e9))
		}
		if c.Outcome != "" {
			fmt.Fprintf(&b, ", %s", oneLine(c.Outcome))
		}
		fmt.Fprintf(&b, "\n%s\n", oneLine(c.Command))
	}
	d.fenced(b.String())
}

// overhead writes by how much nsys slowed each stage. Those over the limit are named, with
// what would slow them less.
func (d *doc) overhead(r *analysis.Result) {
	var rows []*StageRow
	var slowed, next []string
	for i := range r.Stages {
		s := &r.Stages[i]
		if s.Overhead == nil && s.OverheadWhy == nil {
			continue
		}
		rows = append(rows, stageRow(r, s))
		if s.OverheadHigh {
			slowed = append(slowed, code(s.Name))
			if text := prose(upperFirst(sentence(lighter(r, s)))); !slices.Contains(next, text) {
				next = append(next, text)
			}
		}
	}
	if len(rows) > 0 {
		writeView(d, StageView.only("stage", "clean_ms", "nsys_ms", "overhead"), rows)
	} else {
		d.lacks("unprofiled-against-nsys", missing(r, message.Phrase("overhead-needs"), withoutUnprofiled...))
	}
	if len(slowed) > 0 {
		d.say("overhead-over", percent(r.Method.OverheadLimit), strings.Join(slowed, ", "), strings.Join(next, " "))
	}
	var items []string
	if s := r.Method.UnprofiledS; s > 0 {
		items = append(items, message.Phrase("method-unprofiled", elapsed(s*1e9)))
	}
	if clock := message.Text(r.Method.Clock); clock != "" {
		items = append(items, message.Phrase("method-clock", prose(sentence(clock))))
	}
	d.list(items)
}

// coverage writes how much of the GPU time was counted. A result without a choice of
// launches, such as one of files that a user named, says that it was made elsewhere.
func (d *doc) coverage(r *analysis.Result) {
	p := r.Method.Picked
	if p == nil {
		if n := r.CountedKernels(); n > 0 {
			d.say("choice-made-elsewhere", n, len(r.Kernels))
			return
		}
		d.lacks("counters", missing(r, message.Phrase("choice-not-recorded"), withoutCounters...))
		return
	}
	g := newGrid("row-what", ">value")
	g.add(message.Phrase("coverage-groups"), thousands(int64(p.Groups)))
	g.add(message.Phrase("chosen"), thousands(int64(p.Chosen)))
	counted := message.Phrase("coverage-counted")
	if p.Others() > 0 {
		counted = message.Phrase("coverage-along")
	}
	g.add(counted, thousands(int64(p.Counted)))
	g.add(message.Phrase("coverage-chosen-regions"), percent(p.Coverage))
	for _, region := range p.ByRegion {
		covered := percent(region.Coverage)
		if region.Why != nil {
			covered += d.note(message.Text(*region.Why))
		}
		g.add(message.Phrase("coverage-in", code(region.Region)), covered)
	}
	g.add(message.Phrase("coverage-all"), percent(p.CoverageAll))
	if p.PredictedSec > 0 {
		g.add(message.Phrase("predicted-cost"), elapsed(p.PredictedSec*1e9))
	}
	if p.ActualSec > 0 {
		g.add(message.Phrase("actual-cost"), elapsed(p.ActualSec*1e9))
	}
	d.table(g)
	if p.Begins != nil {
		d.line("%s", prose(upperFirst(sentence(message.Text(*p.Begins)))))
	}
	d.uncounted(message.Phrase("coverage-excluded"), p.LeftOut)
	d.uncounted(message.Phrase("coverage-cut-off"), p.CutOff)
}

// uncounted lists launches without counters under their own heading.
func (d *doc) uncounted(heading string, list []analysis.Note) {
	if len(list) == 0 {
		return
	}
	d.line("%s", heading)
	d.list(textsOfNotes(list))
}

// deviations writes the settings that profiling required to be different from the user's.
func (d *doc) deviations(r *analysis.Result) {
	if len(r.Method.Deviations) == 0 {
		d.say("none-recorded")
		return
	}
	writeView(d, deviationView, pointers(r.Method.Deviations))
}

// untold lists what the result lacks.
func (d *doc) untold(r *analysis.Result) {
	if len(r.Missing) == 0 {
		d.say("nothing-missing")
	}
	d.list(each(r.Missing, func(n *analysis.Note) string { return code(string(n.Code)) + ": " + noteText(n) }))
}

// files writes the inputs with their digests, so that a reader can tell that they are those
// that were analyzed.
func (d *doc) files(r *analysis.Result) {
	if len(r.Source.Files) == 0 {
		d.say("result-names-no-input")
		return
	}
	writeView(d, fileView, pointers(r.Source.Files))
}
