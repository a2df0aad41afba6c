package analysis

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/plan"
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

// An operatorReader takes what the torch profiler saw, and joins it to the kernels of
// a result, which it only reads.
type operatorReader struct {
	*counters
	in      *Input
	self    selfTimes
	res     *Result
	notes   *notes
	tl      *timed // nil without a timeline
	cpuOnly bool   // the profiler saw no device
}

// readOperators takes the rows of the torch profiler, those of most device time
// first, and what they cover; nil where it did not run.
func (or *operatorReader) readOperators() (rows []Operator, p *Profiled) {
	if or.in.Operators == "" {
		if or.res.Workload.Model != nil {
			or.notes.lack(NoOperators)
		}
		return nil, nil
	}
	o, err := workload.ReadOperators(filepath.Dir(or.in.Operators))
	if err != nil {
		or.notes.unreadable(err)
		return nil, nil
	}
	or.notes.use(or.in.Operators, "operators")
	or.cpuOnly = len(o.Activities) > 0 && !slices.ContainsFunc(o.Activities, func(x string) bool { return !strings.EqualFold(x, "cpu") })
	device := false
	p = &Profiled{PromptTokens: o.Prompt, NewTokens: o.New}
	for _, r := range o.Operators {
		device = device || r.DeviceSelfUS > 0
		if r.Kind == "kernel" {
			p.KernelUS += r.DeviceSelfUS
		}
	}
	linker := or.newLinker(o.Operators)
	for _, r := range o.Operators {
		if r.Kind != "operator" && r.Kind != "" || slices.Contains(profilerRows, r.Name) {
			continue
		}
		p.OperatorUS += r.DeviceSelfUS
		row := Operator{
			Name: r.Name, Shapes: shapesText(r.Shapes), Calls: r.Calls, SelfCPUUS: r.CPUSelfUS, TotalCPUUS: r.CPUTotalUS,
			SelfDeviceUS: r.DeviceSelfUS, TotalDeviceUS: r.DeviceTotalUS, Modules: r.Modules,
		}
		if row.SelfDeviceUS == 0 {
			row.Why, row.Kernels = or.whyZero(&row, device)
		}
		linker.link(&row, &r)
		rows = append(rows, row)
	}
	covered := or.tellProfiled(p, device)
	// The warning of what operators cover says the same with what to do.
	again := func(f fact.Fact) bool { return !covered && o.Unlaunched != nil && f.Equal(o.Unlaunched.Note.Fact) }
	told := func(f fact.Fact) bool { // by the step itself
		return slices.ContainsFunc(or.notes.warnings, func(n Note) bool { return n.Step == plan.StepTorchProfiler && n.Fact.Equal(f) })
	}
	for _, n := range o.Notes {
		if !again(n.Fact) && !told(n.Fact) {
			or.notes.warn(operatorsRemark, fact.Because("what", n.Fact))
		}
	}
	or.notes.warnings = slices.DeleteFunc(or.notes.warnings, func(n Note) bool {
		return n.Step == plan.StepTorchProfiler && again(n.Fact)
	})
	if device && linker == nil {
		or.notes.lack(OperatorKernels)
	}
	slices.SortStableFunc(rows, func(x, y Operator) int {
		return cmp.Or(cmp.Compare(y.SelfDeviceUS, x.SelfDeviceUS), cmp.Compare(y.TotalDeviceUS, x.TotalDeviceUS),
			cmp.Compare(y.SelfCPUUS, x.SelfCPUUS), cmp.Compare(y.TotalCPUUS, x.TotalCPUUS), cmp.Compare(x.Name, y.Name), cmp.Compare(x.Shapes, y.Shapes))
	})
	if cut := len(rows) - maxOperators; cut > 0 {
		rows = rows[:maxOperators]
		or.notes.warn(operatorsCut, fact.Count("n", cut))
	}
	return rows, p
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
func (or *operatorReader) tellProfiled(p *Profiled, device bool) bool {
	switch {
	case !device && or.cpuOnly:
		p.Text = because(profiledCPUOnly)
	case !device:
		p.Text = because(profiledNoDevice)
	default:
		p.Text = because(profiledOperators, p.covers()...)
		if ns := or.res.kernelNS(); or.tl != nil && ns > 0 {
			p.Text = append(p.Text, fact.New(profiledBeside, append(or.passParam(), fact.NS("time", ns), or.res.scopeParam())...))
		}
	}
	if !device || p.KernelUS <= 0 || p.OperatorUS >= operatorsSpeak*p.KernelUS {
		return true
	}
	or.notes.warn(operatorsCover, fact.Share("share", p.OperatorUS/p.KernelUS))
	return false
}

// Codes of what the operators cover.
const (
	profiledCPUOnly   fact.Code = "profiled-cpu-only"
	profiledNoDevice  fact.Code = "profiled-no-device"
	profiledOperators fact.Code = "profiled-operators" // time; share and of where kernels were listed; prompt, new
	profiledBeside    fact.Code = "profiled-beside"    // time, scope, new
)

// covers is what the operators hold, and how much the profiler watched. The share is of the
// device time of all kernels that it saw.
func (p *Profiled) covers() []fact.Param {
	list := []fact.Param{fact.NS("time", p.OperatorUS*1e3)}
	if p.KernelUS > 0 {
		list = append(list, fact.Share("share", min(1, p.OperatorUS/p.KernelUS)), fact.NS("of", p.KernelUS*1e3))
	}
	if p.NewTokens > 0 {
		list = append(list, fact.Count("new", p.NewTokens))
		if p.PromptTokens > 0 {
			list = append(list, fact.Count("prompt", p.PromptTokens))
		}
	}
	return list
}

// passParam is how many tokens a pass in the timeline makes; none where it makes no tokens, or
// the session did not tell.
func (or *operatorReader) passParam() []fact.Param {
	m := cmp.Or(or.self.profiled, or.self.unprofiled)
	if m == nil || m.Plan.MaxNewTokens <= 0 || m.Kind == "resnet" {
		return nil
	}
	return []fact.Param{fact.Count("new", m.Plan.MaxNewTokens)}
}

// shapesText is JSON of the shapes as torch lists them; "" where it recorded none.
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

// Codes of why an operator has no device time of its own.
const (
	operatorCalls      fact.Code = "operator-calls-others"
	operatorThrough    fact.Code = "operator-runs-through" // kernel; by, share and more where known
	operatorCPUOnly    fact.Code = "operator-cpu-only"
	operatorNoDevice   fact.Code = "operator-no-device-time"
	operatorAllocates  fact.Code = "operator-allocates"
	operatorView       fact.Code = "operator-view"
	operatorOnHost     fact.Code = "operator-on-host" // self, total
	operatorNoneAlike  fact.Code = "operator-none-alike"
	operatorOtherNames fact.Code = "operator-other-names" // category, time
	operatorUnlinked   fact.Code = "operator-unlinked"
)

// whyZero explains an operator without device time of its own.
func (or *operatorReader) whyZero(o *Operator, deviceSeen bool) (fact.Fact, []string) {
	name := strings.ToLower(o.Name)
	base := name[strings.LastIndex(name, ":")+1:]
	switch {
	case o.TotalDeviceUS > 0:
		return fact.New(operatorCalls), nil
	case !deviceSeen && or.cpuOnly:
		return fact.New(operatorCPUOnly), nil
	case !deviceSeen:
		return fact.New(operatorNoDevice), nil
	case slices.Contains(allocators, base):
		return fact.New(operatorAllocates), nil
	case slices.ContainsFunc(views, func(v string) bool { return "::"+base == v || base == v }):
		return fact.New(operatorView), nil
	}
	category := operatorCategory(name)
	if category == "" {
		return fact.New(operatorOnHost, fact.NS("self", o.SelfCPUUS*1e3), fact.NS("total", o.TotalCPUUS*1e3)), nil
	}
	var names []string
	for i := range or.res.Kernels {
		k := &or.res.Kernels[i]
		if k.Category == category && !slices.Contains(names, k.Short) && len(names) < 3 {
			names = append(names, k.Short)
		}
	}
	if len(names) == 0 {
		return fact.New(operatorNoneAlike), nil
	}
	for i := range or.res.Categories {
		if c := &or.res.Categories[i]; c.ID == category {
			return fact.New(operatorOtherNames, fact.ID("category", "category", c.Label), fact.NS("time", c.NS)), names
		}
	}
	return fact.New(operatorUnlinked), names
}

// operatorCategory is "" where the name tells nothing. Names are in lower case.
func operatorCategory(name string) string {
	for _, c := range operatorCategories {
		if slices.ContainsFunc(c.words, func(w string) bool { return strings.Contains(name, w) }) {
			return c.category
		}
	}
	return ""
}
