package analysis

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/workload"
)

// maxOperators bounds the rows; the least time is cut.
const maxOperators = 400

// operatorCategories tell by the name of an operator in which category its
// kernels are. The first that matches decides.
var operatorCategories = []struct {
	category string
	words    []string
}{
	{"attention", []string{"attention", "sdpa", "flash"}},
	{"gemm", []string{"::mm", "addmm", "bmm", "matmul", "::linear", "gemm", "::dot", "::mv"}},
	{"convolution", []string{"conv"}},
	{"normalisation", []string{"norm"}},
	{"softmax", []string{"softmax", "cross_entropy"}},
	{"embedding", []string{"embedding", "index", "gather", "scatter"}},
	{"sampling", []string{"argmax", "topk", "multinomial"}},
	{"copy_cast", []string{"copy", "::to", "::cat", "contiguous", "clone", "fill", "zero"}},
	{"reduction", []string{"mean", "sum", "::max", "::min", "::any", "::all"}},
	{"elementwise", []string{"::add", "::mul", "::sub", "::div", "::neg", "::pow", "rsqrt", "silu", "gelu", "relu", "::cos", "::sin", "::exp"}},
}

// views are operators that only describe memory anew.
var views = []string{"view", "reshape", "transpose", "::t", "permute", "expand", "slice", "select", "unsqueeze", "squeeze", "as_strided", "detach", "alias",
	"unbind", "split", "chunk", "narrow", "resolve_conj", "resolve_neg", "lift_fresh", "_unsafe_view", "flatten", "movedim"}

// allocators are operators that only take memory.
var allocators = []string{"empty", "empty_like", "empty_strided", "resize_", "set_", "new_empty"}

// readOperators takes the rows of the torch profiler.
func (a *analyzer) readOperators(context.Context) error {
	if a.in.Operators == "" {
		if a.res.Workload.Model != nil {
			a.missing(NoOperators)
		}
		return nil
	}
	o, err := workload.ReadOperators(filepath.Dir(a.in.Operators))
	if err != nil {
		a.unreadable(err)
		return nil
	}
	a.addFile(a.in.Operators, "operators")
	a.cpuOnly = len(o.Activities) > 0 && !slices.ContainsFunc(o.Activities, func(x string) bool { return !strings.EqualFold(x, "cpu") })
	device := false
	p := &Profiled{PromptTokens: o.Prompt, NewTokens: o.New}
	for _, r := range o.Operators {
		device = device || r.DeviceSelfUS > 0
		if r.Kind == "kernel" {
			p.KernelUS += r.DeviceSelfUS
		}
	}
	linker := a.newLinker(o.Operators)
	for _, r := range o.Operators {
		if r.Kind != "operator" && r.Kind != "" || slices.Contains(profilerRows, r.Name) {
			continue
		}
		p.OperatorUS += r.DeviceSelfUS
		row := Operator{
			Name: r.Name, Shapes: shapesText(r.Shapes), Calls: r.Calls, SelfCPUUS: r.CPUSelfUS, TotalCPUUS: r.CPUTotalUS,
			SelfDeviceUS: r.DeviceSelfUS, TotalDeviceUS: r.DeviceTotalUS,
		}
		if row.SelfDeviceUS == 0 {
			row.Why, row.Kernels = a.whyZero(&row, device)
		}
		linker.link(&row, &r)
		a.res.Operators = append(a.res.Operators, row)
	}
	covered := a.tellProfiled(p, device)
	// The warning of what operators cover says the same with what to do.
	again := func(text string) bool { return !covered && o.Unlaunched != nil && text == o.Unlaunched.Note }
	for _, n := range o.Notes {
		if !again(n) {
			a.warn(OperatorsRemark, fact.Vendor("text", n))
		}
	}
	a.res.Warnings = slices.DeleteFunc(a.res.Warnings, func(n Note) bool {
		return n.Is(StepWarning) && again(n.Text("text"))
	})
	if device && linker == nil {
		a.missing(OperatorKernels)
	}
	slices.SortStableFunc(a.res.Operators, func(x, y Operator) int {
		return cmp.Or(cmp.Compare(y.SelfDeviceUS, x.SelfDeviceUS), cmp.Compare(y.TotalDeviceUS, x.TotalDeviceUS),
			cmp.Compare(y.SelfCPUUS, x.SelfCPUUS), cmp.Compare(y.TotalCPUUS, x.TotalCPUUS), cmp.Compare(x.Name, y.Name), cmp.Compare(x.Shapes, y.Shapes))
	})
	if cut := len(a.res.Operators) - maxOperators; cut > 0 {
		a.res.Operators = a.res.Operators[:maxOperators]
		a.warn(OperatorsCut, fact.Count("n", cut))
	}
	return nil
}

// profilerRows are what CUPTI calls overhead, and calls that torch cannot name
// (INVALID): torch lists both among operators.
var profilerRows = []string{"INVALID", "Activity Buffer Request", "Buffer Flush", "Command Buffer Full", "Driver Compiler", "Force Int", "Instrumentation",
	"Lazy Function Loading", "Resource", "Runtime Triggered Module Loading", "UVM Activity Init", "Unknown", "Unrecognized"}

// operatorsSpeak is the share of the device time that the profiler saw below which
// its operators do not stand for the program.
const operatorsSpeak = 0.5

// tellProfiled says what the operators cover: of the device time that the profiler
// saw, and beside what the timeline has. It returns false where it warned that
// this is little.
func (a *analyzer) tellProfiled(p *Profiled, device bool) bool {
	switch {
	case !device && a.cpuOnly:
		p.Text = "The torch profiler watched the CPU alone: operators have no device time."
	case !device:
		p.Text = "The torch profiler recorded no device time."
	default:
		p.Text = fmt.Sprintf("The operators have %s of device time of their own", microseconds(p.OperatorUS))
		if p.KernelUS > 0 {
			p.Text += fmt.Sprintf(", %.0f %% of the %s that the torch profiler saw on the GPU", min(1, p.OperatorUS/p.KernelUS)*100, microseconds(p.KernelUS))
		}
		p.Text += p.pass() + "."
		if ns := a.kernelNS(); a.tl != nil && ns > 0 {
			p.Text += fmt.Sprintf(" Beside them, kernels take %s in %s%s.", duration(ns), a.whole(), a.passText())
		}
	}
	a.res.Profiled = p
	if !device || p.KernelUS <= 0 || p.OperatorUS >= operatorsSpeak*p.KernelUS {
		return true
	}
	a.warn(OperatorsCover, fact.Share("share", p.OperatorUS/p.KernelUS))
	return false
}

// pass says how much the profiler watched.
func (p *Profiled) pass() string {
	switch {
	case p.NewTokens > 0 && p.PromptTokens > 0:
		return fmt.Sprintf(", in a pass of %d prompt tokens and %d new ones", p.PromptTokens, p.NewTokens)
	case p.NewTokens > 0:
		return fmt.Sprintf(", in a pass of %d new tokens", p.NewTokens)
	}
	return ""
}

// passText says how much a pass in the timeline does.
func (a *analyzer) passText() string {
	m := cmp.Or(a.profiled, a.clean)
	if m == nil || m.Plan.MaxNewTokens <= 0 || m.Kind == "resnet" {
		return ""
	}
	return fmt.Sprintf(", with %d new tokens", m.Plan.MaxNewTokens)
}

func shapesText(shapes any) string {
	if shapes == nil {
		return ""
	}
	if s, ok := shapes.(string); ok {
		return s
	}
	data, err := json.Marshal(shapes)
	if err != nil || string(data) == "null" {
		return ""
	}
	return string(data)
}

// whyZero explains an operator without device time of its own.
func (a *analyzer) whyZero(o *Operator, deviceSeen bool) (string, []string) {
	name := strings.ToLower(o.Name)
	base := name[strings.LastIndex(name, ":")+1:]
	switch {
	case o.TotalDeviceUS > 0:
		return "it launches nothing itself; the operators that it calls do", nil
	case !deviceSeen && a.cpuOnly:
		return "only the CPU was profiled", nil
	case !deviceSeen:
		return "the profiler recorded no device time at all", nil
	case slices.Contains(allocators, base):
		return "it only allocates memory", nil
	case slices.ContainsFunc(views, func(v string) bool { return "::"+base == v || base == v }):
		return "it only describes memory anew; no kernel runs", nil
	}
	category := operatorCategory(name)
	if category == "" {
		return fmt.Sprintf("it launched no kernel: it works on the host, %s of its own and %s with what it calls", microseconds(o.SelfCPUUS), microseconds(o.TotalCPUUS)), nil
	}
	var names []string
	for i := range a.res.Kernels {
		k := &a.res.Kernels[i]
		if k.Category == category && !slices.Contains(names, k.Short) && len(names) < 3 {
			names = append(names, k.Short)
		}
	}
	if len(names) == 0 {
		return "it launched no kernel, and the timeline has none of its kind", nil
	}
	for i := range a.res.Categories {
		if c := &a.res.Categories[i]; c.ID == category {
			return fmt.Sprintf("the profiler linked no kernel to it; kernels of its kind (%s) ran for %s in the timeline, launched under other names", c.Label, duration(c.NS)), names
		}
	}
	return "the profiler linked no kernel to it", names
}

func microseconds(us float64) string { return duration(int64(us * 1e3)) }

func operatorCategory(name string) string {
	for _, c := range operatorCategories {
		if slices.ContainsFunc(c.words, func(w string) bool { return strings.Contains(name, w) }) {
			return c.category
		}
	}
	return ""
}
