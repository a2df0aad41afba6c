package message

import "github.com/deepprof/deepprof/internal/fact"

// findingLabels name what findings are about: bases of shares, clocks, measures, causes of
// idle time. The IDs are values of internal/analysis, and stand so in result.json.
var findingLabels = map[string]map[string]string{
	// Shipped categories of kernels (conf/categories.rules); users name their own there.
	"category": {
		"gemm": "Matrix multiplication", "attention": "Attention", "convolution": "Convolution", "normalisation": "Normalization", "softmax": "Softmax and loss", "elementwise": "Elementwise",
		"reduction": "Reduction", "scan_sort": "Scan and sort", "copy_cast": "Copy and cast", "layout": "Layout conversion", "embedding": "Embedding and indexing", "position": "Position encoding",
		"sampling": "Sampling", "moe": "Expert routing", "quantisation": "Quantization", "pooling": "Pooling and resampling", "fft": "Fourier transform", "solver": "Sparse and dense solvers",
		"random": "Random numbers", "optimiser": "Optimizer", "communication": "Communication", "fused": "Compiler-fused", "graph": "CUDA graphs traced as a whole", "other": "Other",
	},
	"base":     {"gpu_time": "GPU time", "gpu_time_outside_graphs": "GPU time outside CUDA graphs", "timeline": "the timeline"},
	"saving":   {"bound": "at most", "estimate": "about"},
	"bound-of": {"bound": "Upper bound", "estimate": "Estimate"},
	"times-of": {"clean": "unprofiled", "nsys": "under nsys"},
	"times":    {"clean": "on average in the unprofiled run", "nsys": "under nsys"},
	"clock":    {"workload": "its own clock", "range": "the NVTX range"},
	"where":    {"cpu": "the CPU", "gpu": "the GPU"},
	"bound":    {"launch": "launch-bound"},
	"access":   {"loads": "loads from shared memory", "stores": "stores to shared memory", "all": "shared memory, loads and stores on average"},
	"method":   {"analytic": "by the model's work", "counters": "by counters"},
	"measure":  {"MFU": "MFU", "HFU": "HFU", "MBU": "MBU"},
	"uses":     {"MFU": "arithmetic", "HFU": "arithmetic", "MBU": "memory bandwidth"},
	"work":     {"flops": "FLOPs", "bytes": "bytes"},
	// What decides how long a stage takes, and the causes of idle time, in a word or two.
	"time-limiter": {"launch": "launch-bound", "work": "GPU work"},
	"wait": {
		"launch": "launches", "graph": "graph nodes", "python": "host code", "host": "host code", "call": "CUDA calls", "sync": "synchronization", "copy": "copies",
		"alloc": "allocation", "others": "work of other regions", "none": "no work given",
	},
	// For how much of the time of several kernels a limiter holds.
	"holds": {"all": "", "mostly": "mostly", "partly": "partly"},
	"idle": {
		"none": "no launch is under way", "python": "host code between CUDA calls", "host": "long stretches of host code", "launch": "launch calls and their latency",
		"graph": "gaps between the nodes of CUDA graphs", "call": "other CUDA calls", "sync": "waiting in synchronization", "copy": "memory copies and sets", "alloc": "allocation", "others": "work of other regions",
	},
}

// findingWords are the findings, and the sentences that follow in them. internal/analysis
// states them in findings*.go; where what a template says is decided, is docs/analysis.md.
// Every finding has a Plain form unless its Text needs no knowledge of GPUs.
//
// Times are of the whole timeline unless passes or steps follow them, and then the sum of
// these: busy is when a kernel runs, wall all, waits what the GPU waits for the host, gain the
// most that a change saves of of. share is ns of of; of_share, of_busy and of_waits are the
// same held against the unprofiled time, which times names. more are facts that follow as
// sentences of their own.
var findingWords = map[fact.Code]words{
	// Findings: a sentence that stands alone, those of most weight first.
	"damaged-timeline": {
		Text:  "The timeline is damaged: {damage}. Every number is of what is left of it. Copy the file again, or export or capture again.",
		Plain: "A part of the recording is lost: times, counts and shares are of what is left of it and may be far from the truth.",
	},
	"lost-timeline": {
		Text:  "The timeline is damaged, and none of its kernels could be read: their times are not known. Copy the file again, or export or capture again.",
		Plain: "The recording of the times is lost: what is said here rests on other measurements.",
	},
	"contradiction": {
		Text:  "The {measure} of {stage} {method} contradicts itself: it comes out at {raw} of the peak ({peak}), more than the GPU can do. The work, the time or the peak is wrong.",
		Plain: "One efficiency figure of {stage} ({measure}) came out impossible and is not shown; check its inputs.",
	},
	"stage-busy": {
		Text:  "[{stage} takes {share} of the time of all stages. ]Kernels run in {stage}[ on at least one of its {gpus} GPUs] for {busy}: {busy_share} of its {wall}[ in {passes:pass|passes}][ in {steps:step|steps}] under nsys[, {of_share} of its {clean} on average in the unprofiled run]. The kernels decide how long it takes.",
		Plain: "[{stage} takes {share} of the time of all stages. ]The GPU works {of_share} of the time of {stage} ({times}): the work itself decides how long it takes.[ The limiter of most of that work is {limits}.]",
	},
	"stage-idle": {
		Text:  "[{stage} takes {share} of the time of all stages. ]Kernels run in {stage}[ on at least one of its {gpus} GPUs] for {busy}: {busy_share} of its {wall}[ in {passes:pass|passes}][ in {steps:step|steps}] under nsys[, {of_share} of its {clean} on average in the unprofiled run]. No kernel runs in the rest[; memory is copied or set for {copied} of it]; the main cause under nsys: {cause} ({cause_ns}).[ {more.}]",
		Plain: "[{stage} takes {share} of the time of all stages. ]The GPU computes in {of_share} of the time of {stage} ({times}) and in the rest waits[ or only copies data ({copies} under the profiler)].[ {more.}]",
	},
	"warm-up": {
		Text: "{stage} begins with {n:slow pass|slow passes}: {ns}, {share} of the {of} of its {passes} passes under nsys, where the median of the others is {median}. The program warms up, loads code or compiles. " +
			"Sums, shares and savings of all passes count that; MFU and MBU go by the median pass. Next: run the first passes outside the ranges of the stage.",
		Plain: "{stage} is much slower at first ({ns} against {median} under the profiler): it loads and prepares, which should not be measured with the rest.",
	},
	"program-without-ranges": {
		Text:  "NVTX ranges around its parts would tell which of them waits",
		Plain: "Starting and loading are part of that time",
	},
	"sampled-use": {
		Text: "By sampled counters[ {region}][ {steps} steps of batch {batch}] use {tensor} of the tensor cores, {dram} of the DRAM bandwidth and {sm} of the SMs, over {readings:reading|readings}; nothing was counted by ncu.",
	},
	"next-token": {
		Text: "The next token takes {period} on average over {steps:step|steps} that decode: the GPU works on decode for {busy} of it[, on prompts and decode in one step for {mixed}]" +
			"[, on prompts alone for {prefill}][, in steps of another kind for {other}], waits inside decode steps for {idle}, and {gap} lies between steps (scheduling, sampling, answers).[ Decode of batch {batch} reaches {mbu} of the memory bandwidth.]",
		Plain: "The next token takes {period} on average. The GPU works on it for {busy} of that time[ and on new prompts for {prefill}][ and on both together for {mixed}]; for {idle} it waits inside a step, and for {gap} between steps.",
	},
	"launch-bound": {
		Text: "{stage} is launch-bound: under nsys kernels run in {busy_share} of its {wall}[ in {passes:pass|passes}][ in {steps:step|steps}], and the GPU waits for the host in {wait_share}.[ {more.}]",
		Plain: "The GPU works only {of_busy} of the time of {stage} ({times}). For up to {of_waits} of it, it waits for the program on the host to hand it work[, and for {of_rest} for other reasons]. " +
			"A faster GPU would help {stage} little; without the waits it could take {left} in place of {of}[ for {passes:pass|passes}][ for {steps:step|steps}], at best.",
	},
	"waits-before": {
		Text: "{stage} closes before its work ends, and the GPU waits for that work: before the first of it no kernel runs for {waits} ({share} of the {of}[ in {passes:pass|passes}][ in {steps:step|steps}] from the opening of a range, or the end of earlier work, to the end of its own), " +
			"mostly because of {cause}; then kernels run for {busy}. Launch the next work before the last has ended.",
		Plain: "Before the work of {stage} begins, the GPU waits {waits} for the host, and then works for {busy}. Hand the GPU its next work earlier.",
	},
	"graphs-gain":       {Text: "Closing its launch gaps, with CUDA graphs, can save at most {gain}, {share} of its {of}[ in {passes:pass|passes}][ in {steps:step|steps}] {times}"},
	"launch-ahead-gain": {Text: "Launching its CUDA graphs ahead can save at most {gain}, {share} of its {of}[ in {passes:pass|passes}][ in {steps:step|steps}] {times}"},
	"host-frames":       {Text: "while the GPU waited for the host, Python was most often in {frame} ({share} of {n:sample|samples})[, then in {then}]"},
	"host-stretches":    {Text: "{host} of the waits are stretches of more than {longer} without a CUDA call[ in {region}], which are no launch gaps: move that work of the host out of the loop, or into what a graph replays"},
	"profiler-waits":    {Text: "In the unprofiled run kernels take more than half of the time: many of these waits come from the profiler"},
	"launches-first":    {Text: "Fix these waits first; tuning kernels will not help yet"},
	"stage-overlaps":    {Text: "Instances of the stage run at the same time: {sum} is the sum of their times[, and together they last {once}]"},
	"pass-times":        {Text: "By {clock}, the mean pass takes {clean} in the unprofiled run and {nsys} under nsys[ ({overhead} more)]"},

	// Sentences that follow in a finding; they never stand alone.
	"idle-sync": {
		Text:  "In {share} of {stage} ({ns} of {of} under nsys) the host waits in synchronization while the GPU has nothing to run.",
		Plain: "In {share} of {stage} (measured under the profiler) the GPU is idle while the program waits for results before it hands out more work.",
	},
	"idle-copy": {
		Text:  "In {share} of {stage} ({ns} of {of} under nsys) memory is copied while no kernel runs.",
		Plain: "In {share} of {stage} (measured under the profiler) the GPU only copies data.",
	},
	"idle-alloc": {
		Text:  "In {share} of {stage} ({ns} of {of} under nsys) memory is allocated or released while the GPU is idle.",
		Plain: "In {share} of {stage} (measured under the profiler) the GPU is idle while the program asks for memory.",
	},
	"idle-call": {
		Text:  "In {share} of {stage} ({ns} of {of} under nsys) CUDA calls other than launches run while the GPU is idle[; most of that time is in {call}].",
		Plain: "In {share} of {stage} (measured under the profiler) the GPU is idle while the program makes calls other than handing out work.",
	},
	"exposed-communication": {
		Text:  "In {share} of {stage} ({exposed} of {of} under nsys, the mean of {gpus:GPU|GPUs}) only communication kernels run. {overlapped} of the {all} of communication runs beside other kernels ({n:launch|launches}).",
		Plain: "In {share} of {stage} (measured under the profiler) the GPUs only exchange data with each other.",
	},
	"outside-stages": {
		Text:  "{share} of the timeline ({outside} of {of}) is outside the stages ({stages})[, with {gpu_time} of GPU time][; the largest region there is {region} with {region_ns}][, {region_bound}]. Savings are held against the whole timeline.",
		Plain: "{share} of the recorded time is not in {stages} but before, between and after: starting, loading and warming up.",
	},
	"unprofiled-times": {Text: "The mean pass takes {total} in the unprofiled run: {times}."},
	"stage-time":       {Text: "{stage} {ns}"},
	"largest-operator": {Text: "Of the operators, {operator} takes the most time of its own on {where}: {ns} of {of} ({share}), in {n:call|calls}."},
	"largest-category": {
		Text:  "{category} takes {share} of {base} ({ns} of {of}). {more.}",
		Plain: "The largest part of the GPU's working time, {share}, is this kind of work: {category}.",
	},
	"largest-category-half": {
		Text:  "{category} takes {share} of {base} ({ns} of {of}). {more.}",
		Plain: "Most of the GPU's working time, {share}, is this kind of work: {category}.",
	},
	"largest-kernel": {Text: "The largest kernel is {kernel} with {share} of {base}[; limiter: {limiter}][ in {grids:grid|grids}][; limiter of its largest grid ({grid}, {grid_share}): {grid_limiter}]"},
	"graphs-whole": {
		Text:  "{n:CUDA graph launch|CUDA graph launches} ran for {ns}, traced as a whole: times of kernels, their shares and their opportunities leave them out. Capture with pipeline.nsys.cuda_graph_trace=node to see into them.",
		Plain: "The GPU spent {ns} on work whose parts this capture does not show; statements about kernels leave it out.",
	},
	"no-kernels-seen": {
		Text:  "No kernel ran on a GPU while the timeline was captured, or CUDA was not traced: nothing can be said of the GPU.",
		Plain: "The capture shows no work on a GPU. Either the program did not use it, or the capture did not see it.",
	},
	"limited-mostly": {
		Text:  "The limiter of {share} of the counted GPU time is {kind} (counted: {covered} of {base}).",
		Plain: "Where it was measured, the limiter of most of the GPU's work is {kind}.",
	},
	"limited-most-often": {
		Text:  "The limiter of {share} of the counted GPU time is {kind} (counted: {covered} of {base}).",
		Plain: "Where it was measured, the limiter differs from kernel to kernel; most often ({share} of the time) it is {kind}.",
	},
	"region-limited": {
		Text:  "The limiter of {region} is {limiter} ({ranges:range|ranges} measured as a whole, {ns} under ncu). {why.}",
		Plain: "The limiter of the part {region} is {kind}.",
	},
	"kernel-limited": {
		Text:  "The limiter of {kernel} is {limiter}. {why.}",
		Plain: "The limiter of the kernel {kernel} is {kind}.",
	},
	"first-saving": {
		Text:  "Largest saving: {change}, {bound} {gain} of the {of} ({share}) of {scope} {times}[; likely about {estimate}].",
		Plain: "The change that could save most: {change} ({bound} {gain}, {share} of the {of} of {scope}).",
	},
	"next-saving": {
		Text:  "Largest saving of another kind: {change}, {bound} {gain} of the {of} ({share}) of {scope} {times}[; likely about {estimate}].",
		Plain: "Beside the waits for the host, the change that could save most: {change} ({bound} {gain}, {share} of the {of} of {scope}).",
	},
	"utilization": {
		Text:  "Utilization of {stage}: {values}.[ {more.}]",
		Plain: "Of what the GPU can do, {stage} uses {values}.[ {more.}]",
	},
	"used-share":    {Text: "{measure} {value} of {of} ({peak}, {method})[; {roof_value} of the roof at {clock}]"},
	"used-about":    {Text: "{measure} about {value} of {of} ({peak}, {method})"},
	"used-at-least": {Text: "{measure} at least {value} of {of} ({peak}, {method})[; {roof_value} of the roof at {clock}]"},
	"idle-mostly":   {Text: "It is launch-bound: the GPU is idle most of the time"},
	"clock-reached": {
		Text:  "Its main kernel ran at {clock} of {highest}: of the peak at that clock, {measure} is {value}",
		Plain: "The GPU ran at {clock}, not at its highest clock of {highest}; of what it can do at this one, {value} is used",
	},
	"executed-more": {
		Text:  "In {stage} the kernels execute [at least, with {counted} counted, ]{factor} the model's FLOPs: work that the model's arithmetic does not hold, such as recomputation. MFU counts the model's FLOPs, HFU the executed ones.",
		Plain: "In {stage} the GPU does {factor} the arithmetic that the model needs.",
	},
	"executed-padding": {
		Text:  "In {stage} the kernels execute [at least, with {counted} counted, ]{factor} the model's FLOPs: tensor cores compute whole tiles, so that products with few rows are padded. MFU counts the model's FLOPs, HFU the executed ones.",
		Plain: "In {stage} the GPU does {factor} the arithmetic that the model needs: the rest is padding, because its matrices have fewer rows than the GPU's units work on at once.",
	},
}

// utilizationWords are what to know of MFU, HFU and MBU: why there is none, over which time
// it is, and why it is a lower bound. They follow the number, so they begin in lower case.
//
// what is FLOPs or bytes (domain work); share and coverage are of the GPU time of the stage;
// raw is the value that cannot be.
var utilizationWords = map[fact.Code]words{
	"over-nsys-no-unprofiled": {Text: "over the time under nsys, because there is no unprofiled run"},
	"over-nsys-no-stage-time": {Text: "over the time under nsys, because the unprofiled run has no time of this stage"},
	"over-nsys-other-shape":   {Text: "over the time under nsys, because the unprofiled run had another shape"},
	"step-no-config":          {Text: "the work of a step is not known, because the run names no model whose config tells it (model=...)"},
	"step-no-context":         {Text: "how full the cache is while these sequences decode is not known: no client of deepprof's own drove the server"},
	"step-untold":             {Text: "the names of these steps do not tell how many prompts, how many sequences that decode and how many tokens of each they have"},
	"step-uncounted":          {Text: "the work of such a step cannot be counted: {error}"},
	"step-pass-each":          {Text: "this engine runs each prompt in a pass of its own, so that weights are read for each"},
	"step-prompts-in-cache":   {Text: "at least: prompts are counted as if nothing of them were in the cache; what a chunk or a cached prefix reads there comes on top"},
	"step-prompts-alike":      {Text: "at least: prompts of one step are taken as equally long, which is the least that they can compute"},
	"dtype-without-peak":      {Text: "the data type {dtype} has no peak"},
	"ran-as-tf32":             {Text: "the counters show that its products ran on tensor cores as tf32"},
	"gpu-not-named":           {Text: "neither a timeline nor counters name the GPU, so that its peak is not known"},
	"stage-time-unknown":      {Text: "the time of the stage is not known"},
	"peak-unknown":            {Text: "no peak is known for {peak} on this GPU; counters of one launch (--set roofline or full) would tell"},
	"above-the-peak":          {Text: "it comes out at {raw} of a peak that cannot be exceeded: the work, the time or the peak is wrong"},
	"coverage-too-low":        {Text: "the counters of {what} cover only {share} of its GPU time; pipeline.ncu.pick.coverage=0.95 counts more of its kernels, pipeline/ncu=high more of each"},
	"coverage-none":           {Text: "the {what} of none of its kernels were counted; count them with --set full"},
	"coverage-part":           {Text: "the counters cover {share} of its GPU time, and nothing is added for the rest"},
	"no-float-work":           {Text: "its kernels[, as far as counted ({share} of its GPU time),] execute no floating-point operations"},
	"scaled-by-time":          {Text: "{share} of its {what} are of launches that last much longer or shorter than those counted of the same kernel, grid and block: their counts are taken in proportion to time"},
	"caches-flushed":          {Text: "before each launch that it counts, ncu empties the caches, so that data which stays in L2 in the run counts as DRAM traffic here"},
	"fewer-flops-than-model":  {Text: "the counters hold {share} of the model's FLOPs while they cover {coverage} of the GPU time: launches of one kernel and grid differ in their work, FLOPs are in kernels that were not counted, or the model's arithmetic is of more than ran"},
}
