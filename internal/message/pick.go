package message

import "github.com/deepprof/deepprof/internal/fact"

// ofPick are the words for the choice of launches to count: why a kernel was chosen or left
// out, what it will cost, and what came of it. internal/pick and internal/pipeline state them;
// docs/pick.md explains the choice.
//
// n, launches, kernels and regions count; share, covered and budget are shares of GPU time or
// times, as the sentence says; time is what counting takes; include, regions and expr are
// expressions of the user; why, evidence and tried are facts of their own.
var ofPick = map[fact.Code]words{
	// Why a group of launches is counted: after "Why this kernel: ".
	"chosen-by-rank":   {Text: "rank {rank} by GPU time: {share} of the chosen regions in {launches:launch|launches}; with it {covered} are covered"},
	"chosen-by-region": {Text: "to cover {enough} of {region}: {of_region} of it, {share} of the chosen regions, in {launches:launch|launches}; with it {covered} of {region} are covered"},
	"counted-along":    {Text: "not chosen by its own time; counted along because the filter lets it through[ ({why})]"},

	// Which launch stands for a group, by its duration.
	"counted-at-median":   {Text: "its launch at the median duration is counted[; and of its launches that last longer or shorter: {others}]"},
	"counted-near-median": {Text: "a launch near the median duration is counted ({time}, median {median})[; and of its launches that last longer or shorter: {others}]"},
	"counted-off-median":  {Text: "the launch counted is of the same configuration but not typical ({time}, median {median})[; and of its launches that last longer or shorter: {others}]"},

	// Why a group is left out for what it is; no budget would change that.
	"step-not-made":        {Text: "comes only in steps of other batches than those that the client makes while launches are counted", Short: "in other batches only"},
	"waits-for-peer":       {Text: "waits for a peer: replayed alone it would hang; pipeline.ncu.pick.collectives=true counts it in a program with one rank", Short: "waits for a peer"},
	"excluded-by":          {Text: "excluded by {key}"},
	"not-among":            {Text: "not among {key}"},
	"limit-top-n":          {Text: "top_n: the limit of {n:group|groups} was reached before"},
	"limit-coverage":       {Text: "coverage: {share} of the GPU time[ of {each_region}] was reached before"},
	"limit-budget":         {Text: "budget_s: with it the predicted time would exceed {time}"},
	"no-way-to-count":      {Text: "no way to count it was found"},
	"left-graphs-whole":    {Text: "CUDA graphs that were traced as a whole: their kernels are not known; trace them with pipeline.nsys.cuda_graph_trace=node"},
	"left-outside-regions": {Text: "outside the chosen regions; the share is of all GPU time"},

	// Why a replay mode was or was not taken.
	"replay-no-region":    {Text: "no region is named that could be measured as a whole"},
	"replay-graphs-whole": {Text: "CUDA graphs as a whole need kernel replay"},
	"replay-no-kernel":    {Text: "the timeline holds no kernel in the regions: there is nothing to measure"},
	"replay-measured":     {Text: "it measured what was asked for"},
	"replay-unmeasured":   {Text: "it did not measure {regions}[ ({evidence})]"},
	"replay-verdict":      {Text: "{kind}[ ({evidence})]"},
	"replay-hopeless":     {Text: "{kind}"},
	"replay-failed":       {Text: "it failed: {what}[ ({evidence})]"},
	"replay-no-app-range": {Text: "ncu {version} has no app-range replay"},
	"replay-over-budget":  {Text: "it runs the whole program once for each of about {passes} passes: {time}, more than the budget of {budget}"},
	"replay-last":         {Text: "counters of single launches, joined to the regions by the timeline"},

	// How well the launches that ncu counted are those that were chosen.
	"match-whole":     {Text: "a range or graph measured as a whole"},
	"match-unknown":   {Text: "the timeline has no launch of this kernel with this grid and block"},
	"match-outside":   {Text: "it was launched in {regions}, outside the chosen regions"},
	"match-duration":  {Text: "it took {ncu} under ncu, {timeline} in the timeline"},
	"match-unplanned": {Text: "of a configuration or number of launches that was not planned"},
	"match-more":      {Text: "more launches of this group than planned"},
	"match-elsewhere": {Text: "planned in {planned}, counted in {counted}: another launch of the same configuration"},

	// Why a region has fewer counters than its launches.
	"region-graphs-whole":      {Text: "it launched CUDA graphs that were traced as a whole: their kernels are not known"},
	"region-empty":             {Text: "it is empty: no kernel was launched in it"},
	"region-nothing-counted":   {Text: "nothing was counted"},
	"region-less-than-planned": {Text: "ncu did not count all that was planned, {planned} of its GPU time"},
	"region-not-counted":       {Text: "none of its kernels was counted"},

	// Doubts about a choice; each rides on targets.json and on the report.
	"unmatched":             {Text: `{key} "{expr}": {why}[; did you mean {near}?]`},
	"no-such-range":         {Text: "no range of the timeline was opened under that name"},
	"no-such-kernel":        {Text: "no kernel of the timeline has such a name"},
	"nothing-to-count":      {Text: "ncu has nothing to count: {why}[; {unmatched}][; {exist}]"},
	"timeline-only-graphs":  {Text: "the timeline holds CUDA graphs as a whole and no kernels"},
	"timeline-kernels-none": {Text: "the timeline holds no kernels"},
	"regions-no-kernels":    {Text: "no kernel was launched in the chosen regions; {elsewhere} were launched elsewhere"},
	"regions-none-chosen":   {Text: "patterns and the rule on collectives leave none of the {launches} launches in the regions"},
	"no-region-selected":    {Text: "no NVTX expression selects a range of the timeline"},
	"ranges-none":           {Text: "the timeline holds no NVTX ranges: annotate the workload, or drop the NVTX filter"},
	"ranges-exist":          {Text: "ranges that exist: {ranges}[; {more} more]"},
	"cause-no-launch":       {Text: "no launch of the timeline is left to count", Next: "widen the filters; deepprof show kernels {dir} lists what ran"},
	"cause-no-range":        {Text: "the timeline holds no such range", Next: "name a range that exists; deepprof show regions {dir} lists them"},
	"cause-graphs-whole":    {Text: "CUDA graphs were traced as a whole", Next: "set pipeline.nsys.cuda_graph_trace=node"},
	"cause-no-kernels": {Text: "the program did not use CUDA, or nsys could not trace it (no driver, another profiler), or a process launched the kernels that it did not start[, or outside the part that was captured ({window})][, or in a child that was forked without exec ({fork})]",
		Next: "check that the program launches kernels itself; what a server launches for it shows where the server is profiled[; capture more with {window}][; children that are forked without exec need {fork}]"},
	"cause-range-empty": {Text: "no range was measured: none matches the filter, or it has no active CUDA context when it opens, launches nothing, or calls an API that ncu cannot record" + triedToo,
		Next: "{find}; " + rangePage + " lists what a range needs; pipeline.ncu.ncu_cli.replay_mode=app-range needs less"},
	"cause-app-range-empty": {Text: "no range was measured: none matches the filter, or it launches nothing" + triedToo,
		Next: "{find}; " + rangePage + " lists what a range needs; pipeline.ncu.ncu_cli.replay_mode=kernel counts single launches"},
	"cause-filter": {Text: "no launch passed the filters of NVTX range, kernel name and launch number" + triedToo,
		Next: "{find}; a push/pop range is written with a slash (decode/), a start/end range without[; " + rangePage + " lists what a range needs to be measured as a whole ({modes})]"},
	"cause-kernel-filter": {Text: "no launch passed the filters of kernel name[ ({kernel})] and launch number, or the program launched no kernel",
		Next: "{find}; a name that is no regular expression must match as a whole, regex:NAME matches a part"},
	"find-kernels":    {Text: "look at the kernels first: pipeline.nsys.enable=true, then deepprof show kernels RUN"},
	"compare-kernels": {Text: "compare the filter with deepprof show kernels RUN"},
	"find-ranges":     {Text: "look at the ranges first: pipeline.nsys.enable=true, then deepprof show regions RUN"},
	"compare-filter":  {Text: "compare the filter with deepprof show regions RUN and deepprof show kernels RUN"},
	"with-include":    {Text: "with nvtx_include {include}"},
	"without-include": {Text: "without nvtx_include"},
	"counting-again":  {Text: "nothing was profiled; once more {tried}"},
	"filter-changed": {Text: "nothing was profiled with nvtx_include {include}; this was counted {tried}",
		Next: "write the filter so in pipeline.ncu.ncu_cli.nvtx_include"},
	"counted-none-chosen": {Text: "ncu counted launches, and none of them is one that was chosen"},
	"cause-other-kernels": {Text: otherKernels, Next: "compare {targets} with deepprof show launches {dir}"},
	"counted-another-way": {Text: "counted in another way after a process that counted nothing: {why}"},
	"counted-nothing":     {Text: "one process of ncu counted nothing: {why}"},
	"one-process-failed":  {Text: "one process of ncu failed and another did not: {why}"},
	"missed-kernels":      {Text: "{n} of the chosen kernels were not counted, in either way: {kernels}", Next: otherKernels + "; {targets} has the details"},
	"missed-launches": {Text: "{n:launch that was planned was|launches that were planned were} not counted; other launches of these kernels stand for them, scaled by time: {launches}",
		Next: "{targets} has the details"},
	"kernel-launch": {Text: "{kernel} of {time} ({role})"},

	// What a choice could not take in, and what would let it.
	"graphs-unchosen":   {Text: "{share} of the GPU time in the regions is CUDA graphs that were traced as a whole: nothing in them can be chosen"},
	"group-over-budget": {Text: "even one group costs {time}, more than the budget of {budget}"},
	"graph-nodes":       {Text: "{n:of the launches to count is a node of a CUDA graph|of the launches to count are nodes of CUDA graphs}: ncu counts each node by itself, one after the other"},
	"many-processes":    {Text: "{n} processes launch kernels in the regions: ncu counts the launches of a configuration over all of them together, and numbers them in each by itself; which of them a launch comes from may change"},
	"root-only":         {Text: "{key}: ncu counts the program that it starts and none of its children, and the timeline does not tell which process that is: launches in the regions come from process {processes}, and those of a child will not be counted"},
	"scaled-launches":   {Text: "{share} of what is counted of {of} would be scaled from launches of another duration, more than the {allowed} allowed[: {why}]"},
	"launches-unknown":  {Text: "{n:launch was counted|launches were counted} that the timeline does not hold: the program did not run the same way twice", Next: compareLaunches},
	"launches-doubtful": {Text: "{n:counted launch is doubtful|counted launches are doubtful} and left out", Next: compareLaunches},

	// What became of chosen launches after ncu ran.
	"missing-not-counted": {Text: "ncu counted no launch of it"},
	"missing-doubtful":    {Text: "what ncu counted of it is doubtful"},
	"already-counted":     {Text: "earlier processes counted its launches already"},

	// Why groups are not divided by how long their launches last.
	"durations-not-by-number":    {Text: "launches of these durations cannot be told to ncu by number"},
	"durations-partial-timeline": {Text: "launches cannot be numbered, because the timeline shows only part of the program"},
	"durations-spread":           {Text: "durations are spread out, and more launches would cost more than the typical ones"},
	"durations-budget":           {Text: "budget_s pays for no more"},

	// What another choice would cost: seconds against coverage.
	"trade-chosen":     {Text: "chosen: " + wayCosts},
	"trade-instead":    {Text: "instead of " + wayCosts},
	"trade-further":    {Text: "with launches of other durations, " + wayCosts + ": else {else}"},
	"trade-closed":     {Text: "not possible: {why}"},
	"trade-process":    {Text: "one more process costs {time}"},
	"way-no-configs":   {Text: "ncu {version} has no per-launch-config"},
	"way-no-filter":    {Text: "{error}"},
	"way-no-window":    {Text: "no window of launches of each configuration holds every group"},
	"way-no-round":     {Text: "a round of launches of each configuration holds no further group"},
	"way-many-threads": {Text: "launches of {kernel} cannot be numbered: several threads launch it, in an order that may change"},

	// How a command of ncu tells launches apart that it names alike.
	"run-names-in-parts": {Text: "{names} kernel names do not fit into one filter: ncu runs {n} times, once for each part"},
	"run-names-shared":   {Text: "{n} launches of each configuration, because by function names kernels that differ only in template arguments share one"},
	"run-typical-among":  {Text: "{n} launches of each configuration, so that typical ones are among them"},
	"run-first-launches": {Text: "neither launch configurations nor launch numbers can be used"},
	"run-again":          {Text: "again, another way: {n:group|groups} missed before"},

	// Where an estimate of passes is from; the estimate itself is a number beside it.
	"passes-of-set":         {Text: "set {set}: {n} passes"},
	"passes-of-unknown-set": {Text: "set {set} is not known: taken as {n} passes"},
	"passes-of-sections":    {Text: "sections: about {n} more"},
	"passes-of-metrics":     {Text: "metrics: about {n} more"},
	"counting-cost":         {Text: "about {each} a launch ({basis})[, at most {kernels:kernel|kernels}, so about {all}], and [{process} for each run of the program][{unknown}][; {alike}][; the budget ends the choice at {budget}]"},
	"counting-cost-unknown": {Text: "the run time of the program"},
	"counting-cost-alike":   {Text: "launches of one kernel and grid that differ in their work (pick.alike) can double that"},

	// What is told while ncu runs.
	"counting-starts":   {Text: "ncu: {launches:launch|launches} for {kernels:kernel|kernels} (by name, grid and block) in {processes:process|processes}, about {time}; they stand for {regions} of the GPU time in the regions, {all} of all"},
	"counting-leaves":   {Text: "note: left out: {launches:launch|launches}, {share} of the GPU time in the regions: {kernels}: {why}"},
	"counting-retries":  {Text: "ncu: {n:of the chosen kernels was|of the chosen kernels were} not counted; once more, by {way}, about {time}"},
	"counting-done":     {Text: "ncu: counted launches stand for {regions} of the GPU time in the regions, {all} of all"},
	"pick-unused":       {Text: "note: pipeline.ncu.pick is not used: {why}"},
	"peers-not-counted": {Text: "note: kernels that wait for other ranks are not counted; pipeline.ncu.pick.collectives=true counts them"},
	"replay-mode-tried": {Text: "ncu: replay mode {mode}: {why}"},

	// Why nothing is chosen at all.
	"pick-off":         {Text: "it is turned off"},
	"pick-no-timeline": {Text: "there is no timeline to choose from; pipeline.ncu.ncu_cli alone decides"},
	"pick-kernel-id":   {Text: "pipeline.ncu.ncu_cli.kernel_id names the launches"},
	"pick-ranges":      {Text: "replay_mode {mode} measures ranges as a whole"},
	"pick-graphs":      {Text: "graph_profiling graph measures CUDA graphs as a whole"},
}

// Parts of sentences, and pages of the manual, that several codes share.
const (
	wayCosts        = "{way}: {launches:launch|launches} in {processes:process|processes}, {time}[, {off} of the GPU time by launches that are not typical]"
	rangePage       = "docs/range-replay.md"
	triedToo        = "[; tried as written, then {tried}][; replay modes tried before: {modes}]"
	otherKernels    = "the program may launch other kernels under ncu than under nsys"
	compareLaunches = "compare targets.json with deepprof show launches"
)

// pickLabels name the ways of counting that a choice weighs, the cheapest of which it
// takes, and what else a choice is about.
var pickLabels = map[string]map[string]string{
	"count-way": {
		"configs":         "launches of each configuration",
		"rounds":          "one of each configuration in rounds",
		"configs-numbers": "one of each configuration, then launches by number",
		"numbers-configs": "launches by number, then one of each configuration",
		"numbers":         "launches by number",
		"configs-slowest": "configurations, then the slowest by number",
		"first":           "the first launches",
		"all-numbers":     "all by number",
		"gates":           "all between gates at ranges of the program",
	},
	"scope-of-limit": {"each": "each region"},
	// Why a verdict on a capture ends a replay mode, by the kind of verdict.
	"replay-verdict": {
		"interrupted":                  "the run was interrupted",
		"permission":                   "no mode may read the counters",
		"counters held":                "no mode gets the counters while another program holds them",
		"profiler lock held":           "another profiler is running",
		"no driver":                    "there is no driver",
		"driver does not match":        "driver and profiler do not fit together",
		"device not supported":         "ncu cannot profile this GPU",
		"disk full":                    "the disk is full",
		"temporary directory unusable": "the temporary directory cannot be used",
		"tool installation broken":     "ncu is not installed properly",
		"output not writable":          "the report cannot be written",
		"output exists":                "the report cannot be written",
		"workload missing":             "the workload cannot be started",
		"workload failed":              "the workload fails by itself",
		"another profiler in the way":  "another profiler is in the way",
		"unsupported api in range":     "the range calls a CUDA function that ncu cannot record and replay",
		"device memory exhausted":      "no memory is left on the GPU to save what the range changes",
		"workload not deterministic":   "the passes of the program launched different kernels",
		"hung collective":              "a kernel waits for a peer",
		"launches ignored":             "ncu ignored launches in this mode",
		"nothing matched":              "ncu found no range of that name with kernels in it",
		"nothing collected":            "ncu measured no range",
		"asked-for data missing":       "the report lacks what was asked for",
		"timed out":                    "it took longer than the time limit",
		"stalled":                      "it hung",
		"tool crashed":                 "ncu crashed",
		"workload crashed":             "the workload crashed under it",
		"report does not open":         "its report cannot be read",
	},
}
