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
	if r.OnlyCPU() {
		d.line("From the torch profiler, sorted by self CPU time. **Total** includes the operators that an operator calls, so totals overlap and do not add up; **self** does.")
	} else {
		d.line("From the torch profiler, sorted by total device time, those without any by self CPU time. **Total** includes the operators that an operator calls, so totals overlap and do not add up; **self** does.")
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

// onlyCPU is said of shares where no operator has device time.
func (d *doc) onlyCPU(ops []analysis.Operator) string {
	why := "the torch profiler attributes no device time to any operator"
	if same := ops[0].Why; !same.IsZero() && !slices.ContainsFunc(ops, func(o analysis.Operator) bool { return !o.Why.Equal(same) }) {
		why = message.Text(same)
	}
	return d.note(prose("No operator has device time: " + sentence(why) + ""))
}

// operatorTable writes the operators that take most time.
func (d *doc) operatorTable(r *analysis.Result, n *names, most int) {
	all := operatorRows(r, n)
	rows := pointers(all[:min(len(all), most)])
	v := shownAll(OperatorView.only("name", "shapes", "calls", "total_device_us", "self_device_us", "share", "self_cpu_us", "total_cpu_us", "limiter", "main_kernel", "module", "through", "why"))
	switch {
	case r.OnlyCPU():
		d.line("Shares: %s%s", absent, d.onlyCPU(r.Operators))
	case !slices.ContainsFunc(all, func(o OperatorRow) bool { return o.Limiter != "" }):
		v = v.without("limiter")
		d.line("Limiter: %s%s", absent, d.note(missing(r, noLimiter(r.Operators), analysis.OperatorKernels)))
	}
	writeView(d, v, rows)
	if more := len(all) - len(rows); more > 0 {
		d.line("%s more operators are in result.json.", thousands(int64(more)))
	}
}

// noLimiter is why none of the operators has a limiter.
func noLimiter(ops []analysis.Operator) string {
	for _, o := range ops {
		if o.Limiter != nil && !o.Limiter.Why.IsZero() {
			return prose("No operator has a limiter; of " + o.Name + ": " + sentence(message.Text(o.Limiter.Why)))
		}
	}
	return "The torch profiler names no kernel of these operators, or none of those was counted."
}

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
