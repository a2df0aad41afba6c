package message

import (
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
)

// Bounds of the sentence that a report begins with: a reader takes it in at a glance.
const (
	verdictWordsMost = 20 // of a verdict
	nameWordsMost    = 3  // of a name in it, which a program may have made of many
)

// Headline is the sentence that a report begins with, of at most 20 words: Text of
// the fact, or where that has more, as by times of minutes and names of several
// words, Short.
func Headline(f fact.Fact) string {
	f = withBriefNames(f)
	if text := Text(f); len(strings.Fields(text)) <= verdictWordsMost {
		return text
	}
	return stop(Short(f))
}

// withBriefNames cuts names of many words.
func withBriefNames(f fact.Fact) fact.Fact {
	brief := make(fact.Params, len(f.Params))
	for key, v := range f.Params {
		if parts := strings.Fields(v.Text); v.Kind != fact.KindID && len(parts) > nameWordsMost {
			v.Text = strings.Join(parts[:nameWordsMost], " ") + "…"
		}
		brief[key] = v
	}
	f.Params = brief
	return f
}

// headlineWords are the verdicts: Text may have more than 20 words, Short may not. They take
// the parameters of the finding that they repeat; share, ns and gain are as in findingWords.
var headlineWords = map[fact.Code]words{
	"headline-rank":    {Text: "[Rank {rank}][Process {process}] keeps the others waiting for {ns}, {share} of the time of the median rank.", Short: "[Rank {rank}][Process {process}] keeps the others waiting for {ns}"},
	"headline-launch":  {Text: "{stage} waits for the host ({share} under nsys)[: CUDA graphs save at most {gain} of {of}].", Short: "{stage} waits for the host ({share} under nsys)"},
	"headline-ahead":   {Text: "{stage} waits for the host ({share} under nsys)[: launching graphs ahead saves at most {gain}].", Short: "{stage} waits for the host ({share} under nsys)"},
	"headline-idle":    {Text: "No kernel runs in {share} of {stage} under nsys; the main cause: {cause}.", Short: "No kernel runs in {share} of {stage} under nsys"},
	"headline-busy":    {Text: "Kernels run in {share} of {stage}: they decide how long it takes[, and their limiter is {limits}].", Short: "Kernels run in {share} of {stage}[; limiter: {limits}]"},
	"headline-token":   {Text: "The next token takes {period}; the GPU works on decode for {busy} of it."},
	"headline-limit":   {Text: "The limiter of {share} of the counted GPU time is {kind}."},
	"headline-kernel":  {Text: "The limiter of [{kernel}][{region}] is {kind}."},
	"headline-part":    {Text: "{category} takes {share} of GPU time."},
	"headline-served":  {Text: "A request waits {ttft} for its first token and {token} for each further one (medians).", Short: "A request waits {ttft} for its first token, {token} for each further"},
	"headline-no-work": {Text: "No kernel was seen on a GPU: nothing can be said of its time."},
	"headline-times":   {Text: "The mean pass takes {total} in the unprofiled run."},
	"headline-damage":  {Text: "The timeline is damaged: every number is of what is left of it."},
	"headline-none":    {Text: "What was captured does not tell where the time goes."},
}
