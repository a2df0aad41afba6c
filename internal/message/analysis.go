package message

import "github.com/deepprof/deepprof/internal/fact"

// Ends of sentences that several codes share: what to do, where it is the same. They are
// parts of templates and may hold parameters of the codes that use them.
const (
	repairInput    = "copy the file again, or capture again; --partial takes the rest"
	repairTimeline = "copy the file again, or export or capture again"
	repeatQuiet    = "repeat on a quiet machine, with more passes (infer.repeats)"
	useClean       = "go by the times of the unprofiled run"
)

// analysisLabels name what warnings are about: domains of IDs that internal/analysis
// states as parameters of its codes.
var analysisLabels = map[string]map[string]string{
	// What is not known without a timeline.
	"quantity": {"times": "times", "regions": "regions", "stages": "stages", "gaps": "gaps", "kernel-times": "times of kernels", "region-times": "times of regions"},
	// What ncu does to the launches that it counts.
	"ncu-does": {"empties-caches": "empties the caches", "sets-clock": "sets the clock"},
	// Kinds of GPU work and calls of a timeline.
	"event": {"events": "events", "kernels": "kernels"},
}

// ofAnalysis are the warnings of a result and what it could not tell (Result.Warnings and
// Result.Missing): internal/analysis states the codes, in notes.go and codes.go, with the
// parameters beside each.
//
// Parameters that many share: stage and region name what it is about, file and dir a path;
// ns, mean, std and median are times; share and coverage are of the time or the launches
// that the sentence names, of is the whole; n counts what its noun says; error is what the
// system or a reader said, why and how are facts of their own. Next says what would fill the
// gap, and is "" where nothing would.
var ofAnalysis = map[fact.Code]words{
	// What a result lacks as a whole (Result.Missing).
	"no-timeline": {Text: "there is no timeline: {unknown} are not known",
		Next: "capture one with nsys (pipeline.nsys.enable=true), or analyze the run that has one"},
	"timeline-unreadable": {Text: "the timeline cannot be read, so times of kernels and regions, and gaps, are not known: {error}"},
	"timeline-lost":       {Text: "nothing of the timeline's kernels could be read: times of kernels and regions, and gaps, are not known", Next: repairTimeline},
	"no-kernels": {Text: "the timeline holds no kernel: nothing ran on a GPU while it was captured, or CUDA was not traced",
		Next: "check that the program uses the GPU and that nsys traced cuda"},
	"no-baseline": {Text: "there is no unprofiled run: times are those under the profiler, and its overhead is not known", Next: "run with pipeline.unprofiled.enable=true"},
	"baseline-stages": {Text: "the unprofiled run was timed as a whole ({time}): the times of stages are those under the profiler, and its overhead on them is not known",
		Next: "a workload that ships with deepprof times its stages"},
	"serving-no-context": {Text: "MFU and MBU of the steps are not known: no client of deepprof's own sent the requests, so the lengths of their contexts are not known", Next: "use pipeline.server.load.kind=client"},
	"no-counters":        {Text: "no counters were taken: what limits each kernel cannot be told", Next: "run with pipeline.ncu.enable=true"},
	"causes-untold":      {Text: "the counters tell what limits a kernel, but for {n} of {of} kernels not why (sections {sections} were not counted)", Next: "count again with pipeline/ncu=causes, about a third more time a launch"},
	"counters-failed":    {Text: "what limits each kernel cannot be told, because no counters were taken: {why}", Next: "[{cause!}]"},
	"counters-ahead":     {Text: "counters are not taken yet: what limits each kernel cannot be told", Next: "let the run go on; where it was stopped: deepprof runs resume {dir}"},
	"counters-empty":     {Text: "the reports of counters hold no launch and no range: what limits each kernel cannot be told", Next: "see the warnings; count again with pipeline.ncu.enable=true"},
	"no-kernel-counters": {Text: "ranges were counted as a whole: what limits each kernel cannot be told", Next: "count launches: pipeline.ncu.ncu_cli.replay_mode=kernel"},
	"regions-under-ncu": {Text: "regions are made of what ncu counted: their launches, ranges and times are those under ncu[, which {does},] and what it did not count is not in them",
		Next: "capture a timeline with nsys"},
	"ncu-times": {Text: "kernels are ordered by the time of their counted launches under ncu[, which {does},] and not in a timeline: launches and total times are not known",
		Next: "capture a timeline with nsys"},
	"other-capture":      {Text: "the timeline was captured at {began}, but nsys ran at {ran} in this run: the report is of another run", Next: "run again, or analyze the report by itself"},
	"counter-impossible": {Text: "{file} has an impossible {counter} (0 or less) in {n:launch|launches}: it counts as not measured", Next: "count again"},
	"metrics-absent":     {Text: "{n:counter|counters} could not be read that this machine does not have ({units}); no verdict and no number here uses them"},
	"no-operators":       {Text: "the torch profiler did not run: there are no operators", Next: "run with pipeline.torch_profiler.enable=true"},
	"operator-kernels": {Text: "the recording of the torch profiler does not say which kernels an operator launched, so operators have no limiter: it was made before that was recorded, or by a release of torch that does not tell",
		Next: "run the torch profiler again with this version"},

	// Doubts about the inputs: files that changed, or are not of one run.
	"changed-file": {Text: "{file} changed since it was captured[ ({bytes:byte|bytes}, recorded with {recorded})]: the numbers are of what is there now",
		Next: "deepprof runs show RUN --verify names all that changed"},
	"timeline-of": {Text: "{file} is of {program}"},
	"timelines-differ": {Text: "the timelines are of different programs: {file} is of {program}, and so everything below is about it alone; {others}",
		Next: "analyze each program by itself; deepprof compare holds two runs of one program against each other"},
	"timelines":            {Text: "there are {n} timelines: kernels, regions, stages and findings are about {file}", Next: "deepprof show ranks has all of them"},
	"timeline-damaged":     {Text: "the timeline is damaged: {error}", Next: repairTimeline},
	"clock-damaged":        {Text: "the events of the timeline lie years apart: its clock is damaged, and sums of times cannot be trusted", Next: "capture again"},
	"scope-unused":         {Text: "the whole timeline is counted, with loading and warm-up: {why}", Next: "name regions of the timeline: deepprof show regions lists them"},
	"phases-detected":      {Text: "the timeline has no ranges; what repeats was detected: {before:launch|launches} of set-up, then {n:repetition|repetitions} of a sequence of {kernels:kernel|kernels}, {median} each ({min} to {max})", Next: "mark the stages with NVTX ranges to have them by name"},
	"scope-no-region":      {Text: "none of the regions that were asked for ({include}) is in it"},
	"scope-no-kernel":      {Text: "no kernel was launched in the regions that were asked for ({include})"},
	"scope-invalid":        {Text: "{error}"},
	"file-unreadable":      {Text: "{error}"},
	"input-unreadable":     {Text: "{file} cannot be read, and the numbers are of the other files: {error}", Next: repairInput},
	"region-uncovered":     {Text: "of the GPU time of {region} {coverage} was counted, less than the {goal} asked for: {why}"},
	"input-lost":           {Text: "a part of {file} is lost, and the numbers are of the rest: {lost}", Next: repairInput},
	"preliminary":          {Text: "this is the first answer, from the timeline: what limits each kernel follows when Nsight Compute has counted"},
	"counters-keep-advice": {Text: "counters do not change what to do about {stages}: the GPU waits for the host there"},
	"programs-differ": {Text: "{file} holds counters of another program ({counters}) than the timeline ({timeline}): they stand by themselves, and nothing is taken from one to the other[; of {of:counted kernel|counted kernels} the timeline has {n} with that grid and block]",
		Next: "analyze each file alone, or capture both of one program"},
	"arguments-differ":   {Text: "{file} was counted with other arguments ({counters}) than the timeline ({timeline}): counters are joined by kernel, grid and block, and stand for no other launch"},
	"counters-elsewhere": {Text: "{n} of {of} counted kernels did not run with their grid and block in what is analyzed of the timeline, and stand for nothing in it: {kernels}"},
	"step-warning":       {Text: "{step}: {what}", Next: "[{what!}]"},

	// Doubts about what was captured of the program.
	"one-process-ranges": {Text: "one process has no NVTX ranges, another has: {text_of_vendor}"},
	"one-process-cuda":   {Text: "one process did not use CUDA, another did: {text_of_vendor}"},
	"shapes-differ": {Text: "the unprofiled run and the run under nsys have different shapes (batch {batch} and {batch_nsys}, prompt {prompt} and {prompt_nsys}, new tokens {new} and {new_nsys}): the overhead cannot be told",
		Next: "run both with the same infer settings"},
	"cut-short":          {Text: "the workload failed under {step} ({how}): what it would have done after is missing", Next: "read the output of the workload in the folder of the step; fix it and run again"},
	"cut-short-timed":    {Text: "the workload failed under {step} ({how}): the capture took {ran}, an unprofiled run {unprofiled}, and the rest is missing", Next: "read the output of the workload in the folder of the step; fix it and run again"},
	"cut-full-disk":      {Text: "a file system filled up under {step} ({how}): a part of the capture is missing", Next: "free space and run again; nsys needs about 30 times the report's size in TMPDIR"},
	"metrics-incomplete": {Text: "{file} was not finished: it holds {n:sample|samples}"},
	"targets-stale": {Text: "{file} was made from another timeline than the one there is: why kernels were counted is not known, and counted launches are matched without it",
		Next: "analyze the timeline that the choice was made from, or capture again"},
	"report-remark":    {Text: "{file}: {text}"},
	"operators-remark": {Text: "[{what}][{text}]"},
	"operators-cut":    {Text: "{n:operator|operators} with the least time are left out", Next: "operators.json of the run has all"},
	"operators-cover": {Text: "the operators hold {share} of the device time that the torch profiler saw: kernels launched by CUDA graphs have no operator",
		Next: "the kernels of the timeline hold all of it; run without CUDA graphs to see operators"},
	"events-cut":  {Text: "the timeline of the page shows single events for {ns} from {from} on, because it carries at most {most} of them; boxes elsewhere stand for several", Next: "deepprof show launches lists all of them"},
	"lanes-cut":   {Text: "{n} of {of} lanes of the overview, those with the least time, are left out", Next: "deepprof show launches lists the work of all of them"},
	"regions-cut": {Text: "{n} of {of} region paths, those with the least time, are left out of the report", Next: "use deepprof show regions to see all"},
	"above-roof":  {Text: "kernel {kernel} lies {share} above its roof in {dtype} over {memory}: a counter or a peak is wrong", Next: "look at the raw counters of the kernel"},
	"executed-less": {Text: "in {stage} the counters hold {share} of the model's FLOPs while they cover {coverage} of the GPU time: launches of one kernel and grid differ in their work, FLOPs lie in kernels that were not counted, or the model's arithmetic is of more than ran; MFU by counters is too low there",
		Next: "a pipeline.ncu.pick.alike nearer to 1 counts launches of more durations; a larger pick.coverage counts more kernels"},

	// Doubts about times: what profiling cost, and how far runs differ.
	"overhead-server": {Text: "collecting makes the time between tokens {overhead} longer than in idle windows", Next: "{advice}"},
	"overhead":        {Text: "{stage} took {overhead} longer under nsys than unprofiled: gaps in the timeline are larger than in the unprofiled run", Next: "{advice}"},
	"clean-short": {Text: "an unprofiled pass of {stage} took {clean}, but its kernels run for {busy} under nsys: the two do not do the same, and savings are held against the time under nsys",
		Next: "check that both runs do the same"},
	"clean-slower": {Text: "the unprofiled run of {stage} was slower than the profiled one, which took {less} less time ({mean}[ ± {std}] unprofiled, {nsys} under nsys): the host was disturbed, and what rests on the unprofiled time, such as MFU and MBU, looks worse than it is",
		Short: "the unprofiled run of {stage} was slower than the profiled one, which took {less} less time: the host was disturbed",
		Next:  repeatQuiet},
	"clean-uncertain": {Text: "the mean of the unprofiled times of {stage} ({mean}[ ± {std}]) lies above the time under nsys ({nsys}), which took {less} less: they differ from pass to pass, and what rests on their mean, such as MFU and MBU, may look worse than it is",
		Short: "the unprofiled times of {stage} differ from pass to pass, and their mean ({mean}[ ± {std}]) lies above the time under nsys ({nsys})",
		Next:  repeatQuiet},
	"clean-spread": {Text: "the unprofiled times of {stage} differ too much from pass to pass ({mean}[ ± {std}]) to tell the overhead of nsys, and what rests on their mean is as uncertain",
		Next: repeatQuiet},
	"page-counters-left-out": {Text: "left out of this page to keep it small; result.json has the counters"},
	"page-reduced": {Text: "this page was kept under {most}: counters and histograms of all but the first {kept} of {of} kernels, {dropped} kernels at the end of the table, and detail of regions, operators and timeline are left out",
		Next: "result.json holds everything"},
	"replay-mode": {Text: "{mode}: [{outcome}; ]{reason}"},

	// Doubts about counters.
	"ranges-partial":    {Text: "{n} of its {of} instances were measured, and nothing is added for the rest"},
	"launches-excluded": {Text: "kernel patterns leave out {n} of its launches"},
	"longer-under-ncu":  {Text: "under ncu[, which {does},] these launches take {share} longer than in the timeline: bytes of DRAM and shares of peaks are those under ncu"},
	"shorter-under-ncu": {Text: "under ncu[, which {does},] these launches take {share} less than in the timeline: bytes of DRAM and shares of peaks are those under ncu"},
	"scaled-time":       {Text: "{share} of its GPU time is that of launches which last much longer or shorter than those counted of the same kernel, grid and block: their counts are taken in proportion to time"},

	// Why a kernel or a region has none.
	"left-out":                {Text: "{reason}: {launches:launch|launches}, {share} of GPU time[: {kernels}][; {more} more]"},
	"kernel-share":            {Text: "{kernel} ({share})"},
	"region-no-counters":      {Text: "no counters were taken"},
	"region-not-measured":     {Text: "not among the regions that were measured"},
	"region-not-summed":       {Text: "pipeline.regions.aggregate is off: its rows by process and device have the counters"},
	"counted-other-program":   {Text: "{file} is of another program than the timeline"},
	"counted-not-in-timeline": {Text: "the timeline has no launch of this kernel with this grid and block"},
	"counted-not-in-scope":    {Text: "no launch of this kernel with this grid and block lies in the scope"},
	"counted-alike":           {Text: "launches that last about as long: {calls} of {of}, {share} of the kernel's time"},
	"counted-ambiguous":       {Text: "its name fits {n} kernels of the timeline with this grid and block; an .ncu-rep in place of CSV tells them apart"},

	// Why an overhead is not told, in place of the number.
	"faster-under-nsys": {Text: "not told: it took less time under nsys ({nsys}) than unprofiled ({mean}[ ± {std}]), which no profiler causes", Short: "not told"},
	"noise-not-slower":  {Text: "within the noise: it took no longer under nsys than unprofiled ({mean}[ ± {std}])", Short: "within noise"},
	"noise-wide":        {Text: "within the noise: its unprofiled times differ too much ({mean}[ ± {std}])", Short: "within noise"},
	"noise-within":      {Text: "within the noise: it took {share} longer under nsys, and its unprofiled times differ by as much ({mean}[ ± {std}])", Short: "within noise"},

	// Advice about an overhead that is too high (Params["advice"] of overhead).
	"use-nsys-light":       {Text: "use pipeline/nsys=light, which traces CUDA graphs as a whole, and " + useClean},
	"use-nsys-sampled":     {Text: "use pipeline/nsys=sampled with pipeline.ncu.enable=false, which traces no CUDA and still tells how busy the GPU, its tensor cores and its memory are in each region, and " + useClean},
	"use-nsys-default":     {Text: "use pipeline/nsys=default, which does without {costs}, and " + useClean},
	"use-clean-times":      {Text: useClean},
	"nsys-light-already":   {Text: useClean + ": no preset is lighter than this, which is that of pipeline/nsys=light"},
	"nsys-light-no-better": {Text: useClean + ": no preset is lighter, as pipeline/nsys=light differs for CUDA graphs alone"},
}
