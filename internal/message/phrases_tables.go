package message

// tablePhrases are those of tables and of other packages, by the file that says them first.
// The titles, help and legend of a column are no phrases: they stand in its declaration.
var tablePhrases = map[string]string{
	// show/metrics.go
	"metrics-unmatched":         "none of the %d metrics in the report matches --metric %s; there are: %s",
	"metrics-unmatched-nearest": "none of the %d metrics in the report matches --metric %s; the nearest: %s",
	"report-has-no-kernels":     "the report has no kernels",
	"kernels-in-report":         "kernels in the report: %s",

	// view_check.go
	"not-compared": "%s, not compared: %s",

	// view_collectives.go
	"collective-sizes-left-out": "%d sizes with less transfer are not listed",
	"collective-sizes-absent":   "no sizes were recorded: nsys stores them with the ranges of NCCL",

	// view_compare.go
	"noise-lead":         "measured over %d runs: spread is the deviation between processes, halves is by how much two halves of the runs differ",
	"noise-without-rule": "a row without a rule differs so much between these runs that its limit would be 100 % or more: measure more runs, or on a quieter machine",
	"run-and-more":       "%s and %d more",

	// view_findings.go
	"without-command-line": "without a command line: ",

	// view_kernel.go
	"reason-in-kernels-md":         "the reason stands at the kernel's entry in kernels.md",
	"kernel-has-no-counted-launch": "no launch of this kernel was counted",
	"no-reason-given":              "the result gives no reason",
	"no-verdict-on-limiter":        "no verdict on the limiter: ",
	"verdict-of-other-launches":    "the verdict is about launches of %s; those of the region last %s on average",
	"category-share-of-gpu-time":   "%s (%.0f %% of its GPU time)",

	// view_layers.go
	"in-no-module": "(in no module)",
	"in-no-stage":  "(in no stage)",

	// view_ranks.go
	"ranks-single-timeline": "there is one timeline, and its processes exchange no data between GPUs: ranks, windows and repeats need several; name several files, or a folder of them",
	"rank-kernels-left-out": "%d kernels with less time are not listed",

	// view_region.go
	"region-not-synchronous": "not synchronous: %s before the work that they launched had ended; the time of that work on the GPU is %s from first to last, added up",
	"outlier-idle-before":    "; before it no kernel ran for %s, mostly %s",
	"outliers-count":         "%s took more than twice the median; the slowest is %s",

	// view_result.go
	"stage-without-unprofiled-time": "this stage has no time without a profiler",
	"stage-not-in-timeline":         "this stage is not in a timeline",
	"stage-session-clock":           "by the session's own clock, from the first to the last mark of a pass, as the unprofiled time is. The NVTX range, which Where the time goes divides, also holds what the program does around these marks, such as starting and synchronizing: under nsys a pass of it takes ",
	"operators-without-device-time": "no operator has device time",
	"operator-without-kernels":      "the torch profiler linked no kernel to it",
	"operators-none":                "there are no operators: the torch profiler did not run, or the workload is not PyTorch; pipeline.torch_profiler.enable=true turns it on",
	"operators-total-of":            "total times are of ",

	// view_samples.go
	"samples-absent": "no counters were sampled: see pipeline.nsys.gpu_metrics, and the counters row of deepprof doctor for the permission",
	"samples-count":  "%d readings of %d GPU(s) at %.0f Hz",

	// view_sections.go
	"sections-of":          "Sets and sections of %s, in the order of ncu, with what each launch costs (estimated: passes on an H200, %.2f s each)",
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
	"few-values":                "with so few values, p90 and p99 say little more than the largest value",
	"mfu-dense-peak":            "published MFU is of the dense peak of the data sheet, and so is this: ",
	"table-of-published-values": "a table of published values",
	"peak-published":            "this peak was not measured; it is from ",

	// internal/pipeline
	"of-about": ", of about %s", "next-tells": "; next: %s", "report-reading": "report: reading what was captured", "report-writing": "report: writing",

	// internal/show
	"ncu-times-note":              "times are those of one launch each under ncu",
	"left-out":                    "left out: ",
	"ncu-durations-note":          "durations were measured by Nsight Compute, launch by launch, with the clocks and caches it sets; a timeline tells what the program sees",
	"ncu-launches-without-metric": "%d launches have no %s and are not counted; collect the section SpeedOfLight",
	"active-for-token":            ", %s active for a token",
	"flops-of-run":                "counted for what the run had: a batch of %d, %d tokens of prompt, %d new, %s",
	"bytes-results":               "%d bytes, results: %d",
	"container-version":           "container version",
	"embedded-cubins-and-sources": "embedded cubins and sources",
	"command-line":                "command line",
	"working-directory":           "working directory",
	"timeline-part-shown":         "of %d timelines this shows %s; --part takes another: its rank or its file",
	"layers-without-counters":     "without limiters, bytes, MFU, HFU and MBU: %v",
	"steps-absent":                "no range is called step: annotate the program (pipeline.annotate=auto), or see show ranges",
	"steps-without-shapes":        "without batch, tokens and cache length: %v",
	"nothing-passes":              "nothing passes ",
	"without-limiters":            ", without limiters",
	"analyzed-again":              "its captures were analyzed again: %v",
	"whole-timeline-note":         "the whole timeline%s: %v",
	"scope-whole-timeline":        "the whole timeline, with loading and warm-up; the reports are about %s",
	"scope-of-reports":            "the %s of %s alone, which the reports are about; --whole shows the whole timeline",

	// further tables
	"not-counted-note":             "not counted: ",
	"region-exclusive-not-counted": "no launch outside the nested regions has a counter for it",
	"memory-bandwidth":             "memory bandwidth",
	"peak-at-clock":                "of the same limit at %s, the clock that the counted kernels ran at",
	"created-utc":                  "created (UTC)",
}

// phraseLabels name values that have no words of an area of their own.
var phraseLabels = map[string]map[string]string{
	// How the counters of a region came about.
	"replay": {"kernel": "single launches", "range": "range replay", "app-range": "application range replay"},
	"tells": { // what a pipeline step will tell
		"times": "times without a profiler", "predictions": "predictions", "operators": "operators", "timeline": "where the time goes", "limiters": "the limiter of each kernel",
	},
	"aggregate": { // the measures that workloads write
		"prefill_ms": "Prefill", "decode_ms": "Decode", "ttft_ms": "Time to first token", "token_ms": "Time per token",
		"tokens_per_s": "Throughput", "images_per_s": "Throughput", "forward_ms": "Forward pass",
	},
}
