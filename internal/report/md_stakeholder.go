package report

import (
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
	return ", " + percent(1-1/speedup) + " of " + prose(analysed(r).name)
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
	p := analysed(r)
	if r.HasTimeline() && p.wall > 0 {
		what := "under the profiler, from first to last event"
		if r.Scope != nil {
			what = fmt.Sprintf("under the profiler, in %s; the whole recording takes %s", prose(p.name), elapsed(float64(r.Totals.WallNS)))
		}
		g.add("Time observed", elapsed(float64(p.wall)), what)
		g.add("GPU at work", percent(p.busyShare(r)), "share of the time observed in which the GPU computed or copied")
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
	under := ">Under the profiler"
	if ownClock(r) != "" {
		under += d.note("By the session's own clock, as the time is.")
	}
	g := newGrid("Stage", ">Time", ">Of which the GPU computes", under, "What holds it up")
	for i := range r.Stages {
		s := &r.Stages[i]
		clean, nsys, busy := absent, absent, absent
		if s.CleanMS != nil {
			clean = elapsed(ms(s.CleanMS))
		} else {
			clean += d.note(missing(r, "This stage has no time without a profiler.", withoutUnprofiled...))
		}
		if s.NsysMS != nil {
			nsys = elapsed(ms(s.NsysMS))
		}
		if s.OverheadWhy != nil {
			nsys += d.note(prose(upperFirst(sentence(message.Text(*s.OverheadWhy)))))
		}
		if heavy(r, s) {
			nsys += d.slowed(r, s)
		}
		switch {
		case s.CleanBusy != nil:
			busy = percent(*s.CleanBusy)
		case s.Split.WallNS > 0:
			busy = percent(float64(s.Split.BusyNS)/float64(s.Split.WallNS)) + d.note("Of the stage under the profiler, with starting and synchronising: what share it is without one is not known.")
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
	case s.Split.LaunchBound:
		return "the CPU cannot hand out work fast enough"
	}
	most := analysis.TimePart{}
	for _, p := range s.Split.Idle {
		if p.NS > most.NS {
			most = p
		}
	}
	if s.Split.IdleNS > s.Split.BusyNS && most.NS > 0 {
		return "the GPU is idle: " + prose(lowerFirst(partLabel(most)))
	}
	most = analysis.TimePart{}
	for _, p := range s.Split.Busy {
		if p.NS > most.NS {
			most = p
		}
	}
	if most.NS == 0 {
		return "the GPU's work"
	}
	return "the GPU's work, mostly " + prose(lowerFirst(partLabel(most)))
}

func partLabel(p analysis.TimePart) string { return message.Part(p.ID, p.Label) }

func (d *doc) plainMFU(r *analysis.Result) {
	d.line("How much of what the GPU can do at most is used: its arithmetic and its memory bandwidth (MBU). MFU counts the arithmetic that the model needs, HFU, from counters, what the GPU executed.")
	g := newGrid("Stage", "From", ">MFU or HFU", "Peak", ">MBU", "Peak ")
	for i := range r.Stages {
		s := &r.Stages[i]
		if len(arithmetic(s))+len(s.MBU) == 0 {
			why := d.note(missing(r, "It needs the work of the model, or counters, and the time of the stage.", slices.Concat(withoutCounters, withoutTimeline)...))
			g.add(code(s.Name), "", absent+why, "", absent+why, "")
		}
		for _, method := range methods(s) {
			line := []string{code(s.Name), prose(methodLabel(method))}
			for _, list := range [][]analysis.Utilisation{arithmetic(s), s.MBU} {
				value, peak := "", ""
				for j := range list {
					if u := &list[j]; u.Method == method {
						value, peak = d.utilisationValue(u), d.plainPeak(&u.Peak)
						break
					}
				}
				if value == "" {
					value = absent + d.note("Nothing that was captured gives this value.")
				}
				line = append(line, value, peak)
			}
			g.add(line...)
		}
	}
	for _, h := range []string{"From", "Peak", "Peak "} {
		g.drop(h)
	}
	if len(g.rows) == 0 {
		d.line("MFU: %s%s", absent, d.note(missing(r, "It needs the work of the model, or counters, and the time of a stage.", withoutCounters...)))
		return
	}
	d.table(g)
}

// arithmetic is the MFU of a stage by its model, and the HFU by counters.
func arithmetic(s *analysis.Stage) []analysis.Utilisation { return slices.Concat(s.MFU, s.HFU) }

// methods are the ways in which a stage's utilisation was found, in order.
func methods(s *analysis.Stage) []string {
	var out []string
	seen := map[string]bool{}
	for _, list := range [][]analysis.Utilisation{arithmetic(s), s.MBU} {
		for _, u := range list {
			if !seen[u.Method] {
				seen[u.Method] = true
				out = append(out, u.Method)
			}
		}
	}
	return out
}

func (d *doc) plainPeak(p *analysis.Peak) string {
	if p.Value <= 0 {
		return ""
	}
	text := rate(p.Value, p.Unit) + ", " + d.peakLabel(p)
	if p.ClockHz > 0 {
		text += " at " + clock(p.ClockHz)
	}
	return text
}

func (d *doc) plainOperators(r *analysis.Result) {
	if len(r.Operators) == 0 {
		d.noOperators(r)
		return
	}
	ops := byTotal(r.Operators)
	if cpuOnly(r.Operators) {
		var whole float64
		for _, o := range ops {
			whole += o.SelfCPUUS
		}
		g := newGrid("Operator", ">Calls", ">CPU time of its own", ">CPU time, with all it calls", ">Share %"+d.onlyCPU(r.Operators))
		for _, o := range ops[:min(len(ops), pageKernels)] {
			pct := absent
			if whole > 0 {
				pct = percentage(o.SelfCPUUS / whole * 100)
			}
			g.add(code(o.Name), thousands(o.Calls), elapsed(o.SelfCPUUS*1e3), elapsed(o.TotalCPUUS*1e3), pct)
		}
		d.table(g)
		return
	}
	ops = byOwn(ops)
	if len(ops) == 0 {
		d.line("No operator has GPU time of its own: [operators.md](operators.md) has them all.")
		return
	}
	var whole float64
	for _, o := range ops {
		whole += o.SelfDeviceUS
	}
	g := newGrid("Operator", ">Calls", ">GPU time of its own", ">Share %", ">With all it calls")
	for _, o := range ops[:min(len(ops), pageKernels)] {
		g.add(code(o.Name), thousands(o.Calls), elapsed(o.SelfDeviceUS*1e3), percentage(o.SelfDeviceUS/whole*100), elapsed(o.TotalDeviceUS*1e3))
	}
	d.table(g)
	d.profiled(r)
	d.line("Operators that only call others are left out; [operators.md](operators.md) has them all.")
}

func (d *doc) plainKernels(r *analysis.Result) {
	if len(r.Kernels) == 0 {
		d.line("No kernels.%s", d.note(missing(r, "Nothing that was captured holds a kernel.", withoutKernels...)))
		return
	}
	n := newNames(r)
	g := newGrid("Kernel", "Does", ">Calls", ">Total", ">Share %", "Held back by")
	reasons := map[string]bool{}
	for i := range r.Kernels[:min(len(r.Kernels), pageKernels)] {
		k := &r.Kernels[i]
		calls, total, share := thousands(k.Calls), elapsed(float64(k.TotalNS)), percentage(k.Share*100)
		if untimed(k) {
			calls, total, share = absent+d.note(noTimeline(r, "The timeline has no launch of this kernel.")), absent, absent
		}
		held := ""
		if counted(r) == 0 { // one reason for all
			held = absent + d.note(missing(r, "No counters were taken of any kernel.", withoutCounters...))
		} else {
			held = d.limiterCell(k, reasons)
		}
		g.add(code(n.apart(r, i, 60)), prose(category(r, k.Category)), calls, total, share, held)
	}
	d.table(g)
}
