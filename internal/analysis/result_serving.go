package analysis

import (
	"github.com/deepprof/deepprof/internal/engine"
	"github.com/deepprof/deepprof/internal/load"
)

// Serving is what a server and its clients did.
type Serving struct {
	// Engine and Load are as windows.json names them; "" where it does not tell.
	Engine string      `json:"engine"`
	Load   string      `json:"load"`            // client, command or none
	Shape  *load.Shape `json:"shape,omitempty"` // what the client sent
	Steady bool        `json:"steady"`          // before the first window
	// Windows are the intervals of all starts: unprofiled, idle, profiled.
	Windows []ServingWindow `json:"windows"`
	// Collecting is what profiled windows cost against idle ones of the same
	// process, Session what idle windows cost against a start without nsys.
	Collecting *ServingCost `json:"collecting,omitempty"`
	Session    *ServingCost `json:"session,omitempty"`
	// Steps sum up the steps of all profiled windows by kind and batch size;
	// NextToken divides the time between two steps that decode.
	Steps     []StepClass `json:"steps,omitempty"`
	NextToken *NextToken  `json:"next_token,omitempty"`
	// OverTime are the same steps by intervals of their windows.
	OverTime []StepsAt `json:"over_time,omitempty"`
}

// A ServingWindow is one interval, as the clients saw it.
type ServingWindow struct {
	Start string `json:"start"` // the pipeline step that started the server
	load.Window
}

// ServingCost compares two kinds of windows: shares by which the second has more
// time or less throughput than the first; negative for less cost.
type ServingCost struct {
	// Throughput is absent where windows of one kind differ so much from each other
	// that it would say nothing about profiling.
	Throughput *float64 `json:"throughput_loss,omitempty"`
	PerToken   *float64 `json:"time_between_tokens_more,omitempty"` // of the medians
	TTFT       *float64 `json:"ttft_more,omitempty"`
}

// A StepClass are the steps of one kind and batch size.
type StepClass struct {
	Kind     engine.StepKind `json:"kind"`
	BatchMin int             `json:"batch_min"` // sequences; -1 where names do not tell
	BatchMax int             `json:"batch_max"`
	// Steps of all profiled windows, at least one.
	Steps int `json:"steps"`

	// Tokens of the step, means: of prompts, and of sequences that decode; beside them
	// how they spread. Absent where names do not tell.
	ContextTokens    *float64      `json:"context_tokens,omitempty"`
	GenerationTokens *float64      `json:"generation_tokens,omitempty"`
	ContextSpread    *load.Summary `json:"context_tokens_spread,omitempty"`
	GenerationSpread *load.Summary `json:"generation_tokens_spread,omitempty"`

	Time     load.Summary `json:"time_ns"` // of the range
	Busy     load.Summary `json:"busy_ns"` // the GPU ran its work
	Gap      load.Summary `json:"gap_before_ns"`
	GPU      load.Summary `json:"gpu_ns"`
	Launches float64      `json:"launches"` // mean
	Share    float64      `json:"share"`    // of the time of all steps and gaps

	// Histograms of Time, Busy and Gap; absent for a handful of steps.
	TimeHistogram *Histogram `json:"time_histogram,omitempty"`
	BusyHistogram *Histogram `json:"busy_histogram,omitempty"`
	GapHistogram  *Histogram `json:"gap_histogram,omitempty"`

	// Sampled are the sampled counters within the steps, pooled.
	Sampled []Sampled `json:"sampled,omitempty"`

	// Context is the number of keys that a sequence which decodes sees, of prefill the
	// mean length of a prompt; FLOPs and Bytes are the mean work of a step by the
	// model's config. MFU and MBU hold it against the peaks over the mean time of a
	// step; they are there without a value, with the reason, where the work is not
	// known. Roof is the one that allows less: flops or dram. CacheRead is the number
	// of places that the engine reads for a sequence, which Bytes counts, where it says
	// that it reads empty ones too.
	Context   float64      `json:"context,omitempty"`
	CacheRead float64      `json:"cache_read,omitempty"`
	FLOPs     float64      `json:"flops,omitempty"`
	Bytes     float64      `json:"bytes,omitempty"`
	MFU       *Utilization `json:"mfu,omitempty"`
	MBU       *Utilization `json:"mbu,omitempty"`
	Roof      string       `json:"roof,omitempty"`

	// Kernels and Layers are those with most GPU time in the steps.
	Kernels []StepPart `json:"kernels,omitempty"`
	Layers  []StepPart `json:"layers,omitempty"`

	// compositions counts the steps by what their names tell; only while the result is
	// made.
	compositions map[engine.Step]int
}

// NextToken divides the mean time from one step that decodes to the next. The
// parts add up to PeriodNS.
type NextToken struct {
	Steps int `json:"steps"` // that decode
	// PeriodNS is nanoseconds, as the parts are: means over steps that decode.
	PeriodNS float64 `json:"period_ns"`
	BusyNS   float64 `json:"busy_ns"`    // the GPU runs work of decode steps
	IdleNS   float64 `json:"idle_ns"`    // the GPU waits inside decode steps
	MixedNS  float64 `json:"mixed_ns"`   // steps that decode and prefill together
	PromptNS float64 `json:"prefill_ns"` // steps that prefill only
	GapNS    float64 `json:"gap_ns"`     // between steps: scheduling, sampling, answers
	OtherNS  float64 `json:"other_ns"`   // steps whose names do not tell
}

// A TokenPart is one part of the time of the next token.
type TokenPart struct {
	ID    string  `json:"part"`    // busy, idle, mixed, prefill, gap or other
	NS    float64 `json:"mean_ns"` // 0 for a part that does not occur
	Share float64 `json:"share"`   // of the period
}

// Parts are all parts, in the order in which they are shown; nil, also of a nil
// NextToken, where no step decodes.
func (n *NextToken) Parts() []TokenPart {
	if n == nil || n.PeriodNS <= 0 {
		return nil
	}
	parts := []TokenPart{{ID: "busy", NS: n.BusyNS}, {ID: "idle", NS: n.IdleNS}, {ID: "mixed", NS: n.MixedNS}, {ID: "prefill", NS: n.PromptNS}, {ID: "gap", NS: n.GapNS}, {ID: "other", NS: n.OtherNS}}
	for i := range parts {
		parts[i].Share = parts[i].NS / n.PeriodNS
	}
	return parts
}
