package message

import "github.com/deepprof/deepprof/internal/fact"

// serverWords are the words for a server, its windows and its load: internal/serving and
// internal/load state them. window names a part of the load, limit and sample are times,
// said is what the server answered.
var serverWords = map[fact.Code]words{
	"server-measured":           {Text: "the server was measured in an unprofiled run"},
	"server-profiled":           {Text: "{n:window of the server was|windows of the server were} profiled"},
	"server-counted":            {Text: "{n:launch of the server was|launches of the server were} counted"},
	"server-port-answers":       {Text: "somebody answers at {address} before the server was started"},
	"port-holder":               {Text: "[{process}]"},
	"server-counted-by-url":     {Text: "counting begins under load, when POST {url} switches the server's profiler on"},
	"server-counted-in-steps":   {Text: "counting is bounded to the steps that the engine names: it has no profile endpoints"},
	"server-counted-at-modules": {Text: "counting begins under load, at a range that annotation opens around a module: the engine has no profile endpoints and names no steps"},
	"server-counted-from-start": {Text: "counting goes from the start of the server: the engine has no profile endpoints, most GPU time is in no named step, and no process of it was annotated", Next: "name its engine (pipeline.server.engine), or annotate it (pipeline.annotate=auto; needs PyTorch)"},
	"server-counting-undecided": {Text: "the engine has no profile endpoints: counting is bounded to the steps that the windows name, else it begins at modules that annotation opens ranges around, else at the start of the server"},
	"server-flooded":            {Text: "the server printed more than {limit} and was ended"},
	"server-ended":              {Text: "the server ended by itself: {exit}"},
	"server-not-started":        {Text: "the server could not be started: {error}"},
	"cause-server":              {Text: "the server ended or failed by itself", Next: "read stdout.log and stderr.log in {dir}"},
	"cause-server-slow": {Text: verdictWords["verdict-server-not-ready"].Text,
		Next: "read the logs in {dir}; raise pipeline.server.ready_timeout_s, or name another check with pipeline.server.ready"},
	"cause-server-silent": {Text: "the process did not go on after nsys had stopped collecting, or it waits for something else",
		Next: "run again; what was captured before is kept; see the log of the server and session.log"},
	"load-failed":      {Text: "the load failed"},
	"server-no-window": {Text: "no window of the server has a timeline"},
	"server-outlived":  {Text: "processes outlived the server and were ended: {processes}", Next: "make the server end its processes on SIGTERM"},
	"server-killed":    {Text: "the server did not end within {limit} of SIGTERM and was killed", Next: "raise pipeline.server.stop_s if it only needs longer"},
	"server-alive":     {Text: "processes could not be ended: {processes}", Next: "they are stuck in the kernel; look at dmesg"},
	"server-gave-up":   {Text: "the server gave up while ncu replayed its kernels, because its watchdog or a collective does not wait so long: {said}", Next: "sampled counters stand in (deepprof show samples); to count, raise the time of its watchdog or count fewer launches (pipeline.ncu.pick.top_n)"},
	"server-under-ncu": {Text: "under ncu: {error}", Next: "raise pipeline.server.ready_timeout_s"},
	"load-unsteady": {Text: "the load was not steady after {limit}: the windows may differ for other reasons than profiling",
		Next: "raise pipeline.server.warmup_limit_s, or choose equal lengths of prompts and answers"},
	"request-errors": {Text: "{window}: {n} of {of} requests failed ({kinds}): {sample}",
		Next: "read the log of the server; lower the load, or raise pipeline.server.load.timeout_s"},
	"no-tokens":              {Text: "{window}: no token came in this window", Next: "make the window longer"},
	"no-traffic":             {Text: "no request came to {url} from outside within {limit}"},
	"cause-no-traffic":       {Text: "nobody sent requests to the server", Next: "send them while the run waits for them, or raise pipeline.server.load.wait_s; pipeline.server.load.kind=client sends them itself"},
	"window-without-traffic": {Text: "{window}: nothing came from outside in this window", Next: "keep the traffic up until the run ends, or make the windows longer"},
	"traffic-unseen":         {Text: "whether requests come from outside cannot be told on this system: windows were opened without waiting for them", Next: "start the traffic before the run"},
	"window-lost":            {Text: "{window} has no timeline: {error}", Next: "read session.log of the step"},
}
