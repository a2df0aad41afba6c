package message

import "github.com/deepprof/deepprof/internal/fact"

const shorten = "captures over five minutes are large and slow to read: record a range of the program (pipeline.nsys.capture_range=nvtx pipeline.nsys.nvtx_capture=NAME), or a window of time (pipeline.nsys.delay=SECONDS pipeline.nsys.duration=SECONDS), or let the workload do less"

// pipelineWords are the words for the steps of a run and what came of them. step is a name
// out of the table of steps, span and relative are times, next what to do, error what the
// step returned.
var pipelineWords = map[fact.Code]words{
	"provenance-recorded":   {Text: "environment, configuration and inputs are recorded"},
	"reports-written":       {Text: "the reports were written"},
	"reports-written-again": {Text: "the reports were written again"},
	"reports-not-written":   {Text: "the reports could not be written"},
	"no-report-made":        {Text: "no report was made"},
	"cause-report":          {Text: "the captures are there, and can be analyzed again", Next: "fix what the evidence names, then deepprof analyze {dir}"},
	"flops-counted":         {Text: "FLOPs and bytes are counted"},
	"flops-not-counted":     {Text: "no FLOPs: {error}"},
	"cause-flops":           {Text: "the architecture of the model could not be read", Next: "MFU will be missing; or set pipeline.static_analysis.enable=false"},
	"flops-not-compared":    {Text: "torch's FLOPs could not be compared: {error}"},
	"flops-agree":           {Text: "FLOPs agree with torch's FlopCounterMode"},
	"flops-disagree":        {Text: "FLOPs do not agree with torch's FlopCounterMode"},
	"flops-differ":          {Text: "{stage}: {ours:FLOP|FLOPs} from the config, {torch} by torch ({relative})"},
	"samples-over-bound":    {Text: "the export holds {size} of sampled counters, more than the {limit} that they are to keep within: the program took longer than was foreseen", Next: "lower pipeline.nsys.gpu_metrics_hz, or capture a part of it (pipeline.nsys.duration)"},
	"environment-left":      {Text: "the environment that nsys stored is still in the export: {error}"},
	"session-says":          {Text: "{text}"}, // of runs before sessions stated facts
	"session-note":          {Text: "{text}"}, // the same
	"cause-session":         {Text: "[{kind}][; what was measured before it is in {file}]", Next: "[{next}]"},
	"no-first-answer":       {Text: "there is no first answer"},
	"operators-taken":       {Text: "operators were taken at the end of the unprofiled run"},
	"long-timeline-ahead":   {Text: "the timeline will cover about {span}", Next: shorten},
	"long-timeline":         {Text: "the timeline covers {span}", Next: shorten},
	"repeats-done":          {Text: "the unprofiled run and the timeline were repeated"},
	"repeat-stopped":        {Text: "repeat {n} was interrupted"},
	"repeat-failed":         {Text: "repeat {n} failed: see {dir}"},
	"step-off":              {Text: "turned off"},
	"step-unproven":         {Text: "the workload failed in the unprofiled run"},
	"step-nothing":          {Text: "nothing was captured"},
	"run-interrupted":       {Text: "the run was interrupted"},
	"run-between-steps":     {Text: "interrupted between two steps"},
	"run-while-playing":     {Text: "interrupted while the recording was played"},
	"step-verdict":          {Text: "[{kind}: ]{what}[ ({evidence})]"},
	"run-step":              {Text: "{step}: {why}"},
	"ranks-kept":            {Text: "the timelines of {n} of {of:rank|ranks} from before the interruption are kept"},
	"rank-unreadable":       {Text: "the timeline of rank {rank} cannot be read: {error}"},
	"process-ended":         {Text: "its process ended while the step ran"},
}
