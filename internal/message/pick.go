package message

import "github.com/deepprof/deepprof/internal/fact"

// ofPick are the words for the choice of launches to count.
var ofPick = map[fact.Code]words{

	"chosen-by-rank":   {Text: "rank {rank} by GPU time: {share} of the chosen regions in {launches:launch|launches}; with it {covered} are covered"},
	"chosen-by-region": {Text: "to cover {enough} of {region}: {of_region} of it, {share} of the chosen regions, in {launches:launch|launches}; with it {covered} of {region} are covered"},
	"counted-along":    {Text: "not chosen by its own time; counted along because the filter lets it through[ ({why})]"},

	"counted-at-median":   {Text: "its launch at the median duration is counted[; and of its launches that last longer or shorter: {others}]"},
	"counted-near-median": {Text: "a launch near the median duration is counted ({time}, median {median})[; and of its launches that last longer or shorter: {others}]"},
	"counted-off-median":  {Text: "the launch counted is of the same configuration but not typical ({time}, median {median})[; and of its launches that last longer or shorter: {others}]"},

	"waits-for-peer":       {Text: "waits for a peer: replayed alone it would hang; pipeline.ncu.pick.collectives=true counts it in a program with one rank", Short: "waits for a peer"},
	"excluded-by":          {Text: "excluded by {key}"},
	"not-among":            {Text: "not among {key}"},
	"limit-top-n":          {Text: "top_n: the limit of {n:group|groups} was reached before"},
	"limit-coverage":       {Text: "coverage: {share} of the GPU time[ of {each_region}] was reached before"},
	"limit-budget":         {Text: "budget_s: with it the predicted time would exceed {time}"},
	"no-way-to-count":      {Text: "no way to count it was found"},
	"left-graphs-whole":    {Text: "CUDA graphs that were traced as a whole: their kernels are not known; trace them with pipeline.nsys.cuda_graph_trace=node"},
	"left-outside-regions": {Text: "outside the chosen regions; the share is of all GPU time"},

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

	"match-whole":     {Text: "a range or graph measured as a whole"},
	"match-unknown":   {Text: "the timeline has no launch of this kernel with this grid and block"},
	"match-outside":   {Text: "it was launched in {regions}, outside the chosen regions"},
	"match-duration":  {Text: "it took {ncu} under ncu, {timeline} in the timeline"},
	"match-unplanned": {Text: "of a configuration or number of launches that was not planned"},
	"match-more":      {Text: "more launches of this group than planned"},
	"match-elsewhere": {Text: "planned in {planned}, counted in {counted}: another launch of the same configuration"},

	"region-graphs-whole":      {Text: "it launched CUDA graphs that were traced as a whole: their kernels are not known"},
	"region-empty":             {Text: "it is empty: no kernel was launched in it"},
	"region-nothing-counted":   {Text: "nothing was counted"},
	"region-less-than-planned": {Text: "ncu did not count all that was planned, {planned} of its GPU time"},
	"region-not-counted":       {Text: "none of its kernels was counted"},
}

var pickLabels = map[string]map[string]string{
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
