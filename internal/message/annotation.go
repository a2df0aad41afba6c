package message

import "github.com/deepprof/deepprof/internal/fact"

// annotationWords say whether deepprof's own ranges got into the program, and what they
// cost. internal/workload and internal/analysis state them from what the annotated processes
// wrote.
//
// pid and process tell one process from others; n of so many is of; with and without are the
// mean times of a pass with the ranges and without, and _low and _high the interval of each.
var annotationWords = map[fact.Code]words{
	"annotated":        {Text: "process {pid} was annotated: ranges of {regions:region|regions} were injected[, with the sizes of {steps:step|steps}]; {file} lists them"},
	"annotated-ranges": {Text: "{n} of {of} ranges of the timeline were injected"},
	"annotation-limited": {Text: "a pass of process {pid} opened too many ranges: modules deeper than {depth:level|levels} were left out from the next pass on",
		Next: "raise pipeline.annotate_limit, or set pipeline.annotate_depth"},
	"annotation-no-nvtx": {Text: "process {pid} was not annotated: its torch is built without NVTX", Next: "use a CUDA build of torch"},
	"annotation-error":   {Text: "a part of process {pid} was not annotated: {error}", Next: "report this with the versions of torch and transformers; mark stages with torch.cuda.nvtx until then"},
	"annotation-failed": {Text: "the capture failed with annotation and not without it, so nothing is annotated ({file})",
		Next: "set pipeline.annotate=none, and report this with the output in the folder of the step that was set aside"},
	"annotation-nothing": {Text: "nothing was annotated: no process imported PyTorch where deepprof could see it"},
	"annotation-kept-out": {Text: "process {pid} ({process}) launched {launches:kernel|kernels} of PyTorch, but annotation did not get in, so it has no stages and layers of deepprof's: it runs python -I, -E or -S, changes PYTHONPATH, embeds an interpreter, or is no Python program",
		Next: "start it without these options, or mark its stages with NVTX ranges"},
	"annotation-not-traced": {Text: "process {pid} was annotated, but the timeline has nothing of it: nsys does not follow a forked process unless asked to, and loses the end of one that stops abruptly",
		Next: "start workers with spawn, or try pipeline.nsys.trace_fork_before_exec=true"},
	"annotation-cost":         {Text: "annotation alone costs {share} of the program: {with} ({with_low} to {with_high}, {n:run|runs}) against {without} ({without_low} to {without_high}, {of:run|runs}) unprofiled"},
	"annotation-cost-noise":   {Text: "what annotation costs is within the noise: {with} ({with_low} to {with_high}, {n:run|runs}) against {without} ({without_low} to {without_high}, {of:run|runs}) unprofiled", Next: "repeat more often: pipeline.unprofiled.repeats=5"},
	"annotation-cost-once":    {Text: "the annotated program took {with} and the unprofiled one {without}; how far single runs differ is not known", Next: "run each more often: pipeline.unprofiled.repeats=5"},
	"annotation-cost-unknown": {Text: "what annotation costs is not known: the annotated or the unprofiled run has no time"},
}

// annotationLabels name why a row of layers has no MFU: what annotation did not note.
var annotationLabels = map[string]map[string]string{
	// Why a layer has no MFU.
	"no-mfu": {
		"not-noted":   "no shapes noted: annotate the run (pipeline.annotate)",
		"outside":     "in no module",
		"compiled":    "compiled: one range, its products are not seen",
		"no-products": "no product or attention of its own was seen",
		"some":        "no product or attention was seen in some of these modules; --all shows each",
		"types":       "products of several data types",
		"graphs":      "captures and replays of CUDA graphs do not match",
		"peak":        "peak not known, or above it",
	},
}
