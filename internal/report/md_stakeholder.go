package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
)

const (
	pageKernels  = 5
	pageFindings = 5
)

// WriteStakeholder writes stakeholder_summary.md: one page for readers who do
// not know GPUs.
func WriteStakeholder(w io.Writer, r *analysis.Result) error {
	d := newDoc(titled("Summary", r), r)
	if text := subject(r); text != "" {
		d.line("What was measured: %s.", prose(text))
	}
	d.scope(r)
	if len(r.Findings) > 0 {
		d.line("**In short:** %s", prose(sentence(plainText(&r.Findings[0]))))
	}
	d.warned(r)

	d.line("## Environment")
	d.environment(r)

	d.line("## Aggregates")
	d.plainAggregates(r)

	d.line("## Per-Stage Timings")
	d.plainStages(r)

	d.line("## MFU")
	d.plainMFU(r)

	d.line("## Top Operators")
	d.plainOperators(r)

	d.line("## Top Kernels")
	d.plainKernels(r)

	d.line("## Findings")
	d.findings(r, plainText, pageFindings)
	told := slices.ContainsFunc(r.Findings[:min(len(r.Findings), pageFindings)], func(f analysis.Finding) bool { return f.Code == "first-saving" })
	if len(r.Opportunities) > 0 && !told {
		o := &r.Opportunities[0]
		d.line("The largest possible saving: %s, at most %s%s.", prose(message.Short(o.Title)), elapsed(o.Seconds*1e9)+savedOf(o), ofRun(r, o.Speedup))
	}
	d.line("Numbers with their evidence: [report.md](report.md).")
	return d.writeTo(w, r)
}

func plainText(f *analysis.Finding) string {
	return message.Plain(f.Fact)
}

// ofRun says how much of the whole run, or of the scope, a saving is.
func ofRun(r *analysis.Result, speedup float64) string {
	if speedup <= 1 {
		return ""
	}
	return ", " + percent(1-1/speedup) + " of " + prose(partOf(r).name)
}

// lowerFirst lets a title go on within a sentence; abbreviations stay.
func lowerFirst(s string) string {
	if len(s) < 2 || s[0] < 'A' || s[0] > 'Z' || s[1] < 'a' || s[1] > 'z' {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

func (d *doc) plainAggregates(r *analysis.Result) {
	g := newGrid("Measure", ">Value", "Meaning")
	for i := range r.Totals.Aggregates {
		a := &r.Totals.Aggregates[i]
		unit, values := aggregateValues(a, a.Mean, a.Std)
		value := fmt.Sprintf("%s %s", significant(values[0]), prose(unit))
		if a.N > 1 {
			value = spread(values[0], values[1], prose(unit))
		}
		g.add(prose(aggregateLabel(a)), value, fmt.Sprintf("mean of %s without a profiler", plural(a.N, aggregateOf(a))))
	}
	if len(r.Totals.Aggregates) == 0 {
		g.add("Times without a profiler", absent+d.note(missing(r, "There was no run without a profiler, so times of the workload alone are not known.", withoutUnprofiled...)), "")
	}
	p := partOf(r)
	if r.HasTimeline() && p.wall > 0 {
		what := "under the profiler, from first to last event"
		if r.Scope != nil {
			what = fmt.Sprintf("under the profiler, in %s; the whole recording takes %s", prose(p.name), elapsed(float64(r.Totals.WallNS)))
		}
		g.add("Time observed", elapsed(float64(p.wall)), what)
		g.add("GPU at work", orAbsent(p.busy), "share of the time observed in which the GPU computed or copied")
	} else {
		g.add("GPU at work", absent+d.note(noTimeline(r, "There is no timeline, so idle time is not known.")), "")
	}
	if !r.HasTimeline() {
		g.add("Kernels launched", absent+d.note(noTimeline(r, "There is no timeline, so launches are not known.")), "")
		d.table(g)
		return
	}
	what := fmt.Sprintf("programs started on the GPU, %s different ones", thousands(p.kernelNames))
	if p.outsideCalls > 0 {
		what += fmt.Sprintf("; %s more outside, such as loading and warm-up, are not counted", thousands(p.outsideCalls))
	}
	g.add("Kernels launched", thousands(p.launches), what)
	d.table(g)
}

func (d *doc) plainStages(r *analysis.Result) {
	if len(r.Stages) == 0 {
		d.stages(r)
		return
	}
	g := newGrid("Stage", ">Mean time per pass", ">Of which the GPU computes", ">Under the profiler, mean per pass", "What holds it up")
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
			busy = percent(*s.Split.BusyShare) + d.note("Of the stage under the profiler, with starting and synchronizing: what share it is without one is not known.")
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
		return absent + d.note(missing(r, "The timeline of this stage has no work of a GPU.", analysis.NoKernels))
	case s.Split.WallNS <= 0:
		return absent + d.note(missing(r, "There is no timeline of this stage.", withoutTimeline...))
	}
	switch l := s.Split.Limiter; {
	case l.Kind == analysis.TimeLaunch:
		return "the CPU cannot hand out work fast enough"
	case l.Kind == analysis.TimeIdle:
		return "no kernel runs: " + prose(lowerFirst(message.Part(l.Part, "")))
	case l.Part != "":
		return "the GPU's work, mostly " + prose(lowerFirst(message.Part(l.Part, l.Label)))
	}
	return "the GPU's work"
}

func (d *doc) plainMFU(r *analysis.Result) {
	d.line("How much of what the GPU can do at most is used: its arithmetic and its memory bandwidth (MBU). MFU counts the arithmetic that the model needs, HFU, from counters, what the GPU executed.")
	d.use(r, "stage", "measure", "from", "value", "peak", "peak_of", "clock")
}

func (d *doc) plainOperators(r *analysis.Result) {
	if len(r.Operators) == 0 {
		d.noOperators(r)
		return
	}
	rows := operatorRows(r, newNames(r))
	v := OperatorView.only("name", "calls", "self_device_us", "share", "total_device_us")
	switch {
	case r.OnlyCPU():
		d.line("GPU time: %s%s", absent, d.onlyCPU(r.Operators))
		v = OperatorView.only("name", "calls", "self_cpu_us", "total_cpu_us")
	default:
		rows = slices.DeleteFunc(rows, func(o OperatorRow) bool { return o.SelfDeviceUS <= 0 })
		slices.SortStableFunc(rows, func(x, y OperatorRow) int { return cmp.Compare(y.SelfDeviceUS, x.SelfDeviceUS) })
	}
	if len(rows) == 0 {
		d.line("No operator has GPU time of its own: [operators.md](operators.md) has them all.")
		return
	}
	writeView(d, v, pointers(rows[:min(len(rows), pageKernels)]))
	d.profiled(r)
	d.line("Operators that only call others are left out; [operators.md](operators.md) has them all.")
}

func (d *doc) plainKernels(r *analysis.Result) {
	if len(r.Kernels) == 0 {
		d.line("No kernels.%s", d.note(missing(r, "Nothing that was captured holds a kernel.", withoutKernels...)))
		return
	}
	writeView(d, ResultKernelView.only("short", "category", "calls", "total_ns", "share", "ncu_ns", "limiter").titled("category", "does").titled("limiter", "held back by"), kernelLines(r, newNames(r), pageKernels, false))
}
