package message

import (
	"fmt"
	"maps"
	"strings"
)

// Phrase is a heading, a label or a sentence around what a result says, by its ID:
// what Markdown, the terminal and their tables of two columns need besides facts.
// Arguments fill the verbs of fmt in it; they are text that the caller has escaped
// for where it stands. The words of the page (PageTexts) without places for values
// are found too. An unknown ID is returned as it is; a test finds those.
func Phrase(id string, args ...any) string {
	text, ok := phrases[id]
	if !ok {
		if text, ok = pageTexts[id]; !ok {
			text = id
		}
	}
	if codesOnly {
		text = id + strings.Repeat(" %v", len(args))
	}
	if len(args) == 0 {
		return text
	}
	return fmt.Sprintf(text, args...)
}

// phrases are all of them.
var phrases = func() map[string]string {
	all := maps.Clone(pagePhrases)
	maps.Copy(all, tablePhrases)
	return all
}()

// pagePhrases are those of pages and summaries, by the file of internal/report that says
// them first. Values go into the verbs of fmt, in the order of the call; texts that stand in
// Markdown may hold Markdown.
var pagePhrases = map[string]string{
	// html/html.go
	"opening-the-report":        "Opening the report. A browser that runs the program inside this file shows timeline, kernels, counters and roofline; these are the findings.",
	"report-cannot-be-shown":    "The report cannot be shown: %s.",
	"file-carries-no-result":    "this file carries no result",
	"browser-cannot-decompress": "this browser cannot decompress the result; open the file in a browser of 2023 or later",

	// compare.go
	"compare-order":            "totals, stages and requests are in the order of the program, other tables begin with the largest change",
	"compare-sides":            "base: %s; new: %s; changes under %s do not count",
	"compare-sides-differ":     "the sides differ:",
	"compare-more-rows-all":    "%d more, with smaller changes: --all shows them",
	"waterfall-title":          "where the change comes from: %s",
	"waterfall-wall-time-of":   "wall time of a pass of %s",
	"waterfall-median-of-runs": " (median of the runs)",

	// compare_md.go
	"compare-sides-differ-in": "the sides differ in %s",
	"compare-more-rows":       "%d more, with smaller changes.",

	// compare_page.go

	// facts.go
	"exported-to":                  "exported to",
	"start-utc":                    "start (UTC)",
	"events-span":                  "events span",
	"info-profiler-overhead":       "profiler overhead, all threads",
	"info-device":                  "%d kernels on %s, %v of kernels, busy %v of %v",
	"info-process":                 "%s: %d kernels, %d CUDA calls, %d ranges, %d threads",
	"kernel-names":                 "kernel names",
	"kernels-of-cuda-graphs":       "kernels of CUDA graphs",
	"cuda-graph-launches":          "CUDA graph launches",
	"memory-copies":                "memory copies",
	"count-memory-sets":            "memory sets",
	"cuda-calls":                   "CUDA calls",
	"nvtx-ranges":                  "NVTX ranges",
	"nvtx-ranges-never-closed":     "NVTX ranges never closed",
	"nvtx-marks":                   "NVTX marks",
	"info-streams-without-kernels": " (%d more with copies or sets alone)",

	// groups.go
	"rows-summed-up": "%s rows, summed up by %s; --all prints each, --top the first, --csv and --json have every column",

	// html
	"deepprof-report": "deepprof report",

	// md_aggregates.go
	"unprofiled-absent":           "Unprofiled run: %s%s",
	"no-unprofiled-run":           "There was no run without a profiler, so times of the workload alone are not known.",
	"timeline-absent":             "Timeline: %s%s",
	"no-timeline-for-wall-time":   "There is no timeline, so wall time, idle time and calls are not known.",
	"of-wall-time":                "Of wall time",
	"no-timeline":                 "There is no timeline.",
	"wall-time-row":               "Wall time",
	"aggregate-gpu-span":          "First to last GPU work",
	"aggregate-gpu-busy":          "GPU busy with kernels or copies",
	"aggregate-kernel-runs":       "A kernel runs, on any GPU",
	"aggregate-gpu-time":          "GPU time (kernels, added up)",
	"aggregate-copy-time":         "Copy time, added up",
	"aggregate-set-time":          "Time of memory sets, added up",
	"aggregate-gpu-time-all-gpus": "GPU time of all %d GPUs, added up",
	"distinct-kernels":            "Distinct kernels",
	"scope-row":                   "Scope: %s",
	"of-its-wall-time":            "Of its wall time",
	"outside-scope-gpu-time":      "Outside the scope: GPU time",
	"outside-scope-launches":      "Outside the scope: launches",
	"mean-of-gpus":                ", mean of %d GPUs",

	// md_kernels.go
	"no-kernels":                "No kernels.%s",
	"no-kernels-captured":       "Nothing that was captured holds a kernel.",
	"kernels-summary":           "%s, told apart by name, grid and block; %s launches, %s of GPU time. Sorted by GPU time.",
	"kernels-lead-untimed":      "%s, told apart by name, grid and block.",
	"categories":                "Categories",
	"each-kernel":               "Each kernel",
	"kernel-times-absent":       "Launches, GPU time and share: %s%s",
	"timeline-lacks-kernels":    "The timeline has no launch of these kernels.",
	"ncu-replay-note":           " Under ncu is one launch alone, as ncu replays it, at the clock that it sets: not the time it takes in the program.",
	"categories-absent":         "Time by category: %s%s",
	"no-kernels-for-categories": "There are no kernels to sort into categories.",
	"categories-unmatched":      "No rule knows these names; add rules to the categories file to sort them:",
	"more-in-result-json":       "%d more, in result.json",
	"kernel-name":               "Name: %s",
	"launched-as-grid-block":    "Launched as grid %s, block %s%s",
	"calls-absent":              "Calls and times: %s%s",
	"kernel-times":              "%s, %s in total, %s of GPU time; one launch: mean %s, median %s, from %s to %s",
	"kernel-in-stages":          "In stages: %s",
	"kernel-limiter":            "**Limiter: %s.** %s",
	"kernel-no-limiter":         "**Limiter: no verdict.** %s",
	"kernel-evidence":           "Evidence: %s",
	"kernel-cause":              "Cause: %s",
	"kernel-limiter-of-group":   "Launches of about %s (%s, %s of its time): **%s.** %s By launch %d of %s.",
	"busiest-unit":              "Busiest unit: %s",
	"kernel-roofline":           "Roofline, %s against the bytes of %s: %s FLOP/B, %s, %s of what that allows",
	"kernel-padding":            "Padding: %s",
	"kernel-roofline-absent":    "Roofline: %s, because %s",
	"attained-of-peak":          " of its peak",
	"attained-by-roofline":      ", by the work of the roofline",
	"attained-by-metric":        ": how busy it is, with more than the bytes and FLOPs of the roofline",
	"shared-memory-per-block":   " of shared memory a block",
	"kernel-not-in-ncu-reports": "the reports of ncu hold no launch of it",
	"no-counters":               "no counters were taken",
	"kernel-not-counted":        "Not counted: ",
	"kernel-counted-launch":     "Counted: launch %d of %s",
	"kernel-launch-unverified":  "; **not verified** to be the launch that was meant",
	"kernel-group-duration":     "; such launches last %s in the timeline",
	"kernel-why-chosen":         " Why this kernel: ",
	"rule-speedup-estimate":     " (NVIDIA estimates %s %%",
	"rules-left-out":            "%s more of NVIDIA's rules speak; result.json has them",
	"names-in-full":             "Names in full",
	"kernels-left-out":          "%s more kernels are in result.json.",

	// md_lookup.go
	"timeline-lacks-kernel": "The timeline has no launch of this kernel.",
	"scope-lacks-kernel":    "No launch of this kernel lies in the scope.",
	"of-one-wave":           " of one wave)",
	"cell-not-counted":      "not counted",
	"cell-no-verdict":       "no verdict",
	"to-tell":               "To tell: ",

	// md_method.go
	"commands":                "Commands",
	"overhead":                "Overhead",
	"coverage-of-counters":    "Coverage of the counters",
	"method-deviations":       "Settings that profiling changed",
	"method-assumptions":      "Assumptions about the model's work",
	"method-missing":          "What could not be told",
	"analyzed-without-run":    "The files were analyzed without the run that made them, so its commands are not known.",
	"overhead-absent":         "Unprofiled against nsys: %s%s",
	"overhead-needs":          "It needs the same stage timed without a profiler and under nsys.",
	"overhead-over":           "**Over %s in %s.** %s",
	"unprofiled-program-time": "The whole program without a profiler: ",
	"counters-taken-under":    "Counters were taken under: ",
	"choice-not-recorded":     "No choice of launches is recorded.",
	"choice-made-elsewhere":   "%s of %s have counters; the choice was made outside of deepprof.",
	"counters-absent":         "Counters: %s%s",
	"row-what":                "What",
	"coverage-groups":         "Groups of launches (kernel, grid, block)",
	"chosen":                  "Chosen",
	"coverage-along":          ", some along with the chosen",
	"coverage-chosen-regions": "Coverage of GPU time in the chosen regions",
	"coverage-in":             "of it in ",
	"coverage-all":            "Coverage of all GPU time",
	"predicted-cost":          "Predicted cost",
	"actual-cost":             "Actual cost",
	"coverage-excluded":       "Left out for what they are (collectives and other kernels that wait for a peer, what patterns exclude, what lies outside the regions):",
	"coverage-cut-off":        "Cut off by a limit of the choice (`top_n`, `coverage`, `budget_s` of `pipeline.ncu.pick`):",
	"none-recorded":           "None is recorded.",
	"nothing-missing":         "Nothing is recorded as missing.",
	"result-names-no-input":   "The result names no input.",

	// md_operators.go
	"operators-lead-cpu":           "From the torch profiler, sorted by self CPU time. **Total** includes the operators that an operator calls, so totals overlap and do not add up; **self** does.",
	"operators-lead-device":        "From the torch profiler, sorted by total device time, those without any by self CPU time. **Total** includes the operators that an operator calls, so totals overlap and do not add up; **self** does.",
	"operators-absent":             "Operators: %s%s",
	"torch-profiler-did-not-run":   "The torch profiler did not run, or the workload is not PyTorch; `pipeline.torch_profiler.enable=true` turns it on.",
	"operators-no-device-time-why": "the torch profiler attributes no device time to any operator",
	"operators-no-device-time":     "No operator has device time: ",
	"shares-absent":                "Shares: %s%s",
	"limiter-absent":               "Limiter: %s%s",
	"operators-left-out":           "%s more operators are in result.json.",
	"operators-no-limiter":         "No operator has a limiter; of ",
	"operators-no-kernels":         "The torch profiler names no kernel of these operators, or none of those was counted.",

	// md_ranks.go
	"ranks-windows-and-repeats": "Ranks, windows and repeats",
	"ranks-rows-note":           "Each row is of one timeline alone; the other sections are about the row marked *. `deepprof show ranks` has all numbers, and `--by measure` their sums.",
	"rows-not-listed":           "%d more are not listed.",
	"mean-pass":                 "mean pass",
	"exchanges-between-ranks":   "Exchanges between ranks, summed over ranks. %s.",

	// md_region.go
	"counters-by-region":          "Counters by region",
	"region-counters-lead":        "Counters of single launches, joined to the timeline and extrapolated over every launch of a region. Coverage is the share of the region's GPU time whose kernels were counted; a region without counters says why, and nothing is filled in.",
	"region-launched-nothing":     "it launched no kernel",
	"region-launches-not-counted": "none of its launches was counted",
	"region-exclusive":            "Exclusive of nested regions",
	"region-gpu-span":             "First to last GPU work, added up",
	"wall-time-all-instances":     "Wall time, all instances",
	"all-gpu-time":                "all GPU time",
	"gpu-time-of":                 "the GPU time of ",
	"region-times-limiter":        "%s of %s. Limiter: %s.",
	"region-sums-note":            " Sums are over the kernels that were counted; the others are not in them.",
	"region-replay-note":          " They hold for the work as ncu replays it, by default with flushed caches, so traffic to memory may be more than in the program.",
	"region-stand-ins":            " For %s of what is counted stand launches of the same kernel, grid and block that were not counted in this region.",
	"region-coverage-exclusive":   ", and %s of that outside nested regions",
	"region-measured-by":          "Measured by %s; how much of the region that is, is not known without a timeline.%s",
	"region-coverage":             "Measured by %s; coverage %s of the region's GPU time%s.%s",
	"region-metrics-off":          "The configuration shows no metric of regions.",
	"region-kernels-unknown":      "Ranges were measured as a whole: the kernels in them are not known.",
	"region-kernels-not-listed":   "The result lists none of its %s launches.",
	"heading-nested":              "## Nested: %s",
	"region-summary":              "%s, %s of wall time, %s of GPU time in %s (%s outside its own nested regions).",

	// md_regions.go
	"gpu-time-in-scope":       "the GPU time in the scope",
	"regions-outside-scope":   ", which reads outside for regions that are not in it",
	"regions-summary":         "NVTX regions, sorted by GPU time. GPU time includes nested regions, so rows overlap; **own** leaves them out. Regions whose names differ by a number alone are one line, with # in its place. Shares are of %s (%s)%s. Limiter names what holds back most of the region's GPU time, or launch-bound where the GPU waits for the host more than it works.",
	"by-process":              "By process",
	"by-device":               "By device",
	"regions-tree-title":      "Tree",
	"regions-tree-lead":       "Wall time, GPU time and launches of each region, nested as the program nests them.",
	"regions-absent":          "Regions: %s%s",
	"timeline-without-ranges": "The timeline holds no NVTX ranges; mark the parts of the program with ranges, for example `torch.cuda.nvtx.range_push(\"prefill\")`.",
	"regions-left-out":        "%s more regions are in result.json.",
	"region-tree-line":        "%s%s  %9s wall  %9s GPU  %7s %s",
	"regions-tree-more":       "and %s more",

	// md_regionsncu.go
	"regions-summary-ncu":      "There is no timeline: these are the NVTX ranges around what ncu counted. Ranges, launches and times are those under ncu; how much of the program that is, is not known.",
	"ranges-measured-as-whole": "Ranges measured as a whole",
	"their-time":               "Their time",
	"counted-launches":         "Counted launches",
	"region-limiter":           "Limiter: %s.",
	"point-type":               "Type",
	"flop-per-byte":            "FLOP per byte",
	"point-rate-title":         "FLOP/s",
	"of-roof":                  "Of the roof",

	// md_report.go
	"performance-report":   "Performance report",
	"aggregates-title":     "Aggregates",
	"per-stage-timings":    "Per-stage timings",
	"utilization-lead":     "Share of the GPU's peak that the stage reaches, for the arithmetic of the model (MFU), the arithmetic that the hardware executed (HFU) and memory traffic (MBU). Peaks are dense, that is without structured sparsity.",
	"roofline-image":       "![Roofline: each counted kernel against the roofs](roofline.svg)",
	"top-operators":        "Top operators",
	"top-kernels":          "Top kernels",
	"link-kernels":         "All, with the counters behind each verdict: [kernels.md](kernels.md).",
	"link-regions":         "All, with their nesting: [regions.md](regions.md).",
	"warnings-count":       "**%s** to know before trusting the numbers: %s",
	"other-gpu":            "other GPU",
	"findings-absent":      "The analysis makes no finding.%s",
	"findings-absent-why":  "What was captured supports no statement about where time could be saved.",
	"model-memory-traffic": " of memory traffic",
	"model-work-per-pass":  "One pass of %s takes %s by analysis of the model.",
	"none-found":           "None found.%s",
	"opportunities-absent": "Nothing that was captured points to a change that would save time.",
	"opportunities-note":   "Ranked by seconds of %s%s. Each is an upper bound under its own assumption, unless it is called an estimate; they overlap, so they do not add up.",
	"upper-bound":          "Upper bound: ",
	"opportunity-speedup":  "; %s would be %sx as fast (Amdahl)",
	"likely-about":         "Likely: about ",
	"opportunity-action":   "What to do: ",
	"and-more-items":       "and %d more",

	// md_sections.go
	"value-is": "%s", "model-parameters": "%s parameters", "model-layers": "%d layers", "model-attention": "attention %s",
	"gpu-sms": "%d SMs", "gpu-compute": "compute %d.%d", "gpu-gigabytes": "%.1f GB", "gpu-gigabytes-per-second": "%.0f GB/s",
	"captures-lack-it":    "The captures do not hold it.",
	"operating-system":    "Operating system",
	"environment-command": "Command",
	"compute-capability":  "compute capability %s",
	"of-weights":          "%s of weights",
	"kv-cache":            "KV cache %s",
	"mfu-peak-note":       "The peak of MFU is at %s: what the GPU could do at most. The table of the roofline gives the same limit at %s, because each counted kernel is held against what was possible while it was counted.",
	"utilization-absent":  "it needs the work of the model, or counters, and the time of the stage",
	"peaks-absent":        "It needs counters that hold the peaks of this chip.",
	"roofline-absent":     "Roofline: %s%s",

	// md_serving.go
	"requests":                   "Requests",
	"windows-lead":               "What clients saw in each window: `unprofiled` is a start without nsys, in `idle` windows the session collects nothing. `deepprof show requests` has all numbers.",
	"collecting-costs":           "Collecting costs",
	"against-idle-windows":       "against idle windows",
	"session-itself-costs":       "The session itself costs",
	"against-start-without-nsys": "against a start without nsys",
	"session-cost-throughput":    "%s %.1f %% of the throughput, %s.",
	"session-cost-unknown":       "Throughput is not compared %s: windows of one kind differ by more than a quarter, because requests come in waves. Longer windows, or lengths that vary, even them out.",
	"session-cost-latency":       "%s %+.1f %% of the median time between tokens, %s.",

	"load-closed":    "The load: %s, prompts of %s tokens, answers of %s tokens, %d clients, each of which waits for its answer.",
	"load-open":      "The load: %s, prompts of %s tokens, answers of %s tokens, %g requests/s at random moments, at most %d at once.",
	"no-goodput":     "No goodput: it needs a target of latency (pipeline.server.load.target_ttft_s, target_tpot_s).",
	"no-cache-use":   "Use of the KV cache is not known: this engine does not tell it in /metrics.",
	"no-peak-memory": "The peak of GPU memory is not known: this engine does not tell it in /metrics, and no sample of nvidia-smi does.",

	// view_serving.go
	"mfu-and-mbu-of": "MFU and MBU of %s: %s.",

	// md_split.go
	"part":                   "Part",
	"row-whole-timeline":     "whole timeline",
	"busy-and-idle-absent":   "Busy and idle time: %s%s",
	"no-timeline-for-busy":   "There is no timeline, so it is not known when the GPU worked and when it waited.",
	"time-split-lead":        "Wall time of all passes in the timeline. Time in which a kernel runs is divided by kernel category (work that ran at the same time is shared out), time in which none runs by its cause, copies among them; the times add up to the wall time, and each share is rounded by itself. \"GPU busy\" elsewhere counts copies as work.",
	"time-split-ranges":      "These are times of the NVTX ranges under nsys. *Per-stage timings* gives those by the session's own clock, which leave out what the program does around its marks.",
	"stage-is-launch-bound":  "**%s is launch-bound**: under nsys the GPU waits for the CPU to launch work %s of the time and works %s of it, so faster kernels alone will not help.",
	"stage-host-code-gaps":   " %s of that are long stretches of host code without a CUDA call.",
	"stage-launch-gaps-gain": " Closing the launch gaps could save at most ",
	"kernel-runs":            "a kernel runs",
	"no-kernel-runs":         "No kernel runs",
	"no-kernel-runs-own":     "No kernel of its own runs",

	// md_stages.go
	"overhead-advice": "go by the times of the unprofiled run",
	"overhead-large":  "over %s: the timeline of %s is much slower than the program alone. %s",
	"stages-absent":   "Stages: %s%s",
	"stages-unknown":  "Neither a timeline nor the times of the workload tell where a stage begins and ends.",
	"and-more-names":  " and %d more",
	"under-nsys-end":  " under nsys",
	"stage-includes":  "%s includes %s%s. They are parts of it and are not added to it.",

	// md_stakeholder.go
	"plain-title":                "Summary",
	"what-was-measured":          "What was measured: %s.",
	"in-short":                   "**In short:** %s",
	"plain-stage-timings":        "Per-Stage Timings",
	"mfu":                        "MFU",
	"plain-top-operators":        "Top Operators",
	"plain-top-kernels":          "Top Kernels",
	"plain-largest-saving":       "The largest possible saving: %s, at most %s%s.",
	"link-report":                "Numbers with their evidence: [report.md](report.md).",
	"measure":                    "Measure",
	"meaning":                    "Meaning",
	"plain-unprofiled-mean":      "mean of %s without a profiler",
	"times-without-profiler":     "Times without a profiler",
	"plain-profiled-span":        "under the profiler, from first to last event",
	"plain-profiled-scope":       "under the profiler, in %s; the whole recording takes %s",
	"time-observed":              "Time observed",
	"gpu-at-work":                "GPU at work",
	"plain-gpu-busy-share":       "share of the time observed in which the GPU computed or copied",
	"no-timeline-for-idle":       "There is no timeline, so idle time is not known.",
	"kernels-launched":           "Kernels launched",
	"no-timeline-for-launches":   "There is no timeline, so launches are not known.",
	"plain-launches":             "programs started on the GPU, %s different ones",
	"plain-launches-outside":     "; %s more outside, such as loading and warm-up, are not counted",
	"mean-time-per-pass":         "Mean time per pass",
	"plain-gpu-computes":         "Of which the GPU computes",
	"plain-profiled-mean":        "Under the profiler, mean per pass",
	"plain-limiter":              "What holds it up",
	"plain-stage-split-lead":     "Of the stage under the profiler, with starting and synchronizing: what share it is without one is not known.",
	"stage-without-gpu-work":     "The timeline of this stage has no work of a GPU.",
	"stage-without-timeline":     "There is no timeline of this stage.",
	"plain-launch-bound":         "the CPU cannot hand out work fast enough",
	"plain-idle-because":         "no kernel runs: ",
	"plain-gpu-work-mostly":      "the GPU's work, mostly ",
	"gpus-work":                  "the GPU's work",
	"plain-utilization-lead":     "How much of what the GPU can do at most is used: its arithmetic and its memory bandwidth (MBU). MFU counts the arithmetic that the model needs, HFU, from counters, what the GPU executed.",
	"gpu-time-absent":            "GPU time: %s%s",
	"operators-no-gpu-time":      "No operator has GPU time of its own: [operators.md](operators.md) has them all.",
	"operators-without-own-time": "Operators that only call others are left out; [operators.md](operators.md) has them all.",

	// md_text.go
	"recorded-run": "recorded run: these numbers are not of this machine", "the-run-failed": "The run failed", "the-run-was-interrupted": "The run was interrupted",
	"no-name":                 "(no name)",
	"banner-recorded":         "> **Recorded run.** These numbers come from a recording%s, not from this machine.",
	"banner-unfinished":       "> **%s.** What it had captured by then is shown; the rest is missing.",
	"banner-recorded-session": " of a session on ",
	"result-json-of-run":      "result.json of run ",
	"made-by-from":            "Made by %s from %s.",

	// page_ranks.go
	"parts-apart": "times are of each part alone",

	// roofline_svg.go
	"no-roofline":          "No roofline: %s.",
	"recorded-not-here":    "recorded run: not of this machine",
	"there-is-no-roofline": "There is no roofline: %s",
	"roofline-described":   "%d points of kernels by arithmetic intensity (FLOP per byte) and achieved FLOP per second, below the roofs that ncu reports for this GPU.",
	"roofline-point":       "%s: %s over %s, %.3g FLOP/byte, %sFLOP/s, %.0f %% of its roof",
	"roofline-axis":        "arithmetic intensity (FLOP per byte)",
	"roofline-title":       "Roofline: achieved FLOP per second; area of a dot by total time",
	"points-left-out":      "%d points of the least time are left out",
	"peak-not-measured":    " (not measured)",

	// runs.go
	"run-resume-hint": "'deepprof runs resume %s' goes on with %s",
	"in-processes":    ", in %d processes",
	"step-exit-code":  ", exit code %d",
	"would-remove":    "would remove",
	"others-stay":     "others stay",
	"other-stays":     "other stays",
	"pack-size":       "%s: %d files, %.1f MB of %.1f MB",
	"packed-left-out": "left out %s",
	"clean-summary":   "%s packed, %s removed, %.1f MB freed; %s not old enough",

	// scope.go
	"mean-of-gpus-to": " (mean of %d GPUs, %s to %s)",

	// summary.go
	"screen-unfinished":       ": what it had captured by then is shown",
	"screen-scope-time":       "%s: %s under nsys, of a timeline of %s",
	"gpu-busy":                "GPU busy ",
	"screen-launches-outside": "%s launches (%s) outside are not counted",
	"screen-timeline-summary": "%s under nsys, GPU busy %s%s, %s launches",
	"more-finding":            "more finding",
	"not-measured-head":       "not measured: ",
	"thing-not-measured":      "thing not measured",
	"things-not-measured":     "things not measured",
	"in-report":               "in the report: ",
	"nsys-slowed":             "nsys slowed %s: %s",

	// summary_tables.go
	"steps-by-time":          "steps by time",
	"stage-in-order":         "stage, in order",
	"stages-in-order":        "stages in the order of the program",
	"limiter-levels":         "limiter: % of that limit in use; too little work: % of one wave of blocks",
	"unprofiled-mean-pass":   "unprofiled, mean pass",
	"median-pass":            "median pass",
	"under-nsys-median-pass": "under nsys, median pass",
	"under-nsys-median-step": "under nsys, median step",
	"fastest-step":           "fastest step",
	"slowest-step":           "slowest step",
	"steps-of-stage":         "steps",
	"share-of-all":           "of all",
	"kernel-by-gpu-time":     "kernel, by GPU time",
	"screen-too-narrow":      "too narrow for %s; see the report",

	// tiles.go
	"time-to-first-token": "Time to first token",
	"time-per-token":      "Time per token",
	"median-unprofiled":   "median, unprofiled",

	// view.go
	"in-order-of":   "in the order of %s",
	"sorted-by":     "sorted by %s",
	"largest-first": "sorted by %s, largest first",

	// write.go
	"no-rows":          "no rows",
	"table-too-narrow": "the terminal is too narrow for %s; %s has every column",
	"more-rows":        "%d more rows.",
}
