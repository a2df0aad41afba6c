package message

import "github.com/deepprof/deepprof/internal/fact"

// experimentWords are what to run next, why there is no command line for it, and what
// uploads say. internal/experiment states the first two, internal/web the last.
//
// change is the title of an opportunity, missing what a measurement would tell, stage and
// model what the run is about.
var experimentWords = map[fact.Code]words{
	"try-cuda-graphs":        {Text: "try CUDA graphs in {stage}: the GPU waits for launches there"},
	"try-compile":            {Text: "try torch.compile: it fuses small kernels and launches fewer"},
	"try-larger-batch":       {Text: "try a batch of {n}: the GPU is busy in {stage}, and a batch shares one read of the weights"},
	"change-program-first":   {Text: "{change}; change the program, then run it again and compare"},
	"measure-what-is-absent": {Text: "measure what is absent: {missing}"},
	"repeat-for-intervals":   {Text: "run it five times: with one process a side a comparison cannot tell"},

	"no-command-known":  {Text: "the command that made these captures is not recorded; give it after deepprof run --"},
	"model-not-shipped": {Text: "the model {model} does not ship with deepprof; docs/models.md says how to give a config or weights"},
	"command-redacted":  {Text: "the command was redacted: paths in it were removed"},

	"uploaded":       {Text: "the file was uploaded"},
	"not-uploaded":   {Text: "no such file was uploaded"},
	"upload-refused": {Text: "what was uploaded cannot be read"},
}
