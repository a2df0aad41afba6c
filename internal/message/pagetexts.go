package message

import (
	"maps"
	"regexp"
	"strings"
)

// placeOfValue is a place that the page fills, which Phrase cannot.
var placeOfValue = regexp.MustCompile(`\{[^}]*\}`)

// PageTexts are the words of the page around what a result says: headings, labels
// and help, by ID. The page puts values into the places that they name (see
// web/src/words.ts, which knows braces, counted nouns and brackets that are not
// nested), because some values are of what a reader chose there.
func PageTexts() map[string]string {
	texts := maps.Clone(pageTexts)
	if codesOnly {
		for id, text := range texts {
			texts[id] = strings.Join(append([]string{id}, placeOfValue.FindAllString(strings.NewReplacer("[", "", "]", "").Replace(text), -1)...), " ")
		}
	}
	return texts
}

// pageTexts are the headings, labels and sentences of the page, by ID. The page gets all of
// them with its data and puts values into {places}; a part in [brackets] is left out where a
// value in it is absent. They are by section, in the order of the page; those of several come
// first. A test holds the IDs against web/src.
var pageTexts = map[string]string{
	// Words of several sections.
	"absent": "n/a", "absent-what": "{what}: n/a.", "not-in-result": "The result does not hold it", "not-known": "not known", "unnamed": "unnamed",
	"next": "Next: {what}", "all": "all", "more": "{n} more", "and-more": "{names} and {n} more", "show-more": "Show {n} more of {of}", "from-to": "{from} to {to}",
	"search": "Search", "stage": "Stage", "stages": "Stages", "category": "Category", "limiter": "Limiter", "region": "Region", "counter": "Counter", "value": "Value",
	"launches": "Launches", "gpu-time": "GPU time", "wall-time": "wall time", "duration": "Duration", "evidence": "Evidence",
	"busy-and-idle": "Busy and idle", "grid-block": "grid {grid}, block {block}", "gpu": "GPU {device}[: {name}]", "process": "process {id}",
	"times-clean": "in the unprofiled run", "times-nsys": "under nsys", "launch-bound": "Launch-bound.",
	"sorted-up": "{table}: sorted by {by}, ascending", "sorted-down": "{table}: sorted by {by}, descending", "table-empty": "Nothing to show.",
	"table-label": "{table}, {n:row|rows}", "table-first": "The first {n} of {of} rows.", "table-narrow": "Not shown for lack of room: {columns}.", "table-all-columns": "All columns",

	// Around the report: navigation, sharing, colors.
	"skip": "Skip to the findings", "contents": "Contents", "link-copied": "Link copied", "copy-address": "Copy the address of the page",
	"cannot-copy": "The browser does not let the page copy; copy its address", "colors": "Colors", "color-auto": "Auto", "color-light": "Light", "color-dark": "Dark",
	"share": "Share", "share-help": "Copy a link to what is shown: place, zoom, selection, filters and sort", "print": "Print",
	"scope": "scope", "run-scope": "Scope: {text}", "scope-tag": "scope: {name}", "baseline-tag": "vs baseline: {name}", "no-baseline": "none", "recorded": "recorded",
	"made-by":  "Made by {version} from result schema {schema}. This file asks the network for nothing.",
	"licenses": "Licenses of what is inside this page",

	// Banners, and the first screen.
	"recorded-note": "This report shows a recording, not a measurement of this machine.",
	"preliminary":   "preliminary", "preliminary-note": "Counters are still to be taken: this is what the timeline tells.",
	"unfinished-note": "What it had captured by then is shown; the rest is missing.",
	"unprofiled":      "unprofiled", "under-nsys": "under nsys", "no-kernel": "no kernel: {why}", "finding": "finding",
	"saves-about": "about {time}", "saves-up-to": "up to {time}", "waits": "{time} of waiting", "link-to-finding": "Link to this finding", "to-kernel": "kernel", "to-typical-step": "timeline at a typical step", "to-typical-pass": "timeline at a typical pass", "to-chains": "chains", "to-evidence": "evidence", "profile": "Profile",
	"whole-timeline": "the whole timeline",

	// Findings.
	"findings":         "Findings",
	"findings-plainly": "In plain words", "paper-kernels": "The kernels that take most GPU time", "weight-high": "Important", "weight-medium": "Worth knowing", "weight-low": "Minor",

	// Where the time goes.
	"time":       "Where the time goes",
	"time-lead":  "Wall time of each stage under nsys: kernels run, by category, and no kernel runs (hatched), by cause. Copies are such a cause; GPU busy above counts them as work.",
	"time-scope": "The scope as a whole: {name}", "time-whole": "The whole capture, with what lies outside the stages", "busy-and-idle-time": "Busy and idle time",
	"split-none": "No time to divide.", "split-idle": "idle: {why}", "stage-timings": "Timings per stage", "aggregates": "Aggregates of the unprofiled run",
	"gain":               "{time} of {of} {times} ({share})",
	"stage-launch-bound": "The GPU waits for the host more than it works.[ Closing the launch gaps could save at most {gain}.] Fix these waits first; tuning kernels will not help yet.",
	"stage-times":        "{wall} wall under nsys; a kernel runs in {busy} ({busy_share}), none in {idle} ({idle_share})[, over {passes:pass|passes} in the timeline]",
	"stage-parts":        "Parts of this stage, already inside it: {parts}",

	// Ranks, windows and repeats.
	"ranks": "Ranks", "windows": "Windows and repeats", "ranks-lead": "Each row is of one timeline alone.[ The other sections are about {part}.]",
	"ranks-table": "Ranks side by side", "windows-table": "Timelines side by side", "rank-stages": "Mean pass of each stage", "rank-steps": "Steps",
	"collectives": "Communication between ranks", "messages": "Communication by size of message", "hosts": "Hosts",

	// Regions, their flame graph and modules.
	"regions": "Regions", "regions-none": "The timeline holds no NVTX ranges, so there are no regions.",
	"regions-lead":  "NVTX ranges with everything launched inside them. Choose a box or a row to see it in detail.",
	"region-chosen": "Region {path}", "regions-all": "Show all regions", "regions-tree": "Tree of regions", "open": "Open", "close": "Close", "start-end": "start/end",
	"flame": "Flame graph", "flame-width": "Width of a box", "flame-none": "No GPU kernel ran inside a region.",
	"flame-label": "Flame graph of regions. Arrow keys move, Enter opens, Z zooms.",
	"flame-rest":  "kernels of {path} that take less time than those beside", "flame-kernel": "kernel[, grid {grid}, block {block}]: opens its page",
	"flame-share": "{time}, {share} of the GPU time", "flame-kernel-share": "{time}, {share} of the region", "flame-launches": "{n:more launch|more launches}",
	"flame-help":          "Double-click a region, or press Z, to zoom to it. The lowest boxes are kernels, colored by category; gray stands for the many that take little.",
	"flame-help-wall":     "Double-click a region, or press Z, to zoom to it. The lowest boxes are kernels, colored by category; gray stands for the many that take little, and what is left empty is time without a kernel.",
	"region-launch-bound": "The GPU waits {time} for launches there, under nsys.", "region-kernels": "Kernels inside, by time", "not-in-page": "not in this page",
	"region-counters": "Counters by {method}[, covering {share} of its GPU time][ ({own} outside nested ranges)].", "region-not-counted": "Nothing in it was counted.",
	"exclusive-absent": "No launch outside nested ranges has a counter for it", "counter-how": "{how}[, {share} counted]",
	"modules": "Modules", "modules-label": "Modules by GPU time. Enter zooms.",

	// Servers, steps and histograms.
	"requests-short": "Requests", "requests-table": "What clients saw in each window", "next-token": "Where the {time} to the next token go", "next-token-table": "Where the time of the next token goes", "as-table": "As a table",
	"engine-steps": "Steps of the engine by kind and batch size", "step-kind": "{kind}[, batch {batch}]", "busy-axis": "GPU busy in a step", "gap-axis": "gap before a step",
	"step-kernels": "Kernels of each kind of step", "step-layers": "Layers of each kind of step", "over-time": "Steps over time", "window-number": "window {n}", "n-steps": "{n:step|steps}",
	"over-time-tokens": "Tokens of a step, mean", "over-time-time": "Time of a step, mean", "over-time-busy": "GPU busy, of the time of steps", "over-time-gap": "Gap before a step, mean",
	"over-time-label": "{what}, over time; at most {most}", "over-time-most": "up to {most}", "tokens-in-steps": "{prompt} of prompts, {decode} of decode in {n:step|steps}",
	"decode-tokens": "decode", "prompt-tokens": "prompts",
	"steps": "Steps", "steps-table": "Distribution of the steps", "steps-what": "steps", "steps-axis": "duration of a step", "layers-over-steps": "Layers over steps",
	"outliers": "Layers that took longer than usual", "strip-step": "{group}, step {first}[ to {last}]", "strip-axis": "number of the step, {group}", "strip-label": "GPU time of each layer in each step; the table below lists what stands out",
	"histogram-launches": "launches", "histogram-none": "No durations to show.", "histogram-label": "{what}; the table below has the numbers",
	"histogram-axis": "{what}, at most {most} in a bin", "histogram-duration": "duration of a launch", "histogram-as-table": "Histogram as a table",

	// The table of kernels.
	"kernels": "Kernels", "kernels-lead": "A row is one kernel with one grid and block[, in {scope}]. Open a row for its counters, limiter and roofline.",
	"kernels-search": "Part of a name; press / to come here", "kernels-found": "{n} of {of:kernel|kernels}", "kernels-all": "{n:kernel|kernels} by grid and block",
	"kernels-some": "{n} of {of:kernel|kernels} by grid and block", "kernels-no-match": "No kernel matches.", "kernels-unmatched": "{n:name that matches|names that match} no category rule",
	"categories-label": "GPU time: {parts}", "category-title": "{category}, {share} of GPU time", "one-of-names": "one of {n} kernels of this short name",

	// The page of one kernel.
	"back": "← All kernels", "back-help": "Or press Escape", "no-such-kernel": "No such kernel", "no-such-kernel-note": "This report has no kernel {id}.",
	"previous": "previous", "following": "next", "kernel-place": "{n} of {of} by time",
	"launch-bound-stage":  "Launch-bound stage.",
	"launch-bound-kernel": "This kernel runs in {stages}, where the GPU waits for launches more than it works. Solve that before the counters below.",
	"untimed":             "Launches and GPU time", "untimed-note": "no launch of it is in the timeline, or in the scope", "under-ncu": "Under ncu", "under-ncu-note": "one launch alone, as ncu replays it",
	"total": "GPU time", "total-note": "{share} of GPU time", "total-note-scope": "{share} of GPU time in the scope", "mean": "mean {time}", "median": "Median",
	"category-rule": "rule {rule}", "category-no-rule": "no rule matched", "in-run": "In {run}", "median-in-run": "Median in {run}", "in-run-note": "{n:launch|launches}, {time}",
	"limiter-title": "What limits it", "no-verdict": "No verdict", "cause": "Cause:",
	"cause-untold":  "not told; ncu's sections that would tell: {sections}",
	"other-limiter": "Launches of about {time} ({n:launch|launches}, {share} of its time): {limiter}[ ({level})].", "limiter-need": "What would tell: {need}",
	"busiest": "Busiest unit: [{unit}, ]at {share} of its peak[ ({how})].", "busiest-by": "{metric}: how busy the unit is, with all that it does[; the roofline counts the {bytes} alone]",
	"moved-dram": "bytes to and from DRAM", "moved-l2": "bytes that L2 hands to L1", "moved-l1": "bytes that loads take from L1",
	"launch": "Launch", "grid": "Grid", "block": "Block", "waves": "Waves", "registers": "Registers per thread", "static-shared": "Static shared memory", "dynamic-shared": "Dynamic shared memory", "mangled": "Mangled name",
	"time-by-stage": "Time by stage", "outside-stages": "outside stages", "launched-from": "Launched from", "no-module": "in no module",
	"kernel-steps": "In {n} of {of:step|steps}, on average {each} times in each of them.", "modules-and-ranges": "Modules and ranges",
	"memory-chart": "Memory chart", "cache-hits": "hits {share}",
	"memory-none": "The bytes between the levels of memory were not counted (section MemoryWorkloadAnalysis_Tables). Next: count again with pipeline/ncu=causes.", "flow-none": "not counted",
	"stalls-none":   "What its warps wait for was not counted (section WarpStateStats). Next: count again with pipeline/ncu=causes.",
	"durations-few": "{n:launch|launches}, {from}[ to {to}]: too few different durations for a distribution.", "grid-and-block": "grid {grid}, block {block}",
	"stalls": "Stall reasons", "durations": "Durations", "durations-of": "Durations of {n:launch|launches}",
	"counters": "Counters", "not-counted": "Not counted[: {why}]", "counters-search": "Name of a counter", "counters-no-match": "No counter matches.", "counters-other": "Other counters",
	"counted": "Launch {launch} of {report}[, {time} under ncu][ at {clock}][, {passes:pass|passes}][; such launches last {timeline} in the timeline]." +
		"[ {others:more launch of it was counted|more launches of it were counted}.]",
	"counted-verified": "It is the launch that was meant.", "counted-unverified": "It could not be verified that it is the launch that was meant.", "counted-why": "Why this kernel: {why}",
	"rules": "What NVIDIA's rules say", "rule-ok": "note", "rule-warning": "warning", "rule-error": "error", "rule-optimization": "optimization",
	"rule-local": "local estimate {speedup} %", "rule-kernel": "kernel estimate {speedup} %",

	// Roofline; rates are in FLOP/s, intensities in FLOP/B.
	"roofline": "Roofline", "roofline-none": "No kernel was counted, so there are no points.",
	"roofline-lead": "Achieved floating-point rate against operations per byte. A point is a kernel; its area is its share of the time. Under a slope it waits for memory, under a ceiling for arithmetic.",
	"roofline-note": "Roofs are those of the longest counted launch. A kernel's share of its roof is held against the limits at the clock of its own launch, so that it may differ a little from where the point lies.",
	"memory-level":  "Memory level", "points": "Points of the roofline", "points-as-table": "Points as a table", "roofs": "Roofs", "roofs-from": "Roofs and where they come from",
	"roofline-no-point": "No point for this choice.", "roofline-label": "Roofline plot. Arrow keys go from point to point by time, Enter opens the kernel.",
	"roofline-y": "achieved rate (FLOP/s)", "roofline-x": "operations per byte (FLOP/B)", "no-point": "Roofline: no point, because {why}.",
	"kernel-point": "{memory}[ ({moved})]: {intensity} FLOP/B, {attained} of the roof", "point-rate": "{rate} at {intensity} FLOP/B of {memory}",
	"point-roof": "{share} of the roof ({roof})", "point-time": "{time}[; limiter: {limiter}]", "not-in-timeline": "not in the timeline",

	// MFU, HFU and MBU.
	"use": "MFU, HFU and MBU", "use-short": "MFU and MBU", "use-table": "MFU, HFU and MBU per stage",
	"use-lead": "Work achieved over the peak of this GPU: the model's floating-point operations (MFU), those that the hardware executed (HFU) and memory traffic (MBU).",
	"use-clocks": "The peak of MFU is at {peak}: what the GPU could do at most. The roofline has the same limit at {roof}, because each counted kernel is held against what was " +
		"possible while it was counted.",
	"highest-clock": "the highest clock of the device", "counted-clock": "the clock at which ncu counted",

	// Opportunities.
	"opportunities": "Opportunities", "opportunities-lead": "What could be saved at most, by seconds of {of}. The bounds do not add up: one gain takes from another.",
	"opportunities-none": "None was found.", "opportunities-more": "Show {n:smaller one|smaller ones}", "about": "about", "at-most": "at most",
	"opportunity-about":    "{share} of {part}[, {of} {times}][; likely about {estimate}][, which would be up to {speedup} times as fast][; {gain} of {stage}][; in {alone}]",
	"opportunity-evidence": "Evidence and assumption", "opportunity-assumes": "Assumes: {what}",

	"operators": "Operators", "operators-lead": "From the torch profiler.",

	// This run: tiles of totals.
	"run": "This run", "run-cuda": "CUDA {version}", "run-driver": "driver {version}", "run-nsys": "nsys {version}", "run-ncu": "ncu {version}", "run-status": "run {status}",
	"status-done": "done", "status-failed": "failed", "status-interrupted": "interrupted", "status-running": "running",
	"wall-nsys": "Wall time under nsys", "wall-of": "of {time} recorded", "wall-whole": "first to last event", "busy": "GPU busy",
	"busy-note": "with kernels or copies, of wall time[, mean of {gpus} GPUs]", "kernel-launches": "Kernel launches", "launches-note": "{names:name|names}[; {outside} outside]",
	"regions-whole": "Regions measured as a whole", "regions-whole-note": "by ncu; there is no timeline", "kernels-counted": "Kernels counted", "by-ncu": "by ncu",
	"memory-sets": "Memory sets", "copies": "Copies",

	// Machine, software and workload.
	"environment": "Environment", "environment-host": "Host", "environment-cpu": "CPU", "environment-os": "Operating system", "environment-driver": "Driver", "environment-cuda": "CUDA",
	"environment-nsys": "Nsight Systems", "environment-ncu": "Nsight Compute", "environment-kind": "Kind", "environment-model": "Model", "environment-family": "Family",
	"environment-parameters": "Parameters", "environment-weights": "Weights", "environment-layers": "Layers", "environment-dtype": "Data type", "environment-attention": "Attention",
	"environment-kv-cache": "KV cache", "environment-chip": "Chip", "environment-compute": "Compute capability", "environment-sms": "SMs", "environment-memory": "Memory",
	"machine": "Machine and software", "workload": "Workload", "whole-command": "The whole command, {n} characters",
	"peaks": "Peaks", "peak": "{label}, {value}[ at {clock}]", "not-measured": "not measured",

	// How it was measured.
	"method": "How it was measured", "picked-title": "Launches that were counted",
	"picked": "Of {groups} groups of kernel, grid and block {chosen} were chosen and {counted} counted[, {others} along with the others]: " +
		"{coverage} of the GPU time of the chosen regions[ ({regions})], {all} of all GPU time.[ It took {took}.][ Predicted: {predicted}.]",
	"picked-left-out": "Left out: {what}", "picked-cut-off": "Cut off by a limit of the choice: {what}", "method-clock": "Clock of the counters: {clock}",
	"method-unprofiled": "The whole program in the unprofiled run: {time}.", "deviations": "Settings that profiling required to be different", "annotation": "Annotation",
	"replay-modes": "Replay modes tried", "thresholds": "Thresholds of the verdicts", "files-of": "Files it was made from", "files": "Files",

	"doubts": "Warnings and what is missing", "warnings": "Warnings", "missing": "Could not be told",

	// The timeline and what is selected in it.
	"timeline": "Timeline", "timeline-lead": "Times count from the first event to the last, which ends at {end}. On the clock of nsys, as in deepprof show ranges, the first event is at {start}.",
	"timeline-shows": "Timeline shows {from} to {to}", "timeline-range": "{from} to {to}, {time}", "timeline-label": "Timeline of ranges and GPU work", "timeline-as-table": "Timeline as a table",
	"event-at": "{lane}, at {at}", "events-in": "{n:event|events} in {time}, busy {busy} ({share}); mostly the one named", "event-lasts": "lasts {time}", "events": "{n:event|events}",
	"counter-at": "GPU {device}, {at}", "gpu-samples": "GPU {device}, sampled counters", "samples": "Sampled counters", "lanes": "Lanes of the timeline",
	"scale-full": "100 %", "scale-none": "0",
	"event-launched-by": "launched by {name} on {lane}, {before} before", "event-launches": "launches {name} on {lane}, {after} later[ and {n} more]", "event-layer": "layer {layer}",
	"zoom-in": "Zoom in", "zoom-out": "Zoom out", "earlier": "Earlier", "later": "Later", "whole-run": "Whole run", "zoom-scope": "Scope", "full-screen": "Full screen", "full-screen-leave": "Leave full screen (Esc)",
	"find-event": "Find an event", "find-previous": "Previous", "find-next": "Next", "find-none": "No event matches", "find-some": "{n:event matches|events match}", "find-place": "{n} of {of}",
	"rank-lanes": "ranks", "ranks-few": "Slowest, fastest and latest rank", "ranks-all": "All {n} ranks",
	"nothing-selected": "Nothing selected.", "event-selected": "{name} on {lane}, {at} + {time}[ ({n:event|events}, busy {busy})].",
	"selected-not-in-view": "Nothing of this lane is in view; this is the nearest, and Enter goes to it.",
	"timeline-help": "Drag to move. Wheel zooms while the timeline has the focus, or with Ctrl. Keys: arrows or A D move, + − or W S zoom, up and down choose a lane, " +
		"Shift with left and right the next box, Enter zooms to it, 0 shows everything. Shift and drag measures; F zooms to what is measured or selected." +
		"[ The page holds {n:event|events} one by one.] Boxes that stand for several say how many, and are filled up to the share of time in which one of them ran.",
}
