package engine

import "regexp"

// watchdogs are lines by which engines and libraries say that they gave up on work
// that took too long: replay under ncu makes one step last for minutes.
var watchdogs = []*regexp.Regexp{
	regexp.MustCompile(`Watchdog caught collective operation timeout`), // PyTorch, NCCL
	regexp.MustCompile(`(?i)watchdog timeout`),                         // SGLang: "Scheduler watchdog timeout"
	regexp.MustCompile(`(?i)RPC call to \w+ timed out`),                // vLLM, multiprocess executor
	regexp.MustCompile(`EngineDeadError`),                              // vLLM
	regexp.MustCompile(`(?i)hang detected`),                            // TensorRT-LLM: "Hang detected, shutting down immediately"
	regexp.MustCompile(`ncclRemoteError|NCCL timeout`),
}

// GaveUp tells whether a line says that an engine gave up on work that took too
// long.
func GaveUp(line string) bool {
	for _, w := range watchdogs {
		if w.MatchString(line) {
			return true
		}
	}
	return false
}
