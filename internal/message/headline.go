package message

import "github.com/deepprof/deepprof/internal/fact"

// headlineWords are the one sentence that a report begins with, of at most 20 words.
var headlineWords = map[fact.Code]words{
	"headline-rank":    {Text: "[Rank {rank}][Process {process}] keeps the others waiting for {ns}, {share} of the time of the median rank."},
	"headline-launch":  {Text: "{stage} waits for the host {share} of its time[: CUDA graphs save at most {gain} of {of}]."},
	"headline-ahead":   {Text: "{stage} waits for the host {share} of its time[: launching graphs ahead saves at most {gain}]."},
	"headline-idle":    {Text: "No kernel runs in {share} of {stage}; the main cause: {cause}."},
	"headline-busy":    {Text: "Kernels run in {share} of {stage}: they decide how long it takes[, limited by {limits}]."},
	"headline-token":   {Text: "The next token takes {period}; the GPU works on decode for {busy} of it."},
	"headline-limit":   {Text: "{share} of the counted GPU time is limited by {kind}."},
	"headline-kernel":  {Text: "[{kernel}][{region}] is limited by {kind}."},
	"headline-part":    {Text: "{category} takes {share} of GPU time."},
	"headline-served":  {Text: "A request waits {ttft} for its first token and {token} for each further one (medians)."},
	"headline-no-work": {Text: "No kernel was seen on a GPU: nothing can be said of its time."},
	"headline-times":   {Text: "The mean pass takes {total} in the unprofiled run."},
	"headline-damage":  {Text: "The timeline is damaged: every number is of what is left of it."},
	"headline-none":    {Text: "What was captured does not tell where the time goes."},
}
