package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/timeline"
)

// A LayerLine is a row of layers with what counters tell of its kernels, outside
// nested modules, which only a result has.
type LayerLine struct {
	timeline.LayerRow
	analysis.Use
	// ModelFLOPs is what the matrix products, convolutions and attention of the modules
	// ask for, and MFU holds it against the peak of their data type, over their GPU time.
	ModelFLOPs *float64
	// MFU is nil where NoMFU says why.
	MFU   *float64
	NoMFU string `json:"mfu_missing,omitempty"` // code of why MFU is absent; "" where it is not, and of a file without a run
}

// LayerView is one row a place in the model, or a module. Work that a CUDA graph replayed
// counts where it was captured. Shares are of the GPU time of the stage, and the rows of a
// stage add up to it; limiter, FLOPs, bytes, HFU, MBU and MFU are of the same kernels.
var LayerView = View[LayerLine]{
	Name: "layers", Order: Order{Key: "gpu_ns", Descending: true, Words: "stages by GPU time, then layers by GPU time"}, Everything: "--all",
	Legend: "GPU time is that of kernels which a module launched outside nested modules, so that the rows of a stage add up to it; the row without a layer is work in no module, the one without a stage work that no range was open around when it was launched or, in a CUDA graph, captured; limiter, FLOPs, bytes, HFU and MBU are of the same kernels as the GPU time, by the launch that was counted of each kernel, grid and block; HFU and MBU are of the peaks, over the GPU time of these kernels; MFU is of the FLOPs that matrix products, convolutions, experts and attention of the module ask for by the shapes of weights and inputs, which annotation notes; of causal attention half of the pairs count",
	Columns: []Column[LayerLine]{
		{Key: "stage", Value: func(r *LayerLine) any { return r.Stage }, Show: func(r *LayerLine) any { return cmp.Or(r.Stage, message.Phrase("in-no-stage")) }},
		{Key: "layer", Format: Name, Value: func(r *LayerLine) any { return r.Layer }, Show: func(r *LayerLine) any { return orNone(r.Layer) }},
		{Key: "modules", Priority: 5, Unit: Count, Value: func(r *LayerLine) any { return r.Modules }},
		{Key: "instances", Unit: Count, Detail: true, Value: func(r *LayerLine) any { return r.Calls }},
		{Key: "launches", Priority: 3, Unit: Count, Value: func(r *LayerLine) any { return r.Launches }},
		{Key: "gpu_ns", Title: "GPU time", Unit: Nanoseconds, Group: "time", Value: func(r *LayerLine) any { return r.NS }},
		{Key: "gpu_ns_inclusive", Title: "with nested", Priority: 6, Unit: Nanoseconds, Group: "time", Value: func(r *LayerLine) any { return r.InclusiveNS }},
		{Key: "share", Title: "of stage", Priority: 1, Unit: Percent, Part: "gpu_ns", Within: "stage", Value: func(r *LayerLine) any { return r.Share }, Show: func(r *LayerLine) any { return 100 * r.Share }},
		{Key: "per_step_ns", Title: "per step", Priority: 2, Unit: Nanoseconds, Group: "step", Value: func(r *LayerLine) any { return orNil(r.PerStepNS) }},
		{Key: "steps", Unit: Count, Detail: true, Value: func(r *LayerLine) any { return r.Steps }},
		{Key: "passes", Unit: Count, Detail: true, Value: func(r *LayerLine) any { return r.Passes }},
		{Key: "limiter", Priority: 4, Format: Words, Value: func(r *LayerLine) any { return orNil(r.Limiter) }, Show: func(r *LayerLine) any { return orNil(message.Limiter(r.Limiter, nil)) }},
		{Key: "mfu", Priority: 4, Title: "MFU", Help: "Of the peak of its data type: the FLOPs that the module asks for, over its GPU time", Unit: Share, Value: func(r *LayerLine) any { return r.MFU }, Note: func(r *LayerLine) string { return noMFU(r) }},
		{Key: "mfu_missing", Priority: 7, Title: "why no MFU", Format: Words, Value: func(r *LayerLine) any { return orNil(r.NoMFU) }, Show: func(r *LayerLine) any { return orNil(noMFU(r)) }},
		{Key: "mfu_counters", Detail: true, Title: "HFU by its older name", Help: "Of the peak: the same as hfu_counters", Unit: Share, Value: func(r *LayerLine) any { return r.HFU }},
		{Key: "hfu_counters", Priority: 4, Title: "HFU", Help: "Of the peak of its data type: the FLOPs that the hardware executed, over its GPU time", Unit: Share, Value: func(r *LayerLine) any { return r.HFU }},
		{Key: "mbu_counters", Priority: 4, Title: "MBU", Help: "Of the peak: the bytes of memory that were counted, over its GPU time", Unit: Share, Value: func(r *LayerLine) any { return r.MBU }},
		{Key: "bytes", Priority: 5, Title: "bytes", Help: "Read from and written to memory, by counters", Unit: Bytes, Group: "bytes", Value: func(r *LayerLine) any { return r.Bytes }},
		{Key: "model_flops", Detail: true, Help: "That the module asks for, by the shapes of its weights and inputs", Value: func(r *LayerLine) any { return r.ModelFLOPs }},
		{Key: "flops", Detail: true, Help: "Executed, by counters, of the data type with the most", Value: func(r *LayerLine) any { return r.FLOPs }},
		{Key: "coverage", Detail: true, Help: "Of its GPU time: kernels that were counted", Unit: Share, Value: func(r *LayerLine) any { return r.Coverage }},
	},
}

// noMFU says why a row has no MFU.
func noMFU(r *LayerLine) string { return message.Label("no-mfu", r.NoMFU) }

// orNone names the row of work in no module.
func orNone(layer string) string { return cmp.Or(layer, message.Phrase("in-no-module")) }

// ModelStepView is every step of a model.
var ModelStepView = View[timeline.StepRow]{
	Name: "steps", Order: Order{Key: "start_ns"},
	Columns: []Column[timeline.StepRow]{
		{Key: "stage", Value: func(r *timeline.StepRow) any { return r.Stage }},
		{Key: "step", Unit: Count, Value: func(r *timeline.StepRow) any { return r.Step }},
		{Key: "start_ns", Priority: 5, Unit: Nanoseconds, Format: Moment, Value: func(r *timeline.StepRow) any { return r.StartNS }},
		{Key: "step_ns", Title: "step", Unit: Nanoseconds, Group: "time", Value: func(r *timeline.StepRow) any { return r.StepNS }},
		{Key: "gpu_ns", Title: "GPU time", Priority: 1, Unit: Nanoseconds, Group: "time", Value: func(r *timeline.StepRow) any { return r.GPUNS }},
		{Key: "busy_ns", Title: "GPU busy", Priority: 6, Unit: Nanoseconds, Group: "time", Value: func(r *timeline.StepRow) any { return r.BusyNS }},
		{Key: "gap_before_ns", Title: "gap before", Priority: 2, Unit: Nanoseconds, Group: "time", Value: func(r *timeline.StepRow) any { return r.GapNS }},
		{Key: "launches", Priority: 3, Unit: Count, Value: func(r *timeline.StepRow) any { return r.Launches }},
		{Key: "batch", Priority: 7, Unit: Count, Value: func(r *timeline.StepRow) any { return r.Batch }},
		{Key: "tokens", Priority: 8, Unit: Count, Value: func(r *timeline.StepRow) any { return r.Tokens }},
		{Key: "cached", Priority: 9, Unit: Count, Value: func(r *timeline.StepRow) any { return r.Cached }},
	},
}

// StepGroupView is the distribution of the steps of each stage. Step time is from the begin
// of one step to its end on the host; the gap before is what lies between two steps.
var StepGroupView = View[timeline.StepGroup]{
	Name: "steps", Order: Order{Words: "the program"}, Everything: "--all",
	Columns: []Column[timeline.StepGroup]{
		{Key: "stage", Value: func(r *timeline.StepGroup) any { return r.Stage }},
		{Key: "steps", Unit: Count, Value: func(r *timeline.StepGroup) any { return r.Steps }},
		{Key: "step_median_ns", Title: "median", Unit: Nanoseconds, Group: "time", Value: func(r *timeline.StepGroup) any { return r.MedianNS }},
		{Key: "step_min_ns", Title: "min", Priority: 2, Unit: Nanoseconds, Group: "time", Value: func(r *timeline.StepGroup) any { return r.MinNS }},
		{Key: "step_p90_ns", Title: "p90", Priority: 3, Unit: Nanoseconds, Group: "time", Value: func(r *timeline.StepGroup) any { return r.P90NS }},
		{Key: "step_max_ns", Title: "max", Priority: 1, Unit: Nanoseconds, Group: "time", Value: func(r *timeline.StepGroup) any { return r.MaxNS }},
		{Key: "gpu_median_ns", Title: "GPU time, median", Unit: Nanoseconds, Group: "time", Value: func(r *timeline.StepGroup) any { return r.GPUMedianNS }},
		{Key: "gap_before_median_ns", Title: "gap before, median", Priority: 4, Unit: Nanoseconds, Group: "time", Value: func(r *timeline.StepGroup) any { return r.GapMedianNS }},
		{Key: "gap_before_max_ns", Title: "gap before, max", Priority: 6, Unit: Nanoseconds, Group: "time", Value: func(r *timeline.StepGroup) any { return r.GapMaxNS }},
		{Key: "launches_median", Title: "launches", Priority: 5, Unit: Count, Value: func(r *timeline.StepGroup) any { return r.Launches }},
		{Key: "slowest", Title: "slowest steps", Priority: 7, Value: func(r *timeline.StepGroup) any {
			return strings.ReplaceAll(strings.Trim(fmt.Sprint(r.Slowest), "[]"), " ", ", ")
		}},
	},
}
