package message

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
)

// Phrase is a heading, a label or a sentence around what a result says, by its ID:
// what Markdown, the terminal and their tables of two columns need besides facts.
// Its template is written as those of facts are. Values fill its places in the order
// in which the template first names them: a whole number is a count, anything else is
// text that the caller has escaped for where it stands. 0, "" and nil leave out the
// brackets around their place. The words of the page (PageTexts) are found too. An
// unknown ID is returned as it is; a test finds those.
func Phrase(id string, values ...any) string {
	text, ok := phrases[id]
	if !ok {
		if text, ok = pageTexts[id]; !ok {
			return id
		}
	}
	if codesOnly {
		return strings.TrimSpace(id + " " + fmt.Sprintln(values...))
	}
	params := fact.Params{}
	for i, name := range places(text) {
		if i < len(values) && values[i] != nil && values[i] != "" {
			params[name] = valueOf(values[i])
		}
	}
	return expander{params: params, zeroAbsent: true}.expand(text)
}

// placeName is the name of a place of a template; a noun or a mark may follow it.
var placeName = regexp.MustCompile(`\{(\w+)`)

// places are the names of a template's places, each once, in their order.
func places(template string) (names []string) {
	for _, m := range placeName.FindAllStringSubmatch(template, -1) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}

// valueOf is a value of a phrase as a parameter.
func valueOf(v any) fact.Value {
	if n := reflect.ValueOf(v); n.CanInt() && n.Type().Name() != "Duration" {
		return fact.Count("", n.Int()).Value
	}
	return fact.Name("", fmt.Sprint(v)).Value
}

// phrases are all of them.
var phrases = func() map[string]string {
	all := maps.Clone(pagePhrases)
	maps.Copy(all, tablePhrases)
	return all
}()

// pagePhrases are those of pages and summaries, by the file of internal/report that says
// them first. Texts that stand in Markdown may hold Markdown.
var pagePhrases = map[string]string{
	// html/html.go
	"opening-the-report":        "Opening the report. A browser that runs the program inside this file shows timeline, kernels, counters and roofline; these are the findings.",
	"report-cannot-be-shown":    "The report cannot be shown: {why}.",
	"file-carries-no-result":    "this file carries no result",
	"browser-cannot-decompress": "this browser cannot decompress the result; open the file in a browser of 2023 or later",

	// compare.go
	// Shares and changes are texts with their unit; they begin in lower case, and a page gives them a capital.
	"note":                   "note: {text}",
	"compare-gate":           "gate: {outcome}",
	"compare-baseline":       "baseline {name} ({n:run|runs})",
	"compare-runs":           "{n} runs ({first}, ...)",
	"compare-difference":     "{text}[; forbids {claims}]",
	"compare-order":          "totals, stages and requests are in the order of the program, other tables begin with the largest change",
	"compare-sides":          "base: {base}; new: {new}; changes under {least} do not count",
	"compare-sides-differ":   "the sides differ:",
	"compare-more-rows-all":  "{n} more, with smaller changes: --all shows them",
	"waterfall-title":        "where the change comes from: {of}[ {clock}] (median of the runs)",
	"waterfall-wall-time-of": "wall time of a pass of {stage}",

	// compare_md.go
	"compare-sides-differ-in": "the sides differ in {n:circumstance|circumstances}",
	"compare-more-rows":       "{n} more, with smaller changes.",

	// compare_page.go
	"compare-sides-title": "Sides",

	// facts.go
	// Times are as Go writes durations.
	"info-table":               "{n:row|rows}[, {skipped} skipped]",
	"info-gpu":                 "{name}[, {sms:SM|SMs}][, compute {version}][, {memory}][, {bandwidth}]",
	"exported-to":              "exported to",
	"start-utc":                "start (UTC)",
	"events-span":              "events span",
	"info-profiler-overhead":   "profiler overhead, all threads",
	"info-device":              "{kernels:kernel|kernels} on {streams:stream|streams}[ ({others} more with copies or sets alone)], {time} of kernels, busy {busy} of {span}",
	"info-process":             "{name}: {kernels:kernel|kernels}, {calls:CUDA call|CUDA calls}, {ranges:range|ranges}, {threads:thread|threads}",
	"kernel-names":             "kernel names",
	"kernels-of-cuda-graphs":   "kernels of CUDA graphs",
	"cuda-graph-launches":      "CUDA graph launches",
	"memory-copies":            "memory copies",
	"count-memory-sets":        "memory sets",
	"cuda-calls":               "CUDA calls",
	"nvtx-ranges":              "NVTX ranges",
	"nvtx-ranges-never-closed": "NVTX ranges never closed",
	"nvtx-marks":               "NVTX marks",

	// groups.go
	"rows-summed-up": "{n} rows, summed up by {columns}; --all prints each, --top the first, --csv and --json have every column",

	// html
	"deepprof-report": "deepprof report",
	"page-title":      "{name}[ - {run}] - deepprof",

	// md_aggregates.go
	// Names of rows; a time in them is the sum over GPUs unless it says mean.
	"unprofiled-run":              "Unprofiled run",
	"n-tokens":                    "{n:token|tokens}",
	"n-repeats":                   "{n:repeat|repeats}",
	"no-unprofiled-run":           "There was no run without a profiler, so times of the workload alone are not known.",
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
	"aggregate-gpu-time-all-gpus": "GPU time of all {n} GPUs, added up",
	"distinct-kernels":            "Distinct kernels",
	"scope-row":                   "Scope: {name}",
	"of-its-wall-time":            "Of its wall time",
	"outside-scope-gpu-time":      "Outside the scope: GPU time",
	"outside-scope-launches":      "Outside the scope: launches",
	"mean-of-gpus":                "{name}[, mean of {n} GPUs]",

	// md_kernels.go
	// Items of the entry of a kernel: times, sizes and rates are texts with their unit, names are Markdown.
	"launched-as":               "Launched as grid {grid}, block {block}[, {registers:register|registers} a thread][, {shared} of shared memory a block][, {waves} waves]",
	"kernel-in-stage":           "{stage} {time} ({n:launch|launches})",
	"busiest-by-roofline":       "by the work of the roofline",
	"kernel-counted":            "Counted: {text}",
	"kernel-rule":               "NVIDIA's rule, {rule}[ (NVIDIA estimates {gain} %)][ (NVIDIA estimates {part} % of a part)]: {text}",
	"calls-and-times":           "Calls and times",
	"kernel-times-title":        "Launches, GPU time and share",
	"time-by-category":          "Time by category",
	"absent-note":               "{what}: n/a[{note}]",
	"no-kernels":                "No kernels.[{note}]",
	"no-kernels-captured":       "Nothing that was captured holds a kernel.",
	"kernels-summary":           "{n:kernel|kernels}, told apart by name, grid and block; {launches:launch|launches}, {time} of GPU time. Sorted by GPU time.",
	"kernels-lead-untimed":      "{n:kernel|kernels}, told apart by name, grid and block.",
	"categories":                "Categories",
	"each-kernel":               "Each kernel",
	"timeline-lacks-kernels":    "The timeline has no launch of these kernels.",
	"ncu-replay-note":           "Under ncu is one launch alone, as ncu replays it, at the clock that it sets: not the time it takes in the program.",
	"no-kernels-for-categories": "There are no kernels to sort into categories.",
	"categories-unmatched":      "No rule knows these names; add rules to the categories file to sort them:",
	"more-in-result-json":       "{n} more, in result.json",
	"kernel-name":               "Name: {name}",
	"kernel-times":              "{n:launch|launches}, {total} in total, {share} of GPU time; one launch: mean {mean}, median {median}, from {least} to {most}",
	"kernel-in-stages":          "In stages: {stages}",
	"kernel-limiter":            "**Limiter: {limiter}.**[ {why}]",
	"kernel-evidence":           "Evidence: {values}",
	"kernel-cause":              "Cause: {cause}",
	"kernel-limiter-of-group":   "Launches of about {time} ({n:launch|launches}, {share} of its time): **{limiter}.**[ {why}] By launch {launch} of {report}.",
	"kernel-roofline":           "Roofline, {type} against the bytes of {memory}: {intensity} FLOP/B, {rate}, {share} of what that allows",
	"kernel-padding":            "Padding: {text}",
	"kernel-not-in-ncu-reports": "the reports of ncu hold no launch of it",
	"no-counters":               "no counters were taken",
	"kernel-launch-unverified":  "It is **not verified** to be the launch that was meant.",
	"rules-left-out":            "{n} more of NVIDIA's rules speak; result.json has them",
	"names-in-full":             "Names in full",
	"kernels-left-out":          "{n} more kernels are in result.json.",

	// md_lookup.go
	// Reasons for absent values are sentences: they become footnotes.
	"kernel-with-grid":      "{kernel} grid {grid}",
	"limiter-level":         "{limiter}[, {detail}][ ({level})]",
	"evidence-value":        "{what} = {value}[ ({threshold})]",
	"timeline-lacks-kernel": "The timeline has no launch of this kernel.",
	"scope-lacks-kernel":    "No launch of this kernel lies in the scope.",
	"cell-not-counted":      "not counted",
	"cell-no-verdict":       "no verdict",

	// md_method.go
	// Coverage is a share of GPU time.
	"unprofiled-against-nsys": "Unprofiled against nsys",
	"coverage-counted":        "Counted",
	"commands":                "Commands",
	"overhead":                "Overhead",
	"coverage-of-counters":    "Coverage of the counters",
	"method-deviations":       "Settings that profiling changed",
	"method-assumptions":      "Assumptions about the model's work",
	"method-missing":          "What could not be told",
	"analyzed-without-run":    "The files were analyzed without the run that made them, so its commands are not known.",
	"overhead-needs":          "It needs the same stage timed without a profiler and under nsys.",
	"overhead-over":           "**Over {limit} in {stages}.** {next}",
	"choice-not-recorded":     "No choice of launches is recorded.",
	"choice-made-elsewhere":   "{counted:kernel|kernels} of {n} have counters; the choice was made outside of deepprof.",
	"row-what":                "What",
	"coverage-groups":         "Groups of launches (kernel, grid, block)",
	"chosen":                  "Chosen",
	"coverage-along":          "Counted, some along with the chosen",
	"coverage-chosen-regions": "Coverage of GPU time in the chosen regions",
	"coverage-in":             "of it in {region}",
	"coverage-all":            "Coverage of all GPU time",
	"predicted-cost":          "Predicted cost",
	"actual-cost":             "Actual cost",
	"coverage-excluded":       "Left out for what they are (collectives and other kernels that wait for a peer, what patterns exclude, what lies outside the regions):",
	"coverage-cut-off":        "Cut off by a limit of the choice (`top_n`, `coverage`, `budget_s` of `pipeline.ncu.pick`):",
	"none-recorded":           "None is recorded.",
	"nothing-missing":         "Nothing is recorded as missing.",
	"result-names-no-input":   "The result names no input.",

	// md_operators.go
	"limiter-holds":                "[{holds} ]{limiter}",
	"limiter-shares":               "{limiter}[ ({share}[; {coverage} counted])]",
	"shares":                       "Shares",
	"operators-lead-cpu":           "From the torch profiler, sorted by self CPU time. **Total** includes the operators that an operator calls, so totals overlap and do not add up; **self** does.",
	"operators-lead-device":        "From the torch profiler, sorted by total device time, those without any by self CPU time. **Total** includes the operators that an operator calls, so totals overlap and do not add up; **self** does.",
	"torch-profiler-did-not-run":   "The torch profiler did not run, or the workload is not PyTorch; `pipeline.torch_profiler.enable=true` turns it on.",
	"operators-no-device-time-why": "the torch profiler attributes no device time to any operator",
	"operators-no-device-time":     "No operator has device time: {why}",
	"operators-left-out":           "{n} more operators are in result.json.",
	"operators-no-limiter":         "No operator has a limiter; of {operator}: {why}",
	"operators-no-kernels":         "The torch profiler names no kernel of these operators, or none of those was counted.",

	// md_ranks.go
	"ranks-windows-and-repeats": "Ranks, windows and repeats",
	"ranks-rows-note":           "Each row is of one timeline alone; the other sections are about the row marked *. `deepprof show ranks` has all numbers, and `--by measure` their sums.",
	"rows-not-listed":           "{n} more are not listed.",
	"mean-pass":                 "mean pass",
	"exchanges-between-ranks":   "Exchanges between ranks, summed over ranks. {clock}.",

	// md_region.go
	// Sentences about the counters of a region, which follow each other in a paragraph.
	"instances":                   "Instances",
	"process-title":               "Process",
	"device-title":                "Device",
	"counters-by-region":          "Counters by region",
	"region-counters-lead":        "Counters of single launches, joined to the timeline and extrapolated over every launch of a region. Coverage is the share of the region's GPU time whose kernels were counted; a region without counters says why, and nothing is filled in.",
	"region-launched-nothing":     "it launched no kernel",
	"region-launches-not-counted": "none of its launches was counted",
	"region-exclusive":            "Exclusive of nested regions",
	"region-gpu-span":             "First to last GPU work, added up",
	"wall-time-all-instances":     "Wall time, all instances",
	"all-gpu-time":                "all GPU time",
	"gpu-time-of":                 "the GPU time of {scope}",
	"region-times-limiter":        "{share} of {of}. Limiter: {limiter}.",
	"region-sums-note":            "Sums are over the kernels that were counted; the others are not in them.",
	"region-replay-note":          "They hold for the work as ncu replays it, by default with flushed caches, so traffic to memory may be more than in the program.",
	"region-stand-ins":            "For {share} of what is counted stand launches of the same kernel, grid and block that were not counted in this region.",
	"region-measured-by":          "Measured by {method}; how much of the region that is, is not known without a timeline.",
	"region-coverage":             "Measured by {method}; coverage {share} of the region's GPU time[, and {own} of that outside nested regions].",
	"region-metrics-off":          "The configuration shows no metric of regions.",
	"region-kernels-unknown":      "Ranges were measured as a whole: the kernels in them are not known.",
	"region-kernels-not-listed":   "The result lists none of its {n:launch|launches}.",
	"heading-nested":              "## Nested: {region}",
	"region-summary":              "{n:instance|instances}, {wall} of wall time, {gpu} of GPU time in {launches:launch|launches} ({own} outside its own nested regions).",

	// md_regions.go
	"regions-shares":          "Shares are of {of} ({time}).",
	"regions-limiter":         "Limiter names what holds back most of the region's GPU time, or launch-bound where the GPU waits for the host more than it works.",
	"n-launches":              "{n:launch|launches}",
	"none":                    "None.",
	"gpu-time-in-scope":       "the GPU time in the scope",
	"regions-outside-scope":   "A region that is not in the scope reads outside.",
	"regions-summary":         "NVTX regions, sorted by GPU time. GPU time includes nested regions, so rows overlap; **own** leaves them out. Regions whose names differ by a number alone are one line, with # in its place.",
	"by-process":              "By process",
	"by-device":               "By device",
	"regions-tree-title":      "Tree",
	"regions-tree-lead":       "Wall time, GPU time and launches of each region, nested as the program nests them.",
	"timeline-without-ranges": "The timeline holds no NVTX ranges; mark the parts of the program with ranges, for example `torch.cuda.nvtx.range_push(\"prefill\")`.",
	"regions-left-out":        "{n} more regions are in result.json.",
	"region-tree-line":        "{region}  {wall} wall  {gpu} GPU  {launches}",
	"regions-tree-more":       "and {n} more",

	// md_regionsncu.go
	"regions-summary-ncu":      "There is no timeline: these are the NVTX ranges around what ncu counted. Ranges, launches and times are those under ncu; how much of the program that is, is not known.",
	"ranges-measured-as-whole": "Ranges measured as a whole",
	"their-time":               "Their time",
	"counted-launches":         "Counted launches",
	"region-limiter":           "Limiter: {limiter}.",
	"point-type":               "Type",
	"flop-per-byte":            "FLOP per byte",
	"point-rate-title":         "FLOP/s",
	"of-roof":                  "Of the roof",

	// md_report.go
	// Names of files stand in links, in two brackets each.
	"roofline-points":      "Points: [[roofline.csv]](roofline.csv). {legend}.",
	"link-operators":       "All: [[operators.md]](operators.md).",
	"run-named":            "Run {run}",
	"subject":              "[{what} on ]{gpu}[ and {n:other GPU|other GPUs}]",
	"opportunity-bound":    "{kind}: {time}[ of {of} {times}][; {part} would be {speedup}x as fast (Amdahl)]",
	"opportunity-kernels":  "Kernels: {kernels}",
	"some-names":           "{names}[ and {n} more]",
	"performance-report":   "Performance report",
	"aggregates-title":     "Aggregates",
	"per-stage-timings":    "Per-stage timings",
	"utilization-lead":     "Share of the GPU's peak that the stage reaches, for the arithmetic of the model (MFU), the arithmetic that the hardware executed (HFU) and memory traffic (MBU). Peaks are dense, that is without structured sparsity.",
	"roofline-image":       "![[Roofline: each counted kernel against the roofs]](roofline.svg)",
	"top-operators":        "Top operators",
	"top-kernels":          "Top kernels",
	"link-kernels":         "All, with the counters behind each verdict: [[kernels.md]](kernels.md).",
	"link-regions":         "All, with their nesting: [[regions.md]](regions.md).",
	"warnings-count":       "**{n:warning|warnings}** to know before trusting the numbers: {notes}",
	"findings-absent":      "The analysis makes no finding.[{note}]",
	"findings-absent-why":  "What was captured supports no statement about where time could be saved.",
	"model-memory-traffic": "{size} of memory traffic",
	"model-work-per-pass":  "One pass of {stage} takes {work} by analysis of the model.",
	"none-found":           "None found.[{note}]",
	"opportunities-absent": "Nothing that was captured points to a change that would save time.",
	"opportunities-note":   "Ranked by seconds of {part}[, {times}]. Each is an upper bound under its own assumption, unless it is called an estimate; they overlap, so they do not add up.",
	"likely-about":         "Likely: about {time}",
	"opportunity-action":   "What to do: {how}",

	// md_sections.go
	"model-parameters": "{n} parameters", "model-layers": "{n:layer|layers}", "model-attention": "attention {kind}",
	"gpu-sms":             "{n:SM|SMs}",
	"captures-lack-it":    "The captures do not hold it.",
	"environment-command": "Command",
	"compute-capability":  "compute capability {version}",
	"of-weights":          "{size} of weights",
	"kv-cache":            "KV cache {kind}",
	"utilization-absent":  "it needs the work of the model, or counters, and the time of the stage",
	"peaks-absent":        "It needs counters that hold the peaks of this chip.",

	// md_serving.go
	"collecting-throughput": "Collecting costs {share} of the throughput, against idle windows.",
	"collecting-unknown":    "Throughput is not compared against idle windows: windows of one kind differ by more than a quarter, because requests come in waves. Longer windows, or lengths that vary, even them out.",
	"collecting-latency":    "Collecting costs {share} of the median time between tokens, against idle windows.",
	"session-throughput":    "The session itself costs {share} of the throughput, against a start without nsys.",
	"session-unknown":       "Throughput is not compared against a start without nsys: windows of one kind differ by more than a quarter, because requests come in waves. Longer windows, or lengths that vary, even them out.",
	"session-latency":       "The session itself costs {share} of the median time between tokens, against a start without nsys.",
	"requests":              "Requests",
	"windows-lead":          "What clients saw in each window: `unprofiled` is a start without nsys, in `idle` windows the session collects nothing. `deepprof show requests` has all numbers.",

	"load-closed":    "The load: {endpoint}, prompts of {prompt} tokens, answers of {output} tokens, {n:client|clients}, each of which waits for its answer.",
	"load-open":      "The load: {endpoint}, prompts of {prompt} tokens, answers of {output} tokens, {rate} requests/s at random moments, at most {n} at once.",
	"no-goodput":     "No goodput: it needs a target of latency (pipeline.server.load.target_ttft_s, target_tpot_s).",
	"no-cache-use":   "Use of the KV cache is not known: this engine does not tell it in /metrics.",
	"no-peak-memory": "The peak of GPU memory is not known: this engine does not tell it in /metrics, and no sample of nvidia-smi does.",

	// view_serving.go
	"mfu-and-mbu-of": "MFU and MBU of {steps}: {why}.",

	// md_split.go
	// Times are of all passes in the timeline.
	"part":                  "Part",
	"row-whole-timeline":    "whole timeline",
	"no-timeline-for-busy":  "There is no timeline, so it is not known when the GPU worked and when it waited.",
	"time-split-lead":       "Wall time of all passes in the timeline. Time in which a kernel runs is divided by kernel category (work that ran at the same time is shared out), time in which none runs by its cause, copies among them; the times add up to the wall time, and each share is rounded by itself. \"GPU busy\" elsewhere counts copies as work.",
	"time-split-ranges":     "These are times of the NVTX ranges under nsys. *Per-stage timings* gives those by the session's own clock, which leave out what the program does around its marks.",
	"stage-is-launch-bound": "**{stage} is launch-bound**: under nsys the GPU waits for the CPU to launch work {waits} of the time and works {works} of it, so faster kernels alone will not help.[ {host} of that are long stretches of host code without a CUDA call.][ Closing the launch gaps could save at most {gain}.]",
	"kernel-runs":           "a kernel runs",
	"no-kernel-runs":        "No kernel runs",
	"no-kernel-runs-own":    "No kernel of its own runs",

	// md_stages.go
	"overhead-advice": "go by the times of the unprofiled run",
	"overhead-large":  "over {limit}: the timeline of {stage} is much slower than the program alone. {next}",
	"stages-unknown":  "Neither a timeline nor the times of the workload tell where a stage begins and ends.",
	"stage-includes":  "{stage} includes {parts}[ {under}]. They are parts of it and are not added to it.",

	// md_stakeholder.go
	// For readers who do not know GPUs: no term without its meaning.
	"plain-gpu-work":             "the GPU's work[, mostly {part}]",
	"plain-title":                "Summary",
	"what-was-measured":          "What was measured: {subject}.",
	"in-short":                   "**In short:** {text}",
	"plain-stage-timings":        "Per-Stage Timings",
	"mfu":                        "MFU",
	"plain-top-operators":        "Top Operators",
	"plain-top-kernels":          "Top Kernels",
	"plain-largest-saving":       "The largest possible saving: {change}, at most {time}[ of {of} {times}][, {share} of {part}].",
	"link-report":                "Numbers with their evidence: [[report.md]](report.md).",
	"measure":                    "Measure",
	"meaning":                    "Meaning",
	"plain-unprofiled-mean":      "mean of {values} without a profiler",
	"times-without-profiler":     "Times without a profiler",
	"plain-profiled-span":        "under the profiler, from first to last event",
	"plain-profiled-scope":       "under the profiler, in {scope}; the whole recording takes {time}",
	"time-observed":              "Time observed",
	"gpu-at-work":                "GPU at work",
	"plain-gpu-busy-share":       "share of the time observed in which the GPU computed or copied",
	"no-timeline-for-idle":       "There is no timeline, so idle time is not known.",
	"kernels-launched":           "Kernels launched",
	"no-timeline-for-launches":   "There is no timeline, so launches are not known.",
	"plain-launches":             "programs started on the GPU, {n} different ones[; {outside} more outside, such as loading and warm-up, are not counted]",
	"mean-time-per-pass":         "Mean time per pass",
	"plain-gpu-computes":         "Of which the GPU computes",
	"plain-profiled-mean":        "Under the profiler, mean per pass",
	"plain-limiter":              "What holds it up",
	"plain-stage-split-lead":     "Of the stage under the profiler, with starting and synchronizing: what share it is without one is not known.",
	"stage-without-gpu-work":     "The timeline of this stage has no work of a GPU.",
	"stage-without-timeline":     "There is no timeline of this stage.",
	"plain-launch-bound":         "the CPU cannot hand out work fast enough",
	"plain-idle-because":         "no kernel runs: {why}",
	"plain-utilization-lead":     "How much of what the GPU can do at most is used: its arithmetic and its memory bandwidth (MBU). MFU counts the arithmetic that the model needs, HFU, from counters, what the GPU executed.",
	"operators-no-gpu-time":      "No operator has GPU time of its own: [[operators.md]](operators.md) has them all.",
	"operators-without-own-time": "Operators that only call others are left out; [[operators.md]](operators.md) has them all.",

	// md_text.go
	"title-of":       "{title}[: {of}]",
	"banner-warning": "> **Warning.** {text}",
	"recorded-run":   "recorded run: these numbers are not of this machine", "the-run-failed": "The run failed", "the-run-was-interrupted": "The run was interrupted",
	"no-name":           "(no name)",
	"banner-recorded":   "> **Recorded run.** These numbers come from a recording[ of a session on {gpu}][ ({date})], not from this machine.",
	"banner-unfinished": "> **{what}.** What it had captured by then is shown; the rest is missing.",
	"made-by-from":      "Made by deepprof[ {version}] from result.json[ of run {run}].",

	// page_ranks.go
	"parts-apart": "times are of each part alone",

	// roofline_svg.go
	// Texts of a picture, which the caller escapes for XML.
	"roof-rate":            "{roof} {rate}",
	"roof-rate-unmeasured": "{roof} {rate} (not measured)",
	"no-roofline":          "No roofline: {why}.",
	"recorded-not-here":    "recorded run: not of this machine",
	"roofline-described":   "{n:point|points} of kernels by arithmetic intensity (FLOP per byte) and achieved FLOP per second, below the roofs that ncu reports for this GPU.",
	"roofline-point":       "{kernel}: {type} over {memory}, {intensity} FLOP/byte, {rate}, {share} % of its roof",
	"roofline-axis":        "arithmetic intensity (FLOP per byte)",
	"roofline-title":       "Roofline: achieved FLOP per second; area of a dot by total time",
	"points-left-out":      "{n:point|points} of the least time are left out",

	// runs.go
	// Lines of commands about the store; sizes are in MB, so that they compare.
	"status-because":   "{status}[ ({why})]",
	"recorded-at":      "{note}; recorded {date}",
	"step-line":        "{step}: {state}[, {time}][, in {n} processes][, {attempts} attempts][, exit code {code}]",
	"file-size":        "{path}, {n:byte|bytes}[: {problem}]",
	"removed-run":      "removed {path}[ ({size})]",
	"would-remove-run": "would remove {path} ({size})",
	"removed-sum":      "removed {n:run|runs}, {size}; {others:other stays|others stay}",
	"would-remove-sum": "would remove {n:run|runs}, {size}; {others:other stays|others stay}",
	"remove-failed":    "failed {path}",
	"run-kept":         "kept {path}: {why}",
	"packed-changed":   "changed {path}: {how}",
	"packed-note":      "note {text}",
	"warning-line":     "warning: {text}[; next: {next}]",
	"run-resume-hint":  "'deepprof runs resume {run}' goes on with {step}",
	"pack-size":        "{path}: {n:file|files}, {size} of {of}",
	"packed-left-out":  "left out {path}",
	"clean-summary":    "{packed:run|runs} packed, {removed:folder|folders} removed, {size} freed; {others:run|runs} not old enough",

	// scope.go
	"scope-lead": "**Scope:** {text}",

	// summary.go
	// Lines of a terminal: they are wrapped, never cut inside a word.
	"n-stages":                "{n:stage|stages}",
	"screen-outside":          "outside: {parts}",
	"n-more-findings":         "{n:more finding|more findings}",
	"missing-line":            "not measured: {text}[; next: {next}]",
	"n-warnings":              "{n:warning|warnings}",
	"n-more-warnings":         "{n:more warning|more warnings}",
	"n-not-measured":          "{n:thing not measured|things not measured}",
	"n-more-not-measured":     "{n:more thing not measured|more things not measured}",
	"report-head":             "report:",
	"report-at":               "{head} {path}",
	"screen-unfinished":       "{what}: what it had captured by then is shown",
	"screen-scope-time":       "{scope}: {wall} under nsys, of a timeline of {whole}",
	"gpu-busy":                "GPU busy {share}",
	"screen-launches-outside": "{n:launch|launches} ({time}) outside are not counted",
	"screen-timeline-summary": "{wall} under nsys, GPU busy {busy}[ (mean of {n} GPUs, {least} to {most})], {launches:launch|launches}",
	"in-report":               "in the report: {what}",
	"nsys-slowed":             "nsys slowed {stages}: {next}",

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
	"screen-too-narrow":      "too narrow for {columns}; see the report",

	// tiles.go
	"median-of":         "median, {of}",
	"tokens-per-second": "Tokens/s",

	// view.go
	// column is the title of a column, as people see it.
	"in-order-of":   "in the order of {order}",
	"sorted-by":     "sorted by {column}",
	"largest-first": "sorted by {column}, largest first",

	// write.go
	"no-rows":          "no rows",
	"table-too-narrow": "the terminal is too narrow for {columns}; {everything} has every column",
	"more-rows":        "{n} more rows.",

	// compare_ci.go
	"compare-heading": "deepprof: {text}",
	"gate-check":      "{name}[ {change}][ ({between})][ {why}]",
	"gate-rule":       "{outcome}: {rule}[: {why}]",

	// examination.go
	"check-fix": "fix: {how}",
}
