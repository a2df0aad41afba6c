package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
)

// method writes how the numbers came about, so that a reader can repeat and
// doubt them.
func (d *doc) method(r *analysis.Result) {
	d.line("### Commands")
	d.commands(r)
	d.line("### Overhead")
	d.overhead(r)
	d.line("### Coverage of the counters")
	d.coverage(r)
	d.line("### Settings that profiling changed")
	d.deviations(r)
	if len(r.Method.Annotation) > 0 {
		d.line("### Annotation")
		d.list(textsOfNotes(r.Method.Annotation))
	}
	if len(r.Method.Ladder) > 0 {
		d.line("### Replay modes tried")
		d.numbered(textsOfNotes(r.Method.Ladder))
	}
	if len(r.Method.Thresholds) > 0 {
		d.line("### Thresholds of the verdicts")
		items := make([]string, len(r.Method.Thresholds))
		for i, f := range r.Method.Thresholds {
			items[i] = prose(upperFirst(message.Text(f)))
		}
		d.list(items)
	}
	if len(r.Method.Assumptions) > 0 {
		d.line("### Assumptions about the model's work")
		d.list(textsOfNotes(r.Method.Assumptions))
	}
	d.line("### What could not be told")
	d.untold(r)
	d.line("### Files")
	d.files(r)
}

func textsOfNotes(notes []analysis.Note) []string {
	items := make([]string, len(notes))
	for i, n := range notes {
		items[i] = noteText(n)
	}
	return items
}

func (d *doc) commands(r *analysis.Result) {
	if len(r.Method.Commands) == 0 {
		d.line("%s%s", absent, d.note(missing(r, "The files were analyzed without the run that made them, so its commands are not known.")))
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

func (d *doc) overhead(r *analysis.Result) {
	var rows []*StageRow
	var slowed, next []string
	for i := range r.Stages {
		s := &r.Stages[i]
		if s.Overhead == nil && s.OverheadWhy == nil {
			continue
		}
		row := stageRow(r, s)
		rows = append(rows, &row)
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
		d.line("Unprofiled against nsys: %s%s", absent, d.note(missing(r, "It needs the same stage timed without a profiler and under nsys.", withoutUnprofiled...)))
	}
	if len(slowed) > 0 {
		d.line("**Over %s in %s.** %s", percent(r.Method.OverheadLimit), strings.Join(slowed, ", "), strings.Join(next, " "))
	}
	var items []string
	if s := r.Method.UnprofiledS; s > 0 {
		items = append(items, "The whole program without a profiler: "+elapsed(s*1e9))
	}
	if clock := message.Text(r.Method.Clock); clock != "" {
		items = append(items, "Counters were taken under: "+prose(sentence(clock)))
	}
	d.list(items)
}

func (d *doc) coverage(r *analysis.Result) {
	p := r.Method.Picked
	if p == nil {
		text := missing(r, "No choice of launches is recorded.", withoutCounters...)
		if counted(r) > 0 {
			d.line("%s of %s have counters; the choice was made outside of deepprof.", plural(counted(r), "kernel"), thousands(int64(len(r.Kernels))))
			return
		}
		d.line("Counters: %s%s", absent, d.note(text))
		return
	}
	g := newGrid("What", ">Value")
	g.add("Groups of launches (kernel, grid, block)", thousands(int64(p.Groups)))
	g.add("Chosen", thousands(int64(p.Chosen)))
	counted := "Counted"
	if p.Counted > p.Chosen {
		counted += ", some along with the chosen"
	}
	g.add(counted, thousands(int64(p.Counted)))
	g.add("Coverage of GPU time in the chosen regions", percent(p.Coverage))
	for _, region := range p.ByRegion {
		covered := percent(region.Coverage)
		if region.Why != nil {
			covered += d.note(message.Text(*region.Why))
		}
		g.add("of it in "+code(region.Region), covered)
	}
	g.add("Coverage of all GPU time", percent(p.CoverageAll))
	if p.PredictedSec > 0 {
		g.add("Predicted cost", elapsed(p.PredictedSec*1e9))
	}
	if p.ActualSec > 0 {
		g.add("Actual cost", elapsed(p.ActualSec*1e9))
	}
	d.table(g)
	d.uncounted("Left out for what they are (collectives and other kernels that wait for a peer, what patterns exclude, what lies outside the regions):", p.LeftOut)
	d.uncounted("Cut off by a limit of the choice (`top_n`, `coverage`, `budget_s` of `pipeline.ncu.pick`):", p.CutOff)
}

// uncounted lists launches without counters under their own heading.
func (d *doc) uncounted(heading string, list []analysis.Note) {
	if len(list) == 0 {
		return
	}
	d.line("%s", heading)
	d.list(textsOfNotes(list))
}

func counted(r *analysis.Result) int {
	n := 0
	for i := range r.Kernels {
		if r.Kernels[i].Counted != nil {
			n++
		}
	}
	return n
}

func (d *doc) deviations(r *analysis.Result) {
	if len(r.Method.Deviations) == 0 {
		d.line("None is recorded.")
		return
	}
	writeView(d, DeviationView, pointers(r.Method.Deviations))
}

// untold lists what the result lacks.
func (d *doc) untold(r *analysis.Result) {
	if len(r.Missing) == 0 {
		d.line("Nothing is recorded as missing.")
	}
	var items []string
	for _, n := range r.Missing {
		items = append(items, code(string(n.Code))+": "+noteText(n))
	}
	d.list(items)
}

func (d *doc) files(r *analysis.Result) {
	if len(r.Source.Files) == 0 {
		d.line("The result names no input.")
		return
	}
	writeView(d, FileView, pointers(r.Source.Files))
}
