package report

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
)

// WriteReport writes report.md: everything that the performance engineer needs,
// from the findings to how they were measured.
func WriteReport(w io.Writer, r *analysis.Result) error {
	d := newDoc(titled(message.Phrase("performance-report"), r), r)
	d.about(r)
	d.scope(r)
	n := newNames(r)

	d.heading(2, "findings")
	d.findings(r, func(f *analysis.Finding) string { return message.Text(f.Fact) }, len(r.Findings))

	d.heading(2, "environment")
	d.environment(r)

	d.heading(2, "aggregates-title")
	d.aggregates(r)
	d.totals(r)

	d.heading(2, "per-stage-timings")
	d.stages(r)

	d.serving(r)
	d.samples(r)
	d.ranks(r)

	d.heading(2, "time")
	d.whereTimeGoes(r)

	d.heading(2, "use-short")
	d.say("utilization-lead")
	d.use(r)
	d.clocks(r)
	d.modelWork(r)

	d.heading(2, "roofline")
	d.peaks(r)
	if len(r.Roofline.Points) > 0 {
		d.say("roofline-image")
		d.say("roofline-points", upperFirst(roofsLegend))
	}

	d.heading(2, "top-operators")
	if len(r.Operators) == 0 {
		d.noOperators(r)
	} else {
		d.profiled(r)
		d.operatorTable(r, n, topOperators)
		d.say("link-operators")
	}

	d.heading(2, "top-kernels")
	if len(r.Kernels) == 0 {
		d.noKernels(r)
	} else {
		d.kernelTable(r, n, topKernels)
		d.say("link-kernels")
	}

	d.heading(2, "regions")
	if len(r.Regions) == 0 {
		d.noRegions(r)
	} else if underNcuAlone(r) {
		d.ncuRegions(r)
	} else {
		d.regionTable(r, topRegions, together)
		d.say("link-regions")
	}

	d.heading(2, "opportunities")
	d.opportunities(r, n)

	d.heading(2, "method")
	d.method(r)
	return d.writeTo(w, r)
}

// about says in one line what ran where, and what to know before reading on.
func (d *doc) about(r *analysis.Result) {
	var parts []string
	if r.Source.Run != "" {
		parts = append(parts, message.Phrase("run-named", code(r.Source.Run)))
	}
	if r.Source.Created != "" {
		parts = append(parts, prose(r.Source.Created))
	}
	if text := subject(r); text != "" {
		parts = append(parts, prose(text))
	}
	if len(parts) > 0 {
		d.line("%s.", strings.Join(parts, "; "))
	}
	d.warned(r)
}

// warned counts the warnings and gives each its footnote.
func (d *doc) warned(r *analysis.Result) {
	if len(r.Warnings) > 0 {
		refs := each(r.Warnings, func(n *analysis.Note) string { return d.note(noteText(n)) })
		d.say("warnings-count", len(refs), strings.Join(refs, " "))
	}
}

// workloadName names what ran: the model, the command, or the file that holds
// it.
func workloadName(r *analysis.Result) string {
	w := &r.Workload
	switch {
	case w.Model != nil && w.Model.Name != "":
		return strings.TrimSpace(w.Kind + " " + strings.TrimSpace(w.Model.Name+" "+w.Model.DType))
	case Command(r) != "":
		return shorten(oneLine(Command(r)), 60)
	case w.Kind != "":
		return w.Kind
	case len(r.Source.Files) > 0:
		return shorten(oneLine(path.Base(filepath.ToSlash(r.Source.Files[0].Path))), 60)
	}
	return ""
}

// Command is that of the workload, as a shell takes it; "" where it is not known. That of a
// recording which is played is left out where all that is known is the call that plays it.
func Command(r *analysis.Result) string {
	c := r.Workload.Command
	if r.Source.Recorded && len(c) > 1 && c[0] == "deepprof" && c[1] != "run" {
		return ""
	}
	return shellescape.QuoteCommand(c)
}

// subject names what ran and on which GPU.
func subject(r *analysis.Result) string {
	gpus := r.Environment.GPUs
	if len(gpus) == 0 || gpus[0].Name == "" { // CSV does not name it
		return workloadName(r)
	}
	return message.Phrase("subject", workloadName(r), gpus[0].Name, len(gpus)-1)
}

// findings writes what matters most, as a numbered list.
func (d *doc) findings(r *analysis.Result, text func(*analysis.Finding) string, most int) {
	if len(r.Findings) == 0 {
		d.say("findings-absent", d.note(missing(r, message.Phrase("findings-absent-why"), slices.Concat(withoutTimeline, []fact.Code{analysis.NoKernels}, withoutCounters)...)))
		return
	}
	d.numbered(each(r.Findings[:min(most, len(r.Findings))], func(f *analysis.Finding) string { return prose(sentence(text(f))) }))
}

// modelWork writes FLOPs and bytes of one pass, by analysis of the model.
func (d *doc) modelWork(r *analysis.Result) {
	var items []string
	for i := range r.Stages {
		s := &r.Stages[i]
		var parts []string
		if s.FLOPs != nil {
			parts = append(parts, rate(*s.FLOPs, "flop"))
		}
		if s.Bytes != nil {
			parts = append(parts, message.Phrase("model-memory-traffic", rate(*s.Bytes, "byte")))
		}
		if len(parts) > 0 {
			items = append(items, message.Phrase("model-work-per-pass", code(s.Name), message.And(parts)))
		}
	}
	d.list(items)
}

// opportunities writes changes with the most that each can save.
func (d *doc) opportunities(r *analysis.Result, n *names) {
	if len(r.Opportunities) == 0 {
		d.say("none-found", d.note(missing(r, message.Phrase("opportunities-absent"), withoutCounters...)))
		return
	}
	d.say("opportunities-note", prose(partOf(r).name), heldAgainst(r))
	writeView(d, opportunityView, opportunityLines(r))
	for i := range r.Opportunities {
		d.opportunity(r, n, i)
	}
}

// boundOf tells a proven bound from an estimate.
func boundOf(estimated bool) string {
	if estimated {
		return "estimate"
	}
	return "bound"
}

// timesOf names the run whose times opportunities are held against; "" where there
// is none.
func timesOf(times string) string { return message.Label("times-of", times) }

// heldAgainst says of which run the times of all opportunities are, where it is
// one.
func heldAgainst(r *analysis.Result) string {
	first := timesOf(r.Opportunities[0].Times)
	if first == "" || slices.ContainsFunc(r.Opportunities, func(o analysis.Opportunity) bool { return timesOf(o.Times) != first }) {
		return ""
	}
	return first
}

// savedOf is the time that a saving is held against; "" where that is not known.
func savedOf(o *analysis.Opportunity) string { return positive(float64(o.OfNS), elapsed) }

// opportunity writes one change: how much it saves at most, or about where it is an
// estimate, of what, how to do it, and the evidence. i is its place, from 0.
func (d *doc) opportunity(r *analysis.Result, n *names, i int) {
	o := &r.Opportunities[i]
	d.line("### %d. %s", i+1, prose(message.Text(o.Title)))
	var items []string
	itemIf := func(known bool, id string, values ...any) {
		if known {
			items = append(items, message.Phrase(id, values...))
		}
	}
	itemIf(true, "opportunity-bound", message.Label("bound-of", boundOf(o.Estimated)), elapsed(o.Seconds*1e9), savedOf(o), timesOf(o.Times),
		prose(partOf(r).name), when(o.Speedup >= 1, speedup(o.Speedup)))
	itemIf(o.Estimate != nil, "likely-about", positive(*cmp.Or(o.Estimate, new(float64))*1e9, elapsed))
	itemIf(len(o.How) > 0, "opportunity-action", prose(message.Sentences(o.How)))
	itemIf(len(o.Evidence) > 0, "kernel-evidence", evidence(o.Evidence))
	itemIf(len(o.Assumes) > 0, "opportunity-assumes", prose(message.Sentences(o.Assumes)))
	itemIf(len(o.Kernels) > 0, "opportunity-kernels", kernelRefs(n, o.Kernels, 5))
	d.list(items)
}

// kernelRefs names kernels by their place in kernels.md.
func kernelRefs(n *names, ids []string, most int) string {
	var parts []string
	for _, id := range ids[:min(most, len(ids))] {
		if i := n.find(id); i >= 0 {
			parts = append(parts, fmt.Sprintf("%s (%d)", code(n.of(i)), i+1))
		} else {
			parts = append(parts, code(id))
		}
	}
	return message.Phrase("some-names", strings.Join(parts, ", "), max(0, len(ids)-most))
}
