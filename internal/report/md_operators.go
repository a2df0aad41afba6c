package report

import (
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
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
	d.line("From the torch profiler, sorted by total device time. **Total** includes the operators that an operator calls, so totals overlap and do not add up; **self** does. Share is of all self device time.")
	d.operatorTable(r, newNames(r), listedOperators)
	return d.writeTo(w, r)
}

func (d *doc) noOperators(r *analysis.Result) {
	d.line("Operators: %s%s", absent, d.note(missing(r, "The torch profiler did not run, or the workload is not PyTorch; `pipeline.torch_profiler.enable=true` turns it on.", "operator", "torch")))
}

// byTotal orders operators by total device time, then by CPU time and name.
func byTotal(ops []analysis.Operator) []*analysis.Operator {
	out := make([]*analysis.Operator, len(ops))
	for i := range ops {
		out[i] = &ops[i]
	}
	sort.SliceStable(out, func(a, b int) bool {
		x, y := out[a], out[b]
		switch {
		case x.TotalDeviceUS != y.TotalDeviceUS:
			return x.TotalDeviceUS > y.TotalDeviceUS
		case x.TotalCPUUS != y.TotalCPUUS:
			return x.TotalCPUUS > y.TotalCPUUS
		}
		return x.Name < y.Name
	})
	return out
}

func (d *doc) operatorTable(r *analysis.Result, n *names, most int) {
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
		cpu = append(cpu, o.SelfCPUUS*1e3)
		parts = append(parts, self)
	}
	if shown < len(ops) {
		device, parts = append(device, float64(rest)), append(parts, rest)
	}
	deviceUnit, devices := times(device)
	meanUnit, means := times(mean)
	cpuUnit, cpus := times(cpu)
	pct := rounded(parts, whole, shown < len(ops))
	g := newGrid(">#", "Operator", "Shapes", ">Calls", ">Total ("+deviceUnit+")", ">Self ("+deviceUnit+")", ">Mean ("+meanUnit+")", ">Share %", ">Self CPU ("+cpuUnit+")", "Limiter")
	for i, o := range ops[:shown] {
		total, mean, limit := devices[2*i], means[i], ""
		if o.TotalDeviceUS == 0 {
			total, mean = "none"+d.note(prose(sentence(noDeviceTime(o)))), ""
		} else {
			limit = operatorLimiter(r, n, o)
		}
		g.add(fmt.Sprint(i+1), code(o.Name), shapes(o.Shapes), thousands(o.Calls), total, devices[2*i+1], mean, pct[i], cpus[i], limit)
	}
	if shown < len(ops) {
		g.add("", fmt.Sprintf("%s more", thousands(int64(len(ops)-shown))), "", thousands(restCalls), "", devices[2*shown], "", pct[shown], "", "")
	}
	g.drop("Shapes")
	g.drop("Limiter")
	d.table(g)
}

func noDeviceTime(o *analysis.Operator) string {
	if o.Why != "" {
		return o.Why
	}
	return "the torch profiler attributes no device time to it"
}

func shapes(s string) string {
	if s == "" {
		return ""
	}
	return code(shorten(s, 80))
}

// operatorLimiter is the limiter of the kernel of the operator that takes most
// time.
func operatorLimiter(r *analysis.Result, n *names, o *analysis.Operator) string {
	best := n.longest(o.Kernels)
	if best < 0 {
		return absent
	}
	text := limiter(&r.Kernels[best].Limiter)
	if text == "" {
		return absent
	}
	if len(o.Kernels) > 1 {
		text = strings.TrimSpace("mostly " + text)
	}
	return prose(text)
}
