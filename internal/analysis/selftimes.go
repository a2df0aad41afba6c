package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/workload"
)

// stagesOf lists the stages that a session timed, in their order.
func stagesOf(m *workload.Metrics) []string {
	if m == nil {
		return nil
	}
	var names []string
	for _, name := range stageNames {
		if d, ok := m.Summary.Measures[name+"_ms"]; ok && d.N > 0 {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		return names
	}
	return sortedKeys(m.Summary.Stages, "stem", "residual", "head")
}

// sortedKeys are the keys of a map: first those that are named, in that order, then the
// others by their name.
func sortedKeys[V any](m map[string]V, first ...string) []string {
	place := func(key string) int {
		if i := slices.Index(first, key); i >= 0 {
			return i
		}
		return len(first)
	}
	return slices.SortedFunc(maps.Keys(m), func(x, y string) int { return cmp.Or(place(x)-place(y), cmp.Compare(x, y)) })
}

// timeOf is the distribution of a stage's time per pass, in milliseconds; false where the
// session did not time it. Its mean is there then.
func timeOf(m *workload.Metrics, stage string) (workload.Distribution, bool) {
	if m == nil {
		return workload.Distribution{}, false
	}
	if d, ok := m.Summary.Measures[stage+"_ms"]; ok && d.N > 0 && d.Mean != nil {
		return d, true
	}
	d, ok := m.Summary.Stages[stage]
	return d, ok && d.N > 0 && d.Mean != nil
}

// selfTimes are what the workload measured of itself: the times of its passes, in
// milliseconds. The zero value means that it reported nothing.
type selfTimes struct {
	// The two may be of different shapes: alike tells.
	unprofiled *workload.Metrics // nil where no unprofiled run told any
	profiled   *workload.Metrics // of the run under nsys; nil where it told none
}

// readSelfTimes reads them. Unprofiled is how long an unprofiled run took as a whole,
// in seconds, 0 where that is not known.
func readSelfTimes(in *Input, unprofiled float64, n *notes) (w selfTimes) {
	for _, step := range []string{plan.StepUnprofiled, plan.StepDirectInference} {
		if path := in.Metrics[step]; path != "" && w.unprofiled == nil {
			w.unprofiled = readMetrics(in, path, n)
		}
	}
	if path := in.Metrics[plan.StepNsys]; path != "" {
		w.profiled = readMetrics(in, path, n)
	}
	switch {
	case w.unprofiled != nil || len(in.Timelines) == 0:
	case unprofiled > 0:
		n.lack(BaselineStages, fact.Seconds("time", unprofiled))
	default:
		n.lack(NoBaseline)
	}
	if !w.alike() {
		x, y := &w.unprofiled.Plan, &w.profiled.Plan
		n.warn(shapesDiffer, fact.Count("batch", x.BatchSize), fact.Count("batch_nsys", y.BatchSize), fact.Count("prompt", x.PromptLength),
			fact.Count("prompt_nsys", y.PromptLength), fact.Count("new", x.MaxNewTokens), fact.Count("new_nsys", y.MaxNewTokens))
	}
	return w
}

// readMetrics returns nil where the file cannot be read, and warns. The file of a
// session that stopped early is used, with a warning.
func readMetrics(in *Input, path string, n *notes) *workload.Metrics {
	m, err := workload.ReadMetrics(filepath.Dir(path))
	if err != nil {
		n.unreadable(err)
		return nil
	}
	n.use(path, "metrics")
	if !m.Complete {
		n.warn(metricsIncomplete, fact.File("file", in.rel(path)), fact.Count("n", len(m.Samples)))
	}
	return m
}

// best is the unprofiled run, or else that under nsys; nil where neither told any.
func (w selfTimes) best() *workload.Metrics { return cmp.Or(w.unprofiled, w.profiled) }

// alike tells whether a pass of the unprofiled run does what one under nsys does; so it
// does where one of them is not known.
func (w selfTimes) alike() bool {
	if w.unprofiled == nil || w.profiled == nil {
		return true
	}
	x, y := &w.unprofiled.Plan, &w.profiled.Plan
	return x.BatchSize == y.BatchSize && x.PromptLength == y.PromptLength && x.MaxNewTokens == y.MaxNewTokens
}

// IDs of the shape that are asked for by name.
const (
	promptLength = "prompt_length" // tokens of text in a prompt
	newTokens    = "new_tokens"
)

// describe says in a result what was run: the model, its shape, the software, and the
// distributions of what an unprofiled run measured.
func (w selfTimes) describe(in *Input, res *Result) {
	if m := w.best(); m != nil {
		res.Workload.describe(m)
		res.Environment.Software = append(res.Environment.Software, softwareOf(in, m)...)
		res.Totals.Aggregates = aggregates(w.unprofiled)
	}
}

// describe replaces the kind and the model that the plan of the run told, and adds the
// shape: what ran goes before what was asked for.
func (w *Workload) describe(m *workload.Metrics) {
	w.Kind = m.Kind
	f := &m.Model
	w.Model = &Model{
		Name: f.Name, Family: f.Family, Parameters: f.Parameters, WeightsBytes: f.WeightsBytes,
		Layers: f.Layers, DType: f.DType, Attention: f.Attention, KVCache: f.KVCache,
	}
	for _, n := range []struct {
		name  string
		value int
	}{
		{"batch_size", m.Plan.BatchSize}, {promptLength, m.Plan.PromptLength}, {newTokens, m.Plan.MaxNewTokens},
		{"epochs", m.Plan.Epochs}, {"samples", m.Plan.Samples}, {"repeats", m.Plan.Repeats}, {"warmup_passes", m.Plan.Warmup},
	} {
		text := n.name == promptLength || n.name == newTokens
		if n.value > 0 && !(text && m.Kind == "resnet") { // the plan has them for every session
			w.Shape = append(w.Shape, Fact{n.name, strconv.Itoa(n.value)})
		}
	}
	w.Shape = append(w.Shape, Fact{"torch_compile", yesNo(f.Compile)}, Fact{"cuda_graphs", yesNo(f.CUDAGraphs)})
}

// softwareOf is what the workload ran on, with the GPU where no capture describes it.
func softwareOf(in *Input, m *workload.Metrics) (list []Fact) {
	gpu := m.Software.GPU
	if len(in.Timelines) > 0 || len(in.Counters) > 0 {
		gpu = ""
	}
	for _, s := range []Fact{
		{"Python", m.Software.Python}, {"PyTorch", m.Software.Torch}, {"CUDA", m.Software.CUDA},
		{"cuDNN", cudnnVersion(m.Software.CUDNN)}, {"Transformers", m.Software.Transformers},
		{"GPU", gpu},
	} {
		if s.Value != "" {
			list = append(list, s)
		}
	}
	return list
}

// cudnnVersion writes 91900 as 9.19.0, and 8907 as 8.9.7.
func cudnnVersion(s string) string {
	n, err := strconv.Atoi(s)
	switch {
	case err != nil || n < 1000:
		return s
	case n < 10000:
		return fmt.Sprintf("%d.%d.%d", n/1000, n%1000/100, n%100)
	}
	return fmt.Sprintf("%d.%d.%d", n/10000, n%10000/100, n%100)
}

// yesNo is how a shape writes a switch; both are codes.
func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// aggregates are none without an unprofiled run. Measures come first, in an order for readers,
// then the times of stages by name.
func aggregates(m *workload.Metrics) (list []Aggregate) {
	if m == nil {
		return nil
	}
	add := func(name, unit string, d workload.Distribution) {
		if d.N == 0 || d.Mean == nil {
			return
		}
		list = append(list, Aggregate{
			Name: name, Unit: unit, N: d.N, Mean: *d.Mean, Std: or0(d.Std), Min: or0(d.Min), P50: or0(d.P50), P90: or0(d.P90), P99: or0(d.P99), Max: or0(d.Max),
		})
	}
	for _, name := range sortedKeys(m.Summary.Measures, "prefill_ms", "decode_ms", "ttft_ms", "token_ms", "tokens_per_s", "forward_ms", "images_per_s") {
		unit := "ms"
		switch {
		case strings.HasSuffix(name, "_per_s"):
			unit = strings.TrimSuffix(name, "_per_s") + "/s"
		case strings.HasSuffix(name, "_bytes"):
			unit = "byte"
		}
		add(name, unit, m.Summary.Measures[name])
	}
	for _, name := range sortedKeys(m.Summary.Stages) {
		add(name+"_ms", "ms", m.Summary.Stages[name])
	}
	return list
}

// or0 is for the spread of a single value, which has none.
func or0(x *float64) float64 {
	if x == nil {
		return 0
	}
	return *x
}

// spreadBy takes over what the workload says of its passes; nil where it says less.
func spreadBy(d workload.Distribution) *Spread {
	if d.P50 == nil || d.Min == nil || d.Max == nil {
		return nil
	}
	return &Spread{N: d.N, MedianMS: *d.P50, MinMS: *d.Min, MaxMS: *d.Max, StdMS: or0(d.Std)}
}

// addTo gives a stage the times that the workload took of it.
func (w selfTimes) addTo(s *Stage) {
	if p, ok := timeOf(w.profiled, s.Name); ok {
		s.NsysMS, s.NsysClock, s.NsysTimes = p.Mean, clockOfWorkload, spreadBy(p)
	}
	c, ok := timeOf(w.unprofiled, s.Name)
	if s.Name == "prefill" {
		s.Sub = substages(w.profiled)
		if ok {
			s.Sub = substages(w.unprofiled)
		}
	}
	if !ok {
		return
	}
	s.CleanMS, s.CleanStdMS, s.CleanTimes = c.Mean, c.Std, spreadBy(c)
	if s.NsysMS != nil && *c.Mean > 0 && w.alike() {
		s.Overhead, s.OverheadWhy = overheadOf(c, *s.NsysMS)
	}
	if s.Name == "decode" {
		if t, ok := w.unprofiled.Summary.Measures["tokens_per_s"]; ok && t.N > 0 {
			s.TokensPS = t.Mean
		}
	}
}

// substages are those of the vision pipeline in their order, mean milliseconds each; they lie
// within prefill and are none where the session told none.
func substages(m *workload.Metrics) []SubMS {
	if m == nil {
		return nil
	}
	var out []SubMS
	for _, name := range sortedKeys(m.Summary.Substages, "sam", "clip", "vision", "projector") {
		if d := m.Summary.Substages[name]; d.N > 0 && d.Mean != nil {
			out = append(out, SubMS{name, *d.Mean})
		}
	}
	return out
}
