package message

import "github.com/deepprof/deepprof/internal/fact"

// methodWords say what was measured, and how: the scope of a result, the clock of counters,
// assumptions, thresholds and settings that profiling changed. Short is the name in the table
// of thresholds, Text its value.
//
// name, regions and region name a scope; share and outside are of the timeline; hz is the
// clock that counters were taken at, low and high the range of it; source is a file, a tool or
// the user.
var methodWords = map[fact.Code]words{
	// Names of lanes of the timeline.
	"lane-ranges":           {Text: "NVTX[ {domain}][ thread {thread}]"},
	"lane-ranges-start-end": {Text: "NVTX[ {domain}] start/end[ thread {thread}]"},
	"lane-stream":           {Text: "GPU {device} stream {stream}"},
	"lane-copies":           {Text: "GPU {device} stream {stream} copies"},
	"lane-calls":            {Text: "CUDA calls thread {thread}"},
	"lane-steps":            {Text: "steps"},
	"lane-layers":           {Text: "layers, GPU {device} stream {stream}"},
	"lanes-of-gpu":          {Text: "GPU {device}"},
	"lanes-of-process":      {Text: "{program} ({pid})"},
	"lanes-of-unnamed":      {Text: "process ({pid})"},
	"lanes-of-any-process":  {Text: "process not known"},
	"lanes-of-model":        {Text: "model"},

	fact.Text: {Text: "{text}", Next: "[{next}]"},

	// The scope: what the numbers of a result are about.
	"scope-name":      {Text: "{regions}"},
	"scope-name-more": {Text: "{regions}, and {more:more region|more regions}"},
	"scope-whole":     {Text: "{name}: {time} of a timeline of {of}; no kernel ran outside."},
	"scope-part": {Text: "{name}: {time} of a timeline of {of}; {outside} of GPU time in {launches:launch|launches} outside are not counted below[: {parts}].",
		Short: "{name}: {time} of a timeline of {of}; {outside} of GPU time outside are not counted below"},
	"beside-region":   {Text: "{region} {ns}"},
	"beside-no-range": {Text: "in no range {ns}"},
	"beside-more":     {Text: "{n:other region|other regions} {ns}"},

	// Clocks that peaks and counters are at.
	"clock-highest":         {Text: "{hz}, the highest clock of the device"},
	"clock-counting":        {Text: "{hz}, the clock while ncu counted"},
	"clock-memory-counting": {Text: "{hz}, the clock of the memory while ncu counted"},
	"clock-memory-highest":  {Text: "{hz}, the highest clock of the memory"},
	"counters-clock":        {Text: "SM clock {low}[ to {high}] while counting[, {lock}]"},

	// Where a peak is from (Peak.Basis).
	"peak-counter":       {Text: "ncu: {formula}"},
	"peak-counter-clock": {Text: "ncu: {counter} x the highest clock of the device"},
	"peak-table":         {Text: "table: {source}, operations per SM and cycle, at the highest clock of the device"},
	"peak-sheet":         {Text: "{source}"},
	"peak-properties":    {Text: "device properties recorded by nsys: memory clock x bus width"},

	// Thresholds of the verdicts; docs/limiter.md explains them.
	"threshold-reached":   {Short: "limit reached", Text: "a limit is reached at {share} of its peak"},
	"threshold-near":      {Short: "limits near", Text: "several limits are near from {share} of their peaks"},
	"threshold-small":     {Short: "too little work", Text: "there is too little work below {waves:wave|waves} of blocks"},
	"threshold-short":     {Short: "launch overhead", Text: "launching costs as much as running below a duration of {time}"},
	"threshold-occupancy": {Short: "low occupancy", Text: "occupancy is low where fewer warps fit than {share} of those of an SM"},
	"threshold-issue":     {Short: "low issue", Text: "issue is low below {share} of cycles"},
	"threshold-launch":    {Short: "launch-bound", Text: "a stage is launch-bound if the GPU waits for the host in at least {share} of wall time, and longer than it works"},
	"threshold-covered":   {Short: "coverage of counters", Text: "counters speak for a region from {share} of its GPU time; below {least} they say nothing of its utilization"},
	"threshold-overhead":  {Short: "overhead of nsys", Text: "a lighter capture is advised above {share} of overhead"},
	"threshold-host-gap":  {Short: "long host code", Text: "a stretch of host code is long from {time} without a CUDA call"},

	// What the operators of the torch profiler cover.
	"profiled-cpu-only":  {Text: "The torch profiler watched the CPU alone: operators have no device time"},
	"profiled-no-device": {Text: "The torch profiler recorded no device time"},
	"profiled-operators": {Text: "The operators have {time} of device time of their own[, {share} of the {of} that the torch profiler saw on the GPU][, in a pass of [{prompt} prompt tokens and ]{new} new tokens]"},
	"profiled-beside":    {Text: "Beside them, kernels take {time} in {scope}[, with {new} new tokens]"},

	// Why an operator has no device time of its own.
	"operator-calls-others":   {Text: "it launches nothing itself; the operators that it calls do"},
	"operator-runs-through":   {Text: "it launches nothing itself: it runs {kernel}[ through {by}][ for {share} of its device time, and {more:more kernel|more kernels}]"},
	"operator-cpu-only":       {Text: "only the CPU was profiled"},
	"operator-no-device-time": {Text: "the profiler recorded no device time at all"},
	"operator-allocates":      {Text: "it only allocates memory"},
	"operator-view":           {Text: "it only describes memory anew; no kernel runs"},
	"operator-on-host":        {Text: "it launched no kernel: it works on the host, {self} of its own and {total} with what it calls"},
	"operator-none-alike":     {Text: "it launched no kernel, and the timeline has none of its kind"},
	"operator-other-names":    {Text: "the profiler linked no kernel to it; kernels of its kind ({category}) ran for {time} in the timeline, launched under other names"},
	"operator-unlinked":       {Text: "the profiler linked no kernel to it"},

	// Why profiling changed a setting of the user.
	"deviates-first-sample":    {Text: "of all samples the first one stands for the rest; a number in the configuration is kept"},
	"deviates-one-pass":        {Text: "one pass shows every launch, and a profiled pass costs many times an unprofiled one"},
	"deviates-same-launches":   {Text: "nsys and ncu must see the same launches"},
	"deviates-one-profiler":    {Text: "CUPTI serves one profiler in a process; torch.profiler has a pass of its own"},
	"deviates-counted-apart":   {Text: "counting changes the operators that run; it has a pass of its own"},
	"deviates-not-profiled":    {Text: "writing predictions is not part of what is profiled"},
	"deviates-bounded-tokens":  {Text: "pipeline.torch_profiler.rep_max_new_tokens bounds the pass"},
	"deviates-brief-warmup":    {Text: "Nsight Compute takes longer for each launch the more launches came before; the counted ranges begin behind the warm-up"},
	"deviates-graph-uncounted": {Text: "a replayed graph has no operators to count"},
	"deviates-fused-uncounted": {Text: "fused operators are not counted"},
}

// methodLabels name the facts of a workload's shape, and whether ncu held the clock.
var methodLabels = map[string]map[string]string{
	"clock-lock": {"locked": "locked by ncu", "free": "not locked"},
	// Where a peak is published, by the IDs of package gpu.
	"publication": {
		"tesla-v100-white-paper":                "Tesla V100 white paper",
		"turing-white-paper":                    "Turing white paper",
		"a100-white-paper":                      "A100 white paper",
		"ga102-white-paper":                     "GA102 white paper",
		"ada-white-paper":                       "Ada white paper",
		"h100-white-paper":                      "H100 white paper",
		"blackwell-data-sheets":                 "Blackwell data sheets",
		"rtx-blackwell-white-paper":             "RTX Blackwell white paper",
		"blackwell-technical-brief-hgx-b200":    "NVIDIA Blackwell technical brief, HGX B200, half of the rates with sparsity",
		"blackwell-technical-brief-gb200-nvl72": "NVIDIA Blackwell technical brief, GB200 NVL72, half of the rates with sparsity",
		"gh200-by-h100-white-paper":             "NVIDIA H100 white paper, SXM5: the GPU of GH200 has the same 132 SMs and clock",
		"h200-data-sheet-sxm":                   "NVIDIA H200 data sheet (SXM), half of the rates with sparsity",
		"h200-data-sheet-nvl":                   "NVIDIA H200 data sheet (NVL), half of the rates with sparsity",
		"h100-white-paper-h100-sxm5":            "NVIDIA H100 white paper, H100 SXM5",
		"h100-white-paper-h100-pcie":            "NVIDIA H100 white paper, H100 PCIe",
		"h100-data-sheet-nvl":                   "NVIDIA H100 data sheet (NVL), half of the rates with sparsity",
		"h20-specifications":                    "NVIDIA H20 specifications",
		"a100-data-sheet":                       "NVIDIA A100 data sheet",
		"a30-data-sheet":                        "NVIDIA A30 data sheet",
		"a40-data-sheet":                        "NVIDIA A40 data sheet",
		"a10-data-sheet":                        "NVIDIA A10 data sheet",
		"l4-data-sheet":                         "NVIDIA L4 data sheet, half of the rates with sparsity",
		"l40-data-sheet":                        "NVIDIA L40 data sheet",
		"l40s-data-sheet":                       "NVIDIA L40S data sheet",
		"v100-data-sheet-sxm":                   "NVIDIA V100 data sheet (SXM)",
		"v100-data-sheet-pcie":                  "NVIDIA V100 data sheet (PCIe)",
		"v100-data-sheet-v100s":                 "NVIDIA V100 data sheet (V100S)",
		"t4-data-sheet":                         "NVIDIA T4 data sheet",
		"ga102-white-paper-rtx-a6000":           "NVIDIA GA102 white paper, RTX A6000",
		"rtx-blackwell-white-paper-rtx-5090":    "NVIDIA RTX Blackwell white paper, RTX 5090",
		"ada-white-paper-rtx-4090":              "NVIDIA Ada white paper, RTX 4090",
		"ada-white-paper-rtx-4080":              "NVIDIA Ada white paper, RTX 4080",
		"ga102-white-paper-rtx-3090":            "NVIDIA GA102 white paper, RTX 3090",
		"ga102-white-paper-rtx-3080":            "NVIDIA GA102 white paper, RTX 3080",
	},
	// GPU work in the timeline that has no name of its own.
	"gpu-work": {
		"gpu:graph": "CUDA graph", "gpu:set": "set",
		"gpu:copy-unknown": "copy", "gpu:copy-host-to-device": "copy host to device", "gpu:copy-device-to-host": "copy device to host",
		"gpu:copy-host-to-array": "copy host to array", "gpu:copy-array-to-host": "copy array to host", "gpu:copy-array-to-array": "copy array to array",
		"gpu:copy-array-to-device": "copy array to device", "gpu:copy-device-to-array": "copy device to array",
		"gpu:copy-device-to-device": "copy device to device", "gpu:copy-host-to-host": "copy host to host", "gpu:copy-peer-to-peer": "copy peer to peer",
	},
	// Kinds of inputs of an analysis.
	"file": {"model_config": "model config"},
	// Software of a program, where the name of the product does not say it.
	"software": {"torch_cuda": "CUDA of PyTorch"},
	// What a workload was given.
	"shape": {
		"batch_size": "batch size", "prompt_length": "prompt length", "new_tokens": "new tokens", "warmup_passes": "warm-up passes", "image_size_px": "image size (px)",
		"prompt_tokens_with_images": "prompt tokens with images", "torch_compile": "torch.compile", "cuda_graphs": "CUDA graphs",
	},
}

// Part is the name of a part of time: a category has a label of its own, a cause
// of idle time only its ID.
func Part(id, label string) string {
	switch {
	case label == "":
		return Label("idle", id)
	case id == "region":
		return label
	}
	return Label("category", label)
}

// Idle is the name of a cause of idle time. Host code says that it is Python's
// where the program is one.
func Idle(id string, python bool) string {
	text := Label("idle", id)
	if python && id == "python" {
		text += " (Python)"
	}
	return text
}
