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

// pagePhrases are those of pages and summaries, by the file of internal/report that
// says them first.
var pagePhrases = map[string]string{
	// html/html.go
	"opening-the-report":        "Opening the report. A browser that runs the program inside this file shows timeline, kernels, counters and roofline; these are the findings.",
	"report-cannot-be-shown":    "The report cannot be shown: %s.",
	"file-carries-no-result":    "this file carries no result",
	"browser-cannot-decompress": "this browser cannot decompress the result; open the file in a browser of 2023 or later",

	// compare.go
	"totals-stages-and-requests-are": "totals, stages and requests are in the order of the program, other tables begin with the largest change",
	"base-new-changes-under-do":      "base: %s; new: %s; changes under %s do not count",
	"sides-differ":                   "the sides differ:",
	"more-with-smaller-changes-all":  "%d more, with smaller changes: --all shows them",
	"change-comes-from":              "where the change comes from, ",
	"wall-time-of-pass-of":           "wall time of a pass of ",
	"median-of-runs":                 " (median of the runs)",

	// compare_md.go
	"sides-differ-in":           "the sides differ in %s",
	"change-comes-from-md":      "where the change comes from: ",
	"more-with-smaller-changes": "%d more, with smaller changes.",

	// compare_page.go
	"change-comes-from-page": "Where the change comes from: ",

	// facts.go
	"exported-to":                       "exported to",
	"start-utc":                         "start (UTC)",
	"events-span":                       "events span",
	"profiler-overhead-all-threads":     "profiler overhead, all threads",
	"kernels-on-of-kernels-busy":        "%d kernels on %s, %v of kernels, busy %v of %v",
	"kernels-cuda-calls-ranges-threads": "%s: %d kernels, %d CUDA calls, %d ranges, %d threads",
	"kernel-names":                      "kernel names",
	"kernels-of-cuda-graphs":            "kernels of CUDA graphs",
	"cuda-graph-launches":               "CUDA graph launches",
	"memory-copies":                     "memory copies",
	"count-memory-sets":                 "memory sets",
	"cuda-calls":                        "CUDA calls",
	"nvtx-ranges":                       "NVTX ranges",
	"nvtx-ranges-never-closed":          "NVTX ranges never closed",
	"nvtx-marks":                        "NVTX marks",
	"more-with-copies-or-sets":          " (%d more with copies or sets alone)",

	// groups.go
	"rows-summed-up-by-all": "%s rows, summed up by %s; --all prints each, --top the first, --csv and --json have every column",

	// html
	"deepprof-report": "deepprof report",

	// md_aggregates.go
	"unprofiled-absent":         "Unprofiled run: %s%s",
	"there-was-no-run-without":  "There was no run without a profiler, so times of the workload alone are not known.",
	"timeline-absent":           "Timeline: %s%s",
	"there-is-no-timeline-so":   "There is no timeline, so wall time, idle time and calls are not known.",
	"of-wall-time":              "Of wall time",
	"there-is-no-timeline":      "There is no timeline.",
	"wall-time-row":             "Wall time",
	"first-to-last-gpu-work":    "First to last GPU work",
	"gpu-busy-with-kernels-or":  "GPU busy with kernels or copies",
	"kernel-runs-on-any-gpu":    "A kernel runs, on any GPU",
	"gpu-time-kernels-added-up": "GPU time (kernels, added up)",
	"copy-time-added-up":        "Copy time, added up",
	"time-of-memory-sets-added": "Time of memory sets, added up",
	"gpu-time-of-all-gpus":      "GPU time of all %d GPUs, added up",
	"distinct-kernels":          "Distinct kernels",
	"scope-row":                 "Scope: %s",
	"of-its-wall-time":          "Of its wall time",
	"outside-scope-gpu-time":    "Outside the scope: GPU time",
	"outside-scope-launches":    "Outside the scope: launches",
	"mean-of-gpus":              ", mean of %d GPUs",

	// md_kernels.go
	"no-kernels":                      "No kernels.%s",
	"nothing-that-was-captured-holds": "Nothing that was captured holds a kernel.",
	"kernels-told-apart":              "%s, told apart by name, grid and block; %s launches, %s of GPU time. Sorted by GPU time.",
	"kernels-lead-untimed":            "%s, told apart by name, grid and block.",
	"categories":                      "Categories",
	"each-kernel":                     "Each kernel",
	"kernel-times-absent":             "Launches, GPU time and share: %s%s",
	"timeline-has-no-launch-of":       "The timeline has no launch of these kernels.",
	"under-ncu-is-one-launch":         " Under ncu is one launch alone, as ncu replays it, at the clock that it sets: not the time it takes in the program.",
	"categories-absent":               "Time by category: %s%s",
	"there-are-no-kernels-to":         "There are no kernels to sort into categories.",
	"no-rule-knows-these-names":       "No rule knows these names; add rules to the categories file to sort them:",
	"more-in-result-json":             "%d more, in result.json",
	"kernel-name":                     "Name: %s",
	"launched-as-grid-block":          "Launched as grid %s, block %s%s",
	"calls-absent":                    "Calls and times: %s%s",
	"kernel-times":                    "%s, %s in total, %s of GPU time; one launch: mean %s, median %s, from %s to %s",
	"kernel-in-stages":                "In stages: %s",
	"kernel-limiter":                  "**Limiter: %s.** %s",
	"kernel-no-limiter":               "**Limiter: no verdict.** %s",
	"kernel-evidence":                 "Evidence: %s",
	"kernel-cause":                    "Cause: %s",
	"launches-of-about-of-its":        "Launches of about %s (%s, %s of its time): **%s.** %s By launch %d of %s.",
	"busiest-unit":                    "Busiest unit: %s",
	"roofline-against-bytes-of-flop":  "Roofline, %s against the bytes of %s: %s FLOP/B, %s, %s of what that allows",
	"kernel-padding":                  "Padding: %s",
	"roofline-because":                "Roofline: %s, because %s",
	"of-its-peak":                     " of its peak",
	"by-work-of-roofline":             ", by the work of the roofline",
	"how-busy-it-is-with":             ": how busy it is, with more than the bytes and FLOPs of the roofline",
	"of-shared-memory-block":          " of shared memory a block",
	"reports-of-ncu-hold-no":          "the reports of ncu hold no launch of it",
	"no-counters-were-taken":          "no counters were taken",
	"not-counted-because":             "Not counted: ",
	"counted-launch-of":               "Counted: launch %d of %s",
	"not-verified-to-be-launch":       "; **not verified** to be the launch that was meant",
	"such-launches-last":              "; such launches last ",
	"in-timeline":                     " in the timeline",
	"why-this-kernel":                 " Why this kernel: ",
	"nvidia-estimates-percent":        " (NVIDIA estimates %s %%",
	"more-of-nvidias-rules-speak":     "%s more of NVIDIA's rules speak; result.json has them",
	"names-in-full":                   "Names in full",
	"more-kernels-are-in-result":      "%s more kernels are in result.json.",

	// md_lookup.go
	"timeline-has-no-launch-of-this": "The timeline has no launch of this kernel.",
	"no-launch-of-this-kernel":       "No launch of this kernel lies in the scope.",
	"of-one-wave":                    " of one wave)",
	"cell-not-counted":               "not counted",
	"cell-no-verdict":                "no verdict",
	"to-tell":                        "To tell: ",

	// md_method.go
	"commands":                        "Commands",
	"overhead":                        "Overhead",
	"coverage-of-counters":            "Coverage of the counters",
	"settings-that-profiling-changed": "Settings that profiling changed",
	"assumptions-about-models-work":   "Assumptions about the model's work",
	"what-could-not-be-told":          "What could not be told",
	"files-were-analyzed-without-run": "The files were analyzed without the run that made them, so its commands are not known.",
	"overhead-absent":                 "Unprofiled against nsys: %s%s",
	"it-needs-same-stage-timed":       "It needs the same stage timed without a profiler and under nsys.",
	"overhead-over":                   "**Over %s in %s.** %s",
	"whole-program-without-profiler":  "The whole program without a profiler: ",
	"counters-were-taken-under":       "Counters were taken under: ",
	"no-choice-of-launches-is":        "No choice of launches is recorded.",
	"of-have-counters-choice-was":     "%s of %s have counters; the choice was made outside of deepprof.",
	"counters-absent":                 "Counters: %s%s",
	"row-what":                        "What",
	"groups-of-launches-kernel-grid":  "Groups of launches (kernel, grid, block)",
	"chosen":                          "Chosen",
	"some-along-with-chosen":          ", some along with the chosen",
	"coverage-of-gpu-time-in":         "Coverage of GPU time in the chosen regions",
	"of-it-in":                        "of it in ",
	"coverage-of-all-gpu-time":        "Coverage of all GPU time",
	"predicted-cost":                  "Predicted cost",
	"actual-cost":                     "Actual cost",
	"left-out-for-what-they":          "Left out for what they are (collectives and other kernels that wait for a peer, what patterns exclude, what lies outside the regions):",
	"cut-off-by-limit-of":             "Cut off by a limit of the choice (`top_n`, `coverage`, `budget_s` of `pipeline.ncu.pick`):",
	"none-is-recorded":                "None is recorded.",
	"nothing-is-recorded-as-missing":  "Nothing is recorded as missing.",
	"result-names-no-input":           "The result names no input.",

	// md_operators.go
	"from-torch-profiler-sorted-by":       "From the torch profiler, sorted by self CPU time. **Total** includes the operators that an operator calls, so totals overlap and do not add up; **self** does.",
	"from-torch-profiler-sorted-by-total": "From the torch profiler, sorted by total device time, those without any by self CPU time. **Total** includes the operators that an operator calls, so totals overlap and do not add up; **self** does.",
	"operators-absent":                    "Operators: %s%s",
	"torch-profiler-did-not-run":          "The torch profiler did not run, or the workload is not PyTorch; `pipeline.torch_profiler.enable=true` turns it on.",
	"torch-profiler-attributes-no-device": "the torch profiler attributes no device time to any operator",
	"no-operator-has-device-time":         "No operator has device time: ",
	"shares-absent":                       "Shares: %s%s",
	"limiter-absent":                      "Limiter: %s%s",
	"more-operators-are-in-result":        "%s more operators are in result.json.",
	"no-operator-has-limiter-of":          "No operator has a limiter; of ",
	"torch-profiler-names-no-kernel":      "The torch profiler names no kernel of these operators, or none of those was counted.",

	// md_ranks.go
	"ranks-windows-and-repeats": "Ranks, windows and repeats",
	"each-row-is-of-one":        "Each row is of one timeline alone; the other sections are about the row marked *. `deepprof show ranks` has all numbers, and `--by measure` their sums.",
	"more-are-not-listed":       "%d more are not listed.",
	"mean-pass":                 "mean pass",
	"exchanges-between-ranks":   "Exchanges between ranks, summed over ranks. %s.",
	"sizes-not-listed":          "%d sizes with less transfer are not listed.",

	// md_region.go
	"counters-by-region":                 "Counters by region",
	"counters-of-single-launches-joined": "Counters of single launches, joined to the timeline and extrapolated over every launch of a region. Coverage is the share of the region's GPU time whose kernels were counted; a region without counters says why, and nothing is filled in.",
	"it-launched-no-kernel":              "it launched no kernel",
	"none-of-its-launches-was":           "none of its launches was counted",
	"exclusive-of-nested-regions":        "Exclusive of nested regions",
	"first-to-last-gpu-work-added":       "First to last GPU work, added up",
	"wall-time-all-instances":            "Wall time, all instances",
	"all-gpu-time":                       "all GPU time",
	"gpu-time-of":                        "the GPU time of ",
	"region-times-limiter":               "%s of %s. Limiter: %s.",
	"sums-are-over-kernels-that":         " Sums are over the kernels that were counted; the others are not in them.",
	"they-hold-for-work-as":              " They hold for the work as ncu replays it, by default with flushed caches, so traffic to memory may be more than in the program.",
	"for-of-what-is-counted":             " For %s of what is counted stand launches of the same kernel, grid and block that were not counted in this region.",
	"and-of-that-outside-nested":         ", and %s of that outside nested regions",
	"measured-by-how-much-of":            "Measured by %s; how much of the region that is, is not known without a timeline.%s",
	"measured-by-coverage-of-regions":    "Measured by %s; coverage %s of the region's GPU time%s.%s",
	"configuration-shows-no-metric-of":   "The configuration shows no metric of regions.",
	"single-launches":                    "single launches",
	"range-replay":                       "range replay",
	"application-range-replay":           "application range replay",
	"ranges-were-measured-as-whole":      "Ranges were measured as a whole: the kernels in them are not known.",
	"note-launched-no-kernel":            "It launched no kernel.",
	"result-lists-none-of-its":           "The result lists none of its %s launches.",
	"heading-nested":                     "## Nested: %s",
	"of-wall-time-of-gpu":                "%s, %s of wall time, %s of GPU time in %s (%s outside its own nested regions).",

	// md_regions.go
	"gpu-time-in-scope":               "the GPU time in the scope",
	"which-reads-outside-for-regions": ", which reads outside for regions that are not in it",
	"nvtx-regions-sorted-by-gpu":      "NVTX regions, sorted by GPU time. GPU time includes nested regions, so rows overlap; **own** leaves them out. Regions whose names differ by a number alone are one line, with # in its place. Shares are of %s (%s)%s. Limiter names what holds back most of the region's GPU time, or launch-bound where the GPU waits for the host more than it works.",
	"by-process":                      "By process",
	"by-device":                       "By device",
	"regions-tree-title":              "Tree",
	"wall-time-gpu-time-and":          "Wall time, GPU time and launches of each region, nested as the program nests them.",
	"regions-absent":                  "Regions: %s%s",
	"timeline-holds-no-nvtx-ranges":   "The timeline holds no NVTX ranges; mark the parts of the program with ranges, for example `torch.cuda.nvtx.range_push(\"prefill\")`.",
	"more-regions-are-in-result":      "%s more regions are in result.json.",
	"region-tree-line":                "%s%s  %9s wall  %9s GPU  %7s %s",
	"and-more-lines":                  "and %s more",

	// md_regionsncu.go
	"there-is-no-timeline-these": "There is no timeline: these are the NVTX ranges around what ncu counted. Ranges, launches and times are those under ncu; how much of the program that is, is not known.",
	"ranges-measured-as-whole":   "Ranges measured as a whole",
	"their-time":                 "Their time",
	"counted-launches":           "Counted launches",
	"region-limiter":             "Limiter: %s.",
	"point-type":                 "Type",
	"flop-per-byte":              "FLOP per byte",
	"point-rate-title":           "FLOP/s",
	"of-roof":                    "Of the roof",

	// md_report.go
	"performance-report":                   "Performance report",
	"aggregates-title":                     "Aggregates",
	"per-stage-timings":                    "Per-stage timings",
	"share-of-gpus-peak-that":              "Share of the GPU's peak that the stage reaches, for the arithmetic of the model (MFU), the arithmetic that the hardware executed (HFU) and memory traffic (MBU). Peaks are dense, that is without structured sparsity.",
	"roofline-each-counted-kernel-against": "![Roofline: each counted kernel against the roofs](roofline.svg)",
	"top-operators":                        "Top operators",
	"top-kernels":                          "Top kernels",
	"all-with-counters-behind-each":        "All, with the counters behind each verdict: [kernels.md](kernels.md).",
	"all-with-their-nesting-regions":       "All, with their nesting: [regions.md](regions.md).",
	"to-know-before-trusting-numbers":      "**%s** to know before trusting the numbers: %s",
	"other-gpu":                            "other GPU",
	"analysis-makes-no-finding":            "The analysis makes no finding.%s",
	"what-was-captured-supports-no":        "What was captured supports no statement about where time could be saved.",
	"of-memory-traffic":                    " of memory traffic",
	"one-pass-of-takes-by":                 "One pass of %s takes %s by analysis of the model.",
	"none-found":                           "None found.%s",
	"nothing-that-was-captured-points":     "Nothing that was captured points to a change that would save time.",
	"ranked-by-seconds-of-each":            "Ranked by seconds of %s%s. Each is an upper bound under its own assumption, unless it is called an estimate; they overlap, so they do not add up.",
	"upper-bound":                          "Upper bound: ",
	"would-be-x-as-fast":                   "; %s would be %sx as fast (Amdahl)",
	"likely-about":                         "Likely: about ",
	"what-to-do":                           "What to do: ",
	"and-more-items":                       "and %d more",

	// md_sections.go
	"model-is": "%s", "model-parameters": "%s parameters", "model-layers": "%d layers", "model-attention": "attention %s",
	"captures-do-not-hold-it":     "The captures do not hold it.",
	"operating-system":            "Operating system",
	"environment-command":         "Command",
	"compute-capability":          "compute capability ",
	"of-weights":                  "%s of weights",
	"kv-cache":                    "KV cache %s",
	"peak-of-mfu-is-at":           "The peak of MFU is at %s: what the GPU could do at most. The table of the roofline gives the same limit at %s, because each counted kernel is held against what was possible while it was counted.",
	"it-needs-work-of-model":      "it needs the work of the model, or counters, and the time of the stage",
	"it-needs-counters-that-hold": "It needs counters that hold the peaks of this chip.",
	"roofline-absent":             "Roofline: %s%s",

	// md_serving.go
	"requests":                           "Requests",
	"what-clients-saw-in-each":           "What clients saw in each window: `unprofiled` is a start without nsys, in `idle` windows the session collects nothing. `deepprof show requests` has all numbers.",
	"collecting-costs":                   "Collecting costs",
	"against-idle-windows":               "against idle windows",
	"session-itself-costs":               "The session itself costs",
	"against-start-without-nsys":         "against a start without nsys",
	"percent-of-throughput":              "%s %.1f %% of the throughput, %s.",
	"throughput-is-not-compared-windows": "Throughput is not compared %s: windows of one kind differ by more than a quarter, because requests come in waves. Longer windows, or lengths that vary, even them out.",
	"percent-of-median-time-between":     "%s %+.1f %% of the median time between tokens, %s.",

	// md_split.go
	"part":                           "Part",
	"row-whole-timeline":             "whole timeline",
	"busy-and-idle-absent":           "Busy and idle time: %s%s",
	"there-is-no-timeline-so-it":     "There is no timeline, so it is not known when the GPU worked and when it waited.",
	"wall-time-of-all-passes":        "Wall time of all passes in the timeline. Time in which a kernel runs is divided by kernel category (work that ran at the same time is shared out), time in which none runs by its cause, copies among them; the times add up to the wall time, and each share is rounded by itself. \"GPU busy\" elsewhere counts copies as work.",
	"these-are-times-of-nvtx":        "These are times of the NVTX ranges under nsys. *Per-stage timings* gives those by the session's own clock, which leave out what the program does around its marks.",
	"is-launch-bound-under-nsys":     "**%s is launch-bound**: under nsys the GPU waits for the CPU to launch work %s of the time and works %s of it, so faster kernels alone will not help.",
	"of-that-are-long-stretches":     " %s of that are long stretches of host code without a CUDA call.",
	"closing-launch-gaps-could-save": " Closing the launch gaps could save at most ",
	"kernel-runs":                    "A kernel runs",
	"no-kernel-runs":                 "No kernel runs",
	"no-kernel-of-its-own":           "No kernel of its own runs",

	// md_stages.go
	"go-by-times-of-unprofiled":     "go by the times of the unprofiled run",
	"timeline-of":                   ": the timeline of ",
	"is-much-slower-than-program":   " is much slower than the program alone. ",
	"stages-absent":                 "Stages: %s%s",
	"neither-timeline-nor-times-of": "Neither a timeline nor the times of the workload tell where a stage begins and ends.",
	"and-more-names":                " and %d more",
	"under-nsys-end":                " under nsys",
	"includes-they-are-parts-of":    "%s includes %s%s. They are parts of it and are not added to it.",

	// md_stakeholder.go
	"plain-title":                        "Summary",
	"what-was-measured":                  "What was measured: %s.",
	"in-short":                           "**In short:** %s",
	"plain-stage-timings":                "Per-Stage Timings",
	"mfu":                                "MFU",
	"plain-top-operators":                "Top Operators",
	"plain-top-kernels":                  "Top Kernels",
	"largest-possible-saving-at-most":    "The largest possible saving: %s, at most %s%s.",
	"numbers-with-their-evidence-report": "Numbers with their evidence: [report.md](report.md).",
	"measure":                            "Measure",
	"meaning":                            "Meaning",
	"mean-of-without-profiler":           "mean of %s without a profiler",
	"times-without-profiler":             "Times without a profiler",
	"under-profiler-from-first-to":       "under the profiler, from first to last event",
	"under-profiler-in-whole-recording":  "under the profiler, in %s; the whole recording takes %s",
	"time-observed":                      "Time observed",
	"gpu-at-work":                        "GPU at work",
	"share-of-time-observed-in":          "share of the time observed in which the GPU computed or copied",
	"there-is-no-timeline-so-idle":       "There is no timeline, so idle time is not known.",
	"kernels-launched":                   "Kernels launched",
	"there-is-no-timeline-so-launches":   "There is no timeline, so launches are not known.",
	"programs-started-on-gpu-different":  "programs started on the GPU, %s different ones",
	"more-outside-such-as-loading":       "; %s more outside, such as loading and warm-up, are not counted",
	"mean-time-per-pass":                 "Mean time per pass",
	"of-which-gpu-computes":              "Of which the GPU computes",
	"under-profiler-mean-per-pass":       "Under the profiler, mean per pass",
	"what-holds-it-up":                   "What holds it up",
	"of-stage-under-profiler-with":       "Of the stage under the profiler, with starting and synchronizing: what share it is without one is not known.",
	"timeline-of-this-stage-has":         "The timeline of this stage has no work of a GPU.",
	"there-is-no-timeline-of":            "There is no timeline of this stage.",
	"cpu-cannot-hand-out-work":           "the CPU cannot hand out work fast enough",
	"no-kernel-runs-because":             "no kernel runs: ",
	"gpus-work-mostly":                   "the GPU's work, mostly ",
	"gpus-work":                          "the GPU's work",
	"how-much-of-what-gpu":               "How much of what the GPU can do at most is used: its arithmetic and its memory bandwidth (MBU). MFU counts the arithmetic that the model needs, HFU, from counters, what the GPU executed.",
	"gpu-time-absent":                    "GPU time: %s%s",
	"no-operator-has-gpu-time":           "No operator has GPU time of its own: [operators.md](operators.md) has them all.",
	"operators-that-only-call-others":    "Operators that only call others are left out; [operators.md](operators.md) has them all.",

	// md_text.go
	"recorded-run": "recorded run: these numbers are not of this machine", "the-run-failed": "The run failed", "the-run-was-interrupted": "The run was interrupted",
	"no-name":                         "(no name)",
	"recorded-run-these-numbers-come": "> **Recorded run.** These numbers come from a recording%s, not from this machine.",
	"what-it-had-captured-by":         "> **%s.** What it had captured by then is shown; the rest is missing.",
	"of-session-on":                   " of a session on ",
	"result-json-of-run":              "result.json of run ",
	"made-by-from":                    "Made by %s from %s.",

	// page_ranks.go
	"times-are-of-each-part": "times are of each part alone",

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
	"deepprof-runs-resume-goes-on": "'deepprof runs resume %s' goes on with %s",
	"in-processes":                 ", in %d processes",
	"step-exit-code":               ", exit code %d",
	"would-remove":                 "would remove",
	"others-stay":                  "others stay",
	"other-stays":                  "other stays",
	"files-mb-of-mb":               "%s: %d files, %.1f MB of %.1f MB",
	"packed-left-out":              "left out %s",
	"packed-removed-mb-freed-not":  "%s packed, %s removed, %.1f MB freed; %s not old enough",

	// scope.go
	"mean-of-gpus-to": " (mean of %d GPUs, %s to %s)",

	// summary.go
	"what-it-had-captured-by-then":     ": what it had captured by then is shown",
	"under-nsys-of-timeline-of":        "%s: %s under nsys, of a timeline of %s",
	"gpu-busy":                         "GPU busy ",
	"launches-outside-are-not-counted": "%s launches (%s) outside are not counted",
	"under-nsys-gpu-busy-launches":     "%s under nsys, GPU busy %s%s, %s launches",
	"more-finding":                     "more finding",
	"not-measured-head":                "not measured: ",
	"thing-not-measured":               "thing not measured",
	"things-not-measured":              "things not measured",
	"in-report":                        "in the report: ",
	"nsys-slowed":                      "nsys slowed %s: %s",

	// summary_tables.go
	"column-kernel-runs":        "a kernel runs",
	"stage-in-order":            "stage, in order",
	"stages-in-order":           "stages in the order of the program",
	"unprofiled-mean-pass":      "unprofiled, mean pass",
	"median-pass":               "median pass",
	"under-nsys-median-pass":    "under nsys, median pass",
	"share-of-all":              "of all",
	"kernel-by-gpu-time":        "kernel, by GPU time",
	"too-narrow-for-see-report": "too narrow for %s; see the report",

	// tiles.go
	"time-to-first-token": "Time to first token",
	"time-per-token":      "Time per token",
	"median-unprofiled":   "median, unprofiled",

	// view.go
	"in-order-of":   "in the order of ",
	"sorted-by":     "sorted by ",
	"largest-first": ", largest first",

	// write.go
	"no-rows":                    "no rows",
	"terminal-is-too-narrow-for": "the terminal is too narrow for %s; %s has every column",
	"no-rows-md":                 "No rows.",
	"more-rows":                  "%d more rows.",
}
