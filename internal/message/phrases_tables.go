package message

// tablePhrases are those of tables and of other packages, by the file that says them
// first.
var tablePhrases = map[string]string{
	// show/metrics.go
	"metrics-unmatched":         "none of the %d metrics in the report matches --metric %s; there are: %s",
	"metrics-unmatched-nearest": "none of the %d metrics in the report matches --metric %s; the nearest: %s",
	"report-has-no-kernels":     "the report has no kernels",
	"kernels-in-report":         "kernels in the report: %s",
	"kernels-in-report-more":    " and %d more",

	// view_check.go
	"not-compared": "%s, not compared: %s",

	// view_collectives.go
	"sizes-with-less-transfer-are": "%d sizes with less transfer are not listed",
	"no-sizes-were-recorded-nsys":  "no sizes were recorded: nsys stores them with the ranges of NCCL",

	// view_compare.go
	"measured-over-runs-spread-is": "measured over %d runs: spread is the deviation between processes, halves is by how much two halves of the runs differ",
	"row-without-rule-differs-so":  "a row without a rule differs so much between these runs that its limit would be 100 % or more: measure more runs, or on a quieter machine",
	"run-and-more":                 "%s and %d more",

	// view_findings.go
	"without-command-line": "without a command line: ",

	// view_kernel.go
	"reason-stands-at-kernels-entry": "the reason stands at the kernel's entry in kernels.md",
	"no-launch-of-this-kernel-was":   "no launch of this kernel was counted",
	"result-gives-no-reason":         "the result gives no reason",
	"no-verdict-on-limiter":          "no verdict on the limiter: ",
	"verdict-is-about-launches-of":   "the verdict is about launches of %s; those of the region last %s on average",
	"percent-of-its-gpu-time":        "%s (%.0f %% of its GPU time)",

	// view_layers.go
	"in-no-module": "(in no module)",

	// view_ranks.go
	"there-is-one-timeline-and":  "there is one timeline, and its processes exchange no data between GPUs: ranks, windows and repeats need several; name several files, or a folder of them",
	"kernels-with-less-time-are": "%d kernels with less time are not listed",

	// view_region.go
	"not-synchronous-before-work-that": "not synchronous: %s before the work that they launched had ended; the time of that work on the GPU is %s from first to last, added up",
	"before-it-no-kernel-ran":          "; before it no kernel ran for %s, mostly %s",
	"took-more-than-twice-median":      "%s took more than twice the median; the slowest is %s",

	// view_result.go
	"this-stage-has-no-time":          "this stage has no time without a profiler",
	"this-stage-is-not-in":            "this stage is not in a timeline",
	"by-sessions-own-clock-from":      "by the session's own clock, from the first to the last mark of a pass, as the unprofiled time is. The NVTX range, which Where the time goes divides, also holds what the program does around these marks, such as starting and synchronizing: under nsys a pass of it takes ",
	"operators-without-device-time":   "no operator has device time",
	"torch-profiler-linked-no-kernel": "the torch profiler linked no kernel to it",
	"there-are-no-operators-torch":    "there are no operators: the torch profiler did not run, or the workload is not PyTorch; pipeline.torch_profiler.enable=true turns it on",
	"total-times-are-of":              "total times are of ",

	// view_samples.go
	"no-counters-were-sampled-see": "no counters were sampled: see pipeline.nsys.gpu_metrics, and the counters row of deepprof doctor for the permission",
	"readings-of-gpu-s-at":         "%d readings of %d GPU(s) at %.0f Hz",

	// view_sections.go
	"sections-of":          "Sets and sections of %s, in the order of ncu, with what each launch costs (estimated: passes on an H200, %.2f s each)",
	"section-cost-guessed": "not known by name: a common cost",

	// view_serving.go
	"this-is-no-run-of":          "this is no run of a server",
	"no-client-of-deepprofs-own": "no client of deepprof's own drove the server: latencies are not known",

	// view_steps.go
	"no-step-of-serving-engine": "no step of a serving engine is known: its steps are ranges with the names that docs/server.md lists",
	"steps-of-engine":           "Steps of the engine",
	"kernels-of-each-kind-of":   "Kernels of each kind of step",
	"layers-of-each-kind-of":    "Layers of each kind of step",
	"steps-over-time":           "Steps over time",

	// view_use.go
	"few-values":                 "with so few values, p90 and p99 say little more than the largest value",
	"published-mfu-is-of-dense":  "published MFU is of the dense peak of the data sheet, and so is this: ",
	"table-of-published-values":  "a table of published values",
	"this-peak-was-not-measured": "this peak was not measured; it is from ",

	// internal/pipeline
	"of-about": ", of about %s", "next-tells": "; next: %s", "report-reading": "report: reading what was captured", "report-writing": "report: writing",

	// internal/show
	"times-are-those-of-one":            "times are those of one launch each under ncu",
	"left-out":                          "left out: ",
	"durations-were-measured-by-nsight": "durations were measured by Nsight Compute, launch by launch, with the clocks and caches it sets; a timeline tells what the program sees",
	"launches-have-no-and-are":          "%d launches have no %s and are not counted; collect the section SpeedOfLight",
	"active-for-token":                  ", %s active for a token",
	"counted-for-what-run-had":          "counted for what the run had: a batch of %d, %d tokens of prompt, %d new, %s",
	"bytes-results":                     "%d bytes, results: %d",
	"container-version":                 "container version",
	"embedded-cubins-and-sources":       "embedded cubins and sources",
	"command-line":                      "command line",
	"working-directory":                 "working directory",
	"of-timelines-this-shows-part":      "of %d timelines this shows %s; --part takes another: its rank or its file",
	"without-limiters-bytes-mfu-hfu":    "without limiters, bytes, MFU, HFU and MBU: %v",
	"no-range-is-called-step":           "no range is called step: annotate the program (pipeline.annotate=auto), or see show ranges",
	"without-batch-tokens-and-cache":    "without batch, tokens and cache length: %v",
	"nothing-passes":                    "nothing passes ",
	"without-limiters":                  ", without limiters",
	"its-captures-were-analyzed-again":  "its captures were analyzed again: %v",
	"whole-timeline-note":               "the whole timeline%s: %v",
	"whole-timeline-with-loading-and":   "the whole timeline, with loading and warm-up; the reports are about %s",
	"of-alone-which-reports-are":        "the %s of %s alone, which the reports are about; --whole shows the whole timeline",

	// further tables
	"not-counted-note":                 "not counted: ",
	"no-launch-outside-nested-regions": "no launch outside the nested regions has a counter for it",
	"memory-bandwidth":                 "memory bandwidth",
	"of-same-limit-at":                 "of the same limit at ",
	"clock-that-counted-kernels-ran":   ", the clock that the counted kernels ran at",
	"created-utc":                      "created (UTC)",
}

var phraseLabels = map[string]map[string]string{
	"tells": { // what a pipeline step will tell
		"times": "times without a profiler", "predictions": "predictions", "operators": "operators", "timeline": "where the time goes", "limiters": "the limiter of each kernel",
	},
	"aggregate": { // the measures that workloads write
		"prefill_ms": "Prefill", "decode_ms": "Decode", "ttft_ms": "Time to first token", "token_ms": "Time per token",
		"tokens_per_s": "Throughput", "images_per_s": "Throughput", "forward_ms": "Forward pass",
	},
}
