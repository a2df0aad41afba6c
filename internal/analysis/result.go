// Package analysis finishes the numbers: it joins the timeline, the counters,
// the times of the workload and the plan into one Result, which is all that a
// report needs.
//
// Analyze is the list of its steps. A step is a type that holds what it takes and
// returns what it made: the Result with its part, or values for later steps. Beside that,
// steps only add notes: warnings, what is missing, the files that they used. No step
// changes the timeline or the counters once they are read, and none writes words:
// package message makes them of codes.
//
// It owns every threshold, verdict and bound. A bound is proven or marked as an
// estimate; a value that was not measured is absent, with the reason in Missing or in
// a Why beside it. Results of earlier versions are brought up to date by Derive.
//
// It is the largest package, 21,000 lines, because it makes every number and verdict: 4,600
// lines divide the time of a timeline among kernels, regions and causes of idle time, 2,900
// are limiters, causes and savings, 2,400 ranks, collectives and several timelines, 1,900
// the use of the GPU and the roofline, and 1,400 declare the Result; the rest joins counters,
// operators and the load of a server, and states what was found.
package analysis

import (
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/timeline"
)

// Schema is the version of Result. It grows when a field changes its meaning or
// goes; new fields alone do not change it.
const Schema = 2

// A Result is what a run, or a few files, tell: result.json. Every report is
// made from it alone.
//
// Times are nanoseconds or, where a field says so, seconds or milliseconds. A
// value that was not measured is absent; Missing says why where a reader would
// look for it.
type Result struct {
	Schema  int    `json:"schema"`
	Version string `json:"deepprof_version,omitempty"` // of the program that analyzed

	// Preliminary results were made before the counters were taken.
	Preliminary bool `json:"preliminary,omitempty"`

	Source      Source      `json:"source"`
	Environment Environment `json:"environment"`
	Workload    Workload    `json:"workload"`
	Totals      Totals      `json:"totals"`
	// Scope is the part of the timeline that kernels, categories, the roofline,
	// opportunities and findings are about; absent where that is all of it.
	Scope *Scope `json:"scope,omitempty"`

	Stages  []Stage  `json:"stages"`  // in the order of the workload
	Regions []Region `json:"regions"` // parents before children
	// RegionGroups sum the regions that repeat each other, such as step0 to step31:
	// Path is the group, Members are its regions. Absent where every region stands
	// for itself, and for rows of one process or device.
	RegionGroups []Region       `json:"region_groups,omitempty"`
	Kernels      []Kernel       `json:"kernels"`                // by total time; without a timeline by time under ncu
	Rest         *Rest          `json:"kernels_rest,omitempty"` // kernels that are not listed
	Categories   []CategoryTime `json:"categories"`             // by total time
	Operators    []Operator     `json:"operators,omitempty"`
	// Profiled says what the operators were taken from; absent without them.
	Profiled *Profiled `json:"operators_profiled,omitempty"`

	Roofline      Roofline      `json:"roofline"`
	Opportunities []Opportunity `json:"opportunities"` // by seconds that they could save
	Findings      []Finding     `json:"findings"`      // what matters, most important first

	// Parts are the timelines, where there are several, or the processes of a job
	// in one; Across sums them up. Both are absent otherwise.
	Parts  []Part  `json:"parts,omitempty"`
	Across *Across `json:"across,omitempty"`
	// Job is what ranks tell together; absent where parts are no ranks.
	Job *Job `json:"job,omitempty"`

	// Sampled are counters that nsys sampled while regions ran, those with most
	// readings first; absent where nothing was sampled.
	Sampled []SampledRegion `json:"sampled,omitempty"`
	// Baseline is a run that this one is held against; absent where none was given.
	Baseline *Baseline `json:"baseline,omitempty"`
	// Modules is the tree of modules with their GPU time in the scope; none where no
	// module is known.
	Modules []ModuleBox `json:"modules,omitempty"`
	// Steps tells how steps differ; absent where the timeline has none.
	Steps    *StepTimes `json:"steps,omitempty"`
	Sampling *Sampling  `json:"sampling,omitempty"`

	// Serving is what a server and its clients did; absent for other programs.
	Serving *Serving `json:"serving,omitempty"`

	Overview Overview `json:"overview"`
	Method   Method   `json:"method"`
	Warnings []Note   `json:"warnings,omitempty"`
	Missing  []Note   `json:"missing,omitempty"` // what could not be told, with the reason and what would tell it
}

// A Source is where the numbers come from.
type Source struct {
	Run      string `json:"run,omitempty"`      // name of the run directory
	Created  string `json:"created,omitempty"`  // RFC 3339
	Status   string `json:"status,omitempty"`   // of the run: done, failed, interrupted
	Recorded bool   `json:"recorded,omitempty"` // a recording, not this machine
	// Origin stands for the folder of the first file: a digest, since a path may
	// name a person. Absent in runs and in older results.
	Origin string `json:"origin,omitempty"`
	Files  []File `json:"files"`
}

// A File is an input of the analysis.
type File struct {
	Path   string `json:"path"` // relative to the run where there is one
	Kind   string `json:"kind"` // timeline, counters, metrics, operators, flops, targets, model_config
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256,omitempty"`
	// Of tells it apart from other timelines or reports of counters, as far as its
	// run or its name does; Result.Parts has what timelines tell of themselves.
	Of *timeline.Identity `json:"of,omitempty"`
}

// Environment is the machine as the captures recorded it.
type Environment struct {
	// GPUs are those that ran anything, by their CUDA number; all of the machine where
	// none did.
	GPUs []GPU  `json:"gpus"`
	Host string `json:"host,omitempty"` // absent where it was removed
	// CPU, OS, Driver and CUDA come from the run, else from the first capture that
	// names them; CUDA is the newest version that the driver supports.
	CPU    string `json:"cpu,omitempty"`
	OS     string `json:"os,omitempty"`
	Driver string `json:"driver,omitempty"`
	CUDA   string `json:"cuda,omitempty"`
	// Nsys and Ncu are the versions that captured; where only a file is known, the one
	// that exported it.
	Nsys     string `json:"nsys,omitempty"`
	Ncu      string `json:"ncu,omitempty"`
	Software []Fact `json:"software,omitempty"` // python, torch, transformers, ...
}

// A Fact is a name with a value, in the order to show.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// A GPU with its limits.
type GPU struct {
	// Device is the CUDA number within the process that was captured.
	Device int    `json:"device"`
	Name   string `json:"name"`
	// Chip, Compute, SMs and MemoryBytes are absent where no capture describes the GPU.
	Chip        string `json:"chip,omitempty"`
	Compute     string `json:"compute,omitempty"` // "9.0"
	SMs         int    `json:"sms,omitempty"`
	MemoryBytes int64  `json:"memory_bytes,omitempty"`
	// Peaks are memory levels first, then data types; a limit that nothing tells is not
	// there.
	Peaks []Peak `json:"peaks"`
}

// A Peak is a limit of a GPU.
type Peak struct {
	// ID: dram, l2, l1, or a data type with its pipe: tensor_fp16, tensor_bf16,
	// tensor_tf32, tensor_fp8, tensor_int8, tensor_fp64, fp64, fp32, fp16.
	ID    string  `json:"id"`
	Value float64 `json:"value"` // per second
	Unit  string  `json:"unit"`  // flop/s or byte/s
	// ClockHz is the clock that the value holds at; 0 where it does not depend
	// on one.
	ClockHz float64 `json:"clock_hz,omitempty"`
	// Clock says which clock that is, to be shown beside the value: MFU and MBU
	// are held against the highest of the device, the roofline against the one
	// at which ncu counted.
	Clock fact.Fact `json:"clock,omitzero"`
	// Measured: from ncu's counters of this chip. Otherwise from properties of
	// the device or a table, and Basis names it.
	Measured bool      `json:"measured"`
	Basis    fact.Fact `json:"basis,omitzero"`
	// GPUs is how many of them the value is of, where several.
	GPUs int `json:"gpus,omitempty"`
	// Published: what the data sheet of the GPU states.
	Published bool `json:"published,omitempty"`
}

// Workload is what was run.
type Workload struct {
	Kind    string   `json:"kind,omitempty"` // llm, vlm, resnet, command
	Command []string `json:"command,omitempty"`
	Model   *Model   `json:"model,omitempty"`
	// Shape has the IDs batch_size, prompt_length, new_tokens and others as names.
	Shape []Fact `json:"shape,omitempty"`
}

// Model is the identity of a model.
type Model struct {
	Name   string `json:"name,omitempty"`
	Family string `json:"family,omitempty"`
	// Parameters and WeightsBytes are 0 where neither the session nor a config told.
	Parameters   int64 `json:"parameters,omitempty"`
	WeightsBytes int64 `json:"weights_bytes,omitempty"`
	Layers       int   `json:"layers,omitempty"`
	// DType, Attention and KVCache are as the session, or the config, names them.
	DType     string `json:"dtype,omitempty"`
	Attention string `json:"attention,omitempty"`
	KVCache   string `json:"kv_cache,omitempty"`
}

// Totals are the aggregates of the whole timeline, and of the unprofiled run. Without
// a timeline, which Missing tells as "no-timeline", its sums are 0 and mean
// nothing.
type Totals struct {
	WallNS    int64 `json:"wall_ns"`     // first to last event of the workload
	GPUSpanNS int64 `json:"gpu_span_ns"` // first to last GPU work
	BusyNS    int64 `json:"busy_ns"`     // union of all GPU work, summed over devices
	// BusyShare is the share of the wall time in which a GPU worked, the mean over
	// the GPUs that ran anything; absent without a timeline.
	BusyShare *float64 `json:"busy_share,omitempty"`
	// KernelNS is the GPU time of all launches, where concurrent ones count each.
	KernelNS    int64 `json:"kernel_ns"`
	CopyNS      int64 `json:"copy_ns"` // of copies, without sets
	Launches    int64 `json:"launches"`
	KernelNames int   `json:"kernel_names"`
	Copies      int64 `json:"copies"`
	CopyBytes   int64 `json:"copy_bytes"`
	Sets        int64 `json:"sets"` // of memory
	SetNS       int64 `json:"set_ns"`
	SetBytes    int64 `json:"set_bytes"`
	// Devices are the GPUs that ran anything.
	Devices []DeviceBusy `json:"devices,omitempty"`
	// Communication is absent where no kernel of that category ran.
	Communication *Communication `json:"communication,omitempty"`
	// Split is that of the whole timeline; absent without one.
	Split *Split `json:"split,omitempty"`
	// Of the unprofiled run, where there is one.
	Aggregates []Aggregate `json:"aggregates,omitempty"`
}

// DeviceBusy is what one GPU did over the whole timeline.
type DeviceBusy struct {
	Device int      `json:"device"`
	BusyNS int64    `json:"busy_ns"`         // union of its work
	Share  *float64 `json:"share,omitempty"` // BusyNS of the wall time
	// KernelNS is GPU time, as in Totals.
	KernelNS int64 `json:"kernel_ns"`
	Launches int64 `json:"launches"`
}

// A Scope is the launches of the regions that a run names: what they do is
// counted, and loading, warm-up and what else lies outside is not. Stages and
// regions have times of their own.
type Scope struct {
	Expressions []string `json:"expressions"` // NVTX filters as configured
	// Exclude are filters that take launches out of the scope; none by default.
	Exclude []string `json:"exclude,omitempty"`
	// Default: nobody named regions, and these are what the program is about: its
	// stages, its outermost regions, or what was detected to repeat.
	Default bool      `json:"default,omitempty"`
	Regions []string  `json:"regions"`  // paths of the outermost regions that they select
	Name    fact.Fact `json:"name"`     // prefill and decode
	Text    fact.Fact `json:"text"`     // what is counted and what is not
	StartNS int64     `json:"start_ns"` // of its first instance, from the start of the overview
	EndNS   int64     `json:"end_ns"`   // of its last work

	// WallNS is the time of its regions: the union of the instances of those that
	// are synchronous, and of the projected spans of the others, from the first to
	// the last GPU work of an instance.
	WallNS    int64    `json:"wall_ns"`
	BusyNS    int64    `json:"busy_ns"`              // GPU work of the scope within that time, summed over devices
	BusyShare *float64 `json:"busy_share,omitempty"` // as in Totals
	// KernelNS, Launches and KernelNames are of the launches in the scope; those with
	// Outside of the others, wherever they lie.
	KernelNS        int64  `json:"kernel_ns"`
	Launches        int64  `json:"launches"`
	KernelNames     int    `json:"kernel_names"`
	OutsideKernelNS int64  `json:"outside_kernel_ns"`
	OutsideLaunches int64  `json:"outside_launches"`
	Split           *Split `json:"split,omitempty"` // of the wall time
}

// An Aggregate is one measure over the repeats of the unprofiled run.
type Aggregate struct {
	Name string `json:"name"` // prefill_ms, decode_ms, ttft_ms, token_ms, tokens_per_s, peak_memory_bytes
	Unit string `json:"unit"` // ms, byte, tokens/s, images/s
	// N values were measured, at least one; Std is of a sample, and 0 for one value.
	// All others are in Unit.
	N    int     `json:"n"`
	Mean float64 `json:"mean"`
	Std  float64 `json:"std"`
	Min  float64 `json:"min"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
	// Few: of so few values that p90 and p99 say little more than Max.
	Few bool `json:"few,omitempty"`
}

// A Stage is a top-level phase of the workload: prefill, decode, stem, or "all"
// for a program without ranges.
type Stage struct {
	Name   string `json:"name"`
	Region string `json:"region,omitempty"` // path of the NVTX region it is measured by; "" for the whole
	// ids are the regions that it is measured by, for timed.regions. None for the whole
	// program, without a timeline, and in a result that was read from a file.
	ids []uint32
	// Regions are all of them where several paths end in the name of the stage;
	// its times are their sums.
	Regions []string `json:"regions,omitempty"`
	// Steps: its passes are the steps of a serving engine that are of one kind, which
	// Name says (engine.StepKind); each may have another batch.
	Steps bool `json:"steps,omitempty"`

	// CleanMS, its deviation and CleanTimes are absent without an unprofiled run that
	// timed the stage by itself. The workload measures them.
	CleanMS    *float64 `json:"clean_ms,omitempty"` // mean per pass, unprofiled
	CleanStdMS *float64 `json:"clean_std_ms,omitempty"`
	NsysMS     *float64 `json:"nsys_ms,omitempty"` // mean per pass, under nsys
	// NsysClock is what NsysMS was measured by: "workload", its own clock as for
	// CleanMS; "range", the NVTX range as for Split, which is longer by starting
	// and synchronizing; or "gpu", from the first to the last work of a pass on the
	// GPU, because ranges were closed before their work had ended.
	NsysClock string `json:"nsys_clock,omitempty"`
	// HostMS is how long the host kept a pass open under nsys, the mean; absent
	// without a range.
	HostMS *float64 `json:"host_ms,omitempty"`
	// RangeMS is the mean time of a pass by its NVTX range, where NsysMS is by
	// another clock and the two differ.
	RangeMS *float64 `json:"range_ms,omitempty"`
	// CleanTimes and NsysTimes are how the passes behind CleanMS and NsysMS differ.
	CleanTimes *Spread `json:"clean_times,omitempty"`
	NsysTimes  *Spread `json:"nsys_times,omitempty"`
	// Synchronous: every pass stayed open until the work that it launched had
	// ended. Where it is false, Split is of the time in which that work ran (the
	// union of the passes' projected spans). Absent without GPU work.
	Synchronous *bool    `json:"synchronous,omitempty"`
	Lead        *Lead    `json:"lead,omitempty"`     // of a stage that is not synchronous: no kernel runs before the first work of its passes
	Overhead    *float64 `json:"overhead,omitempty"` // nsys over unprofiled, minus 1
	// OverheadHigh: Overhead is above Method.OverheadLimit.
	OverheadHigh bool `json:"overhead_high,omitempty"`
	// OverheadWhy says why Overhead is absent though both were timed: the
	// difference lies within the noise.
	OverheadWhy *fact.Fact `json:"overhead_why,omitempty"`
	Passes      int        `json:"passes,omitempty"` // instances in the timeline
	// Typical is the step of the stage, else the pass, whose duration is nearest to the
	// median; absent where the timeline has neither.
	Typical  *Typical `json:"typical,omitempty"`
	Sub      []SubMS  `json:"sub,omitempty"`          // parts of this stage, never added to it; unprofiled where CleanMS is there, else under nsys
	TokensPS *float64 `json:"tokens_per_s,omitempty"` // unprofiled, mean of the passes; Totals.Aggregates has the median
	Split    Split    `json:"split"`                  // of all passes in the timeline
	// HostFrames is the Python code that the launching threads were seen in while the
	// GPU waited for the host, most samples first; only where nsys sampled Python.
	HostFrames []timeline.HostFrame `json:"host_frames,omitempty"`
	// LaunchGain is the most that closing the launch gaps can save: the one bound
	// of that change, the same in every finding, table and opportunity. Absent
	// where the stage is not launch-bound.
	LaunchGain *Bound `json:"launch_gain,omitempty"`
	// CleanBusy is the share of the unprofiled time in which a kernel runs, from 0 to 1:
	// Split.BusyNS of the unprofiled time of the passes. Absent without one.
	CleanBusy *float64 `json:"clean_busy,omitempty"`
	// Kernels is how many ran in all passes, GraphKernels how many of them nodes
	// of CUDA graphs launched.
	Kernels      int64 `json:"kernels,omitempty"`
	GraphKernels int64 `json:"graph_kernels,omitempty"`

	// MFU counts the FLOPs of the model, HFU those that the hardware executed, with
	// the padding of tiles; MBU bytes of memory. Each is held against the peak.
	MFU []Utilization `json:"mfu,omitempty"`
	HFU []Utilization `json:"hfu,omitempty"`
	MBU []Utilization `json:"mbu,omitempty"`
	// FLOPs and Bytes of one pass by analysis of the model.
	FLOPs *float64 `json:"flops,omitempty"`
	Bytes *float64 `json:"bytes,omitempty"`
}

// A Spread is how the times of passes differ.
type Spread struct {
	// N passes, at least one; times are milliseconds.
	N        int     `json:"n"`
	MedianMS float64 `json:"median_ms"`
	MinMS    float64 `json:"min_ms"`
	MaxMS    float64 `json:"max_ms"`
	StdMS    float64 `json:"std_ms"` // of a sample; 0 for one pass
}

// A SubMS is a part of a stage, such as a vision encoder within prefill.
type SubMS struct {
	Name string  `json:"name"`
	MS   float64 `json:"ms"`
}

// A Split divides wall time: the parts of Busy and Idle add up to it. That of a
// region or a stage is by its own work.
type Split struct {
	// WallNS is BusyNS and IdleNS, summed over instances; nanoseconds under nsys.
	WallNS int64      `json:"wall_ns"`
	BusyNS int64      `json:"busy_ns"`
	IdleNS int64      `json:"idle_ns"`
	Busy   []TimePart `json:"busy"` // by kernel category; concurrent work is shared out
	Idle   []TimePart `json:"idle"` // by cause: launch, graph, python, host, call, sync, copy, alloc, others (work of other regions runs), none
	// LaunchBound: the GPU waits for the host more than it works.
	LaunchBound bool `json:"launch_bound"`
	// LaunchNS is how long the GPU waited for launches, and for host code between
	// them, where that is launch-bound. It is measured under nsys, not a bound of
	// what a change can save; the key is that of older results.
	LaunchNS int64 `json:"gain_ns,omitempty"`
	// HostNS is how long the GPU waited for the host: for launches, for code between
	// them and for long stretches of host code.
	HostNS    int64    `json:"host_ns,omitempty"`
	BusyShare *float64 `json:"busy_share,omitempty"` // BusyNS of WallNS
	IdleShare *float64 `json:"idle_share,omitempty"` // IdleNS of WallNS
	HostShare *float64 `json:"host_share,omitempty"` // HostNS of WallNS
	// Limiter is what decides how long it takes; absent without wall time.
	Limiter *TimeLimiter `json:"limiter,omitempty"`
}

// A Bound is the most that a change can save.
type Bound struct {
	// NS is at most OfNS; both are of all passes in the timeline.
	NS    int64    `json:"ns"`
	OfNS  int64    `json:"of_ns"`           // the time that it is held against, of all passes
	Times string   `json:"times"`           // of which run that time is: clean or nsys
	Share *float64 `json:"share,omitempty"` // NS of OfNS
}

// A TimePart is a named share of time.
type TimePart struct {
	// ID of a category or a cause; "region" where Label names a region of the host.
	ID    string   `json:"id"`
	Label string   `json:"label,omitempty"` // of a category, as its rules name it; causes have none
	NS    int64    `json:"ns"`
	Share *float64 `json:"share,omitempty"` // of the wall time of the split
}

// A Utilization is achieved work over the peak.
type Utilization struct {
	// Method: analytic (model's FLOPs or bytes over the unprofiled time) or
	// counters (counted work extrapolated over the region).
	Method  string   `json:"method"`
	Value   *float64 `json:"value,omitempty"`    // share of Peak; absent with Why. A GPU that clocks higher than its data sheet can exceed 1
	AtLeast bool     `json:"at_least,omitempty"` // Value is a proven lower bound; Why says what it leaves out
	// Achieved is FLOPs or bytes a second, in the unit of Peak; 0 where Value is absent
	// for want of a time or a peak.
	Achieved float64  `json:"achieved,omitempty"` // per second
	Peak     Peak     `json:"peak"`
	Seconds  float64  `json:"seconds,omitempty"`  // the time it is over
	Coverage *float64 `json:"coverage,omitempty"` // of GPU time, for counters
	// Contradiction: the value came out over 100 %, so something that it rests
	// on is wrong. Value is absent then and Raw holds the number.
	Contradiction bool     `json:"contradiction,omitempty"`
	Raw           *float64 `json:"raw,omitempty"`
	// Roof is the same limit at the clock that the counted kernels ran at, and
	// OfRoof the share of it, 0 to 1; absent without counters, and for bytes.
	Roof   *Peak    `json:"roof,omitempty"`
	OfRoof *float64 `json:"of_roof,omitempty"`
	// Why are the reasons for which Value is absent, and what to know of it.
	Why []fact.Fact `json:"why,omitempty"`
}
