package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
)

// Rows of operators in report.md and in operators.md; result.json has all of them.
const (
	topOperators    = 10
	listedOperators = 300
)

// WriteOperators writes operators.md: the torch profiler's operators by their
// total device time.
func WriteOperators(w io.Writer, r *analysis.Result) error {
	d := newDoc(message.Phrase("operators"), r)
	if len(r.Operators) == 0 {
		d.noOperators(r)
		return d.writeTo(w, r)
	}
	d.profiled(r)
	if r.OnlyCPU() {
		d.say("operators-lead-cpu")
	} else {
		d.say("operators-lead-device")
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

// noOperators says why there are none.
func (d *doc) noOperators(r *analysis.Result) {
	d.say("operators-absent", absent, d.note(missing(r, message.Phrase("torch-profiler-did-not-run"), withoutOperators...)))
}

// byTotal orders operators by total device time, then by the CPU time of their
// own and name.
func byTotal(ops []analysis.Operator) []*analysis.Operator {
	out := pointers(ops)
	slices.SortStableFunc(out, func(x, y *analysis.Operator) int {
		return cmp.Or(cmp.Compare(y.TotalDeviceUS, x.TotalDeviceUS), cmp.Compare(y.SelfCPUUS, x.SelfCPUUS), cmp.Compare(x.Name, y.Name))
	})
	return out
}

// onlyCPU is said of shares where no operator has device time.
func (d *doc) onlyCPU(ops []analysis.Operator) string {
	why := message.Phrase("operators-no-device-time-why")
	if same := ops[0].Why; !same.IsZero() && !slices.ContainsFunc(ops, func(o analysis.Operator) bool { return !o.Why.Equal(same) }) {
		why = message.Text(same)
	}
	return d.note(prose(message.Phrase("operators-no-device-time") + sentence(why)))
}

// operatorTable writes the operators that take most time.
func (d *doc) operatorTable(r *analysis.Result, n *names, most int) {
	all := operatorRows(r, n)
	rows := pointers(all[:min(len(all), most)])
	v := shownAll(OperatorView.only("name", "shapes", "calls", "total_device_us", "self_device_us", "share", "self_cpu_us", "total_cpu_us", "limiter", "main_kernel", "module", "through", "why"))
	switch {
	case r.OnlyCPU():
		d.say("shares-absent", absent, d.onlyCPU(r.Operators))
	case !slices.ContainsFunc(all, func(o operatorRow) bool { return o.Limiter != "" }):
		v = v.without("limiter")
		d.say("limiter-absent", absent, d.note(missing(r, noLimiter(r.Operators), analysis.OperatorKernels)))
	}
	writeView(d, v, rows)
	if more := len(all) - len(rows); more > 0 {
		d.say("operators-left-out", thousands(int64(more)))
	}
}

// noLimiter is why none of the operators has a limiter.
func noLimiter(ops []analysis.Operator) string {
	for _, o := range ops {
		if o.Limiter != nil && !o.Limiter.Why.IsZero() {
			return prose(message.Phrase("operators-no-limiter") + o.Name + ": " + sentence(message.Text(o.Limiter.Why)))
		}
	}
	return message.Phrase("operators-no-kernels")
}

// linkName is a kernel that an operator launched: by the short name that the tables of
// kernels have, else as the torch profiler wrote it.
func linkName(n *names, k *analysis.OperatorKernel) string {
	if i := n.find(k.Kernel); k.Kernel != "" && i >= 0 {
		return n.of(i)
	}
	return k.Name
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
	if l.Kind == "" {
		return ""
	}
	text := message.Limiter(l.Kind, l.Units)
	share, coverage := fmt.Sprintf("%.0f %%", l.Share*100), fmt.Sprintf("%.0f %%", l.Coverage*100)
	switch all := "100 %"; {
	case share == all:
		return text
	case coverage == all:
		return text + " (" + share + ")"
	}
	return text + " (" + share + "; " + coverage + " counted)"
}
