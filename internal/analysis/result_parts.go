package analysis

import (
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/timeline"
)

// A Part is one of several timelines: a rank of a job, a window of a process, a
// repeat of a program. Where one timeline holds several processes of a job, each
// is a part. Times are of that part alone.
type Part struct {
	// File is relative to the run; the same for all processes of one timeline.
	File string            `json:"file"`
	Of   timeline.Identity `json:"of"`
	// Details: kernels, regions, stages, findings and the other details of the
	// result are about this part, or about the timeline that it is a process of.
	Details bool `json:"details,omitempty"`
	// Lost says why the part has no numbers.
	Lost *fact.Fact `json:"lost,omitempty"`

	StartUTC string `json:"start_utc,omitempty"` // of the capture, RFC 3339 without a zone
	WallNS   int64  `json:"wall_ns"`             // first to last event
	BusyNS   int64  `json:"busy_ns"`             // union of all GPU work, summed over devices
	// KernelNS is GPU time, CopyNS that of copies without sets.
	KernelNS int64 `json:"kernel_ns"`
	CopyNS   int64 `json:"copy_ns"`
	Launches int64 `json:"launches"`
	// Communication is absent where no kernel of that category ran.
	Communication *Communication `json:"communication,omitempty"`
	Stages        []PartStage    `json:"stages"`
	// Steps are the distributions of its steps; absent where no range is one.
	Steps []timeline.StepGroup `json:"steps,omitempty"`
	// OverMedian is WallNS over that of the median part, minus 1.
	OverMedian *float64 `json:"over_median,omitempty"`
}

// A PartStage is how long a stage took in one part.
type PartStage struct {
	Stage string `json:"stage"`
	// Passes in this part; 0 where it has none, and the times mean nothing then.
	Passes int   `json:"passes"`
	WallNS int64 `json:"wall_ns"` // of all passes
	PassNS int64 `json:"pass_ns"` // mean of a pass
	// OverMedian is PassNS over that of the median part, minus 1.
	OverMedian *float64 `json:"over_median,omitempty"`
	// BusyNS is the part of it in which a kernel ran; absent where no GPU work was
	// recorded.
	BusyNS *int64 `json:"busy_ns,omitempty"`
	// Launches are of all passes.
	Launches int64 `json:"launches,omitempty"`
}

// Across sums up the parts that could be read.
type Across struct {
	// By is what tells the parts apart: rank, process, window, repeat; file where
	// nothing else does.
	By []string `json:"by"`
	// Parts is how many could be read: sums and distributions are of these.
	Parts int `json:"parts"`
	// Times are distributions of numbers of parts: wall, busy, kernels, copies,
	// communication, exposed. Stages are those of the mean time of a pass, by the
	// name of the stage.
	Times   []Distribution `json:"times"`
	Stages  []Distribution `json:"stages"`
	Kernels []KernelAcross `json:"kernels"` // by the sum of their time
	// KernelsCut is how many kernels are not listed.
	KernelsCut int `json:"kernels_cut,omitempty"`
}

// A Distribution is one number of each part.
type Distribution struct {
	Name  string `json:"name"`
	N     int    `json:"n"`      // parts that have it
	SumNS int64  `json:"sum_ns"` // over these parts
	// MinNS, MedianNS and MaxNS are over these parts.
	MinNS    int64   `json:"min_ns"`
	MedianNS int64   `json:"median_ns"`
	MaxNS    int64   `json:"max_ns"`
	StdNS    float64 `json:"std_ns"` // of a sample; 0 for one part
	// Least and Most are the parts with the smallest and the largest, by their
	// index in Result.Parts.
	Least int `json:"least"`
	Most  int `json:"most"`
}

// A KernelAcross is a kernel, by its name, over all parts.
type KernelAcross struct {
	Name string `json:"name"`
	// Category is an ID, as in Kernel.
	Category string `json:"category"`
	Parts    int    `json:"parts"`    // that launched it
	Launches int64  `json:"launches"` // summed over parts
	SumNS    int64  `json:"sum_ns"`   // GPU time, summed over parts
	MinNS    int64  `json:"min_ns"`   // of a part that launched it
	MaxNS    int64  `json:"max_ns"`
	Most     int    `json:"most"` // part with the most time, by its index in Result.Parts
}
