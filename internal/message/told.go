package message

import "github.com/deepprof/deepprof/internal/fact"

// toldWords are the lines that a run writes on the screen while it goes on; they are no part
// of its result. step, time, cost and rate are of the step under way; level says how loud a
// note is.
var toldWords = map[fact.Code]words{
	"run-is":            {Text: "run: {dir}"},
	"step-started":      {Text: "{step}: started"},
	"step-kept":         {Text: "{step}: kept"},
	"step-ended":        {Text: "{step}: {kind}, {time}"},
	"step-recorded":     {Text: "{step}: recorded: {kind}[, {time}]"},
	"step-again":        {Text: "note: {file}: {why}: {step} is done again"},
	"step-aside":        {Text: "note: what {step} left before is now in {dir}"},
	"nothing-to-do":     {Text: "every step is done: nothing is left to do"},
	"told-error":        {Text: "{level}: {error}"},
	"first-answer":      {Text: "first answer after {time}, without counters: {file}"},
	"first-answer-item": {Text: "  {n}. {finding}"},
	"first-answer-note": {Text: "  {note}"},
	"recording-written": {Text: "recording: {file}, {size}"},
	"annotation-fails":  {Text: "{step}: this failed with annotation, and the unprofiled run did not fail: it is done again without annotation"},
	"osrt-huge":         {Text: "note: osrt records every call into the C library: a small Python program wrote 2.5 GB in three minutes; leave it out of pipeline.nsys.trace, or set a gate with pipeline.nsys.capture_range=nvtx"},
	"told-ahead":        {Text: "warning: {what}; {what!}"},
	"report-secrets":    {Text: "note: {file} holds the environment of this machine's processes, perhaps with {names}[ and {more} more]: do not publish it; 'deepprof runs pack' leaves it out"},
	"no-one-timeline":   {Text: "note: {key}: there is no single timeline to write tables of"},
	"samples-given-up":  {Text: "warning: counters of the GPU could not be sampled, so the capture goes on without: {why}"},
	"samples-too-long":  {Text: "note: counters of the GPU are not sampled: the program is too long for {rate} within 100 MB; capture a part of it (pipeline.nsys.duration)"},
	"samples-unbounded": {Text: "note: counters of the GPU are not sampled: how long the program runs is not known, and samples are to keep within 100 MB; pipeline.unprofiled.enable=true or pipeline.nsys.duration tells"},
	"samples-slower":    {Text: "note: counters of the GPU are sampled at {rate}, to keep within 100 MB"},
	"no-communicator":   {Text: "note: {tool} has no --communicator: a kernel that waits for another rank is given up after pipeline.supervision.stall_s"},
	"no-per-config":     {Text: "note: {tool} cannot count launches per configuration (2022.4 and newer can); the first {n} launches are counted instead"},
	"sections-unlisted": {Text: "warning: {tool}: its sets and sections could not be listed, so that a typo in them goes to ncu: {error}"},
	"ranks-stand":       {Text: "note: {what}, and the job is not started again; start a new run for all ranks"},
	"ranks-unasked":     {Text: "warning: the ranks cannot be asked to finish: {error}"},
	"traffic-awaited":   {Text: "{step}: no requests are sent; waiting up to {limit} for traffic from outside to {url}"},
	"traffic-came":      {Text: "{step}: traffic has come after {time}"},
	"server-ready":      {Text: "{step}: the server is ready after {time}"},
	"server-window":     {Text: "{step}: {window}"},
	"gate-not-opened":   {Text: "warning: the gate of ncu could not be opened: {error}"},
	"profiler-switch":   {Text: "warning: POST {url}: HTTP {status}[ {error}][ {answer}]"},
	"runs-ahead":        {Text: "note: runs of the workload: {runs}; how long one takes is not known before"},
	"runs-none":         {Text: "note: the workload does not run before ncu"},
	"runs-of-step":      {Text: "{n} {how}"},
	"cost-of-ranges":    {Text: "note: ncu measures the ranges as a whole where it can, else launches that are chosen from the timeline, so that its filters will differ from the line shown: {cost}"},
	"cost-of-launches":  {Text: "note: the launches that ncu counts are chosen from the timeline, so that its filters will differ from the line shown: {cost}"},
	"cost-unknown":      {Text: "note: what ncu costs is not known before: nothing says how many launches or ranges the line shown selects; each is repeated about {n} times"},
}

// toldLabels say how a pipeline step runs the workload.
var toldLabels = map[string]map[string]string{
	// How a step runs the workload.
	"runs-how": {
		"unprofiled": "without a profiler",
		"annotated":  "with annotation alone",
		"predicted":  "for its predictions",
		"operators":  "under the torch profiler",
		"flops":      "to count its FLOPs",
		"nsys":       "under nsys, and then the export of its report",
		"repeats":    "to repeat the unprofiled run and the timeline",
	},
}
