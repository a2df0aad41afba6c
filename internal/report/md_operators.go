package report

import (
	"fmt"
	"io"
	"math"
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
	d.lacks("operators", missing(r, message.Phrase("torch-profiler-did-not-run"), withoutOperators...))
}

// onlyCPU is said of shares where no operator has device time.
func onlyCPU(ops []analysis.Operator) string {
	why := message.Phrase("operators-no-device-time-why")
	if same := ops[0].Why; !same.IsZero() && !slices.ContainsFunc(ops, func(o analysis.Operator) bool { return !o.Why.Equal(same) }) {
		why = message.Text(same)
	}
	return prose(message.Phrase("operators-no-device-time", sentence(why)))
}

// operatorTable writes the operators that take most time.
func (d *doc) operatorTable(r *analysis.Result, n *names, most int) {
	all := operatorRows(r, n, r.OperatorsByTotal())
	rows := pointers(all[:min(len(all), most)])
	v := shownAll(OperatorView.only("name", "shapes", "calls", "total_device_us", "self_device_us", "share", "self_cpu_us", "total_cpu_us", "limiter", "main_kernel", "module", "through", "why"))
	switch {
	case r.OnlyCPU():
		d.lacks("shares", onlyCPU(r.Operators))
	case !slices.ContainsFunc(all, func(o operatorRow) bool { return o.Limiter != "" }):
		v = v.without("limiter")
		d.lacks("limiter", missing(r, noLimiter(r.Operators), analysis.OperatorKernels))
	}
	writeView(d, v, rows)
	if more := len(all) - len(rows); more > 0 {
		d.say("operators-left-out", more)
	}
}

// noLimiter is why none of the operators has a limiter.
func noLimiter(ops []analysis.Operator) string {
	for _, o := range ops {
		if o.Limiter != nil && !o.Limiter.Why.IsZero() {
			return prose(message.Phrase("operators-no-limiter", o.Name, sentence(message.Text(o.Limiter.Why))))
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
		return message.Phrase("limiter-holds", message.Label("holds", "mostly"), text)
	}
	return text
}

// limiterShares writes a limiter of many kernels with its share of their time and
// how much of that was counted, where they are not all of it.
func limiterShares(l *analysis.OperatorLimiter) string {
	if l.Kind == "" {
		return ""
	}
	partly := func(x float64) any { return when(math.Round(x*100) != 100, fmt.Sprintf("%.0f %%", x*100)) }
	return message.Phrase("limiter-shares", message.Limiter(l.Kind, l.Units), partly(l.Share), partly(l.Coverage))
}
