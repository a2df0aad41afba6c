package message

import "github.com/deepprof/deepprof/internal/fact"

// compareLabels are the words for the enumerated values of a comparison: its kinds of rows,
// metrics, clocks, statuses, claims, outcomes and parts of a waterfall. internal/compare has
// the values; JSON and CSV hold them as they are.
var compareLabels = map[string]map[string]string{
	"compare.clock":        {"unprofiled": "unprofiled", "idle": "in an idle session of nsys", "nsys": "under nsys", "span": "under nsys, first to last GPU work", "gpu": "GPU time", "torch": "under the torch profiler", "": ""},
	"compare.side":         {"base": "the base side", "new": "the new side"},
	"compare.status":       {"new": "new", "gone": "gone", "common": "", "renamed": "renamed", "reconfigured": "other grids or blocks", "not-measured": "not measured on the other side"},
	"compare.circumstance": {"gpu": "GPU", "driver": "driver", "cuda": "CUDA", "nsys": "nsys", "model": "model", "inputs": "inputs"},
	"compare.claim": {
		"cause":   "that the program made the difference: it may be this",
		"times":   "any verdict on times and rates",
		"wall":    "verdicts on wall times under nsys",
		"totals":  "verdicts on totals: kernels, layers, operators",
		"regions": "verdicts on regions, layers and steps",
		"kernels": "verdicts on kernels and launches",
		"ranks":   "verdicts on ranks",
	},
	"compare.kind": {"total": "total", "stage": "stages", "mfu": "MFU", "mbu": "MBU", "workload": "measured by the workload", "step": "steps",
		"layer": "layers", "region": "regions", "operator": "operators", "kernel": "kernels", "request": "requests", "rank": "ranks", "sample": "sampled counters"},
	"compare.metric": {"time": "", "gpu_time": "GPU time", "share": "", "tokens_per_s": "tokens/s", "rate": "per second", "value": "", "bytes": "memory",
		"launches": "launches", "launch_time": "time of a launch", "kernels": "kernels", "copy_bytes": "bytes copied", "model_flops": "FLOPs of the model", "model_bytes": "bytes of the model", "errors": "", "used": "", "gap_before": "gap before", "gpu_active": "GPU active", "sm_active": "SMs active", "sm_issue": "issue", "tensor_active": "tensor cores", "dram_read": "DRAM read", "dram_write": "DRAM write", "communication": "communication", "exposed": "exposed communication"},
	"compare.outcome": {"pass": "pass", "fail": "FAIL", "cannot-tell": "cannot tell"},
	"compare.fall":    {"time": "wall time", "gpu_time": "GPU time by kernel", "operators": "GPU time of the whole timeline by operator"},
	"compare.part": {"busy": "a kernel runs", "idle": "no kernel runs", "kernel": "kernel", "operator": "operator", "region": "region", "rest": "kernels that are not listed", "outside": "launched in no operator", "others": "others", "sum": "sum",
		"unprofiled": "from these, under nsys, to the unprofiled time", "median": "from the mean of the runs to their median"},
}

// compareWords are what comparisons say: verdicts on a row with why none is given, the
// circumstances in which sides differ, and the headline.
//
// base and new are a value, or the names, of the two sides; change, low and high are relative,
// gpu_change that of the GPU time; have and need count processes a side, most is the limit of
// need; of and kind are IDs of the domains compare.circumstance and compare.kind.
var compareWords = map[fact.Code]words{
	// Why a row has no verdict.
	"compare-one-sample":   {Text: "one process a side: how far processes differ is not known", Next: "repeat: deepprof compare --run 5, pipeline.repeats=5, or several --base and --new"},
	"compare-too-few":      {Text: "{have:process|processes} a side are too few; {need} would tell"},
	"compare-too-noisy":    {Text: "{have:process|processes} a side are too few, and over {most} would be needed", Next: "measure on a quieter machine, or compare GPU time"},
	"compare-one-sided":    {Text: "only one side has it ({status})"},
	"compare-not-positive": {Text: "a sample is 0, so there is no ratio"},
	"compare-forbidden":    {Text: "no verdict: {why}"},
	"compare-other-time":   {Text: "the times are of different kinds: {base} and {new}", Next: "measure both sides in the same way"},
	"compare-given-again":  {Text: "given more than once, maybe under another name, and counted once: {runs}", Next: "several processes are needed: deepprof compare --run 5, or pipeline.repeats=5"},

	// Circumstances in which the sides differ.
	"compare-other-gpu":        {Text: "GPU: {base} against {new}"},
	"compare-other-driver":     {Text: "driver: {base} against {new}"},
	"compare-other-cuda":       {Text: "CUDA: {base} against {new}"},
	"compare-other-cpu":        {Text: "CPU: {base} against {new}"},
	"compare-other-nsys":       {Text: "nsys: {base} against {new}"},
	"compare-other-ncu":        {Text: "ncu: {base} against {new}"},
	"compare-other-software":   {Text: "software: {base} against {new}"},
	"compare-other-model":      {Text: "model: {base} against {new}"},
	"compare-other-inputs":     {Text: "inputs: {base} against {new}"},
	"compare-other-annotation": {Text: "regions made by: {base} against {new}"},
	"compare-other-load":       {Text: "load on the server: {base} against {new}"},
	"compare-other-world":      {Text: "processes of the job: {base} against {new}"},
	"compare-other-rank":       {Text: "kernels, regions and stages are those of {base} against {new}"},
	"compare-other-scope":      {Text: "regions that are counted: {base} against {new}"},
	"compare-other-passes":     {Text: "passes in the timeline: {base} against {new}"},
	"compare-other-trace":      {Text: "trace of CUDA graphs: {base} against {new}"},
	"compare-other-keys":       {Text: "{keys:setting|settings} that only one side has: another version of deepprof made it"},
	"compare-other-setting":    {Text: "setting {key}: {base} against {new}"},
	"compare-other-clocks":     {Text: "clock of the SMs: {base} against {new}"},
	"compare-throttled":        {Text: "{side} was throttled in {share} of the samples[: {reasons}]", Next: "let the GPU cool, or lock its clocks (nvidia-smi -lgc), and measure again"},

	// Doubts about the comparison as a whole.
	"compare-not-known":    {Text: "not known of {side}: {of}"},
	"compare-side-lacks":   {Text: "{kind}: {side} measured none, so none is called new or gone"},
	"compare-same-process": {Text: "{n:process is|processes are} on both sides: a process does not differ from itself", Next: "compare different runs"},

	// Why a rule of a gate cannot be evaluated.
	"compare-rule-no-interval": {Text: "it cannot be evaluated: {why}"},
	"compare-rule-no-base":     {Text: "the base side lacks it, so there is no relative change"},

	// Verdicts on a row: Short is for the column, Text for the headline.
	"compare-said-faster":      {Text: "faster"},
	"compare-said-slower":      {Text: "slower"},
	"compare-said-no-change":   {Text: "no change"},
	"compare-said-more":        {Text: "more"},
	"compare-said-fewer":       {Text: "fewer"},
	"compare-said-new":         {Text: "new"},
	"compare-said-gone":        {Text: "gone"},
	"compare-said-needs":       {Text: "cannot tell (needs {need} a side)"},
	"compare-said-needs-many":  {Text: "cannot tell (needs over {most} a side)"},
	"compare-said-cannot-tell": {Text: "cannot tell"},

	// The headline; Short has at most 20 words.
	"compare-head-faster":      {Short: "faster by {change}: {base} to {new} {clock}", Text: "faster by {change}: {base} to {new} {clock}[ (between {low} and {high})][; GPU time {gpu_change}, {gpu}]"},
	"compare-head-slower":      {Short: "slower by {change}: {base} to {new} {clock}", Text: "slower by {change}: {base} to {new} {clock}[ (between {low} and {high})][; GPU time {gpu_change}, {gpu}]"},
	"compare-head-no-change":   {Short: "no change within {within}: {base} to {new} {clock}", Text: "no change within {within}: {base} to {new} {clock}[ (between {low} and {high})][; GPU time {gpu_change}, {gpu}]"},
	"compare-head-cannot-tell": {Short: "cannot tell whether it is faster: {base} to {new} {clock}", Text: "cannot tell whether it is faster: {base} to {new} {clock}[ (between {low} and {high})]; {why}[; GPU time {gpu_change}, {gpu}]"},
	"compare-head-nothing":     {Text: "no time of the whole was measured in the same way on both sides"},
}
