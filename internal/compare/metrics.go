package compare

import "slices"

// A Key names a value that is compared.
type Key struct {
	Kind   Kind   `json:"kind"`
	Name   string `json:"name"` // "" for totals
	Metric Metric `json:"metric"`
}

// A Kind is what a value is about.
type Kind string

// Kinds, in the order in which they are shown.
const (
	Total    Kind = "total"
	Stage    Kind = "stage"
	MFU      Kind = "mfu" // of a stage, or of steps of a kind: "step NAME"
	MBU      Kind = "mbu"
	Workload Kind = "workload" // what the program measured of itself
	Request  Kind = "request"  // what the clients of a server saw
	Rank     Kind = "rank"     // a process of a job
	Sample   Kind = "sample"   // counters that nsys sampled in steps of a kind or in a region
	Step     Kind = "step"
	Layer    Kind = "layer" // STAGE/place in the model
	Region   Kind = "region"
	Operator Kind = "operator"
	Kernel   Kind = "kernel"
)

// kinds are all of them, in order.
var kinds = []Kind{Total, Stage, MFU, MBU, Workload, Request, Rank, Sample, Step, Layer, Region, Operator, Kernel}

// Kinds lists all kinds in the order in which they are shown.
func Kinds() []string { return asTexts(kinds) }

// kindOrder is the place of a kind in every list of them: what everybody needs comes first.
func kindOrder(k Kind) int { return slices.Index(kinds, k) }

// A Metric is which value of a thing.
type Metric string

// Metrics. A time is wall time, by the clock of its row; of kernels, layers and
// operators it is GPU time.
const (
	Time       Metric = "time"
	GPUTime    Metric = "gpu_time"
	LaunchTime Metric = "launch_time" // GPU time of one launch, the mean
	Launches   Metric = "launches"
	Kernels    Metric = "kernels" // names
	CopyBytes  Metric = "copy_bytes"
	Throughput Metric = "tokens_per_s"
	Share      Metric = "share" // of the peak
	Value      Metric = "value" // of Workload, lower is better
	Rate       Metric = "rate"  // of Workload, higher is better
	Memory     Metric = "bytes" // at the peak
	ModelFLOPs Metric = "model_flops"
	ModelBytes Metric = "model_bytes"
	Errors     Metric = "errors" // requests that failed

	Used          Metric = "used"          // share of the key-value cache
	Gap           Metric = "gap_before"    // time between the step before and this one
	Communication Metric = "communication" // time in which a kernel of a collective ran
	Exposed       Metric = "exposed"       // the part of it in which no other kernel did
)

// metrics say how the values of each metric are judged. A metric that is not counted has
// noise, and is tested; one that is counted is a fact as long as the runs of a side agree.
var metrics = map[Metric]struct {
	unit           string
	counted        bool // without noise where the runs of a side agree
	higherIsBetter bool
	neutral        bool // neither more nor less is better
}{
	Time: {unit: "ns"}, GPUTime: {unit: "ns"}, LaunchTime: {unit: "ns"},
	Launches: {unit: "count", counted: true}, Kernels: {unit: "count", counted: true}, CopyBytes: {unit: "byte", counted: true},
	Throughput: {unit: "1/s", higherIsBetter: true}, Share: {unit: "share", higherIsBetter: true},
	Value: {unit: ""}, Rate: {unit: "1/s", higherIsBetter: true}, Memory: {unit: "byte", counted: true},
	Errors: {unit: "count", counted: true}, Communication: {unit: "ns"}, Exposed: {unit: "ns"},
	ModelFLOPs: {unit: "flop", counted: true}, ModelBytes: {unit: "byte", counted: true},
	Used: {unit: "share", neutral: true}, Gap: {unit: "ns"},
	"gpu_active": {unit: "share", neutral: true}, "sm_active": {unit: "share", neutral: true}, "sm_issue": {unit: "share", neutral: true},
	"tensor_active": {unit: "share", neutral: true}, "dram_read": {unit: "share", neutral: true}, "dram_write": {unit: "share", neutral: true},
}

// A Clock is what a time was measured by.
type Clock string

// Clocks, the one to prefer first.
const (
	Unprofiled Clock = "unprofiled" // the workload's own, without a profiler
	IdleNsys   Clock = "idle"       // wall time in an nsys session that collects nothing
	UnderNsys  Clock = "nsys"       // wall time under nsys
	SpanNsys   Clock = "span"       // under nsys, from the first to the last work on the GPU
	OnGPU      Clock = "gpu"        // durations of GPU work in the timeline
	Torch      Clock = "torch"      // under the torch profiler
)
