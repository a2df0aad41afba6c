package message

import "github.com/deepprof/deepprof/internal/fact"

// Limiter names what limits a kernel: the units where it names some, else the
// kind of limit; "" without a verdict.
func Limiter(kind string, units []string) string {
	if kind == "" {
		return ""
	}
	if len(units) == 0 {
		return Label("limiter", kind)
	}
	all := make([]string, len(units))
	for i, u := range units {
		all[i] = Label("unit", u)
	}
	return And(all)
}

// LimiterDetail is the word for the detail of a limiter: what warps wait for, or
// the resource that bounds occupancy.
func LimiterDetail(kind, id string) string {
	switch kind {
	case "latency":
		return Label("stall", id)
	case "occupancy":
		return Label("resource", id)
	}
	return id
}

// limiterLabels name limiters, the units and resources of a GPU, its stalls and peaks, and the
// units of evidence. IDs are those of result.json; docs/limiter.md explains each.
var limiterLabels = map[string]map[string]string{
	// Units of evidence that are no unit of a counter: what a percentage is of.
	"evidence-unit": {"percent-of-busiest-sm": "% of the busiest SM", "percent-of-l1-sectors": "% of L1's sectors, with stores", "percent-of-passes": "% of the passes",
		"percent-of-warp-time": "% of a warp's time", "threads-of-32": "of 32 threads",
		"byte-of-32": "byte of 32", "percent-of-moved-bytes": "% of the moved bytes", "cycles-per-issue": "cycles per issue"},
	"limiter": { // in a table
		"dram": "DRAM bandwidth", "l2": "L2 cache", "l1": "L1 cache or shared memory", "compute": "compute", "mixed": "several units",
		"latency": "latency", "occupancy": "occupancy", "small": "too little work", "launch": "launch overhead",
		"launch-bound": "launch-bound", "none": "no GPU work",
		"no_verdict": "no verdict from its counters", "not_counted": "not counted",
	},
	"limits": { // in a sentence
		"dram": "the bandwidth of GPU memory", "l2": "the L2 cache", "l1": "L1 cache and shared memory", "compute": "the units that compute", "latency": "latency",
		"occupancy": "occupancy", "small": "too little work per launch", "launch": "launch overhead", "mixed": "several units at once",
	},
	"unit": {
		"dram": "DRAM bandwidth", "l2": "L2 cache", "l2_atomics": "atomics in one slice of L2", "l1": "L1 cache or shared memory", "tensor": "tensor pipe", "tensor_int": "tensor pipe (int8)",
		"tensor_bf16": "tensor pipe (bf16)", "tensor_fp16": "tensor pipe (fp16)", "tensor_tf32": "tensor pipe (tf32)", "tensor_fp8": "tensor pipe (fp8)",
		"tensor_int8": "tensor pipe (int8)", "tensor_fp64": "tensor pipe (fp64)", "fp32": "FP32 pipe", "fp64": "FP64 pipe", "fp16": "FP16 pipe",
		"int": "INT and logic pipe", "xu": "special function pipe", "issue": "instruction issue", "sm": "a unit of the SM other than its math pipes",
		"compute": "compute (which pipe is not known)",
	},
	"peak": {
		"dram": "DRAM", "l2": "L2 cache", "l1": "L1 cache or shared memory", "tensor_bf16": "bf16 tensor, dense", "tensor_fp16": "fp16 tensor, dense",
		"tensor_tf32": "tf32 tensor, dense", "tensor_fp8": "fp8 tensor, dense", "tensor_int8": "int8 tensor, dense", "tensor_fp64": "fp64 tensor",
		"fp16": "fp16 or bf16 vector", "int": "INT and logic pipe", "xu": "special function pipe", "issue": "instruction issue", "sm": "units of the SM",
		"tensor": "tensor pipe", "tensor_int": "tensor pipe (int8)", "compute": "units of the SM",
	},
	"stall": {
		"long_scoreboard": "waiting for data from L2 or DRAM", "short_scoreboard": "waiting for shared memory or special functions",
		"wait": "fixed latency between dependent instructions", "barrier": "waiting at a barrier of the block", "math_pipe_throttle": "the math pipe is full",
		"mio_throttle": "the queue to shared memory and special functions is full", "lg_throttle": "the queue to local and global memory is full",
		"tex_throttle": "the queue to the texture unit is full", "no_instruction": "waiting for instructions", "imc_miss": "waiting for constants",
		"branch_resolving": "waiting for a branch", "dispatch_stall": "the dispatcher waits", "drain": "waiting for stores at the end",
		"membar": "waiting at a memory barrier", "gmma": "waiting for tensor operations", "sleeping": "sleeping", "misc": "other reasons",
	},
	"resource": {"registers": "registers", "shared_memory": "shared memory", "warps": "warps of a block", "blocks": "blocks on an SM", "barriers": "barriers"},
}

// limiterWords are the reasons of verdicts on kernels, and why a kernel has none. The rules
// of internal/analysis (limiter.go) state them.
//
// level and other_level are how much of a limit is in use, 0 to 1; unit, other, resource and
// stall are IDs of the domains of limiterLabels; waves, blocks and sms are of the counted
// launch; sections and set are names of ncu to count what is missing.
var limiterWords = map[fact.Code]words{
	// Reasons of a verdict on a kernel, and of there being none.
	"unit-used":             {Text: "{unit} is in use at {level} of its peak"},
	"unit-nearest":          {Text: "{unit} is the nearest limit, in use at {level} of its peak"},
	"units-reached":         {Text: "{unit} ({level}) and {other} ({other_level}) are both reached"},
	"units-near":            {Text: "{unit} ({level}) and {other} ({other_level}) are both near their peaks, and neither is reached"},
	"small-grid":            {Text: "Its blocks fill {waves} of one wave, so that a part of the GPU has nothing to do"},
	"small-grid-tiny":       {Text: "Its blocks fill less than 1 % of one wave, so that most of the GPU has nothing to do"},
	"no-longer-than-launch": {Text: "It runs no longer than launching it takes"},
	"few-warps-fit":         {Text: "Only {share} of the warps fit that an SM can hold, too few to hide latency; the limit: {resource}"},
	"issue-busy":            {Text: "The schedulers issue in {level} of all cycles, more than any single pipe is used"},
	"no-unit-busy":          {Text: "No unit is busy: warps wait"},
	"warps-stalled":         {Text: "No unit is busy; {share} of the time of a warp goes to one stall: {stall}"},
	"kernel-not-counted":    {Text: "No launch of this kernel was counted[ ({why})]"},
	"only-ranges-counted":   {Text: "Ranges were counted as a whole, not this kernel[ ({why})]"},
	"nothing-counted":       {Text: "No counters were taken of any kernel[ ({why})]"},
	"kernel-counters-lost":  {Text: "This kernel was chosen to be counted, but no counters of it came back"},
	"few-blocks":            {Text: "Its grid has fewer blocks ({blocks}) than the GPU has SMs ({sms})"},
	"launch-in-doubt":       {Text: "The launch that was counted is left out: {doubt}"},
	"counters-lack":         {Text: "It was counted, but the report lacks what a verdict needs: {counter}"},
	"counters-tell-none":    {Text: "It was counted and no unit is busy, but the report has neither waves, occupancy nor stalls"},
	"need-like-launch":      {Text: "counters of a launch like those in the timeline"},
	"need-sections":         {Text: "ncu with these sections: {sections}[ (--set {set} has them)]"},
	"l2-busier-than-moves":  {Text: "That is how busy the unit is. The bytes that it hands to the SMs, its point on the roofline, are {share} of its bandwidth; writes, fills from DRAM and lookups keep it busy too"},
	"l1-busier-than-moves":  {Text: "That is how busy the unit is. The bytes of its point on the roofline leave out shared memory and are {share} of its bandwidth; shared memory, stores, bank conflicts and scattered access keep it busy too"},
	"rules-leave-out-l2":    {Text: "NVIDIA's rules use ncu's Memory Throughput ({share}), which leaves out work inside L2, and may say otherwise"},
	"verdict-holds-for":     {Text: "The verdict holds for launches of {lasts}: {calls} of {of}, {share} of the kernel's GPU time"},
	"point-padded":          {Text: "its points count executed FLOPs, with the padding of tiles: the kernels of {stage} execute {factor} the model's FLOPs"},
	"no-flops":              {Text: "it executes no floating-point operations"},
	"roofline-ranges":       {Text: "ranges were counted as a whole, and no kernel; the ranges have no point either, because the report holds no FLOPs of them"},
	"roofline-of-ranges":    {Text: "ranges were counted as a whole, and no kernel; regions.md has the points of {n:region|regions}"},
	"roofline-no-counters":  {Text: "no counters were taken"},
	"roofline-no-peaks":     {Text: "the counters hold no peaks; ncu's sections SpeedOfLight_HierarchicalSingleRooflineChart and the like (--set roofline or full) have them"},
	"roofline-no-flops":     {Text: "no counted kernel computed in a floating-point type, or its operations were not counted; --set roofline or full counts them"},

	// Why an operator has no limiter.
	"operator-no-time":      {Text: "its kernels have no time"},
	"operator-copies":       {Text: "its device time is copies or fills, which have no limiter"},
	"operator-nothing-read": {Text: "there is neither a timeline nor a report of counters"},
	"operator-not-seen":     {Text: "its kernels are neither in the analyzed part of the timeline nor in the counters"},
	"operator-no-counters":  {Text: "no counters were taken of any kernel"},
	"operator-no-verdict":   {Text: "none of its kernels has a verdict: they were not counted, or too little of them was"},
}

// evidenceWords are thresholds that a verdict was held against, and values of evidence that
// are no counter. value is in the unit of the evidence.
var evidenceWords = map[fact.Code]words{
	// Thresholds: how a value was held against one.
	"at-least":      {Text: "at least {value}"},
	"below":         {Text: "below {value}"},
	"largest-stall": {Text: "the largest"},
	"scarcest":      {Text: "the scarcest"},

	// Values that are no counter: "{what} = {value}".
	"grid-blocks":       {Text: "blocks of the grid"},
	"median-duration":   {Text: "median duration in the timeline"},
	"idle-for":          {Text: "idle under nsys: {cause}"},
	"idle-in-call":      {Text: "idle under nsys in {call}"},
	"idle-in-lazy-call": {Text: "idle under nsys in long calls of {call}, which load code lazily"},
	"wall-nsys":         {Text: "time of {stage} under nsys"},
	"wall-unprofiled":   {Text: "time of {stage} in the unprofiled run, by its mean pass"},
	"kernels-run-nsys":  {Text: "kernels run in {stage} under nsys"},
	"busiest-share":     {Text: "share of its duration that {unit} needs at the peak[, by {counter}][, by its {work}]"},
	"total-time":        {Text: "GPU time in {scope}"},
	"launches":          {Text: "launches"},
	"chains":            {Text: "chains of kernels that could be one"},
	"chain-launches":    {Text: "launches in them"},
	"chain-length":      {Text: "launches per chain, mean"},
	"chain-gpu-time":    {Text: "GPU time of the chains"},
	"chain-gaps":        {Text: "longest way through the chains, over the host and the GPU, under nsys"},
	"layout-time":       {Text: "GPU time of kernels that convert between NCHW and NHWC"},
	"layout-share":      {Text: "share of GPU time"},
}
