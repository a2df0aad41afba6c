package analysis

import (
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/workload"
)

// A Kernel is all launches of one kernel with the same grid and block, within the
// scope.
type Kernel struct {
	ID string `json:"id"` // stable within the result, safe in a URL
	// Name is demangled, as nsys writes it, or ncu where only counters have it; Short
	// has neither arguments nor template parameters. Mangled is absent where it is not
	// known, or longer than it is worth.
	Name     string   `json:"name"`
	Short    string   `json:"short"`
	Mangled  string   `json:"mangled,omitempty"`
	Grid     [3]int64 `json:"grid"`
	Block    [3]int64 `json:"block"`
	Category string   `json:"category"` // ID of a category; "other" where no rule matched
	// Rule is the name of the rule that chose Category; absent where none matched.
	Rule string `json:"rule,omitempty"`

	// Untimed: the scope has no launch of it, or there is no timeline. Calls,
	// the times and Share are 0 then and mean nothing; Counted.DurationNS is
	// what ncu measured.
	Untimed bool `json:"untimed,omitempty"`
	// Calls and times are of the launches in the scope, in nanoseconds.
	Calls    int64   `json:"calls"`
	TotalNS  int64   `json:"total_ns"`
	MeanNS   float64 `json:"mean_ns"`
	MedianNS float64 `json:"median_ns"`
	MinNS    int64   `json:"min_ns"`
	MaxNS    int64   `json:"max_ns"`
	StddevNS float64 `json:"stddev_ns"` // of a sample; 0 for one call
	Share    float64 `json:"share"`     // of kernel time in the scope
	// Stages have the part of them that ran in each stage, in their order.
	Stages    []StageTime `json:"stages,omitempty"`
	Histogram *Histogram  `json:"histogram,omitempty"` // of durations
	// Places are what launches it, those with most of its time first.
	Places []LaunchPlace `json:"places,omitempty"`
	// Steps are the steps that launch it; nil where the timeline has none, or none does.
	Steps *KernelSteps `json:"steps,omitempty"`

	// Registers of a thread, and shared memory of a block in bytes: of the timeline,
	// else of the counted launch; 0 where neither tells.
	Registers     int32   `json:"registers,omitempty"`
	StaticShared  int32   `json:"static_shared_bytes,omitempty"`
	DynamicShared int32   `json:"dynamic_shared_bytes,omitempty"`
	Waves         float64 `json:"waves,omitempty"` // of blocks over the GPU

	Reason *fact.Fact `json:"reason,omitempty"` // why it was, or was not, counted
	// Counted is the launch that speaks for the kernel; absent where none was counted.
	Counted *Counted `json:"counted,omitempty"`
	// Limiter is always there: without a verdict its Kind is "" and Why has the reason.
	Limiter Limiter `json:"limiter"`
	// OtherLimiters are the verdicts on counted launches that last longer or
	// shorter than those which Limiter is about, where they are others.
	OtherLimiters []OtherLimiter `json:"other_limiters,omitempty"`
	Point         []Point        `json:"points,omitempty"`  // on the roofline
	NoPoint       fact.Fact      `json:"no_point,omitzero"` // why it was counted and has none; zero where it has, or FLOPs were not counted
	// PointNote is what to know of the points: padding, where the stage of the
	// kernel executes many times the model's FLOPs.
	PointNote fact.Fact `json:"points_note,omitzero"`
	// Attained is the share of its duration that the kernel would take if its
	// busiest limit worked at the peak; AttainedOf names that limit: the ID of
	// a peak, or of a pipe that has none (int, xu, tensor, issue, sm). Absent
	// without the counters.
	Attained   *float64 `json:"attained,omitempty"`
	AttainedOf string   `json:"attained_of,omitempty"`
	// AttainedMetric is the counter that Attained is, how busy a unit is, which is
	// more than its bytes or FLOPs; "" where Attained is these over their peak, as
	// on the roofline.
	AttainedMetric string `json:"attained_metric,omitempty"`
}

// Rest sums the kernels of the least time where there are too many to list.
type Rest struct {
	// Kernels are rows, of one grid and block each; Calls and NS sum their launches.
	Kernels int      `json:"kernels"`
	Calls   int64    `json:"calls"`
	NS      int64    `json:"ns"`
	Share   *float64 `json:"share,omitempty"` // of the GPU time that the shares of kernels are of
}

// StageTime is the time of a kernel within a stage.
type StageTime struct {
	// Stage by its name; a launch in two nested stages counts in both.
	Stage string   `json:"stage"`
	Calls int64    `json:"calls"`
	NS    int64    `json:"ns"`
	Share *float64 `json:"share,omitempty"` // of the GPU time of the kernel
}

// A Histogram has Counts[i] values from Bounds[i] up to Bounds[i+1].
type Histogram struct {
	// Bounds has one entry more than Counts; the last bin holds its upper bound too.
	Bounds []float64 `json:"bounds"`
	Counts []int64   `json:"counts"`
}

// Counted is what ncu counted of one launch of a kernel.
type Counted struct {
	Report string `json:"report"` // file
	Launch int    `json:"launch"` // ID in it
	// DurationNS is the time under ncu, which is longer than in the timeline for short
	// kernels; 0 where it was not measured. ClockHz is the mean clock of the SMs during
	// it, 0 where that is not known or cannot be. Passes is how often ncu replayed the
	// launch.
	DurationNS float64     `json:"duration_ns,omitempty"`
	ClockHz    float64     `json:"clock_hz,omitempty"`
	Passes     int         `json:"passes,omitempty"`
	Verified   bool        `json:"verified"`       // it is the launch that was meant
	Note       []fact.Fact `json:"note,omitempty"` // what is doubtful about it
	// TimelineNS is how long the launch, or launches like it, last in the timeline;
	// 0 where that is not known.
	TimelineNS float64      `json:"timeline_ns,omitempty"`
	Work       *Work        `json:"work,omitempty"`   // absent where neither FLOPs nor bytes were counted
	Memory     *MemoryChart `json:"memory,omitempty"` // absent where no bytes were counted
	Stalls     []Stall      `json:"stalls,omitempty"` // the largest first; none where they were not counted
	Others     int          `json:"others,omitempty"` // further launches of the same kernel, grid and block that were counted
	Metrics    []Metric     `json:"metrics"`          // those that the report shows, by section
	Rules      []RuleWords  `json:"rules,omitempty"`
}

// A Metric is a counter as measured.
type Metric struct {
	// Section and Label are the headings of the report, in the words of NVIDIA; absent in pages without
	// sections. Unit is the base unit of Value, absent for a plain count.
	Section string  `json:"section,omitempty"`
	Name    string  `json:"name"`
	Label   string  `json:"label,omitempty"`
	Unit    string  `json:"unit,omitempty"`
	Value   float64 `json:"value"`
	Text    string  `json:"text,omitempty"` // in place of Value
}

// RuleWords is what a rule of NVIDIA's says.
type RuleWords struct {
	Rule    string `json:"rule"`
	Section string `json:"section,omitempty"`
	// Title and Text are NVIDIA's own words, with links written out.
	Title   string   `json:"title,omitempty"`
	Text    string   `json:"text"`
	Kind    string   `json:"kind"`              // ok, warning, error, optimization
	Speedup *float64 `json:"speedup,omitempty"` // estimated, in percent
	Local   bool     `json:"local,omitempty"`   // the estimate is not of the whole kernel
}

// A Limiter is what limits a kernel. docs/limiter.md has the decision.
type Limiter struct {
	// Kind: dram, l2, l1, compute, latency, occupancy, small, launch, mixed, or
	// "" where there is no verdict.
	Kind string `json:"kind"`
	// Units are the units that it names: dram, l2, l1, a pipe (tensor, tensor_int,
	// fp32, fp64, fp16, int, xu), a type of the tensor pipe (tensor_bf16), issue,
	// sm (a unit of the SM that is no math pipe) or compute (a pipe that is not
	// known). Two where it is mixed; none where the kind says all.
	Units []string `json:"units"`
	// Detail is, for latency, what warps wait for most, by ncu's name of the
	// stall; for occupancy the resource: registers, shared_memory, warps, blocks,
	// barriers.
	Detail   string      `json:"detail,omitempty"`
	Level    *float64    `json:"level,omitempty"`    // 0 to 1: share of that limit in use; of a wave where it is small
	Evidence []Evidence  `json:"evidence,omitempty"` // the counters that it rests on
	Why      []fact.Fact `json:"why"`                // the verdict first, then what to know of it
	Need     fact.Fact   `json:"need,omitzero"`      // what would tell, or tell more
	Cause    *Cause      `json:"cause,omitempty"`    // why that is the limit; absent without a verdict
}

// same tells whether two verdicts name the same limit.
func (l *Limiter) same(m *Limiter) bool { return l.Kind == m.Kind && slices.Equal(l.Units, m.Units) }

// An OtherLimiter is what limits some launches of a kernel.
type OtherLimiter struct {
	Report string `json:"report"` // file
	Launch int    `json:"launch"` // ID in it, the one that speaks for them
	// TimelineNS is how long these launches last, in the mean of the counted one's
	// like.
	TimelineNS float64 `json:"timeline_ns"`
	Calls      int64   `json:"calls"` // launches that last about as long
	Share      float64 `json:"share"` // of the time of the kernel
	Limiter    Limiter `json:"limiter"`
}

// Evidence is a value with the threshold that it was held against.
type Evidence struct {
	Metric string `json:"metric,omitempty"` // name of a counter; absent where Of says what the value is
	// Of says what a value is that is no counter; zero where Metric does.
	Of        fact.Fact `json:"of,omitzero"`
	Value     float64   `json:"value"`
	Unit      string    `json:"unit,omitempty"`
	Threshold fact.Fact `json:"threshold,omitzero"` // at-least or below a value; largest, scarcest; zero where it decides nothing
}

// A CategoryTime sums the kernels of one category. Without a timeline it holds
// the label alone.
type CategoryTime struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	// NS, Calls and Share are of the scope; Share is of its GPU time.
	NS      int64    `json:"ns"`
	Calls   int64    `json:"calls"`
	Share   float64  `json:"share"`
	Unnamed []string `json:"unmatched,omitempty"` // names without a rule, in category "other"
}

// An Operator is a row of the torch profiler.
type Operator struct {
	Name string `json:"name"`
	// Shapes of the inputs, as JSON; absent where torch did not record them.
	Shapes string `json:"shapes,omitempty"`
	Calls  int64  `json:"calls"`
	// Self times are without operators that it calls, Total with them; microseconds
	// under the torch profiler, summed over Calls.
	SelfCPUUS     float64 `json:"self_cpu_us"`
	TotalCPUUS    float64 `json:"total_cpu_us"`
	SelfDeviceUS  float64 `json:"self_device_us"`
	TotalDeviceUS float64 `json:"total_device_us"`
	// Share is its self device time of that of all operators; of the self CPU time
	// where none has device time.
	Share *float64 `json:"share,omitempty"`
	// Kernels are the short names of Links, or, of an operator without any device
	// time, kernels of its kind.
	Kernels []string  `json:"kernels,omitempty"`
	Why     fact.Fact `json:"why,omitzero"` // why its own device time is 0
	// Links are the kernels that took most of its time, launched by itself or by
	// the operators that it calls; LinksMore sums the others. Both and Limiter are
	// absent where it ran none, and where the recording does not tell.
	Links     []OperatorKernel `json:"links,omitempty"`
	LinksMore *OperatorRest    `json:"links_more,omitempty"`
	Limiter   *OperatorLimiter `json:"limiter,omitempty"`
	// Modules are the places in the model that called it, those that took most
	// device time first; absent where the recording does not tell.
	Modules []OperatorModule `json:"modules,omitempty"`
}

// An OperatorModule is the calls of an operator from the modules at one place, as the session
// recorded them.
type OperatorModule = workload.OperatorModule

// OperatorRest sums kernels of an operator.
type OperatorRest = workload.KernelSum

// An OperatorKernel is the work of a kernel, copy or fill for an operator.
type OperatorKernel struct {
	Kernel string  `json:"kernel,omitempty"` // ID of the row that takes most time of those with this name; absent where none has it
	Name   string  `json:"name"`             // short
	Calls  int64   `json:"calls"`
	US     float64 `json:"us"`           // under the torch profiler
	Own    bool    `json:"own"`          // launched by the operator itself
	By     string  `json:"by,omitempty"` // the operator that launched it, where that is another
}

// An OperatorLimiter is what holds back more of the time of an operator's kernels
// than anything else.
type OperatorLimiter struct {
	Kind     string    `json:"kind"`         // as in Limiter; "" without a verdict
	Units    []string  `json:"units"`        // as in Limiter
	Share    float64   `json:"share"`        // of the time of its kernels that has this limiter
	Coverage float64   `json:"coverage"`     // of the same: kernels with a verdict
	Why      fact.Fact `json:"why,omitzero"` // why there is no verdict
}

// Profiled is the pass that the torch profiler watched.
type Profiled struct {
	// PromptTokens and NewTokens are what the pass read and made; 0 where the session
	// did not tell.
	PromptTokens int64       `json:"prompt_tokens,omitempty"`
	NewTokens    int64       `json:"new_tokens,omitempty"`
	OperatorUS   float64     `json:"operator_us"` // self device time of all operators
	KernelUS     float64     `json:"kernel_us"`   // device time of all kernels that it saw; 0 where it listed none
	Text         []fact.Fact `json:"text"`        // what the operators cover
}

// A Roofline holds roofs and points. Points name their roofs.
type Roofline struct {
	// Roofs are the limits at the clock of the counted launch that ran longest; empty
	// without counters.
	Roofs  []Peak    `json:"roofs"`
	Points []Point   `json:"points"`
	Why    fact.Fact `json:"why,omitzero"` // why there is none
	// Clocks are those of MFU and of the roofs where they differ.
	Clocks *ClockPair `json:"clocks,omitempty"`
}

// A Point is a kernel against one compute roof and one memory level.
type Point struct {
	Kernel string `json:"kernel"` // ID
	DType  string `json:"dtype"`  // ID of the compute roof
	Memory string `json:"memory"` // dram, l2, l1
	// Intensity is FLOPs for each byte of Memory.
	Intensity float64 `json:"intensity"`
	FLOPS     float64 `json:"flops"`    // achieved, per second
	Attained  float64 `json:"attained"` // share of min(roof, intensity x bandwidth)
	NS        int64   `json:"ns"`       // total time of the kernel in the scope
}

// An Opportunity is a change and the most that it can save.
type Opportunity struct {
	// ID is stable for one program: the kind, with the stage or kernel that it is
	// about.
	ID    string    `json:"id"`
	Kind  string    `json:"kind"`  // roofline, gaps, host, alloc, calls, fusion, copies, occupancy, sync
	Title fact.Fact `json:"title"` // the change
	// Stage is the one that most of the saving lies in; absent where none has half of
	// it.
	Stage    string   `json:"stage,omitempty"`
	Kernels  []string `json:"kernels,omitempty"`    // IDs
	Seconds  float64  `json:"seconds"`              // upper bound over the scope, or the whole run
	Estimate *float64 `json:"estimate_s,omitempty"` // what is likely, where that is far below the bound
	// Estimated: Seconds is no proven bound. Of idle time it is that of the cause: work
	// of the host that is hidden behind kernels now may come to light, or the reverse.
	Estimated bool        `json:"estimated,omitempty"`
	Speedup   float64     `json:"speedup"`              // by the bound and Amdahl: 1.25 is 25 % faster
	OfNS      int64       `json:"of_ns"`                // the time that both are held against
	Share     *float64    `json:"share,omitempty"`      // Seconds of OfNS
	Times     string      `json:"times"`                // of which run that time is: clean (stages at their unprofiled times) or nsys
	StageGain *float64    `json:"stage_gain,omitempty"` // share of the stage's time
	Evidence  []Evidence  `json:"evidence"`
	Assumes   []fact.Fact `json:"assumption"` // what the bound rests on
	How       []fact.Fact `json:"how"`        // what to do
}

// A Finding is a fact that a reader must not miss.
type Finding struct {
	ID     string `json:"id"`     // stable: the code, with the stage or kernel that it is about
	Weight string `json:"weight"` // high, medium, low
	fact.Fact
}

// An Overview is the timeline, aggregated so that it can be drawn.
type Overview struct {
	// StartNS and EndNS are by the clock of the capture; boxes count from StartNS.
	StartNS int64 `json:"start_ns"`
	EndNS   int64 `json:"end_ns"`
	// Names are of boxes: kernels, ranges, calls, a step as its group and number; or an ID
	// of work that has no name of its own (gpu:graph, gpu:set, gpu:copy-host-to-device).
	Names []string `json:"names"`
	Lanes []Lane   `json:"lanes"`
	// Counters are the sampled counters over time; none where nothing was sampled.
	Counters []CounterLane `json:"counters,omitempty"`
	// Ranks are one lane for each rank of a job by the clock of the details, the
	// slowest rank first. Their boxes have their names in RankNames.
	Ranks     []RankLane `json:"ranks,omitempty"`
	RankNames []string   `json:"rank_names,omitempty"`
	// Detail is absent in a result that was read.
	Detail *Detail `json:"-"`
}

// A RankLane is the GPU work of a whole rank, or its ranges where it has none.
type RankLane struct {
	Part   int  `json:"part"`             // index into Result.Parts
	Folded bool `json:"folded,omitempty"` // neither the slowest nor the fastest, nor the one that the others wait for most: shown when asked for
	Lane   Lane `json:"lane"`
}

// A Lane is a row of the timeline: steps, layers by stream, NVTX ranges of a thread
// and depth, the work of a stream, or CUDA calls of a thread.
type Lane struct {
	Kind  string      `json:"kind"`  // step, layer, nvtx, kernel, copy, api
	Label fact.Stored `json:"label"` // which of its kind: a stream, a thread
	Group fact.Stored `json:"group"` // process or device that it belongs to
	// Depth of NVTX ranges, 0 for the outermost.
	Depth  int       `json:"depth,omitempty"`
	Exact  bool      `json:"exact"`             // boxes are events, not sums
	Events int64     `json:"events"`            // that the lane stands for
	BinNS  int64     `json:"bin_ns,omitempty"`  // width of a bin where not exact; those of the scope are finer
	BusyNS int64     `json:"busy_ns,omitempty"` // of its boxes
	Share  *float64  `json:"share,omitempty"`   // BusyNS of the timeline
	Top    []LaneTop `json:"top,omitempty"`     // names that take the most time
	// Boxes are sorted by start. In a lane of sums, several events that are
	// closer than BinNS form one box with their busy time.
	Boxes []Box `json:"boxes"`
}

// A Box is an event, or several.
type Box struct {
	Start int64 `json:"s"` // from Overview.StartNS
	Len   int64 `json:"l"`
	Name  int   `json:"n"`           // index into Overview.Names
	Count int64 `json:"c,omitempty"` // events, where more than one
	Busy  int64 `json:"b,omitempty"` // ns in which one of them ran, where Count is set
}

// Method is how it was measured.
type Method struct {
	// Commands are those of all attempts, in the order in which they ran; none without
	// a run.
	Commands []StageCommand `json:"commands,omitempty"`
	// UnprofiledS is how long the program took without a profiler, in seconds,
	// where it was timed as a whole; 0 where that is not known.
	UnprofiledS float64 `json:"unprofiled_s,omitempty"`
	// OverheadLimit is the overhead above which a lighter capture is advised.
	OverheadLimit float64 `json:"overhead_limit,omitempty"`
	// Deviations are settings that a step had to change.
	Deviations []Deviation `json:"deviations,omitempty"`
	Ladder     []Note      `json:"ladder,omitempty"` // replay modes tried, with reasons
	// Picked is absent where nothing was counted. Thresholds are those of every
	// decision.
	Picked     *Picked     `json:"picked,omitempty"`
	Clock      fact.Fact   `json:"clock,omitzero"` // what the counters were taken under
	Thresholds []fact.Fact `json:"thresholds,omitempty"`
	// Assumptions are what FLOPs and bytes by analysis of the model rest on.
	Assumptions []Note `json:"assumptions,omitempty"`
	// Annotation is what deepprof's own ranges came to: processes, numbers, cost.
	Annotation []Note `json:"annotation,omitempty"`
}

// A StageCommand is a command of a pipeline step.
type StageCommand struct {
	// Stage is the name of the pipeline step; Command a line for a shell; Seconds 0
	// where it was not timed.
	Stage   string  `json:"stage"`
	Command string  `json:"command"`
	Seconds float64 `json:"seconds,omitempty"`
	Outcome string  `json:"outcome,omitempty"` // verdict on it, a capture.Kind
}

// A Deviation is a setting that profiling required to be different.
type Deviation struct {
	Stage string `json:"stage,omitempty"` // pipeline steps that it applied to, with commas
	Key   string `json:"key"`
	// Configured and Used are values as the configuration writes them.
	Configured string      `json:"configured"`
	Used       string      `json:"used"`
	Why        []fact.Fact `json:"why"`
}

// A RegionCoverage is how much of the GPU time of a region was counted.
type RegionCoverage struct {
	Region   string     `json:"region"` // as it was asked for, or the path of an outermost one
	Coverage float64    `json:"coverage"`
	Why      *fact.Fact `json:"why,omitempty"` // what keeps it below the goal
}

// Picked sums up the choice of launches to count.
type Picked struct {
	Groups int `json:"groups"` // kernel, grid and block
	// Chosen were planned to be counted, Counted are those of which a launch was.
	Chosen      int     `json:"chosen"`
	Counted     int     `json:"counted"`
	Coverage    float64 `json:"coverage"`     // of GPU time in the chosen regions
	CoverageAll float64 `json:"coverage_all"` // of all GPU time
	// ByRegion is the coverage of each region that was asked for and of each
	// outermost one, where there are several.
	ByRegion []RegionCoverage `json:"by_region,omitempty"`
	LeftOut  []Note           `json:"left_out,omitempty"` // collectives and the like
	CutOff   []Note           `json:"cut_off,omitempty"`  // by top_n, coverage or the budget
	Begins   *fact.Fact       `json:"begins,omitempty"`   // where counting of a server began, and why there
	// PredictedSec and ActualSec are the time of ncu, of all its commands; 0 where
	// nothing predicted it, or no run timed it.
	PredictedSec float64 `json:"predicted_s,omitempty"`
	ActualSec    float64 `json:"actual_s,omitempty"`
}
