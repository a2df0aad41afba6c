package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
)

// Rows of a page that a reader without knowledge of GPUs goes through.
const (
	pageKernels  = 5
	pageFindings = 5
)

// WriteStakeholder writes stakeholder_summary.md: one page for readers who do
// not know GPUs.
func WriteStakeholder(w io.Writer, r *analysis.Result) error {
	d := newDoc(titled(message.Phrase("plain-title"), r), r)
	if text := subject(r); text != "" {
		d.say("what-was-measured", prose(text))
	}
	d.scope(r)
	if len(r.Findings) > 0 {
		d.say("in-short", prose(sentence(plainText(&r.Findings[0]))))
	}
	d.warned(r)

	d.heading(2, "environment")
	d.environment(r)

	d.heading(2, "aggregates-title")
	d.plainAggregates(r)

	d.heading(2, "plain-stage-timings")
	d.plainStages(r)

	d.heading(2, "mfu")
	d.say("plain-utilization-lead")
	d.use(r, "stage", "measure", "from", "value", "peak", "peak_of", "clock")

	d.heading(2, "plain-top-operators")
	d.plainOperators(r)

	d.heading(2, "plain-top-kernels")
	d.plainKernels(r)

	d.heading(2, "findings")
	d.findings(r, plainText, pageFindings)
	told := slices.ContainsFunc(r.Findings[:min(len(r.Findings), pageFindings)], func(f analysis.Finding) bool { return f.Code == "first-saving" })
	if len(r.Opportunities) > 0 && !told {
		o := &r.Opportunities[0]
		d.say("plain-largest-saving", prose(message.Short(o.Title)), elapsed(o.Seconds*1e9), savedOf(o), timesOf(o.Times), positive(o.Saves(), percent), prose(partOf(r).name))
	}
	d.say("link-report")
	return d.writeTo(w, r)
}

// plainText is a finding for readers who do not know GPUs.
func plainText(f *analysis.Finding) string { return message.Plain(f.Fact) }

// lowerFirst lets a title go on within a sentence; abbreviations stay.
func lowerFirst(s string) string {
	if len(s) < 2 || s[0] < 'A' || s[0] > 'Z' || s[1] < 'a' || s[1] > 'z' {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// plainAggregates writes the measures of the workload, how busy the GPU was and how many
// kernels ran, each with what it means.
func (d *doc) plainAggregates(r *analysis.Result) {
	g := newGrid("measure", ">value", "meaning")
	for i := range r.Totals.Aggregates {
		a := &r.Totals.Aggregates[i]
		unit, values := aggregateValues(a, a.Mean, a.Std)
		value := fmt.Sprintf("%s %s", significant(values[0]), prose(unit))
		if a.N > 1 {
			value = spread(values[0], values[1], prose(unit))
		}
		g.add(prose(aggregateLabel(a)), value, message.Phrase("plain-unprofiled-mean", aggregateCount(a)))
	}
	if len(r.Totals.Aggregates) == 0 {
		g.add(message.Phrase("times-without-profiler"), absent+d.note(missing(r, message.Phrase("no-unprofiled-run"), withoutUnprofiled...)), "")
	}
	p := partOf(r)
	if r.HasTimeline() && p.wall > 0 {
		what := message.Phrase("plain-profiled-span")
		if r.Scope != nil {
			what = message.Phrase("plain-profiled-scope", prose(p.name), elapsed(float64(r.Totals.WallNS)))
		}
		g.add(message.Phrase("time-observed"), elapsed(float64(p.wall)), what)
		g.add(message.Phrase("gpu-at-work"), orAbsent(p.busy), message.Phrase("plain-gpu-busy-share"))
	} else {
		g.add(message.Phrase("gpu-at-work"), absent+d.note(noTimeline(r, message.Phrase("no-timeline-for-idle"))), "")
	}
	if !r.HasTimeline() {
		g.add(message.Phrase("kernels-launched"), absent+d.note(noTimeline(r, message.Phrase("no-timeline-for-launches"))), "")
		d.table(g)
		return
	}
	g.add(message.Phrase("kernels-launched"), thousands(p.launches), message.Phrase("plain-launches", p.kernelNames, p.outsideCalls))
	d.table(g)
}

// plainStages writes a row a stage: how long a pass takes, how busy the GPU is in it and
// what it waits for. How busy it is, is held against the unprofiled time where there is one.
func (d *doc) plainStages(r *analysis.Result) {
	if len(r.Stages) == 0 {
		d.stages(r)
		return
	}
	g := newGrid("stage", ">mean-time-per-pass", ">plain-gpu-computes", ">plain-profiled-mean", "plain-limiter")
	for i := range r.Stages {
		s := &r.Stages[i]
		row := stageRow(r, s)
		cell := func(ms *float64, why string) string {
			text := absent
			if ms != nil {
				text = elapsed(*ms * 1e6)
			}
			return text + d.note(prose(upperFirst(sentence(why))))
		}
		clean, nsys, busy := cell(s.CleanMS, row.cleanWhy), cell(s.NsysMS, row.nsysWhy)+d.note(prose(upperFirst(sentence(row.overheadNote)))), absent
		switch {
		case s.CleanBusy != nil:
			busy = percent(*s.CleanBusy)
		case s.Split.BusyShare != nil:
			busy = percent(*s.Split.BusyShare) + d.note(message.Phrase("plain-stage-split-lead"))
		}
		g.add(code(s.Name), clean, busy, nsys, d.holdUp(r, s))
	}
	d.table(g)
	d.subStages(r)
}

// holdUp says in plain words what a stage mostly waits for.
func (d *doc) holdUp(r *analysis.Result, s *analysis.Stage) string {
	switch {
	case s.Split.WallNS <= 0 && s.NsysMS != nil:
		return absent + d.note(missing(r, message.Phrase("stage-without-gpu-work"), analysis.NoKernels))
	case s.Split.WallNS <= 0:
		return absent + d.note(missing(r, message.Phrase("stage-without-timeline"), withoutTimeline...))
	}
	switch l := s.Split.Limiter; {
	case l.Kind == analysis.TimeLaunch:
		return message.Phrase("plain-launch-bound")
	case l.Kind == analysis.TimeIdle:
		return message.Phrase("plain-idle-because", prose(lowerFirst(message.Part(l.Part, ""))))
	case l.Part != "":
		return message.Phrase("plain-gpu-work", prose(lowerFirst(message.Part(l.Part, l.Label))))
	}
	return message.Phrase("plain-gpu-work")
}

// plainOperators writes the operators with most GPU time of their own; where none has any,
// those with most CPU time.
func (d *doc) plainOperators(r *analysis.Result) {
	if len(r.Operators) == 0 {
		d.noOperators(r)
		return
	}
	operators := r.OperatorsBySelf()
	v := OperatorView.only("name", "calls", "self_device_us", "share", "total_device_us")
	switch {
	case r.OnlyCPU():
		d.lacks("gpu-time", onlyCPU(r.Operators))
		operators, v = r.OperatorsByTotal(), OperatorView.only("name", "calls", "self_cpu_us", "total_cpu_us")
	case len(operators) == 0:
		d.say("operators-no-gpu-time")
		return
	}
	writeView(d, v, pointers(operatorRows(r, newNames(r), operators[:min(len(operators), pageKernels)])))
	d.profiled(r)
	d.say("operators-without-own-time")
}

// plainKernels writes the kernels with most GPU time and what they do.
func (d *doc) plainKernels(r *analysis.Result) {
	if len(r.Kernels) == 0 {
		d.noKernels(r)
		return
	}
	writeView(d, resultKernelView.only("short", "category", "calls", "total_ns", "share", "ncu_ns", "limiter").titled("category", "does"), kernelLines(r, newNames(r), pageKernels, false))
}
