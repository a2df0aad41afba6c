package message

import "github.com/deepprof/deepprof/internal/fact"

// pageWords are what only the page of a report says about a result: changes against the
// baseline, heads of folded tables. by and change are relative, value is a text with its
// unit, run the name of the baseline.
var pageWords = map[fact.Code]words{
	"page-host-operators": {Text: "{n:operator|operators} without GPU time"},
	"page-more":           {Text: "{by} more than in {run}"},
	"page-less":           {Text: "{by} less than in {run}"},
	"page-same":           {Text: "as in {run}"},
	"page-from":           {Text: "{change} from {value} in {run}"},
	"page-strip":          {Text: "GPU time of each layer in each step, as a share of what the layer usually takes in steps of that kind: pale up to the median, strongest from twice the median on.[ A column is up to {n} steps, and shows the longest.] A click shows the step in the timeline"},
}

// pageLabels name what the page sorts and colors by.
var pageLabels = map[string]map[string]string{
	"sampled": {
		"gpu_active": "GPU active", "sm_active": "SMs active", "sm_issue": "issue", "tensor_active": "tensor cores",
		"dram_read": "DRAM read", "dram_write": "DRAM write",
	},
	// What became of a run that holds less than it was to capture.
	"unfinished": {"failed": "The run failed", "interrupted": "The run was interrupted"},
	// The roof that allows steps of a server less.
	"step_roof": {"flops": "arithmetic", "dram": "memory"},
	// Parts of the time from one step that decodes to the next.
	"next_token": {
		"busy": "the GPU works on decode", "idle": "the GPU waits inside decode steps", "mixed": "steps of prompts and decode together", "prefill": "steps of prompts alone",
		"gap": "between steps: scheduling, sampling, answers", "other": "steps whose names do not tell",
	},
}
