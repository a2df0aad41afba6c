package timeline

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/nvtx"
)

// A LayerRow is the work of one module of a model within a stage: of one place in
// all layers (layers.*.mlp.down_proj), or of one module where rows are not
// merged. The rows of a stage add up to its GPU time.
type LayerRow struct {
	Stage string `json:"stage"` // outermost range
	// Layer is the path of the module below the stage and its steps, with dots;
	// "" is work of the stage in no module.
	Layer    string `json:"layer"`
	Modules  int    `json:"modules"`   // that the row stands for
	Calls    int64  `json:"instances"` // of the modules
	Launches int64  `json:"launches"`
	// NS is the GPU time of kernels launched by the module itself, outside nested
	// ones; InclusiveNS has those of nested modules too.
	NS          int64   `json:"gpu_ns"`
	InclusiveNS int64   `json:"gpu_ns_inclusive"`
	Share       float64 `json:"share"`                 // of the GPU time of the stage, 0 to 1
	Passes      int64   `json:"passes"`                // instances of the stage
	Steps       int64   `json:"steps"`                 // of the stage; 0 where it has none
	PerStepNS   float64 `json:"per_step_ns,omitempty"` // NS over steps, else over passes
	paths       []string
}

// Paths are the regions that the row stands for.
func (r *LayerRow) Paths() []string { return r.paths }

// stepName is that of the ranges around one token: of ours, of numbered ones.
var stepName = regexp.MustCompile(`^step#?\d*$`)

// IsStep tells whether a range of this name is a step.
func IsStep(name string) bool { return stepName.MatchString(name) }

// detectedSteps are what was detected to repeat, which the steps of a timeline without
// ranges are: repetitions, and what repeats in each.
var detectedSteps = []string{DetectedRepeat, DetectedInner}

var layerIndex = regexp.MustCompile(`\.\d+`)

// Layers sums regions by stage and place in the model. With each, every module
// has a row of its own. Rows are those of RegionRows, not grouped; ids that change
// from one instance to the next tell no stages and modules apart.
// Rows of the stage with most GPU time come first, and in it those with most time. Rows without
// GPU time are left out.
func Layers(rows []RegionRow, each bool) []LayerRow {
	type key struct{ stage, layer string }
	type stage struct{ ns, passes, steps int64 }
	stages := map[string]*stage{}
	byKey := map[key]*LayerRow{}
	var order []key
	modules := map[string]bool{}
	for i := range rows {
		r := &rows[i]
		path := nvtx.WithoutIDs(r.Path)
		parts := nvtx.SplitPath(path)
		s := stages[parts[0]]
		if s == nil {
			s = &stage{}
			stages[parts[0]] = s
		}
		isStep := len(parts) == 2 && (IsStep(parts[1]) || isDetectedPart(parts))
		switch {
		case len(parts) == 1:
			s.ns += r.InclusiveNS
			s.passes += r.Instances
		case isStep:
			s.steps += r.Instances
		}
		if r.KernelCalls == 0 && len(parts) > 1 {
			continue
		}
		k := key{stage: parts[0]}
		if !isDetectedPart(parts) {
			k.layer = layerOf(parts[1:], each)
		}
		row := byKey[k]
		if row == nil {
			row = &LayerRow{Stage: k.stage, Layer: k.layer}
			byKey[k] = row
			order = append(order, k)
		}
		row.paths = append(row.paths, r.Path)
		row.NS += r.ExclusiveNS
		row.Launches += r.ExclusiveCalls
		if k.layer != "" {
			if !modules[path] {
				modules[path] = true
				row.Modules++
			}
			row.Calls += r.Instances
			row.InclusiveNS += r.InclusiveNS
		}
	}
	out := make([]LayerRow, 0, len(order))
	for _, k := range order {
		row, s := byKey[k], stages[k.stage]
		if row.NS == 0 && row.InclusiveNS == 0 {
			continue
		}
		row.Passes, row.Steps = s.passes, s.steps
		if s.ns > 0 {
			row.Share = float64(row.NS) / float64(s.ns)
		}
		if n := cmp.Or(s.steps, s.passes); n > 0 {
			row.PerStepNS = float64(row.NS) / float64(n)
		}
		out = append(out, *row)
	}
	slices.SortStableFunc(out, func(x, y LayerRow) int {
		return cmp.Or(cmp.Compare(stages[y.Stage].ns, stages[x.Stage].ns), cmp.Compare(x.Stage, y.Stage), cmp.Compare(y.NS, x.NS), cmp.Compare(x.Layer, y.Layer))
	})
	return out
}

// isDetectedPart: what repeats inside a detected repetition is no module of it.
func isDetectedPart(path []string) bool {
	return len(path) == 2 && path[0] == DetectedDomain+"@"+DetectedRepeat && path[1] == DetectedInner
}

// InLayers tells how much of the GPU time is in a module: of kernels, and of CUDA
// graphs that were traced as a whole; zero where there is none.
func InLayers(rows []LayerRow, kernels []KernelRow, wholeGraphsNS int64) fact.Fact {
	in, all := int64(0), wholeGraphsNS
	for i := range kernels {
		all += kernels[i].TotalNS
	}
	for i := range rows {
		if rows[i].Layer != "" {
			in += rows[i].NS
		}
	}
	if all == 0 {
		return fact.Fact{}
	}
	return fact.New(codeInLayers, fact.NS("time", in), fact.NS("of_time", all), fact.Share("share", float64(in)/float64(all)))
}

// InNoStage is the row of the kernels that no range was open around; without launches
// where there are none. Rows are those of KernelRows by region.
// Share is of the time outside all stages: 1, or 0 without any.
func InNoStage(kernels []KernelRow) LayerRow {
	var row LayerRow
	for i := range kernels {
		if k := &kernels[i]; k.Region == nil || *k.Region == "" {
			row.Launches += k.Calls
			row.NS += k.TotalNS
		}
	}
	if row.NS > 0 {
		row.Share = 1
	}
	return row
}

// layerOf is the place of a module by the parts of its path below the stage.
func layerOf(parts []string, each bool) string {
	if len(parts) > 0 && IsStep(parts[0]) {
		parts = parts[1:]
	}
	layer := strings.Join(parts, ".")
	if !each {
		layer = layerIndex.ReplaceAllString(layer, ".*")
	}
	return layer
}

// A StepGroup is the distribution of the steps of a stage.
type StepGroup struct {
	Stage       string `json:"stage"`
	Steps       int    `json:"steps"`
	MedianNS    int64  `json:"step_median_ns"`
	MinNS       int64  `json:"step_min_ns"`
	MaxNS       int64  `json:"step_max_ns"`
	P90NS       int64  `json:"step_p90_ns"`
	GPUMedianNS int64  `json:"gpu_median_ns"`
	GapMedianNS *int64 `json:"gap_before_median_ns,omitempty"`
	GapMaxNS    *int64 `json:"gap_before_max_ns,omitempty"`
	Launches    int64  `json:"launches_median"`
	Slowest     []int  `json:"slowest"` // numbers of the slowest steps, slowest first
}

// GroupSteps sums steps up by stage.
// Stages come in the order of their first step. Medians of two middle values are rounded up.
func GroupSteps(steps []StepRow) []StepGroup {
	var out []StepGroup
	byStage := map[string][]StepRow{}
	for _, s := range steps {
		s.Stage = s.Group()
		if byStage[s.Stage] == nil {
			out = append(out, StepGroup{Stage: s.Stage})
		}
		byStage[s.Stage] = append(byStage[s.Stage], s)
	}
	sorted := func(list []StepRow, get func(*StepRow) *int64) []int64 {
		var all []int64
		for i := range list {
			if v := get(&list[i]); v != nil {
				all = append(all, *v)
			}
		}
		slices.Sort(all)
		return all
	}
	for i := range out {
		g := &out[i]
		list := byStage[g.Stage]
		g.Steps = len(list)
		times := sorted(list, func(s *StepRow) *int64 { return &s.StepNS })
		g.MinNS, g.MedianNS, g.P90NS, g.MaxNS = times[0], middle(times), times[len(times)*9/10], times[len(times)-1]
		gpu := sorted(list, func(s *StepRow) *int64 { return &s.GPUNS })
		g.GPUMedianNS = middle(gpu)
		launches := sorted(list, func(s *StepRow) *int64 { return &s.Launches })
		g.Launches = middle(launches)
		if gaps := sorted(list, func(s *StepRow) *int64 { return s.GapNS }); len(gaps) > 0 {
			g.GapMedianNS, g.GapMaxNS = new(middle(gaps)), &gaps[len(gaps)-1]
		}
		slices.SortStableFunc(list, func(x, y StepRow) int { return cmp.Compare(y.StepNS, x.StepNS) })
		for _, s := range list[:min(3, len(list))] {
			g.Slowest = append(g.Slowest, s.Step)
		}
	}
	return out
}
