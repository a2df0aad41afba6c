package message

// tablePhrases are those of tables and of other packages, by the file that says them first.
// The titles, help and legend of a column are no phrases: they stand in its declaration.
var tablePhrases = map[string]string{
	// show/metrics.go
	"metrics-unmatched":         "none of the {n} metrics in the report matches --metric {pattern}; there are: {names}",
	"metrics-unmatched-nearest": "none of the {n} metrics in the report matches --metric {pattern}; the nearest: {names}",
	"report-has-no-kernels":     "the report has no kernels",
	"kernels-in-report":         "kernels in the report: {names}[ and {n} more]",

	// view_check.go
	"not-compared": "{what}, not compared: {why}",

	// view_collectives.go
	"collective-sizes-left-out": "{n:size|sizes} with less transfer are not listed",
	"collective-sizes-absent":   "no sizes were recorded: nsys stores them with the ranges of NCCL",

	// view_compare.go
	"compare-line":       "{name}[, {of}]",
	"compare-part":       "{of}: {name}",
	"gate-values":        "{n} values",
	"noise-lead":         "measured over {n:run|runs}: spread is the deviation between processes, halves is by how much two halves of the runs differ",
	"noise-without-rule": "a row without a rule differs so much between these runs that its limit would be 100 % or more: measure more runs, or on a quieter machine",

	// view_findings.go
	"without-command-line": "without a command line: {why}",

	// view_kernel.go
	"limiter-of-gpu-time":          "{limiter} ({share} of its GPU time)",
	"reason-in-kernels-md":         "the reason stands at the kernel's entry in kernels.md",
	"kernel-has-no-counted-launch": "no launch of this kernel was counted",
	"no-reason-given":              "the result gives no reason",
	"no-verdict-on-limiter":        "no verdict on the limiter: {why}",
	"verdict-of-other-launches":    "the verdict is about launches of {time}; those of the region last {mean} on average",

	// view_layers.go
	"in-no-module": "(in no module)",
	"in-no-stage":  "(in no stage)",

	// view_ranks.go
	"ranks-single-timeline": "there is one timeline, and its processes exchange no data between GPUs: ranks, windows and repeats need several; name several files, or a folder of them",
	"rank-kernels-left-out": "{n:kernel|kernels} with less time are not listed",

	// view_region.go
	"outside-scope":          "outside",
	"wait-for":               "wait: {what}",
	"region-not-synchronous": "not synchronous: {n:range|ranges} closed before the work that they launched had ended; the time of that work on the GPU is {time} from first to last, added up[; before it no kernel ran for {lead}, mostly {cause}]",
	"outliers-count":         "{n:instance|instances} took more than twice the median; the slowest is {slowest}",

	// view_result.go
	"stage-sum":                     "the sum of {regions}",
	"stage-by":                      "measured by {region}",
	"use-absent":                    "{stage}, {measure} from {method}: {why}",
	"total-times-of":                "total times are of {scope}",
	"stage-without-unprofiled-time": "this stage has no unprofiled time",
	"stage-not-in-timeline":         "this stage is not in a timeline",
	"stage-session-clock":           "by the session's own clock, from the first to the last mark of a pass, as the unprofiled time is. The NVTX range, which Where the time goes divides, also holds what the program does around these marks, such as starting and synchronizing: under nsys a pass of it takes {time}",
	"operators-without-device-time": "no operator has device time",
	"operator-without-kernels":      "the torch profiler linked no kernel to it",
	"operators-none":                "there are no operators: the torch profiler did not run, or the workload is not PyTorch; pipeline.torch_profiler.enable=true turns it on",

	// view_samples.go
	"samples-absent": "no counters were sampled: see pipeline.nsys.gpu_metrics, and the counters row of deepprof doctor for the permission",
	"samples-count":  "{n:reading|readings} of {gpus} GPU(s) at {rate}",

	// view_sections.go
	"sections-of":          "Sets and sections of {ncu}, in the order of ncu, with what each launch costs (estimated: passes on an H200, {time} each)",
	"section-cost-guessed": "not known by name: a common cost",

	// view_serving.go
	"not-a-server-run": "this is no run of a server",
	"no-load-client":   "no client of deepprof's own drove the server: latencies are not known",

	// view_steps.go
	"engine-steps-absent": "no step of a serving engine is known: its steps are ranges with the names that docs/server.md lists",
	"steps-of-engine":     "Steps of the engine",
	"step-kernels-title":  "Kernels of each kind of step",
	"step-layers-title":   "Layers of each kind of step",
	"steps-over-time":     "Steps over time",

	// view_use.go
	"contradiction":             "contradiction ({value})",
	"few-values":                "with so few values, p90 and p99 say little more than the largest value",
	"mfu-dense-peak":            "published MFU is of the dense peak of the data sheet, and so is this: {peak}",
	"table-of-published-values": "a table of published values",
	"peak-published":            "this peak was not measured; it is from {source}",

	// internal/pipeline
	"step-goes-on":   "{text}[, of about {time}][; next: {tells}]",
	"report-reading": "report: reading what was captured", "report-writing": "report: writing",

	// internal/export
	"perfetto-dropped":      "{n} events overlap so much that no track could hold them, and are left out",
	"stream-track":          "[process {process}, ]stream {stream}[, context {context}][ {kind}]",
	"copy-of-kind":          "copy of kind {kind}",
	"set-memory":            "set memory",
	"cuda-graph":            "CUDA graph {graph}",
	"profiler-overhead":     "profiler overhead",
	"nvtx-track":            "NVTX[ {domain}]",
	"nvtx-track-start-end":  "NVTX[ {domain}], start and end",
	"nvtx-track-marks":      "NVTX[ {domain}], marks",
	"sampled-track":         "sampled metrics {n}",
	"smi-track":             "nvidia-smi, GPU {n}",
	"timelines-not-aligned": "{file} does not tell when it was captured: the timelines are not aligned",
	"pprof-region":          "launches of the region {region}",
	"pprof-counted":         "dram_bytes and flops: counted on one launch of each kernel, grid and block, and taken for each of its launches; kernels with {share} of the GPU time were counted, the others have 0",

	// internal/web
	"tool-columns": "{text}\nColumns: {columns}",
	"tile-ranges":  "thread {thread} depth {depth}",
	"tile-stream":  "process {process} GPU {device} stream {stream}",

	// internal/show
	"info-attributes":             "{name} ({n:attribute|attributes})",
	"flops-model":                 "{type}: {n} parameters[, {active} active for a token]",
	"check-of":                    "{what} of {file}",
	"ncu-times-note":              "times are those of one launch each under ncu",
	"left-out":                    "left out: {what}",
	"ncu-durations-note":          "durations were measured by Nsight Compute, launch by launch, with the clocks and caches it sets; a timeline tells what the program sees",
	"ncu-launches-without-metric": "{n:launch|launches} have no {metric} and are not counted; collect the section SpeedOfLight",
	"flops-of-run":                "counted for what the run had: a batch of {batch}, {prompt} tokens of prompt, {new} new, {dtype}",
	"bytes-results":               "{size} bytes, results: {results}",
	"container-version":           "container version",
	"embedded-cubins-and-sources": "embedded cubins and sources",
	"command-line":                "command line",
	"working-directory":           "working directory",
	"timeline-part-shown":         "of {n} timelines this shows {which}; --part takes another: its rank or its file",
	"layers-without-counters":     "without limiters, bytes, MFU, HFU and MBU: {why}",
	"steps-absent":                "no range is called step: annotate the program (pipeline.annotate=auto), or see show ranges",
	"steps-without-shapes":        "without batch, tokens and cache length: {why}",
	"nothing-passes":              "nothing passes {filters}",
	"without-limiters":            "without limiters",
	"analyzed-again":              "its captures were analyzed again: {why}",
	"whole-timeline-note":         "the whole timeline[, {lost}]: {why}",
	"scope-whole-timeline":        "the whole timeline, with loading and warm-up; the reports are about {scope}",
	"scope-of-reports":            "the {shown} of {scope} alone, which the reports are about; --whole shows the whole timeline",

	// further tables
	"region-exclusive-not-counted": "no launch outside the nested regions has a counter for it",
	"memory-bandwidth":             "memory bandwidth",
	"peak-at-clock":                "of the same limit at {clock}, the clock that the counted kernels ran at",
	"created-utc":                  "created (UTC)",
}

// phraseLabels name values that have no words of an area of their own.
var phraseLabels = map[string]map[string]string{
	// How the counters of a region came about.
	"replay":    {"kernel": "single launches", "range": "range replay", "app-range": "application range replay"},
	"severity":  {"1": "information", "2": "warning", "3": "error"},                                                                // of a diagnostic of nsys
	"made-from": {"analytic": "model"},                                                                                             // MFU, HFU and MBU
	"copy":      {"1": "copy host to device", "2": "copy device to host", "8": "copy device to device", "10": "copy peer to peer"}, // by CUPTI's number
	// What nvidia-smi samples.
	"condition": {"sm-clock": "SM clock", "memory-clock": "memory clock", "memory-used": "memory in use"},
	"tells": { // what a pipeline step will tell
		"times": "unprofiled times", "predictions": "predictions", "operators": "operators", "timeline": "where the time goes", "limiters": "the limiter of each kernel",
	},
	"aggregate": { // the measures that workloads write
		"prefill_ms": "Prefill", "decode_ms": "Decode", "ttft_ms": "Time to first token", "token_ms": "Time per token",
		"tokens_per_s": "Throughput", "images_per_s": "Throughput", "forward_ms": "Forward pass",
	},
}
