package message

import "github.com/deepprof/deepprof/internal/fact"

// sessionWords are the words for how a session of our own ended, and for the notes that its
// Python program writes as codes (workloads/session/facts.py), with the parameters that it
// writes: a code that is missing here is shown as it is.
var sessionWords = map[fact.Code]words{
	// How a session ended.
	"session-complete":       {Text: "the session ran to its end"},
	"session-failed":         {Text: "the session failed: [{why}][{error}]"},
	"session-failed-quietly": {Text: "the session failed: [{why}][{error}] (and yet its exit code was 0)"},
	"session-ended":          {Text: "the session ended with {exit} before it could say why"},
	"session-error-unread":   {Text: "the session ended with {exit}, and its {file} cannot be read: {error}"},
	"session-left-nothing":   {Text: "the session ended with exit code 0 and without a good {file}"},
	"session-file-absent":    {Text: "{file} does not exist"},
	"session-file-unusable":  {Text: "{error}"},
	"session-traceback":      {Text: "{text}"},
	"session-advice":         {Text: "[{why!}][{text}]"},
	"session-read-log":       {Text: "read its log"},
	"session-program-defect": {Text: "read its log; this is a defect of the program, not of the model"},

	// Notes on what a session ran; they do not stop it.
	"session-random-weights":   {Text: "{n:weight is|weights are} in no file of model.path and were drawn at random: {names}"},
	"session-few-samples":      {Text: "{asked} samples an epoch were asked for and the dataset has {has}"},
	"session-samples-repeated": {Text: "each sample of the dataset is repeated {n} times to fill the batch"},
	"session-no-warmup":        {Text: "there was no warm-up (infer.warmup=0): the first pass also loads libraries and tunes kernels"},
	"session-no-nvtx":          {Text: "this torch is built without NVTX: stages are timed, and no ranges are marked"},
	"session-end-token":        {Text: "the first token ended the text (end token), so the decode range never opened"},
	"session-one-token":        {Text: "one token was asked for (infer.max_new_tokens=1) and it comes from prefill: no decode range"},

	// Notes on what the torch profiler recorded.
	"operators-no-device-time": {Text: "no device time was recorded: CUPTI may be in use by another profiler or not permitted"},
	"operators-no-launchers":   {Text: "this release of torch does not tell which operator launched a kernel"},
	"operators-no-cupti":       {Text: "torch timed operators with CUDA events, because it has no CUPTI: it does not tell their kernels"},
	"operators-no-callers":     {Text: "this release of torch does not tell which operator called another: kernels are linked to the operator that launched them alone"},
	"operators-other-events":   {Text: "operators are not linked to kernels: this release of torch has other events ({error})"},
	"operators-unattached":     {Text: "kernels of {n:group|groups} of operators, {name} among them, are linked to no row: this release of torch groups rows in another way"},
	"operators-unlaunched":     {Text: "{calls:kernel or copy|kernels and copies} of {time} in all were launched by no operator[: the kernels of a CUDA graph belong to cudaGraphLaunch, which was called {graphs:time|times}]"},
	"operators-links-lost":     {Text: "{n:link|links} from operators to kernels are left out: they are damaged, or too many for one operator"},
}
