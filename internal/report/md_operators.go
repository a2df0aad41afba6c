package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
)

const (
	topOperators    = 10
	listedOperators = 300
)

// WriteOperators writes operators.md: the torch profiler's operators by their
// total device time.
func WriteOperators(w io.Writer, r *analysis.Result) error {
	d := newDoc("Operators", r)
	if len(r.Operators) == 0 {
		d.noOperators(r)
		return d.writeTo(w, r)
	}
	d.profiled(r)
	if cpuOnly(r.Operators) {
		d.line("From the torch profiler, sorted by self CPU time. **Total** includes the operators that an operator calls, so totals overlap and do not add up; **self** does. Share is of all self CPU time.")
	} else {
		d.line("From the torch profiler, sorted by total device time, those without any by self CPU time. **Total** includes the operators that an operator calls, so totals overlap and do not add up; **self** does. Share is of all self device time.")
	}
	d.operatorTable(r, newNames(r), listedOperators)
	return d.writeTo(w, r)
}

// profiled says what the operators cover.
func (d *doc) profiled(r *analysis.Result) {
	if r.Profiled != nil && len(r.Profiled.Text) > 0 {
		d.line("%s", prose(message.Sentences(r.Profiled.Text)))
	}
}

func (d *doc) noOperators(r *analysis.Result) {
	d.line("Operators: %s%s", absent, d.note(missing(r, "The torch profiler did not run, or the workload is not PyTorch; `pipeline.torch_profiler.enable=true` turns it on.", withoutOperators...)))
}

// cpuOnly tells that no operator has device time, so that the time of the CPU
// is all there is to compare.
func cpuOnly(ops []analysis.Operator) bool {
	return !slices.ContainsFunc(ops, func(o analysis.Operator) bool { return o.TotalDeviceUS > 0 || o.SelfDeviceUS > 0 })
}

// byTotal orders operators by total device time, then by the CPU time of their
// own and name.
func byTotal(ops []analysis.Operator) []*analysis.Operator {
	out := make([]*analysis.Operator, len(ops))
	for i := range ops {
		out[i] = &ops[i]
	}
	slices.SortStableFunc(out, func(x, y *analysis.Operator) int {
		return cmp.Or(cmp.Compare(y.TotalDeviceUS, x.TotalDeviceUS), cmp.Compare(y.SelfCPUUS, x.SelfCPUUS), cmp.Compare(x.Name, y.Name))
	})
	return out
}

// byOwn keeps the operators that have device time of their own, by that.
func byOwn(ops []*analysis.Operator) []*analysis.Operator {
	out := slices.DeleteFunc(slices.Clone(ops), func(o *analysis.Operator) bool { return o.SelfDeviceUS <= 0 })
	slices.SortStableFunc(out, func(x, y *analysis.Operator) int { return cmp.Compare(y.SelfDeviceUS, x.SelfDeviceUS) })
	return out
}

// onlyCPU is said of shares where no operator has device time.
func (d *doc) onlyCPU(ops []analysis.Operator) string {
	why := "the torch profiler attributes no device time to any operator"
	if same := ops[0].Why; !same.IsZero() && !slices.ContainsFunc(ops, func(o analysis.Operator) bool { return !o.Why.Equal(same) }) {
		why = message.Text(same)
	}
	return d.note(prose("No operator has device time: " + sentence(why) + " Shares are of all self CPU time."))
}

// cpuTable writes operators that have no device time.
func (d *doc) cpuTable(r *analysis.Result, most int) {
	ops := byTotal(r.Operators)
	shown := min(len(ops), most)
	var cpu []float64
	var parts []int64
	var whole, rest, restCalls int64
	for i, o := range ops {
		self := int64(o.SelfCPUUS * 1e3)
		whole += self
		if i >= shown {
			rest, restCalls = rest+self, restCalls+o.Calls
			continue
		}
		cpu, parts = append(cpu, o.SelfCPUUS*1e3, o.TotalCPUUS*1e3), append(parts, self)
	}
	if shown < len(ops) {
		cpu, parts = append(cpu, float64(rest)), append(parts, rest)
	}
	unit, cells := times(cpu)
	pct := shares(parts, whole)
	ref := d.onlyCPU(r.Operators)
	g := newGrid(">#", "Operator", "Shapes", ">Calls", ">Self CPU ("+unit+")", ">Total CPU ("+unit+")", ">Share %"+ref)
	for i, o := range ops[:shown] {
		g.add(fmt.Sprint(i+1), code(o.Name), shapes(o.Shapes), thousands(o.Calls), cells[2*i], cells[2*i+1], pct[i])
	}
	if shown < len(ops) {
		g.add("", fmt.Sprintf("%s more", thousands(int64(len(ops)-shown))), "", thousands(restCalls), cells[2*shown], "", pct[shown])
	}
	g.drop("Shapes")
	d.table(g)
}

func (d *doc) operatorTable(r *analysis.Result, n *names, most int) {
	if cpuOnly(r.Operators) {
		d.cpuTable(r, most)
		return
	}
	ops := byTotal(r.Operators)
	shown := min(len(ops), most)
	var device, mean, cpu []float64
	var parts []int64
	var whole, rest, restCalls int64
	for i, o := range ops {
		self := int64(o.SelfDeviceUS * 1e3)
		whole += self
		if i >= shown {
			rest, restCalls = rest+self, restCalls+o.Calls
			continue
		}
		device = append(device, o.TotalDeviceUS*1e3, o.SelfDeviceUS*1e3)
		mean = append(mean, o.TotalDeviceUS*1e3/float64(max(o.Calls, 1)))
		cpu = append(cpu, o.SelfCPUUS*1e3, o.TotalCPUUS*1e3)
		parts = append(parts, self)
	}
	if shown < len(ops) {
		device, parts = append(device, float64(rest)), append(parts, rest)
	}
	deviceUnit, devices := times(device)
	meanUnit, means := times(mean)
	cpuUnit, cpus := times(cpu)
	pct := shares(parts, whole)
	g := newGrid(">#", "Operator", "Shapes", ">Calls", ">Total ("+deviceUnit+")", ">Self ("+deviceUnit+")", ">Mean ("+meanUnit+")", ">Share %", ">Self CPU ("+cpuUnit+")", ">Total CPU ("+cpuUnit+")", "Limiter", "Main kernel")
	told := slices.ContainsFunc(ops[:shown], func(o *analysis.Operator) bool { return operatorLimiter(r, n, o) != "" })
	for i, o := range ops[:shown] {
		total, mean, limit := devices[2*i], means[i], ""
		if o.TotalDeviceUS == 0 {
			total, mean = "none"+d.note(prose(upperFirst(sentence(noDeviceTime(o))))), ""
		} else {
			limit = d.operatorLimiter(r, n, o, told)
		}
		g.add(fmt.Sprint(i+1), code(o.Name), shapes(o.Shapes), thousands(o.Calls), total, devices[2*i+1], mean, pct[i], cpus[2*i], cpus[2*i+1], limit, mainKernel(n, o))
	}
	if shown < len(ops) {
		g.add("", fmt.Sprintf("%s more", thousands(int64(len(ops)-shown))), "", thousands(restCalls), "", devices[2*shown], "", pct[shown], "", "", "", "")
	}
	g.drop("Shapes")
	g.drop("Main kernel")
	untold := g.forget("Limiter")
	if at := slices.Index(g.heads, "Limiter"); at >= 0 && linked(ops) {
		g.heads[at] += d.note("What holds back more of the time of an operator's kernels than anything else, its own kernels and those of the operators that it calls; in brackets the share of that time, and how much of it was counted, where that is not all.")
	}
	d.table(g)
	if untold {
		d.line("Limiter: %s%s", absent, d.note(missing(r, noLimiter(ops[:shown]), analysis.OperatorKernels)))
	}
}

func linked(ops []*analysis.Operator) bool {
	return slices.ContainsFunc(ops, func(o *analysis.Operator) bool { return len(o.Links) > 0 })
}

// noLimiter is why none of the operators has a limiter.
func noLimiter(ops []*analysis.Operator) string {
	for _, o := range ops {
		if o.Limiter != nil && !o.Limiter.Why.IsZero() {
			return prose("No operator has a limiter; of " + o.Name + ": " + sentence(message.Text(o.Limiter.Why)))
		}
	}
	return "The torch profiler names no kernel of these operators, or none of those was counted."
}

// mainKernel is the kernel that takes most of the time of an operator, and the
// operator that launches it where that is another.
func mainKernel(n *names, o *analysis.Operator) string {
	if len(o.Links) == 0 {
		return ""
	}
	k := &o.Links[0]
	text := code(shorten(linkName(n, k), 60))
	if !k.Own && k.By != "" {
		text += " through " + code(k.By)
	}
	return text
}

func linkName(n *names, k *analysis.OperatorKernel) string {
	if i := n.find(k.Kernel); k.Kernel != "" && i >= 0 {
		return n.of(i)
	}
	return k.Name
}

// forget leaves out a column that has no value but n/a, and tells whether it had
// that.
func (g *grid) forget(head string) bool {
	at := slices.Index(g.heads, head)
	if at < 0 || slices.ContainsFunc(g.rows, func(row []string) bool { return row[at] != "" && row[at] != absent }) {
		return false
	}
	untold := slices.ContainsFunc(g.rows, func(row []string) bool { return row[at] == absent })
	for _, row := range g.rows {
		row[at] = ""
	}
	g.drop(head)
	return untold
}

func noDeviceTime(o *analysis.Operator) string {
	if !o.Why.IsZero() {
		return message.Text(o.Why)
	}
	return "the torch profiler attributes no device time to it"
}

func shapes(s string) string {
	if s == "" {
		return ""
	}
	return code(shorten(s, 80))
}

// operatorLimiter is what holds an operator back, in words, "" where nothing
// tells. Results without links have the longest of its kernels instead.
func operatorLimiter(r *analysis.Result, n *names, o *analysis.Operator) string {
	if l := o.Limiter; l != nil {
		return limiterShares(l)
	}
	best := n.longest(o.Kernels)
	if best < 0 || o.TotalDeviceUS == 0 {
		return ""
	}
	text := limiter(&r.Kernels[best].Limiter)
	if text != "" && len(o.Kernels) > 1 {
		text = "mostly " + text
	}
	return text
}

// limiterShares writes a limiter of many kernels with its share of their time and
// how much of that was counted, where they are not all of it.
func limiterShares(l *analysis.OperatorLimiter) string {
	const all = 0.995
	text := message.Limiter(l.Kind, l.Units)
	switch {
	case l.Kind == "":
		return ""
	case l.Share >= all:
		return text
	case l.Coverage >= all:
		return fmt.Sprintf("%s (%.0f %%)", text, l.Share*100)
	}
	return fmt.Sprintf("%s (%.0f %%; %.0f %% counted)", text, l.Share*100, l.Coverage*100)
}

// operatorLimiter is the limiter as a cell. Where others have one, a footnote says
// why this operator has none.
func (d *doc) operatorLimiter(r *analysis.Result, n *names, o *analysis.Operator, told bool) string {
	text := operatorLimiter(r, n, o)
	switch {
	case text != "":
		return prose(text)
	case told && o.Limiter != nil && !o.Limiter.Why.IsZero():
		return absent + d.note(prose("No verdict on the limiter: "+sentence(message.Text(o.Limiter.Why))))
	case told && o.Limiter == nil && len(o.Kernels) == 0:
		return absent + d.note("The torch profiler linked no kernel to it.")
	}
	return absent
}
